package h5_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/h5"
)

// A parameter of szip, n-bit or scale-offset that is not that of the dataset is found
// before the library is led astray by it, in every operation that runs the filters.
func TestParametersThatTheLibraryTrusts(t *testing.T) {
	i4 := h5.Int(4, h5.LittleEndian)
	thin := i4
	thin.Precision = 20
	for name, tt := range map[string]struct {
		step     h5.Filter
		datatype h5.Datatype
		values   []uint32 // the first of those in the file
		at       int      // of them, which becomes to
		to       uint32
	}{
		"nbit elements":       {h5.Nbit(), thin, []uint32{8, 0, 10, 1, 4, 0, 20, 0}, 2, 1 << 20},
		"nbit class":          {h5.Nbit(), thin, []uint32{8, 0, 10, 1, 4, 0, 20, 0}, 3, 3},
		"nbit offset":         {h5.Nbit(), thin, []uint32{8, 0, 10, 1, 4, 0, 20, 0}, 7, 1<<32 - 20},
		"scaleoffset numbers": {h5.ScaleOffsetInt(0), i4, []uint32{2, 0, 10, 0, 4, 1}, 4, 8},
		"szip blocks":         {h5.Szip(h5.SzipNearest, 4), i4, []uint32{169, 4, 32, 10}, 1, 0},
	} {
		path := filepath.Join(t.TempDir(), "x.h5")
		f, err := h5.Create(path, nil)
		require.NoError(t, err)
		space := h5.SimpleSpace(20)
		space.MaxDims = []int64{h5.Unlimited}
		d, err := f.Root().CreateDataset("d", tt.datatype, space, &h5.DatasetOptions{Chunks: []int64{10}, Filters: []h5.Filter{tt.step}})
		require.NoError(t, err)
		require.NoError(t, d.WriteRegion(make([]byte, 80), tt.datatype, space.All()))
		require.NoError(t, f.Close())
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		var stored []byte
		for _, v := range tt.values {
			stored = binary.LittleEndian.AppendUint32(stored, v)
		}
		at := bytes.Index(b, stored)
		require.Positive(t, at, name)
		binary.LittleEndian.PutUint32(b[at+4*tt.at:], tt.to)
		require.NoError(t, os.WriteFile(path, b, 0o644))

		f, err = h5.Open(path, h5.ReadWrite)
		require.NoError(t, err)
		d, err = f.Root().OpenDataset("d")
		require.NoError(t, err)
		all, data := space.All(), make([]byte, 80)
		_, _, values := d.ReadChunk(make([]byte, 400), 0)
		require.NoError(t, values, "as it is stored anybody may have it")
		for op, err := range map[string]error{
			"read": d.ReadRegion(data, tt.datatype, all), "read selection": d.ReadSelection(data, tt.datatype, all),
			"write": d.WriteRegion(data, tt.datatype, all), "resize": d.Resize(15),
		} {
			require.ErrorIs(t, err, h5.ErrCorrupt, "%s: %s", name, op)
			require.ErrorIs(t, err, format.ErrCorrupt, "%s: %s", name, op)
		}
		require.NoError(t, f.Close())
	}
}

// Integers that take all their bits are stored by scale-offset so that the library
// refuses to read them: an error, and no wrong values.
func TestScaleOffsetOverTheFullRange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	i1, all := h5.Int(1, h5.LittleEndian), h5.SimpleSpace(4).All()
	d, err := f.Root().CreateDataset("d", i1, h5.SimpleSpace(4), &h5.DatasetOptions{Chunks: []int64{4}, Filters: []h5.Filter{h5.ScaleOffsetInt(0)}})
	require.NoError(t, err)
	data := []byte{1, 0x80, 0x7F, 5} // from the least to the greatest
	require.NoError(t, d.WriteRegion(data, i1, all))
	require.NoError(t, f.Close())
	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	d, err = f.Root().OpenDataset("d")
	require.NoError(t, err)
	if err := d.ReadRegion(make([]byte, 4), i1, all); err != nil {
		require.ErrorContains(t, err, "filter returned failure", "before 1.14.5 the library reads them")
	}
	raw := make([]byte, 100)
	n, _, err := d.ReadChunk(raw, 0)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 25)
	require.Equal(t, data, raw[21:25], "they stand behind the chunk's head")
	require.NoError(t, f.Close())
}
