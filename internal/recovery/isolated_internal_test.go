package recovery

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

// TestIsolated_plainFiles checks that a result of a worker is rejected if it is missing or if it is
// or contains a symbolic link.
func TestIsolated_plainFiles(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, made)
	require.ErrorIs(t, plain(at), worker.ErrProtocol)
	require.NoError(t, os.Symlink("/etc/passwd", at))
	require.ErrorIs(t, plain(at), worker.ErrProtocol)
	require.NoError(t, os.Remove(at))
	require.NoError(t, os.MkdirAll(filepath.Join(at, "data"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(at, "data", "x"), nil, 0o644))
	require.NoError(t, plain(at))
	require.NoError(t, os.Symlink("x", filepath.Join(at, "data", "y")))
	require.ErrorIs(t, plain(at), worker.ErrProtocol)
}
