// Header of a chunk: 16 bytes in Blosc1, 32 in Blosc2.

package chunk

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// Sizes and limits of the format (blosc2.h).
const (
	MinHeaderSize      = 16                 // bytes of a Blosc1 header
	ExtendedHeaderSize = 32                 // bytes of a Blosc2 header
	MaxNBytes          = math.MaxInt32 - 32 // maximum number of bytes in a chunk
	MaxBlockSize       = 536866816          // maximum number of bytes in a block
	MaxDictSize        = 128 << 10          // maximum number of bytes in a dictionary
	MaxVersion         = 6                  // newest supported header version
	NumFilters         = 6                  // slots of the filter pipeline
)

// formatName is the name of the format in errors.
const formatName = "blosc chunk"

// Header is the header of a chunk, with its fields as stored. Sizes are signed, as in the format;
// see Check for their validation.
type Header struct {
	Version   uint8 // offset 0x00: 1 to 6
	VersionLZ uint8 // offset 0x01: version of the codec's stream format, normally 1
	Flags     uint8 // offset 0x02: FlagShuffle, …; the top three bits are Format
	TypeSize  uint8 // offset 0x03: bytes per element; 1 if an element has more than 255 bytes
	NBytes    int32 // offset 0x04: bytes of the values
	BlockSize int32 // offset 0x08: bytes per block; the number of blocks with VL-blocks
	CBytes    int32 // offset 0x0C: bytes of the chunk, header included

	// The other fields are stored only in extended headers. Without one, Filters follows from
	// Flags, as in C-Blosc2.
	Extended    bool
	Filters     [NumFilters]Filter // offset 0x10, in the order they were applied
	UDCodec     uint8              // offset 0x16: codec id if Format is FormatUser
	CodecMeta   uint8              // offset 0x17
	FiltersMeta [NumFilters]uint8  // offset 0x18, one for each filter
	VLFlags     uint8              // offset 0x1E: FlagVLBlocks
	Blosc2Flags uint8              // offset 0x1F: Flag2Dict, …

	Format  CodecFormat // top three bits of Flags
	Codec   Codec       // the codec of Format and UDCodec
	Special Special     // bits 4 to 6 of Blosc2Flags
}

// ParseHeader reads the header at the start of b (README_CHUNK_FORMAT.rst, Header). b may be
// longer. The error is format.ErrTruncated if b is shorter than the header, and format.ErrVersion
// if the version is not 1 to 6. Other fields are not checked; see Check.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < MinHeaderSize {
		return Header{}, truncated("header", 0, len(b), MinHeaderSize)
	}
	h := Header{
		Version:   b[0x00],
		VersionLZ: b[0x01],
		Flags:     b[0x02],
		TypeSize:  b[0x03],
		NBytes:    le32(b[0x04:]),
		BlockSize: le32(b[0x08:]),
		CBytes:    le32(b[0x0C:]),
	}
	if h.Version == 0 || h.Version > MaxVersion {
		return Header{}, bad("version", 0, itoa(h.Version), "1 to 6", format.ErrVersion)
	}
	const both = FlagShuffle | FlagBitShuffle
	h.Extended = h.Flags&both == both
	if h.Extended {
		if len(b) < ExtendedHeaderSize {
			return Header{}, truncated("extended header", MinHeaderSize, len(b), ExtendedHeaderSize)
		}
		for i, f := range b[0x10:][:NumFilters] {
			h.Filters[i] = Filter(f)
		}
		h.FiltersMeta = [NumFilters]uint8(b[0x18:])
		h.UDCodec, h.CodecMeta = b[0x16], b[0x17]
		h.VLFlags, h.Blosc2Flags = b[0x1E], b[0x1F]
		if h.Version == 3 {
			// Blosc2's alpha releases did not clear the last slot, and C-Blosc2 skips it.
			h.Filters[NumFilters-1], h.FiltersMeta[NumFilters-1] = NoFilter, 0
		}
	} else {
		h.Filters = filtersOfFlags(h.Flags)
	}
	h.Format = CodecFormat(h.Flags >> 5)
	h.Codec = h.codec()
	h.Special = Special(h.Blosc2Flags >> 4 & 7)
	return h, nil
}

// filtersOfFlags returns the filter pipeline of a Blosc1 header: delta first, then one of the
// shuffles (flags_to_filters).
func filtersOfFlags(flags uint8) (f [NumFilters]Filter) {
	if flags&FlagShuffle != 0 {
		f[NumFilters-1] = Shuffle
	}
	if flags&FlagBitShuffle != 0 {
		f[NumFilters-1] = BitShuffle
	}
	if flags&FlagDelta != 0 {
		f[NumFilters-2] = Delta
	}
	return f
}

func (h Header) codec() Codec {
	switch h.Format {
	case FormatBloscLZ:
		return BloscLZ
	case FormatLZ4:
		return LZ4
	case FormatSnappy:
		return Snappy
	case FormatZlib:
		return Zlib
	case FormatZstd:
		return Zstd
	case FormatUser:
		return Codec(h.UDCodec)
	}
	return NoCodec
}

// Size returns the length of the header in bytes, 16 or 32.
func (h Header) Size() int {
	if h.Extended {
		return ExtendedHeaderSize
	}
	return MinHeaderSize
}

// Stored reports whether the values follow the header uncompressed.
func (h Header) Stored() bool { return h.Flags&FlagStored != 0 && h.Special == NotSpecial }

// VLBlocks reports whether blocks vary in length.
func (h Header) VLBlocks() bool { return h.VLFlags&FlagVLBlocks != 0 }

// Split reports whether full blocks are stored as TypeSize streams.
func (h Header) Split() bool { return h.Flags&FlagDontSplit == 0 && !h.VLBlocks() }

// HasBlocks reports whether the chunk has block starts and streams: it is not stored, special or
// empty.
func (h Header) HasBlocks() bool {
	return h.Special == NotSpecial && h.Flags&FlagStored == 0 && h.NBytes > 0
}

// BlockLen returns the length in bytes of all blocks except the last: the minimum of BlockSize and
// NBytes. C-Blosc2 3 uses this minimum too; 2.17 refuses a header with BlockSize > NBytes. BlockLen
// is 0 for VL-blocks.
func (h Header) BlockLen() int32 {
	if h.VLBlocks() {
		return 0
	}
	return min(h.BlockSize, h.NBytes)
}

// NumBlocks returns the number of blocks, 0 if the sizes are invalid. Special and stored chunks
// have blocks too, because C-Blosc2 processes them block by block.
func (h Header) NumBlocks() int32 {
	switch {
	case h.BlockSize <= 0 || h.NBytes <= 0:
		return 0
	case h.VLBlocks():
		return h.BlockSize
	}
	return grid.DivUp(h.NBytes, h.BlockLen())
}

// ItemSize returns the bytes of one element: TypeSize, or for a repeated value the length of that
// value, which may exceed 255.
func (h Header) ItemSize() int {
	if h.Special == RepeatedValue {
		return max(int(h.CBytes)-ExtendedHeaderSize, 0)
	}
	return int(h.TypeSize)
}

func le32(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }

func itoa[T ~int | ~int16 | ~int32 | ~int64 | ~uint8](n T) string {
	return strconv.FormatInt(int64(n), 10)
}

// bad returns the error of one field.
func bad(what string, offset int64, got, want string, err error) *format.Error {
	return &format.Error{Format: formatName, What: what, Offset: offset, Got: got, Want: want, Err: err}
}

// truncated returns the error for an input of got bytes that must have at least want bytes.
func truncated(what string, offset int64, got, want int) *format.Error {
	return bad(what, offset, itoa(got)+" bytes", "at least "+itoa(want), format.ErrTruncated)
}
