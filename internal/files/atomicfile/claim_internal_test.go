package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClaim checks the implementation for file systems without exclusive rename. It must have the
// same results. The tests call it directly, because such a file system is usually not available.
func TestClaim(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has an exclusive rename")
	}
	for _, dir := range []bool{false, true} {
		root := t.TempDir()
		temp, target := filepath.Join(root, "temp"), filepath.Join(root, "target")
		make := func() {
			if dir {
				require.NoError(t, os.Mkdir(temp, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(temp, "a"), []byte("new"), 0o644))
			} else {
				require.NoError(t, os.WriteFile(temp, []byte("new"), 0o644))
			}
		}
		make()
		require.NoError(t, claim(temp, target))
		_, err := os.Lstat(temp)
		require.ErrorIs(t, err, fs.ErrNotExist)
		make()
		require.ErrorIs(t, claim(temp, target), fs.ErrExist)
		_, err = os.Lstat(temp)
		require.NoError(t, err, "the refused object still exists")
		require.ErrorIs(t, claim(filepath.Join(root, "none"), filepath.Join(root, "other")), fs.ErrNotExist)
	}
}
