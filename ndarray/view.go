// Views: arrays that show a selection of another array.

package ndarray

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// View returns a read-only array of the elements of s. It copies no elements: every read of the
// view reads from a, so any function for arrays also works on a part of an array. The view has the
// attributes, the axis names, the fill value and the compression of a, and a's chunks if the
// selection preserves them. a must stay open while the view is used, and the caller must still
// close it. A Resize of a does not change the view.
//
// It returns the errors of Selection.Shape, and ErrRegion for a null array.
func View(a *Array, s Selection) (*Array, error) {
	m := a.Meta()
	if m.Null {
		return nil, a.wrap("select from", fmt.Errorf("%w: the array is null", ErrRegion))
	}
	p, err := s.resolve(m.Shape)
	if err != nil {
		return nil, a.wrap("select from", err)
	}
	v := &view{a: a, p: p}
	v.meta = Meta{
		Format: m.Format, Path: m.Path + s.String(), Shape: p.shape, DType: m.DType, Fill: m.Fill,
		Compression: m.Compression, Comment: m.Comment, ReadOnly: true, Nullable: m.Nullable,
	}
	for result, axis := range p.from {
		name := ""
		if axis >= 0 && m.AxisNames != nil {
			name = m.AxisNames[axis]
		}
		if name != "" && v.meta.AxisNames == nil {
			v.meta.AxisNames = make([]string, len(p.from))
		}
		if name != "" {
			v.meta.AxisNames[result] = name
		}
	}
	if m.ChunkShape != nil && p.keepsChunks(m.ChunkShape) {
		v.meta.ChunkShape = make([]int64, len(p.from))
		for result, axis := range p.from {
			v.meta.ChunkShape[result] = 1
			if axis >= 0 {
				v.meta.ChunkShape[result] = m.ChunkShape[axis]
			}
		}
	}
	b := Backend(v)
	if m.DType.Size == 0 {
		b = stringView{v}
	}
	out, err := New(b)
	if err == nil {
		out.workers.Store(a.workers.Load())
		out.log.Store(a.log.Load())
	}
	return out, err
}

// keepsChunks reports whether the chunks of the result are chunks of the array, or parts of chunks
// along dropped axes.
func (p picked) keepsChunks(chunk []int64) bool {
	if len(p.from) == 0 || slices.Contains(chunk, 0) { // python-blosc2 writes chunks of 0 for arrays without elements
		return false
	}
	for _, axis := range p.from {
		if axis >= 0 && (!p.axes[axis].isSpan() || p.axes[axis].start%chunk[axis] != 0) {
			return false
		}
	}
	return true
}

// part returns the selection of the elements in region r of p's result.
func (p picked) part(r Region, rank int) picked {
	q := picked{shape: r.Shape, count: r.NumElems(), from: p.from}
	if p.axes == nil {
		q.points = p.points[r.Start[0]*int64(rank) : (r.Start[0]+r.Shape[0])*int64(rank)]
		return q
	}
	q.axes = append(q.axes, p.axes...)
	for result, axis := range p.from {
		if axis < 0 {
			continue
		}
		x, start, n := p.axes[axis], r.Start[result], r.Shape[result]
		if x.list != nil {
			q.axes[axis] = pick{list: x.list[start : start+n], count: n}
		} else {
			q.axes[axis] = pick{start: x.at(start), step: x.step, count: n}
		}
	}
	return q
}

// around returns the smallest region that contains all selected elements. p must not be empty.
func (p picked) around(rank int) Region {
	low, high := slices.Repeat([]int64{math.MaxInt64}, rank), make([]int64, rank)
	widen := func(axis int, x int64) { low[axis], high[axis] = min(low[axis], x), max(high[axis], x) }
	for i, x := range p.points {
		widen(i%rank, x)
	}
	for axis, x := range p.axes {
		widen(axis, x.at(0))
		widen(axis, x.at(x.count-1))
		for _, i := range x.list {
			widen(axis, i)
		}
	}
	r := Region{Start: low, Shape: high}
	for axis := range r.Shape {
		r.Shape[axis] += 1 - r.Start[axis]
	}
	return r
}

// view is the backend of a View.
type view struct {
	a    *Array
	p    picked
	meta Meta
}

// Meta implements Backend.
func (v *view) Meta() Meta { return v.meta }

// ReadRegion implements Backend.
func (v *view) ReadRegion(ctx context.Context, dst []byte, r Region, workers int) error {
	return v.a.use("read", func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return v.a.takePicked(ctx, dst, v.p.part(r, len(v.a.m().Shape)), workers)
	})
}

// under returns the smallest region of the array around a region of the view.
func (v *view) under(r Region) Region {
	rank := len(v.a.m().Shape)
	return v.p.part(r, rank).around(rank)
}

// Prefetch implements prefetcher.
func (v *view) Prefetch(ctx context.Context, regions readahead.Regions) (stop func()) {
	return v.a.prefetch(ctx, func(yield func(start, shape []int64) bool) {
		for start, shape := range regions {
			if r := v.under(Region{start, shape}); !yield(r.Start, r.Shape) {
				return
			}
		}
	})
}

// Uniform implements UniformTeller. A region of the view is uniform if the smallest region of the
// array around it is.
func (v *view) Uniform(ctx context.Context, within Region) (func(r Region) bool, error) {
	uniform, err := v.a.uniform(ctx, v.under(within))
	if err != nil || uniform == nil {
		return nil, err
	}
	return func(r Region) bool { return uniform(v.under(r)) }, nil
}

// ChunkForms implements chunked.Reader. The list is empty unless the view consists of complete
// chunks of the array, with all axes in their order.
func (v *view) ChunkForms(ctx context.Context) ([]chunked.Form, error) {
	under, ok := As[chunked.Reader](v.a.backend)
	if !ok || !v.wholeChunks() {
		return nil, ctx.Err()
	}
	var forms []chunked.Form
	err := v.a.use("read", func() (err error) { forms, err = under.ChunkForms(ctx); return err })
	return forms, err
}

// wholeChunks reports whether every chunk of the view is a chunk of the array. A view that ends
// inside a chunk has other padding, so that chunk is not stored in the array.
func (v *view) wholeChunks() bool {
	m := v.a.m()
	if v.meta.ChunkShape == nil || len(v.p.from) != len(m.Shape) || slices.Contains(m.ChunkShape, 0) {
		return false
	}
	for axis, from := range v.p.from {
		x := v.p.axes[axis]
		if from != axis || !x.isSpan() || x.start%m.ChunkShape[axis] != 0 {
			return false
		}
		if end := x.start + x.count; end%m.ChunkShape[axis] != 0 && end != m.Shape[axis] {
			return false
		}
	}
	return true
}

// ReadChunk implements chunked.Reader.
func (v *view) ReadChunk(ctx context.Context, dst []byte, f chunked.Form, n int64) (b []byte, err error) {
	under, ok := As[chunked.Reader](v.a.backend)
	if !ok || !v.wholeChunks() {
		return nil, fmt.Errorf("%w: stored chunks of %s", errors.ErrUnsupported, v.meta.Path)
	}
	m, number, size := v.a.m(), int64(0), int64(1)
	for axis := len(v.p.axes) - 1; axis >= 0; axis-- {
		chunk, x := m.ChunkShape[axis], v.p.axes[axis]
		along := grid.DivUp(x.count, chunk)
		number += (x.start/chunk + n%along) * size
		size *= grid.DivUp(m.Shape[axis], chunk)
		n /= along
	}
	err = v.a.use("read", func() (err error) { b, err = under.ReadChunk(ctx, dst, f, number); return err })
	return b, err
}

// Attrs implements AttrReader.
func (v *view) Attrs(ctx context.Context) (Attrs, error) { return v.a.Attrs(ctx) }

// AttrDigest implements attrDigester.
func (v *view) AttrDigest(ctx context.Context, name string) ([32]byte, error) {
	return v.a.attrDigest(ctx, name)
}

// Close implements Backend. The array under the view stays open.
func (v *view) Close() error { return nil }

// stringView is a view of an array whose elements have a variable size.
type stringView struct{ *view }

// ReadStrings implements StringReader.
func (v stringView) ReadStrings(ctx context.Context, dst []string, r Region) error {
	return v.a.takeStrings(ctx, dst, v.p.part(r, len(v.a.m().Shape)))
}

// takeStrings reads the selected strings in regions that are as large as possible. It does not use
// boxes, because strings have no bytes that could be copied from a box.
func (a *Array) takeStrings(ctx context.Context, dst []string, p picked) error {
	return p.eachSpan(len(a.m().Shape), func(r Region) error {
		n := r.NumElems()
		err := a.ReadStrings(ctx, dst[:n], r)
		dst = dst[n:]
		return err
	})
}

// eachSpan calls f for regions that are as large as possible, in row-major order of the result. f
// must not keep the region. p must not be empty.
func (p picked) eachSpan(rank int, f func(r Region) error) error {
	if p.axes == nil {
		one := Region{Start: make([]int64, rank), Shape: make([]int64, rank)}
		for i := range one.Shape {
			one.Shape[i] = 1
		}
		for i := range p.count {
			copy(one.Start, p.points[i*int64(rank):])
			if err := f(one); err != nil {
				return err
			}
		}
		return nil
	}
	// Axes after the last one that is not a span are one region.
	spans := rank
	for spans > 0 && p.axes[spans-1].isSpan() {
		spans--
	}
	r := Region{Start: make([]int64, rank), Shape: make([]int64, rank)}
	for i := spans; i < rank; i++ {
		r.Start[i], r.Shape[i] = p.axes[i].at(0), p.axes[i].count
	}
	var walk func(axis int) error
	walk = func(axis int) error {
		if axis == spans {
			return f(r)
		}
		r.Shape[axis] = 1
		for i := range p.axes[axis].count {
			r.Start[axis] = p.axes[axis].at(i)
			if err := walk(axis + 1); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(0)
}
