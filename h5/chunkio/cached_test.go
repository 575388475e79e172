package chunkio_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
)

// TestRead_cachedChunk reads a chunk that libhdf5 has in its cache and has not stored yet.
// ReadChunk does not find it in a dataset with PlainEdges.
func TestRead_cachedChunk(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	dt := h5.Int(1, h5.LittleEndian)
	d, err := f.Root().CreateDataset("d", dt, h5.SimpleSpace(1), &h5.DatasetOptions{ChunkShape: []int64{1}, FillTime: h5.FillNever, PlainEdges: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	all := h5.Region{Start: []int64{0}, Count: []int64{1}}
	src, dst := []byte{1}, make([]byte, 1)
	require.NoError(t, d.WriteRegion(src, dt, all))
	s, err := chunkio.Read(t.Context(), d, dst, dt, all, nil)
	require.NoError(t, err)
	require.Empty(t, s.Fallback)
	require.Equal(t, src, dst)
}
