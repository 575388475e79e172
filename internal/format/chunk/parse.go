// Parsing of a whole chunk: block starts, dictionary, blocks and their streams.

package chunk

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Chunk is a parsed chunk. Its slices of bytes point into the input.
type Chunk struct {
	Header
	Starts []int32 // offset of each block from the start of the chunk in bytes; nil without blocks
	Dict   []byte  // the dictionary of Flag2Dict, or nil
	Value  []byte  // the repeated value of a special chunk, or nil
	Blocks []Block // nil without blocks
	data   []byte  // the CBytes of the input
}

// Block is the location of one block's streams, and the decoded length of the block.
type Block struct {
	Offset  int32 // bytes from the start of the chunk to the first stream
	CLength int32 // bytes of all its streams
	Length  int32 // decoded bytes
	Streams []Stream
}

// Stream is one sequence of encoded bytes. A split block has one stream for each byte of an
// element.
type Stream struct {
	Offset int32      // bytes from the start of the chunk to the content, which follows the size word
	CSize  int32      // the size word as stored
	Length int32      // bytes after decoding
	Kind   StreamKind // encoding of the stream
	Value  byte       // the repeated byte of a ByteRun
}

// StreamKind is the encoding of a stream.
type StreamKind uint8

// Kinds of stream (README_CHUNK_FORMAT.rst, Compressed Data Streams).
const (
	Compressed  StreamKind = iota // by the chunk's codec
	StoredBytes                   // uncompressed: the size word equals the length
	ZeroRun                       // the size word is 0, and there is no content
	ByteRun                       // the size word is minus the byte, the content is a token
)

// String returns the name of the kind.
func (k StreamKind) String() string {
	switch k {
	case Compressed:
		return "compressed"
	case StoredBytes:
		return "stored"
	case ZeroRun:
		return "run of zeros"
	case ByteRun:
		return "run of one byte"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// CLength returns the number of bytes of the stream after its size word.
func (s Stream) CLength() int32 {
	switch s.Kind {
	case ZeroRun:
		return 0
	case ByteRun:
		return 1
	}
	return s.CSize
}

// Parse reads the chunk at the start of b down to its streams (README_CHUNK_FORMAT.rst). b may be
// longer than the chunk; see Check.
//
// The error is format.ErrTruncated if b is shorter than the chunk's size, format.ErrVersion, or
// format.ErrCorrupt for sizes and offsets that contradict each other. Parse does not check codec
// and filter ids.
func Parse(b []byte) (*Chunk, error) {
	c, err := parse(b)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// parse is Parse for Describe: if only the blocks are corrupt, it returns the chunk without them,
// and the error.
func parse(b []byte) (*Chunk, error) {
	h, err := ParseHeader(b)
	if err != nil {
		return nil, err
	}
	if err := h.checkSizes(); err != nil {
		return nil, err
	}
	if h.Blosc2Flags&Flag2Lazy != 0 && h.Special == NotSpecial {
		return nil, bad("blosc2_flags", 0x1F, "a lazy chunk", "a chunk that holds its blocks", format.ErrCorrupt)
	}
	if len(b) < int(h.CBytes) {
		return nil, truncated("chunk", 0, len(b), int(h.CBytes))
	}
	c := &Chunk{Header: h, data: b[:h.CBytes:h.CBytes]}
	if h.Special == RepeatedValue {
		c.Value = c.data[ExtendedHeaderSize:]
	}
	if !h.HasBlocks() {
		return c, nil
	}
	return c, c.parseBlocks()
}

// parseBlocks fills Starts, Dict and Blocks, up to the first error.
func (c *Chunk) parseBlocks() error {
	n := int(c.NumBlocks())
	pos := c.Size() + 4*n // checkSizes has compared it with CBytes
	c.Starts = make([]int32, n)
	for i := range c.Starts {
		c.Starts[i] = le32(c.data[c.Size()+4*i:])
	}
	if c.Blosc2Flags&Flag2Dict != 0 {
		var err error
		if pos, err = c.parseDict(pos); err != nil {
			return err
		}
	}
	ends, err := c.blockEnds(c.Starts, pos)
	if err != nil {
		return err
	}
	c.Blocks = make([]Block, 0, n)
	var total int64
	for i, start := range c.Starts {
		b, err := c.parseBlock(i, start)
		if err != nil {
			return err
		}
		if b.CLength > ends[i]-start {
			return bad(fmt.Sprintf("block %d", i), int64(start), fmt.Sprintf("%d bytes, blocks overlap", b.CLength), fmt.Sprintf("at most %d, up to the next block", ends[i]-start), format.ErrCorrupt)
		}
		total += int64(b.Length)
		c.Blocks = append(c.Blocks, b)
	}
	if !c.VLBlocks() {
		return nil
	}
	if total != int64(c.NBytes) {
		return bad("nbytes", 0x04, itoa(c.NBytes), itoa(total)+", the sum of the blocks", format.ErrCorrupt)
	}
	c.measureVLBlocks(ends)
	return nil
}

// blockEnds checks the block starts and returns the maximum end of each block: the start of the
// following block, or the end of the chunk. Blocks may have any order after byte pos, because
// several threads may have written them.
//
// A block, with any unused bytes after it, must not be longer than its decoded length plus a size
// word for each stream. When C-Blosc2 loads a chunk lazily, it reads that range into a buffer of
// this length without a check.
func (h Header) blockEnds(starts []int32, pos int) ([]int32, error) {
	order := make([]int, len(starts))
	for i, start := range starts {
		if int64(start) < int64(pos) || start >= h.CBytes {
			return nil, bad(fmt.Sprintf("block start %d", i), int64(h.Size()+4*i), itoa(start), fmt.Sprintf("%d to %d", pos, h.CBytes-1), format.ErrCorrupt)
		}
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return int(starts[i]) - int(starts[j]) })
	most := int64(h.BlockLen()) + 4*int64(h.TypeSize)
	ends := make([]int32, len(starts))
	end := h.CBytes
	for _, i := range slices.Backward(order) {
		n := int64(end) - int64(starts[i])
		if n > most && !h.VLBlocks() {
			return nil, bad(fmt.Sprintf("block start %d", i), int64(h.Size()+4*i), fmt.Sprintf("%d bytes up to the next block", n), fmt.Sprintf("at most %d", most), format.ErrCorrupt)
		}
		ends[i] = end
		end = starts[i]
	}
	return ends, nil
}

func (c *Chunk) parseDict(pos int) (int, error) {
	if len(c.data)-pos < 4 {
		return 0, bad("dictionary size", int64(pos), itoa(len(c.data)-pos)+" bytes", "at least 4", format.ErrCorrupt)
	}
	size := le32(c.data[pos:])
	if size <= 0 || size > MaxDictSize || int64(size) > int64(len(c.data)-pos-4) {
		return 0, bad("dictionary size", int64(pos), itoa(size),
			fmt.Sprintf("1 to %d", min(MaxDictSize, len(c.data)-pos-4)), format.ErrCorrupt)
	}
	c.Dict = c.data[pos+4 : pos+4+int(size)]
	return pos + 4 + int(size), nil
}

// parseBlock reads the streams of block i. Only the size words determine the end of the block.
func (c *Chunk) parseBlock(i int, start int32) (Block, error) {
	if c.VLBlocks() {
		return c.parseVLBlock(i, start)
	}
	b := Block{Offset: start, Length: c.BlockLen()}
	streams := int32(1)
	last := c.NBytes % c.BlockLen()
	if i == len(c.Starts)-1 && last > 0 {
		b.Length = last // a short block is never split
	} else if c.Split() {
		streams = int32(c.TypeSize)
	}
	b.Streams = make([]Stream, 0, streams)
	pos := int64(start)
	for j := range streams {
		s, err := c.parseStream(pos, b.Length/streams)
		if err != nil {
			err.What = fmt.Sprintf("block %d, stream %d: %s", i, j, err.What)
			return Block{}, err
		}
		b.Streams = append(b.Streams, s)
		pos = int64(s.Offset) + int64(s.CLength())
	}
	b.CLength = int32(pos - int64(start))
	return b, nil
}

// parseStream reads the stream of length bytes whose size word is at pos.
//
// According to the specification the repeated byte is the low byte of the size word. In C-Blosc2 it
// is the low byte of the negated word.
func (c *Chunk) parseStream(pos int64, length int32) (Stream, *format.Error) {
	left := int64(len(c.data)) - pos - 4
	if left < 0 {
		return Stream{}, bad("size", pos, itoa(left+4)+" bytes", "at least 4", format.ErrCorrupt)
	}
	s := Stream{Offset: int32(pos + 4), CSize: le32(c.data[pos:]), Length: length}
	switch {
	case s.CSize == 0:
		s.Kind = ZeroRun
	case s.CSize == length:
		s.Kind = StoredBytes
	case s.CSize > 0:
		s.Kind = Compressed
	default:
		s.Kind = ByteRun
		if left < 1 {
			return Stream{}, bad("token", pos+4, "0 bytes", "1", format.ErrCorrupt)
		}
		if token := c.data[pos+4]; token&1 == 0 {
			return Stream{}, bad("token", pos+4, fmt.Sprintf("%#02x", token), "bit 0 set", format.ErrCorrupt)
		}
		if s.CSize < -math.MaxUint8 {
			return Stream{}, bad("size", pos, itoa(s.CSize), "at least -255", format.ErrCorrupt)
		}
		s.Value = byte(-s.CSize)
	}
	if int64(s.CLength()) > left {
		return Stream{}, bad("size", pos, itoa(s.CSize), "at most "+itoa(left)+", the bytes left", format.ErrCorrupt)
	}
	return s, nil
}

// parseVLBlock reads the length of a block of variable length. Such a block consists of its decoded
// length and one stream without a size word. The stream ends at the start of the next block
// (C-Blosc2 3.0, blosc2_vlcompress_ctx).
func (c *Chunk) parseVLBlock(i int, start int32) (Block, error) {
	if c.CBytes-start < 5 {
		return Block{}, bad(fmt.Sprintf("block %d", i), int64(start), itoa(c.CBytes-start)+" bytes", "at least 5", format.ErrCorrupt)
	}
	length := int32(binary.LittleEndian.Uint32(c.data[start:]))
	if length <= 0 || length > MaxBlockSize {
		return Block{}, bad(fmt.Sprintf("block %d: length", i), int64(start), itoa(length), "1 to "+itoa(MaxBlockSize), format.ErrCorrupt)
	}
	return Block{Offset: start, CLength: 5, Length: length}, nil
}

// measureVLBlocks sets the stream of each block of variable length. The stream ends at the end of
// the block.
func (c *Chunk) measureVLBlocks(ends []int32) {
	for i := range c.Blocks {
		b := &c.Blocks[i]
		b.CLength = ends[i] - b.Offset
		s := Stream{Offset: b.Offset + 4, CSize: b.CLength - 4, Length: b.Length}
		if s.CSize == s.Length {
			s.Kind = StoredBytes
		}
		b.Streams = []Stream{s}
	}
}
