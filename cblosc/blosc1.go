// Chunks of Blosc1: what C-Blosc 1.x, bcolz, zarr and HDF5's filter 32001 read.

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

	"github.com/hyperslab/hyperslab/format/chunk"
)

// blosc1 is held during each call of CompressBlosc1: the library keeps the
// parameters of such chunks, and the context, in global variables.
var blosc1 sync.Mutex

// CompressBlosc1 compresses src into dst as a chunk of Blosc1 and returns its
// bytes (blosc1_compress). Decompressor reads it as it reads any chunk. nil means
// DefaultCParams.
//
// Blosc1 has the five codecs of Codecs and one filter: NoFilter, Shuffle or
// BitShuffle in the last of p.Filters. A dst of MaxCompressedSize(len(src)) bytes
// always suffices; src is at most 2 GiB minus 32 bytes.
//
// One call runs at a time in the process, because the library has one place for
// the parameters. Everything else scales with contexts; this does not.
//
// It returns ErrParam, ErrSize if the chunk does not fit into dst, ErrLimit, or an
// *Error from the library.
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
		*filter = Filter{} // it would move nothing
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

// validateBlosc1 reports what Blosc1 does not have.
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

// splitsOnlyForBlosc2 reports that n bytes of data may come in blocks of so few
// elements that C-Blosc2 splits them, from 32 on, into a stream for each byte of an
// element, and Blosc1, which does so from 128 on, takes them for one stream.
func (p *CParams) splitsOnlyForBlosc2(n int) bool {
	const least = 128 // MIN_BUFFERSIZE of C-Blosc 1
	block := n
	if p.BlockSize > 0 {
		block = min(n, p.BlockSize)
	}
	return block/p.blosc1TypeSize() < least
}

// blosc1TypeSize is the type size that the chunk's header says.
func (p *CParams) blosc1TypeSize() int {
	if p.TypeSize > C.BLOSC_MAX_TYPESIZE {
		return 1
	}
	return p.TypeSize
}

// compressBlosc1Locked is one call of the library.
func (p *CParams) compressBlosc1Locked(dst, src []byte) (int, error) {
	const op = "compress for Blosc1"
	params := p.toC()
	params.typesize = C.int32_t(p.blosc1TypeSize())
	// Given more the library would write a chunk that is longer than the data as they
	// are; it asks for 32 bytes whatever the data.
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

// evenBlockLocked returns the length of the blocks with which the chunk of n bytes
// of data has to be made again, or 0 if the one at hand is right.
//
// Blosc1 leaves a block alone whose elements do not come in eights; C-Blosc2
// bit-shuffles the eights that are there, and puts that into chunks of Blosc1 as
// well, where nobody looks for it.
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

// compressEvenLocked compresses src in blocks of that many bytes, a multiple of
// eight elements. If the last block is shorter and has no eights, it is compressed
// on its own, without a filter, and one chunk is made of the two.
func (p *CParams) compressEvenLocked(dst, src []byte, block int) (int, error) {
	whole := *p
	whole.BlockSize = block
	n := len(src) - len(src)%block
	if len(src[n:])/p.blosc1TypeSize()%8 == 0 {
		return whole.compressBlosc1Locked(dst, src)
	}
	// One block of one stream: with the type size the library would cut it to whole elements.
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
		whole.Level = 0 // stored, which also tells a dst that is too short
		return whole.compressBlosc1Locked(dst, src)
	}
	return copy(dst, joined), nil
}

// joinBlosc1 appends the one block of the chunk tail to the blocks of the chunk
// head; nil if head has none of that many bytes.
func joinBlosc1(head, tail []byte, block int) []byte {
	const header = chunk.MinHeaderSize
	h, err := chunk.ParseHeader(head)
	t, terr := chunk.ParseHeader(tail)
	if err != nil || terr != nil || !h.HasBlocks() || int(h.BlockLen()) != block {
		return nil
	}
	le := binary.LittleEndian
	stream := tail[header:] // its start, its size, its bytes; or its bytes as they are
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
