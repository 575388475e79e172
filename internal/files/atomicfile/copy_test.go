package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
)

// version writes a directory of files with one content.
func version(t *testing.T, dir string, content byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
	for i := range 20 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "data", fmt.Sprint(i, ".b2nd")), []byte{content}, 0o600))
	}
}

func TestCopy(t *testing.T) {
	t.Run("source that is replaced", func(t *testing.T) {
		dir := t.TempDir()
		source := filepath.Join(dir, "source")
		version(t, source, 'a')
		stop, stopped := make(chan struct{}), make(chan error)
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				out, err := Create(t.Context(), source, Options{Overwrite: true, Volatile: true})
				if err == nil {
					version(t, out.Path(), "ba"[i%2])
					err = out.Commit()
				}
				if err != nil {
					stopped <- err
					return
				}
			}
		}()
		copies := 0
		for i := range 40 {
			to := filepath.Join(dir, fmt.Sprint("copy", i))
			if err := Copy(t.Context(), to, source); err != nil {
				require.ErrorIs(t, err, regularfile.ErrReplaced)
				continue
			}
			copies++
			seen := map[byte]int{}
			for k := range 20 {
				b, err := os.ReadFile(filepath.Join(to, "data", fmt.Sprint(k, ".b2nd")))
				require.NoError(t, err)
				seen[b[0]]++
			}
			require.Len(t, seen, 1, "files of two versions: %v", seen)
		}
		close(stop)
		require.NoError(t, <-stopped)
		require.NotZero(t, copies)
	})

	t.Run("symbolic link", func(t *testing.T) {
		dir := t.TempDir()
		version(t, filepath.Join(dir, "source"), 'a')
		require.NoError(t, os.Symlink("source", filepath.Join(dir, "link")))
		require.NoError(t, Copy(t.Context(), filepath.Join(dir, "copy"), filepath.Join(dir, "link")))
		require.DirExists(t, filepath.Join(dir, "copy", "data"))
	})

	t.Run("missing source", func(t *testing.T) {
		dir := t.TempDir()
		require.ErrorIs(t, Copy(t.Context(), filepath.Join(dir, "copy"), filepath.Join(dir, "none")), os.ErrNotExist)
	})
}
