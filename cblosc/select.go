// Access to elements outside a single region: strided, by lists of indices for each dimension, or
// single elements.

package cblosc

// #include "shim.h"
import "C"

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// ReadAll fills dst with all elements, in row-major order and in the byte order of storage
// (b2nd_to_cbuffer). Its errors are those of ReadRegion.
func (a *Array) ReadAll(dst []byte) error {
	const op = "read"
	if err := a.sc.h.lock(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	shape := make([]int64, a.rank)
	for i := range shape {
		shape[i] = int64(a.geometry.shape[i])
	}
	r, err := a.regionLocked(make([]int64, a.rank), shape, len(dst))
	if err == nil {
		err = a.checkStoredRegion(&r)
	}
	if err != nil {
		return refused(op, a.sc.path, err)
	}
	if len(dst) == 0 {
		return nil
	}
	if a.rank > 0 && a.sc.entire {
		return a.readLocked(op, dst, &r)
	}
	var cerr C.goblosc2_err_t
	if C.goblosc2_array_read_all(&cerr, a.sc.h.c, (*C.uint8_t)(unsafe.SliceData(dst)), C.int64_t(len(dst))) < 0 {
		return a.sc.h.failed(op, &cerr)
	}
	return nil
}

// ReadSteps fills dst with count[i] elements in each dimension: start[i], start[i]+step[i], and so
// on, in row-major order of the result. Steps may be negative. Chunks without such an element are
// not read.
//
// It returns ErrParam for a step of 0, and the errors of ReadRegion.
func (a *Array) ReadSteps(dst []byte, start, count, step []int64) error {
	return a.steps("read steps", dst, start, count, step, false)
}

// WriteSteps replaces the elements that ReadSteps reads. Its errors are those of
// WriteRegion, and ErrParam for a step of 0.
func (a *Array) WriteSteps(src []byte, start, count, step []int64) error {
	return a.steps("write steps", src, start, count, step, true)
}

func (a *Array) steps(op string, b []byte, start, count, step []int64, write bool) error {
	if len(start) != a.rank || len(count) != a.rank || len(step) != a.rank {
		return refused(op, a.sc.path, fmt.Errorf("%w: start of %d, count of %d and step of %d dimensions in an array of %d", ErrRegion, len(start), len(count), len(step), a.rank))
	}
	shape := a.Shape()
	lists := make([][]int64, a.rank)
	most := int64(len(b)) + 1 // longer lists are rejected anyway
	if slices.Contains(count, 0) {
		most = 0
	}
	for i, n := range count {
		switch {
		case step[i] == 0:
			return refused(op, a.sc.path, fmt.Errorf("%w: step[%d] = 0", ErrParam, i))
		case n < 0 || n > shape[i] || n > 0 && (start[i] < 0 || start[i] >= shape[i]),
			n > 1 && step[i] > 0 && step[i] > (shape[i]-1-start[i])/(n-1),
			n > 1 && step[i] < 0 && (step[i] == math.MinInt64 || -step[i] > start[i]/(n-1)):
			return refused(op, a.sc.path, fmt.Errorf("%w: %d elements from %d on by %d of %d in dimension %d", ErrRegion, n, start[i], step[i], shape[i], i))
		}
		lists[i] = make([]int64, min(n, most))
		for j := range lists[i] {
			lists[i][j] = start[i] + int64(j)*step[i]
		}
	}
	return a.orthogonal(op, b, lists, write, false)
}

// ReadOrthogonal fills dst with the elements whose index in each dimension i is in index[i]
// (b2nd_get_orthogonal_selection). The result has the order of the lists, row-major. Lists may
// contain duplicates. len(dst) must be the product of the lengths of the lists times ItemSize.
//
// Its errors are those of ReadRegion.
func (a *Array) ReadOrthogonal(dst []byte, index [][]int64) error {
	return a.orthogonal("read selection", dst, index, false, true)
}

// WriteOrthogonal replaces the elements that ReadOrthogonal reads (b2nd_set_orthogonal_selection).
// Of duplicate indices the last one is written. Its errors are those of WriteRegion.
func (a *Array) WriteOrthogonal(src []byte, index [][]int64) error {
	return a.orthogonal("write selection", src, index, true, true)
}

// orthogonal reads or writes a selection. It calls the library only if library is set and the array
// permits it.
func (a *Array) orthogonal(op string, b []byte, index [][]int64, write, library bool) error {
	lock := a.sc.h.lock
	if write {
		lock = a.sc.h.lockWrite
	}
	if err := lock(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	s, err := a.newSelection(index, len(b))
	if err != nil {
		return refused(op, a.sc.path, err)
	}
	if len(b) == 0 {
		return nil
	}
	err = s.eachChunk(func(i int64, _ *selection) error { return a.sc.checkStored(i, i+1) })
	if err != nil {
		return refused(op, a.sc.path, err)
	}
	if write {
		if err := a.sc.checkOrderLocked(op); err != nil {
			return err
		}
	}
	if !library || a.rank == 0 || a.sc.entire || write && a.sc.facts.guarded != 0 {
		// The library would get parts of the chunks wrong, or write into b.
		return s.transfer(op, b, write)
	}
	var flat, sizes []int64
	for _, list := range index {
		flat, sizes = append(flat, list...), append(sizes, int64(len(list)))
	}
	var cerr C.goblosc2_err_t
	p, n := (*C.uint8_t)(unsafe.SliceData(b)), C.int64_t(len(b))
	pf, ps := (*C.int64_t)(unsafe.SliceData(flat)), (*C.int64_t)(unsafe.SliceData(sizes))
	if write {
		if C.goblosc2_array_write_orthogonal(&cerr, a.sc.h.c, pf, ps, p, n, &a.sc.facts) < 0 {
			return a.sc.h.breakOn(a.sc.h.failed(op, &cerr))
		}
		return nil
	}
	if C.goblosc2_array_read_orthogonal(&cerr, a.sc.h.c, pf, ps, p, n) < 0 {
		return a.sc.h.failed(op, &cerr)
	}
	return nil
}

// pick is an index in one dimension and its position in the result.
type pick struct{ index, at int64 }

// selection holds the picks of each dimension, sorted by index.
type selection struct {
	a      *Array
	picks  [][]pick
	stride []int64 // of the result, in elements
}

// newSelection checks the lists, and that a buffer of n bytes has the size of the selection.
func (a *Array) newSelection(index [][]int64, n int) (*selection, error) {
	if len(index) != a.rank {
		return nil, fmt.Errorf("%w: lists of %d dimensions in an array of %d", ErrRegion, len(index), a.rank)
	}
	s := &selection{a: a, picks: make([][]pick, a.rank), stride: make([]int64, a.rank)}
	elems, fits := int64(1), true
	for i := a.rank - 1; i >= 0; i-- {
		s.stride[i] = elems
		if k := int64(len(index[i])); k > 0 && elems > math.MaxInt64/int64(a.sc.facts.typesize)/k {
			fits = false
		} else {
			elems *= k
		}
		picks := make([]pick, len(index[i]))
		for j, at := range index[i] {
			if at < 0 || at >= int64(a.geometry.shape[i]) {
				return nil, fmt.Errorf("%w: index %d of %d in dimension %d", ErrRegion, at, a.geometry.shape[i], i)
			}
			picks[j] = pick{at, int64(j)}
		}
		slices.SortStableFunc(picks, func(x, y pick) int { return cmp.Compare(x.index, y.index) })
		s.picks[i] = picks
	}
	empty := slices.ContainsFunc(index, func(l []int64) bool { return len(l) == 0 })
	if want := elems * int64(a.sc.facts.typesize); !empty && (!fits || int64(n) != want) || empty && n != 0 {
		return nil, fmt.Errorf("%w: buffer of %d bytes, selection of %d elements of %d", ErrSize, n, elems, a.sc.facts.typesize)
	}
	return s, nil
}

// eachChunk calls f for each chunk that contains picks, in the order of chunks, with the picks in
// that chunk. The selection must not be empty.
func (s *selection) eachChunk(f func(i int64, part *selection) error) error {
	part := &selection{a: s.a, picks: make([][]pick, s.a.rank), stride: s.stride}
	var walk func(dim int, number int64) error
	walk = func(dim int, number int64) error {
		if dim == s.a.rank {
			return f(number, part)
		}
		chunk := int64(s.a.geometry.chunks[dim])
		chunks := grid.DivUp(int64(s.a.geometry.shape[dim]), chunk)
		for rest := s.picks[dim]; len(rest) > 0; {
			c := rest[0].index / chunk
			n := 1
			for n < len(rest) && rest[n].index/chunk == c {
				n++
			}
			part.picks[dim] = rest[:n]
			if err := walk(dim+1, number*chunks+c); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	}
	return walk(0, 0)
}

// box returns the smallest region that contains all picks.
func (s *selection) box() *region {
	r := &region{nbytes: int64(s.a.sc.facts.typesize)}
	for i, picks := range s.picks {
		r.start[i] = C.int64_t(picks[0].index)
		r.stop[i] = C.int64_t(picks[len(picks)-1].index) + 1
		r.shape[i] = r.stop[i] - r.start[i]
		r.nbytes *= int64(r.shape[i])
	}
	return r
}

// transfer copies between b and the array, chunk by chunk. In each chunk it reads or writes the box
// of the picks.
func (s *selection) transfer(op string, b []byte, write bool) error {
	var buf []byte
	return s.eachChunk(func(_ int64, part *selection) error {
		r := part.box()
		buf = slices.Grow(buf[:0], int(r.nbytes))[:r.nbytes]
		if err := s.a.readLocked(op, buf, r); err != nil {
			return err
		}
		part.copy(b, buf, r, 0, 0, 0, write)
		if !write {
			return nil
		}
		return s.a.writeLocked(op, buf, r)
	})
}

// copy copies the picks of the dimensions from dim on between the result b and the box, whose
// region is r. The current positions in b and the box are at and in, in elements.
func (s *selection) copy(b, box []byte, r *region, dim int, at, in int64, write bool) {
	if dim == s.a.rank {
		size := int64(s.a.sc.facts.typesize)
		x, y := b[at*size:][:size], box[in*size:][:size]
		if write {
			x, y = y, x
		}
		copy(x, y)
		return
	}
	for _, p := range s.picks[dim] {
		s.copy(b, box, r, dim+1, at+p.at*s.stride[dim], in*int64(r.shape[dim])+p.index-int64(r.start[dim]), write)
	}
}

// ReadPoints fills dst with single elements (b2nd_get_sparse_cbuffer). points holds the indices of
// the elements in sequence, one index for each dimension. len(dst) must be the number of elements
// times ItemSize.
//
// It returns ErrParam for an array without dimensions or an incomplete index, and the errors of
// ReadRegion.
func (a *Array) ReadPoints(dst []byte, points []int64) error {
	return a.points("read points", dst, points, false)
}

// WritePoints replaces single elements, addressed as in ReadPoints. Of duplicate elements the last
// one is written. Its errors are those of ReadPoints and WriteRegion.
func (a *Array) WritePoints(src []byte, points []int64) error {
	return a.points("write points", src, points, true)
}

func (a *Array) points(op string, b []byte, points []int64, write bool) error {
	lock := a.sc.h.lock
	if write {
		lock = a.sc.h.lockWrite
	}
	if err := lock(op); err != nil {
		return err
	}
	defer a.sc.h.mu.Unlock()
	list, err := a.pointsLocked(points, len(b))
	for i := 0; err == nil && i < len(list); i++ {
		err = a.sc.checkStored(list[i].chunk, list[i].chunk+1)
	}
	if err != nil {
		return refused(op, a.sc.path, err)
	}
	if write {
		if err := a.sc.checkOrderLocked(op); err != nil {
			return err
		}
	}
	if !write && !a.sc.entire && len(list) > 0 {
		flat := make([]int64, len(list))
		for _, p := range list {
			for i := range a.rank {
				flat[p.at] = flat[p.at]*int64(a.geometry.shape[i]) + points[p.at*a.rank+i]
			}
		}
		var cerr C.goblosc2_err_t
		if C.goblosc2_array_read_points(&cerr, a.sc.h.c, (*C.int64_t)(unsafe.SliceData(flat)), C.int64_t(len(flat)),
			(*C.uint8_t)(unsafe.SliceData(b)), C.int64_t(len(b))) < 0 {
			return a.sc.h.failed(op, &cerr)
		}
		return nil
	}
	slices.SortStableFunc(list, func(x, y point) int { return cmp.Compare(x.chunk, y.chunk) })
	var buf []byte
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].chunk == list[0].chunk {
			n++
		}
		if err := a.transferPoints(op, &buf, b, points, list[:n], write); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// point is the chunk of an element and its position among the points.
type point struct {
	chunk int64
	at    int
}

// pointsLocked checks points and returns their chunks.
func (a *Array) pointsLocked(points []int64, n int) ([]point, error) {
	if a.rank == 0 || len(points)%a.rank != 0 {
		return nil, fmt.Errorf("%w: %d indices for elements of %d dimensions", ErrParam, len(points), a.rank)
	}
	list := make([]point, len(points)/a.rank)
	if want := int64(len(list)) * int64(a.sc.facts.typesize); int64(n) != want {
		return nil, fmt.Errorf("%w: buffer of %d bytes, %d elements of %d", ErrSize, n, len(list), a.sc.facts.typesize)
	}
	for j := range list {
		number := int64(0)
		for i := range a.rank {
			at, shape, chunk := points[j*a.rank+i], int64(a.geometry.shape[i]), int64(a.geometry.chunks[i])
			if at < 0 || at >= shape {
				return nil, fmt.Errorf("%w: index %d of %d in dimension %d of point %d", ErrRegion, at, shape, i, j)
			}
			number = number*grid.DivUp(shape, chunk) + at/chunk
		}
		list[j] = point{number, j}
	}
	return list, nil
}

// transferPoints copies the points of one chunk through the box that contains them.
func (a *Array) transferPoints(op string, buf *[]byte, b []byte, points []int64, list []point, write bool) error {
	size := int64(a.sc.facts.typesize)
	r := region{nbytes: size}
	for i := range a.rank {
		r.start[i], r.stop[i] = math.MaxInt64, 0
		for _, p := range list {
			at := C.int64_t(points[p.at*a.rank+i])
			r.start[i], r.stop[i] = min(r.start[i], at), max(r.stop[i], at+1)
		}
		r.shape[i] = r.stop[i] - r.start[i]
		r.nbytes *= int64(r.shape[i])
	}
	*buf = slices.Grow((*buf)[:0], int(r.nbytes))[:r.nbytes]
	if err := a.readLocked(op, *buf, &r); err != nil {
		return err
	}
	for _, p := range list {
		in := int64(0)
		for i := range a.rank {
			in = in*int64(r.shape[i]) + points[p.at*a.rank+i] - int64(r.start[i])
		}
		x, y := b[int64(p.at)*size:][:size], (*buf)[in*size:][:size]
		if write {
			x, y = y, x
		}
		copy(x, y)
	}
	if !write {
		return nil
	}
	return a.writeLocked(op, *buf, &r)
}

// ChunksOf returns the indices of the chunks that hold elements of a region, in ascending order
// (blosc2_get_slice_nchunks).
func (a *Array) ChunksOf(start, shape []int64) ([]int64, error) {
	const op = "find chunks"
	if err := a.sc.h.lock(op); err != nil {
		return nil, err
	}
	defer a.sc.h.mu.Unlock()
	r, err := a.placeLocked(start, shape)
	if err != nil {
		return nil, refused(op, a.sc.path, err)
	}
	if r.nbytes == 0 || a.rank == 0 {
		return make([]int64, min(r.nbytes, 1)), nil
	}
	n := int64(0)
	err = a.eachChunk(&r, func(int64, *[maxDims]int64) error {
		n++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.sc.chunksOfLocked(op, r.start[:], r.stop[:], n)
}

// ChunkIndex returns the position of chunk i in the grid of chunks (blosc2_unidim_to_multidim).
// ChunkNumber is its inverse. It returns ErrRegion.
func (a *Array) ChunkIndex(i int64) ([]int64, error) {
	grid, _, n := a.grid()
	if i < 0 || i >= n {
		return nil, refused("find chunk", a.sc.path, fmt.Errorf("%w: chunk %d of %d", ErrRegion, i, n))
	}
	index := make([]int64, len(grid))
	if len(grid) > 0 {
		C.goblosc2_to_index(C.int32_t(len(grid)), (*C.int64_t)(unsafe.SliceData(grid)), C.int64_t(i), (*C.int64_t)(unsafe.SliceData(index)))
	}
	return index, nil
}

// ChunkNumber returns the index of the chunk at a position in the grid of chunks
// (blosc2_multidim_to_unidim). It returns ErrRegion.
func (a *Array) ChunkNumber(index []int64) (int64, error) {
	grid, strides, _ := a.grid()
	bad := len(index) != len(grid)
	for i := 0; !bad && i < len(grid); i++ {
		bad = index[i] < 0 || index[i] >= grid[i]
	}
	if bad {
		return 0, refused("find chunk", a.sc.path, fmt.Errorf("%w: chunk %v in a grid of %v", ErrRegion, index, grid))
	}
	if len(grid) == 0 {
		return 0, nil
	}
	return int64(C.goblosc2_from_index(C.int32_t(len(grid)), (*C.int64_t)(unsafe.SliceData(strides)), (*C.int64_t)(unsafe.SliceData(index)))), nil
}

// grid returns the number of chunks in each dimension, the strides of the grid, and the total
// number of chunks.
func (a *Array) grid() (counts, strides []int64, n int64) {
	counts, strides, n = a.Shape(), make([]int64, a.rank), 1
	for i := a.rank - 1; i >= 0; i-- {
		if c := int64(a.geometry.chunks[i]); c > 0 {
			counts[i] = grid.DivUp(counts[i], c)
		}
		strides[i] = n
		n *= counts[i]
	}
	return counts, strides, n
}
