// Reads and writes with exact conversion of numbers.

package ndarray

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// ReadAs fills dst with the elements of r, in row-major order, converted to T. len(dst) must be
// exactly r.NumElems(). T is any type that Read accepts for the array, except that numbers may have
// another type, also in structs, arrays and slices. The array's numbers are of a type that Convert
// accepts as source, in either byte order: Bool, Int, Uint, Float, BFloat or Enum. T's are one of
// these types except BFloat. Each value must be exactly representable in T.
//
// It returns ErrValue with the index and the value of the first element that is not, and the errors
// of Read. After ErrValue dst is partly filled.
func ReadAs[T any](ctx context.Context, a *Array, dst []T, r Region) error {
	const op = "read"
	m, to := a.m(), scalarType(reflect.TypeFor[T]())
	if _, err := codecFor[T](m.DType, mapping{}); err == nil && m.DType.Size > 0 {
		return Read(ctx, a, dst, r)
	}
	if to.Kind == 0 {
		return readMapped(ctx, a, dst, r, mapping{exact: true})
	}
	if err := checkConversion(m, to, m.DType, len(dst), r); err != nil {
		return a.wrap(op, err)
	}
	var stored []byte
	for box := range grid.Slabs(m.ChunkShape, m.DType.Size, grid.Box(r)) {
		part := Region(box)
		n := int(part.NumElems())
		stored = slices.Grow(stored[:0], n*m.DType.Size)[:n*m.DType.Size]
		if err := a.Read(ctx, stored, part); err != nil {
			return err
		}
		if i, ok := convertAll(bytesOf(dst[:n]), to, stored, m.DType, false); !ok {
			at := grid.Box(part).Index(int64(i))
			text := FormatElement(m.DType, stored[i*m.DType.Size:(i+1)*m.DType.Size])
			return a.wrap(op, fmt.Errorf("%w: element %v: %s is not a value of %v", ErrValue, at, text, to))
		}
		dst = dst[n:]
	}
	return nil
}

// TakeAs returns the elements of s, in row-major order of the result, converted to T as by ReadAs.
// The selection may be any one that View accepts: steps, lists, masks and points.
//
// It returns ErrValue with the index in the result and the value of the first element that T cannot
// represent, ErrSize if the result takes more than 4 GiB, and the errors of View and ReadAs.
func TakeAs[T any](ctx context.Context, a *Array, s Selection) ([]T, error) {
	return takeThrough(a, "take from", s, func(v *Array, dst []T) error { return ReadAs(ctx, v, dst, Whole(v.Shape())) })
}

// WriteAs converts the elements of src to the array's type and writes them to r, in row-major
// order. len(src) must be exactly r.NumElems(). The types are those of ReadAs, with the roles
// exchanged: the array's numbers must not be BFloat or Float of 2 bytes, unless T has their bytes.
// Each value must be exactly representable.
//
// It returns ErrValue with the index and the value of the first element that is not, before
// anything is written, and the errors of Write.
func WriteAs[T any](ctx context.Context, a *Array, src []T, r Region) error {
	const op = "write"
	m, from := a.m(), scalarType(reflect.TypeFor[T]())
	if _, err := codecFor[T](m.DType, mapping{write: true}); err == nil && m.DType.Size > 0 {
		return Write(ctx, a, src, r)
	}
	if from.Kind == 0 {
		return writeMapped(ctx, a, src, r, mapping{write: true, exact: true})
	}
	if err := checkConversion(m, m.DType, from, len(src), r); err != nil {
		return a.wrap(op, err)
	}
	converted := make([]byte, len(src)*m.DType.Size)
	if i, ok := convertAll(converted, m.DType, bytesOf(src), from, false); !ok {
		return a.wrap(op, fmt.Errorf("%w: element %v: %v is not a value of %v", ErrValue, grid.Box(r).Index(int64(i)), src[i], m.DType))
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
