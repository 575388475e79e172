// Chunks as bytes: what a header says, what may go to the library, and chunks
// that need no data.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_special
// #cgo nocallback goblosc2_special
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/format/chunk"
)

// ChunkInfo is what the header of a chunk says. Sizes are in bytes.
type ChunkInfo struct {
	Version    int                // of the format: 2 is Blosc1, 5 is Blosc2
	Codec      Codec              // LZ4HC writes what LZ4 reads and is reported as LZ4
	CodecMeta  uint8              // the parameter of codecs that have one
	Filters    [MaxFilters]Filter // in the order they were applied
	Split      SplitMode          // SplitAlways or SplitNever: what was done
	Dict       bool               // it holds a dictionary
	TypeSize   int                // of an element; 1 if there are more than 255 bytes in one
	NBytes     int                // the data
	CBytes     int                // the chunk, header included
	BlockSize  int                // the data of a block; 0 if blocks have lengths of their own
	HeaderSize int                // 16 (Blosc1) or 32
	Special    Special            // data that follows from the header alone
	Stored     bool               // the data follows the header as it is
}

// CParams returns the parameters that make such a chunk. Level and Threads, which a
// chunk does not say, are those of DefaultCParams.
func (i ChunkInfo) CParams() *CParams {
	p := DefaultCParams()
	p.Codec, p.CodecMeta, p.Filters, p.Split, p.Dict = i.Codec, i.CodecMeta, i.Filters, i.Split, i.Dict
	p.TypeSize, p.BlockSize = i.TypeSize, i.BlockSize
	return p
}

// Info returns what the header of chunk says (blosc2_cbuffer_sizes and relatives).
// It needs only the header, which is checked as for Decompress without DParams.Allow:
// ErrFormat for one that is not valid, errors.ErrUnsupported for one of codecs
// or filters that would have to be allowed: see Decompressor.Info.
func Info(b []byte) (ChunkInfo, error) { return infoOf(b, chunk.Policy{}) }

// Info is the function Info for what d reads: chunks of codecs and filters that
// DParams.Allow names (NDLZ, the ZFPs, NDCell, NDMean, and what a program registers) as
// well, also those that are read only in an array.
func (d *Decompressor) Info(b []byte) (ChunkInfo, error) { return infoOf(b, d.params.Allow) }

func infoOf(b []byte, allow chunk.Policy) (ChunkInfo, error) {
	h, err := checkHeader(b, allow)
	if err != nil && !(h.VLBlocks() && !errors.Is(err, ErrFormat)) { // those are read by VLBlock alone
		return ChunkInfo{}, refused("read chunk header", "", err)
	}
	info := ChunkInfo{
		Version: int(h.Version), Codec: Codec(h.Codec), CodecMeta: h.CodecMeta, TypeSize: h.ItemSize(),
		Split: SplitNever, Dict: h.Blosc2Flags&chunk.Flag2Dict != 0,
		NBytes: int(h.NBytes), CBytes: int(h.CBytes), BlockSize: int(h.BlockSize), HeaderSize: h.Size(),
		Special: Special(h.Special), Stored: h.Stored(),
	}
	if h.VLBlocks() {
		info.BlockSize = 0
	}
	if h.Split() {
		info.Split = SplitAlways
	}
	for i, f := range h.Filters {
		info.Filters[i] = Filter{FilterID(f), h.FiltersMeta[i]}
	}
	return info, nil
}

// checkHeader parses the header and refuses what the library must not see:
// contradictions, lazy chunks, and the ids of plug-ins that allow does not name, for
// which the library would start a program.
func checkHeader(b []byte, allow chunk.Policy) (chunk.Header, error) {
	h, err := chunk.ParseHeader(b)
	if err == nil {
		err = allow.CheckHeader(h)
	}
	if err != nil {
		return h, invalid(err)
	}
	return h, checkReads(h)
}

// checkReads reports what is right and the linked library cannot read.
func checkReads(h chunk.Header) error {
	switch {
	case h.VLBlocks():
		return fmt.Errorf("%w: a chunk with blocks of variable length", errors.ErrUnsupported)
	case h.Blosc2Flags&chunk.Flag2Instrumented != 0:
		return fmt.Errorf("%w: a chunk of measurements instead of data", errors.ErrUnsupported)
	}
	return nil
}

// hasBlosc1Tail reports whether h is the header of a bit-shuffled chunk of Blosc1 whose
// end C-Blosc2 does not write: the bytes after the last whole element of a block, if the
// number of elements is a multiple of 8. The shim adds them to whole chunks.
func hasBlosc1Tail(h *chunk.Header) bool {
	if h.Extended || !h.HasBlocks() || h.Flags&chunk.FlagBitShuffle == 0 {
		return false
	}
	size, last := int32(h.TypeSize), h.NBytes%h.BlockLen()
	return last%size != 0 && last/size%8 == 0
}

// checkChunk is checkHeader for bytes that hold a whole chunk. Of what follows the
// header only the length of a dictionary is looked at: the library checks streams
// against the chunk's own bytes, but a wrong dictionary leaves its context with a
// pointer to the one before, which is freed.
func checkChunk(b []byte, allow chunk.Policy) (chunk.Header, error) {
	h, err := checkHeader(b, allow)
	if err != nil {
		return h, err
	}
	bad := func(what string, offset, got int, want string, err error) error {
		return invalid(&format.Error{Format: "blosc chunk", What: what, Offset: int64(offset), Got: fmt.Sprint(got), Want: want, Err: err})
	}
	if len(b) < int(h.CBytes) {
		return h, bad("length", 0, len(b), fmt.Sprint(h.CBytes), format.ErrTruncated)
	}
	bare := h.NBytes == 0 && int(h.CBytes) == h.Size() && h.Special == chunk.NotSpecial
	if h.Blosc2Flags&chunk.Flag2Dict != 0 && !bare {
		at := h.Size()
		if h.HasBlocks() {
			at += 4 * int(h.NumBlocks())
		}
		most := min(int(h.CBytes)-at-4, chunk.MaxDictSize)
		if most < 1 {
			return h, bad("dictionary", at, int(h.CBytes)-at, "at least 5 bytes", format.ErrCorrupt)
		}
		if n := int(int32(binary.LittleEndian.Uint32(b[at:]))); n < 1 || n > most {
			return h, bad("dictionary size", at, n, fmt.Sprintf("1 to %d", most), format.ErrCorrupt)
		}
	}
	return h, nil
}

// checkAlone is checkChunk for a chunk that is not in an array.
func checkAlone(b []byte, allow chunk.Policy) (chunk.Header, error) {
	h, err := checkChunk(b, allow)
	if err != nil || h.Format != chunk.FormatUser && !usesArrayFilter(&h) {
		return h, err
	}
	if c := Codec(h.Codec); c.forArrays() {
		return h, fmt.Errorf("%w: a chunk of %v, which is read only in an array", ErrParam, c)
	}
	for _, f := range h.Filters {
		if f := FilterID(f); f.forArrays() {
			return h, fmt.Errorf("%w: a chunk behind %v, which is read only in an array", ErrParam, f)
		}
	}
	return h, nil
}

func usesArrayFilter(h *chunk.Header) bool {
	return slices.ContainsFunc(h.Filters[:], func(f chunk.Filter) bool { return FilterID(f).forArrays() })
}

// invalid adds ErrFormat to what the format packages found.
func invalid(err error) error {
	if errors.As(err, new(*mediumError)) || errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}

// Special says that all data of a chunk follows from its header.
type Special int

// Kinds of special chunk.
const (
	NotSpecial Special = C.BLOSC2_NO_SPECIAL
	Zeros      Special = C.BLOSC2_SPECIAL_ZERO
	NaNs       Special = C.BLOSC2_SPECIAL_NAN    // elements of 4 or 8 bytes
	Repeated   Special = C.BLOSC2_SPECIAL_VALUE  // one value, given
	Uninit     Special = C.BLOSC2_SPECIAL_UNINIT // whatever the reader's buffer holds
)

// String names the kind.
func (s Special) String() string { return chunk.Special(s).String() }

// SpecialChunk returns a chunk that stands for nbytes bytes of zeros, NaNs,
// repetitions of value, or nothing in particular, and takes 32 bytes, or 32 plus
// one element for Repeated (blosc2_chunk_zeros, blosc2_chunk_nans,
// blosc2_chunk_repeatval, blosc2_chunk_uninit).
//
// nbytes must be a positive multiple of p.TypeSize. value must hold one element
// for Repeated and be empty for the others.
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
