package testenv_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// fake is a testing.TB that records how the test ended.
type fake struct {
	testing.TB
	ended string
}

func (f *fake) Helper() {}
func (f *fake) Fatalf(string, ...any) {
	f.ended = "failed"
	runtime.Goexit()
}
func (f *fake) Skipf(string, ...any) {
	f.ended = "skipped"
	runtime.Goexit()
}

// ended runs find as a test does. It returns how the test ended and the result of find.
func ended(find func(t testing.TB) string) (how, found string) {
	f := &fake{ended: "ran"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		found = find(f)
	}()
	<-done
	return f.ended, found
}

func TestNeed_found(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.h5"), nil, 0o644))
	t.Setenv(testenv.Corpus, link)
	require.Equal(t, dir, testenv.Directory(t, testenv.Corpus))
	require.Equal(t, []string{filepath.Join(dir, "a.h5")}, testenv.Files(t, testenv.Corpus, "*.h5"))

	python := filepath.Join(dir, "python")
	require.NoError(t, os.WriteFile(python, []byte("#!/bin/sh\n[ \"$3 $4\" = 'a b' ]\n"), 0o755))
	t.Setenv("HYPERSLAB_PYTHON", python)
	for range 2 {
		require.Equal(t, python, testenv.Python(t, "a", "b"))
	}
	require.Equal(t, python, testenv.Python(t))
	t.Setenv("HYPERSLAB_OLD_PYTHON", python)
	require.Equal(t, python, testenv.OldPython(t, "a", "b"))

	t.Setenv("PATH", dir)
	require.Equal(t, python, testenv.Tool(t, "python"))
	require.Equal(t, python, testenv.Program(t, "python"))
}

func TestNeed_missingInCI(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nothing")
	t.Setenv("PATH", nowhere)
	finders := map[string]func(t testing.TB) string{
		"directory": func(t testing.TB) string { return testenv.Directory(t, testenv.Corpus) },
		"files":     func(t testing.TB) string { return testenv.Files(t, testenv.HDF5Source, "*")[0] },
		"python":    func(t testing.TB) string { return testenv.Python(t) },
		"older":     func(t testing.TB) string { return testenv.OldPython(t) },
		"module": func(t testing.TB) string {
			t.Setenv("HYPERSLAB_PYTHON", "/bin/false")
			return testenv.Python(t, "h5py")
		},
		"tool":    func(t testing.TB) string { return testenv.Tool(t, "no-such-tool") },
		"program": func(t testing.TB) string { return testenv.Program(t, "no-such-tool") },
	}
	for _, ci := range []struct{ set, want string }{{"", "skipped"}, {"1", "failed"}, {"true", "failed"}} {
		t.Setenv("CI", ci.set)
		t.Setenv(testenv.Corpus, nowhere)
		t.Setenv(testenv.HDF5Source, "")
		for name, find := range finders {
			t.Setenv("HYPERSLAB_PYTHON", "")
			t.Setenv("HYPERSLAB_OLD_PYTHON", "")
			how, _ := ended(func(f testing.TB) string { return find(&setter{f, t}) })
			require.Equal(t, ci.want, how, "%s, CI=%q", name, ci.set)
		}
	}
	dir := t.TempDir()
	t.Setenv(testenv.Corpus, dir)
	how, _ := ended(func(f testing.TB) string { return testenv.Files(f, testenv.Corpus, "*.h5")[0] })
	require.Equal(t, "failed", how, "a directory without the files is wrong, not missing")
}

// setter is a fake that sets the environment of the real test.
type setter struct {
	testing.TB
	t *testing.T
}

func (s *setter) Setenv(key, value string) { s.t.Setenv(key, value) }
