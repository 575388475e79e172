// Chunk headers, checks of chunks before they are passed to the library, and special chunks.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_special
// #cgo nocallback goblosc2_special
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/guard"
)

// ChunkInfo is the content of a chunk header. Sizes are in bytes.
type ChunkInfo struct {
	Version    int                // version of the format: 2 is Blosc1, 5 is Blosc2
	Codec      Codec              // LZ4HC chunks are reported as LZ4, which can read them
	CodecMeta  uint8              // the parameter of codecs that have one
	Filters    [MaxFilters]Filter // in the order they were applied
	Split      SplitMode          // SplitAlways or SplitNever
	Dict       bool               // the chunk holds a dictionary
	TypeSize   int                // of an element; 1 for elements of more than 255 bytes
	NBytes     int                // size of the data
	CBytes     int                // size of the chunk, header included
	BlockSize  int                // data of a block; 0 for blocks of variable length
	HeaderSize int                // 16 (Blosc1) or 32
	Special    Special            // kind of data that follows from the header alone
	Stored     bool               // the data follows the header uncompressed
}

// CParams returns parameters that make such a chunk. Level and Threads are those of DefaultCParams,
// because a chunk does not store them.
func (i ChunkInfo) CParams() *CParams {
	p := DefaultCParams()
	p.Codec, p.CodecMeta, p.Filters, p.Split, p.Dict = i.Codec, i.CodecMeta, i.Filters, i.Split, i.Dict
	p.TypeSize, p.BlockSize = i.TypeSize, i.BlockSize
	return p
}

// Info returns the header of the chunk b (blosc2_cbuffer_sizes and relatives). b must hold at least
// the header, which is checked as for Decompress without DParams.Allow. It returns ErrFormat for an
// invalid header, and errors.ErrUnsupported for codecs or filters that must be allowed: see
// Decompressor.Info.
func Info(b []byte) (ChunkInfo, error) { return infoOf(b, Allow{}) }

// Info is the function Info for the chunks that d reads. It also accepts the codecs and filters
// that DParams.Allow names (NDLZ, the ZFPs, NDCell, NDMean, and those that a program registers),
// including those that can only be read in an array.
func (d *Decompressor) Info(b []byte) (ChunkInfo, error) { return infoOf(b, d.params.Allow) }

func infoOf(b []byte, allow Allow) (ChunkInfo, error) {
	h, err := guard.Header(b, allow.policy())
	if err == nil && !h.VLBlocks { // only VLBlock reads those
		err = h.Readable()
	}
	if err != nil {
		return ChunkInfo{}, refused("read chunk header", "", invalid(err))
	}
	info := ChunkInfo{
		Version: int(h.Version), Codec: Codec(h.Codec), CodecMeta: h.CodecMeta, TypeSize: h.ItemSize,
		Split: SplitNever, Dict: h.Dict,
		NBytes: h.NBytes, CBytes: h.CBytes, BlockSize: h.BlockSize, HeaderSize: h.HeaderSize,
		Special: Special(h.Special), Stored: h.Stored,
	}
	if h.VLBlocks {
		info.BlockSize = 0
	}
	if h.Split {
		info.Split = SplitAlways
	}
	for i, f := range h.Filters {
		info.Filters[i] = Filter{FilterID(f), h.FiltersMeta[i]}
	}
	return info, nil
}

// checkAlone checks a chunk outside an array.
func checkAlone(b []byte, allow Allow) (guard.Chunk, error) {
	h, err := guard.Whole(b, allow.policy())
	if err != nil {
		return h, invalid(err)
	}
	if c := Codec(h.Codec); h.UserCodec && c.forArrays() {
		return h, fmt.Errorf("%w: a chunk of %v, which is read only in an array", ErrParam, c)
	}
	for _, f := range h.Filters {
		if f := FilterID(f); f.forArrays() {
			return h, fmt.Errorf("%w: a chunk with %v, which can be read only in an array", ErrParam, f)
		}
	}
	return h, nil
}

// invalid adds ErrFormat to an error of package guard. A frame or chunk of the right format is
// corrupt.
func invalid(err error) error {
	if err == nil || errors.As(err, new(*mediumError)) || errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if guard.IsForeign(err) {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return fmt.Errorf("%w: %w", errs.ErrInvalidBytes, err)
}

// Special is the kind of a special chunk, whose data follows from its header.
type Special int

// Kinds of special chunk.
const (
	NotSpecial Special = C.BLOSC2_NO_SPECIAL
	Zeros      Special = C.BLOSC2_SPECIAL_ZERO
	NaNs       Special = C.BLOSC2_SPECIAL_NAN    // elements of 4 or 8 bytes
	Repeated   Special = C.BLOSC2_SPECIAL_VALUE  // one value, stored in the chunk
	Uninit     Special = C.BLOSC2_SPECIAL_UNINIT // uninitialised: zeros for a Decompressor, any content for the library's super-chunks and arrays
)

// String names the kind.
func (s Special) String() string {
	return guard.SpecialName(uint8(s))
}

// SpecialChunk returns a chunk that represents nbytes bytes of zeros, NaNs, repetitions of value,
// or uninitialised data (blosc2_chunk_zeros, blosc2_chunk_nans, blosc2_chunk_repeatval,
// blosc2_chunk_uninit). It has 32 bytes, plus one element for Repeated.
//
// nbytes must be a positive multiple of p.TypeSize. value must hold one element for Repeated and be
// empty for the others.
//
// It returns ErrParam, ErrSize, ErrLimit, or an *Error from the library.
func SpecialChunk(p *CParams, kind Special, nbytes int, value []byte) ([]byte, error) {
	const op = "make special chunk"
	p, err := p.orDefault()
	if err != nil {
		return nil, refused(op, "", err)
	}
	need := 0
	if kind == Repeated {
		need = p.TypeSize
	}
	switch {
	case kind < Zeros || kind > Uninit:
		err = fmt.Errorf("%w: special value %d", ErrParam, int(kind))
	case nbytes > maxBuffer:
		err = fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, nbytes, maxBuffer)
	case nbytes <= 0 || nbytes%p.TypeSize != 0:
		err = fmt.Errorf("%w: %d bytes of data, want a positive multiple of the type size %d", ErrSize, nbytes, p.TypeSize)
	case len(value) != need:
		err = fmt.Errorf("%w: %d bytes of value, want %d", ErrSize, len(value), need)
	case kind == NaNs && p.TypeSize != 4 && p.TypeSize != 8:
		err = fmt.Errorf("%w: TypeSize = %d, want 4 or 8 for NaN", ErrParam, p.TypeSize)
	}
	if err != nil {
		return nil, refused(op, "", err)
	}
	dst := make([]byte, headerLength+need)
	params := p.toC()
	var cerr C.goblosc2_err_t
	n := C.goblosc2_special(&cerr, &params, C.int32_t(kind), C.int32_t(nbytes), (*C.uint8_t)(unsafe.SliceData(value)),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(len(dst)))
	if n < 0 {
		return nil, failed(op, "", &cerr)
	}
	return dst[:n], nil
}
