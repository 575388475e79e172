// Go functions that the library calls. Each call has the id of its hooks, finds their functions,
// and keeps errors and panics out of C.

package cblosc

// #include "shim.h"
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/cgo"
	"runtime/debug"
	"unsafe"
)

// Results for C, which only distinguishes success and failure.
const (
	hookDone   = 0
	hookFailed = -1
)

// guarded runs call, whose result must not be negative, and records its error or panic.
func guarded[T C.int32_t | C.int64_t](id C.uintptr_t, call func(k *hooks) (T, error)) (n T) {
	k := cgo.Handle(id).Value().(*hooks)
	if err := caught(func() (err error) { n, err = call(k); return err }); err != nil {
		k.note(err)
		return hookFailed
	}
	return n
}

// caught runs f and returns a panic in f as an error.
func caught(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return f()
}

// lent returns memory of the library, or of its caller, that is valid during one call.
func lent(p *C.uint8_t, n C.int32_t) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(n)) }

//export goblosc2_go_encode
func goblosc2_go_encode(id C.uintptr_t, codec, meta C.int32_t, src *C.uint8_t, n C.int32_t, dst *C.uint8_t, capacity C.int32_t) C.int32_t {
	return guarded(id, func(*hooks) (C.int32_t, error) {
		c := userCodec(Codec(codec))
		m, err := c.Encode(lent(dst, capacity), lent(src, n), uint8(meta))
		if err == nil && (m < 0 || m > int(capacity)) {
			err = fmt.Errorf("%w: codec %v: got %d encoded bytes, want 0 to %d", ErrSize, c.Name, m, int(capacity))
		}
		return C.int32_t(m), err
	})
}

//export goblosc2_go_decode
func goblosc2_go_decode(id C.uintptr_t, codec, meta C.int32_t, src *C.uint8_t, n C.int32_t, dst *C.uint8_t, capacity C.int32_t) C.int32_t {
	return guarded(id, func(*hooks) (C.int32_t, error) {
		return capacity, userCodec(Codec(codec)).Decode(lent(dst, capacity), lent(src, n), uint8(meta))
	})
}

//export goblosc2_go_filter
func goblosc2_go_filter(id C.uintptr_t, filter, meta, direction C.int32_t, src, dst *C.uint8_t, n C.int32_t) C.int32_t {
	return guarded(id, func(*hooks) (C.int32_t, error) {
		f := userFilter(FilterID(filter))
		call := f.Backward
		if direction != C.GOBLOSC2_BACKWARD {
			call = f.Forward
		}
		out, in := lent(dst, n), lent(src, n)
		err := call(out, in, uint8(meta))
		if err == nil && direction == C.GOBLOSC2_FORWARD_ALONE && !isZero(in) && isZero(out) {
			err = fmt.Errorf("%w: compression of existing data by C-Blosc2: filter %v makes zeros of other data", errors.ErrUnsupported, f.Name)
		}
		return hookDone, err
	})
}

//export goblosc2_go_block
func goblosc2_go_block(id C.uintptr_t, index, offset, typeSize, thread C.int32_t, src, dst *C.uint8_t, n C.int32_t) C.int32_t {
	return guarded(id, func(k *hooks) (C.int32_t, error) {
		out, in := lent(dst, n), lent(src, n)
		if k.block == nil {
			copy(out, in)
			return hookDone, nil
		}
		return hookDone, k.block(out, in, Block{k.current(), int(index), int(offset), int(typeSize), int(thread)})
	})
}

//export goblosc2_go_size
func goblosc2_go_size(id C.uintptr_t) C.int64_t {
	return guarded(id, func(k *hooks) (C.int64_t, error) { return C.int64_t(k.medium.length()), nil })
}

//export goblosc2_go_read
func goblosc2_go_read(id C.uintptr_t, p *C.uint8_t, n, at C.int64_t) C.int64_t {
	return guarded(id, func(k *hooks) (C.int64_t, error) {
		got, err := k.medium.readAt(unsafe.Slice((*byte)(unsafe.Pointer(p)), int(n)), int64(at))
		return C.int64_t(got), err
	})
}

//export goblosc2_go_write
func goblosc2_go_write(id C.uintptr_t, p *C.uint8_t, n, at C.int64_t) C.int64_t {
	return guarded(id, func(k *hooks) (C.int64_t, error) {
		return n, k.medium.writeAt(unsafe.Slice((*byte)(unsafe.Pointer(p)), int(n)), int64(at))
	})
}

//export goblosc2_go_truncate
func goblosc2_go_truncate(id C.uintptr_t, size C.int64_t) C.int32_t {
	return guarded(id, func(k *hooks) (C.int32_t, error) { return hookDone, k.medium.resize(int64(size)) })
}

func isZero(b []byte) bool { return len(b) == 0 || b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1]) }

func userCodec(id Codec) *UserCodec {
	users.RLock()
	defer users.RUnlock()
	return users.codecs[id]
}

func userFilter(id FilterID) *UserFilter {
	users.RLock()
	defer users.RUnlock()
	return users.filters[id]
}
