// The one owner of things of C: every public type holds a *handle, and no other
// code stores the C pointer.

package cblosc

// #cgo CFLAGS: -I${SRCDIR}/../internal/cmem
// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"

	// The shim takes its memory from here.
	_ "github.com/hyperslab/hyperslab/internal/cmem"
)

// handle owns one context, super-chunk or array. Its mutex is held during every
// call of the library on it: the library allows one at a time. A deferred unlock
// also keeps the handle alive until the call is over.
type handle struct {
	mu      sync.Mutex
	c       *C.goblosc2_handle_t // nil when closed
	broken  bool                 // a write failed half-way
	reading bool                 // opened for reading only
	path    string               // for errors
	cleanup runtime.Cleanup

	hooks *hooks // what the library may call in Go for a super-chunk; nil if nothing

	beforeChange func() error // nil, or what must be true before the library changes something

	worked int // bytes since the last rest
}

// own takes over c; kind is the public type, for the report of a leak.
func own(c *C.goblosc2_handle_t, kind, path string) *handle {
	h := &handle{c: c, path: path}
	h.cleanup = runtime.AddCleanup(h, dropped, newOrphan(c, kind))
	return h
}

// ownHooked is own for what has hooks, which live as long.
func ownHooked(c *C.goblosc2_handle_t, kind, path string, k *hooks) *handle {
	h := own(c, kind, path)
	h.hooks = k
	k.outlive(h)
	return h
}

// failed is an Error of the library in a call on the handle.
func (h *handle) failed(op string, cerr *C.goblosc2_err_t) error {
	return h.hooks.explain(failed(op, h.path, cerr))
}

// lock enters the library for op: afterwards the caller, who unlocks, holds an open
// handle. It fails, unlocked, if the handle is closed or broken.
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

// restAfter is how many bytes a context decompresses before it yields: those of about a millisecond, a tenth of what Go's
// scheduler bears. compressing is about how much longer it takes to compress as many.
const (
	restAfter   = 4 << 20
	compressing = 8
)

// unlockAfter unlocks at the end of a call that worked on n bytes, and yields now and then.
//
// A goroutine of many such calls never visits the scheduler. After 10 ms its monitor takes the processor away in the middle of
// a call, wakes a thread for it that finds nothing to do, and looks again every 20 µs for a while, from another core. Who
// yields is left alone.
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

// lockWrite is lock for an op that changes what is stored. It fails also if the
// handle is for reading only, or does not pass beforeChange.
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

// breakOn marks the handle as broken if a write of the library failed.
func (h *handle) breakOn(err error) error {
	if err != nil {
		h.broken = true
	}
	return err
}

// close frees the thing of C, once.
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
