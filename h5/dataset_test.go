package h5_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// newFile makes an empty file in a folder of the test's own.
func newFile(t testing.TB) *h5.File {
	t.Helper()
	f, err := h5.Create(filepath.Join(t.TempDir(), "new.h5"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// newDataset makes a dataset in a file of its own.
func newDataset(t testing.TB, dt h5.Datatype, space h5.Dataspace, o *h5.DatasetOptions) *h5.Dataset {
	t.Helper()
	d, err := newFile(t).Root().CreateDataset("d", dt, space, o)
	require.NoError(t, err)
	return d
}

// region is start and count without stride and block.
func region(start, count []int64) h5.Region { return h5.Region{Start: start, Count: count} }

func TestDatasetWriteThenRead(t *testing.T) {
	level := 4
	d := newDataset(t, h5.Int(4, h5.BigEndian), h5.SimpleSpace(4, 6), &h5.DatasetOptions{
		Chunks: []int64{3, 4}, Deflate: &level, Shuffle: true, Fletcher32: true,
	})
	all := make([]int32, 24)
	for i := range all {
		all[i] = int32(i*i) - 100
	}
	require.NoError(t, h5.Write(d, all, region([]int64{0, 0}, []int64{4, 6})))
	got, err := h5.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, all, got)

	part := make([]int64, 4)
	require.NoError(t, h5.Read(d, part, region([]int64{1, 4}, []int64{2, 2})))
	require.Equal(t, []int64{0, 21, 156, 189}, part)

	info, err := d.Info()
	require.NoError(t, err)
	require.True(t, info.Datatype.Equal(h5.Int(4, h5.BigEndian)), "%v", info.Datatype)
	require.Equal(t, []int64{3, 4}, info.Chunks)
	require.Len(t, info.Filters, 3)
	require.Equal(t, "H5T_STD_I32BE", info.Datatype.String())
	require.Equal(t, "SIMPLE { ( 4, 6 ) / ( 4, 6 ) }", info.Space.String())
}
