package h5_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// A part of a chunk is written over, again and again, whatever filters are behind one that
// may leave a chunk as it is.
func TestPartsOverOptionalFilters(t *testing.T) {
	for name, filters := range map[string][]h5.Filter{
		"szip":                {h5.Szip(h5.SzipNearest, 8)},
		"szip, checksum":      {h5.Szip(h5.SzipNearest, 8), h5.Fletcher32()},
		"checksum, szip":      {h5.Fletcher32(), h5.Szip(h5.SzipNearest, 8)},
		"szip, deflate":       {h5.Szip(h5.SzipNearest, 8), h5.Deflate(6)},
		"shuffle, szip":       {h5.Shuffle(), h5.Szip(h5.SzipNearest, 8)},
		"szip, shuffle":       {h5.Szip(h5.SzipNearest, 8), h5.Shuffle()},
		"szip, deflate, sums": {h5.Szip(h5.SzipNearest, 8), h5.Deflate(1), h5.Fletcher32()},
	} {
		for _, size := range []int{1, 4} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				f := newFile(t)
				dt := h5.Uint(size, h5.LittleEndian)
				d, err := f.Root().CreateDataset("d", dt, h5.SimpleSpace(128), &h5.DatasetOptions{Chunks: []int64{64}, Filters: filters})
				require.NoError(t, err)
				want := make([]byte, 128*size)
				for i := range want {
					want[i] = byte(i * i * 7 >> (i / 50 % 2 * 6))
				}
				all := region([]int64{0}, []int64{128})
				require.NoError(t, d.WriteRegion(want, dt, all))
				for k := range 6 {
					part := want[10*k*size:][:(30+k)*size]
					for i := range part {
						part[i] += byte(k + 1)
					}
					require.NoError(t, d.WriteRegion(part, dt, region([]int64{int64(10 * k)}, []int64{int64(30 + k)})))
					require.NoError(t, d.Close())
					d, err = f.Root().OpenDataset("d")
					require.NoError(t, err)
					got := make([]byte, len(want))
					require.NoError(t, d.ReadRegion(got, dt, all))
					require.Equal(t, want, got)
				}
			})
		}
	}
}
