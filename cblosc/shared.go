// Frames shared by several programs: locks, and changes by other programs.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
)

// Lock prevents other programs that use locks from accessing the frame until Unlock
// (blosc2_schunk_lock).
func (s *SChunk) Lock() error {
	return s.shared("lock", func(cerr *C.goblosc2_err_t) bool {
		return C.goblosc2_schunk_lock(cerr, s.h.c) >= 0
	})
}

// Unlock releases the lock of Lock (blosc2_schunk_unlock).
func (s *SChunk) Unlock() error {
	return s.shared("unlock", func(cerr *C.goblosc2_err_t) bool {
		return C.goblosc2_schunk_unlock(cerr, s.h.c) >= 0
	})
}

// Refresh reads changes of the file by another program (blosc2_schunk_refresh). Chunks are checked
// again before their next use. It returns errors.ErrUnsupported for the super-chunk of an Array:
// use Array.Refresh.
func (s *SChunk) Refresh() error {
	const op = "refresh"
	return s.shared(op, func(cerr *C.goblosc2_err_t) bool {
		return C.goblosc2_schunk_refresh(cerr, s.h.c, &s.facts) >= 0
	})
}

func (s *SChunk) shared(op string, call func(*C.goblosc2_err_t) bool) error {
	if err := s.h.lock(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	refresh := op == "refresh"
	if refresh && s.array {
		return refused(op, s.path, fmt.Errorf("%w: the super-chunk of an array, refresh the array", errors.ErrUnsupported))
	}
	var cerr C.goblosc2_err_t
	if !call(&cerr) {
		return s.h.failed(op, &cerr)
	}
	if !refresh || s.path == "" {
		return nil
	}
	return s.recheckLocked(op)
}

// recheckLocked marks all chunks of the file as unchecked, as after opening.
func (s *SChunk) recheckLocked(op string) error {
	f, err := readFrame(s.path, s.base, s.allow)
	if err == nil {
		err = s.setUnread(f)
	}
	if err != nil {
		return s.h.breakOn(refused(op, s.path, invalid(err)))
	}
	return nil
}

// Refresh reads changes of the shape and the elements by another program (b2nd_refresh). The number
// of dimensions, the chunk shape and the block shape must be unchanged.
func (a *Array) Refresh() error {
	const op = "refresh"
	s := a.sc
	if err := s.h.lock(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	if s.path != "" { // before the library reads it
		if _, err := readFrame(s.path, s.base, s.allow); err != nil {
			return s.h.breakOn(refused(op, s.path, err))
		}
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_array_refresh(&cerr, s.h.c, &a.geometry, &s.facts) < 0 {
		return s.h.breakOn(s.h.failed(op, &cerr))
	}
	if s.path == "" {
		return nil
	}
	return s.recheckLocked(op)
}
