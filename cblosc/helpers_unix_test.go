//go:build unix

package cblosc_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// errBelowFile is the error of a path whose parent is a file.
var errBelowFile error = syscall.ENOTDIR

// virtual returns n bytes of memory without access permission. Any access crashes.
func virtual(t testing.TB, n int) []byte {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(b)) })
	return b
}
