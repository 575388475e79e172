// Take and Put read and write the elements of a selection through any backend. They use boxes that
// cover the elements, one chunk or several neighboring chunks at a time, in bounded memory.

package ndarray

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/meter"
)

// boxBytes is the maximum size in bytes of a box that covers selected elements.
const boxBytes = 4 << 20

// Take fills dst with the elements of s, in row-major order of the result and native byte order.
// len(dst) must be exactly the product of s.Shape(a.Shape()) times DType.Size bytes. Chunks without
// a selected element are not read. Take also allocates boxes of about 4 MiB.
//
// It returns the errors of Selection.Shape and of Read.
func (a *Array) Take(ctx context.Context, dst []byte, s Selection) error {
	const op = "take from"
	o := a.begin(ctx, meter.Read)
	return a.didRead(o, op, int64(len(dst)), a.use(op, func() error {
		p, err := a.pick(ctx, len(dst), s)
		if err != nil || p.count == 0 {
			return err
		}
		return a.takePicked(ctx, dst, p, a.limit())
	}))
}

// takePicked fills dst. p must select at least one element.
func (a *Array) takePicked(ctx context.Context, dst []byte, p picked, workers int) error {
	if r, ok := p.region(); ok {
		return a.backend.ReadRegion(ctx, dst, r, workers)
	}
	return a.eachBox(ctx, p, func(b *box) error {
		if err := a.backend.ReadRegion(ctx, b.data, b.region, workers); err != nil {
			return err
		}
		b.each(func(inBox, inBuffer, n int) { copy(dst[inBuffer:inBuffer+n], b.data[inBox:]) })
		return nil
	})
}

// Put replaces the elements of s with src, in the order in which Take returns them. If an element
// is selected several times, the last value is stored. Boxes that s covers only partly are read,
// changed and written.
//
// It returns the errors of Selection.Shape and of Write.
func (a *Array) Put(ctx context.Context, src []byte, s Selection) error {
	const op = "put to"
	o := a.begin(ctx, meter.Write)
	return a.didWrite(o, op, int64(len(src)), a.use(op, func() error {
		w, err := a.writer()
		if err != nil {
			return err
		}
		p, err := a.pick(ctx, len(src), s)
		if err != nil || p.count == 0 {
			return err
		}
		if r, ok := p.region(); ok {
			return w.WriteRegion(ctx, src, r, a.limit())
		}
		return a.eachBox(ctx, p, func(b *box) error {
			if !b.dense {
				if err := a.backend.ReadRegion(ctx, b.data, b.region, a.limit()); err != nil {
					return err
				}
			}
			b.each(func(inBox, inBuffer, n int) { copy(b.data[inBox:inBox+n], src[inBuffer:]) })
			return w.WriteRegion(ctx, b.data, b.region, a.limit())
		})
	}))
}

// pick resolves s and checks it, the buffer and the context.
func (a *Array) pick(ctx context.Context, have int, s Selection) (picked, error) {
	if a.m().Null {
		return picked{}, fmt.Errorf("%w: the array is null", ErrRegion)
	}
	p, err := s.resolve(a.m().Shape)
	if err != nil {
		return p, err
	}
	n, ok := grid.Product([]int64{p.count, int64(a.m().DType.Size)})
	if !ok || n > math.MaxInt || int(n) != have {
		return p, fmt.Errorf("%w: %d bytes, selection %v of %d elements of %d bytes needs %d",
			ErrSize, have, s, p.count, a.m().DType.Size, n)
	}
	if a.m().DType.Size == 0 {
		return p, fmt.Errorf("%w: elements of %v have a variable size: a View moves them", ErrType, a.m().DType)
	}
	return p, ctx.Err()
}

// region returns the selection as a region, if it is one.
func (p picked) region() (Region, bool) {
	if p.points != nil {
		return Region{}, false
	}
	r := Region{Start: make([]int64, len(p.axes)), Shape: make([]int64, len(p.axes))}
	for i, x := range p.axes {
		if !x.isSpan() {
			return Region{}, false
		}
		r.Start[i], r.Shape[i] = x.start, x.count
	}
	return r, true
}

// box is a region of the array that contains selected elements.
type box struct {
	region Region
	data   []byte
	size   int // bytes of an element

	// By axis: for each selected index, the bytes from the start of the box and of the buffer.
	// Points use one axis.
	inBox, inBuffer [][]int
	dense           bool // every element is selected
}

// each calls f for runs of n bytes that are contiguous in box and buffer.
func (b *box) each(f func(inBox, inBuffer, n int)) {
	last := len(b.inBox) - 1
	if last < 0 {
		f(0, 0, b.size)
		return
	}
	x, y := b.inBox[last], b.inBuffer[last]
	var walk func(axis, boxAt, bufferAt int)
	walk = func(axis, boxAt, bufferAt int) {
		if axis < last {
			for i, d := range b.inBox[axis] {
				walk(axis+1, boxAt+d, bufferAt+b.inBuffer[axis][i])
			}
			return
		}
		for i := 0; i < len(x); {
			n := 1
			for i+n < len(x) && x[i+n] == x[i]+n*b.size && y[i+n] == y[i]+n*b.size {
				n++
			}
			f(boxAt+x[i], bufferAt+y[i], n*b.size)
			i += n
		}
	}
	walk(0, 0, 0)
}

// eachBox covers the selection with boxes and calls f for one after the other.
func (a *Array) eachBox(ctx context.Context, p picked, f func(*box) error) error {
	tile := a.m().tile()
	if p.axes == nil {
		return a.eachPointBox(ctx, p, tile, f)
	}
	size := a.m().DType.Size
	rank := len(p.axes)
	strides := make([]int, rank) // in bytes of the buffer
	step := size
	for i := rank - 1; i >= 0; i-- {
		strides[i] = step
		step *= int(p.axes[i].count)
	}
	runs := make([][]run, rank)
	for i, x := range p.axes {
		runs[i] = x.runs(tile[i])
	}
	mergeNeighbours(runs, tile, int64(size))
	var scratch []byte
	index := make([]int, rank)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := &box{size: size, dense: true, inBox: make([][]int, rank), inBuffer: make([][]int, rank),
			region: Region{Start: make([]int64, rank), Shape: make([]int64, rank)}}
		for i := range index {
			r := runs[i][index[i]]
			b.region.Start[i], b.region.Shape[i] = r.low, r.high-r.low
		}
		step := size
		for i := rank - 1; i >= 0; i-- {
			r := runs[i][index[i]]
			b.inBox[i], b.inBuffer[i] = make([]int, len(r.places)), make([]int, len(r.places))
			distinct, before := int64(0), int64(-1)
			for k, at := range r.places {
				x := p.axes[i].at(at)
				b.inBox[i][k], b.inBuffer[i][k] = int(x-r.low)*step, int(at)*strides[i]
				if x != before {
					distinct++
				}
				before = x
			}
			b.dense = b.dense && distinct == r.high-r.low
			step *= int(r.high - r.low)
		}
		if cap(scratch) < step {
			scratch = make([]byte, step)
		}
		b.data = scratch[:step]
		if err := f(b); err != nil {
			return err
		}
		i := rank - 1
		for ; i >= 0; i-- {
			if index[i]++; index[i] < len(runs[i]) {
				break
			}
			index[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// tile returns the shape by which selected elements are grouped: a chunk, or the part of a chunk
// that fits in a box.
func (m Meta) tile() []int64 {
	tile := slices.Clone(m.ChunkShape)
	if tile == nil {
		tile = slices.Clone(m.Shape)
	}
	for i := range tile {
		tile[i] = max(min(tile[i], m.Shape[i]), 1)
	}
	return grid.Halve(tile, int64(m.DType.Size), boxBytes)
}

// run is a range of an axis that contains selected indexes.
type run struct {
	low, high int64   // from low up to, but not including, high
	places    []int64 // positions in the selection, sorted by index; stable for equal indexes
}

// runs groups the indexes of an axis by tiles.
func (p pick) runs(tile int64) []run {
	var out []run
	add := func(place, x int64) {
		if n := len(out) - 1; n >= 0 && out[n].low/tile == x/tile {
			out[n].high = x + 1
			out[n].places = append(out[n].places, place)
			return
		}
		out = append(out, run{low: x, high: x + 1, places: []int64{place}})
	}
	if p.list == nil {
		for i := range p.count {
			if p.step < 0 {
				i = p.count - 1 - i
			}
			add(i, p.at(i))
		}
		return out
	}
	order := make([]int64, p.count)
	for i := range order {
		order[i] = int64(i)
	}
	slices.SortStableFunc(order, func(a, b int64) int { return cmp.Compare(p.list[a], p.list[b]) })
	for _, place := range order {
		add(place, p.list[place])
	}
	return out
}

// mergeNeighbours joins runs of neighboring tiles, from the last axis on, as long as boxes stay
// within boxBytes. This makes reads fewer and longer.
func mergeNeighbours(runs [][]run, tile []int64, size int64) {
	longest := make([]int64, len(runs))
	for i, axis := range runs {
		for _, r := range axis {
			longest[i] = max(longest[i], r.high-r.low)
		}
	}
	for i := len(runs) - 1; i >= 0; i-- {
		others := size
		for k, n := range longest {
			if k != i {
				others *= n
			}
		}
		most := boxBytes / others
		merged := runs[i][:1]
		for _, r := range runs[i][1:] {
			last := &merged[len(merged)-1]
			if r.high-last.low <= most && r.low/tile[i] == (last.high-1)/tile[i]+1 {
				last.high = r.high
				last.places = append(last.places, r.places...)
			} else {
				merged = append(merged, r)
			}
		}
		runs[i] = merged
		for _, r := range merged {
			longest[i] = max(longest[i], r.high-r.low)
		}
	}
}

// eachPointBox covers the points of each tile with a box and calls f for it.
func (a *Array) eachPointBox(ctx context.Context, p picked, tile []int64, f func(*box) error) error {
	rank, size := len(tile), a.m().DType.Size
	point := func(i int64) []int64 { return p.points[i*int64(rank) : (i+1)*int64(rank)] }
	order := make([]int64, p.count)
	for i := range order {
		order[i] = int64(i)
	}
	byTile := func(a, b int64) int {
		x, y := point(a), point(b)
		for i, t := range tile {
			if c := cmp.Compare(x[i]/t, y[i]/t); c != 0 {
				return c
			}
		}
		return 0
	}
	slices.SortStableFunc(order, byTile)
	var scratch []byte
	for len(order) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := 1
		for n < len(order) && byTile(order[0], order[n]) == 0 {
			n++
		}
		low, high := slices.Clone(point(order[0])), slices.Clone(point(order[0]))
		for _, i := range order[:n] {
			for axis, x := range point(i) {
				low[axis], high[axis] = min(low[axis], x), max(high[axis], x)
			}
		}
		b := &box{size: size, region: Region{Start: low, Shape: high}, inBox: [][]int{make([]int, n)}, inBuffer: [][]int{make([]int, n)}}
		total := size
		for axis := range high {
			high[axis] += 1 - low[axis]
			total *= int(high[axis])
		}
		for k, i := range order[:n] {
			at := int64(0)
			for axis, x := range point(i) {
				at = at*high[axis] + x - low[axis]
			}
			b.inBox[0][k], b.inBuffer[0][k] = int(at)*size, int(i)*size
		}
		if cap(scratch) < total {
			scratch = make([]byte, total)
		}
		b.data = scratch[:total]
		if err := f(b); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

// Take returns the elements of s, in row-major order of the result. T must match the array's
// element type, as in Read.
//
// It returns the errors of Read and of Array.Take.
func Take[T any](ctx context.Context, a *Array, s Selection) ([]T, error) {
	const op = "take from"
	p, err := s.resolve(a.m().Shape)
	if err == nil && a.m().Null {
		err = fmt.Errorf("%w: the array is null", ErrRegion)
	}
	if err != nil {
		return nil, a.wrap(op, err)
	}
	if a.m().DType.Size == 0 {
		return takeThrough(a, op, s, func(v *Array, dst []T) error { return Read(ctx, v, dst, Whole(v.Shape())) })
	}
	return moveIn[T](a, op, p.count, func(b []byte) error { return a.Take(ctx, b, s) })
}

// takeThrough returns the elements of s, which read fills through a view.
func takeThrough[T any](a *Array, op string, s Selection, read func(v *Array, dst []T) error) (dst []T, err error) {
	v, err := View(a, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if dst, err = allocate[T](v.NumElems()); err != nil {
		return nil, a.wrap(op, err)
	}
	if err := read(v, dst); err != nil {
		return nil, err
	}
	return dst, nil
}

// Put replaces the elements of s with src, in row-major order of the result. T must match the
// array's element type, as in Write.
//
// It returns the errors of Write and of Array.Put.
func Put[T any](ctx context.Context, a *Array, src []T, s Selection) error {
	const op = "put to"
	if a.m().DType.Size == 0 {
		return a.wrap(op, putMapped(ctx, a, src, s))
	}
	return moveOut(a, op, src, func(b []byte) error { return a.Put(ctx, b, s) })
}

// putMapped replaces elements of a variable size.
func putMapped[T any](ctx context.Context, a *Array, src []T, s Selection) error {
	_, strs, err := encodeMapped(a.m().DType, src, mapping{write: true}, func(i int) any { return i })
	if err != nil {
		return err
	}
	if a.m().Null {
		return fmt.Errorf("%w: the array is null", ErrRegion)
	}
	p, err := s.resolve(a.m().Shape)
	if err != nil {
		return err
	}
	if p.count != int64(len(strs)) {
		return fmt.Errorf("%w: got %d elements, want %d for selection %v", ErrSize, len(strs), p.count, s)
	}
	if p.count == 0 {
		return nil
	}
	return p.eachSpan(len(a.m().Shape), func(r Region) error {
		n := r.NumElems()
		err := a.WriteStrings(ctx, strs[:n], r)
		strs = strs[n:]
		return err
	})
}
