package chunkmap_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestMain(m *testing.M) { filetest.Main(m) }

// TestChunks compares the chunks of arrays with the chunk maps of package ndarray, and the stored
// bytes at each offset with the sizes.
func TestChunks(t *testing.T) {
	for name, o := range map[string]*hyperslab.CreateOptions{
		"a.h5:/g/x": nil, "a.b2nd": nil, "sparse.b2nd": {Sparse: true}, "a.bcolz": nil,
	} {
		t.Run(name, func(t *testing.T) {
			location := filetest.In(t.TempDir(), name)
			spec := filetest.Int32s(7, 5)
			spec.ChunkShape = []int64{3, 5}
			filetest.Save(t, location, spec, o)
			arr, err := hyperslab.Open(t.Context(), location, nil)
			require.NoError(t, err)
			defer arr.Close()
			var want []ndarray.StoredChunk
			for c, err := range arr.StoredChunks(t.Context()) {
				require.NoError(t, err)
				want = append(want, c)
			}
			require.Len(t, want, 3)
			for _, untrusted := range []*hyperslab.Untrusted{nil, {InProcess: true}} {
				n := 0
				for c, err := range hyperslab.Chunks(t.Context(), location, &hyperslab.OpenOptions{Untrusted: untrusted}) {
					require.NoError(t, err)
					require.Equal(t, want[n].Region, c.Region)
					require.Equal(t, want[n].StoredBytes, c.StoredBytes)
					require.LessOrEqual(t, 4*c.Region.NumElems(), c.Bytes)
					require.LessOrEqual(t, c.Bytes, int64(3*5*4))
					info, err := os.Stat(filepath.Join(strings.TrimSuffix(location, ":/g/x"), c.File))
					require.NoError(t, err)
					if !info.IsDir() {
						require.LessOrEqual(t, c.Offset+c.StoredBytes, info.Size())
					}
					n++
				}
				require.Equal(t, len(want), n)
			}
		})
	}
	t.Run("errors", func(t *testing.T) {
		dir := t.TempDir()
		whole := filepath.Join(dir, "a.h5") + ":/x"
		filetest.Save(t, whole, ndarray.Spec{DType: ndarray.DTypeOf[int32]()}, nil)
		for location, want := range map[string]error{
			whole: ndarray.ErrParam, filepath.Join(dir, "none.b2nd"): ndarray.ErrNotFound, filepath.Join(dir, "a.h5") + ":/y": ndarray.ErrNotFound,
		} {
			n := 0
			for _, err := range hyperslab.Chunks(t.Context(), location, nil) {
				require.ErrorIs(t, err, want, location)
				n++
			}
			require.Equal(t, 1, n, "an error ends the list")
		}
	})
	t.Run("end of the loop", func(t *testing.T) {
		location := filepath.Join(t.TempDir(), "a.b2nd")
		spec := filetest.Int32s(9)
		spec.ChunkShape = []int64{2}
		filetest.Save(t, location, spec, nil)
		for c, err := range hyperslab.Chunks(t.Context(), location, nil) {
			require.NoError(t, err)
			require.Equal(t, []int64{0}, c.Index)
			break
		}
	})
}
