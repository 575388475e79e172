// Tests of files that workers open for themselves. They are internal tests because only this
// package can observe which worker reads which file.

package frameio

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
)

// TestSource_reopen checks that the second of two concurrent workers opens the file again. It must
// open the same file, even if another file now has its name. The second handle is closed with the
// worker, before or after Close.
func TestSource_reopen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not delete an open file")
	}
	path := filepath.Join(t.TempDir(), "frame")
	w, err := Create(path, &Params{CParams: cblosc.DefaultCParams(), ChunkSize: 512})
	require.NoError(t, err)
	values := bytes.Repeat([]byte("values that are not special "), 128)
	_, err = w.Write(values)
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())

	f, err := Open(path, nil)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("another file"), 0o666))

	var held []*worker
	for range 3 {
		w, err := f.workers.take()
		require.NoError(t, err)
		got := make([]byte, 512)
		require.NoError(t, f.readRange(w, got, 1, 0))
		require.Equal(t, values[512:1024], got)
		held = append(held, w)
	}
	require.Same(t, f.src, held[0].src, "one reader has nobody to share with")
	twins := map[*os.File]bool{}
	for _, w := range held[1:] {
		if w.src == f.src && runtime.GOOS != "linux" {
			continue // this system cannot reopen an open file
		}
		require.NotSame(t, f.src, w.src)
		twins[w.src.(*fileSource).own.(*os.File)] = true
	}
	require.NoError(t, f.workers.put(held[0]))
	require.NoError(t, f.workers.put(held[1]))
	require.NoError(t, f.Close())
	got := make([]byte, 512)
	if held[2].src != f.src {
		require.NoError(t, f.readRange(held[2], got, 1, 0), "a running read finishes")
	}
	require.NoError(t, f.workers.put(held[2]))
	for twin := range twins {
		_, err := twin.Stat()
		require.ErrorIs(t, err, os.ErrClosed)
	}
}

// TestSource_SingleReader checks that a reader that is no file, and a closed file, are not opened
// again.
func TestSource_SingleReader(t *testing.T) {
	s := &fileSource{r: bytes.NewReader(nil)}
	require.Same(t, s, s.again())
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	s = &fileSource{r: file, own: file}
	require.NoError(t, file.Close())
	require.Same(t, s, s.again())
}

// roots is a file system whose values cannot be compared, because it is a slice.
type roots []fs.FS

func (r roots) Open(name string) (fs.File, error) { return r[0].Open(name) }

// TestSource_unknownFileID checks that a sparse frame can be read from a file system of any type.
func TestSource_unknownFileID(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "frame")
	w, err := Create(dir, &Params{CParams: cblosc.DefaultCParams(), ChunkSize: 512, Sparse: true})
	require.NoError(t, err)
	values := bytes.Repeat([]byte("values "), 200)
	_, err = w.Write(values)
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	f, err := OpenFS(roots{os.DirFS(dir)}, nil)
	require.NoError(t, err)
	got := make([]byte, len(values))
	require.NoError(t, f.ReadAll(t.Context(), got, 2))
	require.Equal(t, values, got)
	require.NoError(t, f.Close())
}
