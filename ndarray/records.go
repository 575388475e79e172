// Iteration over records and rows, with exact conversion.

package ndarray

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// Records yields the elements of an array of one dimension in their order, converted to T as by
// ReadAs. T is often a struct; see DTypeFor for its tags. It reads one row of chunks at a time, or
// about 4 MiB if chunks are smaller. The values share no memory with later ones. An array that
// grows during the loop yields the elements that it had at the start.
//
// An error ends the loop and is yielded once, last: ErrShape for another number of dimensions, or
// an error of ReadAs, or ErrSize if a row of chunks takes more than 4 GiB. The loop may end at any
// element. Several loops may run at the same time.
func Records[T any](ctx context.Context, a *Array) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		m := a.m()
		if len(m.Shape) != 1 {
			yield(zero, a.wrap("read", fmt.Errorf("%w: records: got shape %v, want one dimension", ErrShape, m.Shape)))
			return
		}
		if err := a.use("read", func() error { return nil }); err != nil { // also without elements
			yield(zero, err)
			return
		}
		for box := range grid.Slabs(m.ChunkShape, m.DType.Size, grid.Whole(m.Shape)) {
			records, err := allocate[T](box.Shape[0])
			if err = a.wrap("read", err); err == nil {
				err = ReadAs(ctx, a, records, Region(box))
			}
			if err != nil {
				yield(zero, err)
				return
			}
			for _, x := range records {
				if !yield(x, nil) {
					return
				}
			}
		}
	}
}

// Rows yields the rows of an array of two dimensions in batches of n rows, converted to T as by
// ReadAs. The last batch may have fewer rows. With n 0 it chooses batches of about 4 MiB. The rows
// of a batch are views of one buffer, which the next batch overwrites. Rows reads at least one row
// of chunks at a time, so that small batches decode a chunk at most twice.
//
// An error ends the loop and is yielded once, last: ErrShape for another number of dimensions,
// ErrParam for a negative n, ErrSize if the buffer takes more than 4 GiB, or an error of ReadAs.
// The loop may end at any batch. Several loops may run at the same time, each with its own buffer.
func Rows[T any](ctx context.Context, a *Array, n int) iter.Seq2[[][]T, error] {
	return func(yield func([][]T, error) bool) {
		m := a.m()
		switch {
		case len(m.Shape) != 2:
			yield(nil, a.wrap("read", fmt.Errorf("%w: rows: got shape %v, want two dimensions", ErrShape, m.Shape)))
			return
		case n < 0:
			yield(nil, a.wrap("read", fmt.Errorf("%w: rows of a batch: got %d, want at least 0", ErrParam, n)))
			return
		}
		rows, columns := m.Shape[0], m.Shape[1]
		atOnce, batch := rowsAtOnce(m, int64(n))
		var buffer []T
		err := a.use("read", func() (err error) { // also without elements
			buffer, err = allocate[T](min(atOnce, rows) * columns)
			return err
		})
		if err != nil {
			yield(nil, err)
			return
		}
		views := make([][]T, 0, batch)
		for start := int64(0); start < rows; start += atOnce {
			count := min(atOnce, rows-start)
			if err := ReadAs(ctx, a, buffer[:count*columns], Region{Start: []int64{start, 0}, Shape: []int64{count, columns}}); err != nil {
				yield(nil, err)
				return
			}
			for i := int64(0); i < count; {
				for views = views[:0]; i < count && int64(len(views)) < batch; i++ {
					views = append(views, buffer[i*columns:(i+1)*columns:(i+1)*columns])
				}
				if !yield(views, nil) {
					return
				}
			}
		}
	}
}

// rowsAtOnce returns the number of rows that are read at a time, a multiple of the number of rows
// of a batch, which it also returns. n is 0 or that number.
func rowsAtOnce(m *Meta, n int64) (atOnce, batch int64) {
	rows := max(m.Shape[0], 1)
	size := cmp.Or(int64(m.DType.Size), 64)
	least := min(max(grid.SlabBytes/size/max(m.Shape[1], 1), 1), rows)
	if m.ChunkShape != nil {
		least = grid.RoundUp(least, max(m.ChunkShape[0], 1), rows)
	}
	if batch = min(n, rows); n == 0 {
		batch = least
	}
	return grid.RoundUp(max(least, batch), batch, rows), batch
}
