package h5_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// TestCreateDataset_FarMapping checks that a mapping is rejected if the end of its region
// overflows.
func TestCreateDataset_FarMapping(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	defer f.Close()
	whole := region([]int64{0}, []int64{4})
	for name, far := range map[string]h5.Region{
		"count": region([]int64{math.MaxInt64 - 1}, []int64{4}),
		"block": {Start: []int64{math.MaxInt64 - 1}, Count: []int64{1}, Block: []int64{4}},
		"steps": {Start: []int64{math.MaxInt64 - 1}, Count: []int64{4}, Stride: []int64{1 << 60}},
	} {
		t.Run(name, func(t *testing.T) {
			for side, m := range map[string]h5.Mapping{
				"virtual": {Region: far, Source: h5.SimpleSpace(4), SourceRegion: whole},
				"source":  {Region: whole, Source: h5.SimpleSpace(4), SourceRegion: far},
			} {
				m.File, m.Dataset = "a.h5", "d"
				_, err := f.Root().CreateDataset(name+side, i4, h5.SimpleSpace(4), &h5.DatasetOptions{Mappings: []h5.Mapping{m}})
				require.ErrorIs(t, err, h5.ErrRegion, side)
				require.ErrorContains(t, err, "the shape is [4]", side) // detected before libhdf5 is called
			}
		})
	}
}
