package histories

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestDelete_unsupported checks that Delete changes nothing if the array cannot shrink.
func TestDelete_unsupported(t *testing.T) {
	for name, tc := range map[string]struct {
		file   string
		chunks []int64
		open   hyperslab.OpenOptions
		axis   int
	}{
		"durable b2nd":     {"a.b2nd", []int64{2, 3}, hyperslab.OpenOptions{Durable: true}, 0},
		"contiguous HDF5":  {"a.h5:/x", nil, hyperslab.OpenOptions{Write: true}, 0},
		"fixed HDF5":       {"a.h5:/x", []int64{2, 3}, hyperslab.OpenOptions{Write: true}, 1},
		"columns of bcolz": {"a.bcolz", []int64{2, 7}, hyperslab.OpenOptions{Write: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			location := filepath.Join(t.TempDir(), tc.file)
			values := make([]int32, 6*7)
			for i := range values {
				values[i] = int32(i)
			}
			d, err := hyperslab.Create(t.Context(), location, ndarray.Spec{Shape: []int64{6, 7}, ChunkShape: tc.chunks, DType: ndarray.DTypeOf[int32]()}, nil)
			require.NoError(t, err)
			require.NoError(t, ndarray.Write(t.Context(), d.Array, values, ndarray.Whole(d.Shape())))
			require.NoError(t, errors.Join(d.Commit(t.Context()), d.Close()))
			a, err := hyperslab.Open(t.Context(), location, &tc.open)
			require.NoError(t, err)
			require.ErrorIs(t, a.Delete(t.Context(), tc.axis, 1, 2), errors.ErrUnsupported)
			require.NoError(t, a.Close())
			a, err = hyperslab.Open(t.Context(), location, nil)
			require.NoError(t, err)
			defer a.Close()
			got, err := ndarray.ReadAll[int32](t.Context(), a)
			require.NoError(t, err)
			require.Equal(t, values, got)
		})
	}
}
