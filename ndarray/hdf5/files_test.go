package hdf5_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// TestOpenOptions_ExternalDir checks that external files are read as libhdf5 reads them if their
// directory is the working directory.
func TestOpenOptions_ExternalDir(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	require.NoError(t, os.Mkdir(data, 0o777))
	var raw []byte
	for i := range 60 {
		raw = binary.BigEndian.AppendUint16(raw, uint16(i))
	}
	require.NoError(t, os.WriteFile(filepath.Join(data, "one"), append([]byte("head"), raw[:33]...), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(data, "two"), raw[33:101], 0o666)) // 9 elements are missing
	path := filepath.Join(dir, "a.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("e", h5.Int(2, h5.BigEndian), h5.SimpleSpace(3, 4, 5), &h5.DatasetOptions{
		External: []h5.ExternalFile{{Name: "one", Offset: 4, Size: 33}, {Name: "two", Size: h5.Unlimited}},
	})
	require.NoError(t, err)
	require.NoError(t, h5value.WriteAttr(d, "unit", []int32{1}))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	t.Chdir(data)
	for _, r := range []ndarray.Region{
		ndarray.Whole([]int64{3, 4, 5}), {Start: []int64{1, 1, 1}, Shape: []int64{2, 2, 3}}, {Start: []int64{0, 3, 4}, Shape: []int64{3, 1, 1}}, {Start: []int64{0, 0, 0}, Shape: []int64{3, 0, 5}},
	} {
		var got [2][]byte
		for i, o := range []*hdf5.OpenOptions{nil, {ExternalDir: data}} {
			b, err := hdf5.Open(path, "/e", o)
			require.NoError(t, err)
			got[i] = make([]byte, 2*r.NumElems())
			require.NoError(t, b.ReadRegion(bg, got[i], r, 0))
			require.NoError(t, b.Close())
		}
		require.Equal(t, got[0], got[1], "%v", r)
	}
}
