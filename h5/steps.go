// What the library's decoders and encoders of szip, n-bit and scale-offset take on trust,
// their parameters and how long a chunk is, which that of checksums does too: a damaged one
// would make them leave their buffers.

package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"

	"github.com/hyperslab/hyperslab/format/hdf5"
	"github.com/hyperslab/hyperslab/internal/undo"
)

// soundLocked comes before an operation that runs the dataset's filters. It returns
// ErrCorrupt for parameters that are not those of the type and the chunk shape; of a
// type with pointers, whose stored size the library does not tell, those that
// contradict one another. What it has found sound it does not look at again.
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
			x := hdf5.Filter{ID: hdf5.FilterID(f.ID), Values: f.Values}
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

// trusting is a filter of those, the last but for checksums, and the chunks that were
// found long enough for its decoder and theirs. The library's lock guards it.
type trusting struct {
	step           int         // its place; of another filter if it is none of those, -1 if there is none
	sums           int         // checksums behind it
	filter         hdf5.Filter // the zero one if it is none of those
	element, chunk uint64      // bytes
	plain          bool        // no filter but shuffles is before the checksums
	enough         uint64      // of a chunk, with which it is not too short whatever is in it

	// early is all the filters if a checksum comes before one that is none: each chunk is
	// looked at behind those, and enough is never enough.
	early *hdf5.Pipeline

	stored uint64              // lib.stored when seen was begun
	seen   map[string]struct{} // offsets of chunks
	all    bool                // every chunk was
}

// mostSeen bounds trusting.seen, and fewChunks is how many chunks are looked up one by
// one: more are looked for among all that are stored.
const (
	mostSeen  = 1 << 16
	fewChunks = 1 << 12
)

// newTrusting is nil if there is no checksum, and no such filter comes last: how long a chunk
// is before another filter nobody knows without undoing that, which is done for checksums.
func newTrusting(filters []Filter, element, chunk uint64) *trusting {
	t := &trusting{step: len(filters) - 1, element: element, chunk: chunk}
	for t.step >= 0 && filters[t.step].ID == FilterFletcher32 {
		t.step--
		t.sums++
	}
	t.enough = 4 * uint64(t.sums)
	if t.step >= 0 {
		last := hdf5.Filter{ID: hdf5.FilterID(filters[t.step].ID), Values: filters[t.step].Values}
		if need, err := last.Needs(nil, element, chunk); err == nil && need > 0 { // else it is none of those, or does nothing
			t.filter = last
			t.enough += need
		}
	}
	if t.filter.ID == hdf5.ScaleOffset {
		t.enough += chunk // and less if its numbers have fewer bits, which the chunk says
	}
	before := filters[:t.step+1]
	if slices.ContainsFunc(before, func(f Filter) bool { return f.ID == FilterFletcher32 }) {
		t.early, t.enough = &hdf5.Pipeline{}, math.MaxUint64
		for _, f := range filters {
			t.early.Filters = append(t.early.Filters, hdf5.Filter{ID: hdf5.FilterID(f.ID), Values: f.Values})
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

// short says why a chunk of so many bytes, with that mask and beginning, is too short.
func (t *trusting) short(offset []int64, bytes uint64, mask uint32, head []byte) error {
	if bytes >= t.enough {
		return nil
	}
	sums := uint64(4 * (t.sums - bits.OnesCount32(mask>>(t.step+1))))
	have := bytes - min(bytes, sums)
	var err error
	switch {
	case bytes < sums:
		err = fmt.Errorf("%d bytes for %v, which reads %d", bytes, hdf5.Fletcher32, sums)
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

// longLocked comes before an operation that decodes chunks of a selection, behind
// soundLocked. It returns ErrCorrupt, with the chunk and both sizes, for a stored chunk
// that is shorter than what the decoder of the last filter reads, if that is szip, n-bit,
// scale-offset or a checksum: the library reads on behind it. It looks at the chunks in the box
// around the selection, at each once as long as WriteChunk stores none.
//
// Behind another filter it sees checksums only, and undoes that filter to do so: whether
// chunks are long enough for n-bit and the like there package verify finds out. A checksum
// before a filter of a plugin, which only the library could undo, it does not see. What is wrong with the selection the operation itself will say.
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

// longForSumsLocked looks at the checksums of a chunk that is stored in so many bytes.
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
	if t.chunk == 0 { // elements with pointers, whose stored size the library does not tell
		most = mostChunk
	}
	err := t.early.LongForSums(uint32(mask), stored[:n], most, undoLocked)
	if err == nil {
		return nil
	}
	return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: chunk %d: %w", ErrCorrupt, slices.Clone(offset), err)}
}

// mostChunk is more than a chunk of the library's has.
const mostChunk = 1 << 32

// undoLocked undoes a filter of a chunk that format/hdf5 does not know. It returns nothing,
// and no error, for a filter that only the library could undo.
func undoLocked(f *hdf5.Filter, src []byte, most uint64) ([]byte, error) {
	id := int(f.ID)
	if slot := slices.IndexFunc(goFilters[:], func(p filterSlot) bool { return p.filter != nil && p.filter.ID == id }); slot >= 0 {
		return goDecodeLocked(goFilters[slot].filter, src, f.Values)
	}
	if undo.Known != nil && undo.Known(id) {
		for room := min(most, uint64(len(src))*4+4096); ; room *= 4 {
			dst := make([]byte, min(room, most))
			n, err := undo.Decode(id, f.Values, dst, src)
			if errors.Is(err, ErrSize) && room < most {
				continue
			}
			if err != nil {
				return nil, err
			}
			return dst[:n], nil
		}
	}
	return nil, nil
}

// goDecodeLocked is a filter's Decode, as the library would call it.
func goDecodeLocked(f *GoFilter, src []byte, values []uint32) (out []byte, err error) {
	runtime.LockOSThread() // by which run knows calls from inside
	defer runtime.UnlockOSThread()
	if run(func() (err error) { out, err = f.Decode(src, slices.Clone(values)); return err }) != 0 {
		err, lib.cause = lib.cause, nil
		return nil, fmt.Errorf("filter %d (%s): %w", f.ID, f.Name, err)
	}
	return append([]byte{}, out...), nil
}

// allLongLocked looks at every stored chunk.
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

// longShapeLocked is longLocked before the shape changes: of the chunks that a smaller one
// cuts, in which the library fills what is outside.
func (d *Dataset) longShapeLocked(op string, id C.int64_t, shape []int64) error {
	if d.trusting == nil {
		return nil
	}
	var cerr C.goh5_err_t
	var first, last, chunk, dims [MaxRank]C.uint64_t
	var axes, n C.size_t
	everything := []int64{selAll}
	if rc := C.goh5_dbounds(&cerr, id, cInts(everything), 1, C.size_t(len(shape)), &first[0], &last[0], &chunk[0], &dims[0], &axes, &n); rc < 0 || n == 0 {
		return nil // which the operation will say
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
