package h5_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// TestDataset_Read_virtualMismatch reads a virtual dataset whose mapping declares a larger source
// than the file has. libhdf5 and h5py fail too.
func TestDataset_Read_virtualMismatch(t *testing.T) {
	dir := t.TempDir()
	src, err := h5.Create(filepath.Join(dir, "s.h5"), nil)
	require.NoError(t, err)
	a, err := src.Root().CreateDataset("a", i4, h5.SimpleSpace(2, 3), nil)
	require.NoError(t, err)
	require.NoError(t, a.WriteRegion(make([]byte, 24), i4, region([]int64{0, 0}, []int64{2, 3})))
	require.NoError(t, a.Close())
	require.NoError(t, src.Close())

	f, err := h5.Create(filepath.Join(dir, "v.h5"), &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	whole := region([]int64{0, 0}, []int64{3, 3})
	d, err := f.Root().CreateDataset("v", i4, h5.SimpleSpace(3, 3), &h5.DatasetOptions{Mappings: []h5.Mapping{
		{Region: whole, File: "s.h5", Dataset: "a", Source: h5.SimpleSpace(3, 3), SourceRegion: whole},
	}})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	f, err = h5.Open(filepath.Join(dir, "v.h5"), h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	d, err = f.Root().OpenDataset("v")
	require.NoError(t, err)
	defer d.Close()
	require.ErrorIs(t, d.ReadRegion(make([]byte, 36), i4, whole), h5.ErrCorrupt)
}
