package h5_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// TestDataset_WriteRegion_optionalFilters checks that each write of a part of a stored chunk, with
// szip and other filters, has its effect or returns errors.ErrUnsupported without one.
func TestDataset_WriteRegion_optionalFilters(t *testing.T) {
	did := 0
	defer func() { require.Positive(t, did) }()
	for name, filters := range map[string][]h5.Filter{
		"szip":                {h5.Szip(h5.SzipNearest, 8)},
		"szip, checksum":      {h5.Szip(h5.SzipNearest, 8), h5.Fletcher32()},
		"checksum, szip":      {h5.Fletcher32(), h5.Szip(h5.SzipNearest, 8)},
		"szip, deflate":       {h5.Szip(h5.SzipNearest, 8), h5.Deflate(6)},
		"shuffle, szip":       {h5.Shuffle(), h5.Szip(h5.SzipNearest, 8)},
		"szip, shuffle":       {h5.Szip(h5.SzipNearest, 8), h5.Shuffle()},
		"szip, deflate, sums": {h5.Szip(h5.SzipNearest, 8), h5.Deflate(1), h5.Fletcher32()},
	} {
		for _, size := range []int{1, 4, -1} { // bytes of an element; -1: elements that szip compresses
			smooth := size < 0
			size = max(size, 1)
			t.Run(fmt.Sprint(name, " ", size, " ", smooth), func(t *testing.T) {
				f := newFile(t)
				dt := h5.Uint(size, h5.LittleEndian)
				d, err := f.Root().CreateDataset("d", dt, h5.SimpleSpace(128), &h5.DatasetOptions{ChunkShape: []int64{64}, Filters: filters})
				require.NoError(t, err)
				want := make([]byte, 128*size)
				for i := range want {
					want[i] = byte(i * i * 7 >> (i / 50 % 2 * 6))
				}
				if smooth {
					clear(want)
				}
				all := region([]int64{0}, []int64{128})
				require.NoError(t, d.WriteRegion(want, dt, all))
				for k := range 6 {
					was := slices.Clone(want)
					part := want[10*k*size:][:(30+k)*size]
					for i := range part {
						part[i] += byte(k + 1)
					}
					err := d.WriteRegion(part, dt, region([]int64{int64(10 * k)}, []int64{int64(30 + k)}))
					if errors.Is(err, errors.ErrUnsupported) {
						copy(want, was)
					} else {
						require.NoError(t, err)
						did++
					}
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
