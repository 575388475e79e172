// Tests of changes of the shape: any sequence of resize, append, insert, delete and write must
// match the model.

package ndarraytest

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/ndarray"
)

// resized returns m with another shape. at[axis] contains the old index for each new index, or -1.
func (m *model) resized(at [][]int64, fill []byte) *model {
	shape := make([]int64, len(at))
	for i, x := range at {
		shape[i] = int64(len(x))
	}
	out := newModel(shape, m.size, nil)
	whole := ndarray.Whole(shape)
	index := make([]int64, len(shape))
	out.each(whole, func(to, n int) {
		from, flat, rest := int64(0), true, int64(n/m.size)
		for i := len(shape) - 1; i >= 0; i-- {
			index[i] = at[i][rest%shape[i]]
			rest /= shape[i]
		}
		for i, x := range index {
			flat = flat && x >= 0
			from = from*m.shape[i] + x
		}
		if flat {
			copy(out.data[to:to+m.size], m.data[int(from)*m.size:])
		} else {
			copy(out.data[to:to+m.size], fill)
		}
	})
	return out
}

// keep returns the old indexes for a new length n of an axis that had old.
func keep(n, old int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
		if out[i] >= old {
			out[i] = -1
		}
	}
	return out
}

func testResize(t *testing.T, f Factory) {
	dtypes := samples.DTypes()
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(dtypes).Draw(t, "dtype")
		shape := rapid.SliceOfN(rapid.Int64Range(0, 7), 1, 3).Draw(t, "shape")
		spec := ndarray.Spec{Shape: shape, DType: d}
		for range shape {
			spec.ChunkShape = append(spec.ChunkShape, rapid.Int64Range(1, 5).Draw(t, "chunk"))
			spec.MaxShape = append(spec.MaxShape, ndarray.Unlimited)
		}
		if f.FirstAxisOnly {
			copy(spec.MaxShape[1:], shape[1:])
		}
		fill := make([]byte, d.Size)
		if rapid.Bool().Draw(t, "fill") {
			fill = pattern(d, 1)
			spec.Fill = fill
		}
		a := f.create(t, spec)
		if a == nil {
			return
		}
		m := newModel(shape, d.Size, bytes.Repeat(fill, int(a.NumElems())))
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			at := make([][]int64, len(m.shape))
			for i, n := range m.shape {
				at[i] = keep(n, n)
			}
			axis := rapid.IntRange(0, len(m.shape)-1).Draw(t, "axis")
			if f.FirstAxisOnly {
				axis = 0
			}
			n := m.shape[axis]
			row := int64(d.Size)
			for i, x := range m.shape {
				if i != axis {
					row *= x
				}
			}
			count := rapid.Int64Range(0, 4).Draw(t, "count")
			src := pattern(d, count*row/int64(d.Size))
			put := ndarray.Whole(m.shape)
			switch rapid.SampledFrom([]string{"resize", "append", "insert", "delete", "write"}).Draw(t, "step") {
			case "resize":
				to := make([]int64, len(m.shape))
				for i, old := range m.shape {
					if to[i] = rapid.Int64Range(0, 9).Draw(t, "length"); f.FirstAxisOnly && i > 0 {
						to[i] = old
					}
					at[i] = keep(to[i], old)
				}
				require.NoError(t, a.Resize(bg, to), "%v to %v", m.shape, to)
				m = m.resized(at, fill)
				put.Shape = nil
			case "append":
				if row == 0 {
					require.ErrorIs(t, a.Append(bg, axis, src), ndarray.ErrSize)
					continue
				}
				kept := bytes.Clone(src)
				require.NoError(t, a.Append(bg, axis, src), "%v axis %d", m.shape, axis)
				require.Equal(t, kept, src, "the source of an append was changed")
				clear(src) // the backend must not have kept src
				src = kept
				at[axis] = keep(n+count, n)
				m = m.resized(at, fill)
				put.Start[axis], put.Shape[axis] = n, count
			case "insert":
				if row == 0 {
					continue
				}
				place := rapid.Int64Range(0, n).Draw(t, "at")
				require.NoError(t, a.Insert(bg, axis, place, src), "%v axis %d at %d", m.shape, axis, place)
				at[axis] = slices.Insert(at[axis], int(place), slices.Repeat([]int64{-1}, int(count))...)
				m = m.resized(at, fill)
				put.Start[axis], put.Shape[axis] = place, count
			case "delete":
				place := rapid.Int64Range(0, n).Draw(t, "at")
				count = min(count, n-place)
				require.NoError(t, a.Delete(bg, axis, place, count), "%v axis %d: %d at %d", m.shape, axis, count, place)
				at[axis] = slices.Delete(at[axis], int(place), int(place+count))
				m = m.resized(at, fill)
				put.Shape = nil
			case "write":
				src = pattern(d, put.NumElems())
				require.NoError(t, a.Write(bg, src, put))
			}
			if put.Shape != nil {
				m.write(put, src)
			}
			require.Equal(t, m.shape, a.Shape())
			got := dirty(len(m.data))
			require.NoError(t, a.Read(bg, got, ndarray.Whole(m.shape)))
			require.Equal(t, m.data, got, "%v in chunks %v", m.shape, spec.ChunkShape)
		}
		a = f.reopened(t, a)
		got := dirty(len(m.data))
		require.NoError(t, a.Read(bg, got, ndarray.Whole(m.shape)))
		require.Equal(t, m.data, got, "after opening")
		require.NoError(t, a.Close())
	})
}

// testWrongResize checks that an invalid new shape returns an error and changes nothing.
func testWrongResize(t *testing.T, f Factory) {
	spec := int32s()
	spec.MaxShape = []int64{10, ndarray.Unlimited}
	if f.FirstAxisOnly {
		spec.MaxShape[1] = spec.Shape[1]
	}
	if a := f.create(t, spec); a != nil {
		testWrongShapes(t, f, spec, a)
	}
	null := f.create(t, ndarray.Spec{Null: true, DType: spec.DType})
	if null != nil {
		require.Error(t, null.Resize(bg, []int64{1}))
		require.ErrorIs(t, null.Append(bg, 0, nil), ndarray.ErrRegion)
		require.NoError(t, null.Close())
	}
	// Without a maximum shape the array grows, or the backend returns errors.ErrUnsupported.
	a := f.create(t, int32s())
	if err := a.Resize(bg, []int64{7, 7}); err != nil {
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.Equal(t, []int64{6, 5}, a.Shape())
	} else {
		require.Equal(t, []int64{7, 7}, a.Shape())
	}
	require.NoError(t, a.Close())
}

func testWrongShapes(t *testing.T, f Factory, spec ndarray.Spec, a *ndarray.Array) {
	want := pattern(spec.DType, 30)
	require.NoError(t, a.Write(bg, want, ndarray.Whole(spec.Shape)))
	for _, c := range []struct {
		got, want error
	}{
		{a.Resize(bg, []int64{11, 5}), ndarray.ErrShape},
		{a.Resize(bg, []int64{6}), ndarray.ErrShape},
		{a.Resize(bg, []int64{-1, 5}), ndarray.ErrShape},
		{a.Resize(bg, []int64{10, 1 << 61}), ndarray.ErrShape},
		{a.Append(bg, 0, make([]byte, 5*5*4)), ndarray.ErrShape},
		{a.Append(bg, 0, make([]byte, 21)), ndarray.ErrSize},
		{a.Append(bg, 2, make([]byte, 20)), ndarray.ErrRegion},
		{a.Append(bg, -1, make([]byte, 20)), ndarray.ErrRegion},
		{a.Insert(bg, 0, 7, make([]byte, 20)), ndarray.ErrRegion},
		{a.Insert(bg, 0, -1, make([]byte, 20)), ndarray.ErrRegion},
		{a.Delete(bg, 0, 5, 2), ndarray.ErrRegion},
		{a.Delete(bg, 0, -1, 1), ndarray.ErrRegion},
		{a.Delete(bg, 1, 0, -1), ndarray.ErrRegion},
		{a.Delete(bg, 1, 1<<62, 1<<62), ndarray.ErrRegion},
	} {
		require.ErrorIs(t, c.got, c.want)
	}
	got := dirty(len(want))
	require.NoError(t, a.Read(bg, got, ndarray.Whole(spec.Shape)))
	require.Equal(t, want, got)
	a = f.reopened(t, a)
	if f.Reopen != nil {
		require.ErrorIs(t, a.Resize(bg, []int64{1, 1}), ndarray.ErrReadOnly)
		require.ErrorIs(t, a.Append(bg, 0, make([]byte, 20)), ndarray.ErrReadOnly)
		require.ErrorIs(t, a.Delete(bg, 0, 0, 1), ndarray.ErrReadOnly)
	}
	require.NoError(t, a.Close())
	require.ErrorIs(t, a.Resize(bg, []int64{1, 1}), ndarray.ErrClosed)
}
