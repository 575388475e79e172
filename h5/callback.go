// Callbacks from libhdf5 into Go: drivers and filters written in Go.
//
// A callback runs during an operation, on the thread of that operation and under the lock. Its
// error or panic becomes the error of the operation.

package h5

// #include "shim.h"
import "C"

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"slices"
	"unsafe"
)

// run calls f and stores its failure for newError. It returns the result that C expects: 0 or -1.
func run(f func() error) (rc C.int32_t) {
	lib.inside.Store(uint64(C.goh5_thread()))
	defer func() {
		if p := recover(); p != nil {
			lib.cause = fmt.Errorf("panic in a filter or driver: %v\n%s", p, debug.Stack())
			rc = -1
		}
		lib.inside.Store(0)
	}()
	if err := f(); err != nil {
		lib.cause = err
		return -1
	}
	return 0
}

//export goh5_go_read_at
func goh5_go_read_at(id, at C.uint64_t, dst *C.uint8_t, n C.uint64_t) C.int32_t {
	return run(func() error {
		_, err := readers[uint64(id)].ReadAt(unsafe.Slice((*byte)(dst), int(n)), int64(at))
		return err
	})
}

//export goh5_go_outside
func goh5_go_outside(name *C.char) {
	if lib.outside == "" {
		lib.outside = C.GoString(name)
	}
}

//export goh5_go_filter_id
func goh5_go_filter_id(slot C.uint32_t) C.int32_t { return C.int32_t(goFilters[slot].filter.ID) }

//export goh5_go_filter_prepare
func goh5_go_filter_prepare(slot C.uint32_t, spec *C.uint8_t, specLen C.uint64_t, values *C.uint32_t, most C.uint64_t, n *C.uint64_t) C.int32_t {
	return run(func() error {
		f := goFilters[slot].filter
		in := reader{bytes.Clone(unsafe.Slice((*byte)(spec), int(specLen)))}
		chunk := in.ints(in.word())
		places := unsafe.Slice((*uint32)(values), int(most))
		made, err := f.Prepare(in.datatype(), chunk, slices.Clone(places[:*n]))
		if err == nil && len(made) > len(places) {
			err = fmt.Errorf("%w: filter %d (%s) needs %d values, want at most %d", ErrSize, f.ID, f.Name, len(made), len(places))
		}
		if err != nil {
			return err
		}
		*n = C.uint64_t(copy(places, made))
		return nil
	})
}

//export goh5_go_filter
func goh5_go_filter(slot C.uint32_t, decode C.int32_t, values *C.uint32_t, n C.uint64_t, src *C.uint8_t, length C.uint64_t, got *C.uint64_t) C.int32_t {
	return run(func() error {
		f := goFilters[slot].filter
		work := f.Encode
		if decode != 0 {
			work = f.Decode
		}
		result, err := work(unsafe.Slice((*byte)(src), int(length)), slices.Clone(unsafe.Slice((*uint32)(values), int(n))))
		if err == nil && len(result) == 0 {
			err = fmt.Errorf("%w: it returned no output for %d bytes", ErrSize, length)
		}
		if err != nil {
			return fmt.Errorf("filter %d (%s): %w", f.ID, f.Name, err)
		}
		lib.filtered, *got = result, C.uint64_t(len(result))
		return nil
	})
}

//export goh5_go_filtered
func goh5_go_filtered(dst *C.uint8_t, length C.uint64_t) {
	copy(unsafe.Slice((*byte)(dst), int(length)), lib.filtered)
	lib.filtered = nil
}
