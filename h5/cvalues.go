// Arguments for C: typed pointers to Go memory without pointers in it, valid for one call. Go
// values are not copied to C memory, so the caller does not have to free anything.

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

// cString returns s with a zero byte appended. It returns ErrParam if s contains a zero byte,
// because C would truncate the string there.
func cString(op, path, s string) (*C.char, error) {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return nil, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: zero byte at %d of %q", ErrParam, i, s)}
	}
	b := make([]byte, len(s)+1)
	copy(b, s)
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))), nil
}

// cName returns the name of a link or attribute as a C string, and 1 if it must be marked as UTF-8.
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

// cTexts packs strings into one slice, each followed by a zero byte. It returns the bytes and
// len(list)+1 offsets: the start of each string, and the end of the last one.
func cTexts(op, path string, list []string) ([]byte, []uint64, error) {
	total := 0
	for i, s := range list {
		if at := strings.IndexByte(s, 0); at >= 0 {
			return nil, nil, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: zero byte at %d of string %d", ErrParam, at, i)}
		}
		total += len(s) + 1
	}
	packed := make([]byte, 0, total)
	offsets := make([]uint64, 1, len(list)+1)
	for _, s := range list {
		packed = append(append(packed, s...), 0)
		offsets = append(offsets, uint64(len(packed)))
	}
	return packed, offsets, nil
}
