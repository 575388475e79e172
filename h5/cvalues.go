// Go values as C takes them, for the time of one call: typed pointers to flat
// memory without pointers in it, never a C copy that somebody would have to free.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

func cBytes(b []byte) *C.uint8_t    { return (*C.uint8_t)(unsafe.SliceData(b)) }
func cInts(v []int64) *C.int64_t    { return (*C.int64_t)(unsafe.SliceData(v)) }
func cUints(v []uint64) *C.uint64_t { return (*C.uint64_t)(unsafe.SliceData(v)) }

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// cString is s with a zero byte at its end; one inside s is ErrParam, never a
// shorter string.
func cString(op, path, s string) (*C.char, error) {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return nil, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: zero byte at %d of %q", ErrParam, i, s)}
	}
	b := make([]byte, len(s)+1)
	copy(b, s)
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))), nil
}

// cName is the name of a link or attribute, and whether it must be marked as
// UTF-8.
func cName(op, path, name string) (*C.char, C.int32_t, error) {
	if name == "" {
		return nil, 0, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: empty name", ErrParam)}
	}
	c, err := cString(op, path, name)
	for i := range len(name) {
		if name[i] >= 0x80 {
			return c, 1, err
		}
	}
	return c, 0, err
}

// cTexts packs strings: all bytes, each string with a zero byte at its end, and
// where each begins; one offset more says where the last ends.
func cTexts(op, path string, texts []string) ([]byte, []uint64, error) {
	total := 0
	for i, s := range texts {
		if at := strings.IndexByte(s, 0); at >= 0 {
			return nil, nil, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: zero byte at %d of string %d", ErrParam, at, i)}
		}
		total += len(s) + 1
	}
	packed := make([]byte, 0, total)
	offsets := make([]uint64, 1, len(texts)+1)
	for _, s := range texts {
		packed = append(append(packed, s...), 0)
		offsets = append(offsets, uint64(len(packed)))
	}
	return packed, offsets, nil
}
