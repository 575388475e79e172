// A place for files that are made and thrown away.

package need

import (
	"os"
	"testing"
)

// Scratch is a directory for the time of a test where a sync costs nothing, if the
// system has one: for tests that write very many files, or very often. A test of
// durability itself takes t.TempDir.
func Scratch(t testing.TB) string {
	t.Helper()
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
