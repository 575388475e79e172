// Reads and writes with conversion between numeric types.

package ndarray

import (
	"context"
	"fmt"
	"slices"
)

// ReadAs fills dst with the elements of r, in row-major order, converted to T. len(dst) must be
// exactly r.NumElems(). The array's elements are of a type that Convert accepts as source, in
// either byte order: Bool, Int, Uint, Float, BFloat or Enum. T is one of these types except BFloat,
// or any type that Read accepts for the array. Each value must be exactly representable in T.
//
// It returns ErrValue with the index and the value of the first element that is not, and the errors
// of Read. After ErrValue dst is partly filled.
func ReadAs[T Element](ctx context.Context, a *Array, dst []T, r Region) error {
	const op = "read"
	if _, err := codecFor[T](a.m().DType, false); err == nil {
		return Read(ctx, a, dst, r)
	}
	m, to := a.m(), DTypeOf[T]()
	if err := checkConversion(m, to, m.DType, len(dst), r); err != nil {
		return a.wrap(op, err)
	}
	var stored []byte
	for part := range m.Slabs(r) {
		n := int(part.NumElems())
		stored = slices.Grow(stored[:0], n*m.DType.Size)[:n*m.DType.Size]
		if err := a.Read(ctx, stored, part); err != nil {
			return err
		}
		if i, ok := convertAll(bytesOf(dst[:n]), to, stored, m.DType, false); !ok {
			at := coordinates(part, i)
			text := FormatElement(m.DType, stored[i*m.DType.Size:(i+1)*m.DType.Size])
			return a.wrap(op, fmt.Errorf("%w: element %v: %s is not a value of %v", ErrValue, at, text, to))
		}
		dst = dst[n:]
	}
	return nil
}

// WriteAs converts the elements of src to the array's type and writes them to r, in row-major
// order. len(src) must be exactly r.NumElems(). The types are those of ReadAs, with the roles
// exchanged: the array must not have BFloat or Float of 2 bytes. Each value must be exactly
// representable.
//
// It returns ErrValue with the index and the value of the first element that is not, before
// anything is written, and the errors of Write.
func WriteAs[T Element](ctx context.Context, a *Array, src []T, r Region) error {
	const op = "write"
	if _, err := codecFor[T](a.m().DType, true); err == nil {
		return Write(ctx, a, src, r)
	}
	m, from := a.m(), DTypeOf[T]()
	if err := checkConversion(m, m.DType, from, len(src), r); err != nil {
		return a.wrap(op, err)
	}
	converted := make([]byte, len(src)*m.DType.Size)
	if i, ok := convertAll(converted, m.DType, bytesOf(src), from, false); !ok {
		return a.wrap(op, fmt.Errorf("%w: element %v: %v is not a value of %v", ErrValue, coordinates(r, i), src[i], m.DType))
	}
	return a.Write(ctx, converted, r)
}

// checkConversion checks the types, the region and the length of a buffer before anything is read
// or written.
func checkConversion(m *Meta, to, from DType, length int, r Region) error {
	if err := Convert(nil, to, nil, from, false); err != nil {
		return err
	}
	if err := r.Check(m.Shape); err != nil {
		return err
	}
	if n := r.NumElems(); n != int64(length) {
		return fmt.Errorf("%w: got %d elements, want %d for region %v", ErrSize, length, n, r)
	}
	return nil
}

// coordinates returns the index of element i of a region, in row-major order.
func coordinates(r Region, i int) []int64 {
	at := slices.Clone(r.Start)
	for axis := len(at) - 1; axis >= 0; axis-- {
		n := int(r.Shape[axis])
		at[axis] += int64(i % n)
		i /= n
	}
	return at
}
