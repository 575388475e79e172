// Atomic changes in place.

package b2nd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// openDurable opens an array for OpenOptions.Durable.
func openDurable(path string, o OpenOptions) (*durable, error) {
	if o.Library {
		return nil, fmt.Errorf("%w: durable changes by the library", ndarray.ErrParam)
	}
	o.Write = true
	b, err := open(path, &o)
	if err != nil {
		return nil, err
	}
	b.engine.durable = true
	return &durable{backend: b}, nil
}

// durable is a backend for writing whose changes are atomic.
type durable struct {
	*backend
	mu sync.Mutex // held by changes, because partly changed chunks are read first
}

// WriteRegion writes elements, in chunks that are stored again. It needs memory for all chunks that
// r touches, unless r consists of whole chunks.
//
// It returns errors.ErrUnsupported for arrays that package frameio does not write.
func (d *durable) WriteRegion(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.engine.current(); err != nil {
		return err
	}
	if r.NumElems() == 0 {
		return ctx.Err()
	}
	src, r, err := d.widened(ctx, src, r, workers)
	if err != nil {
		return err
	}
	return d.replace(ctx, 0, src, r, workers)
}

// widened returns the region of whole chunks around r, and its elements: those of src in r, and the
// stored ones elsewhere.
func (b *backend) widened(ctx context.Context, src []byte, r ndarray.Region, workers int) ([]byte, ndarray.Region, error) {
	if b.wholeChunks(r) {
		return src, r, nil
	}
	whole := ndarray.Region{Start: slices.Clone(r.Start), Shape: slices.Clone(r.Shape)}
	for i, c := range b.meta.ChunkShape {
		c = max(c, 1) // 0 along a dimension of length 0
		end := r.Start[i] + r.Shape[i]
		whole.Start[i] -= r.Start[i] % c
		whole.Shape[i] = grid.RoundUp(end, c, b.meta.Shape[i]) - whole.Start[i]
	}
	around := make([]byte, whole.NumElems()*int64(b.meta.DType.Size))
	if err := b.ReadRegion(ctx, around, whole, workers); err != nil {
		return nil, r, err
	}
	grid.Copy(around, grid.Box(whole), src, grid.Box(r), grid.Box(r), b.meta.DType.Size)
	return around, whole, nil
}

// Append adds rows after the last one, in one step. It needs memory for a copy of src and for the
// last row of chunks, if that row is not full.
//
// It returns errors.ErrUnsupported for arrays that package frameio does not write.
func (d *durable) Append(ctx context.Context, src []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.engine.current(); err != nil {
		return err
	}
	row := int64(d.meta.DType.Size)
	for _, n := range d.meta.Shape[1:] {
		row *= n
	}
	have := d.meta.Shape[0]
	rows := have + int64(len(src))/row
	r := ndarray.Whole(d.meta.Shape)
	r.Start[0] = have - have%max(d.meta.ChunkShape[0], 1)
	if r.Shape[0] = have - r.Start[0]; r.Shape[0] > 0 {
		last := make([]byte, r.Shape[0]*row, r.Shape[0]*row+int64(len(src)))
		if err := d.ReadRegion(ctx, last, r, 0); err != nil {
			return err
		}
		src = append(last, src...)
	}
	r.Shape[0] = rows - r.Start[0]
	return d.replace(ctx, rows, src, r, 0)
}

// replace writes whole chunks and sets the number of rows of the array. rows 0 keeps the number.
func (d *durable) replace(ctx context.Context, rows int64, src []byte, r ndarray.Region, workers int) error {
	if !d.meta.DType.IsNative() {
		src = slices.Clone(src)
		d.meta.DType.ToNative(src) // to storage order; ToNative is its own inverse
	}
	shape, err := d.engine.durably(rows, func(w *frameio.ArrayWriter) error {
		return w.WriteRegion(ctx, src, r.Start, r.Shape, workers)
	})
	if rows != 0 && shape != nil {
		d.meta.Shape = shape
	}
	return err
}

// durably calls f with a writer, and commits if f returns nil. It returns the shape of the array
// afterwards, or nil if it is unknown.
func (e *engine) durably(rows int64, f func(w *frameio.ArrayWriter) error) ([]int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.finishWriting(); err != nil {
		return nil, err
	}
	if err := e.unchanged(); err != nil {
		return nil, err
	}
	if err := e.begin(rows); err != nil {
		return nil, err
	}
	w := e.writer
	e.writer = nil
	err := f(w)
	if err == nil {
		err = w.Commit()
	}
	err = errors.Join(err, w.Close())
	a, oerr := openArray(e.path, cblosc.OpenOptions{})
	if oerr != nil {
		return nil, errors.Join(err, oerr)
	}
	e.array = a
	return a.Shape(), errors.Join(err, e.see())
}

// Resize returns errors.ErrUnsupported. Append adds rows.
func (d *durable) Resize(_ context.Context, shape []int64) error { return d.CheckResize(shape) }

// CheckResize implements ndarray.ResizeChecker.
func (d *durable) CheckResize([]int64) error {
	return fmt.Errorf("%w: a durable change of the shape other than more rows", errors.ErrUnsupported)
}

// SetAttr returns errors.ErrUnsupported, because C-Blosc2 overwrites attributes in place.
func (d *durable) SetAttr(context.Context, ndarray.Attr) error {
	return fmt.Errorf("%w: a durable change of attributes", errors.ErrUnsupported)
}

// DeleteAttr returns errors.ErrUnsupported, like SetAttr.
func (d *durable) DeleteAttr(context.Context, string) error {
	return fmt.Errorf("%w: a durable change of attributes", errors.ErrUnsupported)
}
