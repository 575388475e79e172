package chunkio_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
)

// unwritten describes the fill value of a dataset, and the element that a read must return for
// chunks that are not stored.
type unwritten struct {
	name    string
	o       h5.DatasetOptions
	filled  bool // the fill value is used; otherwise elements are zero
	refused bool // libhdf5 cannot read the dataset before a chunk is stored
}

func fills(value []byte) []unwritten {
	return []unwritten{
		{"default", h5.DatasetOptions{}, false, false},
		{"default, on allocation", h5.DatasetOptions{FillTime: h5.FillOnAlloc}, false, false},
		{"default, never", h5.DatasetOptions{FillTime: h5.FillNever}, false, false},
		{"none", h5.DatasetOptions{NoFill: true}, false, true},
		{"none, never", h5.DatasetOptions{NoFill: true, FillTime: h5.FillNever}, false, false},
		{"value", h5.DatasetOptions{Fill: value}, true, false},
		{"value, on allocation", h5.DatasetOptions{Fill: value, FillTime: h5.FillOnAlloc}, true, false},
		{"value, never", h5.DatasetOptions{Fill: value, FillTime: h5.FillNever}, false, false},
	}
}

// swapped returns elements with the bytes of each number reversed.
func swapped(b []byte, size int) []byte {
	out := slices.Clone(b)
	for i := 0; i < len(out); i += size {
		slices.Reverse(out[i : i+size])
	}
	return out
}

// TestRead_unwritten reads chunks that are not stored in each way, into a destination that contains
// other bytes. Rows 8 to 12 are written by workers and rows 16 to 17 by libhdf5; their chunks have
// other rows too.
func TestRead_unwritten(t *testing.T) {
	const rows, columns = 23, 10
	i4, be := h5.Int(4, h5.LittleEndian), h5.Int(4, h5.BigEndian)
	value := []byte{1, 2, 3, 4}
	for name, filters := range map[string][]h5.Filter{
		"none": nil, "deflate": {h5.Shuffle(), h5.Deflate(1)}, "Blosc2": {{ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, 1, 1}}}, "n-bit": {h5.Nbit()},
	} {
		for _, tt := range fills(value) {
			t.Run(name+", "+tt.name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x.h5")
				f := create(t, path)
				o := tt.o
				o.ChunkShape, o.Filters = []int64{4, 3}, filters
				d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(rows, columns), &o)
				require.NoError(t, err)
				one := make([]byte, 4)
				if tt.filled {
					one = value
				}
				want := bytes.Repeat(one, rows*columns)
				if !tt.refused {
					requireElements(t, path, f, want, i4)
				}
				src := bytesLike(4*5*columns, 1)
				_, err = chunkio.Write(t.Context(), d, src, i4, h5.Region{Start: []int64{8, 1}, Count: []int64{5, columns - 2}}, nil)
				require.Error(t, err)
				src = src[:4*5*(columns-2)]
				_, err = chunkio.Write(t.Context(), d, src, i4, h5.Region{Start: []int64{8, 1}, Count: []int64{5, columns - 2}}, nil)
				require.NoError(t, err)
				for row := range 5 {
					copy(want[4*((8+row)*columns+1):], src[4*row*(columns-2):][:4*(columns-2)])
				}
				require.NoError(t, d.WriteRegion(src[:4*2], be, h5.Region{Start: []int64{16, 4}, Count: []int64{2, 1}}))
				copy(want[4*(16*columns+4):], swapped(src[:4], 4))
				copy(want[4*(17*columns+4):], swapped(src[4:8], 4))
				requireElements(t, path, f, want, i4)
			})
		}
	}
}

// requireElements reads the dataset /d of a file, which is open for writing, in each way.
func requireElements(t *testing.T, path string, f *h5.File, want []byte, stored h5.Datatype) {
	t.Helper()
	requireRegions(t, f, want, stored)
	require.NoError(t, f.Flush())
	image, err := os.ReadFile(path)
	require.NoError(t, err)
	plain, err := h5.OpenReaderAt(bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	requireRegions(t, plain, want, stored)
	require.NoError(t, plain.Close())
	remote, err := h5.OpenReaderAt(&distant{Reader: bytes.NewReader(image)}, int64(len(image)), &h5.ReaderOptions{Concurrent: true})
	require.NoError(t, err)
	requireRegions(t, remote, want, stored)
	require.NoError(t, remote.Close())
	again := filepath.Join(t.TempDir(), "copy.h5")
	require.NoError(t, os.WriteFile(again, image, 0o600))
	local, err := h5.Open(again, h5.ReadOnly)
	require.NoError(t, err)
	requireRegions(t, local, want, stored)
	require.NoError(t, local.Close())
}

// requireRegions reads regions of the dataset /d with workers and with libhdf5.
func requireRegions(t *testing.T, f *h5.File, want []byte, stored h5.Datatype) {
	t.Helper()
	d, err := f.Root().OpenDataset("d")
	require.NoError(t, err)
	info, err := d.Info()
	require.NoError(t, err)
	dims, size := info.Space.Dims, int64(stored.Size)
	for n, r := range []h5.Region{
		all(dims...), {Start: []int64{1, 0}, Count: []int64{2, 2}}, {Start: []int64{0, 1}, Count: []int64{7, 3}, Stride: []int64{3, 3}},
		{Start: []int64{7, 0}, Count: []int64{3, 2}, Stride: []int64{5, 5}, Block: []int64{3, 4}}, {Start: []int64{22, 9}, Count: []int64{1, 1}},
	} {
		selected := make([]byte, r.NumElems()*size)
		for k := range r.NumElems() {
			block := []int64{1, 1}
			stride := []int64{1, 1}
			if r.Block != nil {
				block = r.Block
			}
			if r.Stride != nil {
				stride = r.Stride
			}
			width := r.Count[1] * block[1]
			row, column := k/width, k%width
			at := (r.Start[0]+row/block[0]*stride[0]+row%block[0])*dims[1] + r.Start[1] + column/block[1]*stride[1] + column%block[1]
			copy(selected[k*size:], want[at*size:][:size])
		}
		for _, mem := range []h5.Datatype{stored, h5.Int(stored.Size, h5.BigEndian)} {
			for _, o := range []*chunkio.Options{nil, {Workers: 3}, {Library: true}} {
				got := dirty(int64(len(selected)))
				_, err := chunkio.Read(t.Context(), d, got, mem, r, o)
				require.NoError(t, err)
				expected := selected
				if mem.Order == h5.BigEndian {
					expected = swapped(selected, stored.Size)
				}
				require.Equal(t, expected, got, "region %d, %v, %+v", n, mem, o)
			}
		}
	}
	require.NoError(t, d.Close())
}

// TestRead_nothingStored checks that libhdf5's error for a dataset without stored elements and
// without a fill value is the same in each way.
func TestRead_nothingStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	i4 := h5.Int(4, h5.LittleEndian)
	for n, o := range []h5.DatasetOptions{{}, {ChunkShape: []int64{3}}, {ChunkShape: []int64{3}, Filters: []h5.Filter{h5.Deflate(1)}}} {
		o.NoFill = true
		d, err := f.Root().CreateDataset(fmt.Sprint(n), i4, h5.SimpleSpace(10), &o)
		require.NoError(t, err)
		for _, o := range []*chunkio.Options{nil, {Library: true}} {
			_, err = chunkio.Read(t.Context(), d, dirty(40), i4, all(10), o)
			require.ErrorContains(t, err, "no data can be read")
		}
	}
	require.NoError(t, f.Close())
}
