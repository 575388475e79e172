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
	"math"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/regular"
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
	if path == "" {
		return nil, refused("open", path, errNoPath(path))
	}
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
	// the file. 0 means DefaultMapping. If the file grows beyond it, the call returns an *Error
	// with syscall.EFBIG and the handle is broken.
	Mapping int64

	// Allow is [DParams.Allow] for the chunks of the frame.
	Allow chunk.Policy

	medium *medium // nil for a file
}

func errNoPath(path string) error { return fmt.Errorf("%w: path %q", ErrParam, path) }

// Map is the kind of mapping of a file.
type Map int

// Kinds of mapping.
const (
	NotMapped  Map = C.GOBLOSC2_MAP_NONE
	MapRead    Map = C.GOBLOSC2_MAP_READ    // read-only
	MapChange  Map = C.GOBLOSC2_MAP_CHANGE  // changes go to the file and are on disk after Close
	MapPrivate Map = C.GOBLOSC2_MAP_PRIVATE // changes stay in memory and are lost when the handle is closed
)

// DefaultMapping is the address space of a mapped file: 1 GiB. The file can grow up to it.
const DefaultMapping = 1 << 30

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
		o.Mapping = DefaultMapping
	}
	if err := (&DParams{Allow: o.Allow}).Validate(); err != nil {
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
	return openSChunkBytes("open", b, chunk.Policy{}, nil)
}

// openSChunk opens the frame at path. If a is not nil, it opens the frame as an array.
func openSChunk(op, path string, o OpenOptions, a *Array) (*SChunk, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return nil, refused(op, path, errNoPath(path))
	}
	if o.medium == nil {
		path = filepath.Clean(path)
	}
	if err := o.check(); err != nil {
		return nil, refused(op, path, err)
	}
	f, err := o.readFrame(path)
	if err == nil && o.Map != NotMapped && f.Type() != cframe.Contiguous {
		err = fmt.Errorf("%w: mapping a directory", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, refused(op, path, err)
	}
	s, err := newSChunk(f, path, o.Offset, a)
	if err != nil {
		return nil, refused(op, path, err)
	}
	if o.medium != nil && s.pending != nil {
		s.pending.src = io.NewSectionReader(o.medium, o.Offset, math.MaxInt64-o.Offset)
	}
	s.allow = o.Allow
	if o.Map != NotMapped {
		s.mapping = o.Mapping
	}
	// These bytes are all that the library reads to open a frame. Go provides them, because the
	// library dereferences a null pointer when one of its reads fails.
	head, trailer, err := f.Ends()
	if err != nil {
		return nil, refused(op, path, checkFrame(f, o.Allow, err))
	}
	ends := C.goblosc2_ends_t{header_len: C.int64_t(len(head)), trailer_len: C.int64_t(len(trailer)), frame_len: C.int64_t(f.FrameSize)}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	k := hooksFor(o.medium, allowsGo(o.Allow))
	if C.goblosc2_schunk_open(&cerr, cString(path), C.int64_t(o.Offset), C.int32_t(o.Map), C.int64_t(o.Mapping), k.number(), cBool(o.medium != nil), cBool(a != nil),
		(*C.uint8_t)(unsafe.SliceData(head)), (*C.uint8_t)(unsafe.SliceData(trailer)), ends, &c, &s.facts) < 0 {
		return nil, k.abandon(failed(op, path, &cerr))
	}
	s.h = ownHooked(c, kind(a), path, k)
	s.h.beforeChange = func() error { return s.checkStored(0, int64(s.facts.nchunks)) }
	s.h.reading = o.ReadOnly || f.Version() > newestFrame
	return s, nil
}

// openSChunkBytes opens the frame b. If a is not nil, it opens the frame as an array.
func openSChunkBytes(op string, b []byte, allow chunk.Policy, a *Array) (*SChunk, error) {
	f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	if err == nil && int64(len(b)) != f.FrameSize {
		return nil, refused(op, "", fmt.Errorf("%w: %d bytes, the frame has %d", ErrSize, len(b), f.FrameSize))
	}
	if err = checkFrame(f, allow, err); err != nil {
		return nil, refused(op, "", err)
	}
	s, err := newSChunk(f, "", 0, a)
	if err == nil {
		s.allow = allow
		err = s.checkStored(0, f.NumChunks())
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
	s.h.reading = f.Version() > newestFrame
	return s, nil
}

func kind(a *Array) string {
	if a == nil {
		return "SChunk"
	}
	return "Array"
}

// newSChunk returns an SChunk with the properties of a frame that the library has not opened yet.
func newSChunk(f *cframe.Frame, path string, base int64, a *Array) (*SChunk, error) {
	s := &SChunk{path: path, base: base, framed: true, whole: f.Type() == cframe.Contiguous, entire: usesDelta(f.Filters)}
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
	s.pending, err = newPending(f, path, base)
	if err == nil {
		err = s.pending.checkFirst()
	}
	if err == nil && f.VLBlocks() && f.NumChunks() > 0 {
		if a != nil {
			return nil, fmt.Errorf("%w: an array with blocks of variable length", errors.ErrUnsupported)
		}
		s.vl, s.pending = s.pending, nil
	}
	return s, err
}

// readFrame reads and checks the frame on the medium or at path.
func (o *OpenOptions) readFrame(path string) (*cframe.Frame, error) {
	if o.medium == nil {
		return readFrame(path, o.Offset, o.Allow)
	}
	size := max(o.medium.size-o.Offset, 0)
	f, err := cframe.Read(io.NewSectionReader(o.medium, o.Offset, size), size)
	return f, checkFrame(f, o.Allow, err)
}

// readFrame reads and checks the frame at offset in the file path, or in the directory path. Its
// reader opens the file for each read, as the library does.
func readFrame(path string, offset int64, allow chunk.Policy) (*cframe.Frame, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if offset > 0 {
			return nil, fmt.Errorf("%w: an offset of %d bytes into a directory", ErrParam, offset)
		}
		f, err := cframe.ReadDir(os.DirFS(path))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("a directory without %s: %w", cframe.IndexFile, ErrFormat)
			return nil, err
		}
		return f, checkFrame(f, allow, err)
	}
	if err := regular.Check(path, info); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	size := max(info.Size()-offset, 0)
	f, err := cframe.Read(io.NewSectionReader(fileReader(path), offset, size), size)
	return f, checkFrame(f, allow, err)
}

// newestFrame is the frame format that the library of this package writes. Frames of later formats
// are read-only.
const newestFrame = 2

// checkFrame reports whether the library may open the frame f. err is the result of reading f.
func checkFrame(f *cframe.Frame, allow chunk.Policy, err error) error {
	if err == nil {
		err = f.CheckPolicy(allow)
	}
	switch {
	case err != nil && errors.As(err, new(*fs.PathError)):
		return err // an error of the file, not of its contents
	case err != nil:
		return invalid(err)
	case f.VariableChunks() && !f.VLBlocks() && f.NumChunks() > 0:
		return fmt.Errorf("%w: chunks of variable length", errors.ErrUnsupported)
	}
	return nil
}

// checkArray returns the metalayer of an array, or an error if the library cannot use it.
func checkArray(f *cframe.Frame) (b2ndmeta.Meta, error) {
	m, ok, err := f.Array()
	switch {
	case err != nil:
		return m, invalid(err)
	case !ok && (f.VariableChunks() || f.VLBlocks()):
		return m, fmt.Errorf("%w: a frame of format %d without an array: its chunks, of variable length, hold objects", errors.ErrUnsupported, f.Version())
	case !ok:
		return m, fmt.Errorf("%w: a frame without a b2nd or caterva metalayer", ErrFormat)
	case len(m.Shape) > MaxDim:
		return m, errTooManyDims(len(m.Shape))
	}
	return m, nil
}

// fileReader reads from a file that it opens for each read.
type fileReader string

func (path fileReader) ReadAt(p []byte, off int64) (n int, err error) {
	f, _, err := regular.Open(string(path))
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
