// New arrays from old ones: parts, copies with other chunks, fewer or more
// dimensions, several arrays as one.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_array_slice
// #cgo nocallback goblosc2_array_slice
// #cgo noescape goblosc2_array_copy
// #cgo nocallback goblosc2_array_copy
// #cgo noescape goblosc2_array_save
// #cgo nocallback goblosc2_array_save
// #cgo noescape goblosc2_array_append_file
// #cgo nocallback goblosc2_array_append_file
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/format/b2nd"
)

// Layout says how a derived array is stored. The zero value is memory, with the
// chunks, blocks and parameters of the array it comes from.
type Layout struct {
	Chunks  []int32 // nil: those of the source
	Blocks  []int32 // nil: those of the source
	Storage Storage // a nil CParams: those of the source; TypeSize is the source's
	Caterva bool    // write the metalayer that Caterva read; a Caterva source becomes b2nd without it
}

// params returns what to create for an array of this shape that comes from a; chunks
// and blocks are for where l has none.
func (l *Layout) params(a *Array, shape []int64, chunks, blocks []int32) (*ArrayParams, error) {
	p := &ArrayParams{Shape: shape, Chunks: l.Chunks, Blocks: l.Blocks, DType: a.dtype, Storage: l.Storage, Caterva: l.Caterva, derived: true}
	if p.Chunks == nil {
		p.Chunks = chunks
	}
	if p.Blocks == nil {
		p.Blocks = blocks
	}
	if p.Caterva {
		p.DType = ""
	}
	if p.Storage.CParams == nil {
		cp, err := a.sc.CParams()
		if err != nil {
			return nil, err
		}
		cp.BlockSize = 0
		p.Storage.CParams = cp
	}
	if p.Storage.DParams == nil {
		p.Storage.DParams = DefaultDParams()
		p.Storage.DParams.Allow = a.sc.allow
	}
	if n := p.Storage.CParams.TypeSize; n != a.ItemSize() {
		return nil, fmt.Errorf("%w: TypeSize = %d for elements of %d bytes", ErrParam, n, a.ItemSize())
	}
	return p, p.validate()
}

// Slice makes an array of a region (b2nd_get_slice). Metalayers are not copied.
//
// It returns ErrRegion, the errors of CreateArray and ReadRegion.
func (a *Array) Slice(start, shape []int64, l Layout) (*Array, error) {
	const op = "slice"
	p, err := l.params(a, shape, a.Chunks(), a.Blocks())
	if err == nil && len(start) != a.rank {
		err = fmt.Errorf("%w: start of %d dimensions in an array of %d", ErrRegion, len(start), a.rank)
	}
	if err == nil {
		_, err = p.Storage.place()
	}
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	if err := a.sc.h.lock(op); err != nil {
		return nil, err
	}
	defer a.sc.h.mu.Unlock()
	r, err := a.placeLocked(start, shape)
	if err == nil {
		err = a.checkStoredRegion(&r)
	}
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	if a.rank == 0 || p.Caterva || a.sc.delta || scattered(a.Chunks(), a.Blocks()) || scattered(p.Chunks, p.Blocks) {
		return a.gatherLocked(op, p, func(at []int64) []int64 {
			from := slices.Clone(at)
			for i := range from {
				from[i] += start[i]
			}
			return from
		}, nil)
	}
	return a.deriveLocked(op, p, &r)
}

// deriveLocked lets the library make the array p: of the region r, or a copy if r is
// nil.
func (a *Array) deriveLocked(op string, p *ArrayParams, r *region) (*Array, error) {
	path, err := p.Storage.place()
	if err != nil {
		return nil, refused(op, p.Storage.Path, err)
	}
	d := p.array(path)
	d.sc.delta = d.sc.delta || a.sc.delta
	params, where := p.Storage.CParams.toC(), p.Storage.where()
	var cerr C.goblosc2_err_t
	var c *C.goblosc2_handle_t
	var rc C.int
	if r != nil {
		rc = C.goblosc2_array_slice(&cerr, a.sc.h.c, cPath(path), &where, &params, &d.geometry, cString(d.dtype), &r.start[0], &r.stop[0], &c, &d.sc.facts)
	} else {
		rc = C.goblosc2_array_copy(&cerr, a.sc.h.c, cPath(path), &where, &params, &d.geometry, cString(d.dtype), &c, &d.sc.facts)
	}
	if rc < 0 {
		return nil, failed(op, path, &cerr)
	}
	d.sc.h = own(c, "Array", path)
	return d, nil
}

// gatherLocked makes the array p chunk by chunk: from says which element of a is the
// first of a region of p, and shape what shape the region has there, the same if nil.
// The elements of the region are in the same order in both.
func (a *Array) gatherLocked(op string, p *ArrayParams, from, shape func([]int64) []int64) (*Array, error) {
	d, err := CreateArray(p)
	if err != nil {
		return nil, err
	}
	if err := d.fillFrom(op, a, make([]int64, d.rank), p.Shape, from, shape); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// fillFrom writes a region of d, chunk by chunk, with elements of a, which is locked.
func (d *Array) fillFrom(op string, a *Array, start, extent []int64, from, shape func([]int64) []int64) error {
	r, err := d.placeLocked(start, extent)
	if err != nil {
		return refused(op, d.sc.path, err)
	}
	if r.nbytes == 0 {
		return nil
	}
	fill := func(part *region) error {
		at, n := make([]int64, d.rank), make([]int64, d.rank)
		for i := range at {
			at[i], n[i] = int64(part.start[i]), int64(part.shape[i])
		}
		b := make([]byte, part.nbytes)
		source := n
		if shape != nil {
			source = shape(n)
		}
		q, err := a.regionLocked(from(at), source, len(b))
		if err == nil {
			err = a.checkStoredRegion(&q)
		}
		if err != nil {
			return refused(op, a.sc.path, err)
		}
		if err := a.readLocked(op, b, &q); err != nil {
			return err
		}
		return d.WriteRegion(b, at, n)
	}
	if d.rank == 0 {
		return fill(&r)
	}
	return d.eachPart(&r, fill)
}

// Copy makes an array with the same elements and metalayers (b2nd_copy): with other
// chunks, blocks or parameters, in another place, or as the other of b2nd and Caterva.
// Where only the place differs chunks are copied as they are.
//
// It returns the errors of CreateArray and ReadRegion.
func (a *Array) Copy(l Layout) (*Array, error) {
	const op = "copy array"
	p, err := l.params(a, a.Shape(), a.Chunks(), a.Blocks())
	if err == nil {
		_, err = p.Storage.place()
	}
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	if err := a.sc.h.lock(op); err != nil {
		return nil, err
	}
	defer a.sc.h.mu.Unlock()
	if slices.Equal(p.Chunks, a.Chunks()) && slices.Equal(p.Blocks, a.Blocks()) && !p.Caterva && !a.caterva && p.DType == a.dtype {
		if err := a.sc.checkStored(0, int64(a.sc.facts.nchunks)); err != nil {
			return nil, refused(op, a.sc.path, err)
		}
		return a.deriveLocked(op, p, nil)
	}
	own := map[string]bool{b2nd.Name: true, b2nd.CatervaName: true}
	names, err := a.sc.Meta().namesLocked()
	for i := 0; err == nil && i < len(names); i++ {
		var content []byte
		if content, err = a.sc.Meta().getLocked(names[i]); err == nil && !own[names[i]] {
			p.Meta = append(p.Meta, Metalayer{names[i], content})
		}
	}
	if err != nil {
		return nil, err
	}
	d, err := a.gatherLocked(op, p, slices.Clone[[]int64], nil)
	if err != nil {
		return nil, err
	}
	if err := a.sc.copyMetaLocked(d.sc.VLMeta(), a.sc.VLMeta()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Save writes the array to a new file, as a contiguous frame (b2nd_save). Its errors
// are those of SChunk.Save.
func (a *Array) Save(path string) error {
	const op = "save"
	st := Storage{Path: path, Contiguous: true}
	path, err := st.place()
	if err == nil && path == "" {
		err = fmt.Errorf("%w: no path", ErrParam)
	}
	if err != nil {
		return refused(op, st.Path, err)
	}
	if !a.sc.buffered() || a.caterva || a.ItemSize() > maxItem {
		// The library would make a sparse one of a sparse one, and call large elements bytes.
		d, err := a.Copy(Layout{Storage: st, Caterva: a.caterva})
		if err != nil {
			return err
		}
		return d.Close()
	}
	if err := a.sc.h.lock(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	if C.goblosc2_array_save(&cerr, a.sc.h.c, cString(path)) < 0 {
		return failed(op, path, &cerr)
	}
	return nil
}

// hasSaveAppend reports whether the library appends arrays to files.
const hasSaveAppend = C.HYPERSLAB_BLOSC2 >= 221

// AppendToFile writes the array, as a contiguous frame, behind what the file holds, and
// returns where it starts, in bytes: the Offset to open it with (b2nd_save_append from
// C-Blosc2 2.21 on). Its errors are those of SChunk.AppendToFile.
func (a *Array) AppendToFile(path string) (int64, error) {
	const op = "append to file"
	if !hasSaveAppend || !a.sc.buffered() || a.caterva || a.ItemSize() > maxItem || path == "" || strings.IndexByte(path, 0) >= 0 {
		return a.sc.AppendToFile(path)
	}
	if err := a.sc.h.lock(op); err != nil {
		return 0, err
	}
	defer a.sc.h.mu.Unlock()
	var cerr C.goblosc2_err_t
	offset := C.goblosc2_array_append_file(&cerr, a.sc.h.c, cString(path))
	if offset < 0 {
		return 0, failed(op, path, &cerr)
	}
	return int64(offset), nil
}

// Squeeze makes an array without the dimensions drop, which have one element; nil
// stands for all of those. It is a copy: the library changes the array itself and
// leaves it unreadable where a dropped dimension has chunks of more than one element.
//
// It returns ErrParam for a dimension that has more elements or is not there, and the
// errors of Copy.
func (a *Array) Squeeze(drop []int, l Layout) (*Array, error) {
	const op = "squeeze"
	shape := a.Shape()
	if drop == nil {
		for i, n := range shape {
			if n == 1 {
				drop = append(drop, i)
			}
		}
	}
	for _, i := range drop {
		if i < 0 || i >= len(shape) || shape[i] != 1 {
			return nil, refused(op, a.sc.path, fmt.Errorf("%w: dropping dimension %d of shape %v", ErrParam, i, shape))
		}
	}
	var kept []int
	for i := range shape {
		if !slices.Contains(drop, i) {
			kept = append(kept, i)
		}
	}
	return a.reshape(op, l, keep(shape, kept), keep(a.Chunks(), kept), keep(a.Blocks(), kept), func(at []int64, one int64) []int64 {
		out := make([]int64, len(shape))
		for i := range out {
			out[i] = one
		}
		for j, i := range kept {
			out[i] = at[j]
		}
		return out
	})
}

func keep[T any](all []T, kept []int) []T {
	out := make([]T, len(kept))
	for j, i := range kept {
		out[j] = all[i]
	}
	return out
}

// ExpandDims makes an array with further dimensions of one element: axes are their
// places in the new array, in ascending order.
//
// It returns ErrParam for places that are not, errors.ErrUnsupported for more than
// MaxDim dimensions, and the errors of Copy.
func (a *Array) ExpandDims(axes []int, l Layout) (*Array, error) {
	const op = "expand dimensions"
	rank := a.rank + len(axes)
	var kept []int // place in the new array of each old dimension
	next := 0
	for i := range rank {
		if next < len(axes) && axes[next] == i {
			next++
		} else {
			kept = append(kept, i)
		}
	}
	if next != len(axes) {
		return nil, refused(op, a.sc.path, fmt.Errorf("%w: new dimensions %v of %d", ErrParam, axes, rank))
	}
	shape, chunks, blocks := ones[int64](rank), ones[int32](rank), ones[int32](rank)
	for j, i := range kept {
		shape[i], chunks[i], blocks[i] = int64(a.Shape()[j]), a.Chunks()[j], a.Blocks()[j]
	}
	return a.reshape(op, l, shape, chunks, blocks, func(at []int64, _ int64) []int64 { return keep(at, kept) })
}

func ones[T int32 | int64](n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// reshape makes an array whose elements are those of a in the same order; to turns an
// index or, with one = 1, a shape of the new array into one of a.
func (a *Array) reshape(op string, l Layout, shape []int64, chunks, blocks []int32, to func(at []int64, one int64) []int64) (*Array, error) {
	p, err := l.params(a, shape, chunks, blocks)
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	if err := a.sc.h.lock(op); err != nil {
		return nil, err
	}
	defer a.sc.h.mu.Unlock()
	return a.gatherLocked(op, p, func(at []int64) []int64 { return to(at, 0) }, func(n []int64) []int64 { return to(n, 1) })
}

// Concatenate makes an array of several, one behind the other in the dimension axis.
// Chunks, blocks, type and parameters come from the first where l has none.
//
// It returns ErrParam for no arrays, a dimension that is not there, or arrays whose
// elements or other dimensions differ; and the errors of Copy.
func Concatenate(axis int, arrays []*Array, l Layout) (*Array, error) {
	const op = "concatenate"
	if len(arrays) == 0 {
		return nil, refused(op, l.Storage.Path, fmt.Errorf("%w: no arrays", ErrParam))
	}
	first := arrays[0]
	shape := first.Shape()
	if axis < 0 || axis >= len(shape) {
		return nil, refused(op, first.sc.path, fmt.Errorf("%w: dimension %d of %d", ErrParam, axis, len(shape)))
	}
	for _, b := range arrays[1:] {
		other := b.Shape()
		same := len(other) == len(shape) && b.ItemSize() == first.ItemSize() && b.dtype == first.dtype
		for i := 0; same && i < len(shape); i++ {
			same = i == axis || other[i] == shape[i]
		}
		if !same {
			return nil, refused(op, b.sc.path, fmt.Errorf("%w: shape %v of %q behind %v of %q in dimension %d", ErrParam, other, b.dtype, first.Shape(), first.dtype, axis))
		}
		if shape[axis] += other[axis]; shape[axis] < 0 {
			return nil, refused(op, b.sc.path, fmt.Errorf("%w: more than 2^63-1 elements in dimension %d", ErrLimit, axis))
		}
	}
	p, err := l.params(first, shape, first.Chunks(), first.Blocks())
	if err != nil {
		return nil, refused(op, first.sc.path, err)
	}
	d, err := CreateArray(p)
	if err != nil {
		return nil, err
	}
	start := make([]int64, len(shape))
	for _, b := range arrays {
		if err := d.concatenate(op, b, axis, start); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// concatenate writes b into d at start, and moves that on.
func (d *Array) concatenate(op string, b *Array, axis int, start []int64) error {
	if err := b.sc.h.lock(op); err != nil {
		return err
	}
	defer b.sc.h.mu.Unlock()
	extent := make([]int64, b.rank)
	for i := range extent {
		extent[i] = int64(b.geometry.shape[i])
	}
	err := d.fillFrom(op, b, start, extent, func(at []int64) []int64 {
		from := slices.Clone(at)
		from[axis] -= start[axis]
		return from
	}, nil)
	start[axis] += extent[axis]
	return err
}
