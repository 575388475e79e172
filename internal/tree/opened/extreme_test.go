package opened_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestExtremeShape checks a dataset of math.MaxInt64 elements with chunk lengths that do not divide
// it. Reads of the first and last elements, selections and summaries must be correct.
func TestExtremeShape(t *testing.T) {
	dir := t.TempDir()
	for _, chunk := range []int64{1 << 20, 1<<20 + 7, 5} {
		const shape = math.MaxInt64
		location := filetest.In(dir, fmt.Sprintf("%d.h5:/x", chunk))
		d, err := hyperslab.Create(bg, location, ndarray.Spec{
			Shape: []int64{shape}, ChunkShape: []int64{chunk}, DType: ndarray.DTypeOf[uint8](), Compression: &ndarray.Compression{Codec: "deflate", Level: 1},
		}, nil)
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
			for _, x := range []struct {
				index ndarray.Index
				want  []byte
			}{
				{ndarray.From(shape - 5).By(3), []byte{0, 8}},
				{ndarray.From(shape), []byte{}},
			} {
				v, err := ndarray.Take[byte](bg, a, ndarray.Select(x.index))
				require.NoError(t, err, x.index)
				require.Equal(t, x.want, v, x.index)
			}
			s, err := ndarray.Summarize(bg, a, nil)
			require.NoError(t, err)
			require.EqualValues(t, int64(shape), s.Count)
			require.EqualValues(t, 23, s.ExactSum.Int64())
			require.NoError(t, a.Close())
		}
		t.Run("trusted", func(t *testing.T) {
			a, err := hyperslab.Open(bg, location, nil)
			require.NoError(t, err)
			check(t, a)
		})
		filetest.EveryWay(t, func(t *testing.T, u hyperslab.Untrusted) {
			u.MaxArray = math.MaxInt64
			g, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Untrusted: &u})
			require.NoError(t, err)
			check(t, g)
		})
	}
}
