// Super-chunks: sequences of chunks of one size.

package cblosc

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// SChunk is a sequence of chunks. Every chunk holds ChunkSize bytes of data, and the last may hold
// fewer. ChunkSize is the size of the first chunk added. A super-chunk of records has chunks of
// CompressVL instead, of any size: AppendChunk adds them, and VLBlock reads their blocks.
type SChunk struct {
	h        *handle
	path     string
	base     int64 // start of the frame in its file
	framed   bool  // contiguous or on disk: fixed metalayers must come before the first chunk
	whole    bool  // contiguous
	mapping  int64 // address space in bytes of a mapped file, 0 if not mapped
	array    bool  // the chunks tile an Array
	block    int   // for an Array: bytes in a block, padding included
	facts    C.goblosc2_facts_t
	pending  *guard.Unread // chunks of the file that are not checked yet
	variable bool          // the blocks of the chunks have variable length
	vl       *guard.Unread // offsets of the chunks of an opened frame with such blocks
	entire   bool          // chunks are decompressed whole, because the library gets parts of a chunk checked so far wrong
	allow    Allow
	with     *Compressor   // makes chunks; nil: the library's context
	through  *Decompressor // decompresses chunks; nil: the library's context
}

// CreateSChunk creates a super-chunk (blosc2_schunk_new): in memory, as a file if s.Contiguous, or
// as a directory with one file for each chunk. It does not overwrite existing files. A creation
// that fails in the library may leave an incomplete file.
//
// It returns ErrParam, ErrExists, fs.ErrNotExist if the parent directory is missing, or an *Error
// from the library.
func CreateSChunk(s Storage) (*SChunk, error) {
	const op = "create"
	path, err := s.place()
	if err != nil {
		return nil, refused(op, s.Path, err)
	}
	p, err := s.CParams.orDefaultOutsideArrays()
	if err != nil {
		return nil, refused(op, path, err)
	}
	params := p.toC()
	sc := &SChunk{path: path, framed: s.Contiguous || path != "", whole: s.Contiguous, mapping: s.Mapping, allow: s.allow()}
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	k := s.hooks()
	where := s.where(k)
	if C.goblosc2_schunk_new(&cerr, cPath(path), &where, &params, &c, &sc.facts) < 0 {
		return nil, k.abandon(failed(op, path, &cerr))
	}
	sc.h = ownHooked(c, "SChunk", path, k)
	return sc, nil
}

// allow returns the codecs and filters that may be read: those of DParams and those of CParams.
func (s *Storage) allow() Allow {
	var a Allow
	if s.DParams != nil {
		a = s.DParams.Allow
	}
	if s.CParams != nil {
		if c := s.CParams.Codec; c >= FirstUserID {
			a.Codecs = append(slices.Clip(a.Codecs), c)
		}
		for _, f := range s.CParams.Filters {
			if f.ID >= FirstUserID {
				a.Filters = append(slices.Clip(a.Filters), f.ID)
			}
		}
	}
	return a
}

// hooks returns the Go functions that the library may call for a super-chunk of s, or nil if there
// are none.
func (s *Storage) hooks() *hooks {
	var m *medium
	if s.Medium != nil {
		m = newMedium(s.Medium, 0)
	}
	return hooksFor(m, s.CParams != nil && s.CParams.usesGo() || s.DParams != nil && allowsGo(s.DParams.Allow))
}

// where returns the arguments for the library in addition to the path. s must be valid.
func (s *Storage) where(k *hooks) C.goblosc2_place_t {
	d, _ := s.DParams.orDefault()
	return C.goblosc2_place_t{contiguous: cBool(s.Contiguous), dthreads: C.int32_t(d.Threads), mapping: C.int64_t(s.Mapping),
		hook: k.number(), medium: cBool(s.Medium != nil)}
}

// place validates s and returns the path in a form that the library does not change. It verifies
// that the path does not exist and that its directory does.
func (s *Storage) place() (string, error) {
	if err := s.validate(); err != nil || s.Path == "" {
		return "", err
	}
	path := filepath.Clean(s.Path)
	if _, err := os.Lstat(path); err == nil {
		return "", ErrExists
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%w: %s is not a directory", ErrParam, filepath.Dir(path))
	}
	return path, nil
}

// AppendBuffer compresses src and appends it as one chunk (blosc2_schunk_append_buffer). With
// CompressWith, the Compressor makes the chunk.
//
// src must hold ChunkSize bytes; the first chunk sets ChunkSize. A shorter chunk must be the last
// one, so nothing can be appended after it.
//
// It returns ErrSize, ErrLimit, errors.ErrUnsupported for the chunks of an Array and for an order
// of filters that CParams.Validate refuses, ErrClosed, ErrBroken, or an *Error from the library.
func (s *SChunk) AppendBuffer(src []byte) error {
	const op = "append buffer"
	if err := s.h.lockWrite(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	if err := s.canAppend(len(src)); err != nil {
		return refused(op, s.path, err)
	}
	if s.with != nil {
		return s.appendMadeLocked(op, src)
	}
	if err := s.checkOrderLocked(op); err != nil {
		return err
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_schunk_append(&cerr, s.h.c, (*C.uint8_t)(unsafe.SliceData(src)), C.int32_t(len(src)), &s.facts) < 0 {
		return s.h.breakOn(s.h.failed(op, &cerr))
	}
	s.pending = s.pending.Insert(int64(s.facts.nchunks) - 1)
	return nil
}

// canAppend reports whether a chunk of n bytes of data can be appended.
func (s *SChunk) canAppend(n int) error {
	size := int(s.facts.chunksize)
	switch {
	case s.array:
		return fmt.Errorf("%w: the number of chunks of an array follows from its shape", errors.ErrUnsupported)
	case s.variable:
		return fmt.Errorf("%w: a chunk with blocks of one length after chunks with blocks of variable length", errors.ErrUnsupported)
	case n > maxBuffer:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, n, maxBuffer)
	case n == 0 || n%int(s.facts.typesize) != 0:
		// The library can write zeros of such a length to a frame but cannot read them.
		return fmt.Errorf("%w: %d bytes, want a positive multiple of the type size %d", ErrSize, n, s.facts.typesize)
	case size > 0 && n > size:
		return fmt.Errorf("%w: %d bytes, a chunk holds %d", ErrSize, n, size)
	case size > 0 && s.facts.nbytes%C.int64_t(size) != 0:
		return fmt.Errorf("%w: %d bytes after a last chunk of %d, not %d", ErrSize, n, int(s.facts.nbytes)%size, size)
	}
	return nil
}

// AppendChunk appends a compressed chunk unchanged (blosc2_schunk_append_chunk), after checking it
// including its streams. Chunks of CompressVL can have any size, but a super-chunk has either only
// such chunks or none.
//
// It returns the errors of AppendBuffer, ErrFormat, and errors.ErrUnsupported for a Blosc1 chunk,
// which a frame could store but not read.
func (s *SChunk) AppendChunk(b []byte) error {
	const op = "append chunk"
	h, _, err := guard.VariableBlocks(b, s.allow.policy())
	if h.VLBlocks {
		if err != nil {
			return refused(op, s.path, invalid(err))
		}
		return s.appendVariable(op, h, b)
	}
	h, err = s.checkForSChunk(b)
	if err != nil {
		return refused(op, s.path, err)
	}
	if err := s.h.lockWrite(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	if err := s.canAppend(h.NBytes); err != nil {
		return refused(op, s.path, err)
	}
	return s.putLocked(op, putLast, int64(s.facts.nchunks), h, b)
}

// appendVariable appends a checked chunk with blocks of variable length.
func (s *SChunk) appendVariable(op string, h guard.Chunk, b []byte) error {
	if err := s.h.lockWrite(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	if s.array || s.facts.nchunks > 0 && !s.variable {
		return refused(op, s.path, fmt.Errorf("%w: a chunk with blocks of variable length after chunks with blocks of one length", errors.ErrUnsupported))
	}
	if size := int(s.facts.typesize); size <= maxItem && h.TypeSize != size {
		return refused(op, s.path, fmt.Errorf("%w: a chunk of elements of %d bytes, the super-chunk's have %d", ErrSize, h.TypeSize, size))
	}
	err := s.putLocked(op, putLast, int64(s.facts.nchunks), h, b)
	s.variable = s.variable || err == nil
	return err
}

// InsertChunk inserts a compressed chunk before chunk i (blosc2_schunk_insert_chunk). i = NumChunks
// appends it. Its errors are those of AppendChunk, and ErrRegion.
func (s *SChunk) InsertChunk(i int64, b []byte) error {
	const op = "insert chunk"
	h, err := s.checkForSChunk(b)
	if err != nil {
		return refused(op, s.path, err)
	}
	if err := s.h.lockWrite(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	n := int64(s.facts.nchunks)
	switch {
	case s.variable:
		err = errVariable
	case i < 0 || i > n:
		err = fmt.Errorf("%w: position %d among %d chunks", ErrRegion, i, n)
	case i == n || s.array:
		err = s.canAppend(h.NBytes)
	case h.NBytes != int(s.facts.chunksize):
		err = fmt.Errorf("%w: a chunk of %d bytes of data between chunks of %d", ErrSize, h.NBytes, s.facts.chunksize)
	}
	if err != nil {
		return refused(op, s.path, err)
	}
	how := putBefore
	if i == n {
		how = putLast
	}
	return s.putLocked(op, how, i, h, b)
}

// UpdateChunk replaces chunk i with a compressed chunk (blosc2_schunk_update_chunk). Both must hold
// the same amount of data, but the last chunk can get any size up to ChunkSize. In a contiguous
// frame the bytes of the old chunk stay in the file. Its errors are those of AppendChunk, and
// ErrRegion.
func (s *SChunk) UpdateChunk(i int64, b []byte) error {
	const op = "update chunk"
	h, err := s.checkForSChunk(b)
	if err != nil {
		return refused(op, s.path, err)
	}
	if err := s.h.lockWrite(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	if err := s.checkIndex(i); err != nil {
		return refused(op, s.path, err)
	}
	size, n := int(s.facts.chunksize), h.NBytes
	last := i == int64(s.facts.nchunks)-1 && !s.array
	switch {
	case n != size && !(last && n > 0 && n < size && n%int(s.facts.typesize) == 0):
		err = fmt.Errorf("%w: a chunk of %d bytes of data for one of %d", ErrSize, n, s.chunkLen(i))
	case s.array && h.BlockSize != s.block:
		err = fmt.Errorf("%w: blocks of %d bytes, the array's have %d", ErrSize, h.BlockSize, s.block)
	default:
		err = s.checkReadable(i) // the library reads the old chunk
	}
	if err != nil {
		return refused(op, s.path, err)
	}
	return s.putLocked(op, putInPlace, i, h, b)
}

// Ways to store a chunk.
const (
	putLast    = C.GOBLOSC2_APPEND
	putBefore  = C.GOBLOSC2_INSERT
	putInPlace = C.GOBLOSC2_UPDATE
)

func (s *SChunk) putLocked(op string, how int, i int64, h guard.Chunk, b []byte) error {
	if k := Special(h.Special); (k == Repeated || k == NaNs) && h.ItemSize != int(s.facts.typesize) {
		return refused(op, s.path, fmt.Errorf("%w: a repeated value of %d bytes, elements have %d", ErrSize, h.ItemSize, s.facts.typesize))
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_schunk_put_chunk(&cerr, s.h.c, C.int32_t(how), C.int64_t(i), (*C.uint8_t)(unsafe.SliceData(b)), &s.facts) < 0 {
		return s.h.breakOn(s.h.failed(op, &cerr))
	}
	s.entire = s.entire || h.Entire()
	if how == putInPlace {
		s.pending = s.pending.Done(i)
	} else {
		s.pending = s.pending.Insert(i)
	}
	return nil
}

// DeleteChunk removes chunk i (blosc2_schunk_delete_chunk). In a contiguous frame its bytes stay in
// the file.
func (s *SChunk) DeleteChunk(i int64) error {
	const op = "delete chunk"
	if err := s.h.lockWrite(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	err := s.checkReadable(i) // the library reads the chunk
	if err == nil && s.array {
		err = fmt.Errorf("%w: the number of chunks of an array follows from its shape", errors.ErrUnsupported)
	}
	if err != nil {
		return refused(op, s.path, err)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_schunk_delete_chunk(&cerr, s.h.c, C.int64_t(i), &s.facts) < 0 {
		return s.h.breakOn(s.h.failed(op, &cerr))
	}
	s.pending = s.pending.Remove(i)
	return nil
}

// Chunk returns a copy of the compressed bytes of chunk i (blosc2_schunk_get_chunk).
func (s *SChunk) Chunk(i int64) ([]byte, error) {
	const op = "read chunk"
	if err := s.h.lock(op); err != nil {
		return nil, err
	}
	defer s.h.mu.Unlock()
	if err := s.checkReadable(i); err != nil {
		return nil, refused(op, s.path, err)
	}
	return s.chunkLocked(op, i)
}

// chunkLocked is Chunk for a checked chunk.
func (s *SChunk) chunkLocked(op string, i int64) ([]byte, error) {
	var cerr C.goblosc2_err_t
	var p *C.uint8_t
	var owned C.int32_t
	n := C.goblosc2_schunk_get_chunk(&cerr, s.h.c, C.int64_t(i), &p, &owned)
	if n < 0 {
		return nil, s.h.failed(op, &cerr)
	}
	b := takeBytes(p, C.int64_t(n), owned != 0)
	// For a sparse directory the library returns the whole file, including bytes after the chunk.
	if h, err := guard.ParseHeader(b); err == nil && h.CBytes > 0 && h.CBytes < len(b) {
		b = b[:h.CBytes:h.CBytes]
	}
	return b, nil
}

// DecompressChunk decompresses chunk i into dst and returns the size of its data in bytes
// (blosc2_schunk_decompress_chunk). dst may be longer than the data.
//
// It returns ErrRegion, ErrSize if dst is shorter than the data, ErrFormat if the stored chunk is
// not valid, ErrClosed, ErrBroken, or an *Error from the library.
func (s *SChunk) DecompressChunk(dst []byte, i int64) (int, error) {
	const op = "decompress chunk"
	if err := s.h.lock(op); err != nil {
		return 0, err
	}
	defer s.h.mu.Unlock()
	if err := s.checkReadable(i); err != nil {
		return 0, refused(op, s.path, err)
	}
	want := s.chunkLen(i)
	if len(dst) < want {
		return 0, refused(op, s.path, fmt.Errorf("%w: %d bytes, chunk %d holds %d", ErrSize, len(dst), i, want))
	}
	return s.readLocked(op, dst[:want], i)
}

// decompressLocked decompresses chunk i, which must have been checked, into dst, which must have at
// least the length of its data.
func (s *SChunk) decompressLocked(op string, dst []byte, i int64) (int, error) {
	var cerr C.goblosc2_err_t
	n := C.goblosc2_schunk_decompress(&cerr, s.h.c, C.int64_t(i), (*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(len(dst)))
	if n < 0 {
		return 0, s.h.failed(op, &cerr)
	}
	return int(n), nil
}

// checkForSChunk checks an untrusted chunk including its streams, because the library reads it back
// with a faster decoder without bounds checks.
func (s *SChunk) checkForSChunk(b []byte) (guard.Chunk, error) {
	h, err := guard.Whole(b, s.allow.policy())
	switch {
	case err != nil:
		return h, invalid(err)
	case !h.Extended:
		return h, fmt.Errorf("%w: a chunk of Blosc1 in a super-chunk, compress it again", errors.ErrUnsupported)
	}
	if err := guard.Streams(b, s.allow.policy()); err != nil {
		return h, invalid(err)
	}
	return h, nil
}

func (s *SChunk) checkIndex(i int64) error {
	if n := int64(s.facts.nchunks); i < 0 || i >= n {
		return fmt.Errorf("%w: chunk %d of %d", ErrRegion, i, n)
	}
	return nil
}

// checkReadable verifies that chunk i exists and is safe for the library.
func (s *SChunk) checkReadable(i int64) error {
	if err := s.checkIndex(i); err != nil {
		return err
	}
	return s.checkStored(i, i+1)
}

// chunkLen returns the size of the data of chunk i in bytes.
func (s *SChunk) chunkLen(i int64) int {
	rest := int64(s.facts.nbytes) - i*int64(s.facts.chunksize)
	return int(min(rest, int64(s.facts.chunksize)))
}

// NumChunks returns the number of chunks.
func (s *SChunk) NumChunks() int64 { return int64(s.read().nchunks) }

// NBytes returns the size of all data in bytes.
func (s *SChunk) NBytes() int64 { return int64(s.read().nbytes) }

// CBytes returns the size of all compressed chunks in bytes, as counted by the library.
func (s *SChunk) CBytes() int64 { return int64(s.read().cbytes) }

// ChunkSize returns the size of the data of a chunk in bytes, or 0 before the first chunk.
func (s *SChunk) ChunkSize() int { return max(int(s.read().chunksize), 0) }

// TypeSize returns the size of an element in bytes.
func (s *SChunk) TypeSize() int { return int(s.read().typesize) }

// Path returns the file or directory, or "" for a super-chunk in memory.
func (s *SChunk) Path() string { return s.path }

func (s *SChunk) read() C.goblosc2_facts_t {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	return s.facts
}

// CParams returns the parameters for compressing new chunks (blosc2_schunk_get_cparams). A file
// does not store Threads.
func (s *SChunk) CParams() (*CParams, error) {
	const op = "read parameters"
	if err := s.h.lock(op); err != nil {
		return nil, err
	}
	defer s.h.mu.Unlock()
	return s.cparamsLocked(op)
}

func (s *SChunk) cparamsLocked(op string) (*CParams, error) {
	var cerr C.goblosc2_err_t
	var p C.goblosc2_cparams_t
	if C.goblosc2_schunk_cparams(&cerr, s.h.c, &p) < 0 {
		return nil, s.h.failed(op, &cerr)
	}
	return fromC(&p), nil
}

// Bytes returns the super-chunk as a contiguous frame (blosc2_schunk_to_buffer), which can be
// written to a file.
func (s *SChunk) Bytes() ([]byte, error) {
	const op = "to bytes"
	if err := s.h.lock(op); err != nil {
		return nil, err
	}
	defer s.h.mu.Unlock()
	if err := s.checkStored(0, int64(s.facts.nchunks)); err != nil {
		return nil, refused(op, s.path, err)
	}
	var cerr C.goblosc2_err_t
	var p *C.uint8_t
	var n C.int64_t
	var owned C.int32_t
	if C.goblosc2_schunk_to_bytes(&cerr, s.h.c, &p, &n, &owned) < 0 {
		return nil, s.h.failed(op, &cerr)
	}
	b := takeBytes(p, n, owned != 0)
	// The library stores a type size of 1 byte in copies with elements above 255 bytes.
	binary.BigEndian.PutUint32(b[frameTypeSize:], uint32(s.facts.typesize))
	return b, nil
}

// frameTypeSize is the offset of the type size in the header of a frame: 4 bytes, big-endian
// (README_CFRAME_FORMAT.rst, Header).
const frameTypeSize = 48

// Close frees the super-chunk (blosc2_schunk_free). Each earlier call has already written its
// changes to disk. A second Close returns ErrClosed.
func (s *SChunk) Close() error { return s.h.close() }

// takeBytes copies n bytes of C memory, and frees them if the caller owns them.
func takeBytes(p *C.uint8_t, n C.int64_t, owned bool) []byte {
	b := append([]byte(nil), unsafe.Slice((*byte)(p), int(n))...)
	if owned {
		C.goblosc2_release(unsafe.Pointer(p))
	}
	return b
}

// cPath returns path for one call of the library, which expects NULL for memory.
func cPath(path string) *C.char {
	if path == "" {
		return nil
	}
	return cString(path)
}

func cBool(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}
