package h5_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
)

// writeOtherRank creates a file whose dataset /g/d has chunks of 2 dimensions and a dataspace of
// rank dimensions.
func writeOtherRank(t *testing.T, low h5.LibVer, rows int64, rank byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.LatestFormat})
	require.NoError(t, err)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	space := h5.SimpleSpace(6, 8)
	space.MaxDims = []int64{rows, 8}
	d, err := g.CreateDataset("d", h5.Int(4, h5.LittleEndian), space, &h5.DatasetOptions{ChunkShape: []int64{3, 4}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, make([]int32, 48), space.All()))
	require.NoError(t, f.Close())
	hdf5test.Edit(t, path, "/g/d", h5file.DataspaceType, func(m []byte) {
		m[1] = rank
		m[2] = 0 // the bytes of the maximum shape are now part of the shape
	})
	return path
}

// TestRanks_chunks checks a dataset whose chunks have another number of dimensions than its
// dataspace. Every operation that accesses the chunks, and every copy of the dataset or its group,
// must return an error, because libhdf5 would read other elements, loop forever or divide by 0.
func TestRanks_chunks(t *testing.T) {
	if os.Getenv("H5_TEST_CHILD") != "" {
		useOtherRank(t, os.Getenv("H5_TEST_FILE"))
		return
	}
	for _, low := range []h5.LibVer{h5.Earliest, h5.V110} {
		for _, rows := range []int64{6, 9, h5.Unlimited} {
			for _, rank := range []byte{0, 1, 3, 4} {
				path := writeOtherRank(t, low, rows, rank)
				child(t, "TestRanks_chunks", "H5_TEST_FILE="+path)
			}
		}
	}
}

func useOtherRank(t *testing.T, path string) {
	f, err := h5.Open(path, h5.ReadWrite)
	require.NoError(t, err)
	defer f.Close()
	copied, err := h5.Create(filepath.Join(t.TempDir(), "copy.h5"), nil)
	require.NoError(t, err)
	defer copied.Close()
	require.Error(t, f.Root().CopyObject("g", copied.Root(), "g", nil))
	require.Error(t, f.Root().CopyObject("g/d", copied.Root(), "d", nil))
	d, err := f.Root().OpenDataset("g/d")
	if err != nil {
		return // libhdf5 detected the mismatch
	}
	rank := int64(len(hdf5test.Object(t, path, "/g/d").Dataspace().Dims))
	space := h5.SimpleSpace([]int64{6, 8, 6, 8}[:rank]...)
	i4, data, at := h5.Int(4, h5.LittleEndian), make([]byte, 4*space.NumElems()), make([]int64, rank)
	all := space.All()
	_, info := d.Info()
	_, count := d.NumChunks()
	_, nth := d.ChunkByIndex(0)
	_, found := d.ChunkAt(at...)
	_, bytes := d.ChunkBytes(at...)
	_, _, raw := d.ReadChunk(make([]byte, 48), at...)
	var listed error
	for _, listed = range d.StoredChunks() {
		break
	}
	for op, err := range map[string]error{
		"info": info, "count": count, "nth": nth, "at": found, "bytes": bytes, "read chunk": raw, "list": listed,
		"write chunk": d.WriteChunk(make([]byte, 48), 0, at...), "resize": d.Resize(space.Dims...),
		"read": d.ReadRegion(data, i4, all), "read selection": d.ReadSelection(data, i4, all), "write": d.WriteRegion(data, i4, all),
	} {
		require.ErrorIs(t, err, h5.ErrCorrupt, op)
		require.ErrorContains(t, err, fmt.Sprintf("chunks of 2 dimensions in a dataset of %d", rank), op)
	}
	require.NoError(t, d.Close())
}
