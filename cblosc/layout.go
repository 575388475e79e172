// Layout of a super-chunk: filling it, chunk order, index and sizes.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Fill fills an empty super-chunk with items elements of one kind: Zeros, NaNs or Uninit, in chunks
// of chunkSize bytes (blosc2_schunk_fill_special). The elements take no space in a frame.
//
// It returns ErrParam for another kind, a chunkSize that is not a positive multiple of TypeSize,
// NaNs of other than 4 or 8 bytes, or a super-chunk that is not empty; ErrLimit, ErrReadOnly,
// ErrClosed, ErrBroken, or an *Error from the library.
func (s *SChunk) Fill(items int64, kind Special, chunkSize int) error {
	const op = "fill"
	if err := s.h.lockWrite(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	size := int64(s.facts.typesize)
	var err error
	switch {
	case s.array:
		err = fmt.Errorf("%w: the number of chunks of an array follows from its shape", errors.ErrUnsupported)
	case s.facts.nchunks > 0:
		err = fmt.Errorf("%w: filling a super-chunk of %d chunks, want an empty one", ErrParam, s.facts.nchunks)
	case kind != Zeros && kind != NaNs && kind != Uninit:
		err = fmt.Errorf("%w: filling with %v, want zeros, NaNs or uninitialised", ErrParam, kind)
	case kind == NaNs && size != 4 && size != 8:
		err = fmt.Errorf("%w: TypeSize = %d, want 4 or 8 for NaN", ErrParam, size)
	case chunkSize > maxBuffer:
		err = fmt.Errorf("%w: chunks of %d bytes, at most %d", ErrLimit, chunkSize, maxBuffer)
	case chunkSize < 1 || int64(chunkSize)%size != 0:
		err = fmt.Errorf("%w: chunks of %d bytes, want a positive multiple of the type size %d", ErrParam, chunkSize, size)
	case items < 0:
		err = fmt.Errorf("%w: %d items", ErrParam, items)
	case items > math.MaxInt64/size || items/(int64(chunkSize)/size) >= maxBuffer/8:
		err = fmt.Errorf("%w: %d items of %d bytes in chunks of %d", ErrLimit, items, size, chunkSize)
	}
	if err != nil {
		return refused(op, s.path, err)
	}
	if items == 0 {
		return nil
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_schunk_fill(&cerr, s.h.c, C.int64_t(items), C.int32_t(kind), C.int32_t(chunkSize), &s.facts) < 0 {
		return s.h.breakOn(s.h.failed(op, &cerr))
	}
	return nil
}

// Reorder changes the order of the chunks: the new chunk i is the old chunk order[i]
// (blosc2_schunk_reorder_offsets). Only the index changes; chunks are not read or moved.
//
// It returns ErrParam if order is not a permutation, or moves a last chunk that is shorter than the
// others; ErrReadOnly, ErrClosed, ErrBroken, or an *Error from the library.
func (s *SChunk) Reorder(order []int64) error {
	const op = "reorder"
	if err := s.h.lockWrite(op); err != nil {
		return err
	}
	defer s.h.mu.Unlock()
	n := int64(s.facts.nchunks)
	err := checkOrder(order, n)
	if s.variable {
		err = errVariable
	}
	if err != nil {
		return refused(op, s.path, err)
	}
	if n == 0 {
		return nil
	}
	if order[n-1] != n-1 && s.chunkLen(n-1) != int(s.facts.chunksize) {
		return refused(op, s.path, fmt.Errorf("%w: the last chunk is shorter than the others and stays last", ErrParam))
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_schunk_reorder(&cerr, s.h.c, (*C.int64_t)(unsafe.SliceData(order))) < 0 {
		return s.h.breakOn(s.h.failed(op, &cerr))
	}
	s.pending.Reorder(order)
	return nil
}

// checkOrder verifies that order is a permutation of 0 to n-1, because the library does not check
// for negative numbers.
func checkOrder(order []int64, n int64) error {
	if int64(len(order)) != n {
		return fmt.Errorf("%w: an order of %d chunks for %d", ErrParam, len(order), n)
	}
	seen := make([]bool, n)
	for i, j := range order {
		if j < 0 || j >= n || seen[j] {
			return fmt.Errorf("%w: order[%d] = %d, want each of 0 to %d once", ErrParam, i, j, n-1)
		}
		seen[j] = true
	}
	return nil
}

// Offsets returns the index of a frame (blosc2_frame_get_offsets). Each entry is the start of a
// chunk in bytes from the end of the frame's header, or the number of its file in a sparse
// directory. It is negative for a chunk that is not stored. A super-chunk in
// memory that is not contiguous has no index: errors.ErrUnsupported.
func (s *SChunk) Offsets() ([]int64, error) {
	const op = "read offsets"
	if err := s.h.lock(op); err != nil {
		return nil, err
	}
	defer s.h.mu.Unlock()
	if !s.framed {
		return nil, refused(op, s.path, fmt.Errorf("%w: memory that is not contiguous has no offsets", errors.ErrUnsupported))
	}
	offsets := make([]int64, s.facts.nchunks)
	if len(offsets) == 0 {
		return offsets, nil
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_schunk_offsets(&cerr, s.h.c, (*C.int64_t)(unsafe.SliceData(offsets)), C.int64_t(len(offsets))) < 0 {
		return nil, s.h.failed(op, &cerr)
	}
	return offsets, nil
}

// FrameLen returns the size of the frame in bytes (blosc2_schunk_frame_len). For a sparse directory
// it is the size of the index file, for memory that is not contiguous an estimate.
func (s *SChunk) FrameLen() (int64, error) {
	if err := s.h.lock("measure"); err != nil {
		return 0, err
	}
	defer s.h.mu.Unlock()
	return int64(C.goblosc2_schunk_frame_len(s.h.c)), nil
}

// DParams returns the parameters for decompressing chunks (blosc2_schunk_get_dparams), including
// the allowed codecs and filters.
func (s *SChunk) DParams() (*DParams, error) {
	const op = "read parameters"
	if err := s.h.lock(op); err != nil {
		return nil, err
	}
	defer s.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	var threads C.int32_t
	if C.goblosc2_schunk_dparams(&cerr, s.h.c, &threads) < 0 {
		return nil, s.h.failed(op, &cerr)
	}
	return &DParams{Threads: int(threads), Allow: Allow{slices.Clone(s.allow.Codecs), slices.Clone(s.allow.Filters)}}, nil
}

// Storage returns the location and the parameters of the super-chunk, from which CreateSChunk can
// create a similar one. For a file opened with MapRead, Mapping is 1 GiB. Medium is nil
// for read-only storage.
func (s *SChunk) Storage() (Storage, error) {
	cp, err := s.CParams()
	if err != nil {
		return Storage{}, err
	}
	dp, err := s.DParams()
	if err != nil {
		return Storage{}, err
	}
	st := Storage{Path: s.path, Contiguous: s.whole, Mapping: s.mapping, CParams: cp, DParams: dp}
	if s.onMedium() {
		st.Medium, _ = s.h.hooks.medium.r.(Medium)
	}
	return st, nil
}

// ChunksOfItems returns the indices of the chunks that hold the items start to start+n
// (blosc2_get_slice_nchunks). It returns ErrRegion, ErrClosed, or errors.ErrUnsupported for the
// super-chunk of an Array: use Array.ChunksOf.
func (s *SChunk) ChunksOfItems(start, n int64) ([]int64, error) {
	const op = "find chunks"
	if err := s.h.lock(op); err != nil {
		return nil, err
	}
	defer s.h.mu.Unlock()
	size := int64(s.facts.typesize)
	total := int64(s.facts.nbytes) / size
	switch {
	case s.array:
		return nil, refused(op, s.path, fmt.Errorf("%w: an array finds chunks by regions", errors.ErrUnsupported))
	case s.variable:
		return nil, refused(op, s.path, errVariable)
	case start < 0 || n < 0 || start > total || n > total-start:
		return nil, refused(op, s.path, fmt.Errorf("%w: %d items from %d on of %d", ErrRegion, n, start, total))
	case n == 0:
		return nil, nil
	}
	return s.chunksOfLocked(op, []C.int64_t{C.int64_t(start)}, []C.int64_t{C.int64_t(start + n)},
		((start+n)*size-1)/int64(s.facts.chunksize)-start*size/int64(s.facts.chunksize)+1)
}

// chunksOfLocked returns the library's list of the chunks of a slice that touches n chunks.
func (s *SChunk) chunksOfLocked(op string, start, stop []C.int64_t, n int64) ([]int64, error) {
	chunks := make([]int64, n)
	var cerr C.goblosc2_err_t
	got := C.goblosc2_schunk_chunks_of(&cerr, s.h.c, unsafe.SliceData(start), unsafe.SliceData(stop),
		(*C.int64_t)(unsafe.SliceData(chunks)), C.int64_t(n))
	if got < 0 {
		return nil, s.h.failed(op, &cerr)
	}
	return chunks[:got], nil
}
