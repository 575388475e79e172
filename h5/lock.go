// The lock of libhdf5, and the queue of ids to close.
//
// libhdf5 is built without thread safety. Even with thread safety it would run one call at a time.
// Therefore the process has one mutex for it. The mutex is held for one public operation and is not
// reentrant. The only other locks acquired under it are the mutex of the queue and
// syscall.ForkLock.
//
// Filters and drivers written in Go run under the lock (callback.go), on the thread of the
// operation that calls them. A call of this package from such code returns ErrReentrant. Nearly
// every shim can call back into Go this way, and Go moves the stacks of running goroutines.
// Therefore the arguments of shims must not lie on a stack, and only the shims that cannot call
// back are marked noescape.
//
// A cleanup of the garbage collector never calls libhdf5 and never waits for the lock. It queues
// its id, and the next operation closes the queued ids.

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
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/meter"
)

var lib struct {
	mu      sync.Mutex
	started bool
	version [3]int // of the linked libhdf5 and of its headers, which are equal
	err     error  // start error, if libhdf5 cannot be used

	filtered []byte // result of a filter in Go, until C copies it

	inside  atomic.Uint64 // thread that runs the caller's code under the lock; 0 if there is no such thread
	cause   error         // error of that code in the current operation
	outside string        // first other file that the current operation needed for a file of OpenReaderAt; "" if there is none

	masks  uint64 // version of the state in chunkMasks; starts at 1
	stored uint64 // number of chunks stored by WriteChunk and of refreshed datasets, in all files

	// Buffers for the arguments of operations, kept here to avoid allocations.
	words [shortRegion]int64
	typ   [shortType]byte

	queued  atomic.Int64 // len(pending), readable without the mutex
	pendMu  sync.Mutex
	pending []orphan
}

// An orphan is an id whose owner was garbage-collected, with the idSet of its file.
type orphan struct {
	ids *idSet
	id  C.int64_t
}

// lock acquires the library lock, starts libhdf5 on the first call, and closes the ids that
// cleanups have queued.
//
// On the thread of a filter or driver in Go it does nothing, because the operation that called the
// filter holds the lock. readyLocked then returns ErrReentrant.
func lock() {
	if reentrant() {
		return
	}
	if !lib.mu.TryLock() {
		end := meter.Library.Begin(context.Background())
		lib.mu.Lock()
		end()
	}
	cmem.EnterHDF5()
	if !lib.started {
		lib.started = true
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
		cmem.LeaveHDF5()
		lib.mu.Unlock()
	}
}

// reentrant reports whether this call comes from inside an operation. A goroutine called from C
// stays on its thread, so comparing thread ids is enough.
func reentrant() bool {
	inside := lib.inside.Load()
	return inside != 0 && inside == uint64(C.goh5_thread())
}

// delayStartsLocked delays the start of processes until the returned function is called. libhdf5
// opens files without O_CLOEXEC, and the shim sets the flag afterwards. A process started between
// the two would have the file open until it ends. The reader of OpenReaderAt may itself start
// processes, and has no descriptor of libhdf5.
func delayStartsLocked(a *FileAccess) (resume func()) {
	if a != nil {
		if _, ok := a.Driver.(readerDriver); ok {
			return func() {}
		}
	}
	syscall.ForkLock.RLock()
	return syscall.ForkLock.RUnlock
}

// readyLocked returns an error if libhdf5 must not be called now.
func readyLocked(op, path string) error {
	if lib.inside.Load() != 0 {
		return &Error{Op: op, Path: path, Err: ErrReentrant}
	}
	return lib.err
}

// WithLock runs f while no operation of this package runs. It is for code that uses libhdf5 by
// other means in the same process. f must not call this package, because the lock is not reentrant.
// WithLock panics with ErrReentrant if a filter or driver calls it.
func WithLock(f func()) {
	lock()
	defer unlock()
	if lib.inside.Load() != 0 {
		panic(ErrReentrant)
	}
	lib.masks++          // f may have changed any chunk
	C.goh5_drop_space(0) // f may call H5close, after which ids are used again
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

// drainLocked closes the queued ids. It ignores errors, because the owner did not call Close and
// cannot receive them.
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

// closeIDsLocked closes all ids in order and returns the first error. fd is the descriptor of the
// file if the last id is a file, and otherwise -1.
func closeIDsLocked(op, path string, ids []C.int64_t, fd C.int32_t) error {
	if len(ids) == 0 {
		return nil
	}
	cerr := &C.goh5_closing_error // because an operation may call this while it uses the other one
	*cerr = C.goh5_err_t{}
	if rc := C.goh5_close(cerr, &ids[0], C.size_t(len(ids)), fd); rc < 0 {
		return newError(op, path, rc, cerr)
	}
	return nil
}

// errorLocked returns the empty error of the next call of the shim. It is valid until the next call
// of errorLocked, so it is for operations that make one call of the shim.
func errorLocked() *C.goh5_err_t {
	cerr := &C.goh5_operation_error
	*cerr = C.goh5_err_t{}
	return cerr
}

// OpenIDs returns the number of ids of files, groups, datasets, committed datatypes and attributes
// that are open in this process, including those opened by other code (H5Fget_obj_count). It is 0
// after a program has closed everything.
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
