// Tests with chunks that C-Blosc2 2.17.1 wrote (../testdata), and with truncated and changed copies
// of them.

package chunk_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// golden returns the chunks of ../testdata/chunk by file name.
func golden(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../testdata/chunk/*.bin")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 20, "golden files are missing")
	files := make(map[string][]byte)
	for _, p := range paths {
		files[strings.TrimSuffix(filepath.Base(p), ".bin")] = readFile(t, p)
	}
	return files
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// ints returns the content of most golden chunks: n 32-bit integers 0, step, 2·step, …
func ints(n int, step uint32) []byte {
	b := make([]byte, 0, 4*n)
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, step*uint32(i))
	}
	return b
}

func repeat(n int, v ...byte) []byte { return bytes.Repeat(v, n) }

// TestGolden checks that every golden chunk passes Parse and Check, and that its description
// contains no error. The chunk must decode to its original values, or the error must contain the
// codec or filter that needs the library.
func TestGolden(t *testing.T) {
	nan8 := binary.LittleEndian.AppendUint64(nil, 0x7FF8000000000000)
	for name, want := range map[string]struct {
		values  []byte
		refused string // part of the error of Decode
		size    int    // of the header
		codec   chunk.Codec
		special chunk.Special
		blocks  int // with streams
		streams int // of the first block
	}{
		"blosclz-shuffle-split":    {values: ints(1000, 7), size: 32, blocks: 1, streams: 4},
		"blosclz-shuffle-blocks":   {values: ints(1000, 7), size: 32, blocks: 4, streams: 4},
		"blosclz-shuffle-nosplit":  {values: ints(1000, 7), size: 32, blocks: 4, streams: 1},
		"blosclz-nofilter":         {values: ints(1000, 7), size: 32, blocks: 4, streams: 1},
		"blosclz-bitshuffle":       {refused: "bitshuffle", size: 32, blocks: 4, streams: 1},
		"blosclz-delta-bitshuffle": {refused: "delta", size: 32, blocks: 4, streams: 1},
		"lz4":                      {refused: "lz4", size: 32, codec: chunk.LZ4, blocks: 1, streams: 4},
		"lz4hc":                    {refused: "lz4", size: 32, codec: chunk.LZ4, blocks: 1, streams: 1},
		"zlib":                     {refused: "zlib", size: 32, codec: chunk.Zlib, blocks: 1, streams: 1},
		"zstd":                     {refused: "zstd", size: 32, codec: chunk.Zstd, blocks: 1, streams: 1},
		"zstd-dict":                {refused: "zstd", size: 32, codec: chunk.Zstd, blocks: 40, streams: 4},
		"stored":                   {values: ints(64, 7), size: 32},
		"empty":                    {values: []byte{}, size: 32},
		"byte-run":                 {values: ints(1000, 0), size: 32, blocks: 1, streams: 4},
		"zeros-found":              {values: ints(1000, 0), size: 32, special: chunk.Zeros},
		"special-zeros":            {values: ints(1000, 0), size: 32, special: chunk.Zeros},
		"special-nan4":             {values: repeat(1000, 0, 0, 0xC0, 0x7F), size: 32, special: chunk.NaNs},
		"special-nan8":             {values: repeat(500, nan8...), size: 32, special: chunk.NaNs},
		"special-uninit":           {values: ints(1000, 0), size: 32, special: chunk.Uninitialized},
		"special-repeat":           {values: repeat(1000, 21, 0, 0, 0), size: 32, special: chunk.RepeatedValue},
		"blosc1-shuffle":           {values: ints(1000, 7), size: 16, blocks: 1, streams: 4},
		"blosc1-stored":            {values: ints(64, 7), size: 16},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "byte-run" {
				want.values = repeat(1000, 9, 0, 0, 0)
			}
			b := readFile(t, "../testdata/chunk/"+name+".bin")
			c, err := chunk.Parse(b)
			require.NoError(t, err)
			require.NoError(t, chunk.Check(b))
			require.NoError(t, c.Check())
			require.EqualValues(t, len(b), c.CBytes)
			require.Equal(t, want.size, c.Size())
			require.Equal(t, want.codec, c.Codec)
			require.Equal(t, want.special, c.Special)
			require.Len(t, c.Blocks, want.blocks)
			if want.blocks > 0 {
				require.Len(t, c.Blocks[0].Streams, want.streams)
				require.EqualValues(t, want.blocks, c.NumBlocks())
			}
			requireCovered(t, c, b)
			require.Empty(t, complaints(chunk.Describe(b)))

			values := bytes.Repeat([]byte{0xAA}, int(c.NBytes))
			err = chunk.Decode(values, b)
			if want.refused != "" {
				require.ErrorIs(t, err, format.ErrUnsupported)
				require.ErrorContains(t, err, want.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, want.values, values)
		})
	}
}

// requireCovered checks that header, starts, dictionary and blocks account for
// every byte of the chunk, and the blocks for every byte of the values.
func requireCovered(t *testing.T, c *chunk.Chunk, b []byte) {
	t.Helper()
	if !c.HasBlocks() {
		return
	}
	n, values := c.Size()+4*len(c.Starts), int32(0)
	if c.Dict != nil {
		n += 4 + len(c.Dict)
	}
	for _, b := range c.Blocks {
		n += int(b.CLength)
		values += b.Length
		sum := int32(0)
		for _, s := range b.Streams {
			sum += s.Length
		}
		require.Equal(t, b.Length, sum)
	}
	require.Len(t, b, n)
	require.Equal(t, c.NBytes, values)
}

func complaints(f format.Field) []string {
	var all []string
	for path, c := range f.Complaints() {
		all = append(all, path+": "+c.Complaint)
	}
	return all
}

// TestTruncated checks that a truncated chunk is an error, and that its description contains an
// error.
func TestTruncated(t *testing.T) {
	for name, b := range golden(t) {
		for n := range len(b) {
			_, err := chunk.Parse(b[:n])
			require.ErrorIs(t, err, format.ErrTruncated, "%s cut at %d", name, n)
			require.Error(t, chunk.Check(b[:n]))
			require.ErrorIs(t, chunk.Decode(nil, b[:n]), format.ErrTruncated)
			if n < 64 || n%64 == 0 {
				require.NotEmpty(t, complaints(chunk.Describe(b[:n])), "%s cut at %d", name, n)
			}
		}
	}
}

// TestHeaderMutations tries every value of every header byte. There must be no panic, and the
// description must contain an error if Check rejects the chunk.
func TestHeaderMutations(t *testing.T) {
	for name, orig := range golden(t) {
		if len(orig) > 4000 {
			continue // slow, and similar to the smaller chunks
		}
		b := bytes.Clone(orig)
		for i := range min(len(b), chunk.ExtendedHeaderSize) {
			for v := range 256 {
				b[i] = byte(v)
				err := chunk.Check(b)
				found := complaints(chunk.Describe(b))
				require.Equal(t, err != nil, len(found) > 0, "%s: byte %d = %#x: %v, %q", name, i, v, err, found)
				if c, perr := chunk.Parse(b); perr == nil && c.NBytes < 1<<16 {
					_ = c.Decode(make([]byte, c.NBytes)) // any result, but no panic
				} else if perr != nil {
					var e *format.Error
					require.ErrorAs(t, perr, &e)
				}
			}
			b[i] = orig[i]
		}
	}
}

// TestDecodeSize checks that a buffer of the wrong length is rejected with both lengths.
func TestDecodeSize(t *testing.T) {
	b := golden(t)["stored"]
	for _, n := range []int{0, 255, 257} {
		err := chunk.Decode(make([]byte, n), b)
		require.ErrorIs(t, err, format.ErrSize)
		require.ErrorContains(t, err, "256")
	}
}

// TestByteRun checks that the repeated byte is the low byte of the negated size word, and not of
// the size word.
func TestByteRun(t *testing.T) {
	b := golden(t)["byte-run"]
	c, err := chunk.Parse(b)
	require.NoError(t, err)
	s := c.Blocks[0].Streams[0]
	require.Equal(t, chunk.ByteRun, s.Kind)
	require.EqualValues(t, -9, s.CSize)
	require.EqualValues(t, 9, s.Value)
	require.Equal(t, []byte{0xF7, 0xFF, 0xFF, 0xFF, 1}, b[s.Offset-4:s.Offset+1])
	require.Equal(t, chunk.ZeroRun, c.Blocks[0].Streams[1].Kind)

	set := func(off int32, v ...byte) []byte {
		m := bytes.Clone(b)
		copy(m[off:], v)
		return m
	}
	for name, m := range map[string][]byte{
		"token without bit 0": set(s.Offset, 2),
		"below -255":          set(s.Offset-4, 0, 0xFF, 0xFF, 0xFF),
		"smallest integer":    set(s.Offset-4, 0, 0, 0, 0x80),
		"beyond the end":      set(s.Offset-4, 0, 1, 0, 0),
	} {
		_, err := chunk.Parse(m)
		require.ErrorIs(t, err, format.ErrCorrupt, name)
		require.NotEmpty(t, complaints(chunk.Describe(m)), name)
	}
	c, err = chunk.Parse(set(s.Offset-4, 1, 0xFF, 0xFF, 0xFF))
	require.NoError(t, err)
	require.EqualValues(t, 255, c.Blocks[0].Streams[0].Value)
}

// TestChunk_bigEndianFlag checks that bit 1 of blosc2_flags marks big-endian data. The 32 bytes
// described in the specification do not exist.
func TestChunk_bigEndianFlag(t *testing.T) {
	b := golden(t)["blosclz-shuffle-split"]
	b[0x1F] |= chunk.Flag2BigEndian
	require.NoError(t, chunk.Check(b))
	values := make([]byte, 4000)
	require.NoError(t, chunk.Decode(values, b))
	require.Equal(t, ints(1000, 7), values)
	f, ok := chunk.Describe(b).Find("chunk/header/blosc2_flags")
	require.True(t, ok)
	require.Contains(t, f.Meaning, "big-endian")
}

// TestCheckIDs checks that codec ids for which C-Blosc2 would load a plug-in are rejected, and also
// unknown codecs.
func TestCheckIDs(t *testing.T) {
	base := golden(t)["blosclz-shuffle-split"]
	user := func(id byte) []byte {
		b := bytes.Clone(base)
		b[2] = b[2]&0x1F | byte(chunk.FormatUser)<<5
		b[0x16] = id
		return b
	}
	for id := range 256 {
		err := chunk.Check(user(byte(id)))
		require.ErrorIs(t, err, format.ErrUnsupported, id)
		require.ErrorContains(t, err, chunk.Codec(id).String())
		if id >= 32 { // ids below 32 belong to C-Blosc2 and never need a plug-in
			require.NoError(t, chunk.Policy{Codecs: []chunk.Codec{chunk.Codec(id)}}.Check(user(byte(id))), id)
		}
	}
	for id := range 256 {
		b := bytes.Clone(base)
		b[0x12] = byte(id)
		b[0x1A] = 4 // a cell size, for filters that need one
		err := chunk.Check(b)
		if id <= 4 || id >= 34 && id <= 36 {
			require.NoError(t, err, id)
			continue
		}
		require.ErrorIs(t, err, format.ErrUnsupported, id)
		require.NoError(t, chunk.Policy{Filters: []chunk.Filter{chunk.Filter(id)}}.Check(b), id)
	}
	for _, f := range []chunk.CodecFormat{chunk.FormatSnappy, chunk.FormatReserved, chunk.FormatSuperChunk} {
		b := bytes.Clone(base)
		b[2] = b[2]&0x1F | byte(f)<<5
		require.ErrorIs(t, chunk.Check(b), format.ErrUnsupported)
	}
	// C-Blosc2 divides by the cell size.
	for _, f := range []chunk.Filter{chunk.NDCell, chunk.NDMean} {
		b := bytes.Clone(base)
		b[0x10] = byte(f)
		p := chunk.Policy{Filters: []chunk.Filter{f}}
		for size, ok := range map[byte]bool{0: false, 1: true, 127: true, 128: false, 255: false} {
			b[0x18] = size
			if ok {
				require.NoError(t, p.Check(b), "%v of %d", f, size)
			} else {
				require.ErrorIs(t, p.Check(b), format.ErrCorrupt, "%v of %d", f, size)
			}
		}
	}
	lazy := bytes.Clone(base)
	lazy[0x1F] |= chunk.Flag2Lazy
	require.ErrorIs(t, chunk.Check(lazy), format.ErrCorrupt)
	h, err := chunk.ParseHeader(lazy)
	require.NoError(t, err)
	require.ErrorContains(t, h.Check(), "lazy")
}

// TestSnappy checks Blosc1 chunks with the Snappy codec. Stored chunks can be read. For compressed
// chunks the error contains the codec.
func TestSnappy(t *testing.T) {
	files := golden(t)
	stored := files["blosc1-stored"]
	stored[2] = stored[2]&0x1F | byte(chunk.FormatSnappy)<<5
	require.NoError(t, chunk.Check(stored))
	require.NoError(t, chunk.Decode(make([]byte, 256), stored))

	b := files["blosc1-shuffle"]
	b[2] = b[2]&0x1F | byte(chunk.FormatSnappy)<<5
	require.ErrorContains(t, chunk.Check(b), "snappy")
	require.ErrorIs(t, chunk.Decode(make([]byte, 4000), b), format.ErrUnsupported)
}

// TestChunk_TrailingBytes checks that Parse accepts bytes after a chunk and Check rejects them.
func TestChunk_TrailingBytes(t *testing.T) {
	b := append(golden(t)["lz4"], 0)
	_, err := chunk.Parse(b)
	require.NoError(t, err)
	require.ErrorIs(t, chunk.Check(b), format.ErrCorrupt)
	require.Len(t, complaints(chunk.Describe(b)), 1)
}

// TestOverlappingBlocks checks that blocks with the same offset are rejected, because a small file
// could otherwise cause an unlimited amount of work.
func TestOverlappingBlocks(t *testing.T) {
	b := golden(t)["blosclz-nofilter"]
	copy(b[36:40], b[32:36])
	_, err := chunk.Parse(b)
	require.ErrorIs(t, err, format.ErrCorrupt)

	b = golden(t)["blosclz-nofilter"]
	b[36]-- // the second block starts inside the first
	_, err = chunk.Parse(b)
	require.ErrorIs(t, err, format.ErrCorrupt)
	require.ErrorContains(t, err, "overlap")
}

// TestChunk_BytesAfterBlock checks unused bytes after a block. C-Blosc2 reads them into its block
// buffer when it loads a chunk lazily, and writes out of bounds if there are too many.
func TestChunk_BytesAfterBlock(t *testing.T) {
	orig := golden(t)["blosclz-shuffle-split"] // one block of 4000 bytes in four streams
	for n, ok := range map[int]bool{4000 + 4*4: true, 4000 + 4*4 + 1: false} {
		b := append(bytes.Clone(orig), make([]byte, 36+n-len(orig))...)
		binary.LittleEndian.PutUint32(b[12:], uint32(len(b)))
		h, err := chunk.ParseHeader(b)
		require.NoError(t, err)
		require.NoError(t, h.Check())
		if ok {
			require.NoError(t, h.CheckStarts(b[32:36]))
			require.NoError(t, chunk.Check(b))
		} else {
			require.ErrorIs(t, h.CheckStarts(b[32:36]), format.ErrCorrupt)
			require.ErrorIs(t, chunk.Check(b), format.ErrCorrupt)
		}
		require.ErrorIs(t, h.CheckStarts(b[32:35]), format.ErrTruncated)
	}
	h, err := chunk.ParseHeader(golden(t)["stored"])
	require.NoError(t, err)
	require.NoError(t, h.CheckStarts(nil))
}

// TestCheckSizes checks each contradiction between sizes.
func TestCheckSizes(t *testing.T) {
	put := func(name string, off int, v ...byte) []byte {
		b := golden(t)[name]
		copy(b[off:], v)
		return b
	}
	for name, b := range map[string][]byte{
		"typesize 0":                    put("lz4", 3, 0),
		"nbytes negative":               put("lz4", 4, 0, 0, 0, 0x80),
		"nbytes above the limit":        put("lz4", 4, 0xFF, 0xFF, 0xFF, 0x7F),
		"blocksize 0":                   put("lz4", 8, 0, 0, 0, 0),
		"blocksize above the limit":     put("lz4", 8, 1, 0xFE, 0xFF, 0x1F),
		"cbytes below the header":       put("lz4", 12, 31, 0, 0, 0),
		"split block not of elements":   put("blosclz-shuffle-blocks", 8, 255, 3),
		"block starts beyond the end":   put("lz4", 8, 1, 0, 0, 0),
		"stored size":                   put("stored", 4, 255),
		"special chunk with a tail":     append(put("special-zeros", 12, 33), 0),
		"special code 5":                put("special-zeros", 0x1F, 0x50),
		"NaN of 2 bytes":                put("special-nan4", 3, 2),
		"NaN, half an element":          put("special-nan4", 4, 0x9E),
		"not initialized, half":         put("special-uninit", 4, 0x9E),
		"repeated value, none":          put("special-repeat", 12, 32),
		"repeated value beyond nbytes":  put("special-repeat", 4, 3, 0),
		"repeated value, half":          put("special-repeat", 4, 0x9E),
		"VL-blocks in version 5":        put("lz4", 0x1E, 1),
		"VL-blocks in a stored chunk":   append([]byte{6}, put("stored", 0x1E, 1)[1:]...),
		"dictionary size 0":             put("zstd-dict", 32+160, 0, 0, 0, 0),
		"dictionary size negative":      put("zstd-dict", 32+160, 0, 0, 0, 0x80),
		"dictionary beyond the end":     put("zstd-dict", 32+160, 0, 0, 1, 0),
		"block start at the header":     put("blosclz-nofilter", 32, 16, 0, 0, 0),
		"block start negative":          put("blosclz-nofilter", 32, 0, 0, 0, 0x80),
		"block start at the end":        put("blosclz-nofilter", 32, 0xE0, 0x0F, 0, 0),
		"stream beyond the end":         put("zstd", 36, 0, 0, 1, 0),
		"stream size the largest there": put("zstd", 36, 0xFF, 0xFF, 0xFF, 0x7F),
	} {
		err := chunk.Check(b)
		require.ErrorIs(t, err, format.ErrCorrupt, name)
		require.NotEmpty(t, complaints(chunk.Describe(b)), name)
	}
	require.ErrorIs(t, chunk.Check(put("lz4", 0, 0)), format.ErrVersion)
	require.ErrorIs(t, chunk.Check(put("lz4", 0, 7)), format.ErrVersion)
	require.ErrorIs(t, chunk.Check(append([]byte{6}, put("lz4", 0x1E, 2)[1:]...)), format.ErrUnsupported)

	// A blocksize above nbytes is reduced to nbytes, as in C-Blosc2 3.
	clamped := put("lz4", 8, 0, 0, 1, 0)
	h, err := chunk.ParseHeader(clamped)
	require.NoError(t, err)
	require.EqualValues(t, 1<<16, h.BlockSize)
	require.EqualValues(t, 4000, h.BlockLen())
	require.EqualValues(t, 1, h.NumBlocks())
	require.NoError(t, chunk.Check(clamped))

	// Alpha releases left undefined values in the last filter slot.
	alpha := put("lz4", 0, 3)
	alpha[0x15], alpha[0x1D] = 200, 99
	h, err = chunk.ParseHeader(alpha)
	require.NoError(t, err)
	require.Equal(t, chunk.NoFilter, h.Filters[5])
	require.NoError(t, h.Check())
}

// vlChunk builds a version 6 chunk with uncompressed blocks, stored in the given order.
func vlChunk(order []int, blocks ...string) []byte {
	head := make([]byte, 32+4*len(blocks))
	body := []byte{}
	total := 0
	for _, i := range order {
		binary.LittleEndian.PutUint32(head[32+4*i:], uint32(len(head)+len(body)))
		body = binary.LittleEndian.AppendUint32(body, uint32(len(blocks[i])))
		body = append(body, blocks[i]...)
		total += len(blocks[i])
	}
	copy(head, []byte{6, 1, 0x15, 1})
	binary.LittleEndian.PutUint32(head[4:], uint32(total))
	binary.LittleEndian.PutUint32(head[8:], uint32(len(blocks)))
	binary.LittleEndian.PutUint32(head[12:], uint32(len(head)+len(body)))
	head[0x1E] = chunk.FlagVLBlocks
	return append(head, body...)
}

// TestVLBlocks checks blocks of variable length. Their lengths precede their streams. Each block
// ends where the next one starts, in any order of writing.
func TestVLBlocks(t *testing.T) {
	b := vlChunk([]int{2, 0, 1}, "one", "twenty-two", "x")
	c, err := chunk.Parse(b)
	require.NoError(t, err)
	require.NoError(t, chunk.Check(b))
	require.EqualValues(t, 3, c.NumBlocks())
	require.Zero(t, c.BlockLen())
	var lengths []int32
	for _, b := range c.Blocks {
		lengths = append(lengths, b.Length)
		require.Equal(t, chunk.StoredBytes, b.Streams[0].Kind)
	}
	require.Equal(t, []int32{3, 10, 1}, lengths)
	require.Empty(t, complaints(chunk.Describe(b)))
	values := make([]byte, 14)
	require.NoError(t, chunk.Decode(values, b))
	require.Equal(t, "onetwenty-twox", string(values))

	for name, edit := range map[string]func(b []byte){
		"nbytes is not the sum": func(b []byte) { b[4]++ },
		"two blocks at a place": func(b []byte) { copy(b[36:40], b[32:36]) },
		"block length 0":        func(b []byte) { b[44] = 0 },
		"more blocks":           func(b []byte) { b[8] = 0xFF },
		"no blocks":             func(b []byte) { b[8] = 0 },
		"start in a block":      func(b []byte) { b[32]++ },
		"start at the end":      func(b []byte) { b[32] = byte(len(b) - 1) },
	} {
		m := bytes.Clone(b)
		edit(m)
		_, err := chunk.Parse(m)
		require.ErrorIs(t, err, format.ErrCorrupt, name)
	}
}

// TestDescribe_Bounded checks that Describe counts the parts that it omits, and that its result is
// proportional to the size of the chunk.
func TestDescribe_Bounded(t *testing.T) {
	n := 3 * chunk.MaxDescribed
	blocks := slices.Repeat([]string{"v"}, n)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	f := chunk.Describe(vlChunk(order, blocks...))
	require.Empty(t, complaints(f))
	fields := 0
	for range f.Walk() {
		fields++
	}
	require.Less(t, fields, 4*chunk.MaxDescribed)
	var text bytes.Buffer
	require.NoError(t, f.WriteText(&text))
	require.Contains(t, text.String(), "8192  (further blocks, not listed)")
}

func TestNames(t *testing.T) {
	require.Equal(t, "zstd", chunk.Zstd.String())
	require.Equal(t, "codec 77", chunk.Codec(77).String())
	require.Equal(t, "filter 99", chunk.Filter(99).String())
	require.Equal(t, "reserved code 6", chunk.Special(6).String())
	require.Equal(t, "kind 9", chunk.StreamKind(9).String())
	require.False(t, chunk.Grok.Safe())
	require.False(t, chunk.ZFPRate.Safe())
	require.True(t, chunk.LZ4HC.Safe())
	require.False(t, chunk.NDMean.Safe())
}

// TestCompat decodes the test data of C-Blosc2: chunks written by C-Blosc 1.3 to C-Blosc2 3.0. Each
// contains the integers from 0.
func TestCompat(t *testing.T) {
	paths := append(testenv.Files(t, testenv.Blosc2Source, "compat/blosc-*.cdata"), testenv.Files(t, testenv.Corpus, "blosc2/*.cdata")...)
	decoded := 0
	for _, p := range paths {
		b := readFile(t, p)
		c, err := chunk.Parse(b)
		require.NoError(t, err, p)
		require.NoError(t, chunk.Check(b), p)
		require.Empty(t, complaints(chunk.Describe(b)), p)
		values := make([]byte, c.NBytes)
		err = c.Decode(values)
		if errors.Is(err, format.ErrUnsupported) {
			continue
		}
		require.NoError(t, err, p)
		require.True(t, bytes.Equal(ints(len(values)/4, 1), values[:len(values)/4*4]), "%s: values", p)
		decoded++
	}
	require.Positive(t, decoded, "no BloscLZ file among %d", len(paths))
	t.Logf("%d chunks parsed, %d decoded", len(paths), decoded)
}

// TestHeader_specialDictionary checks that a special chunk has no dictionary. C-Blosc2 returns an
// error for it.
func TestHeader_specialDictionary(t *testing.T) {
	b := make([]byte, chunk.ExtendedHeaderSize)
	b[0], b[1], b[2], b[3] = 5, 1, 5, 4 // version, version of the codec, flags, type size
	binary.LittleEndian.PutUint32(b[4:], 400)
	binary.LittleEndian.PutUint32(b[8:], 400)
	binary.LittleEndian.PutUint32(b[12:], chunk.ExtendedHeaderSize)
	b[31] = 0x10
	h, err := chunk.ParseHeader(b)
	require.NoError(t, err)
	require.NoError(t, chunk.Policy{}.CheckHeader(&h))
	b[31] |= chunk.Flag2Dict
	h, err = chunk.ParseHeader(b)
	if err == nil {
		err = chunk.Policy{}.CheckHeader(&h)
	}
	require.ErrorIs(t, err, format.ErrCorrupt)
	require.ErrorContains(t, err, "no dictionary")
}
