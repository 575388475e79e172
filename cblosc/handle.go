// Ownership of C objects. Every public type holds a *handle, and only handles store C pointers.

package cblosc

// #cgo CFLAGS: -I${SRCDIR}/../internal/cmem
// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"

	// The shim allocates its memory here.
	_ "github.com/hyperslab/hyperslab/internal/cmem"
)

// handle owns one context, super-chunk or array. Its mutex is held during every library call on it,
// because the library allows one call at a time. A deferred unlock also keeps the handle alive
// until the call returns.
type handle struct {
	mu      sync.Mutex
	c       *C.goblosc2_handle_t // nil when closed
	broken  bool                 // a write failed half-way
	reading bool                 // opened read-only
	path    string               // for errors
	cleanup runtime.Cleanup

	hooks *hooks // Go functions that the library may call for a super-chunk; nil without any

	beforeChange func() error // check before the library makes a change; may be nil

	worked int // bytes since the last yield
}

// own returns a handle that owns c. kind is the public type, for leak reports.
func own(c *C.goblosc2_handle_t, kind, path string) *handle {
	h := &handle{c: c, path: path}
	h.cleanup = runtime.AddCleanup(h, dropped, newOrphan(c, kind))
	return h
}

// ownHooked is own for an object with hooks, which live as long as the handle.
func ownHooked(c *C.goblosc2_handle_t, kind, path string, k *hooks) *handle {
	h := own(c, kind, path)
	h.hooks = k
	k.outlive(h)
	return h
}

// failed returns an Error of the library for a call on the handle.
func (h *handle) failed(op string, cerr *C.goblosc2_err_t) error {
	return h.hooks.explain(failed(op, h.path, cerr))
}

// lock acquires the mutex for op and checks that the handle is usable. The caller must unlock it.
// On failure, because the handle is closed or broken, the mutex is not held.
func (h *handle) lock(op string) error {
	h.mu.Lock()
	var err error
	switch {
	case h.c == nil:
		err = ErrClosed
	case h.broken:
		err = ErrBroken
	default:
		if h.hooks != nil {
			h.hooks.begin()
		}
		return nil
	}
	h.mu.Unlock()
	return refused(op, h.path, err)
}

// restAfter is the number of bytes that a context decompresses before it yields. Decompressing them
// takes about 1 ms, a tenth of the time after which Go's scheduler preempts. compressing is about
// how many times longer compression takes.
const (
	restAfter   = 4 << 20
	compressing = 8
)

// unlockAfter unlocks at the end of a call that processed n bytes, and yields from time to time.
//
// A goroutine that makes many such calls never enters the scheduler. After 10 ms the runtime's
// monitor takes the processor away during a call and wakes a thread that finds no work. For a while
// it then checks every 20 µs from another core. Yielding avoids this.
func (h *handle) unlockAfter(n int) {
	h.worked += n
	rest := h.worked >= restAfter
	if rest {
		h.worked = 0
	}
	h.mu.Unlock()
	if rest {
		runtime.Gosched()
	}
}

// lockWrite is lock for an op that changes stored data. It also fails if the handle is read-only or
// beforeChange fails.
func (h *handle) lockWrite(op string) error {
	if err := h.lock(op); err != nil {
		return err
	}
	var err error
	switch {
	case h.reading:
		err = ErrReadOnly
	case h.beforeChange != nil:
		err = h.beforeChange()
	}
	if err != nil {
		h.mu.Unlock()
		return refused(op, h.path, err)
	}
	return nil
}

// breakOn marks the handle as broken if err, the result of a write, is not nil.
func (h *handle) breakOn(err error) error {
	if err != nil {
		h.broken = true
	}
	return err
}

// close frees the C object. A second call returns ErrClosed.
func (h *handle) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.c == nil {
		return refused("close", h.path, ErrClosed)
	}
	h.cleanup.Stop()
	var cerr C.goblosc2_err_t
	rc := C.goblosc2_close(&cerr, h.c)
	h.c = nil
	defer h.hooks.close()
	if rc < 0 {
		return h.failed("close", &cerr)
	}
	return nil
}
