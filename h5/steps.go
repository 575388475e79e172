// Checks of filter parameters and stored chunk sizes before libhdf5 runs a filter, because
// libhdf5's szip, n-bit, scale-offset and checksum code uses them without bounds checks. Corrupt
// values would make it access memory outside its buffers.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// soundLocked must be called before an operation that runs the dataset's filters. It returns
// ErrCorrupt for filter parameters that do not match the datatype and the chunk shape. libhdf5 does
// not return the stored size of a datatype with pointers. For such a type, soundLocked returns
// ErrCorrupt for parameters that contradict each other. Valid parameters are checked only once.
func (d *Dataset) soundLocked(op string, id C.int64_t) error {
	if d.sound {
		return nil
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	if rc := C.goh5_dsteps(&cerr, id, &blob); rc < 0 {
		return newError(op, d.path, rc, &cerr)
	}
	r := takeBlob(&blob)
	if r.bool() {
		elements, size := r.word(), r.word()
		filters := r.filters()
		for _, f := range filters {
			x := h5file.Filter{ID: h5file.FilterID(f.ID), Values: f.Values}
			if size == 0 && f.ID == FilterNbit && len(f.Values) > 4 {
				size = uint64(f.Values[4])
			}
			if err := x.Sound(size, elements*size); err != nil {
				return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: %w", ErrCorrupt, err)}
			}
		}
		d.trusting = newTrusting(filters, size, elements*size)
	}
	d.sound = true
	return nil
}

// trusting describes the last filter that is not a checksum, if it is one without bounds checks
// (szip, n-bit, scale-offset), and the checksums after it. It contains the chunks already found
// long enough for their decoders. It is guarded by the library lock.
type trusting struct {
	step           int           // index of the last filter that is not a checksum, of any kind; -1 if there is no such filter
	sums           int           // number of checksums after it
	filter         h5file.Filter // the zero Filter if it has bounds checks
	element, chunk uint64        // sizes in bytes
	plain          bool          // only shuffles come before the checksums
	enough         uint64        // a stored chunk of at least this size is long enough, whatever its content

	// early contains all filters if a checksum comes before a filter that is not one. Then the
	// filters after that checksum are reversed to check each chunk, and enough is the largest
	// uint64.
	early *h5file.Pipeline

	stored uint64              // lib.stored when seen was started
	seen   map[string]struct{} // offsets of checked chunks
	all    bool                // every chunk was checked
}

// mostSeen limits the size of trusting.seen. fewChunks is the maximum number of chunks that are
// looked up one by one. For more, all stored chunks are listed.
const (
	mostSeen  = 1 << 16
	fewChunks = 1 << 12
)

// newTrusting returns nil if there is no checksum and the last filter has bounds checks. The size
// of a chunk before another filter is only known after reversing that filter, which is done only
// for checksums.
func newTrusting(filters []Filter, element, chunk uint64) *trusting {
	t := &trusting{step: len(filters) - 1, element: element, chunk: chunk}
	for t.step >= 0 && filters[t.step].ID == FilterFletcher32 {
		t.step--
		t.sums++
	}
	t.enough = 4 * uint64(t.sums)
	if t.step >= 0 {
		last := h5file.Filter{ID: h5file.FilterID(filters[t.step].ID), Values: filters[t.step].Values}
		if need, err := last.Needs(nil, element, chunk); err == nil && need > 0 { // otherwise it has bounds checks or has no effect
			t.filter = last
			t.enough += need
		}
	}
	if t.filter.ID == h5file.ScaleOffset {
		t.enough += chunk // an upper bound, because the chunk itself contains the number of bits of its values
	}
	before := filters[:t.step+1]
	if slices.ContainsFunc(before, func(f Filter) bool { return f.ID == FilterFletcher32 }) {
		t.early, t.enough = &h5file.Pipeline{}, math.MaxUint64
		for _, f := range filters {
			t.early.Filters = append(t.early.Filters, h5file.Filter{ID: h5file.FilterID(f.ID), Values: f.Values})
		}
	}
	if t.enough == 0 {
		return nil
	}
	if t.plain = !slices.ContainsFunc(before, func(f Filter) bool { return f.ID != FilterShuffle }); t.plain {
		t.enough += chunk
	}
	return t
}

// short returns an error if a chunk of this stored size, with this mask and these first bytes, is
// too short.
func (t *trusting) short(offset []int64, bytes uint64, mask uint32, head []byte) error {
	if bytes >= t.enough {
		return nil
	}
	sums := uint64(4 * (t.sums - bits.OnesCount32(mask>>(t.step+1))))
	have := bytes - min(bytes, sums)
	var err error
	switch {
	case bytes < sums:
		err = fmt.Errorf("%d bytes for %v, which reads %d", bytes, h5file.Fletcher32, sums)
	case t.plain && have < t.chunk:
		err = fmt.Errorf("%d bytes before the checksum, want %d", have, t.chunk)
	case t.filter.ID != 0 && mask>>t.step&1 == 0:
		var need uint64
		if need, err = t.filter.Needs(head[:min(4, have)], t.element, t.chunk); err == nil && have < need {
			err = fmt.Errorf("%d bytes for %v, which reads %d", have, t.filter.ID, need)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: chunk %d: %w", ErrCorrupt, slices.Clone(offset), err)
	}
	return nil
}

// longLocked must be called after soundLocked and before an operation that decodes chunks of a
// selection. libhdf5 reads out of bounds if a stored chunk is shorter than the input that the
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
		if chunks = mul(chunks, int64(last[i]-first[i])+1); chunks < 0 || chunks > fewChunks {
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
	rc := C.goh5_dchunk_head(&cerr, id, cInts(offset), C.size_t(len(offset)), C.uint64_t(t.enough), &bytes, &mask, cBytes(head[:]))
	if rc < 0 {
		return d.chunkError(op, offset, rc, &cerr)
	}
	if bytes > 0 {
		if err := t.short(offset, uint64(bytes), uint32(mask), head[:]); err != nil {
			return &Error{Op: op, Path: d.path, Err: err}
		}
		if t.early != nil {
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
	t := d.trusting
	stored := make([]byte, bytes)
	var cerr C.goh5_err_t
	var mask C.uint32_t
	var n C.uint64_t
	if rc := C.goh5_dread_chunk(&cerr, id, cInts(offset), C.size_t(len(offset)), cBytes(stored), C.size_t(len(stored)), &n, &mask); rc < 0 {
		return d.chunkError(op, offset, rc, &cerr)
	}
	most := t.chunk + t.chunk/8 + 4096
	if t.chunk == 0 { // elements with pointers, whose stored size libhdf5 does not return
		most = mostChunk
	}
	err := t.early.LongForSums(uint32(mask), stored[:n], most, undoLocked)
	if err == nil {
		return nil
	}
	return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: chunk %d: %w", ErrCorrupt, slices.Clone(offset), err)}
}

// mostChunk is larger than any chunk of libhdf5.
const mostChunk = 1 << 32

// undoLocked reverses a filter that was registered through this package, as libhdf5 would. It
// returns nil without an error for a filter that only libhdf5 could reverse.
func undoLocked(f *h5file.Filter, src []byte, most uint64) ([]byte, error) {
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
		if c := r.chunk(offset); uint64(c.Bytes) < d.trusting.enough {
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
	if rc := C.goh5_dbounds(&cerr, id, cInts(everything), 1, C.size_t(len(shape)), &first[0], &last[0], &chunk[0], &dims[0], &axes, &n); rc < 0 || n == 0 {
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
