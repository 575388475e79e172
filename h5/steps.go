// Checks of filter parameters and stored chunk sizes before libhdf5 runs a filter, because
// libhdf5's szip, n-bit, scale-offset and checksum code uses them without bounds checks. Corrupt
// values would make it access memory outside its buffers.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// checkFiltersLocked must be called before an operation that runs the dataset's filters. It returns
// ErrCorrupt for filter parameters that do not match the datatype and the chunk shape. libhdf5 does
// not return the stored size of a datatype with pointers. For such a type, checkFiltersLocked
// returns ErrCorrupt for parameters that contradict each other. Valid parameters are checked only
// once.
func (d *Dataset) checkFiltersLocked(op string, id C.int64_t) error {
	if d.filtersChecked {
		return nil
	}
	cerr := errorLocked()
	var blob C.goh5_blob_t
	if rc := C.goh5_dsteps(cerr, id, &blob); rc < 0 {
		return newError(op, d.path, rc, cerr)
	}
	r := takeBlob(&blob)
	if r.bool() {
		elements, size := r.word(), r.word()
		var filters []guard.Filter
		for _, f := range r.filters() {
			x := guard.Filter{ID: int(f.ID), Values: f.Values}
			if size == 0 && f.ID == FilterNbit && len(f.Values) > 4 {
				size = uint64(f.Values[4])
			}
			if err := x.Parameters(size, elements*size); err != nil {
				return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: %w", ErrCorrupt, err)}
			}
			filters = append(filters, x)
		}
		if lengths := guard.NewChunkLengths(filters, size, elements*size); lengths != nil {
			d.trusting = &trusting{ChunkLengths: lengths}
		}
	}
	d.filtersChecked = true
	return nil
}

// trusting checks the lengths of the dataset's stored chunks. It contains the chunks already found
// long enough for their decoders. It is guarded by the library lock.
type trusting struct {
	*guard.ChunkLengths
	stored uint64              // lib.stored when seen was started
	seen   map[string]struct{} // offsets of checked chunks
	all    bool                // every chunk was checked
}

// mostSeen limits the size of trusting.seen. mostChunks is the maximum number of chunks that are
// looked up one by one. For more, all stored chunks are listed.
const (
	mostSeen   = 1 << 16
	mostChunks = 1 << 12
)

// longLocked must be called after checkFiltersLocked and before an operation that decodes chunks of
// a selection. libhdf5 reads out of bounds if a stored chunk is shorter than the input that the
// decoder of its last filter reads. For such a chunk longLocked returns ErrCorrupt with the chunk
// and both sizes, if that filter is szip, n-bit, scale-offset or a checksum. It checks the chunks
// in the bounding box of the selection, each once until WriteChunk stores a chunk.
//
// Before another filter, only checksums are checked, by reversing that filter. Package verify
// checks whether such chunks are long enough for n-bit and the like. A checksum before a plugin
// filter, which only libhdf5 can reverse, is not checked. An invalid selection is ignored, because
// the operation itself reports it.
func (d *Dataset) longLocked(op string, id C.int64_t, words []int64, rank int) error {
	t := d.trusting
	if t == nil {
		return nil
	}
	if t.stored != lib.stored {
		t.stored, t.seen, t.all = lib.stored, nil, false
	}
	if t.all {
		return nil
	}
	var cerr C.goh5_err_t
	var first, last, chunk, dims [MaxRank]C.uint64_t
	var axes, n C.size_t
	rc := C.goh5_dbounds(&cerr, id, cInts(words), C.size_t(len(words)), C.size_t(rank), &first[0], &last[0], &chunk[0], &dims[0], &axes, &n)
	if rc == C.GOH5_EREGION || rc >= 0 && n == 0 {
		return nil
	}
	if rc < 0 {
		return newError(op, d.path, rc, &cerr)
	}
	chunks := int64(1)
	for i := range axes {
		if chunks = mul(chunks, int64(last[i]-first[i])+1); chunks < 0 || chunks > mostChunks {
			return d.allLongLocked(op, id)
		}
	}
	offset := make([]int64, axes)
	for k := range chunks {
		for i := len(offset) - 1; i >= 0; i-- {
			along := int64(last[i]-first[i]) + 1
			offset[i] = (int64(first[i]) + k%along) * int64(chunk[i])
			k /= along
		}
		if err := d.longChunkLocked(op, id, offset); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dataset) longChunkLocked(op string, id C.int64_t, offset []int64) error {
	t := d.trusting
	key := fmt.Sprint(offset)
	if _, ok := t.seen[key]; ok {
		return nil
	}
	var cerr C.goh5_err_t
	var bytes C.uint64_t
	var mask C.uint32_t
	var head [4]byte
	rc := C.goh5_dchunk_head(&cerr, id, cInts(offset), C.size_t(len(offset)), C.uint64_t(t.Enough), &bytes, &mask, cBytes(head[:]))
	if rc < 0 {
		return d.chunkError(op, offset, rc, &cerr)
	}
	if bytes > 0 {
		if err := t.Check(uint64(bytes), uint32(mask), head[:]); err != nil {
			return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: chunk %d: %w", ErrCorrupt, slices.Clone(offset), err)}
		}
		if t.EarlySums() {
			if err := d.longForSumsLocked(op, id, offset, uint64(bytes)); err != nil {
				return err
			}
		}
	}
	if t.seen == nil || len(t.seen) >= mostSeen {
		t.seen = map[string]struct{}{}
	}
	t.seen[key] = struct{}{}
	return nil
}

// longForSumsLocked checks whether a chunk of this stored size is long enough for its checksums.
func (d *Dataset) longForSumsLocked(op string, id C.int64_t, offset []int64, bytes uint64) error {
	stored := make([]byte, bytes)
	var cerr C.goh5_err_t
	var mask C.uint32_t
	var n C.uint64_t
	if rc := C.goh5_dread_chunk(&cerr, id, cInts(offset), C.size_t(len(offset)), cBytes(stored), C.size_t(len(stored)), &n, &mask); rc < 0 {
		return d.chunkError(op, offset, rc, &cerr)
	}
	err := d.trusting.CheckSums(uint32(mask), stored[:n], undoLocked)
	if err == nil {
		return nil
	}
	return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: chunk %d: %w", ErrCorrupt, slices.Clone(offset), err)}
}

// undoLocked reverses a filter that was registered through this package, as libhdf5 would. It
// returns nil without an error for a filter that only libhdf5 could reverse.
func undoLocked(f guard.Filter, src []byte, most uint64) ([]byte, error) {
	runtime.LockOSThread() // run identifies calls from inside by the thread
	defer runtime.UnlockOSThread()
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	var state C.int32_t
	values := unsafe.Pointer(unsafe.SliceData(f.Values))
	if rc := C.goh5_filter_decode(&cerr, C.int32_t(f.ID), (*C.uint32_t)(values), C.size_t(len(f.Values)), cBytes(src), C.size_t(len(src)), &blob, &state); rc < 0 {
		return nil, newError("reverse filter", "", rc, &cerr)
	}
	if state == 0 {
		return nil, nil
	}
	out := takeBlob(&blob).bytes()
	switch {
	case state < 0 && lib.cause != nil:
		err := lib.cause
		lib.cause = nil
		return nil, err
	case state < 0:
		return nil, fmt.Errorf("filter %d: cannot decode %d bytes", f.ID, len(src))
	case uint64(len(out)) > most:
		return nil, fmt.Errorf("%w: filter %d decodes %d bytes to %d, want at most %d", ErrSize, f.ID, len(src), len(out), most)
	}
	return out, nil
}

// allLongLocked checks every stored chunk.
func (d *Dataset) allLongLocked(op string, id C.int64_t) error {
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	if rc := C.goh5_dchunks(&cerr, id, &blob); rc < 0 {
		return newError(op, d.path, rc, &cerr)
	}
	r := takeBlob(&blob)
	rank, n := r.word(), r.word()
	offset := make([]int64, rank)
	for ; n > 0; n-- {
		for i := range offset {
			offset[i] = r.int()
		}
		if c := r.chunk(offset); uint64(c.Bytes) < d.trusting.Enough {
			if err := d.longChunkLocked(op, id, offset); err != nil {
				return err
			}
		}
	}
	d.trusting.all = true
	return nil
}

// longShapeLocked is longLocked before a change of the shape. It checks the chunks that a smaller
// shape truncates, because libhdf5 decodes them to fill the elements outside the new shape.
func (d *Dataset) longShapeLocked(op string, id C.int64_t, shape []int64) error {
	if d.trusting == nil {
		return nil
	}
	var cerr C.goh5_err_t
	var first, last, chunk, dims [MaxRank]C.uint64_t
	var axes, n C.size_t
	everything := []int64{selAll}
	rc := C.goh5_dbounds(&cerr, id, cInts(everything), 1, C.size_t(len(shape)), &first[0], &last[0], &chunk[0], &dims[0], &axes, &n)
	switch {
	case rc == C.GOH5_ELIB || rc == C.GOH5_ENOMEM:
		return newError(op, d.path, rc, &cerr)
	case rc < 0 || n == 0:
		return nil // the operation itself reports the error
	}
	for axis, to := range shape {
		if to >= int64(dims[axis]) || to%int64(chunk[axis]) == 0 {
			continue
		}
		r := Region{Start: make([]int64, len(shape)), Count: make([]int64, len(shape))}
		for i := range r.Count {
			r.Count[i] = int64(dims[i])
		}
		r.Start[axis], r.Count[axis] = to, 1
		words, _, err := r.words([]int64{selBlocks})
		if err == nil {
			err = d.longLocked(op, id, words, len(shape))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
