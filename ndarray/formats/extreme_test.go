package formats_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// A dataset with the largest shape, which no number of chunks divides: the first and the last
// elements are read in every way, and chunks are counted.
func TestExtremeShape(t *testing.T) {
	dir := t.TempDir()
	for _, chunk := range []int64{1 << 20, 1<<20 + 7, 5} {
		const shape = math.MaxInt64
		location := in(dir, fmt.Sprintf("%d.h5:/x", chunk))
		d, err := formats.Create(bg, location, ndarray.Spec{
			Shape: []int64{shape}, ChunkShape: []int64{chunk}, DType: ndarray.DTypeOf[uint8](), Compression: &ndarray.Compression{Codec: "deflate", Level: 1},
		})
		require.NoError(t, err)
		require.NoError(t, d.Write(bg, []byte{1, 2, 3}, ndarray.Region{Start: []int64{0}, Shape: []int64{3}}))
		require.NoError(t, d.Write(bg, []byte{8, 9}, ndarray.Region{Start: []int64{shape - 2}, Shape: []int64{2}}))
		require.NoError(t, d.Commit(bg))
		check := func(t *testing.T, a *ndarray.Array) {
			got := make([]byte, 3)
			require.NoError(t, a.Read(bg, got, ndarray.Region{Start: []int64{0}, Shape: []int64{3}}))
			require.Equal(t, []byte{1, 2, 3}, got)
			require.NoError(t, a.Read(bg, got, ndarray.Region{Start: []int64{shape - 3}, Shape: []int64{3}}))
			require.Equal(t, []byte{0, 8, 9}, got)
			s, err := ndarray.Summarize(bg, a, nil)
			require.NoError(t, err)
			require.EqualValues(t, int64(shape), s.Count)
			require.EqualValues(t, 23, s.ExactSum.Int64())
			require.NoError(t, a.Close())
		}
		t.Run("trusted", func(t *testing.T) {
			a, err := formats.Open(bg, location)
			require.NoError(t, err)
			check(t, a)
		})
		everyWay(t, func(t *testing.T, u formats.Untrusted) {
			u.Limits.Array = math.MaxInt64
			g, err := formats.OpenUntrusted(bg, location, u)
			require.NoError(t, err)
			check(t, g.Array)
		})
	}
}
