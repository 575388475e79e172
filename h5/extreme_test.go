package h5_test

import (
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// The last bytes of a dataset of 2^63-2 bytes are read with a buffer that reaches past its end.
func TestFS_ExtremeShape(t *testing.T) {
	const length = 1<<62 - 1
	const size = 2 * length
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	d, err := f.Root().CreateDataset("d", h5.Uint(2, h5.LittleEndian), h5.SimpleSpace(length), &h5.DatasetOptions{Chunks: []int64{1 << 10}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, []uint16{7, 8, 9}, region([]int64{length - 3}, []int64{3})))
	require.NoError(t, d.Close())
	file, err := f.FS().Open("d")
	require.NoError(t, err)
	defer file.Close()
	b := make([]byte, 100)
	n, err := file.(io.ReaderAt).ReadAt(b, size-5)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, []byte{0, 8, 0, 9, 0}, b[:n])
	info, err := fs.Stat(f.FS(), "d")
	require.NoError(t, err)
	require.EqualValues(t, int64(size), info.Size())
}

// A region of a mapping whose end overflows is outside.
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
				require.ErrorContains(t, err, "the shape is [4]", side) // found before libhdf5 is called
			}
		})
	}
}
