// Header of a frame: 87 bytes of fixed fields, then the fixed metalayers.

package cframe

import (
	"fmt"
	"math"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// Sizes and limits of the format (frame.h, blosc2.h).
const (
	fixedHeaderSize = 87 // bytes before the metalayers
	MinHeaderSize   = 97 // bytes of a header without metalayers
	MinTrailerSize  = 35 // bytes of a trailer without metalayers
	MaxVersion      = 3  // newest supported version
	MaxMetalayers   = 16 // maximum number of fixed metalayers in a frame

	// MaxVLMetalayers is the maximum number of variable-length metalayers that C-Blosc2 reads. It
	// writes at most 16 to a frame.
	MaxVLMetalayers = 8192
)

const (
	magic      = "b2frame\x00"
	formatName = "blosc2 frame"
)

// Type is the storage of a frame's chunks.
type Type uint8

// Types of frame (low half of frame_type).
const (
	Contiguous Type = 0 // between header and index
	Sparse     Type = 1 // one file per chunk, beside the file of the frame
)

// String returns the name of the type.
func (t Type) String() string {
	switch t {
	case Contiguous:
		return "contiguous"
	case Sparse:
		return "sparse"
	}
	return fmt.Sprintf("reserved type %d", uint8(t))
}

// Header is the header of a frame, with its fields as stored.
type Header struct {
	HeaderSize   int32 // bytes of the header, metalayers included
	FrameSize    int64 // bytes of the frame, without the chunks of a sparse one
	GeneralFlags uint8 // Version, OffsetBits, VariableChunks, VLBlocks
	FrameType    uint8 // Type, UserType
	CodecFlags   uint8 // Codec, Level
	OtherFlags   uint8 // SplitMode

	NBytes   int64 // decoded bytes of all chunks
	CBytes   int64 // bytes between header and index, or of all chunks of a sparse frame
	TypeSize int32 // bytes per element

	// BlockSize is the requested number of bytes per block: 0 if it was "automatic". The
	// specification describes it as the chosen block size.
	BlockSize int32
	// ChunkSize is the decoded size of every chunk except the last. It is -1 while there are no
	// chunks. It is 0 if chunks vary in length, which the specification calls
	// not supported yet.
	ChunkSize int32

	// Number of threads of the writer. The readers only display it.
	CompressThreads, DecompressThreads int16

	HasVLMetalayers bool // the trailer contains metalayers

	// The filter pipeline and the fields that share its 16 bytes: a fixext 16 whose type is the
	// number of filters. The specification shows the marker of an int32.
	NumFilters  uint8
	Filters     [chunk.NumFilters]chunk.Filter
	FiltersMeta [chunk.NumFilters]uint8
	UDCodec     uint8 // codec id; older libraries write 0 if codec_flags can represent it
	CodecMeta   uint8
	OtherFlags2 uint8 // bit 0: dictionaries (C-Blosc2 3.0; reserved before)
	Reserved    uint8

	Metalayers []Metalayer // in stored order
}

// Metalayer is a named piece of metadata.
type Metalayer struct {
	Name string
	// Offset is the start of Content, in bytes from the start of the header, or of the trailer for
	// a variable-length metalayer. The stored offset is 5 bytes less, because it includes the
	// prefix of the content.
	Offset int64
	// Content is the stored content. For a variable-length metalayer it is a compressed chunk,
	// which the specification does not mention.
	Content []byte
}

// Version returns the format version of the frame: 1 since 2.0 beta 2, 2 since 2.0 rc 1 (still
// written), 3 since 3.0 for chunks or blocks of variable length.
func (h Header) Version() int { return int(h.GeneralFlags & 0x0F) }

// OffsetBits returns the width of an offset in the index: 32, 64, 128 or 256 bits. All
// implementations support only 64.
func (h Header) OffsetBits() int { return 32 << (h.GeneralFlags >> 4 & 3) }

// VariableChunks reports whether chunks vary in length (since C-Blosc2 3.0).
func (h Header) VariableChunks() bool { return h.GeneralFlags&0x40 != 0 }

// VLBlocks reports whether blocks vary in length (since C-Blosc2 3.0).
func (h Header) VLBlocks() bool { return h.GeneralFlags&0x80 != 0 }

// Type returns the storage of the chunks.
func (h Header) Type() Type { return Type(h.FrameType & 0x0F) }

// UserType returns the user-defined half byte, 0 if unused.
func (h Header) UserType() uint8 { return h.FrameType >> 4 }

// Codec returns the codec for new chunks. The low half of codec_flags is the codec's id, or 6 for
// ids above 5. The specification lists the format numbers of the chunk header here, but C-Blosc2
// never wrote those.
func (h Header) Codec() chunk.Codec {
	switch id := h.CodecFlags & 0x0F; id {
	case 6:
		return chunk.Codec(h.UDCodec)
	default:
		return chunk.Codec(id)
	}
}

// Level returns the compression level for new chunks, 0 to 9.
func (h Header) Level() int { return int(h.CodecFlags >> 4) }

// SplitMode returns the split mode for blocks of new chunks, with the numbers of C-Blosc2: 1
// always, 2 never, 3 automatically, 4 as Blosc1 did.
func (h Header) SplitMode() int { return int(h.OtherFlags&3) + 1 }

// UseDict reports whether new chunks get a dictionary.
func (h Header) UseDict() bool { return h.OtherFlags2&1 != 0 }

// Metalayer returns the content of the first fixed metalayer called name.
func (h Header) Metalayer(name string) ([]byte, bool) { return find(h.Metalayers, name) }

func find(layers []Metalayer, name string) ([]byte, bool) {
	for _, m := range layers {
		if m.Name == name {
			return m.Content, true
		}
	}
	return nil, false
}

// NumChunks returns the number of chunks that follows from the sizes in the header, rounded up as
// C-Blosc2 does. It returns -1 with variable chunks, because only the index contains their number.
func (h Header) NumChunks() int64 {
	switch {
	case h.VariableChunks():
		return -1
	case h.NBytes <= 0 || h.ChunkSize <= 0:
		return 0
	}
	return grid.DivUp(h.NBytes, int64(h.ChunkSize))
}

// ParseHeader reads the header at the start of b (README_CFRAME_FORMAT.rst, Header). b may be
// longer than the header.
//
// The error is format.ErrMagic if b does not start with a frame header, format.ErrTruncated,
// format.ErrVersion if the version is not 1 to 3, or format.ErrCorrupt. ParseHeader does not check
// the values of the fields; see Frame.Check.
func ParseHeader(b []byte) (Header, error) { return parseHeader(b, nil) }

func parseHeader(b []byte, record *[]format.Field) (Header, error) {
	h, err := parseFixed(b, record)
	if err != nil {
		return Header{}, err
	}
	if len(b) < int(h.HeaderSize) {
		return Header{}, truncated("header", 0, int64(len(b)), int64(h.HeaderSize))
	}
	r := msgpack.NewReader(formatName, b[:h.HeaderSize])
	r.Record = record
	r.Skip(fixedHeaderSize)
	h.Metalayers = parseMetalayers(r, fixedHeaderSize, MaxMetalayers)
	if r.Err() == nil && r.Left() > 0 {
		r.Fail("metalayers", r.Offset(), strconv.Itoa(r.Left())+" bytes more", "the end of the header", format.ErrCorrupt)
	}
	if err := r.Err(); err != nil {
		return Header{}, err
	}
	return h, nil
}

// parseFixed reads the fields before the metalayers.
func parseFixed(b []byte, record *[]format.Field) (Header, error) {
	if len(b) >= 2+len(magic) && string(b[2:2+len(magic)]) != magic {
		return Header{}, bad("magic", 2, strconv.Quote(string(b[2:2+len(magic)])), strconv.Quote(magic), format.ErrMagic)
	}
	if len(b) < fixedHeaderSize {
		return Header{}, truncated("header", 0, int64(len(b)), MinHeaderSize)
	}
	r := msgpack.NewReader(formatName, b[:fixedHeaderSize])
	r.Record = record
	var h Header
	r.FixArray("header", 14)
	r.FixStrN("magic", len(magic))
	h.HeaderSize = r.Int32("header_size")
	r.Explain("bytes of the header, metalayers included")
	size := r.Uint64("frame_size")
	r.Explain("bytes of the frame")
	if flags := r.FixStrN("flags", 4); flags != nil {
		h.GeneralFlags, h.FrameType, h.CodecFlags, h.OtherFlags = flags[0], flags[1], flags[2], flags[3]
	}
	h.NBytes = r.Int64("uncompressed_size")
	r.Explain("bytes of the values of all chunks")
	h.CBytes = r.Int64("compressed_size")
	r.Explain("bytes of all chunks")
	h.TypeSize = r.Int32("type_size")
	r.Explain("bytes per element")
	h.BlockSize = r.Int32("block_size")
	r.Explain("bytes per block asked for; 0: automatic")
	h.ChunkSize = r.Int32("chunk_size")
	r.Explain("bytes of the values of a chunk; -1: no chunk yet, 0: varies")
	h.CompressThreads = r.Int16("tcomp")
	r.Explain("threads of the writer")
	h.DecompressThreads = r.Int16("tdecomp")
	r.Explain("threads of the writer")
	h.HasVLMetalayers = r.Bool("has_vlmetalayers")
	var ext []byte
	h.NumFilters, ext = r.FixExt16("filter pipeline")
	for i := range h.Filters {
		if i < int(h.NumFilters) {
			h.Filters[i], h.FiltersMeta[i] = chunk.Filter(ext[i]), ext[8+i]
		}
	}
	h.UDCodec, h.CodecMeta = ext[6], ext[7]
	h.OtherFlags2, h.Reserved = ext[14], ext[15]
	switch v := h.Version(); {
	case r.Err() != nil:
	case v == 0 || v > MaxVersion:
		r.Fail("flags", 25, "version "+strconv.Itoa(v), "1 to "+strconv.Itoa(MaxVersion), format.ErrVersion)
	case h.HeaderSize < MinHeaderSize:
		r.Fail("header_size", 11, strconv.Itoa(int(h.HeaderSize)), "at least "+strconv.Itoa(MinHeaderSize), format.ErrCorrupt)
	case size > math.MaxInt64 || size < uint64(h.HeaderSize)+MinTrailerSize:
		r.Fail("frame_size", 16, strconv.FormatUint(size, 10),
			fmt.Sprintf("at least %d, header and trailer", int64(h.HeaderSize)+MinTrailerSize), format.ErrCorrupt)
	}
	if err := r.Err(); err != nil {
		return Header{}, err
	}
	h.FrameSize = int64(size)
	return h, nil
}

// parseMetalayers reads a section of metalayers: the map from names to offsets, then the contents
// (README_CFRAME_FORMAT.rst, Header; the trailer has the same format).
//
// The contents must follow one another in the order of the names, because C-Blosc2 always writes
// them so. It also stores the length of the map, but never reads it. In the header that length
// counts from the section's first byte, in the trailer from its second. parseMetalayers records the
// length but does not check it.
func parseMetalayers(r *msgpack.Reader, section, limit int) []Metalayer {
	r.FixArray("metalayers", 3)
	r.Uint16("map size")
	r.Explain("bytes of the map; not used")
	n := int(r.Map16("map"))
	if n > limit {
		r.Fail("map", section+4, strconv.Itoa(n)+" metalayers", "at most "+strconv.Itoa(limit), format.ErrCorrupt)
	}
	if r.Err() != nil || n == 0 {
		r.Array16("contents")
		return nil
	}
	// A pair has at least 6 bytes, so the capacity is proportional to the input.
	layers := make([]Metalayer, 0, min(n, r.Left()/6+1))
	offsets := make([]int64, 0, cap(layers))
	for range n {
		if r.Err() != nil {
			return nil
		}
		layers = append(layers, Metalayer{Name: r.FixStr("name")})
		offsets = append(offsets, int64(r.Int32("offset")))
	}
	at := r.Offset()
	if k := int(r.Array16("contents")); r.Err() == nil && k != n {
		r.Fail("contents", at, strconv.Itoa(k), strconv.Itoa(n)+", one for each name", format.ErrCorrupt)
	}
	for i := range layers {
		if r.Err() != nil {
			return nil
		}
		if offsets[i] != int64(r.Offset()) {
			r.Fail("content of "+strconv.Quote(layers[i].Name), r.Offset(), "offset "+strconv.FormatInt(offsets[i], 10), strconv.Itoa(r.Offset()), format.ErrCorrupt)
			return nil
		}
		layers[i].Offset = offsets[i] + 5
		layers[i].Content = r.Bin32("content of " + strconv.Quote(layers[i].Name))
	}
	return layers
}

// bad returns the error of one field.
func bad(what string, offset int64, got, want string, err error) *format.Error {
	return &format.Error{Format: formatName, What: what, Offset: offset, Got: got, Want: want, Err: err}
}

// truncated returns the error for an input of got bytes that must have at least want bytes.
func truncated(what string, offset, got, want int64) *format.Error {
	return bad(what, offset, strconv.FormatInt(got, 10)+" bytes", "at least "+strconv.FormatInt(want, 10), format.ErrTruncated)
}
