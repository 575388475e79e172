// Numbers in a chunk header and their names: codecs, codec formats, filters, special values, flag
// bits.

package chunk

import (
	"fmt"
	"strings"
)

// Codec is a codec id ("compcode"). LZ4 and LZ4HC write the same streams. A chunk therefore never
// contains the id of LZ4HC, but a frame header does.
type Codec int16

// Codec ids (blosc2.h, codecs-registry.h). Ids from 160 to 255 are user-defined.
const (
	NoCodec      Codec = -1 // the header's codec format is reserved
	BloscLZ      Codec = 0
	LZ4          Codec = 1
	LZ4HC        Codec = 2
	Snappy       Codec = 3 // Blosc1 only; C-Blosc2 has no decoder for it
	Zlib         Codec = 4
	Zstd         Codec = 5
	NDLZ         Codec = 32
	ZFPAccuracy  Codec = 33
	ZFPPrecision Codec = 34
	ZFPRate      Codec = 35
	OpenHTJ2K    Codec = 36 // this and the next four are plug-ins that
	Grok         Codec = 37 // C-Blosc2 searches for by starting Python
	OpenZL       Codec = 38
	J2K          Codec = 39
	HTJ2K        Codec = 40
)

var codecNames = map[Codec]string{
	NoCodec: "reserved", BloscLZ: "blosclz", LZ4: "lz4", LZ4HC: "lz4hc", Snappy: "snappy",
	Zlib: "zlib", Zstd: "zstd", NDLZ: "ndlz", ZFPAccuracy: "zfp_acc", ZFPPrecision: "zfp_prec",
	ZFPRate: "zfp_rate", OpenHTJ2K: "openhtj2k", Grok: "grok", OpenZL: "openzl", J2K: "j2k", HTJ2K: "htj2k",
}

// String returns C-Blosc2's name of the codec, or "codec 77".
func (c Codec) String() string {
	if s, ok := codecNames[c]; ok {
		return s
	}
	return fmt.Sprintf("codec %d", int16(c))
}

// Safe reports whether C-Blosc2 decodes arbitrary bytes with this codec safely. The other codecs
// are plug-ins that C-Blosc2 searches for, or linked decoders without bounds checks. NDLZ copies
// from before its input. ZFP writes as many values as the frame's b2nd metalayer specifies,
// whatever the length of the buffer (source of 2.17.1, plugins/codecs).
func (c Codec) Safe() bool {
	switch c {
	case BloscLZ, LZ4, LZ4HC, Zlib, Zstd:
		return true
	}
	return false
}

// CodecFormat is the three-bit number in a chunk's flags that selects the format of its streams. It
// is not a codec id: for example, zlib is codec 4 and format 3.
type CodecFormat uint8

// Codec formats (README_CHUNK_FORMAT.rst, flags).
const (
	FormatBloscLZ    CodecFormat = 0
	FormatLZ4        CodecFormat = 1 // lz4 and lz4hc
	FormatSnappy     CodecFormat = 2
	FormatZlib       CodecFormat = 3
	FormatZstd       CodecFormat = 4
	FormatReserved   CodecFormat = 5
	FormatUser       CodecFormat = 6 // the codec id is in the udcodec byte
	FormatSuperChunk CodecFormat = 7 // documented, but never written or read
)

// Filter is a filter id.
type Filter uint8

// Filter ids (blosc2.h, filters-registry.h). Ids from 160 to 255 are user-defined.
const (
	NoFilter       Filter = 0
	Shuffle        Filter = 1
	BitShuffle     Filter = 2
	Delta          Filter = 3
	TruncPrec      Filter = 4
	NDCell         Filter = 32
	NDMean         Filter = 33
	ByteDeltaBuggy Filter = 34
	ByteDelta      Filter = 35
	IntTrunc       Filter = 36
)

var filterNames = map[Filter]string{
	NoFilter: "none", Shuffle: "shuffle", BitShuffle: "bitshuffle", Delta: "delta", TruncPrec: "trunc_prec",
	NDCell: "ndcell", NDMean: "ndmean", ByteDeltaBuggy: "bytedelta_buggy", ByteDelta: "bytedelta", IntTrunc: "int_trunc",
}

// String returns C-Blosc2's name of the filter, or "filter 77".
func (f Filter) String() string {
	if s, ok := filterNames[f]; ok {
		return s
	}
	return fmt.Sprintf("filter %d", uint8(f))
}

// Safe reports whether C-Blosc2 decodes arbitrary bytes with this filter safely. Unknown filters
// are not safe, and neither are two linked filters. NDCell and NDMean read the metalayer of the
// chunk's frame without checking that it exists, and divide by their parameter even if it is zero
// (measured with 2.17.1).
func (f Filter) Safe() bool {
	switch f {
	case NoFilter, Shuffle, BitShuffle, Delta, TruncPrec, ByteDeltaBuggy, ByteDelta, IntTrunc:
		return true
	}
	return false
}

// Special is the kind of a chunk whose values follow from its header alone.
type Special uint8

// Special values (bits 4 to 6 of blosc2_flags).
const (
	NotSpecial    Special = 0
	Zeros         Special = 1
	NaNs          Special = 2
	RepeatedValue Special = 3 // the value follows the header
	Uninitialized Special = 4 // any values; these readers return zeros
)

// String returns the name of the special value.
func (s Special) String() string {
	switch s {
	case NotSpecial:
		return "none"
	case Zeros:
		return "zeros"
	case NaNs:
		return "NaN"
	case RepeatedValue:
		return "repeated value"
	case Uninitialized:
		return "not initialized"
	}
	return fmt.Sprintf("reserved code %d", uint8(s))
}

// Bits of Header.Flags (offset 2). The top three are the CodecFormat.
const (
	FlagShuffle    = 0x01 // with FlagBitShuffle: the header is 32 bytes
	FlagStored     = 0x02 // the values follow the header uncompressed ("memcpyed")
	FlagBitShuffle = 0x04
	FlagDelta      = 0x08
	FlagDontSplit  = 0x10 // each block is one stream
)

// Bits of Header.Blosc2Flags (offset 0x1F). Bits 4 to 6 are the Special.
//
// The specification calls bit 1 "the header is extended by 32 bytes". All libraries use it to mark
// data of a big-endian machine (BLOSC2_BIGENDIAN).
const (
	Flag2Dict         = 0x01 // a dictionary follows the block starts
	Flag2BigEndian    = 0x02
	Flag2Lazy         = 0x08 // in memory only: the blocks are not in the chunk
	Flag2Instrumented = 0x80 // values are timings of the codec, not data
)

// FlagVLBlocks is bit 0 of Header.VLFlags (offset 0x1E, "blosc2_flags2" since C-Blosc2 3.0,
// reserved before): blocks vary in length.
const FlagVLBlocks = 0x01

// bitNames returns the names of the set bits, and the remaining bits in hexadecimal.
func bitNames(v uint8, names []bitName) string {
	var set []string
	for _, n := range names {
		if v&n.mask != 0 {
			set = append(set, n.name)
			v &^= n.mask
		}
	}
	if v != 0 {
		set = append(set, fmt.Sprintf("unknown bits %#02x", v))
	}
	return strings.Join(set, ", ")
}

type bitName struct {
	mask uint8
	name string
}
