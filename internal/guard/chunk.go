// Chunks of Blosc and Blosc2 before C-Blosc2 reads them.

package guard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// Sizes of chunk headers in bytes.
const (
	Blosc1Header = chunk.MinHeaderSize
	Blosc2Header = chunk.ExtendedHeaderSize
)

// SpecialName returns the name of a kind of special chunk (Chunk.Special).
func SpecialName(kind uint8) string { return chunk.Special(kind).String() }

// Policy lists codecs and filters that are allowed in addition to those that are safe for any
// bytes. The zero Policy allows no others.
type Policy struct{ p chunk.Policy }

// Allow returns the policy that allows these ids.
func Allow[C, F ~uint8](codecs []C, filters []F) Policy {
	var p Policy
	for _, c := range codecs {
		p.p.Codecs = append(p.p.Codecs, chunk.Codec(c))
	}
	for _, f := range filters {
		p.p.Filters = append(p.p.Filters, chunk.Filter(f))
	}
	return p
}

// Chunk is the content of a chunk header. Sizes are in bytes.
type Chunk struct {
	NBytes     int // size of the data
	CBytes     int // size of the chunk
	BlockSize  int // as stored; the number of blocks if VLBlocks is set
	BlockLen   int // size of the data of all blocks except the last; 0 if VLBlocks is set
	NumBlocks  int
	TypeSize   int // as stored; 1 for elements of more than 255 bytes
	ItemSize   int // TypeSize, or the size of a repeated value
	HeaderSize int // Blosc1Header or Blosc2Header

	Version     uint8
	Codec       uint8
	CodecMeta   uint8
	Filters     [chunk.NumFilters]chunk.Filter
	FiltersMeta [chunk.NumFilters]uint8
	Special     uint8 // 0 for data that does not follow from the header

	Extended   bool // the header is that of Blosc2
	UserCodec  bool // the codec has no format of its own
	HasBlocks  bool // the chunk has block starts and streams
	VLBlocks   bool // blocks have variable length
	Split      bool // blocks are stored as one stream for each byte of an element
	Stored     bool // the data follows the header uncompressed
	Dict       bool // the chunk holds a dictionary
	BitShuffle bool // the flag of the filter in a Blosc1 header
	Measured   bool // the chunk holds measurements instead of data
}

func chunkOf(h *chunk.Header) Chunk {
	return Chunk{
		NBytes: int(h.NBytes), CBytes: int(h.CBytes), BlockSize: int(h.BlockSize), BlockLen: int(h.BlockLen()), NumBlocks: int(h.NumBlocks()),
		TypeSize: int(h.TypeSize), ItemSize: h.ItemSize(), HeaderSize: h.Size(),
		Version: h.Version, Codec: uint8(h.Codec), CodecMeta: h.CodecMeta, Filters: h.Filters, FiltersMeta: h.FiltersMeta, Special: uint8(h.Special),
		Extended: h.Extended, UserCodec: h.Format == chunk.FormatUser, HasBlocks: h.HasBlocks(), VLBlocks: h.VLBlocks(), Split: h.Split(),
		Stored: h.Stored(), Dict: h.Blosc2Flags&chunk.Flag2Dict != 0, BitShuffle: h.Flags&chunk.FlagBitShuffle != 0,
		Measured: h.Blosc2Flags&chunk.Flag2Instrumented != 0,
	}
}

// Delta reports whether the chunk stores differences to its first block.
func (c *Chunk) Delta() bool { return slices.Contains(c.Filters[:], chunk.Delta) }

// Entire reports whether C-Blosc2 reads parts of a stored chunk incorrectly. With Delta it decodes
// too few blocks, and for items it does not load the dictionary.
func (c *Chunk) Entire() bool { return c.Delta() || c.Dict }

// Blosc1Tail reports whether c is a bit-shuffled Blosc1 chunk whose tail C-Blosc2 does not
// decompress. The tail is the bytes after the last whole element of a block whose number of
// elements is a multiple of 8.
func (c *Chunk) Blosc1Tail() bool { return c.HasBlocks && c.losesEnd(c.NBytes%c.BlockLen) }

// losesEnd reports whether C-Blosc2 does not decompress the end of a block of n bytes of c.
func (c *Chunk) losesEnd(n int) bool {
	return !c.Extended && c.BitShuffle && n%c.TypeSize != 0 && n/c.TypeSize%8 == 0
}

// lostParts reports whether every block of c except the last ends with a part of an element that
// C-Blosc2 does not decompress.
func (c *Chunk) lostParts() bool {
	return c.HasBlocks && c.NBytes >= c.BlockLen && c.losesEnd(c.BlockLen)
}

// PartsUnsafe reports whether C-Blosc2 reads parts of the chunk incorrectly. With Delta it does not
// decode the first block, and it ignores a dictionary. It also applies to chunks whose blocks are
// not whole items and to chunks with a Blosc1 tail.
func (c *Chunk) PartsUnsafe() bool {
	return c.Entire() || c.BlockLen%c.TypeSize != 0 || c.Blosc1Tail()
}

// Repeated reports whether the chunk is one repeated value.
func (c *Chunk) Repeated() bool { return c.Special == uint8(chunk.RepeatedValue) }

// Extended reports whether the header at the start of b is that of Blosc2.
func Extended(b []byte) bool {
	const both = chunk.FlagShuffle | chunk.FlagBitShuffle
	return b[2]&both == both
}

// EvenBlocks reports whether all blocks of the Blosc1 chunk b have a multiple of 8 elements of size
// bytes and all except the last contain only whole elements, or are not compressed. Blosc1 does not
// bit-shuffle other blocks. C-Blosc2 shuffles as many of their elements as make a multiple of 8,
// also in Blosc1 chunks, where Blosc1 does not undo it.
func EvenBlocks(b []byte, size int) bool {
	c, err := ParseHeader(b)
	return err != nil || !c.HasBlocks || c.BlockLen%size == 0 && c.BlockLen/size%8 == 0 && c.NBytes%c.BlockLen/size%8 == 0
}

// ParseHeader parses the header at the start of b without checking its sizes.
func ParseHeader(b []byte) (Chunk, error) {
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return Chunk{}, err
	}
	return chunkOf(&h), nil
}

// Header checks the header at the start of b. It refuses headers that contradict themselves, lazy
// chunks, and codecs and filters that p does not allow, for which C-Blosc2 would start a program.
func Header(b []byte, p Policy) (Chunk, error) {
	h, err := chunk.ParseHeader(b)
	if err == nil {
		err = p.p.CheckHeader(&h)
	}
	return chunkOf(&h), err
}

// Readable returns errors.ErrUnsupported for a valid header that C-Blosc2 cannot read, or not as a
// chunk with blocks of one length.
func (c *Chunk) Readable() error {
	switch {
	case c.VLBlocks:
		return fmt.Errorf("%w: a chunk with blocks of variable length", errors.ErrUnsupported)
	case c.lostParts():
		return fmt.Errorf("%w: blocks of a bit-shuffled Blosc1 chunk: got %d bytes, want a multiple of the %d bytes of an element", errors.ErrUnsupported, c.BlockLen, c.TypeSize)
	case c.Measured:
		return fmt.Errorf("%w: a chunk of measurements instead of data", errors.ErrUnsupported)
	}
	return nil
}

// Whole checks a readable chunk at the start of b: its header, its length, and the length of its
// dictionary. C-Blosc2 checks streams against the length of the chunk, but an invalid dictionary
// leaves its context with a pointer to the previous one, which is freed.
func Whole(b []byte, p Policy) (Chunk, error) {
	c, err := Header(b, p)
	if err == nil {
		err = c.Readable()
	}
	if err != nil {
		return c, err
	}
	if len(b) < c.CBytes {
		return c, badChunk("length", 0, len(b), c.CBytes, format.ErrTruncated)
	}
	bare := c.NBytes == 0 && c.CBytes == c.HeaderSize && c.Special == 0
	if c.Dict && !bare {
		at := c.HeaderSize
		if c.HasBlocks {
			at += 4 * c.NumBlocks
		}
		most := min(c.CBytes-at-4, chunk.MaxDictSize)
		if most < 1 {
			return c, badChunk("dictionary", at, c.CBytes-at, "at least 5 bytes", format.ErrCorrupt)
		}
		if n := int(int32(binary.LittleEndian.Uint32(b[at:]))); n < 1 || n > most {
			return c, badChunk("dictionary size", at, n, fmt.Sprintf("1 to %d", most), format.ErrCorrupt)
		}
	}
	return c, nil
}

// Invalid reports whether err is about the content of the input, and not about reading it.
func Invalid(err error) bool {
	return slices.ContainsFunc([]error{format.ErrTruncated, format.ErrMagic, format.ErrVersion, format.ErrCorrupt, format.ErrLimit},
		func(target error) bool { return errors.Is(err, target) })
}

// IsForeign reports whether err means that the input has another format.
func IsForeign(err error) bool { return errors.Is(err, format.ErrMagic) }

func badChunk(what string, offset int, got, want any, err error) error {
	return &format.Error{Format: "blosc chunk", What: what, Offset: int64(offset), Got: fmt.Sprint(got), Want: fmt.Sprint(want), Err: err}
}

// Streams checks the chunk b including its block starts and streams. b must be exactly one chunk.
// C-Blosc2 needs this check if it does not get the length of the chunk, or reads it back with a
// decoder without bounds checks.
func Streams(b []byte, p Policy) error { return p.p.Check(b) }

// VariableBlocks checks the chunk b, whose blocks must have variable length, including its streams.
// ok is false for a chunk whose blocks have one length.
func VariableBlocks(b []byte, p Policy) (c Chunk, ok bool, err error) {
	if c, err = ParseHeader(b); err != nil || !c.VLBlocks {
		return c, err != nil, err
	}
	return c, true, Streams(b, p)
}

// Ordinary is a fast version of Whole. It returns the sizes of the data and of the chunk in bytes
// if b starts with an ordinary Blosc2 chunk: linked codecs and filters only, and no special values.
// It returns false if the chunk needs the full check. For small chunks the full check takes as long
// as decompression.
func Ordinary(b []byte) (nbytes, cbytes int, ok bool) {
	if len(b) < Blosc2Header || b[0] != 5 || !Extended(b) {
		return 0, 0, false
	}
	le := binary.LittleEndian
	flags, typeSize := b[2], uint32(b[3])
	n, block, size := le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:])
	filters := le.Uint64(b[16:]) & 0xFFFF_FFFF_FFFF // six ids of one byte each
	switch {
	case typeSize == 0, n == 0, n > chunk.MaxNBytes, block < 32, block > chunk.MaxBlockSize, block > n, size < Blosc2Header, int64(size) > int64(len(b)):
		return 0, 0, false
	case filters&^0x0303_0303_0303 != 0, le.Uint64(b[24:]) != 0: // ids up to Delta; no parameters, VL, dictionary, lazy or special
		return 0, 0, false
	case flags>>5 > uint8(chunk.FormatZstd), flags>>5 == uint8(chunk.FormatSnappy):
		return 0, 0, false
	case flags&chunk.FlagStored != 0:
		return int(n), int(size), size == n+Blosc2Header
	case flags&chunk.FlagDontSplit == 0 && block%typeSize != 0:
		return 0, 0, false
	}
	return int(n), int(size), (size-Blosc2Header)/4 >= grid.DivUp(n, block)
}
