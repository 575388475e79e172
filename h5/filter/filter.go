// A single filter: number, errors, decoding and encoding.

package filter

// #cgo CFLAGS: -I${SRCDIR}/../../internal/cmem
// #include "shim.h"
// #cgo noescape goh5z_decode
// #cgo nocallback goh5z_decode
// #cgo noescape goh5z_encode
// #cgo nocallback goh5z_encode
// #cgo noescape goh5z_bound
// #cgo nocallback goh5z_bound
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/errs"
)

// The registered numbers of the filters that libhdf5 does not have; package h5 has the others. The
// functions without the prefix ID return a filter for [h5.DatasetOptions].
const (
	IDBZip2      = C.GOH5Z_BZIP2
	IDLZF        = C.GOH5Z_LZF
	IDBlosc      = C.GOH5Z_BLOSC
	IDLZ4        = C.GOH5Z_LZ4
	IDBitShuffle = C.GOH5Z_BITSHUFFLE
	IDZstd       = C.GOH5Z_ZSTD
	IDBlosc2     = C.GOH5Z_BLOSC2
)

// Numbers returns the numbers of the filters in this package, in ascending order.
func Numbers() []int {
	var ids []int
	for _, id := range []int{h5.FilterDeflate, h5.FilterShuffle, h5.FilterFletcher32, h5.FilterSzip, IDBZip2, IDLZF, IDBlosc, IDLZ4, IDBitShuffle, IDZstd, IDBlosc2} {
		if Known(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Known reports whether this package has the filter.
func Known(id int) bool { return inGo(id) || C.goh5z_known(C.int32_t(id)) != 0 }

// inGo reports whether the filter is implemented with package cblosc.
func inGo(id int) bool { return id == IDBlosc || id == IDBlosc2 }

// ErrChecksum is the error for data that do not match the checksum stored with them. It wraps
// h5.ErrCorrupt.
var ErrChecksum = errs.New(h5.ErrCorrupt.Error()+": the checksum differs", h5.ErrCorrupt)

// ErrGrows is the error of a filter that refuses data it cannot shorten. A Pipeline then skips the
// filter if it is optional.
var ErrGrows = errs.New("does not get shorter")

// Error is the error of a filter.
type Error struct {
	Op     string // "decode", "encode", "make pipeline"
	Filter int    // number of the filter; 0 if the error has no filter
	Step   int    // index in the pipeline; 0 is the first filter applied when writing
	Err    error
}

// Error returns a message with the filter and the cause.
func (e *Error) Error() string {
	if e.Filter == 0 {
		return fmt.Sprintf("filter: %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("filter: %s, filter %d: %v", e.Op, e.Filter, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Decode reverses one filter. It decodes src into dst and returns the number of decoded bytes.
// values are the filter's parameters as stored in a file.
//
// It returns ErrSize if the result is longer than dst, and the errors of the package.
func Decode(id int, values []uint32, dst, src []byte) (int, error) {
	w := take()
	defer put(w)
	n, err := w.decode(id, values, dst, src)
	if err != nil {
		return 0, &Error{Op: "decode", Filter: id, Err: err}
	}
	return n, nil
}

// encode applies one filter to src. A dst of bound bytes is always sufficient.
//
// It returns ErrSize if the result is longer than dst, ErrGrows from filters that refuse data they
// cannot shorten, and the errors of the package.
func encode(id int, values []uint32, dst, src []byte) (int, error) {
	w := take()
	defer put(w)
	n, err := w.encode(id, values, Options{}, dst, src)
	if err != nil {
		return 0, &Error{Op: "encode", Filter: id, Err: err}
	}
	return n, nil
}

// bound returns the maximum size of n bytes after the filter.
func bound(id int, values []uint32, n int) int {
	switch id {
	case IDBlosc:
		return bloscBound(n)
	case IDBlosc2:
		return blosc2Bound(values, n)
	}
	return int(C.goh5z_bound(C.int32_t(id), cValues(values), C.size_t(len(values)), C.size_t(n)))
}

func cBytes(b []byte) *C.uint8_t     { return (*C.uint8_t)(unsafe.SliceData(b)) }
func cValues(v []uint32) *C.uint32_t { return (*C.uint32_t)(unsafe.SliceData(v)) }

func (w *worker) decode(id int, values []uint32, dst, src []byte) (int, error) {
	switch id {
	case IDBlosc:
		return w.decodeBlosc(dst, src)
	case IDBlosc2:
		return w.decodeBlosc2(dst, src)
	}
	if w.c == nil {
		return 0, cmem.ErrOutOfMemory
	}
	var out C.size_t
	rc := C.goh5z_decode(w.c, C.int32_t(id), cValues(values), C.size_t(len(values)), cBytes(src), C.size_t(len(src)),
		cBytes(dst), C.size_t(len(dst)), &out)
	if rc < 0 {
		return 0, failure(rc, id, values, len(dst), int(out))
	}
	return int(out), nil
}

func (w *worker) encode(id int, values []uint32, o Options, dst, src []byte) (int, error) {
	switch id {
	case IDBlosc:
		return w.encodeBlosc(values, o, dst, src)
	case IDBlosc2:
		return w.encodeBlosc2(values, dst, src)
	}
	if w.c == nil {
		return 0, cmem.ErrOutOfMemory
	}
	var out C.size_t
	rc := C.goh5z_encode(w.c, C.int32_t(id), cValues(values), C.size_t(len(values)), o.exact(), cBytes(src), C.size_t(len(src)),
		cBytes(dst), C.size_t(len(dst)), &out)
	if rc < 0 {
		return 0, failure(rc, id, values, len(dst), int(out))
	}
	return int(out), nil
}

// failure converts an error code of the shim to an error. want is the size of the result, 0 if it
// is unknown.
func failure(rc C.int, id int, values []uint32, have, want int) error {
	switch rc {
	case C.GOH5Z_ENOMEM:
		return cmem.ErrOutOfMemory
	case C.GOH5Z_EROOM:
		if want == 0 {
			return fmt.Errorf("%w: buffer of %d bytes, the result is longer", h5.ErrSize, have)
		}
		return fmt.Errorf("%w: buffer of %d bytes, the result has %d", h5.ErrSize, have, want)
	case C.GOH5Z_EPARAM:
		return fmt.Errorf("%w: filter parameters %d", h5.ErrParam, values)
	case C.GOH5Z_ECHECKSUM:
		return ErrChecksum
	case C.GOH5Z_EFILTER:
		return &h5.FilterError{ID: id}
	case C.GOH5Z_EGROWS:
		return ErrGrows
	}
	return fmt.Errorf("%w: no stream of this filter, or a corrupt one", h5.ErrCorrupt)
}
