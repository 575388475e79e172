// Blosc1 chunks, the format of C-Blosc 1.x, bcolz, zarr and HDF5 filter 32001.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_blosc1_compress
// #cgo nocallback goblosc2_blosc1_compress
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// blosc1 is held during each call of CompressBlosc1, because the library keeps the parameters and
// the context of such chunks in global variables.
var blosc1 sync.Mutex

// CompressBlosc1 compresses src into dst as a Blosc1 chunk and returns its size in bytes
// (blosc1_compress). Decompressor reads it like any chunk. A nil p means DefaultCParams.
//
// Blosc1 has the five codecs of Codecs and one filter, which must be the last of p.Filters:
// NoFilter, Shuffle or BitShuffle. A dst of MaxCompressedSize(len(src)) bytes always suffices. src
// can have at most 2 GiB minus 32 bytes.
//
// Only one call runs at a time in the process, because the library keeps the parameters in global
// variables. Use Pool.CompressBlosc1 for concurrent calls.
//
// It returns ErrParam, ErrSize if the chunk does not fit into dst, ErrLimit, or an *Error from the
// library.
func CompressBlosc1(p *CParams, dst, src []byte) (int, error) {
	const op = "compress for Blosc1"
	p, err := p.orDefault()
	if err == nil {
		err = p.validateBlosc1()
	}
	if err == nil && len(src) > maxBuffer {
		err = fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, len(src), maxBuffer)
	}
	if err != nil {
		return 0, refused(op, "", err)
	}
	blosc1.Lock()
	defer blosc1.Unlock()
	q := *p
	if filter := &q.Filters[MaxFilters-1]; filter.ID == BitShuffle && len(src) < 8*q.blosc1TypeSize() {
		*filter = Filter{} // bit-shuffle leaves fewer than 8 elements unchanged
	}
	if q.splitsOnlyForBlosc2(len(src)) {
		q.Split = SplitNever
	}
	n, err := q.compressBlosc1Locked(dst, src)
	if err == nil && q.Filters[MaxFilters-1].ID == BitShuffle {
		if block := q.evenBlockLocked(dst[:n], len(src)); block != 0 {
			n, err = q.compressEvenLocked(dst, src, block)
		}
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// validateBlosc1 reports parameters that Blosc1 does not support.
func (p *CParams) validateBlosc1() error {
	switch {
	case p.Codec > Zstd:
		return fmt.Errorf("%w: Codec = %v, want one of Blosc1", ErrParam, p.Codec)
	case p.Dict:
		return fmt.Errorf("%w: Dict = true, Blosc1 has no dictionaries", ErrParam)
	case p.Threads != 1:
		return fmt.Errorf("%w: Threads = %d, want 1 for Blosc1", ErrParam, p.Threads)
	}
	for i, f := range p.Filters {
		last := i == MaxFilters-1
		if f.ID != NoFilter && !(last && (f.ID == Shuffle || f.ID == BitShuffle)) {
			return fmt.Errorf("%w: Filters[%d] = %v, want only shuffle or bitshuffle, in Filters[%d]", ErrParam, i, f.ID, MaxFilters-1)
		}
	}
	return nil
}

// splitsOnlyForBlosc2 reports whether n bytes of data may have blocks that C-Blosc2 splits and
// Blosc1 does not. A split block has one stream for each byte of an element. C-Blosc2 splits blocks
// of 32 or more elements, Blosc1 blocks of 128 or more.
func (p *CParams) splitsOnlyForBlosc2(n int) bool {
	const least = 128 // MIN_BUFFERSIZE of C-Blosc 1
	block := n
	if p.BlockSize > 0 {
		block = min(n, p.BlockSize)
	}
	return block/p.blosc1TypeSize() < least
}

// blosc1TypeSize returns the type size in the chunk's header.
func (p *CParams) blosc1TypeSize() int {
	if p.TypeSize > C.BLOSC_MAX_TYPESIZE {
		return 1
	}
	return p.TypeSize
}

// compressBlosc1Locked makes one call of the library.
func (p *CParams) compressBlosc1Locked(dst, src []byte) (int, error) {
	const op = "compress for Blosc1"
	params := p.toC()
	params.typesize = C.int32_t(p.blosc1TypeSize())
	// With a larger buffer the library could write a chunk longer than stored data. It requires 32
	// bytes for any data.
	room := min(len(dst), max(chunk.MinHeaderSize+len(src), overhead))
	var cerr C.goblosc2_err_t
	n := C.goblosc2_blosc1_compress(&cerr, &params, C.int32_t(p.Filters[MaxFilters-1].ID),
		(*C.uint8_t)(unsafe.SliceData(src)), C.int32_t(len(src)),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(room))
	switch {
	case n < 0 && (len(dst) >= MaxCompressedSize(len(src)) || !tooShort(Code(cerr.code))):
		return 0, failed(op, "", &cerr)
	case n <= 0:
		return 0, refused(op, "", fmt.Errorf("%w: %d bytes for the chunk of %d, at most %d are needed",
			ErrSize, len(dst), len(src), MaxCompressedSize(len(src))))
	case dst[2]&(chunk.FlagShuffle|chunk.FlagBitShuffle) == chunk.FlagShuffle|chunk.FlagBitShuffle:
		return 0, refused(op, "", fmt.Errorf("%w: a header of Blosc1 while BLOSC_NOLOCK is set in the environment", errors.ErrUnsupported))
	}
	return int(n), nil
}

// evenBlockLocked returns the block size with which the chunk of n bytes of data must be compressed
// again, or 0 if the chunk is correct.
//
// Blosc1 does not bit-shuffle a block whose number of elements is not a multiple of 8. C-Blosc2
// shuffles as many elements as make a multiple of 8, also in Blosc1 chunks, where Blosc1 does not
// undo it.
func (p *CParams) evenBlockLocked(b []byte, n int) int {
	h, err := chunk.ParseHeader(b)
	size, eight := p.blosc1TypeSize(), 8*p.blosc1TypeSize()
	if err != nil || !h.HasBlocks() {
		return 0
	}
	block := int(h.BlockLen())
	if block/size%8 == 0 && n%block/size%8 == 0 {
		return 0
	}
	return max(block-block%eight, eight)
}

// compressEvenLocked compresses src in blocks of block bytes, a multiple of 8 elements. If the
// number of elements of a shorter last block is not a multiple of 8, that block is compressed
// separately, without a filter, and joined to the chunk.
func (p *CParams) compressEvenLocked(dst, src []byte, block int) (int, error) {
	whole := *p
	whole.BlockSize = block
	n := len(src) - len(src)%block
	if len(src[n:])/p.blosc1TypeSize()%8 == 0 {
		return whole.compressBlosc1Locked(dst, src)
	}
	// One block of one stream. The library would cut it to whole elements, so its type size is 1.
	rest := whole
	rest.BlockSize, rest.TypeSize, rest.Split, rest.Filters = len(src)-n, 1, SplitNever, [MaxFilters]Filter{}
	head := make([]byte, MaxCompressedSize(n))
	tail := make([]byte, MaxCompressedSize(len(src)-n))
	hn, err := whole.compressBlosc1Locked(head, src[:n])
	if err != nil {
		return 0, err
	}
	tn, err := rest.compressBlosc1Locked(tail, src[n:])
	if err != nil {
		return 0, err
	}
	joined := joinBlosc1(head[:hn], tail[:tn], block)
	if joined == nil || len(joined) > min(len(dst), chunk.MinHeaderSize+len(src)) {
		whole.Level = 0 // stored; also detects a dst that is too short
		return whole.compressBlosc1Locked(dst, src)
	}
	return copy(dst, joined), nil
}

// joinBlosc1 appends the single block of the chunk tail to the blocks of the chunk head. It returns
// nil if head does not have blocks of block bytes.
func joinBlosc1(head, tail []byte, block int) []byte {
	const header = chunk.MinHeaderSize
	h, err := chunk.ParseHeader(head)
	t, terr := chunk.ParseHeader(tail)
	if err != nil || terr != nil || !h.HasBlocks() || int(h.BlockLen()) != block {
		return nil
	}
	le := binary.LittleEndian
	stream := tail[header:] // start, size and bytes of the stream, or the bytes as stored
	if t.HasBlocks() {
		stream = stream[4:]
	} else {
		stream = append(le.AppendUint32(nil, uint32(t.NBytes)), stream...)
	}
	n := int(h.NumBlocks())
	out := make([]byte, 0, len(head)+4+len(stream))
	out = append(out, head[:header]...)
	le.PutUint32(out[4:], uint32(h.NBytes+t.NBytes))
	le.PutUint32(out[12:], uint32(cap(out)))
	for i := range n {
		out = le.AppendUint32(out, le.Uint32(head[header+4*i:])+4)
	}
	out = le.AppendUint32(out, uint32(len(head)+4))
	out = append(out, head[header+4*n:]...)
	return append(out, stream...)
}
