// Directory for temporary files of tests.

package testenv

import (
	"os"
	"runtime"
	"testing"
)

// Scratch returns a directory for the duration of a test. If possible it is on a file system where
// a sync costs no time, for tests that write very many files or write very often. A test of
// durability must use t.TempDir instead.
func Scratch(t testing.TB) string {
	t.Helper()
	if runtime.GOOS == "windows" { // Wine has a directory of this name
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "hyperslab")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
