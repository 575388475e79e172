// Opening of frames from files and bytes. Go checks header, trailer and index before the library
// reads the frame.

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
	"unicode"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/guard"
)

// OpenSChunk opens a super-chunk: a file, or a sparse directory (blosc2_schunk_open). The frame is
// checked in Go first. Each chunk is checked when it is used for the first time.
//
// An empty frame of format 3, as C-Blosc2 3 writes it for an array without elements, is read-only.
//
// It returns fs.ErrNotExist; ErrFormat, with format.ErrMagic, format.ErrTruncated,
// format.ErrCorrupt or format.ErrLimit; errors.ErrUnsupported for chunks of variable length
// (C-Blosc2 3.0 and later) and for codecs and filters that are not linked; or an *Error from the
// library. With C-Blosc2 3.0 a file with blocks of variable length opens read-only, for VLBlock.
func OpenSChunk(path string) (*SChunk, error) { return OpenSChunkWith(path, OpenOptions{}) }

// OpenSChunkWith is OpenSChunk with options (blosc2_schunk_open_offset, blosc2_schunk_open_udio,
// blosc2_schunk_open_offset_udio). It returns ErrParam for contradictory options, and the errors of
// OpenSChunk.
func OpenSChunkWith(path string, o OpenOptions) (*SChunk, error) {
	return openSChunk("open", path, o, nil)
}

// OpenOptions describe how a file is opened. The zero value gives the behaviour of OpenSChunk.
type OpenOptions struct {
	// Offset is the start of the frame in its file, in bytes. A frame with an Offset above 0 is
	// read-only, because a growing frame could overwrite data after it.
	Offset int64

	// ReadOnly makes every change fail with ErrReadOnly.
	ReadOnly bool

	// Map maps the file instead of opening it for each call. Only contiguous frames can be mapped.
	// If another program truncates a mapped file, the process gets SIGBUS and ends.
	Map Map

	// Mapping is the address space in bytes for MapChange and MapPrivate, at least the length of
	// the file. 0 means 1 GiB. If the file grows beyond it, the call returns an *Error
	// with syscall.EFBIG and the handle is broken.
	Mapping int64

	// Allow is [DParams.Allow] for the chunks of the frame.
	Allow Allow

	medium *medium // nil for a file
}

// checkPath checks a path for the library. It returns ErrParam for a path that is empty or holds a
// zero byte. On Windows it returns errors.ErrUnsupported for other characters than those of ASCII,
// which the library would replace, unless UTF-8 is the code page of the process.
func checkPath(path string) error {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("%w: path: got %q, want characters other than a zero byte", ErrParam, path)
	}
	notASCII := func(r rune) bool { return r > unicode.MaxASCII }
	if !pathsAreUTF8() && strings.ContainsFunc(path, notASCII) {
		return fmt.Errorf("%w: path: got %q, want ASCII characters, because C-Blosc2 would replace others", errors.ErrUnsupported, path)
	}
	return nil
}

// Map is the kind of mapping of a file.
type Map int

// Kinds of mapping.
const (
	NotMapped  Map = C.GOBLOSC2_MAP_NONE
	MapRead    Map = C.GOBLOSC2_MAP_READ    // read-only
	MapChange  Map = C.GOBLOSC2_MAP_CHANGE  // changes go to the file and are on disk after Close
	MapPrivate Map = C.GOBLOSC2_MAP_PRIVATE // changes stay in memory and are lost when the handle is closed
)

// defaultMapping is the default address space of a mapped file: 1 GiB. The file can grow up to it.
const defaultMapping = 1 << 30

// check reports contradictory options and sets defaults.
func (o *OpenOptions) check() error {
	switch {
	case o.Offset < 0:
		return fmt.Errorf("%w: Offset = %d, want ≥ 0", ErrParam, o.Offset)
	case o.Map < NotMapped || o.Map > MapPrivate:
		return fmt.Errorf("%w: Map = %d, want 0 to 3", ErrParam, o.Map)
	case o.Mapping != 0 && (o.Map != MapChange && o.Map != MapPrivate || o.Mapping < 0):
		return fmt.Errorf("%w: Mapping = %d, want ≥ 0, with MapChange or MapPrivate", ErrParam, o.Mapping)
	}
	if o.Mapping == 0 {
		o.Mapping = defaultMapping
	}
	if err := (&DParams{Allow: o.Allow}).validate(); err != nil {
		return err
	}
	if o.medium != nil {
		if err := o.medium.check(o); err != nil {
			return err
		}
		o.ReadOnly = o.ReadOnly || o.medium.w == nil
	}
	o.ReadOnly = o.ReadOnly || o.Offset > 0 || o.Map == MapRead
	return nil
}

// OpenSChunkBytes opens a super-chunk in memory from a copy of the contiguous frame b
// (blosc2_schunk_from_buffer). All of b is checked. It returns ErrSize for bytes after the frame,
// and the errors of OpenSChunk.
func OpenSChunkBytes(b []byte) (*SChunk, error) {
	return openSChunkBytes("open", b, Allow{}, nil)
}

// openSChunk opens the frame at path. If a is not nil, it opens the frame as an array.
func openSChunk(op, path string, o OpenOptions, a *Array) (*SChunk, error) {
	if o.medium == nil {
		if err := checkPath(path); err != nil {
			return nil, refused(op, path, err)
		}
		path = filepath.Clean(path)
	}
	if err := o.check(); err != nil {
		return nil, refused(op, path, err)
	}
	f, err := o.readFrame(path)
	if err == nil && o.Map != NotMapped && !f.Contiguous {
		err = fmt.Errorf("%w: mapping a directory", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, refused(op, path, err)
	}
	s, err := newSChunk(f, path, o.Offset, a)
	if err != nil {
		return nil, refused(op, path, err)
	}
	s.allow = o.Allow
	if o.Map != NotMapped {
		s.mapping = o.Mapping
	}
	// These bytes are all that the library reads to open a frame. Go provides them, because the
	// library dereferences a null pointer when one of its reads fails.
	head, trailer, err := f.Ends()
	if err != nil {
		return nil, refused(op, path, invalidFrame(err))
	}
	ends := C.goblosc2_ends_t{header_len: C.int64_t(len(head)), trailer_len: C.int64_t(len(trailer)), frame_len: C.int64_t(f.Size)}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	k := hooksFor(o.medium, allowsGo(o.Allow))
	if C.goblosc2_schunk_open(&cerr, cString(path), C.int64_t(o.Offset), C.int32_t(o.Map), C.int64_t(o.Mapping), k.number(), cBool(o.medium != nil), cBool(a != nil),
		(*C.uint8_t)(unsafe.SliceData(head)), (*C.uint8_t)(unsafe.SliceData(trailer)), ends, &c, &s.facts) < 0 {
		return nil, k.abandon(failed(op, path, &cerr))
	}
	s.h = ownHooked(c, kind(a), path, k)
	s.h.beforeChange = func() error { return s.checkStored(0, int64(s.facts.nchunks)) }
	s.h.reading = o.ReadOnly || f.Version > newestFrame
	return s, nil
}

// openSChunkBytes opens the frame b. If a is not nil, it opens the frame as an array.
func openSChunkBytes(op string, b []byte, allow Allow, a *Array) (*SChunk, error) {
	f, err := openFrame(bytes.NewReader(b), int64(len(b)), allow)
	if err == nil && int64(len(b)) != f.Size {
		err = fmt.Errorf("%w: %d bytes, the frame has %d", ErrSize, len(b), f.Size)
	}
	if err != nil {
		return nil, refused(op, "", err)
	}
	s, err := newSChunk(f, "", 0, a)
	if err == nil {
		s.allow = allow
		err = s.checkStored(0, f.NumChunks)
	}
	if err != nil {
		return nil, refused(op, "", err)
	}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	k := hooksFor(nil, allowsGo(allow))
	if C.goblosc2_schunk_from_bytes(&cerr, (*C.uint8_t)(unsafe.SliceData(b)), C.int64_t(len(b)), k.number(), cBool(a != nil), &c, &s.facts) < 0 {
		return nil, k.abandon(failed(op, "", &cerr))
	}
	s.h = ownHooked(c, kind(a), "", k)
	s.h.reading = f.Version > newestFrame
	return s, nil
}

func kind(a *Array) string {
	if a == nil {
		return "SChunk"
	}
	return "Array"
}

// newSChunk returns an SChunk with the properties of a frame that the library has not opened yet.
func newSChunk(f *guard.Frame, path string, base int64, a *Array) (*SChunk, error) {
	s := &SChunk{path: path, base: base, framed: true, whole: f.Contiguous, entire: f.Delta}
	s.facts = C.goblosc2_facts_t{nchunks: C.int64_t(f.NumChunks), nbytes: C.int64_t(f.NBytes),
		chunksize: C.int32_t(f.ChunkSize), typesize: C.int32_t(f.TypeSize)}
	if a != nil {
		m, err := checkArray(f)
		if err != nil {
			return nil, err
		}
		a.caterva, s.array = m.Caterva, true
		s.block = f.TypeSize
		for _, b := range m.Blocks {
			s.block *= int(b)
		}
	}
	if err := s.setUnread(f); err != nil {
		return nil, invalid(err)
	}
	if s.variable && a != nil {
		return nil, fmt.Errorf("%w: an array with blocks of variable length", errors.ErrUnsupported)
	}
	return s, nil
}

// setUnread marks all chunks of a frame as unchecked.
func (s *SChunk) setUnread(f *guard.Frame) error {
	all, err := f.Unread(decode)
	if err != nil {
		return err
	}
	s.pending, s.vl, s.variable = all, nil, f.VLBlocks && f.NumChunks > 0
	if s.variable {
		s.pending, s.vl = nil, all
	}
	return nil
}

// decode decompresses one chunk, for example the index of a frame.
func decode(dst, b []byte) error {
	d, err := NewDecompressor(nil)
	if err != nil {
		return err
	}
	_, err = d.Decompress(dst, b)
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

var errVariable = fmt.Errorf("%w: blocks of variable length, which only VLBlock reads", errors.ErrUnsupported)

// checkStored verifies that the chunks first to end (exclusive) exist and are safe for the library.
func (s *SChunk) checkStored(first, end int64) error {
	if n := int64(s.facts.nchunks); first < 0 || first > end || end > n {
		return fmt.Errorf("%w: chunk %d of %d", ErrRegion, first, n)
	}
	if s.variable {
		return errVariable
	}
	for i := first; i < end && s.pending != nil; i++ {
		want := guard.Expected{NBytes: s.chunkLen(i), TypeSize: int(s.facts.typesize)}
		if s.array {
			want.Block = s.block
		}
		c, err := s.pending.Check(i, s.allow.policy(), want)
		if err != nil {
			return fmt.Errorf("chunk %d: %w", i, invalid(err))
		}
		s.entire = s.entire || c.Entire()
		s.pending = s.pending.Done(i)
	}
	return nil
}

// checkStoredRegion verifies that the chunks that r touches are safe for the library.
func (a *Array) checkStoredRegion(r *region) error {
	if a.sc.pending == nil || r.nbytes == 0 {
		return nil
	}
	return a.eachChunk(r, func(i int64, _ *[maxDims]int64) error { return a.sc.checkStored(i, i+1) })
}

// readFrame reads and checks the frame on the medium or at path.
func (o *OpenOptions) readFrame(path string) (*guard.Frame, error) {
	if o.medium == nil {
		return readFrame(path, o.Offset, o.Allow)
	}
	size := max(o.medium.size-o.Offset, 0)
	return openFrame(io.NewSectionReader(o.medium, o.Offset, size), size, o.Allow)
}

// readFrame reads and checks the frame at offset in the file path, or in the directory path. Its
// reader opens the file for each read, as the library does.
func readFrame(path string, offset int64, allow Allow) (*guard.Frame, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if offset > 0 {
			return nil, fmt.Errorf("%w: an offset of %d bytes into a directory", ErrParam, offset)
		}
		if err := checkFiles(path); err != nil {
			return nil, err
		}
		return checkFrame(guard.OpenDir(os.DirFS(path), allow.policy()))
	}
	if err := regularfile.Check(path, info); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	size := max(info.Size()-offset, 0)
	return openFrame(io.NewSectionReader(fileReader(path), offset, size), size, allow)
}

// checkFiles returns ErrFormat if a file of a sparse frame is not a regular file. The library would
// wait at a named pipe, and read a device without end.
func checkFiles(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.Type().IsRegular() || !guard.IsFrameFile(e.Name()) {
			continue
		}
		name := filepath.Join(dir, e.Name())
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) { // a link without a target
			continue
		}
		if err == nil {
			err = regularfile.Check(name, info)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	return nil
}

func openFrame(r io.ReaderAt, size int64, allow Allow) (*guard.Frame, error) {
	return checkFrame(guard.OpenFrame(r, size, allow.policy()))
}

// newestFrame is the frame format that the library of this package writes. Frames of later formats
// are read-only.
const newestFrame = 2

// checkFrame refuses a frame that the library cannot open. err is the result of reading f.
func checkFrame(f *guard.Frame, err error) (*guard.Frame, error) {
	if err != nil {
		return nil, invalidFrame(err)
	}
	if f.VariableChunks && !f.VLBlocks && f.NumChunks > 0 {
		return nil, fmt.Errorf("%w: chunks of variable length", errors.ErrUnsupported)
	}
	return f, nil
}

// invalidFrame is invalid for an error that may also be one of the file.
func invalidFrame(err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return err
	}
	return invalid(err)
}

// checkArray returns the metalayer of an array, or an error if the library cannot use it.
func checkArray(f *guard.Frame) (guard.Array, error) {
	m, ok, err := f.Array()
	switch {
	case err != nil:
		return m, invalid(err)
	case !ok && (f.VariableChunks || f.VLBlocks):
		return m, fmt.Errorf("%w: a frame of format %d without an array: its chunks, of variable length, hold objects", errors.ErrUnsupported, f.Version)
	case !ok:
		return m, fmt.Errorf("%w: a frame without a b2nd or caterva metalayer", errs.ErrInvalidKind)
	case len(m.Shape) > MaxDim:
		return m, errTooManyDims(len(m.Shape))
	}
	return m, nil
}

// fileReader reads from a file that it opens for each read.
type fileReader string

func (path fileReader) ReadAt(p []byte, off int64) (n int, err error) {
	f, _, err := regularfile.Open(string(path))
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
