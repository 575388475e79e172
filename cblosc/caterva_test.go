package cblosc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestPythonCaterva checks that python-caterva reads the arrays that this package writes as
// Caterva, and that this package reads those that python-caterva writes from the same data, codec
// and filters. It covers contiguous and sparse storage and up to 8 dimensions.
func TestPythonCaterva(t *testing.T) {
	interpreter := testenv.Python(t, "caterva")
	type entry struct {
		Name       string  `json:"name"`
		Shape      []int64 `json:"shape"`
		Chunks     []int32 `json:"chunks"`
		Blocks     []int32 `json:"blocks"`
		Size       int     `json:"size"`
		Contiguous bool    `json:"contiguous"`
		Codec      int     `json:"codec"`
		Filters    []int   `json:"filters"`
	}
	dir := t.TempDir()
	var entries []entry
	for _, e := range []entry{
		{Shape: []int64{}, Chunks: []int32{}, Blocks: []int32{}, Size: 4},
		{Shape: []int64{0}, Chunks: []int32{2}, Blocks: []int32{1}, Size: 4},
		{Shape: []int64{3, 0}, Chunks: []int32{2, 2}, Blocks: []int32{1, 2}, Size: 8},
		{Shape: []int64{77}, Chunks: []int32{40}, Blocks: []int32{12}, Size: 1},
		{Shape: []int64{13, 17}, Chunks: []int32{5, 8}, Blocks: []int32{3, 5}, Size: 4},
		{Shape: []int64{5, 6, 7}, Chunks: []int32{5, 4, 7}, Blocks: []int32{2, 4, 3}, Size: 8},
		{Shape: []int64{2, 1, 3, 1, 2, 2, 1, 3}, Chunks: []int32{2, 1, 2, 1, 2, 1, 1, 2}, Blocks: []int32{1, 1, 2, 1, 2, 1, 1, 2}, Size: 2},
	} {
		for _, e.Contiguous = range []bool{true, false} {
			for _, codec := range cblosc.Codecs() {
				for _, filters := range [][]cblosc.FilterID{{cblosc.NoFilter}, {cblosc.Shuffle}, {cblosc.BitShuffle}, {cblosc.Delta, cblosc.Shuffle}} {
					e.Name = fmt.Sprintf("array%d", len(entries))
					path := filepath.Join(dir, e.Name)
					data := testutil.Ramp(int(count(e.Shape))*e.Size, uint64(len(entries)))
					p := cparams(e.Size)
					p.Codec, p.Filters = codec, [cblosc.MaxFilters]cblosc.Filter{}
					e.Codec, e.Filters = int(codec), nil
					for i, f := range filters {
						p.Filters[cblosc.MaxFilters-len(filters)+i].ID = f
						e.Filters = append(e.Filters, int(f))
					}
					a, err := caterva.Create(&cblosc.ArrayParams{Shape: e.Shape, ChunkShape: e.Chunks, Blocks: e.Blocks,
						Storage: cblosc.Storage{Path: path, Contiguous: e.Contiguous, CParams: p}})
					require.NoError(t, err, "%+v", e)
					require.NoError(t, a.WriteRegion(data, make([]int64, len(e.Shape)), e.Shape))
					require.NoError(t, a.Close())
					require.NoError(t, os.WriteFile(path+".data", data, 0o600))
					entries = append(entries, e)
				}
			}
		}
	}
	list, err := json.Marshal(entries)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "list.json"), list, 0o600))
	out, err := exec.Command(interpreter, "testdata/interop_caterva.py", dir).CombinedOutput()
	require.NoError(t, err, "interop_caterva.py:\n%s", out)

	for _, e := range entries {
		path := filepath.Join(dir, e.Name)
		want, err := os.ReadFile(path + ".data")
		require.NoError(t, err)
		if len(e.Shape) == 0 {
			continue // python-caterva can read it, but not write it
		}
		a, err := cblosc.OpenArray(path + ".python")
		require.NoError(t, err, "%+v", e)
		require.Equal(t, e.Shape, a.Shape())
		require.Equal(t, e.Chunks, a.ChunkShape())
		require.Equal(t, e.Blocks, a.Blocks())
		require.Equal(t, e.Size, a.ItemSize())
		require.Empty(t, a.DType())
		requireData(t, append([]byte{}, want...), a)
		p, err := a.SChunk().CParams()
		require.NoError(t, err)
		require.EqualValues(t, e.Codec, p.Codec, "%+v", e)
		require.NoError(t, a.Close())
	}
}
