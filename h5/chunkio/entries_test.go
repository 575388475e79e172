// Corrupt entries of chunk indexes.

package chunkio_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
)

// TestRead_corruptSize checks that a chunk whose entry in the index has an impossible size is an
// error in each way, and that the other chunks are read. libhdf5 returns an error too.
func TestRead_corruptSize(t *testing.T) {
	fitted := map[uint64]int{}
	for _, tt := range indexes {
		for _, low := range []h5.LibVer{tt.low, h5.LatestFormat} {
			for _, rows := range []int64{2, 400} { // one chunk has another index
				if tt.alloc == h5.AllocEarly || tt.low == h5.Earliest && low != tt.low {
					continue // chunks without entries; another index
				}
				image, want := entries(t, low, rows, tt.most(rows), tt.other)
				fields := hdf5test.ChunkSizes(image)
				require.GreaterOrEqual(t, int64(len(fields)), rows/2)
				field := fields[rows/4]
				for _, size := range []uint64{0, 1 << 32, 1<<33 + 1, 1 << 62, 1 << 63, 1<<64 - 1} {
					if field.Length < 8 && size>>(8*field.Length) != 0 {
						continue // the field cannot contain the size
					}
					fitted[size]++
					t.Run(fmt.Sprintf("%s, format %d, %d rows, %d bytes", tt.name, low, rows, size), func(t *testing.T) {
						b := slices.Clone(image)
						value := binary.LittleEndian.AppendUint64(nil, size)
						copy(b[field.Offset:], value[:field.Length])
						hdf5test.Reseal(b)
						requireCorrupt(t, b, rows, want)
					})
				}
			}
		}
	}
	require.Len(t, fitted, 6)
}

// entries creates a file with a dataset /d of numbered elements in filtered chunks of 2 rows. other
// is the maximum of the second dimension, or 0 for one dimension.
func entries(t *testing.T, low h5.LibVer, rows, most, other int64) (image, elements []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.LatestFormat})
	require.NoError(t, err)
	space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{rows}, MaxDims: []int64{most}}
	o := h5.DatasetOptions{ChunkShape: []int64{2}, Filters: []h5.Filter{h5.Deflate(1)}, Fill: []byte{7, 0}}
	if other != 0 {
		space.Dims, space.MaxDims, o.ChunkShape = []int64{rows, 3}, []int64{most, other}, []int64{2, 3}
	}
	u2 := h5.Uint(2, h5.LittleEndian)
	d, err := f.Root().CreateDataset("d", u2, space, &o)
	require.NoError(t, err)
	elements = numbered(space.NumElems())
	require.NoError(t, d.WriteRegion(elements, u2, space.All()))
	require.NoError(t, f.Close())
	image, err = os.ReadFile(path)
	require.NoError(t, err)
	return image, elements
}

// requireCorrupt checks that exactly one chunk of the dataset /d of a file cannot be read, by each
// way.
func requireCorrupt(t *testing.T, image []byte, rows int64, want []byte) {
	t.Helper()
	u2 := h5.Uint(2, h5.LittleEndian)
	path := filepath.Join(t.TempDir(), "x.h5")
	require.NoError(t, os.WriteFile(path, image, 0o600))
	local, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer local.Close()
	remote, err := h5.OpenReaderAt(&distant{Reader: bytes.NewReader(image)}, int64(len(image)), &h5.ReaderOptions{Concurrent: true})
	require.NoError(t, err)
	defer remote.Close()
	for _, f := range []*h5.File{local, remote} {
		d, err := f.Root().OpenDataset("d")
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		chunk := info.Space.All()
		chunk.Count[0] = 2
		bad := 0
		for chunk.Start[0] = 0; chunk.Start[0] < rows; chunk.Start[0] += 2 {
			row := len(want) / int(rows)
			expected := want[row*int(chunk.Start[0]):][:2*row]
			got := dirty(int64(len(expected)))
			_, err := chunkio.Read(t.Context(), d, got, u2, chunk, nil)
			library := d.ReadRegion(dirty(int64(len(expected))), u2, chunk)
			if err == nil {
				require.NoError(t, library)
				require.Equal(t, expected, got)
				continue
			}
			bad++
			require.ErrorIs(t, err, h5.ErrCorrupt)
			require.Error(t, library)
			require.ErrorContains(t, err, fmt.Sprintf("chunk %d: ", chunk.Start))
			_, _, err = d.ReadChunk(make([]byte, 100), chunk.Start...)
			require.NotErrorIs(t, err, h5.ErrNotFound)
		}
		require.Equal(t, 1, bad)
		_, err = chunkio.Read(t.Context(), d, make([]byte, len(want)), u2, info.Space.All(), nil)
		require.ErrorIs(t, err, h5.ErrCorrupt)
		numbers, ok, err := chunkio.Stored(d, nil, nil)
		require.NoError(t, err)
		require.True(t, ok)
		require.Len(t, numbers, int(rows/2))
		require.NoError(t, d.Close())
	}
}
