// Blosc1 chunks, the format of C-Blosc 1.x, bcolz, zarr and HDF5 filter 32001.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_blosc1_compress
// #cgo nocallback goblosc2_blosc1_compress
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/guard"
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
// variables.
//
// It returns ErrParam, ErrSize if the chunk does not fit into dst, ErrLimit, or an *Error from the
// library. It returns errors.ErrUnsupported if the chunk has bit-shuffled blocks that C-Blosc 1.x
// cannot read, because their number of elements is not a multiple of 8; dst then holds that chunk.
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
	filter := &q.Filters[MaxFilters-1]
	if filter.ID == BitShuffle && len(src) < 8*q.blosc1TypeSize() {
		*filter = Filter{} // bit-shuffle leaves fewer than 8 elements unchanged
	}
	if q.splitsOnlyForBlosc2(len(src)) {
		q.Split = SplitNever
	}
	n, err := q.compressBlosc1Locked(dst, src)
	if err == nil && filter.ID == BitShuffle && !guard.EvenBlocks(dst[:n], q.blosc1TypeSize()) {
		err = refused(op, "", fmt.Errorf("%w: bit shuffle of blocks whose number of elements is not a multiple of 8, which Blosc1 cannot undo", errors.ErrUnsupported))
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
	capacity := min(len(dst), max(guard.Blosc1Header+len(src), overhead))
	var cerr C.goblosc2_err_t
	n := C.goblosc2_blosc1_compress(&cerr, &params, C.int32_t(p.Filters[MaxFilters-1].ID),
		(*C.uint8_t)(unsafe.SliceData(src)), C.int32_t(len(src)),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(capacity))
	switch {
	case n < 0 && (len(dst) >= MaxCompressedSize(len(src)) || !tooShort(Code(cerr.code))):
		return 0, failed(op, "", &cerr)
	case n <= 0:
		return 0, refused(op, "", fmt.Errorf("%w: %d bytes for the chunk of %d, at most %d are needed",
			ErrSize, len(dst), len(src), MaxCompressedSize(len(src))))
	case guard.Extended(dst[:n]):
		return 0, refused(op, "", fmt.Errorf("%w: a header of Blosc1 while BLOSC_NOLOCK is set in the environment", errors.ErrUnsupported))
	}
	return int(n), nil
}
