package recovery

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/worker"
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

// TestIsolated_progress checks that valid progress messages of a worker are forwarded, and invalid
// ones are ignored.
func TestIsolated_progress(t *testing.T) {
	var pipe bytes.Buffer
	tell := telling(&pipe)
	for i := range int64(2000) {
		tell(i, 2000)
	}
	tell(2000, 2000)
	require.LessOrEqual(t, pipe.Len(), 300*tidings, "some hundred times")
	pipe.Write(bytes.Repeat([]byte{0xff}, 3*tidings)) // negative
	pipe.Write(bytes.Repeat([]byte{0x7f}, 8))
	pipe.Write(make([]byte, 8)) // larger than the total
	pipe.Write([]byte{1, 2, 3}) // truncated message
	last, calls := int64(-1), 0
	hear(&pipe, func(done, total int64) {
		calls++
		require.Less(t, last, done)
		require.Equal(t, int64(2000), total)
		last = done
	})
	require.Equal(t, int64(2000), last)
	require.Greater(t, calls, 200)
}
