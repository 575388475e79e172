// Invalid arguments, corrupt chunks and cancelled transfers.

package chunkio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// TestRefused checks that invalid arguments return the errors of package h5.
func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	defer f.Close()
	i4 := h5.Int(4, h5.LittleEndian)
	d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(100), &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{h5.Deflate(6)}})
	require.NoError(t, err)
	ctx := context.Background()
	for _, tt := range []struct {
		name string
		mem  h5.Datatype
		r    h5.Region
		n    int
		want error
	}{
		{"short", i4, all(100), 399, h5.ErrSize},
		{"long", i4, all(100), 401, h5.ErrSize},
		{"outside", i4, all(101), 404, h5.ErrRegion},
		{"negative", i4, h5.Region{Start: []int64{-1}, Count: []int64{1}}, 4, h5.ErrRegion},
		{"rank", i4, all(10, 10), 400, h5.ErrRegion},
		{"type", h5.FixedString(4, h5.NullPad, h5.ASCII), all(100), 400, h5.ErrType},
	} {
		_, err := chunkio.Read(ctx, d, make([]byte, tt.n), tt.mem, tt.r, nil)
		require.ErrorIs(t, err, tt.want, tt.name)
		_, err = chunkio.Write(ctx, d, make([]byte, tt.n), tt.mem, tt.r, nil)
		require.ErrorIs(t, err, tt.want, tt.name)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	_, err = chunkio.Read(stopped, d, make([]byte, 400), i4, all(100), nil)
	require.ErrorIs(t, err, context.Canceled)
	_, err = chunkio.Write(stopped, d, make([]byte, 400), i4, all(100), nil)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, d.Close())
	_, err = chunkio.Read(ctx, d, make([]byte, 400), i4, all(100), nil)
	require.ErrorIs(t, err, h5.ErrClosed)
	require.NoError(t, f.Close())

	f, d = open(t, path, h5.ReadOnly, "d")
	defer f.Close()
	_, err = chunkio.Write(ctx, d, make([]byte, 400), i4, all(100), nil)
	require.ErrorIs(t, err, h5.ErrReadOnly)
	_, err = chunkio.Read(ctx, d, make([]byte, 400), i4, all(100), nil)
	require.NoError(t, err)
	other, err := f.Root().OpenDataset("d")
	require.NoError(t, err)
	_, err = chunkio.Read(ctx, other, make([]byte, 400), i4, all(100), nil)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	_, err = chunkio.Read(ctx, d, make([]byte, 400), i4, all(100), nil)
	require.ErrorIs(t, err, h5.ErrClosed)
	require.NoError(t, f.Close())
	_, err = chunkio.Read(ctx, other, make([]byte, 400), i4, all(100), nil)
	require.ErrorIs(t, err, h5.ErrClosed)
}

// TestRead_chunkOutside checks that a chunk whose offset is 2^63 elements or more contains no
// element of the dataset. A corrupt index can contain such an offset, and libhdf5 ignores the chunk
// too.
func TestRead_chunkOutside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "far.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.Earliest, High: h5.LatestFormat})
	require.NoError(t, err)
	level, i4 := 1, h5.Int(4, h5.LittleEndian)
	d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{2}, Deflate: &level})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, all(10)))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var keys []int64 // file offsets of the first chunk coordinate; the offset in the element follows it
	for _, x := range h5file.Describe(bytes.NewReader(b), int64(len(b))).Walk() {
		if x.Name == "chunk offset" {
			keys = append(keys, x.Offset)
		}
	}
	require.Len(t, keys, 12, "five chunks and the end")
	binary.LittleEndian.PutUint64(b[keys[8]:], 1<<63)
	binary.LittleEndian.PutUint64(b[keys[10]:], 1<<63+2)
	require.NoError(t, os.WriteFile(path, b, 0o600))

	f, d = open(t, path, h5.ReadOnly, "d")
	want, got := make([]byte, 40), make([]byte, 40)
	require.NoError(t, d.ReadRegion(want, i4, all(10)))
	require.Equal(t, make([]byte, 8), want[32:])
	for range 2 {
		_, err = chunkio.Read(t.Context(), d, got, i4, all(10), nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
}

// TestReader_Cancel checks that the caller, a corrupt chunk and a truncated file stop a transfer.
func TestReader_Cancel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	i4 := h5.Int(4, h5.LittleEndian)
	d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(1000), &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{h5.Deflate(6), h5.Fletcher32()}})
	require.NoError(t, err)
	src := bytesLike(4000, 1)
	for workers := 1; workers <= 3; workers++ {
		ctx, stop := context.WithCancel(context.Background())
		var seen int64
		o := &chunkio.Options{Workers: workers, Progress: func(done, total int64) {
			require.Greater(t, done, seen)
			require.EqualValues(t, 4000, total)
			if seen = done; done >= 400 {
				stop()
			}
		}}
		_, err = chunkio.Write(ctx, d, src, i4, all(1000), o)
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, seen, int64(4000))
		_, err = chunkio.Write(context.Background(), d, src, i4, all(1000), &chunkio.Options{Workers: workers})
		require.NoError(t, err)
		ctx, stop = context.WithCancel(context.Background())
		o.Progress = func(done, _ int64) {
			if seen = done; done >= 400 {
				stop()
			}
		}
		_, err = chunkio.Read(ctx, d, make([]byte, 4000), i4, all(1000), o)
		require.ErrorIs(t, err, context.Canceled)
		stop()
	}
	var raw [100]byte
	n, _, err := d.ReadChunk(raw[:], 500)
	require.NoError(t, err)
	raw[n-1] ^= 0x40
	require.NoError(t, d.WriteChunk(raw[:n], 0, 500))
	require.NoError(t, f.Close())
	for _, mode := range []h5.Mode{h5.ReadOnly, h5.ReadWrite} {
		f, d := open(t, path, mode, "d")
		s, err := chunkio.Read(context.Background(), d, make([]byte, 4000), i4, all(1000), nil)
		require.ErrorIs(t, err, filter.ErrChecksum)
		require.ErrorIs(t, err, h5.ErrCorrupt)
		require.Contains(t, err.Error(), "chunkio: read /d, chunk [500]: ")
		require.Equal(t, mode == h5.ReadOnly, s.Direct > 0)
		require.Error(t, d.ReadRegion(make([]byte, 4000), i4, all(1000)))
		if mode == h5.ReadWrite {
			_, err = chunkio.Write(context.Background(), d, make([]byte, 4), i4, h5.Region{Start: []int64{505}, Count: []int64{1}}, nil)
			require.ErrorIs(t, err, filter.ErrChecksum)
			require.Contains(t, err.Error(), "chunkio: write /d, chunk [500]: ")
		}
		require.NoError(t, f.Close())
	}
	// The file ends before its chunk does.
	require.NoError(t, os.Truncate(path, 3000))
	if f, err := h5.Open(path, h5.ReadOnly); err == nil {
		defer f.Close()
		d, err := f.Root().OpenDataset("d")
		if err == nil {
			_, err = chunkio.Read(context.Background(), d, make([]byte, 4000), i4, all(1000), nil)
		}
		require.Error(t, err)
	}
}

// TestRead_chunkLength checks that a chunk of the wrong decoded length returns an error that names
// the chunk. libhdf5 ignores the end of a longer chunk and reads past the end of a shorter one.
func TestRead_chunkLength(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	i4, ctx := h5.Int(4, h5.LittleEndian), context.Background()
	filters := []h5.Filter{h5.Shuffle(), h5.Deflate(6)}
	d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(100), &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: filters})
	require.NoError(t, err)
	src := bytesLike(400, 1)
	_, err = chunkio.Write(ctx, d, src, i4, all(100), nil)
	require.NoError(t, err)
	info, err := d.Info()
	require.NoError(t, err)
	p, err := filter.New(info.Filters, filter.Options{})
	require.NoError(t, err)
	for at, n := range map[int64]int{20: 44, 70: 36} {
		b, _, err := p.Encode(nil, bytesLike(n, 2))
		require.NoError(t, err)
		require.NoError(t, d.WriteChunk(b, 0, at))
	}
	require.NoError(t, f.Close())
	for _, mode := range []h5.Mode{h5.ReadOnly, h5.ReadWrite} {
		f, d := open(t, path, mode, "d")
		for at, n := range map[int64]int{20: 44, 70: 36} {
			r := h5.Region{Start: []int64{at}, Count: []int64{10}}
			_, err := chunkio.Read(ctx, d, make([]byte, 40), i4, r, nil)
			require.ErrorIs(t, err, h5.ErrCorrupt)
			if n > 40 {
				require.ErrorContains(t, err, fmt.Sprintf("chunk [%d]", at))
				continue
			}
			require.ErrorContains(t, err, fmt.Sprintf("chunk [%d]: filter: decode: corrupt: 36 bytes, the chunk has 40", at))
		}
		require.NoError(t, f.Close())
	}
}

// TestShortChunks checks, for each compressor, that a chunk with too few decoded bytes is rejected.
// libhdf5 would take the rest of the chunk from the memory after it.
func TestShortChunks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	i4, ctx := h5.Int(4, h5.LittleEndian), context.Background()
	chunk := make([]byte, 4000)
	for i := range 1000 {
		chunk[4*i] = byte(i)
	}
	var names []string
	for _, c := range []h5.Filter{
		h5.Deflate(6), {ID: filter.IDBZip2, Values: []uint32{9}}, {ID: filter.IDLZF}, {ID: filter.IDBlosc, Values: []uint32{0, 0, 0, 0, 5, 1, 1}},
		{ID: filter.IDLZ4}, {ID: filter.IDBitShuffle, Values: []uint32{0, 2}}, {ID: filter.IDZstd, Values: []uint32{3}}, {ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, 1, 5}},
	} {
		for _, filters := range [][]h5.Filter{{c}, {h5.Shuffle(), c}, {c, h5.Fletcher32()}} {
			name := fmt.Sprint(len(names))
			names = append(names, name)
			d, err := f.Root().CreateDataset(name, i4, h5.SimpleSpace(2000), &h5.DatasetOptions{ChunkShape: []int64{1000}, Filters: filters})
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			p, err := filter.New(info.Filters, filter.Options{})
			require.NoError(t, err)
			for at, n := range []int{4000, 3200} {
				b, mask, err := p.Encode(nil, chunk[:n])
				require.NoError(t, err)
				require.Zero(t, mask)
				require.NoError(t, d.WriteChunk(b, 0, int64(1000*at)))
			}
			require.NoError(t, d.Close())
		}
	}
	require.NoError(t, f.Close())
	for _, mode := range []h5.Mode{h5.ReadOnly, h5.ReadWrite} { // by workers, and through H5Dread_chunk
		for _, name := range names {
			f, d := open(t, path, mode, name)
			info, err := d.Info()
			require.NoError(t, err)
			got := make([]byte, 4000)
			_, err = chunkio.Read(ctx, d, got, i4, h5.Region{Start: []int64{0}, Count: []int64{1000}}, nil)
			require.NoError(t, err, "%v", info.Filters)
			require.Equal(t, chunk, got, "%v", info.Filters)
			_, err = chunkio.Read(ctx, d, make([]byte, 8000), i4, all(2000), nil)
			require.ErrorIs(t, err, h5.ErrCorrupt, "%v", info.Filters)
			require.ErrorContains(t, err, "chunk [1000]: filter: decode: corrupt: 3200 bytes, the chunk has 4000", "%v", info.Filters)
			_, err = chunkio.Read(ctx, d, make([]byte, 4), i4, h5.Region{Start: []int64{1999}, Count: []int64{1}}, nil)
			require.ErrorIs(t, err, h5.ErrCorrupt, "%v: a part of it", info.Filters)
			require.NoError(t, f.Close())
		}
	}
}

// TestReader_ChunkParts checks that a slice of a Blosc2 chunk reads only some of its blocks.
func TestReader_ChunkParts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f := create(t, path)
	f4 := h5.IEEEFloat(4, h5.LittleEndian)
	shape := []int64{60, 64, 128}
	d, err := f.Root().CreateDataset("d", f4, h5.SimpleSpace(shape...), &h5.DatasetOptions{
		ChunkShape: []int64{30, 64, 128}, Filters: []h5.Filter{{ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, 1, 5}}},
	})
	require.NoError(t, err)
	src := bytesLike(4*60*64*128, 1)
	s, err := chunkio.Write(context.Background(), d, src, f4, all(shape...), nil)
	require.NoError(t, err)
	require.Empty(t, s.Fallback)
	require.NoError(t, f.Close())
	f, d = open(t, path, h5.ReadOnly, "d")
	defer f.Close()
	for _, r := range []h5.Region{
		{Start: []int64{7, 0, 0}, Count: []int64{1, 64, 128}}, {Start: []int64{0, 7, 0}, Count: []int64{60, 1, 128}},
		{Start: []int64{0, 0, 99}, Count: []int64{60, 64, 1}}, {Start: []int64{29, 63, 127}, Count: []int64{2, 1, 1}},
	} {
		want := make([]byte, r.NumElems()*4)
		require.NoError(t, d.ReadRegion(want, f4, r))
		got := make([]byte, len(want))
		s, err := chunkio.Read(context.Background(), d, got, f4, r, nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, s.Chunks, s.Partial)
		require.Equal(t, s.Chunks, s.Direct)
	}
}

// TestRead_cutChunk reads a chunk at the edge of a dataset that is stored without the elements
// beyond the edge. The error explains which releases of HDF5 read it.
func TestRead_cutChunk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cut.h5")
	f := create(t, path)
	i4, filters := h5.Int(4, h5.LittleEndian), []h5.Filter{h5.Deflate(6)}
	d, err := f.Root().CreateDataset("x", i4, h5.SimpleSpace(5), &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: filters})
	require.NoError(t, err)
	p, err := filter.New(filters, filter.Options{})
	require.NoError(t, err)
	for i, n := range []int{16, 4} { // bytes of the elements inside the dataset
		raw, _, err := p.Encode(nil, bytes.Repeat([]byte{byte(i + 1)}, n))
		require.NoError(t, err)
		require.NoError(t, d.WriteChunk(raw, 0, int64(4*i)))
	}
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	f, d = open(t, path, h5.ReadOnly, "x")
	for _, library := range []bool{false, true} {
		_, err = chunkio.Read(t.Context(), d, make([]byte, 20), i4, all(5), &chunkio.Options{Library: library})
		require.ErrorIs(t, err, h5.ErrCorrupt)
		require.ErrorContains(t, err, "HDF5 before 2.2 reads")
	}
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
}
