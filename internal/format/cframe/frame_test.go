// Tests with frames that C-Blosc2 and python-blosc2 wrote (../testdata), and with truncated and
// changed copies of them.

package cframe_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

const dir = "../testdata/frame/"

// golden returns the frames of one file by name, and the names of the sparse ones.
func golden(t testing.TB) (files map[string][]byte, sparse []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files = make(map[string][]byte)
	for _, e := range entries {
		if e.IsDir() {
			sparse = append(sparse, e.Name())
		} else {
			files[e.Name()] = load(t, e.Name())
		}
	}
	require.GreaterOrEqual(t, len(files), 15, "golden files are missing")
	require.NotEmpty(t, sparse)
	return files, sparse
}

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(dir + name)
	require.NoError(t, err)
	return b
}

func read(b []byte) (*cframe.Frame, error) {
	return cframe.Read(bytes.NewReader(b), int64(len(b)))
}

func mustRead(t testing.TB, name string) *cframe.Frame {
	t.Helper()
	f, err := read(load(t, name))
	require.NoError(t, err)
	return f
}

// ints returns n 32-bit integers start, start+7, …
func ints(start, n int) []byte {
	b := make([]byte, 0, 4*n)
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(start+7*i))
	}
	return b
}

func complaints(f format.Field) []string {
	var all []string
	for path, c := range f.Complaints() {
		all = append(all, path+": "+c.Complaint)
	}
	return all
}

// checkAll runs every check of a frame.
func checkAll(f *cframe.Frame) error {
	if err := f.Check(); err != nil {
		return err
	}
	if err := f.CheckChunks(chunk.Policy{}, nil); err != nil {
		return err
	}
	_, _, err := f.Array()
	return err
}

// TestGolden checks that every golden frame can be read and passes every check, that its
// description contains no error, and that its parts cover every byte.
func TestGolden(t *testing.T) {
	files, sparse := golden(t)
	for name, b := range files {
		f, err := read(b)
		require.NoError(t, err, name)
		require.NoError(t, checkAll(f), name)
		tree := cframe.Describe(bytes.NewReader(b), int64(len(b)))
		require.Empty(t, complaints(tree), name)
		next := int64(0)
		for _, part := range tree.Fields {
			require.Equal(t, next, part.Offset, "%s: %s", name, part.Name)
			next += part.Length
		}
		require.EqualValues(t, len(b), next, name)
		requireCovered(t, name, tree.Fields[0])
		requireCovered(t, name, tree.Fields[len(tree.Fields)-1])
	}
	for _, name := range sparse {
		f, err := cframe.ReadDir(os.DirFS(dir + name))
		require.NoError(t, err, name)
		require.NoError(t, checkAll(f), name)
		require.Empty(t, complaints(cframe.DescribeDir(os.DirFS(dir+name))), name)
	}
}

// requireCovered checks that the parts of f are adjacent.
func requireCovered(t *testing.T, name string, f format.Field) {
	t.Helper()
	next := f.Offset
	for _, c := range f.Fields {
		require.Equal(t, next, c.Offset, "%s: %s", name, c.Name)
		next += c.Length
	}
	require.Equal(t, f.Offset+f.Length, next, "%s: %s", name, f.Name)
}

// TestMixed checks every field of one header and trailer.
func TestMixed(t *testing.T) {
	f := mustRead(t, "mixed.b2frame")
	require.EqualValues(t, 163, f.HeaderSize)
	require.EqualValues(t, 1755, f.FrameSize)
	require.Equal(t, 2, f.Version())
	require.Equal(t, 64, f.OffsetBits())
	require.False(t, f.VariableChunks())
	require.False(t, f.VLBlocks())
	require.Equal(t, cframe.Contiguous, f.Type())
	require.Zero(t, f.UserType())
	require.Equal(t, chunk.BloscLZ, f.Codec())
	require.Equal(t, 5, f.Level())
	require.Equal(t, 4, f.SplitMode())
	require.EqualValues(t, 20400, f.NBytes)
	require.EqualValues(t, 715, f.CBytes)
	require.EqualValues(t, 4, f.TypeSize)
	require.Zero(t, f.BlockSize, "the size asked for, not the one that was chosen")
	require.EqualValues(t, 4000, f.ChunkSize)
	require.EqualValues(t, 1, f.CompressThreads)
	require.EqualValues(t, 1, f.DecompressThreads)
	require.Equal(t, []byte{0xD8, 6}, load(t, "mixed.b2frame")[69:71])
	require.EqualValues(t, 6, f.NumFilters)
	require.Equal(t, [6]chunk.Filter{5: chunk.Shuffle}, f.Filters)
	require.False(t, f.UseDict())
	require.EqualValues(t, 6, f.NumChunks())
	require.Equal(t, []cframe.Metalayer{
		{Name: "first", Offset: 150, Content: []byte{0x93, 1, 2, 3}},
		{Name: "second-with-a-name-31-bytes-lon", Offset: 159, Content: []byte("\xa3xyz")},
	}, f.Metalayers)
	b, ok := f.Metalayer("first")
	require.True(t, ok)
	require.Len(t, b, 4)
	_, ok = f.Metalayer("third")
	require.False(t, ok)
	_, ok, err := f.Array()
	require.NoError(t, err)
	require.False(t, ok)
}

// TestChunks checks the values of every chunk of the golden frames that contain integers.
func TestChunks(t *testing.T) {
	value21 := bytes.Repeat([]byte{21, 0, 0, 0}, 1000)
	mixed := []any{ints(0, 1000), chunk.Zeros, chunk.NaNs, chunk.Uninitialized, value21, ints(0, 100)}
	edited := []any{ints(700, 100), chunk.Zeros, ints(14, 100), ints(700, 100), ints(28, 100)}
	for name, want := range map[string][]any{
		"mixed.b2frame": mixed, "mixed-sparse.b2frame": mixed,
		"edited.b2frame": edited, "edited-sparse.b2frame": edited,
	} {
		f, err := cframe.ReadDir(os.DirFS(dir + name))
		if err != nil {
			f = mustRead(t, name)
		}
		offsets, err := f.Offsets(nil)
		require.NoError(t, err)
		require.Len(t, offsets, len(want), name)
		for i, o := range offsets {
			if s, ok := want[i].(chunk.Special); ok {
				require.Equal(t, s, o.Special(), "%s: chunk %d", name, i)
				_, err := f.ReadChunk(o)
				require.ErrorIs(t, err, format.ErrUnsupported)
				continue
			}
			require.False(t, o.IsSpecial())
			require.Equal(t, chunk.NotSpecial, o.Special())
			b, err := f.ReadChunk(o)
			require.NoError(t, err)
			require.NoError(t, chunk.Check(b))
			values := make([]byte, len(want[i].([]byte)))
			require.NoError(t, chunk.Decode(values, b))
			require.Equal(t, want[i], values, "%s: chunk %d", name, i)
		}
	}
}

// TestFrame_offsets checks that the first chunk has offset 0, because offsets are relative to the
// end of the header.
func TestFrame_offsets(t *testing.T) {
	f := mustRead(t, "mixed.b2frame")
	offsets, err := f.Offsets(nil)
	require.NoError(t, err)
	require.Zero(t, offsets[0])
	b, err := f.ReadChunk(0)
	require.NoError(t, err)
	require.Equal(t, load(t, "mixed.b2frame")[163:163+len(b)], b)
}

// TestVLMetalayers checks that a variable-length metalayer is a chunk.
func TestVLMetalayers(t *testing.T) {
	f := mustRead(t, "mixed.b2frame")
	require.True(t, f.HasVLMetalayers)
	require.Len(t, f.Trailer.VLMetalayers, 2)
	for name, want := range map[string][]byte{"note": []byte("\xa5hello"), "longer": ints(0, 1000)} {
		b, ok := f.Trailer.VLMetalayer(name)
		require.True(t, ok, name)
		got := make([]byte, len(want))
		require.NoError(t, chunk.Decode(got, b), name)
		require.Equal(t, want, got)
	}
	_, ok := f.Trailer.VLMetalayer("first")
	require.False(t, ok)
}

// TestTrailerVersion checks that the byte after the trailer's array marker is the version itself.
func TestTrailerVersion(t *testing.T) {
	b := load(t, "empty.b2frame")
	require.Equal(t, []byte{0x94, 0x01, 0x93, 0xCD}, b[97:101])
	f, err := read(b)
	require.NoError(t, err)
	require.EqualValues(t, 1, f.Trailer.Version)
	require.EqualValues(t, cframe.MinTrailerSize, f.Trailer.Size)
	require.Zero(t, f.NumChunks())
	require.EqualValues(t, -1, f.ChunkSize, "no chunk size yet")
	offsets, err := f.Offsets(nil)
	require.NoError(t, err)
	require.Empty(t, offsets)
}

// TestEmptied checks frames without chunks. C-Blosc2 keeps the size of the chunks in the header
// when it deletes the last chunk.
func TestEmptied(t *testing.T) {
	b := load(t, "empty.b2frame")
	for _, tt := range []struct {
		name string
		size int64
		ok   bool
	}{{"none", 0, true}, {"size of deleted chunks", 4000, true}, {"negative", -1, false}} {
		t.Run(tt.name, func(t *testing.T) {
			c := slices.Clone(b)
			binary.BigEndian.PutUint64(c[39:], uint64(tt.size))
			f, err := read(c)
			if !tt.ok {
				require.ErrorIs(t, err, format.ErrCorrupt)
				return
			}
			require.NoError(t, err)
			require.Zero(t, f.CBytes)
			require.Zero(t, f.NumChunks())
		})
	}
}

// TestCodecFlags checks the low half of codec_flags. It is the codec's id, which is 5 for zstd and
// not 4.
func TestCodecFlags(t *testing.T) {
	for name, want := range map[string]struct {
		flags uint8
		codec chunk.Codec
	}{
		"empty.b2frame":  {0x95, chunk.Zstd},
		"filled.b2frame": {0x51, chunk.LZ4},
		"mixed.b2frame":  {0x50, chunk.BloscLZ},
	} {
		f := mustRead(t, name)
		require.Equal(t, want.flags, f.CodecFlags, name)
		require.Equal(t, want.codec, f.Codec(), name)
	}
}

// TestVariableChunks checks frames of version 3, with chunks or blocks of variable length. Only the
// index contains the number of chunks; C-Blosc2 2.17 reports none.
func TestVariableChunks(t *testing.T) {
	for name, n := range map[string]int64{"py-batch.b2frame": 2, "py-objects.b2frame": 3} {
		f := mustRead(t, name)
		require.Equal(t, 3, f.Version(), name)
		require.True(t, f.VariableChunks(), name)
		require.Zero(t, f.ChunkSize)
		require.Equal(t, n, f.NumChunks(), name)
		require.EqualValues(t, -1, f.Header.NumChunks())
		offsets, err := f.Offsets(nil)
		require.NoError(t, err)
		for _, o := range offsets {
			b, err := f.ReadChunk(o)
			require.NoError(t, err)
			require.NoError(t, chunk.Check(b))
		}
	}
	b, err := mustRead(t, "py-batch.b2frame").ReadChunk(0)
	require.NoError(t, err)
	c, err := chunk.Parse(b)
	require.NoError(t, err)
	require.True(t, c.VLBlocks())
	require.EqualValues(t, 6, c.Version)
}

// TestEmbedded checks that a frame inside a larger file can be read through a section of the file.
func TestEmbedded(t *testing.T) {
	b := load(t, "mixed.b2frame")
	file := append(append([]byte("in front"), b...), "behind"...)
	f, err := cframe.Read(io.NewSectionReader(bytes.NewReader(file), 8, int64(len(file)-8)), int64(len(file)-8))
	require.NoError(t, err)
	require.NoError(t, checkAll(f))
	require.EqualValues(t, len(b), f.FrameSize)
}

// TestTruncated checks that a truncated frame is an error, and that its description contains an
// error.
func TestTruncated(t *testing.T) {
	files, _ := golden(t)
	for name, b := range files {
		for n := range len(b) {
			_, err := read(b[:n])
			require.ErrorIs(t, err, format.ErrTruncated, "%s cut at %d", name, n)
			if n > 100 && n%9 != 0 {
				continue // describing is slow, and similar for all offsets
			}
			require.NotEmpty(t, complaints(cframe.Describe(bytes.NewReader(b[:n]), int64(n))), "%s cut at %d", name, n)
		}
		h := b[:binary.BigEndian.Uint32(b[11:])]
		_, err := cframe.ParseHeader(h)
		require.NoError(t, err)
		_, err = cframe.ParseHeader(h[:len(h)-1])
		require.ErrorIs(t, err, format.ErrTruncated)
	}
}

// TestFrame_ShorterThanHeader checks that a reader that ends before the given size is ErrTruncated.
func TestFrame_ShorterThanHeader(t *testing.T) {
	b := load(t, "mixed.b2frame")
	for n := range len(b) {
		_, err := cframe.Read(bytes.NewReader(b[:n]), int64(len(b)))
		require.ErrorIs(t, err, format.ErrTruncated, n)
	}
}

// TestMutations tries many values of each byte of the fixed header and of many other bytes outside
// the chunks. There must be no panic, and the description of a rejected frame must contain an
// error.
func TestMutations(t *testing.T) {
	for _, name := range []string{"mixed.b2frame", "filled.b2frame", "2d.b2nd", "py-batch.b2frame", "empty.b2frame", "py-vlmeta.b2nd"} {
		b := load(t, name)
		f, err := read(b)
		require.NoError(t, err)
		step := 51 // 0, 51, … 255
		switch {
		case testenv.All() && name == "empty.b2frame":
			step = 1
		case testenv.All():
			step = 17
		case name == "empty.b2frame":
			step = 5
		}
		for i := 0; i < len(b); i++ {
			switch {
			case i == int(f.HeaderSize) && f.CBytes > 0:
				i += int(f.CBytes)
			case i == int(f.HeaderSize)+200:
				step = 85
			}
			orig := b[i]
			for v := 0; v < 256; v += step {
				b[i] = byte(v)
				checkBytes(t, b)
			}
			b[i] = orig
		}
	}
}

// checkBytes checks what must be true for any bytes.
func checkBytes(t *testing.T, b []byte) {
	found := complaints(cframe.Describe(bytes.NewReader(b), int64(len(b))))
	f, err := cframe.ReadLimits(bytes.NewReader(b), int64(len(b)), cframe.Limits{Header: 1 << 20, Trailer: 1 << 20, Index: 1 << 20})
	if err != nil {
		var e *format.Error
		if !errors.As(err, &e) {
			t.Fatalf("%T: %v", err, err)
		}
		if len(found) == 0 {
			t.Fatalf("%v, but no complaint", err)
		}
		return
	}
	if _, oerr := f.Offsets(nil); errors.Is(oerr, format.ErrUnsupported) || errors.Is(oerr, format.ErrLimit) {
		return // the description contains no error for these
	}
	if err := checkAll(f); err != nil && len(found) == 0 {
		t.Fatalf("%v, but no complaint", err)
	}
}

// TestCheck checks each property of a frame for which Check must reject it before C-Blosc2 reads
// it.
func TestDecoder(t *testing.T) {
	f := mustRead(t, "mixed.b2frame")
	offsets, err := f.Offsets(func(dst, b []byte) error {
		require.Len(t, dst, 48)
		require.Len(t, b, 80)
		dst[0] = 9
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []cframe.Offset{9, 0, 0, 0, 0, 0}, offsets)
	boom := errors.New("boom")
	_, err = f.Offsets(func(_, _ []byte) error { return boom })
	require.ErrorIs(t, err, boom)
	require.ErrorIs(t, f.CheckChunks(chunk.Policy{}, func(_, _ []byte) error { return boom }), boom)
}

// failing is a reader that fails for all bytes after the first n.
type failing struct {
	b []byte
	n int64
}

var errDisk = errors.New("disk on fire")

func (r failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > r.n {
		return 0, errDisk
	}
	return copy(p, r.b[off:]), nil
}

// TestReadError checks that the error of a reader is wrapped.
func TestReadError(t *testing.T) {
	b := load(t, "mixed.b2frame")
	for _, n := range []int64{0, 86, 100, 200, 1700} {
		_, err := cframe.Read(failing{b, n}, int64(len(b)))
		require.ErrorIs(t, err, errDisk, n)
		require.NotErrorIs(t, err, format.ErrTruncated, n)
		require.NotEmpty(t, complaints(cframe.Describe(failing{b, n}, int64(len(b)))), n)
	}
}

// mapFS copies a sparse frame into memory.
func mapFS(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	entries, err := os.ReadDir(dir + name)
	require.NoError(t, err)
	for _, e := range entries {
		m[e.Name()] = &fstest.MapFile{Data: load(t, name+"/"+e.Name())}
	}
	return m
}

// streamFS hides the ReadAt method of its files.
type streamFS struct{ fs.FS }

func (s streamFS) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return struct{ fs.File }{f}, err
}

// TestSparse checks sparse frames, and errors in their directories.
func TestSparse(t *testing.T) {
	m := mapFS(t, "mixed-sparse.b2frame")
	f, err := cframe.ReadDir(streamFS{m})
	require.NoError(t, err)
	require.NoError(t, checkAll(f))
	require.Equal(t, cframe.Sparse, f.Type())
	require.Equal(t, "00000002.chunk", cframe.ChunkFile(2))
	require.Empty(t, complaints(cframe.DescribeDir(streamFS{m})))

	_, err = cframe.ReadDir(fstest.MapFS{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotEmpty(t, complaints(cframe.DescribeDir(fstest.MapFS{})))

	check := func(name string, want error, edit func(m fstest.MapFS)) {
		t.Helper()
		m := mapFS(t, "mixed-sparse.b2frame")
		edit(m)
		f, err := cframe.ReadDir(m)
		if err == nil {
			err = checkAll(f)
		}
		require.ErrorIs(t, err, want, name)
		require.NotEmpty(t, complaints(cframe.DescribeDir(m)), name)
	}
	check("missing chunk", fs.ErrNotExist, func(m fstest.MapFS) { delete(m, "00000001.chunk") })
	check("empty chunk", format.ErrTruncated, func(m fstest.MapFS) { m["00000001.chunk"] = &fstest.MapFile{} })
	check("short chunk", format.ErrCorrupt, func(m fstest.MapFS) {
		m["00000000.chunk"].Data = m["00000000.chunk"].Data[:502]
	})
	check("contiguous", format.ErrCorrupt, func(m fstest.MapFS) { m[cframe.IndexFile].Data = load(t, "mixed.b2frame") })
	check("one file twice", format.ErrCorrupt, func(m fstest.MapFS) { copy(m[cframe.IndexFile].Data[163+32+8:], make([]byte, 8)) })
	check("file number", format.ErrCorrupt, func(m fstest.MapFS) { m[cframe.IndexFile].Data[163+32+4] = 1 })

	// The index file of a sparse frame can be described alone, but not opened.
	b := m[cframe.IndexFile].Data
	f, err = read(b)
	require.NoError(t, err)
	require.ErrorIs(t, f.Check(), format.ErrUnsupported)
	_, err = f.ReadChunk(0)
	require.ErrorIs(t, err, format.ErrUnsupported)
	require.NotEmpty(t, complaints(cframe.Describe(bytes.NewReader(b), int64(len(b)))))
}

// TestArray checks that the metalayer of an array is compared with the frame.
func TestArray(t *testing.T) {
	m, ok, err := mustRead(t, "2d.b2nd").Array()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []int64{10, 7}, m.Shape)

	b := load(t, "2d.b2nd")
	at := bytes.Index(b, []byte{0x97, 0, 2, 0x92})
	b[at+4+8]++ // shape 11×7 needs the same number of chunks
	f, err := read(b)
	require.NoError(t, err)
	m, _, err = f.Array()
	require.NoError(t, err)
	require.EqualValues(t, 11, m.Shape[0])
	b[at+4+8] = 20
	f, err = read(b)
	require.NoError(t, err)
	_, ok, err = f.Array()
	require.True(t, ok)
	require.ErrorIs(t, err, format.ErrCorrupt)
	var e *format.Error
	require.ErrorAs(t, err, &e)
	require.EqualValues(t, at+4, e.Offset, "from the start of the frame")
	require.Len(t, complaints(cframe.Describe(bytes.NewReader(b), int64(len(b)))), 1)
}

// TestFrame_blockShape checks that a block shape that contradicts the blocks of the chunks is
// rejected, because C-Blosc2 accesses the blocks of a chunk by their number.
func TestFrame_blockShape(t *testing.T) {
	files, _ := golden(t)
	tried := 0
	for name, b := range files {
		f, err := read(b)
		if err != nil {
			continue
		}
		m, ok, err := f.Array()
		if !ok || err != nil || len(m.Shape) == 0 || m.Blocks[0] < 2 || f.Check() != nil {
			continue
		}
		offsets, err := f.Offsets(nil)
		require.NoError(t, err, name)
		if !slices.ContainsFunc(offsets, func(o cframe.Offset) bool { return !o.IsSpecial() }) {
			continue
		}
		n := byte(len(m.Shape))
		// Low byte of the first dimension of a block.
		at := bytes.Index(b, []byte{0x97, 0, n, 0x90 + n}) + 6 + 14*int(n) + 4
		require.EqualValues(t, m.Blocks[0], b[at], name)
		b[at] = 1
		if m.Chunks[0]%m.Blocks[0] != 0 {
			b[at] = byte(m.Chunks[0]) // otherwise the chunk would be different
		}
		f, err = read(b)
		require.NoError(t, err, name)
		if _, _, err = f.Array(); err != nil {
			continue
		}
		tried++
		err = f.CheckChunks(chunk.Policy{}, nil)
		require.ErrorIs(t, err, format.ErrCorrupt, name)
		require.ErrorContains(t, err, "chunk: blocksize", name)
		require.NotEmpty(t, complaints(cframe.Describe(bytes.NewReader(b), int64(len(b)))), name)
	}
	require.Positive(t, tried)
}

// TestFrame_Tolerated checks values that C-Blosc2 never writes but accepts. Check accepts them, and
// the description contains an error.
func TestFrame_Tolerated(t *testing.T) {
	for name, tt := range map[string]struct {
		off  int
		v    byte
		path string
	}{
		"udcodec":          {77, 4, "frame/header/filter pipeline/udcodec"},
		"other_flags":      {28, 4, "frame/header/flags/other_flags"},
		"other_flags2":     {85, 2, "frame/header/filter pipeline/other_flags2"},
		"reserved":         {86, 1, "frame/header/filter pipeline/reserved"},
		"has_vlmetalayers": {68, 0xC2, "frame/header/has_vlmetalayers"},
		"map size":         {90, 0, "frame/header/map size"},
		"fingerprint":      {1755 - 1, 1, "frame/trailer/fingerprint"},
		"fingerprint type": {1755 - 17, 4, "frame/trailer/fingerprint"},
	} {
		b := load(t, "mixed.b2frame")
		b[tt.off] = tt.v
		f, err := read(b)
		require.NoError(t, err, name)
		require.NoError(t, checkAll(f), name)
		tree := cframe.Describe(bytes.NewReader(b), int64(len(b)))
		require.Len(t, complaints(tree), 1, name)
		field, ok := tree.Find(tt.path)
		require.True(t, ok, name)
		require.NotEmpty(t, field.Complaint, name)
	}
	// The known types of fingerprint are described without an error.
	for typ, want := range []string{"no fingerprint", "32 bits", "64 bits", "128 bits"} {
		b := load(t, "mixed.b2frame")
		b[1755-17] = byte(typ)
		if typ > 0 {
			b[1755-1] = 0xAB
		}
		f, err := read(b)
		require.NoError(t, err)
		require.EqualValues(t, typ, f.Trailer.FingerprintType)
		require.Equal(t, b[1755-16:], f.Trailer.Fingerprint[:])
		tree := cframe.Describe(bytes.NewReader(b), int64(len(b)))
		require.Empty(t, complaints(tree))
		field, ok := tree.Find("frame/trailer/fingerprint")
		require.True(t, ok)
		require.Contains(t, field.Meaning, want)
	}
	// Thread counts are described, whatever their value. TestSChunk_storedThreads of package cblosc
	// checks the other uses.
	b := load(t, "mixed.b2frame")
	copy(b[63:], []byte{0x7F, 0xFF})
	f, err := read(b)
	require.NoError(t, err)
	require.EqualValues(t, math.MaxInt16, f.CompressThreads)
	tree := cframe.Describe(bytes.NewReader(b), int64(len(b)))
	require.Empty(t, complaints(tree))
	field, ok := tree.Find("frame/header/tcomp")
	require.True(t, ok)
	require.Equal(t, "32767", field.Value)
	// A user-defined type is described too, but Check rejects it (TestCheck).
	b = load(t, "mixed.b2frame")
	b[26] = 0x30
	f, err = read(b)
	require.NoError(t, err)
	require.EqualValues(t, 3, f.UserType())
	tree = cframe.Describe(bytes.NewReader(b), int64(len(b)))
	field, ok = tree.Find("frame/header/flags/frame_type")
	require.True(t, ok)
	require.Equal(t, "contiguous, user's type 3", field.Meaning)
	// Two metalayers with the same name.
	b = load(t, "py-vlmeta.b2nd")
	copy(b[bytes.Index(b, []byte("\xa5scale")):], "\xa5unit\x00")
	require.NotEmpty(t, complaints(cframe.Describe(bytes.NewReader(b), int64(len(b)))))
}

// TestCorpus checks the frames of C-Blosc2's own tests and frames from other projects.
func TestCorpus(t *testing.T) {
	paths := testenv.Files(t, testenv.Blosc2Source, "tests/fuzz/corpus/*.b2frame", "plugins/test_data/*.b2nd")
	for _, path := range append(paths, testenv.Files(t, testenv.Corpus, "blosc2/*.b2frame", "caterva2/*.b2*")...) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		f, err := read(b)
		require.NoError(t, err, path)
		require.NoError(t, checkAll(f), path)
		require.Empty(t, complaints(cframe.Describe(bytes.NewReader(b), int64(len(b)))), path)
		requireChunks(t, path, f)
		if content, ok := f.Metalayer(b2ndmeta.Name); ok {
			m, err := b2ndmeta.Parse(b2ndmeta.Name, content)
			require.NoError(t, err, path)
			require.Equal(t, content, m.Append(nil), path)
		}
	}
}

// requireChunks checks each stored chunk including its streams.
func requireChunks(t *testing.T, path string, f *cframe.Frame) {
	t.Helper()
	offsets, err := f.Offsets(nil)
	require.NoError(t, err, path)
	for i, o := range offsets {
		if o.IsSpecial() {
			continue
		}
		b, err := f.ReadChunk(o)
		require.NoError(t, err, "%s: chunk %d", path, i)
		require.NoError(t, chunk.Check(b), "%s: chunk %d", path, i)
	}
}
