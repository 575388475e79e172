// Shuffle functions of the library on plain buffers, as a reference for other implementations.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_shuffle
// #cgo nocallback goblosc2_shuffle
import "C"

import (
	"fmt"
	"unsafe"
)

// ShuffleBytes writes to dst the first bytes of all elements of src, then the second bytes, and so
// on (blosc2_shuffle). Elements have typeSize bytes, 1 to 255. Bytes after the last whole element
// stay in place.
//
// It returns ErrSize if dst and src have different lengths, ErrParam, ErrLimit, or an *Error from
// the library.
func ShuffleBytes(dst, src []byte, typeSize int) error {
	return rawShuffle("shuffle", C.GOBLOSC2_SHUFFLE, dst, src, typeSize)
}

// UnshuffleBytes undoes ShuffleBytes (blosc2_unshuffle).
func UnshuffleBytes(dst, src []byte, typeSize int) error {
	return rawShuffle("unshuffle", C.GOBLOSC2_UNSHUFFLE, dst, src, typeSize)
}

// ShuffleBits writes to dst the first bits of all elements of src, then the second bits, and so on
// (blosc2_bitshuffle). It shuffles groups of 8 elements; the remaining elements stay in place.
// Otherwise it is like ShuffleBytes.
func ShuffleBits(dst, src []byte, typeSize int) error {
	return rawShuffle("bitshuffle", C.GOBLOSC2_BITSHUFFLE, dst, src, typeSize)
}

// UnshuffleBits undoes ShuffleBits (blosc2_bitunshuffle).
func UnshuffleBits(dst, src []byte, typeSize int) error {
	return rawShuffle("bitunshuffle", C.GOBLOSC2_BITUNSHUFFLE, dst, src, typeSize)
}

func rawShuffle(op string, how C.int32_t, dst, src []byte, typeSize int) error {
	switch {
	case len(dst) != len(src):
		return refused(op, "", fmt.Errorf("%w: %d bytes for %d", ErrSize, len(dst), len(src)))
	case len(src) > maxBuffer:
		return refused(op, "", fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, len(src), maxBuffer))
	case typeSize < 1 || typeSize > maxItem:
		return refused(op, "", fmt.Errorf("%w: type size %d, want 1 to %d", ErrParam, typeSize, maxItem))
	case len(src) < typeSize:
		copy(dst, src)
		return nil
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_shuffle(&cerr, how, C.int32_t(typeSize), (*C.uint8_t)(unsafe.SliceData(src)), C.int32_t(len(src)),
		(*C.uint8_t)(unsafe.SliceData(dst))) < 0 {
		return failed(op, "", &cerr)
	}
	return nil
}
