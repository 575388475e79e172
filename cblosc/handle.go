// The one owner of things of C: every public type holds a *handle, and no other
// code stores the C pointer.

package cblosc

// #cgo CFLAGS: -I${SRCDIR}/../internal/cmem
// #include "shim.h"
// #cgo noescape goblosc2_close
// #cgo nocallback goblosc2_close
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

	beforeChange func() error // nil, or what must be true before the library changes something
}

// own takes over c; kind is the public type, for the report of a leak.
func own(c *C.goblosc2_handle_t, kind, path string) *handle {
	h := &handle{c: c, path: path}
	h.cleanup = runtime.AddCleanup(h, dropped, newOrphan(c, kind))
	return h
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
		return nil
	}
	h.mu.Unlock()
	return refused(op, h.path, err)
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
	if rc < 0 {
		return failed("close", h.path, &cerr)
	}
	return nil
}
