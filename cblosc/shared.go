// Frames that several programs use at a time: locks, and what others have changed.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
)

// newer is the error of a function that the linked library does not have.
func newer(op, path, function, version string) error {
	return refused(op, path, fmt.Errorf("%w: %s needs C-Blosc2 %s, this is %s", errors.ErrUnsupported, function, version, headerVersion))
}

// hasLocks reports whether the library the package was compiled with has locks.
const hasLocks = C.HYPERSLAB_BLOSC2 >= 302

// Lock keeps other programs that lock from the frame until Unlock
// (blosc2_schunk_lock). It needs C-Blosc2 3.2: errors.ErrUnsupported before.
func (s *SChunk) Lock() error {
	return s.shared("lock", "blosc2_schunk_lock", func(cerr *C.goblosc2_err_t) bool {
		return C.goblosc2_schunk_lock(cerr, s.h.c) >= 0
	})
}

// Unlock ends Lock (blosc2_schunk_unlock). It needs C-Blosc2 3.2:
// errors.ErrUnsupported before.
func (s *SChunk) Unlock() error {
	return s.shared("unlock", "blosc2_schunk_unlock", func(cerr *C.goblosc2_err_t) bool {
		return C.goblosc2_schunk_unlock(cerr, s.h.c) >= 0
	})
}

// Refresh takes over what another program has changed in the file
// (blosc2_schunk_refresh). Chunks are checked again when they are touched. It needs
// C-Blosc2 3.2: errors.ErrUnsupported before, and for the super-chunk of an Array,
// which has a Refresh of its own.
func (s *SChunk) Refresh() error {
	const op = "refresh"
	return s.shared(op, "blosc2_schunk_refresh", func(cerr *C.goblosc2_err_t) bool {
		return C.goblosc2_schunk_refresh(cerr, s.h.c, &s.facts) >= 0
	})
}

func (s *SChunk) shared(op, function string, call func(*C.goblosc2_err_t) bool) error {
	if err := s.h.lock(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	if !hasLocks {
		return newer(op, s.path, function, "3.2")
	}
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
	return s.checkAnewLocked(op)
}

// checkAnewLocked takes what the file holds now for as unknown as when it was opened.
func (s *SChunk) checkAnewLocked(op string) error {
	f, err := readFrame(s.path, s.base, s.allow)
	if err == nil {
		s.pending, err = newPending(f, s.path, s.base)
	}
	if err != nil {
		return s.h.breakOn(refused(op, s.path, err))
	}
	return nil
}

// Refresh takes over the shape and the elements that another program has changed in the
// file (b2nd_refresh). The rank and the shapes of chunks and blocks must be the same.
// It needs C-Blosc2 3.2: errors.ErrUnsupported before.
func (a *Array) Refresh() error {
	const op = "refresh"
	s := a.sc
	if err := s.h.lock(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	if !hasLocks {
		return newer(op, s.path, "b2nd_refresh", "3.2")
	}
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
	return s.checkAnewLocked(op)
}
