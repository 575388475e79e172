// Writes through filters that can change values: refused, or measured.

package ndarray

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// LossyWriter is implemented by backends whose filters or codec can change values when elements are
// written. Array refuses such writes unless the options of the backend allow them, and then counts
// the changes with [Array.LossyChanges]. It reads the chunks of each write before and after the
// write, so that a read after WriteRegion must return the elements as they are stored.
type LossyWriter interface {
	// Lossy returns the name of the first filter or codec that can store other values than it is
	// given, or "" if there is none, and whether the options allow such writes.
	Lossy() (filter string, allowed bool)
	// Rewrites reports whether Resize to shape encodes chunks again that contain elements of the
	// present shape.
	Rewrites(shape []int64) bool
}

// LossyChanges returns the number of elements that lossy filters changed in the writes of this
// Array: written elements whose stored value differs, and other elements of the same chunks whose
// value changed. It is 0 for an array without lossy filters, because writes through lossy filters
// return errors.ErrUnsupported unless AllowLossy of the options with which the array was opened is
// set.
func (a *Array) LossyChanges() int64 { return a.changes.Load() }

// lossy reports whether writes must be counted. It returns errors.ErrUnsupported if a lossy filter
// is not allowed.
func (a *Array) lossy() (bool, error) {
	b, ok := As[LossyWriter](a.backend)
	if !ok {
		return false, nil
	}
	filter, allowed := b.Lossy()
	if filter != "" && !allowed {
		return true, fmt.Errorf("%w: a write through the lossy filter %s, which can change elements", errors.ErrUnsupported, filter)
	}
	return filter != "", nil
}

// writer returns the RegionWriter of the backend, or one that counts the changes of a lossy filter.
func (a *Array) writer() (RegionWriter, error) {
	w, err := ability[RegionWriter](a, true)
	if err != nil {
		return nil, err
	}
	lossy, err := a.lossy()
	if err != nil || !lossy {
		return w, err
	}
	return countingWriter{a, w}, nil
}

// countingWriter is the RegionWriter of an array with a lossy filter.
type countingWriter struct {
	a *Array
	w RegionWriter
}

// WriteRegion writes r in parts of whole chunks, and compares each of them before and after.
func (c countingWriter) WriteRegion(ctx context.Context, src []byte, r Region, workers int) error {
	m := c.a.m()
	for box := range grid.Slabs(m.ChunkShape, m.DType.Size, grid.Box(aroundChunks(m, r))) {
		around := Region(box)
		common, ok := box.Intersect(grid.Box(r))
		if !ok {
			continue
		}
		part := Region(common)
		b := make([]byte, part.NumElems()*int64(m.DType.Size))
		grid.Copy(b, common, src, grid.Box(r), common, m.DType.Size)
		err := c.a.counted(ctx, around, workers, part, b, func() error { return c.w.WriteRegion(ctx, b, part, workers) })
		if err != nil {
			return err
		}
	}
	return nil
}

// aroundChunks returns the whole chunks that r touches, without the elements outside the array.
func aroundChunks(m *Meta, r Region) Region {
	around := r.clone()
	for i, c := range m.ChunkShape {
		end := r.Start[i] + r.Shape[i]
		around.Start[i] = r.Start[i] - r.Start[i]%c
		around.Shape[i] = grid.RoundUp(end, c, m.Shape[i]) - around.Start[i]
	}
	return around
}

// counted calls write, which changes the elements of r to src. It counts the elements of around
// that differ afterwards from src, or outside r from their earlier value.
func (a *Array) counted(ctx context.Context, around Region, workers int, r Region, src []byte, write func() error) error {
	size := a.m().DType.Size
	want := make([]byte, around.NumElems()*int64(size))
	if err := a.backend.ReadRegion(ctx, want, around, workers); err != nil {
		return err
	}
	grid.Copy(want, grid.Box(around), src, grid.Box(r), grid.Box(r), size)
	if err := write(); err != nil {
		return err
	}
	got := make([]byte, len(want))
	if err := a.backend.ReadRegion(ctx, got, around, workers); err != nil {
		return err
	}
	a.changes.Add(differing(want, got, size))
	return nil
}

// differing returns the number of elements with different bytes.
func differing(x, y []byte, size int) (n int64) {
	if bytes.Equal(x, y) {
		return 0
	}
	for i := 0; i < len(x); i += size {
		if !bytes.Equal(x[i:i+size], y[i:i+size]) {
			n++
		}
	}
	return n
}

// countedResize calls resize, which changes the shape to shape, and counts the elements in both
// shapes that change. Only chunks at the old or the new end of a dimension are encoded again. Their
// elements are kept in memory meanwhile.
func (a *Array) countedResize(ctx context.Context, shape []int64, resize func() error) error {
	b, ok := As[LossyWriter](a.backend)
	if !ok || !b.Rewrites(shape) {
		return resize()
	}
	lossy, err := a.lossy()
	switch {
	case err != nil:
		return err
	case !lossy || a.m().DType.Size == 0:
		return resize()
	}
	layers := a.edges(shape)
	before := make([][]byte, len(layers))
	for i, r := range layers {
		before[i] = make([]byte, r.NumElems()*int64(a.m().DType.Size))
		if err := a.backend.ReadRegion(ctx, before[i], r, a.limit()); err != nil {
			return err
		}
	}
	if err := resize(); err != nil {
		return err
	}
	for i, r := range layers {
		after := make([]byte, len(before[i]))
		if err := a.backend.ReadRegion(ctx, after, r, a.limit()); err != nil {
			return err
		}
		a.changes.Add(differing(before[i], after, a.m().DType.Size))
	}
	return nil
}

// edges returns disjoint regions of all elements in both shapes that share a chunk with an element
// in only one of them.
func (a *Array) edges(shape []int64) (layers []Region) {
	m := a.m()
	common := Whole(m.Shape)
	for i, n := range shape {
		common.Shape[i] = min(n, common.Shape[i])
	}
	for i, c := range m.ChunkShape {
		rest := common.Shape[i] % c
		if shape[i] == m.Shape[i] || rest == 0 {
			continue
		}
		layer := common.clone()
		layer.Start[i], layer.Shape[i] = common.Shape[i]-rest, rest
		if layer.NumElems() > 0 {
			layers = append(layers, layer)
		}
		common.Shape[i] -= rest
	}
	return layers
}

// countedAppend calls add, which appends src along the first dimension, and counts the elements of
// the chunks that contain the new rows.
func (a *Array) countedAppend(ctx context.Context, shape []int64, src []byte, add func() error) error {
	lossy, err := a.lossy()
	switch {
	case err != nil:
		return err
	case !lossy:
		return add()
	}
	m := a.m()
	size := m.DType.Size
	tail, rows := Whole(m.Shape), Whole(shape)
	tail.Start[0] = m.Shape[0] - m.Shape[0]%max(slices.Concat(m.ChunkShape, []int64{1})[0], 1)
	tail.Shape[0] = m.Shape[0] - tail.Start[0]
	want := make([]byte, tail.NumElems()*int64(size), tail.NumElems()*int64(size)+int64(len(src)))
	if len(want) > 0 {
		if err := a.backend.ReadRegion(ctx, want, tail, a.limit()); err != nil {
			return err
		}
	}
	if err := add(); err != nil {
		return err
	}
	want = append(want, src...)
	rows.Start[0], rows.Shape[0] = tail.Start[0], shape[0]-tail.Start[0]
	got := make([]byte, len(want))
	if err := a.backend.ReadRegion(ctx, got, rows, a.limit()); err != nil {
		return err
	}
	a.changes.Add(differing(want, got, size))
	return nil
}
