package hdf5

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestCreateIn_described compares the backend of a new dataset with that of libhdf5's description.
func TestCreateIn_described(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	known, n := 0, 0
	for _, d := range []string{"|i1", "<i4", ">i2", "<f8", ">f4", "|b1", "<u8", "<c8", "|S5", "|V3", "<f2", "<U2", "[('a', '<i4'), ('b', '>f8')]", "('<i2', (3,))"} {
		dtype, err := ndarray.ParseDType(d)
		require.NoError(t, err, d)
		for _, base := range []ndarray.Spec{
			{}, {Null: true}, {Shape: []int64{7}}, {Shape: []int64{0}}, {Shape: []int64{20, 3}, ChunkShape: []int64{6, 2}},
			{Shape: []int64{5}, MaxShape: []int64{ndarray.Unlimited}}, {Shape: []int64{5}, MaxShape: []int64{5}},
			{Shape: []int64{5, 4}, MaxShape: []int64{9, 4}, ChunkShape: []int64{20, 20}},
			{Shape: []int64{5, 4}, AxisNames: []string{"", "x"}, Comment: "of two dimensions"}, {Shape: []int64{3}, AxisNames: []string{""}},
		} {
			for _, c := range []*ndarray.Compression{
				nil, {Codec: "none"}, {Codec: "none", Filters: []string{"shuffle"}}, {Codec: "deflate"}, {Codec: "deflate", Level: 9, Filters: []string{"shuffle"}},
				{Codec: "deflate", Level: 1, Filters: []string{"shuffle", "fletcher32"}}, {Codec: "lzf"}, {Codec: "blosc2:lz4", Level: 5},
			} {
				for _, fill := range []bool{false, true} {
					spec := base
					spec.DType, spec.Compression = dtype, c
					if fill {
						spec.Fill = make([]byte, dtype.Size)
						for i := range spec.Fill {
							spec.Fill[i] = byte(i % 2)
						}
					}
					if Check("/x", spec) != nil {
						continue
					}
					n++
					b, err := createIn(f, "/x", "x", spec, &CreateOptions{})
					require.NoError(t, err)
					if b.fresh.Load() {
						known++
					}
					want, err := newBackend(nil, b.dataset, "x")
					require.NoError(t, err)
					want.fresh.Store(b.fresh.Load())
					require.Equal(t, want.meta, b.meta, "%+v", spec)
					require.Equal(t, want.stored, b.stored, "%+v", spec)
					require.Equal(t, want.converted, b.converted, "%+v", spec)
					require.Equal(t, want.rawForm(), b.rawForm(), "%+v", spec)
					require.Equal(t, want.address, b.address, "%+v", spec)
					require.NoError(t, b.closeDataset())
					require.NoError(t, f.Root().Unlink("/x"))
				}
			}
		}
	}
	require.NoError(t, f.Close())
	require.Greater(t, known, n/2)
	require.Less(t, known, n)
}
