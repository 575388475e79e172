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
func OpenSChunk(path string) (*SChunk, error) {
	s, _, err := openSChunk("open", path)
	return s, err
}

// OpenSChunkBytes opens a super-chunk in memory from the bytes of a contiguous
// frame (blosc2_schunk_from_buffer). b is copied, and all of it is checked. It
// returns ErrSize for bytes behind the frame, and the errors of OpenSChunk.
func OpenSChunkBytes(b []byte) (*SChunk, error) {
	s, _, err := openSChunkBytes("open", b)
	return s, err
}

func openSChunk(op, path string) (*SChunk, *cframe.Frame, error) {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return nil, nil, refused(op, path, fmt.Errorf("%w: path %q", ErrParam, path))
	}
	path = filepath.Clean(path)
	f, err := readFrame(path)
	if err != nil {
		return nil, nil, refused(op, path, err)
	}
	s := &SChunk{path: path, framed: true}
	if s.pending, err = newPending(f, path); err != nil {
		return nil, nil, refused(op, path, err)
	}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	if C.goblosc2_schunk_open(&cerr, cString(path), &c, &s.facts) < 0 {
		return nil, nil, failed(op, path, &cerr)
	}
	s.h = own(c, "SChunk", path)
	return s, f, nil
}

func openSChunkBytes(op string, b []byte) (*SChunk, *cframe.Frame, error) {
	f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	if err == nil && int64(len(b)) != f.FrameSize {
		return nil, nil, refused(op, "", fmt.Errorf("%w: %d bytes, the frame has %d", ErrSize, len(b), f.FrameSize))
	}
	if err = checkFrame(f, err); err != nil {
		return nil, nil, refused(op, "", err)
	}
	s := &SChunk{framed: true}
	if s.pending, err = newPending(f, ""); err != nil {
		return nil, nil, refused(op, "", err)
	}
	s.facts = C.goblosc2_facts_t{nchunks: C.int64_t(f.NumChunks()), nbytes: C.int64_t(f.NBytes),
		chunksize: C.int32_t(f.ChunkSize), typesize: C.int32_t(f.TypeSize)}
	if err := s.checkStored(0, f.NumChunks()); err != nil {
		return nil, nil, refused(op, "", err)
	}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	if C.goblosc2_schunk_from_bytes(&cerr, (*C.uint8_t)(unsafe.SliceData(b)), C.int64_t(len(b)), &c, &s.facts) < 0 {
		return nil, nil, failed(op, "", &cerr)
	}
	s.h = own(c, "SChunk", "")
	return s, f, nil
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

// checkArray says whether the frame is an array that the library can use.
func checkArray(f *cframe.Frame) (caterva bool, err error) {
	m, ok, err := f.Array()
	switch {
	case err != nil:
		return false, invalid(err)
	case !ok:
		return false, fmt.Errorf("%w: a frame without a b2nd or caterva metalayer", ErrFormat)
	case len(m.Shape) > MaxDim:
		return false, errTooManyDims(len(m.Shape))
	}
	return m.Caterva, nil
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
