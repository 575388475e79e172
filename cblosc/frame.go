// Opening what others wrote.

package cblosc

// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"
)

// OpenSChunk opens a super-chunk: a file, or a sparse directory
// (blosc2_schunk_open).
//
// It returns fs.ErrNotExist, ErrFormat, errors.ErrUnsupported for a version that
// the library does not read, or an *Error from the library.
func OpenSChunk(path string) (*SChunk, error) { return openSChunk("open", path) }

// OpenSChunkBytes opens a super-chunk in memory from the bytes of a contiguous
// frame (blosc2_schunk_from_buffer). b is copied.
func OpenSChunkBytes(b []byte) (*SChunk, error) { return openSChunkBytes("open", b) }

func openSChunk(op, path string) (*SChunk, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return nil, refused(op, path, fmt.Errorf("%w: path %q", ErrParam, path))
	}
	path = filepath.Clean(path)
	if _, err := os.Stat(path); err != nil {
		return nil, refused(op, path, err)
	}
	s := &SChunk{path: path, framed: true}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	if C.goblosc2_schunk_open(&cerr, cString(path), &c, &s.facts) < 0 {
		return nil, failed(op, path, &cerr)
	}
	s.h = own(c, "SChunk", path)
	return s, nil
}

func openSChunkBytes(op string, b []byte) (*SChunk, error) {
	s := &SChunk{}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	if C.goblosc2_schunk_from_bytes(&cerr, (*C.uint8_t)(unsafe.SliceData(b)), C.int64_t(len(b)), &c, &s.facts) < 0 {
		return nil, failed(op, "", &cerr)
	}
	s.h = own(c, "SChunk", "")
	return s, nil
}

// checkArray looks for the metalayer of an array.
func (s *SChunk) checkArray() (caterva bool, err error) {
	names := s.Meta()
	have := names.namesLocked()
	switch {
	case slices.Contains(have, "b2nd"):
		return false, nil
	case slices.Contains(have, "caterva"):
		return true, nil
	}
	return false, fmt.Errorf("%w: no b2nd or caterva metalayer: %w", ErrFormat, ErrNotFound)
}

// pending is what is not checked yet.
type pending struct{}

func (p *pending) insert(int64) {}
func (p *pending) done(int64)   {}
func (p *pending) remove(int64) {}

// checkStored makes sure that chunks first to end, not included, exist.
func (s *SChunk) checkStored(first, end int64) error {
	if n := int64(s.facts.nchunks); first < 0 || first > end || end > n {
		return fmt.Errorf("%w: chunk %d of %d", ErrRegion, first, n)
	}
	return nil
}

func (a *Array) checkStoredRegion(r *region) error { return nil }
