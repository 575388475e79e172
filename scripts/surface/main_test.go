package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const source = `package p

// Exported and unexported declarations.
const (
	A = 1
	b = 2
)

type S struct {
	Field, Other int // a comment
	hidden bool
	E
}

type E = interface{ Method(x int) error }

type I interface {
	Method(x int) error
}

func (s *S) Do(
	ctx string,
) error { return nil }
func (s *S) hide()  {}
func (t *t) Shown() {}
func F[T any](x T) T { return x }

type t int
`

func TestDeclarations(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o600))
	lines, err := declarations(dir, []string{"p.go"})
	require.NoError(t, err)
	require.Equal(t, []string{
		"const A",
		"func (s *S) Do( ctx string, ) error",
		"func F[T any](x T) T",
		"interface I Method func(x int) error",
		"struct S Field int",
		"struct S Other int",
		"struct S embeds E",
		"type E = interface{ Method(x int) error }",
		"type I interface",
		"type S struct",
	}, lines)
}

// TestRun_check checks that a changed list is an error. The lists of the repository are checked by
// make lint.
func TestRun_check(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	dir := t.TempDir()
	require.NoError(t, run(dir, false))
	require.NoError(t, run(dir, true))
	file := filepath.Join(dir, "ndarray.txt")
	list, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(list, "func Gone()\n"...), 0o600))
	require.ErrorContains(t, run(dir, true), "1 lists differ")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old.txt"), nil, 0o600))
	require.ErrorContains(t, run(dir, true), "2 lists differ")
	require.NoError(t, run(dir, false))
	require.NoError(t, run(dir, true))
}
