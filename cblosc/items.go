// Items of a super-chunk: reading and writing elements by index, across chunks.

package cblosc

// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

// NumItems returns the number of elements.
func (s *SChunk) NumItems() int64 {
	f := s.read()
	return int64(f.nbytes) / int64(f.typesize)
}

// itemsLocked checks the items from start on, which have nbytes bytes, and their chunks. It returns
// the first and the last chunk.
func (s *SChunk) itemsLocked(start int64, nbytes int) (first, last int64, err error) {
	size := int64(s.facts.typesize)
	total := int64(s.facts.nbytes) / size
	n := int64(nbytes) / size
	switch {
	case s.variable:
		return 0, 0, errVariable
	case int64(nbytes)%size != 0:
		return 0, 0, fmt.Errorf("%w: buffer of %d bytes, want a multiple of the type size %d", ErrSize, nbytes, size)
	case start < 0 || start > total || n > total-start:
		return 0, 0, fmt.Errorf("%w: %d items from %d on of %d", ErrRegion, n, start, total)
	case n == 0:
		return 0, -1, nil
	}
	chunk := int64(s.facts.chunksize)
	first, last = start*size/chunk, ((start+n)*size-1)/chunk
	return first, last, s.checkStored(first, last+1)
}

// ReadItems fills dst with the elements from start on (blosc2_schunk_get_slice_buffer). len(dst)
// must be a multiple of TypeSize. Only the blocks that hold the elements are decompressed, except
// with the filter Delta.
//
// It returns ErrSize, ErrRegion, ErrFormat if a stored chunk is not valid, ErrClosed, ErrBroken, or
// an *Error from the library.
func (s *SChunk) ReadItems(dst []byte, start int64) error {
	const op = "read items"
	if err := s.h.lock(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	first, last, err := s.itemsLocked(start, len(dst))
	if err != nil {
		return refused(op, s.path, err)
	}
	if len(dst) == 0 {
		return nil
	}
	if s.byWholeChunks() {
		return s.eachPart(first, last, start, len(dst), func(i int64, lo, hi, at int) error {
			b := make([]byte, s.chunkLen(i))
			if _, err := s.readLocked(op, b, i); err != nil {
				return err
			}
			copy(dst[at:], b[lo:hi])
			return nil
		})
	}
	if from, chunk := start*int64(s.facts.typesize), int64(s.facts.chunksize); from%chunk != 0 || int64(len(dst))%chunk != 0 {
		// The library returns a whole block for items that have the length of a block, wherever
		// they start.
		return s.eachPart(first, last, start, len(dst), func(i int64, lo, hi, at int) error {
			if b := dst[at : at+hi-lo]; hi-lo < s.chunkLen(i) {
				return s.chunkItemsLocked(op, b, i, int64(lo)/int64(s.facts.typesize))
			} else if _, err := s.decompressLocked(op, b, i); err != nil {
				return err
			}
			return nil
		})
	}
	var cerr C.goblosc2_err_t
	stop := start + int64(len(dst))/int64(s.facts.typesize)
	if C.goblosc2_schunk_read_items(&cerr, s.h.c, C.int64_t(start), C.int64_t(stop), (*C.uint8_t)(unsafe.SliceData(dst))) < 0 {
		return s.h.failed(op, &cerr)
	}
	return nil
}

// byWholeChunks reports whether chunks must be decompressed whole. The library reads parts of
// chunks incorrectly with the filter Delta and for elements above 255 bytes, which it counts as
// single bytes. A Decompressor of the caller also reads whole chunks.
func (s *SChunk) byWholeChunks() bool {
	return s.entire || s.facts.typesize > maxItem || s.through != nil
}

// maxItem is the maximum element size in bytes that a chunk header can store.
const maxItem = 255

// eachPart calls f for each chunk from first to last. The bytes lo to hi of the chunk are part of
// the n bytes from element start on, at offset at.
func (s *SChunk) eachPart(first, last, start int64, n int, f func(i int64, lo, hi, at int) error) error {
	chunk, from := int64(s.facts.chunksize), start*int64(s.facts.typesize)
	for i := first; i <= last; i++ {
		lo := max(from, i*chunk)
		hi := min(from+int64(n), i*chunk+int64(s.chunkLen(i)))
		if err := f(i, int(lo-i*chunk), int(hi-i*chunk), int(lo-from)); err != nil {
			return err
		}
	}
	return nil
}

// ReadPoints fills dst with the elements items[0], items[1], and so on
// (blosc2_schunk_get_sparse_buffer). items can be in any order and contain duplicates. len(dst)
// must be the number of items times TypeSize.
//
// Its errors are those of ReadItems.
func (s *SChunk) ReadPoints(dst []byte, items []int64) error {
	const op = "read points"
	if err := s.h.lock(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	if s.variable {
		return refused(op, s.path, errVariable)
	}
	size, chunk := int64(s.facts.typesize), int64(s.facts.chunksize)
	total := int64(s.facts.nbytes) / size
	if want := int64(len(items)) * size; int64(len(dst)) != want {
		return refused(op, s.path, fmt.Errorf("%w: buffer of %d bytes, %d elements of %d", ErrSize, len(dst), len(items), size))
	}
	for _, item := range items {
		if item < 0 || item >= total {
			return refused(op, s.path, fmt.Errorf("%w: item %d of %d", ErrRegion, item, total))
		}
		if i := item * size / chunk; s.pending != nil {
			if err := s.checkStored(i, i+1); err != nil {
				return refused(op, s.path, err)
			}
		}
	}
	if len(items) == 0 {
		return nil
	}
	if !s.byWholeChunks() {
		var cerr C.goblosc2_err_t
		rc := C.goblosc2_schunk_read_points(&cerr, s.h.c, (*C.int64_t)(unsafe.SliceData(items)), C.int64_t(len(items)),
			(*C.uint8_t)(unsafe.SliceData(dst)))
		switch {
		case rc < 0:
			return s.h.failed(op, &cerr)
		case rc == 0:
			return nil
		}
	}
	order := make([]int, len(items))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(items[x], items[y]) })
	buf, at := make([]byte, chunk), int64(-1)
	for _, k := range order {
		from := items[k] * size
		if i := from / chunk; i != at {
			if _, err := s.readLocked(op, buf, i); err != nil {
				return err
			}
			at = i
		}
		copy(dst[int64(k)*size:][:size], buf[from%chunk:])
	}
	return nil
}

// WriteItems replaces the elements from start on with src (blosc2_schunk_set_slice_buffer).
// len(src) must be a multiple of TypeSize. Chunks that are covered only in part are read, changed
// and compressed again. In a contiguous frame the bytes of the old chunks stay in the file.
//
// It returns errors.ErrUnsupported after CompressWith, for an order of filters that
// CParams.Validate refuses, and for a write that ends inside a chunk at
// an offset equal to the length of the shorter last chunk, where the library would cut off the
// chunk; write up to another item instead. It returns ErrSize, ErrRegion, ErrReadOnly, ErrFormat if
// a stored chunk is not valid, ErrClosed, ErrBroken, or an *Error from the library.
func (s *SChunk) WriteItems(src []byte, start int64) error {
	const op = "write items"
	if err := s.h.lockWrite(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	first, last, err := s.itemsLocked(start, len(src))
	if err != nil {
		return refused(op, s.path, err)
	}
	if len(src) == 0 {
		return nil
	}
	if s.with != nil {
		return refused(op, s.path, fmt.Errorf("%w: writing items with a Compressor of the caller", errors.ErrUnsupported))
	}
	if err := s.checkOrderLocked(op); err != nil {
		return err
	}
	if s.facts.guarded != 0 {
		return s.writeItemsLocked(op, src, start, first, last)
	}
	if s.mistakesEnd(start, len(src), last) {
		return refused(op, s.path, fmt.Errorf("%w: a write that ends in a chunk at the length of the shorter last chunk", errors.ErrUnsupported))
	}
	var cerr C.goblosc2_err_t
	stop := start + int64(len(src))/int64(s.facts.typesize)
	if C.goblosc2_schunk_write_items(&cerr, s.h.c, C.int64_t(start), C.int64_t(stop), (*C.uint8_t)(unsafe.SliceData(src)), &s.facts) < 0 {
		return s.h.breakOn(s.h.failed(op, &cerr))
	}
	return nil
}

// mistakesEnd reports whether the library would cut off a whole chunk at the end of a write. It
// does so if the write ends at the same offset in its chunk as the data in the short last chunk.
func (s *SChunk) mistakesEnd(start int64, n int, last int64) bool {
	chunk := int64(s.facts.chunksize)
	short := int64(s.facts.nbytes) % chunk
	end := (start*int64(s.facts.typesize) + int64(n)) % chunk
	return short != 0 && end == short && last != int64(s.facts.nchunks)-1
}

// DecompressItems fills dst with the elements of chunk i from start on
// (blosc2_schunk_get_lazychunk, blosc2_getitem_ctx). From a file it reads only the chunk's header
// and the blocks that hold the elements, except with the filter Delta. len(dst) must be a multiple
// of TypeSize.
//
// It returns ErrSize, ErrRegion, ErrFormat if the stored chunk is not valid, ErrClosed, ErrBroken,
// or an *Error from the library.
func (s *SChunk) DecompressItems(dst []byte, i, start int64) error {
	const op = "read items of chunk"
	if err := s.h.lock(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	if err := s.checkReadable(i); err != nil {
		return refused(op, s.path, err)
	}
	size, total := int64(s.facts.typesize), int64(s.chunkLen(i))/int64(s.facts.typesize)
	n := int64(len(dst)) / size
	switch {
	case int64(len(dst))%size != 0:
		return refused(op, s.path, fmt.Errorf("%w: buffer of %d bytes, want a multiple of the type size %d", ErrSize, len(dst), size))
	case start < 0 || start > total || n > total-start:
		return refused(op, s.path, fmt.Errorf("%w: %d items from %d on of %d in chunk %d", ErrRegion, n, start, total, i))
	case n == 0:
		return nil
	}
	if s.byWholeChunks() {
		b := make([]byte, s.chunkLen(i))
		if _, err := s.readLocked(op, b, i); err != nil {
			return err
		}
		copy(dst, b[start*size:])
		return nil
	}
	return s.chunkItemsLocked(op, dst, i, start)
}

// chunkItemsLocked fills dst with the elements of chunk i from start on.
func (s *SChunk) chunkItemsLocked(op string, dst []byte, i, start int64) error {
	n := len(dst) / int(s.facts.typesize)
	var cerr C.goblosc2_err_t
	if C.goblosc2_schunk_chunk_items(&cerr, s.h.c, C.int64_t(i), C.int32_t(start), C.int32_t(n),
		(*C.uint8_t)(unsafe.SliceData(dst)), C.int32_t(len(dst))) < 0 {
		return s.h.failed(op, &cerr)
	}
	return nil
}
