// Opening what others wrote: header, trailer and index are checked before the
// library sees the frame.

package cblosc

// #include "shim.h"
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/hyperslab/hyperslab/format/b2nd"
	"github.com/hyperslab/hyperslab/format/cframe"
)

// OpenSChunk opens a super-chunk: a file, or a sparse directory
// (blosc2_schunk_open). The frame is checked in Go first, each chunk when it is
// touched the first time.
//
// It returns fs.ErrNotExist; ErrFormat, with format.ErrMagic, format.ErrTruncated,
// format.ErrCorrupt or format.ErrLimit; errors.ErrUnsupported for chunks of
// variable length (C-Blosc2 3.0 and later) and for codecs and filters that are not
// linked; or an *Error from the library.
func OpenSChunk(path string) (*SChunk, error) { return openSChunk("open", path, nil) }

// OpenSChunkBytes opens a super-chunk in memory from the bytes of a contiguous
// frame (blosc2_schunk_from_buffer). b is copied, and all of it is checked. It
// returns ErrSize for bytes behind the frame, and the errors of OpenSChunk.
func OpenSChunkBytes(b []byte) (*SChunk, error) { return openSChunkBytes("open", b, nil) }

// openSChunk opens the frame at path, as an array if a is not nil.
func openSChunk(op, path string, a *Array) (*SChunk, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return nil, refused(op, path, fmt.Errorf("%w: path %q", ErrParam, path))
	}
	path = filepath.Clean(path)
	f, err := readFrame(path)
	if err != nil {
		return nil, refused(op, path, err)
	}
	s, err := newSChunk(f, path, a)
	if err != nil {
		return nil, refused(op, path, err)
	}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	if C.goblosc2_schunk_open(&cerr, cString(path), &c, &s.facts) < 0 {
		return nil, failed(op, path, &cerr)
	}
	s.h = own(c, kind(a), path)
	return s, nil
}

// openSChunkBytes opens the frame b, as an array if a is not nil.
func openSChunkBytes(op string, b []byte, a *Array) (*SChunk, error) {
	f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	if err == nil && int64(len(b)) != f.FrameSize {
		return nil, refused(op, "", fmt.Errorf("%w: %d bytes, the frame has %d", ErrSize, len(b), f.FrameSize))
	}
	if err = checkFrame(f, err); err != nil {
		return nil, refused(op, "", err)
	}
	s, err := newSChunk(f, "", a)
	if err == nil {
		err = s.checkStored(0, f.NumChunks())
	}
	if err != nil {
		return nil, refused(op, "", err)
	}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	if C.goblosc2_schunk_from_bytes(&cerr, (*C.uint8_t)(unsafe.SliceData(b)), C.int64_t(len(b)), &c, &s.facts) < 0 {
		return nil, failed(op, "", &cerr)
	}
	s.h = own(c, kind(a), "")
	return s, nil
}

func kind(a *Array) string {
	if a == nil {
		return "SChunk"
	}
	return "Array"
}

// newSChunk returns what is known of a frame before the library opens it.
func newSChunk(f *cframe.Frame, path string, a *Array) (*SChunk, error) {
	s := &SChunk{path: path, framed: true, delta: usesDelta(f.Filters)}
	s.facts = C.goblosc2_facts_t{nchunks: C.int64_t(f.NumChunks()), nbytes: C.int64_t(f.NBytes),
		chunksize: C.int32_t(f.ChunkSize), typesize: C.int32_t(f.TypeSize)}
	if a != nil {
		m, err := checkArray(f)
		if err != nil {
			return nil, err
		}
		a.caterva, s.array = m.Caterva, true
		s.block = int(f.TypeSize)
		for _, b := range m.Blocks {
			s.block *= int(b)
		}
	}
	var err error
	s.pending, err = newPending(f, path)
	return s, err
}

// readFrame reads and checks the frame at path. Its reader opens the file for each
// read, as the library does.
func readFrame(path string) (*cframe.Frame, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		f, err := cframe.ReadDir(os.DirFS(path))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("a directory without %s: %w", cframe.IndexFile, ErrFormat)
			return nil, err
		}
		return f, checkFrame(f, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: not a regular file", ErrFormat)
	}
	f, err := cframe.Read(fileReader(path), info.Size())
	return f, checkFrame(f, err)
}

// checkFrame says whether the library may open the frame, whose reading gave err.
func checkFrame(f *cframe.Frame, err error) error {
	if err == nil {
		err = f.Check()
	}
	switch {
	case err != nil && errors.As(err, new(*fs.PathError)):
		return err // the file, not its contents
	case err != nil:
		return invalid(err)
	case f.VariableChunks() || f.VLBlocks():
		// 2.17 opens it without an error and sees no chunks.
		return fmt.Errorf("%w: a frame of format %d, with chunks or blocks of variable length (C-Blosc2 3.0)", errors.ErrUnsupported, f.Version())
	}
	return nil
}

// checkArray returns the metalayer of an array that the library can use.
func checkArray(f *cframe.Frame) (b2nd.Meta, error) {
	m, ok, err := f.Array()
	switch {
	case err != nil:
		return m, invalid(err)
	case !ok:
		return m, fmt.Errorf("%w: a frame without a b2nd or caterva metalayer", ErrFormat)
	case len(m.Shape) > MaxDim:
		return m, errTooManyDims(len(m.Shape))
	}
	return m, nil
}

// fileReader reads a file by opening it for each read.
type fileReader string

func (path fileReader) ReadAt(p []byte, off int64) (n int, err error) {
	f, err := os.Open(string(path))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err = f.ReadAt(p, off)
	if err == io.EOF && n == len(p) {
		err = nil
	}
	return n, err
}
