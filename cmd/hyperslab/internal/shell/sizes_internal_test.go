package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPathBytes checks that the size of a symbolic link is the size of its target.
func TestPathBytes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), make([]byte, 1000), 0o600))
	tree := filepath.Join(dir, "tree")
	require.NoError(t, os.Mkdir(tree, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(tree, "chunk"), make([]byte, 300), 0o600))
	for link, to := range map[string]string{"file": "data", "directory": "tree", "tree/inside": "../data"} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	for name, want := range map[string]int64{"data": 1000, "file": 1000, "tree": 1300, "directory": 1300} {
		got, err := PathBytes(filepath.Join(dir, name))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
}
