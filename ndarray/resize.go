// Changes of an array's shape: resize, append, insert and delete along an axis.

package ndarray

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/meter"
)

// Resize changes the shape at the far end of each dimension. Elements in both shapes keep their
// values, and new elements read as the fill value. Resize waits for running calls, and other calls
// wait for it.
//
// It returns ErrShape, with the axis and both lengths, for another rank and beyond Meta.MaxShape.
// It also returns ErrClosed, ErrReadOnly, errors.ErrUnsupported if the backend cannot resize, or
// the backend's error.
func (a *Array) Resize(ctx context.Context, shape []int64) error {
	return a.change("resize", func() error { return a.resizeLocked(ctx, shape) })
}

// Append adds the elements of src after the last element along an axis, in row-major order and
// native byte order. len(src) must be a multiple of the bytes of one step along the axis. Arrays of
// bcolz, and of b2nd if opened for durable changes, get all rows along the first axis at once, or
// none. Other arrays grow first and are then written.
//
// It returns ErrSize with both lengths, and the errors of Resize and Write.
func (a *Array) Append(ctx context.Context, axis int, src []byte) error {
	const op = "append to"
	o := a.begin(ctx, meter.Write)
	return a.didWrite(o, op, int64(len(src)), a.change(op, func() error {
		if b, ok := As[Appender](a.backend); ok && axis == 0 {
			return a.appendLocked(ctx, b, src)
		}
		return a.insertLocked(ctx, axis, atEnd, int64(len(src)), a.bytesWriter(ctx, src))
	}))
}

// appendLocked adds rows as one change.
func (a *Array) appendLocked(ctx context.Context, b Appender, src []byte) error {
	if a.m().ReadOnly {
		return ErrReadOnly
	}
	shape, err := a.grown(0, int64(len(src)))
	if err != nil || shape[0] == a.m().Shape[0] {
		return err
	}
	if err := a.checkResize(ctx, shape); err != nil {
		return err
	}
	var shapeErr error
	err = a.countedAppend(ctx, shape, src, func() error {
		err := b.Append(ctx, src)
		shapeErr = a.reshaped(nil)
		return err
	})
	return errors.Join(err, shapeErr)
}

// Insert adds the elements of src before index at of an axis. Elements from that index on move
// towards the end. Moved elements are read and written again, about 4 MiB at a time. If an error
// occurs while elements move, some of them may exist twice.
//
// It returns ErrRegion for an index out of range, and the errors of Append.
func (a *Array) Insert(ctx context.Context, axis int, at int64, src []byte) error {
	const op = "insert into"
	o := a.begin(ctx, meter.Write)
	return a.didWrite(o, op, int64(len(src)), a.change(op, func() error {
		return a.insertLocked(ctx, axis, at, int64(len(src)), a.bytesWriter(ctx, src))
	}))
}

// Delete removes n indexes of an axis from index at on. Later elements move towards the start, in
// the same way as in Insert.
//
// It returns ErrRegion, with axis, indexes and length, and the errors of Resize and Write.
func (a *Array) Delete(ctx context.Context, axis int, at, n int64) error {
	return a.change("delete from", func() error {
		m := a.m()
		if err := m.checkAxis(axis); err != nil {
			return err
		}
		length := m.Shape[axis]
		if at < 0 || n < 0 || at > length || n > length-at {
			return fmt.Errorf("%w: axis %d: %d indexes from %d on, axis has %d", ErrRegion, axis, n, at, length)
		}
		if _, err := ability[Resizer](a, true); err != nil || n == 0 {
			return err
		}
		if _, err := a.lossy(); err != nil {
			return err
		}
		shape := slices.Clone(m.Shape)
		shape[axis] -= n
		if c, ok := As[ResizeChecker](a.Backend()); ok { // before elements move
			if err := c.CheckResize(shape); err != nil {
				return err
			}
		}
		err := a.eachBlock(axis, length-at-n, func(from, count int64) error {
			return a.moveBlock(ctx, axis, at+n+from, at+from, count)
		})
		if err != nil {
			return err
		}
		return a.resizeLocked(ctx, shape)
	})
}

// Append adds src after the last element along an axis. T must match the array's element type, as
// in Write.
//
// It returns the errors of Write and of Array.Append.
func Append[T any](ctx context.Context, a *Array, axis int, src []T) error {
	const op = "append to"
	if d := a.m().DType; d.Size == 0 {
		_, strs, err := encodeMapped(d, src, mapping{write: true}, func(i int) any { return i })
		if err != nil {
			return a.wrap(op, err)
		}
		return a.appendStrings(ctx, axis, strs)
	}
	return moveOut(a, op, src, func(b []byte) error { return a.Append(ctx, axis, b) })
}

// appendStrings is Append for elements of variable size.
func (a *Array) appendStrings(ctx context.Context, axis int, strs []string) error {
	const op = "append to"
	o := a.begin(ctx, meter.Write)
	return a.didWrite(o, op, stringBytes(strs), a.change(op, func() error {
		return a.insertLocked(ctx, axis, atEnd, int64(len(strs)), func(r Region) error {
			w, err := ability[StringWriter](a, true)
			if err != nil {
				return err
			}
			return w.WriteStrings(ctx, strs, r)
		})
	}))
}

// change runs f while no other call uses the array.
func (a *Array) change(op string, f func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return a.wrap(op, ErrClosed)
	}
	return a.wrap(op, f())
}

func (m *Meta) checkAxis(axis int) error {
	if m.Null || axis < 0 || axis >= len(m.Shape) {
		return fmt.Errorf("%w: axis %d of an array that is %s", ErrRegion, axis, shapeText(*m))
	}
	return nil
}

func (a *Array) resizeLocked(ctx context.Context, shape []int64) error {
	r, err := ability[Resizer](a, true)
	if err != nil {
		return err
	}
	if err := a.checkResize(ctx, shape); err != nil || slices.Equal(shape, a.m().Shape) {
		return err
	}
	return a.countedResize(ctx, shape, func() error { return a.reshaped(r.Resize(ctx, slices.Clone(shape))) })
}

// checkResize returns an error if the array cannot have that shape.
func (a *Array) checkResize(ctx context.Context, shape []int64) error {
	m := a.m()
	if m.Null || len(shape) != len(m.Shape) {
		return fmt.Errorf("%w: %v for an array that is %s", ErrShape, shape, shapeText(*m))
	}
	for i, n := range m.MaxShape {
		if n != Unlimited && shape[i] > n {
			return fmt.Errorf("%w: axis %d: length %d, at most %d", ErrShape, i, shape[i], n)
		}
	}
	if err := errors.Join(grid.Check(shape, int(m.DType.memSize())), ctx.Err()); err != nil {
		return err
	}
	_, err := grid.New(shape, m.ChunkShape)
	return err
}

// reshaped updates the state from the backend's Meta, also after an error.
func (a *Array) reshaped(err error) error {
	now := a.backend.Meta().Clone()
	g, gerr := grid.New(now.Shape, now.ChunkShape)
	if gerr == nil {
		a.state.Store(&state{meta: now, grid: g})
	}
	return errors.Join(err, gerr)
}

// grown returns the shape after have more bytes, or strings, along an axis.
func (a *Array) grown(axis int, have int64) ([]int64, error) {
	m := a.m()
	if err := m.checkAxis(axis); err != nil {
		return nil, err
	}
	one := slices.Clone(m.Shape)
	one[axis] = 1
	row, _ := grid.Product(append(one, max(int64(m.DType.Size), 1)))
	if row == 0 || have%row != 0 {
		return nil, fmt.Errorf("%w: %d bytes, one step along axis %d of %v takes %d", ErrSize, have, axis, m.Shape, row)
	}
	shape := slices.Clone(m.Shape)
	if shape[axis] += have / row; shape[axis] < 0 {
		return nil, fmt.Errorf("%w: axis %d: length %d and %d more", ErrShape, axis, m.Shape[axis], have/row)
	}
	return shape, nil
}

func (a *Array) bytesWriter(ctx context.Context, src []byte) func(Region) error {
	return func(r Region) error {
		w, err := a.writer()
		if err != nil {
			return err
		}
		return w.WriteRegion(ctx, src, r, a.limit())
	}
}

// atEnd means the end of an axis.
const atEnd = math.MinInt64

// insertLocked grows the array by have bytes, or strings, before index at of an axis, or atEnd, and
// calls put to fill the new region.
func (a *Array) insertLocked(ctx context.Context, axis int, at, have int64, put func(Region) error) error {
	m := a.m()
	if err := m.checkAxis(axis); err != nil {
		return err
	}
	if _, err := ability[Resizer](a, true); err != nil {
		return err
	}
	if _, err := a.lossy(); err != nil {
		return err
	}
	length := m.Shape[axis]
	if at == atEnd {
		at = length
	}
	if at < 0 || at > length {
		return fmt.Errorf("%w: axis %d: index %d, axis has %d", ErrRegion, axis, at, length)
	}
	shape, err := a.grown(axis, have)
	if err != nil {
		return err
	}
	n := shape[axis] - length
	if n == 0 {
		return nil
	}
	if err := a.resizeLocked(ctx, shape); err != nil {
		return err
	}
	blocks := [][2]int64{}
	err = a.eachBlock(axis, length-at, func(from, count int64) error {
		blocks = append(blocks, [2]int64{from, count})
		return nil
	})
	if err != nil {
		return err
	}
	for _, b := range slices.Backward(blocks) {
		if err := a.moveBlock(ctx, axis, at+b[0], at+b[0]+n, b[1]); err != nil {
			return err
		}
	}
	r := Whole(shape)
	r.Start[axis], r.Shape[axis] = at, n
	return put(r)
}

// eachBlock divides n steps along an axis into blocks of about grid.SlabBytes.
func (a *Array) eachBlock(axis int, n int64, f func(from, count int64) error) error {
	one := slices.Clone(a.m().Shape)
	one[axis] = 1
	row, _ := grid.Product(append(one, a.m().DType.memSize()))
	step := max(grid.SlabBytes/max(row, 1), 1)
	for from := int64(0); from < n; from += step {
		if err := f(from, min(step, n-from)); err != nil {
			return err
		}
	}
	return nil
}

// moveBlock copies count steps along an axis. A block of one step may be large and is moved in
// slabs. A block of several steps is small and is read completely before it is written.
func (a *Array) moveBlock(ctx context.Context, axis int, from, to, count int64) error {
	m := a.m()
	whole := Whole(m.Shape)
	whole.Start[axis], whole.Shape[axis] = from, count
	if whole.NumElems() == 0 {
		return nil
	}
	move := func(r Region) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		target := r.clone()
		target.Start[axis] = to
		if m.DType.Size == 0 {
			reader, err1 := ability[StringReader](a, false)
			writer, err2 := ability[StringWriter](a, true)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			strs := make([]string, r.NumElems())
			if err := reader.ReadStrings(ctx, strs, r); err != nil {
				return err
			}
			return writer.WriteStrings(ctx, strs, target)
		}
		w, err := a.writer()
		if err != nil {
			return err
		}
		b := make([]byte, r.NumElems()*int64(m.DType.Size))
		if err := a.backend.ReadRegion(ctx, b, r, a.limit()); err != nil {
			return err
		}
		return w.WriteRegion(ctx, b, target, a.limit())
	}
	if count > 1 {
		return move(whole)
	}
	for box := range grid.Slabs(m.ChunkShape, m.DType.Size, grid.Box(whole)) {
		r := Region(box)
		if err := move(r); err != nil {
			return err
		}
	}
	return nil
}
