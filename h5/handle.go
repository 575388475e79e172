// Ownership of libhdf5 ids.
//
// A handle is the owner of one id. All handles of one open file share an idSet, the list of that
// file's open ids. Closing an id closes it only if it is on the list, and removes it from the list.
// Therefore a second close, a file closed before its objects, and a late cleanup are all harmless,
// even if libhdf5 reuses a number.

package h5

// #include "shim.h"
import "C"

import (
	"runtime"
	"slices"
	"sync/atomic"
)

// An idSet holds the open ids of one open file, guarded by the library lock.
//
// An owner identifies its id by the first number of the id. The number changes only when a dataset
// is closed and opened again inside libhdf5 (reopenLocked).
type idSet struct {
	file C.int64_t               // closed last
	open map[C.int64_t]C.int64_t // first number of an id -> its current number
	fd   C.int32_t               // descriptor of the file; -1 if its driver has several or no descriptors

	reader uint64 // key in readers of a file opened by OpenReaderAt; 0 for other files
}

func newIDSet(file C.int64_t, fd C.int32_t) *idSet {
	return &idSet{file: file, open: map[C.int64_t]C.int64_t{file: file}, fd: fd}
}

// closeLocked closes id if it is open. Closing the id of the file closes all other ids too.
func (s *idSet) closeLocked(op, path string, id C.int64_t) error {
	now, ok := s.open[id]
	if !ok {
		return nil
	}
	if id != s.file {
		delete(s.open, id)
		return closeIDsLocked(op, path, []C.int64_t{now}, -1)
	}
	ids := make([]C.int64_t, 0, len(s.open))
	for _, other := range s.open {
		if other != s.file {
			ids = append(ids, other)
		}
	}
	slices.Sort(ids)
	clear(s.open)
	err := closeIDsLocked(op, path, append(ids, s.file), s.fd)
	delete(readers, s.reader)
	delete(writers, s)
	delete(lockless, s)
	return err
}

// A handle owns one id.
type handle struct {
	ids     *idSet
	id      C.int64_t
	closed  atomic.Bool // set under the library lock, like ids
	cleanup runtime.Cleanup
}

// newHandleLocked makes the owner of a newly opened id.
func newHandleLocked(ids *idSet, id C.int64_t) *handle {
	ids.open[id] = id
	h := &handle{ids: ids, id: id}
	l := left{orphan: orphan{ids, id}}
	if id == ids.file { // only files are reported, and a stack may be deep
		l.opened = whereOpened()
	}
	h.cleanup = runtime.AddCleanup(h, forgotten, l)
	return h
}

// left is the argument of a cleanup. It must not reference the handle.
type left struct {
	orphan
	opened string
}

func forgotten(l left) {
	reportForgotten(l)
	enqueue(l.orphan)
}

// idLocked returns the current id for calls of libhdf5. It returns ErrClosed if the handle or its
// file was closed, or ErrReentrant.
func (h *handle) idLocked(op, path string) (C.int64_t, error) {
	if err := readyLocked(op, path); err != nil {
		return 0, err
	}
	now, open := h.ids.open[h.id]
	if h.closed.Load() || !open {
		return 0, &Error{Op: op, Path: path, Err: ErrClosed}
	}
	return now, nil
}

// closeLocked closes the id; a second call returns ErrClosed.
func (h *handle) closeLocked(op, path string) error {
	if _, err := h.idLocked(op, path); err != nil {
		return err
	}
	h.closed.Store(true)
	h.cleanup.Stop()
	return h.ids.closeLocked(op, path, h.id)
}
