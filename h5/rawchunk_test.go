package h5_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestRawChunk_32Dimensions checks that the functions for raw chunks refuse datasets of 32
// dimensions, because libhdf5's functions write past the end of a table. All other functions must
// work for such a dataset.
func TestRawChunk_32Dimensions(t *testing.T) {
	testenv.NoAssertions(t)
	level := 1
	dims, chunks := slices.Repeat([]int64{1}, h5.MaxRank), slices.Repeat([]int64{1}, h5.MaxRank)
	dims[0], chunks[0] = 8, 4
	o := h5.DatasetOptions{ChunkShape: chunks, Deflate: &level}
	d := newDataset(t, h5.Int(4, 0), h5.SimpleSpace(dims...), &o)
	at := make([]int64, h5.MaxRank)
	size, err := d.ChunkBytes(at...)
	require.NoError(t, err)
	require.Zero(t, size)
	first := region(at, chunks)
	for _, b := range [][]byte{plainChunk(1), plainChunk(5)} { // the second write overwrites the first
		require.NoError(t, d.WriteRegion(b, h5.Int(4, 0), first))
		got := make([]byte, len(b))
		require.NoError(t, d.ReadRegion(got, h5.Int(4, 0), first))
		require.Equal(t, b, got)
	}
	c, err := d.ChunkAt(at...)
	require.NoError(t, err)
	size, err = d.ChunkBytes(at...)
	require.NoError(t, err)
	require.Positive(t, size)
	require.Equal(t, c.Bytes, size)

	_, _, err = d.ReadChunk(make([]byte, 100), at...)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "fewer than 32 dimensions")
	err = d.WriteChunk(plainChunk(1), 0, at...)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	at[0] = 4
	size, err = d.ChunkBytes(at...)
	require.NoError(t, err)
	require.Zero(t, size)
}

// plainChunk returns an unfiltered chunk of the four little-endian int32 from first on.
func plainChunk(first int32) []byte {
	var b []byte
	for i := range int32(4) {
		b = binary.LittleEndian.AppendUint32(b, uint32(first+i))
	}
	return b
}

// deflated returns b compressed with deflate.
func deflated(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func inflated(t testing.TB, b []byte) []byte {
	t.Helper()
	r, err := zlib.NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	return out
}

// newChunked creates a dataset of n int32 in deflated chunks of 4 elements.
func newChunked(t testing.TB, g *h5.Group, name string, n int64) *h5.Dataset {
	t.Helper()
	level := 6
	d, err := g.CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(n), &h5.DatasetOptions{ChunkShape: []int64{4}, Deflate: &level})
	require.NoError(t, err)
	return d
}

func allChunks(t testing.TB, d *h5.Dataset) []h5.Chunk {
	t.Helper()
	var all []h5.Chunk
	for c, err := range d.StoredChunks() {
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

func TestReadChunk(t *testing.T) {
	d := newChunked(t, newFile(t).Root(), "d", 10)
	n, err := d.NumChunks()
	require.NoError(t, err)
	require.Zero(t, n)
	require.Empty(t, allChunks(t, d))
	_, _, err = d.ReadChunk(make([]byte, 100), 4)
	require.ErrorIs(t, err, h5.ErrNotFound)
	require.Equal(t, "h5: read chunk /d: not found: the chunk at [4] is not stored", err.Error())

	// ReadChunk must return elements that H5Dwrite wrote and that may still be in the chunk cache.
	want := []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	require.NoError(t, h5value.Write(d, want, region([]int64{0}, []int64{10})))
	dst := make([]byte, 100)
	length, mask, err := d.ReadChunk(dst, 4)
	require.NoError(t, err)
	require.Zero(t, mask)
	require.Equal(t, plainChunk(5), inflated(t, dst[:length]))
	size, err := d.ChunkBytes(4)
	require.NoError(t, err)
	require.EqualValues(t, length, size)
	// The last chunk is stored with its full length.
	length, _, err = d.ReadChunk(dst, 8)
	require.NoError(t, err)
	require.Len(t, inflated(t, dst[:length]), 16)

	_, _, err = d.ReadChunk(dst[:3], 4)
	require.ErrorIs(t, err, h5.ErrSize)
	require.Contains(t, err.Error(), "have 3, want ")

	n, err = d.NumChunks()
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	for i, c := range allChunks(t, d) {
		require.Equal(t, []int64{4 * int64(i)}, c.Offset)
		byIndex, err := d.ChunkByIndex(int64(i))
		require.NoError(t, err)
		require.Equal(t, c, byIndex)
		at, err := d.ChunkAt(c.Offset...)
		require.NoError(t, err)
		require.Equal(t, c, at)
	}
	_, err = d.ChunkByIndex(3)
	require.ErrorIs(t, err, h5.ErrNotFound)
	require.Contains(t, err.Error(), "chunk 3 of 3 stored ones")
	_, err = d.ChunkByIndex(-1)
	require.ErrorIs(t, err, h5.ErrNotFound)
}

// TestChunkPlaces checks the reported offsets and addresses of chunks for datasets that grow in any
// dimension. Each chunk is filled with its own number, so the bytes at its address identify it.
func TestChunkPlaces(t *testing.T) {
	o := h5.CreateOptions{}
	o.Low = h5.V110
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, &o)
	require.NoError(t, err)
	u := int64(h5.Unlimited)
	for i, tt := range []struct {
		most, chunk []int64
		index       h5.ChunkIndex
	}{
		{[]int64{u, 7, 5}, []int64{2, 3, 2}, h5.ExtensibleArray},
		{[]int64{7, u, 5}, []int64{2, 3, 2}, h5.ExtensibleArray},
		{[]int64{7, 9, u}, []int64{2, 3, 2}, h5.ExtensibleArray},
		{[]int64{4, u}, []int64{1, 1}, h5.ExtensibleArray},
		{[]int64{1, u}, []int64{1, 2}, h5.ExtensibleArray},
		{[]int64{7, 9, 8}, []int64{2, 3, 2}, h5.FixedArray},
		{[]int64{u, 7, u}, []int64{2, 3, 2}, h5.BTree2},
	} {
		for _, filters := range [][]h5.Filter{nil, {h5.Shuffle(), h5.Fletcher32()}} {
			rank := len(tt.most)
			dims := []int64{4, 7, 5}[:rank]
			if rank == 2 {
				dims = []int64{tt.most[0], 7}
			}
			space := h5.SimpleSpace(dims...)
			space.MaxDims = tt.most
			d, err := f.Root().CreateDataset(fmt.Sprint("d", i, len(filters)), h5.Uint(1, h5.LittleEndian), space,
				&h5.DatasetOptions{ChunkShape: tt.chunk, Filters: filters})
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			require.Equal(t, tt.index, info.Index)
			want := map[string]byte{}
			at := make([]int64, rank)
			bytes := int64(1)
			for _, c := range tt.chunk {
				bytes *= c
			}
			for n := byte(1); at[0] < dims[0]; {
				if n%3 != 0 { // every third chunk is not stored
					require.NoError(t, d.WriteChunk(slices.Repeat([]byte{n}, int(bytes)), uint32(1<<len(filters)-1), at...))
					want[fmt.Sprint(at)] = n
				}
				n++
				for k := rank - 1; k >= 0; k-- {
					if at[k] += tt.chunk[k]; at[k] < dims[k] || k == 0 {
						break
					}
					at[k] = 0
				}
			}
			require.NoError(t, f.Flush())
			stored, err := os.ReadFile(path)
			require.NoError(t, err)
			got := map[string]byte{}
			for n, c := range allChunks(t, d) {
				got[fmt.Sprint(c.Offset)] = stored[c.Address]
				byIndex, err := d.ChunkByIndex(int64(n))
				require.NoError(t, err)
				require.Equal(t, c, byIndex)
				byPlace, err := d.ChunkAt(c.Offset...)
				require.NoError(t, err)
				require.Equal(t, c, byPlace)
				require.Equal(t, bytes, c.Bytes)
			}
			require.Equal(t, want, got, "%d", tt.most)
			_, err = d.ChunkAt(make([]int64, rank)...)
			require.NoError(t, err)
			missing := append(make([]int64, rank-1), 2*tt.chunk[rank-1]) // the third chunk
			_, err = d.ChunkAt(missing...)
			require.ErrorIs(t, err, h5.ErrNotFound)
		}
	}
	require.NoError(t, f.Close())
}

// TestChunksLoop checks that a loop over Chunks may stop early, and may call functions of the
// package.
func TestChunksLoop(t *testing.T) {
	d := newChunked(t, newFile(t).Root(), "d", 40)
	require.NoError(t, h5value.Write(d, make([]int32, 40), region([]int64{0}, []int64{40})))
	seen := 0
	for c, err := range d.StoredChunks() {
		require.NoError(t, err)
		_, err = d.ChunkBytes(c.Offset...)
		require.NoError(t, err)
		if seen++; seen == 3 {
			break
		}
	}
	require.Equal(t, 3, seen)
}

func TestWriteChunk(t *testing.T) {
	d := newChunked(t, newFile(t).Root(), "d", 10)
	require.NoError(t, h5value.Write(d, []int32{9, 9, 9, 9}, region([]int64{0}, []int64{4})))
	for first := int64(0); first < 10; first += 4 {
		require.NoError(t, d.WriteChunk(deflated(t, plainChunk(int32(first))), 0, first))
	}
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, got, "data in the library's cache is lost")
}

// TestWriteChunkMask checks that the mask of a chunk can be replaced in datasets of one and of
// several chunks, and that every handle on the dataset returns the new mask.
func TestWriteChunkMask(t *testing.T) {
	for _, n := range []int64{4, 12} {
		f := newFile(t)
		d := newChunked(t, f.Root(), "d", n)
		other, err := f.Root().OpenDataset("d")
		require.NoError(t, err)
		unrelated := newChunked(t, f.Root(), "e", n)
		check := func(mask uint32, want []byte) {
			t.Helper()
			for _, h := range []*h5.Dataset{d, other} {
				_, got, err := h.ReadChunk(make([]byte, 100), 0)
				require.NoError(t, err)
				require.Equal(t, mask, got)
				values := make([]byte, 16)
				require.NoError(t, h.ReadRegion(values, h5.Int(4, h5.LittleEndian), region([]int64{0}, []int64{4})))
				require.Equal(t, want, values)
			}
		}
		require.NoError(t, d.WriteChunk(plainChunk(1), 1, 0))
		check(1, plainChunk(1))
		require.NoError(t, d.WriteChunk(deflated(t, plainChunk(2)), 0, 0))
		check(0, plainChunk(2))
		require.NoError(t, other.WriteChunk(plainChunk(3), 1, 0))
		check(1, plainChunk(3))
		require.NoError(t, other.Close())
		_, err = other.NumChunks()
		require.ErrorIs(t, err, h5.ErrClosed)
		require.NoError(t, unrelated.Close())
		require.NoError(t, d.Close())
		reread, err := f.Root().OpenDataset("d")
		require.NoError(t, err)
		_, mask, err := reread.ReadChunk(make([]byte, 16), 0)
		require.NoError(t, err)
		require.EqualValues(t, 1, mask)
	}
}

func TestDataset_WriteChunk_sameSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	defer f.Close()
	d, err := f.Root().CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(8), &h5.DatasetOptions{ChunkShape: []int64{4}, Shuffle: true})
	require.NoError(t, err)
	shuffled := []byte{1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	require.NoError(t, d.WriteChunk(shuffled, 0, 0))
	require.ErrorIs(t, d.WriteChunk(plainChunk(7), 1, 0), errors.ErrUnsupported)
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3, 4, 0, 0, 0, 0}, got)
	require.NoError(t, inTwoSteps(d, plainChunk(7), 1, 0))
	require.NoError(t, d.WriteChunk(plainChunk(7), 1, 4))
	require.ErrorIs(t, d.WriteChunk(shuffled, 0, 4), errors.ErrUnsupported)
	require.NoError(t, inTwoSteps(d, shuffled, 0, 4))
	require.NoError(t, f.Close())
	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	d, err = f.Root().OpenDataset("d")
	require.NoError(t, err)
	got, err = h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{7, 8, 9, 10, 1, 2, 3, 4}, got)
}

// TestRawChunk_afterUnlink checks that raw chunks can be written after the links to the dataset
// were removed, because neither its access properties nor its address depend on a link.
func TestRawChunk_afterUnlink(t *testing.T) {
	f := newFile(t)
	d := newChunked(t, f.Root(), "d", 4)
	require.NoError(t, f.Root().LinkHard("e", "d"))
	require.NoError(t, f.Root().Unlink("d"))
	require.NoError(t, d.WriteChunk(plainChunk(5), 1, 0))
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{5, 6, 7, 8}, got)
	require.NoError(t, f.Root().Unlink("e")) // only the open handle keeps the dataset
	require.NoError(t, d.WriteChunk(deflated(t, plainChunk(6)), 0, 0))
	got, err = h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{6, 7, 8, 9}, got)
}

func TestWriteChunkErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	defer f.Close()
	d := newChunked(t, f.Root(), "d", 10)
	plain, err := f.Root().CreateDataset("plain", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{4}})
	require.NoError(t, err)
	whole, err := f.Root().CreateDataset("whole", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10), nil)
	require.NoError(t, err)
	b := make([]byte, 16)
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"inside a chunk", d.WriteChunk(b, 0, 2), h5.ErrRegion},
		{"outside", d.WriteChunk(b, 0, 12), h5.ErrRegion},
		{"negative", d.WriteChunk(b, 0, -4), h5.ErrRegion},
		{"rank", d.WriteChunk(b, 0, 0, 0), h5.ErrRegion},
		{"no rank", d.WriteChunk(b, 0), h5.ErrRegion},
		{"empty", d.WriteChunk(nil, 0, 0), h5.ErrSize},
		{"mask", d.WriteChunk(b, 2, 0), h5.ErrParam},
		{"mask without filters", plain.WriteChunk(b, 1, 0), h5.ErrParam},
		{"short without filters", plain.WriteChunk(b[:15], 0, 0), h5.ErrSize},
		{"long without filters", plain.WriteChunk(make([]byte, 17), 0, 0), h5.ErrSize},
		{"not chunked", whole.WriteChunk(b, 0, 0), h5.ErrParam},
		{"fits", plain.WriteChunk(b, 0, 8), nil},
	} {
		require.ErrorIs(t, tt.err, tt.want, tt.name)
	}
	_, err = whole.NumChunks()
	require.ErrorIs(t, err, h5.ErrParam)
	for _, err := range whole.StoredChunks() {
		require.ErrorIs(t, err, h5.ErrParam)
	}
	_, err = d.ChunkAt(1)
	require.ErrorIs(t, err, h5.ErrRegion)
	_, err = d.ChunkBytes(12)
	require.ErrorIs(t, err, h5.ErrRegion)
	require.Contains(t, err.Error(), "no chunk begins at [12], the dataset has the shape [10]")
	require.NoError(t, f.Close())
	require.ErrorIs(t, d.WriteChunk(b, 0, 0), h5.ErrClosed)
	_, _, err = d.ReadChunk(b, 0)
	require.ErrorIs(t, err, h5.ErrClosed)

	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	d, err = f.Root().OpenDataset("plain")
	require.NoError(t, err)
	require.ErrorIs(t, d.WriteChunk(b, 0, 0), h5.ErrReadOnly)
}

// TestChunkAddresses checks that addresses are offsets from the beginning of the file, also in a
// file with a user block.
func TestChunkAddresses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	d := newChunked(t, f.Root(), "d", 1000)
	require.NoError(t, h5value.Write(d, make([]int32, 500), region([]int64{100}, []int64{500})))
	_, err = f.Descriptor()
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.Contains(t, err.Error(), "may change")
	require.NoError(t, f.Close())
	block := filepath.Join(t.TempDir(), "block")
	require.NoError(t, os.WriteFile(block, bytes.Repeat([]byte{'u'}, 512), 0o644))
	jammed := filepath.Join(t.TempDir(), "jammed.h5")
	out, err := exec.Command(testenv.Tool(t, "h5jam"), "-i", path, "-u", block, "-o", jammed).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, p := range []string{path, jammed} {
		f, err := h5.Open(p, h5.ReadOnly)
		require.NoError(t, err)
		d, err := f.Root().OpenDataset("d")
		require.NoError(t, err)
		file, err := f.Descriptor()
		require.NoError(t, err)
		chunks := allChunks(t, d)
		require.Len(t, chunks, 125)
		for _, c := range chunks {
			dst := make([]byte, c.Bytes)
			n, _, err := d.ReadChunk(dst, c.Offset...)
			require.NoError(t, err)
			raw := make([]byte, c.Bytes)
			_, err = file.ReadAt(raw, int64(c.Address))
			require.NoError(t, err)
			require.Equal(t, dst[:n], raw)
		}
		again, err := f.Descriptor()
		require.NoError(t, err)
		require.Same(t, file, again)
		require.NoError(t, f.Close())
		_, err = file.ReadAt(make([]byte, 1), 0)
		require.ErrorIs(t, err, os.ErrClosed)
		w, err := h5.Open(p, h5.ReadWrite) // the lock was released
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
}

// TestOpenWith_file checks that OpenWith and Descriptor use the caller's file, that OpenWith takes
// ownership of it, and that a file that was replaced in the meantime is not used.
func TestOpenWith_file(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.h5")
	create := func() {
		f, err := h5.Create(path, &h5.CreateOptions{Truncate: true})
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	create()
	open := func() *os.File {
		file, err := os.Open(path)
		require.NoError(t, err)
		return file
	}
	closed := func(t *testing.T, file *os.File) {
		_, err := file.Seek(0, io.SeekStart)
		require.ErrorIs(t, err, os.ErrClosed)
	}
	descriptor := func(t *testing.T, file *os.File) *os.File {
		f, err := h5.OpenWith(path, &h5.OpenOptions{File: file})
		require.NoError(t, err)
		raw, err := f.Descriptor()
		require.NoError(t, err)
		require.NoError(t, f.Close())
		closed(t, file)
		closed(t, raw)
		return raw
	}
	t.Run("same file", func(t *testing.T) {
		file := open()
		require.Same(t, file, descriptor(t, file))
	})
	t.Run("without Descriptor", func(t *testing.T) {
		file := open()
		f, err := h5.OpenWith(path, &h5.OpenOptions{File: file})
		require.NoError(t, err)
		require.NoError(t, f.Close())
		closed(t, file)
	})
	t.Run("replaced file", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("an open file cannot be renamed there")
		}
		file := open()
		require.NoError(t, os.Rename(path, filepath.Join(dir, "old.h5")))
		create()
		require.NotSame(t, file, descriptor(t, file))
	})
	t.Run("error", func(t *testing.T) {
		require.NoError(t, os.WriteFile(path, []byte("no HDF5"), 0o644))
		file := open()
		_, err := h5.OpenWith(path, &h5.OpenOptions{File: file})
		require.ErrorIs(t, err, h5.ErrNotHDF5)
		closed(t, file)
	})
}

// TestDataset_WriteChunk_model compares a dataset with a model after random writes of raw chunks
// and of elements. Only writes without an error must have an effect.
func TestDataset_WriteChunk_model(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := newFile(t)
		defer f.Close()
		n := rapid.Int64Range(4, 30).Draw(r, "elements")
		d := newChunked(t, f.Root(), "d", n)
		model, masked := make([]int32, n), map[int64]bool{} // masked: chunks stored without their filter
		for range rapid.IntRange(1, 20).Draw(r, "writes") {
			at := 4 * rapid.Int64Range(0, (n-1)/4).Draw(r, "chunk")
			first := rapid.Int32Range(0, 1000).Draw(r, "value")
			kind := rapid.IntRange(0, 2).Draw(r, "kind")
			switch kind {
			case 0:
				require.NoError(t, inTwoSteps(d, deflated(t, plainChunk(first)), 0, at))
			case 1:
				require.NoError(t, inTwoSteps(d, plainChunk(first), 1, at))
			}
			was := slices.Clone(model)
			for i := range min(4, n-at) {
				model[at+i] = first + int32(i)
			}
			if kind == 2 {
				err := h5value.Write(d, slices.Clone(model[at:min(at+4, n)]), region([]int64{at}, []int64{min(4, n-at)}))
				if masked[at] {
					require.ErrorIs(t, err, errors.ErrUnsupported)
					model = was
				} else {
					require.NoError(t, err)
				}
			} else {
				masked[at] = kind == 1
			}
			if rapid.Bool().Draw(r, "read") {
				got, err := h5value.ReadAll[int32](d)
				require.NoError(t, err)
				require.Equal(t, model, got)
			}
		}
		got, err := h5value.ReadAll[int32](d)
		require.NoError(t, err)
		require.Equal(t, model, got)
	})
}

// TestFilters_Numbers checks that a pipeline can contain any filter, given by number and
// parameters.
func TestFilters_Numbers(t *testing.T) {
	g := newFile(t).Root()
	create := func(name string, filters ...h5.Filter) (*h5.Dataset, error) {
		return g.CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(8), &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: filters})
	}
	d, err := create("d", h5.Filter{ID: 2}, h5.Filter{ID: 1, Optional: true, Values: []uint32{3}})
	require.NoError(t, err)
	info, err := d.Info()
	require.NoError(t, err)
	require.Equal(t, []h5.Filter{
		{ID: 2, Name: "shuffle", Values: []uint32{4}},
		{ID: 1, Name: "deflate", Optional: true, Values: []uint32{3}},
	}, info.Filters)
	_, err = create("e", h5.Filter{ID: 32099})
	require.ErrorIs(t, err, h5.ErrNoFilter)
	require.Contains(t, err.Error(), "filter 32099")
	_, err = create("zfp", h5.Filter{ID: 32013, Values: []uint32{1, 0, 0, 0x40200000}})
	require.ErrorIs(t, err, h5.ErrNoFilter)
	var missing *h5.FilterError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, 32013, missing.ID)
	require.ErrorContains(t, err, "filter 32013: register it (RegisterFilter) or allow a plugin (AllowPlugins)")
	_, err = create("f", h5.Filter{ID: 70000})
	require.ErrorIs(t, err, h5.ErrParam)
	_, err = create("g", h5.Filter{ID: 32099, Optional: true})
	require.NoError(t, err)
}
