// What the library's decoders and encoders of szip, n-bit and scale-offset take on trust,
// their parameters and how long a chunk is: a damaged one would make them leave their
// buffers.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/hyperslab/hyperslab/format/hdf5"
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
// found long enough for its decoder. The library's lock guards it.
type trusting struct {
	step           int // its place
	sums           int // checksums behind it
	filter         hdf5.Filter
	element, chunk uint64 // bytes
	enough         uint64 // of a chunk, with which it is not too short whatever is in it

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

// newTrusting is nil if another filter comes after: how long a chunk is before it nobody
// knows without undoing it.
func newTrusting(filters []Filter, element, chunk uint64) *trusting {
	t := &trusting{step: len(filters) - 1, element: element, chunk: chunk}
	for t.step >= 0 && filters[t.step].ID == FilterFletcher32 {
		t.step--
		t.sums++
	}
	if t.step < 0 {
		return nil
	}
	t.filter = hdf5.Filter{ID: hdf5.FilterID(filters[t.step].ID), Values: filters[t.step].Values}
	need, err := t.filter.Needs(nil, element, chunk)
	if err != nil || need == 0 {
		return nil // no filter of those, or it does nothing
	}
	if t.filter.ID == hdf5.ScaleOffset {
		need += chunk // and less if its numbers have fewer bits, which the chunk says
	}
	t.enough = need + 4*uint64(t.sums)
	return t
}

// short says why a chunk of so many bytes, with that mask and beginning, is too short.
func (t *trusting) short(offset []int64, bytes uint64, mask uint32, head []byte) error {
	if bytes >= t.enough || mask>>t.step&1 != 0 {
		return nil
	}
	sums := uint64(4 * (t.sums - bits.OnesCount32(mask>>t.step)))
	have := bytes - min(bytes, sums)
	need, err := t.filter.Needs(head[:min(4, have)], t.element, t.chunk)
	if err == nil && have < need {
		err = fmt.Errorf("%d bytes for %v, which reads %d", have, t.filter.ID, need)
	}
	if err != nil {
		return fmt.Errorf("%w: chunk %d: %w", ErrCorrupt, slices.Clone(offset), err)
	}
	return nil
}

// longLocked comes before an operation that decodes chunks of a selection, behind
// soundLocked. It returns ErrCorrupt, with the chunk and both sizes, for a stored chunk
// that is shorter than what the decoder of the last filter reads, if that is szip, n-bit
// or scale-offset: the library reads on behind it. It looks at the chunks in the box
// around the selection, at each once as long as WriteChunk stores none.
//
// Chunks behind another filter it does not see: whether those are long enough package
// verify finds out. What is wrong with the selection the operation itself will say.
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
	}
	if t.seen == nil || len(t.seen) >= mostSeen {
		t.seen = map[string]struct{}{}
	}
	t.seen[key] = struct{}{}
	return nil
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
