// Codec ids, names and parameters.

package cblosc

// #include "shim.h"
// #include <blosc2/codecs-registry.h>
import "C"

import (
	"fmt"
	"strconv"
)

// Codec is the id of a compressor.
type Codec uint8

// The codecs of the library.
const (
	BloscLZ Codec = C.BLOSC_BLOSCLZ
	LZ4     Codec = C.BLOSC_LZ4
	LZ4HC   Codec = C.BLOSC_LZ4HC
	Zlib    Codec = C.BLOSC_ZLIB
	Zstd    Codec = C.BLOSC_ZSTD
)

// Codecs for arrays only. They use the neighbours of an element in all dimensions, which a single
// chunk does not store. Their decoders have no bounds checks, so reading them must be allowed:
// [DParams.Allow]. CParams.CodecMeta is their parameter.
const (
	// NDLZ has cells of CodecMeta × CodecMeta elements, 4 or 8. The array must have 2 dimensions
	// and elements of 1 byte.
	NDLZ Codec = C.BLOSC_CODEC_NDLZ
	// ZFPAccuracy is lossy. Its absolute error is at most 10^int8(CodecMeta).
	ZFPAccuracy Codec = C.BLOSC_CODEC_ZFP_FIXED_ACCURACY
	// ZFPPrecision is lossy. It keeps CodecMeta bits of each coefficient, 1 to 64. Some bits are
	// added for the number of dimensions, up to 64 in all.
	ZFPPrecision Codec = C.BLOSC_CODEC_ZFP_FIXED_PRECISION
	// ZFPRate is lossy. Its chunks have CodecMeta percent of the size of their data, 1 to 100.
	ZFPRate Codec = C.BLOSC_CODEC_ZFP_FIXED_RATE
)

var codecNames = map[Codec]string{
	BloscLZ: "blosclz", LZ4: "lz4", LZ4HC: "lz4hc", Zlib: "zlib", Zstd: "zstd",
	NDLZ: "ndlz", ZFPAccuracy: "zfp_acc", ZFPPrecision: "zfp_prec", ZFPRate: "zfp_rate",
}

// Codecs returns the codecs that accept any data, in order of id.
func Codecs() []Codec { return []Codec{BloscLZ, LZ4, LZ4HC, Zlib, Zstd} }

// ArrayCodecs returns the codecs for arrays only, in order of id.
func ArrayCodecs() []Codec { return []Codec{NDLZ, ZFPAccuracy, ZFPPrecision, ZFPRate} }

// String returns the library's name of the codec, the name given to RegisterCodec, or for example
// "codec 36" for a codec that this package cannot compress with.
func (c Codec) String() string {
	if s, ok := codecName(c); ok {
		return s
	}
	return "codec " + strconv.Itoa(int(c))
}

// ParseCodec is the inverse of String.
func ParseCodec(name string) (Codec, error) {
	for id := range 256 {
		if s, ok := codecName(Codec(id)); ok && s == name {
			return Codec(id), nil
		}
	}
	return 0, fmt.Errorf("%w: codec %q", ErrParam, name)
}

// codecString returns the name of the codec with its parameter, if any, for example "zstd" or
// "zfp_acc(-3)".
func codecString(c Codec, meta uint8) string {
	switch {
	case c == ZFPAccuracy:
		return fmt.Sprintf("%v(%d)", c, int8(meta))
	case meta != 0:
		return fmt.Sprintf("%v(%d)", c, meta)
	}
	return c.String()
}

// forArrays reports whether c needs the shape of an array.
func (c Codec) forArrays() bool { return c >= NDLZ && c <= ZFPRate }

// wantMeta reports whether c accepts the CodecMeta meta, and describes the accepted values.
func (c Codec) wantMeta(meta uint8) (ok bool, want string) {
	switch c {
	case NDLZ:
		return meta == 4 || meta == 8, "4 or 8"
	case ZFPAccuracy:
		return true, ""
	case ZFPPrecision:
		return meta >= 1 && meta <= 64, "1 to 64"
	case ZFPRate:
		return meta >= 1 && meta <= 100, "1 to 100"
	}
	return meta == 0 || c >= FirstUserID, "0, the codec takes no parameter"
}
