// Who owns an id of the library.
//
// A handle is the owner of one id. All handles of one open file share an idSet,
// the list of that file's open ids: an id is closed when it is on the list and
// taken off, so that closing twice, closing the file first and a late cleanup
// are all harmless, whatever the library does with its numbers afterwards.

package h5

// #include "shim.h"
import "C"

import (
	"runtime"
	"slices"
	"sync/atomic"
)

// An idSet holds the open ids of one open file. The library's lock guards it.
//
// An owner knows its id by the number it had first. That changes only if the
// library has to be made to forget a dataset (reopenLocked).
type idSet struct {
	file C.int64_t               // closed last
	open map[C.int64_t]C.int64_t // the number an id had first, and the one it has

	reader uint64 // of OpenReaderAt, 0 if it is another file
}

func newIDSet(file C.int64_t) *idSet {
	return &idSet{file: file, open: map[C.int64_t]C.int64_t{file: file}}
}

// closeLocked closes id if it is open; the file's own id takes all others with it.
func (s *idSet) closeLocked(op, path string, id C.int64_t) error {
	now, ok := s.open[id]
	if !ok {
		return nil
	}
	if id != s.file {
		delete(s.open, id)
		return closeIDsLocked(op, path, []C.int64_t{now})
	}
	ids := make([]C.int64_t, 0, len(s.open))
	for _, other := range s.open {
		if other != s.file {
			ids = append(ids, other)
		}
	}
	slices.Sort(ids)
	clear(s.open)
	err := closeIDsLocked(op, path, append(ids, s.file))
	delete(readers, s.reader)
	delete(writers, s)
	return err
}

// A handle owns one id.
type handle struct {
	ids     *idSet
	id      C.int64_t
	closed  atomic.Bool // set under the library's lock, like ids
	cleanup runtime.Cleanup
}

// newHandleLocked makes the owner of a freshly opened id.
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

// What a cleanup knows. It must not reach the handle.
type left struct {
	orphan
	opened string
}

func forgotten(l left) {
	reportForgotten(l)
	enqueue(l.orphan)
}

// idLocked gives the id to call the library with, or ErrClosed if Close was
// called on the handle or on its file, or ErrReentrant.
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

// closeLocked closes the id; a second call is ErrClosed.
func (h *handle) closeLocked(op, path string) error {
	if _, err := h.idLocked(op, path); err != nil {
		return err
	}
	h.closed.Store(true)
	h.cleanup.Stop()
	return h.ids.closeLocked(op, path, h.id)
}
