package verify_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/verify"
)

// TestFile_chunkSize checks that a chunk whose entry in the index has a size that no file has is
// reported with its place, like any other corrupt chunk.
func TestFile_chunkSize(t *testing.T) {
	for _, size := range []uint64{0, 1 << 32, 1<<33 + 1, 1 << 62, 1 << 63, 1<<64 - 1} {
		for most, name := range map[int64]string{12: "fixed array", h5.Unlimited: "extensible array"} {
			t.Run(fmt.Sprintf("%s, %d", name, size), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x.h5")
				f, err := h5.Create(path, &h5.CreateOptions{Low: h5.LatestFormat})
				require.NoError(t, err)
				i4 := h5.Int(4, h5.LittleEndian)
				space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{12}, MaxDims: []int64{most}}
				d, err := f.Root().CreateDataset("d", i4, space, &h5.DatasetOptions{ChunkShape: []int64{3}, Filters: []h5.Filter{h5.Deflate(1)}})
				require.NoError(t, err)
				require.NoError(t, d.WriteRegion(make([]byte, 48), i4, space.All()))
				require.NoError(t, f.Close())
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				field := hdf5test.ChunkSizes(b)[1]
				require.EqualValues(t, 8, field.Length, "a format with sizes of 8 bytes")
				binary.LittleEndian.PutUint64(b[field.Offset:], size)
				hdf5test.Reseal(b)
				require.NoError(t, os.WriteFile(path, b, 0o600))
				for _, untrusted := range []bool{false, true} {
					r, err := verify.File(bg, path, &verify.Options{Untrusted: untrusted})
					require.NoError(t, err)
					require.Equal(t, verify.ExitCorrupt, r.ExitCode(), "%v", r.Unchecked)
					require.Contains(t, fmt.Sprint(r.Damages), fmt.Sprintf("%d bytes", size))
				}
			})
		}
	}
}
