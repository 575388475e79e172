// The global context of the library, which the simple functions of its C interface use. It serves
// comparisons with programs that use these functions. Its compression makes Blosc1 chunks
// (CompressBlosc1).

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_global_decompress
// #cgo nocallback goblosc2_global_decompress
// #cgo noescape goblosc2_global_items
// #cgo nocallback goblosc2_global_items
// #cgo noescape goblosc2_global_state
// #cgo nocallback goblosc2_global_state
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// GlobalDecompress is Decompressor.Decompress on the global context (blosc2_decompress, or
// blosc1_decompress for a Blosc1 chunk). Only one call runs at a time. Its errors are those of
// Decompressor.Decompress. Chunks with a dictionary return errors.ErrUnsupported.
func GlobalDecompress(dst, b []byte) (int, error) {
	const op = "decompress"
	h, err := checkGlobal(b)
	if err == nil && len(dst) < h.NBytes {
		err = fmt.Errorf("%w: %d bytes, the chunk holds %d", ErrSize, len(dst), h.NBytes)
	}
	if err != nil {
		return 0, refused(op, "", err)
	}
	blosc1.Lock()
	defer blosc1.Unlock()
	if Special(h.Special) == Uninit {
		clear(dst[:h.NBytes])
	}
	var cerr C.goblosc2_err_t
	n := C.goblosc2_global_decompress(&cerr, cBool(!h.Extended), (*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(h.CBytes),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(h.NBytes))
	if n < 0 {
		return 0, failed(op, "", &cerr)
	}
	return int(n), nil
}

// checkGlobal is checkAlone. It also rejects chunks that the simple functions cannot read.
func checkGlobal(b []byte) (guard.Chunk, error) {
	h, err := checkAlone(b, Allow{})
	switch {
	case err != nil:
	case h.Dict:
		err = fmt.Errorf("%w: a dictionary on the global context", errors.ErrUnsupported)
	case h.Blosc1Tail():
		err = fmt.Errorf("%w: a chunk that is not whole elements on the global context", errors.ErrUnsupported)
	}
	if err == nil && !h.Extended {
		// The functions for Blosc1 chunks do not get the length of the chunk, so its streams must
		// be inside it.
		err = guard.Streams(b[:h.CBytes], guard.Policy{})
		if err != nil {
			err = invalid(err)
		}
	}
	return h, err
}

// GlobalItems is Decompressor.Items without a Decompressor (blosc2_getitem, or blosc1_getitem for a
// Blosc1 chunk). The library creates a context for the call. It returns errors.ErrUnsupported for
// chunks whose parts the library reads incorrectly, and for items that have the length of a block
// and start inside another block.
func GlobalItems(dst, b []byte, start, n int) (int, error) {
	const op = "read items"
	h, err := checkGlobal(b)
	if err != nil {
		return 0, refused(op, "", err)
	}
	size := h.ItemSize
	total := h.NBytes / size
	switch {
	case start < 0 || n < 0 || start > total || n > total-start:
		err = fmt.Errorf("%w: items [%d, %d) of %d", ErrRegion, start, start+n, total)
	case len(dst) != n*size:
		err = fmt.Errorf("%w: %d bytes, %d items have %d", ErrSize, len(dst), n, n*size)
	case n == 0:
		return 0, nil
	case h.PartsUnsafe():
		err = fmt.Errorf("%w: items of such a chunk on the global context", errors.ErrUnsupported)
	default:
		if block := h.BlockLen; start*size%block != 0 && (len(dst) == block || len(dst) == h.NBytes%block) {
			err = fmt.Errorf("%w: %d items from %d on, as long as a block, on the global context", errors.ErrUnsupported, n, start)
		}
	}
	if err != nil {
		return 0, refused(op, "", err)
	}
	if Special(h.Special) == Uninit {
		clear(dst)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_global_items(&cerr, cBool(!h.Extended), (*C.uint8_t)(unsafe.SliceData(b)), C.int32_t(h.CBytes),
		C.int32_t(start), C.int32_t(n), (*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(len(dst))) < 0 {
		return 0, failed(op, "", &cerr)
	}
	return len(dst), nil
}

// GlobalState holds the parameters of the global context.
type GlobalState struct {
	Codec     string // name in the library
	BlockSize int    // bytes; 0 lets the library choose
	Threads   int
}

// ReadGlobalState returns the parameters of the global context (blosc1_get_compressor,
// blosc1_get_blocksize, blosc2_get_nthreads).
func ReadGlobalState() GlobalState {
	blosc1.Lock()
	defer blosc1.Unlock()
	var block, threads C.int32_t
	codec := C.GoString(C.goblosc2_global_state(&block, &threads))
	return GlobalState{Codec: codec, BlockSize: int(block), Threads: int(threads)}
}

// FreeGlobal frees the memory and the threads of the global context (blosc2_free_resources). The
// next use allocates them again.
func FreeGlobal() error {
	blosc1.Lock()
	defer blosc1.Unlock()
	var cerr C.goblosc2_err_t
	if C.goblosc2_global_free(&cerr) < 0 {
		return failed("free", "", &cerr)
	}
	return nil
}
