package opened_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestReplacedFiles checks files of a directory that are replaced after the directory was opened.
// Reads must return an error or the old elements, and never elements of a file outside of the
// directory.
func TestReplacedFiles(t *testing.T) {
	spec := ndarray.Spec{Shape: []int64{1000}, ChunkShape: []int64{100}, DType: ndarray.DTypeOf[int32]()}
	for _, format := range []struct {
		name, chunks string
		opts         *hyperslab.CreateOptions
	}{
		{"a.b2nd", "*.chunk", &hyperslab.CreateOptions{Sparse: true}},
		{"a.bcolz", "data/*.blp", nil},
	} {
		for how, replace := range map[string]func(t *testing.T, path, other string){
			"a link": func(t *testing.T, path, other string) {
				require.NoError(t, os.Remove(path))
				require.NoError(t, os.Symlink(other, path))
			},
			"a relative link": func(t *testing.T, path, other string) {
				target, err := filepath.Rel(filepath.Dir(path), other)
				require.NoError(t, err)
				require.NoError(t, os.Remove(path))
				require.NoError(t, os.Symlink(target, path))
			},
			"another file": func(t *testing.T, path, other string) {
				b, err := os.ReadFile(other)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path+".new", b, 0o600))
				require.NoError(t, os.Rename(path+".new", path))
			},
			"a directory": func(t *testing.T, path, _ string) {
				require.NoError(t, os.Remove(path))
				require.NoError(t, os.Mkdir(path, 0o700))
			},
			"nothing": func(t *testing.T, path, _ string) { require.NoError(t, os.Remove(path)) },
		} {
			t.Run(format.name+", "+how, func(t *testing.T) {
				filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
					dir, outside := t.TempDir(), t.TempDir()
					filetest.Save(t, filetest.In(dir, format.name), spec, format.opts)
					// The other array has the same shape and other elements.
					d, err := hyperslab.Create(bg, filetest.In(outside, format.name), spec, format.opts)
					require.NoError(t, err)
					wrong := make([]int32, 1000)
					for i := range wrong {
						wrong[i] = int32(-1 - i*i)
					}
					require.NoError(t, ndarray.Write(bg, d.Array, wrong, ndarray.Whole(spec.Shape)))
					require.NoError(t, d.Commit(bg))

					g, err := hyperslab.Open(bg, filetest.In(dir, format.name), &hyperslab.OpenOptions{Untrusted: &u})
					require.NoError(t, err)
					names, err := filepath.Glob(filepath.Join(dir, format.name, format.chunks))
					require.NoError(t, err)
					require.Len(t, names, 10)
					for _, name := range names {
						rel, err := filepath.Rel(dir, name)
						require.NoError(t, err)
						replace(t, name, filepath.Join(outside, rel))
					}
					got, err := ndarray.ReadAll[int32](bg, g)
					if err == nil {
						require.True(t, slices.Equal(filetest.Count(1000), got), "elements of another file: %v…", got[:3])
					}
					require.False(t, errors.Is(err, ndarray.ErrClosed))
					require.NoError(t, g.Close())
				})
			})
		}
	}
}
