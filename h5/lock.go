// The one lock of libhdf5, and the ids that wait to be closed.
//
// The library is built without thread safety, and with it would run one call at
// a time all the same: so there is one mutex for the process. It is held for one
// public operation, is not reentrant, and nothing else is acquired under it but
// the mutex of the queue.
//
// Filters and drivers written in Go run under it (callback.go), on the thread of
// the operation that needs them, and a call from there is ErrReentrant. Because
// nearly every shim can come back to Go that way, and Go moves the stacks of
// goroutines that run, no shim but the few that cannot is marked noescape: what
// it is given must not lie on a stack.
//
// A cleanup of the garbage collector never calls the library and never waits for
// the lock: it queues its id, and the next operation closes what is queued.

package h5

/*
#cgo CFLAGS: -I${SRCDIR}/../internal/cmem
#include "shim.h"
#cgo noescape goh5_start
#cgo nocallback goh5_start
#cgo noescape goh5_thread
#cgo nocallback goh5_thread
#cgo noescape goh5_obj_count
#cgo nocallback goh5_obj_count
*/
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
)

var lib struct {
	mu      sync.Mutex
	started bool
	version [3]int // of the library and of its headers
	err     error  // why the library cannot be used

	filtered []byte // what a filter in Go made, on its way to C

	inside  atomic.Uint64 // the thread on which code of the caller's runs under the lock, 0 if none
	cause   error         // how that code failed in the operation that runs
	outside string        // the first other file that the operation wanted of a reader's, "" if none

	masks  uint64 // see chunkMasks; from 1
	stored uint64 // chunks that WriteChunk has stored, and datasets that were read anew, in all files

	// What an operation on elements gives the shim, kept here so that it does not
	// have to be allocated.
	cerr  *C.goh5_err_t // in a block of its own: cgo looks at the whole of one
	words [shortRegion]int64
	typ   [shortType]byte

	queued  atomic.Int64 // len(pending), to look without the mutex
	pendMu  sync.Mutex
	pending []orphan
}

// An orphan is an id whose owner is gone, and the file that has it on its list.
type orphan struct {
	ids *idSet
	id  C.int64_t
}

// lock takes the library's lock, starts the library if this is the first call,
// and closes the ids that cleanups have queued.
//
// On the thread of a filter or driver in Go it does nothing: the operation
// that called it has the lock, and readyLocked will say so.
func lock() {
	if reentrant() {
		return
	}
	lib.mu.Lock()
	if !lib.started {
		lib.started = true
		lib.cerr = new(C.goh5_err_t)
		lib.masks = 1
		lib.err = startLocked()
	}
	if lib.queued.Load() > 0 {
		drainLocked()
	}
	lib.cause, lib.outside = nil, ""
}

func unlock() {
	if !reentrant() {
		lib.mu.Unlock()
	}
}

// reentrant reports that this is a call from inside an operation. Its goroutine
// is wired to its thread as long as it was called from C.
func reentrant() bool {
	inside := lib.inside.Load()
	return inside != 0 && inside == uint64(C.goh5_thread())
}

// readyLocked is why the library must not be called now.
func readyLocked(op, path string) error {
	if lib.inside.Load() != 0 {
		return &Error{Op: op, Path: path, Err: ErrReentrant}
	}
	return lib.err
}

// WithLock runs f while no operation of this package runs, for code that uses
// libhdf5 by another way in the same process. f must not call this package: the
// lock is not reentrant. WithLock itself panics with ErrReentrant when a filter or
// driver calls it.
func WithLock(f func()) {
	lock()
	defer unlock()
	if lib.inside.Load() != 0 {
		panic(ErrReentrant)
	}
	lib.masks++ // of what f did nobody here knows
	f()
}

func startLocked() error {
	var cerr C.goh5_err_t
	var v [6]C.uint32_t
	if rc := C.goh5_start(&cerr, &v[0]); rc < 0 {
		if rc == C.GOH5_EVERSION {
			return &Error{Op: "start", Err: fmt.Errorf("%w: compiled with headers of HDF5 %d.%d.%d, linked with %d.%d.%d",
				ErrVersion, v[0], v[1], v[2], v[3], v[4], v[5])}
		}
		return newError("start", "", rc, &cerr)
	}
	lib.version = [3]int{int(v[3]), int(v[4]), int(v[5])}
	return nil
}

// enqueue is called by cleanups, in a goroutine of the runtime.
func enqueue(o orphan) {
	lib.pendMu.Lock()
	lib.pending = append(lib.pending, o)
	lib.queued.Add(1)
	lib.pendMu.Unlock()
}

// drainLocked closes what is queued. Nobody is there to be told of a failure:
// the owner did not call Close.
func drainLocked() {
	lib.pendMu.Lock()
	orphans := lib.pending
	lib.pending = nil
	lib.queued.Store(0)
	lib.pendMu.Unlock()
	for _, o := range orphans {
		_ = o.ids.closeLocked("close", "", o.id)
	}
}

// closeIDsLocked closes ids in order, all of them, and reports the first failure.
func closeIDsLocked(op, path string, ids []C.int64_t) error {
	if len(ids) == 0 {
		return nil
	}
	var cerr C.goh5_err_t
	if rc := C.goh5_close(&cerr, &ids[0], C.size_t(len(ids))); rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}

// OpenIDs counts the ids of files, groups, datasets, committed datatypes and
// attributes that the library has open in this process, whoever opened them
// (H5Fget_obj_count). A program that has closed everything finds 0.
func OpenIDs() (int64, error) {
	const op = "count ids"
	lock()
	defer unlock()
	if err := readyLocked(op, ""); err != nil {
		return 0, err
	}
	var cerr C.goh5_err_t
	var n C.int64_t
	if rc := C.goh5_obj_count(&cerr, &n); rc < 0 {
		return 0, newError(op, "", rc, &cerr)
	}
	return int64(n), nil
}
