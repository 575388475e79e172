// Generic functions that move typed slices to and from arrays. There are no conversions; a type
// mismatch returns ErrType. codec.go and mapping.go define which Go types match which element
// types.

package ndarray

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/elements/structconv"
)

// Element is a Go type with the same bytes as an array's elements in memory.
type Element interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// DTypeOf returns the element type of T, in native byte order.
func DTypeOf[T Element]() DType {
	return scalarType(reflect.TypeFor[T]())
}

// Read fills dst with the elements of r in row-major order. len(dst) must be exactly r.NumElems().
// T must match the array's element type, in either byte order, because there is no conversion:
//
//	numbers, bool     Go's of the same kind and size; of Enum its integer; of DateTime and TimeDelta int64
//	time.Time         DateTime, in UTC; NaT is the zero Time
//	string            Bytes and Unicode without their padding, String, and the path of a Reference
//	[]T               VLen; an empty sequence is nil
//	[n]byte           any element of n bytes, raw, in native order: float16, long double, opaque bytes
//	[n]T              SubArray, a nested array for each dimension
//	struct            Struct: each exported field by its name, or by the name in its tag `nd:"name"`, except
//	                  those tagged `nd:"-"`. Fields of the array that the struct does not have are ignored.
//
// It returns ErrType, ErrSize, ErrRegion or ErrClosed, ErrValue for an invalid string or a
// time that a time.Time cannot represent, or the backend's error.
func Read[T any](ctx context.Context, a *Array, dst []T, r Region) error {
	const op = "read"
	if strs, ok := any(dst).([]string); ok && a.m().DType.Kind == String {
		return a.ReadStrings(ctx, strs, r)
	}
	if a.m().DType.Size == 0 {
		return readMapped(ctx, a, dst, r, mapping{})
	}
	c, err := codecFor[T](a.m().DType, mapping{})
	if err == nil && r.NumElems() != int64(len(dst)) && r.Check(a.m().Shape) == nil {
		err = fmt.Errorf("%w: %d elements, region %v has %d", ErrSize, len(dst), r, r.NumElems())
	}
	if err != nil {
		return a.wrap(op, err)
	}
	return a.wrap(op, decodeAll(c, a.m().DType, dst, func(b []byte) error { return a.Read(ctx, b, r) }))
}

// maxReadAll is the maximum number of bytes that ReadAll and Take allocate. The limit is needed
// because a small file can have any shape in its metadata.
const maxReadAll = 4 << 30

// ReadAll returns all elements of a in row-major order.
//
// It returns ErrSize if they take more than 4 GiB; larger arrays should be read with Read. It also
// returns the errors of Read.
func ReadAll[T any](ctx context.Context, a *Array) ([]T, error) {
	if err := readable[T](a.m().DType); err != nil {
		return nil, a.wrap("read", err)
	}
	if a.m().Null {
		return []T{}, nil
	}
	dst, err := allocate[T](a.m().NumElems())
	if err != nil {
		return nil, a.wrap("read", err)
	}
	if err := Read(ctx, a, dst, Whole(a.m().Shape)); err != nil {
		return nil, err
	}
	return dst, nil
}

// readable returns ErrType if Read cannot convert elements of type d to T.
func readable[T any](d DType) error {
	_, err := codecFor[T](d, mapping{})
	return err
}

// allocate returns a slice of n elements, or ErrSize above maxReadAll.
func allocate[T any](n int64) ([]T, error) {
	size := max(int64(reflect.TypeFor[T]().Size()), 1)
	if n > maxReadAll/size {
		return nil, fmt.Errorf("%w: %d elements of %d bytes, at most %d bytes at once", ErrSize, n, size, maxReadAll)
	}
	return make([]T, n), nil
}

// Write replaces the elements of r with src, in row-major order. len(src) must be exactly
// r.NumElems(). T must match the array's element type as in Read, and a struct must have all fields
// of the array's.
//
// It returns ErrType, ErrSize, ErrRegion, ErrClosed or ErrReadOnly, ErrValue for a string that is
// too long or ends in its padding character, errors.ErrUnsupported, or the backend's error.
func Write[T any](ctx context.Context, a *Array, src []T, r Region) error {
	if strs, ok := any(src).([]string); ok && a.m().DType.Kind == String {
		return a.WriteStrings(ctx, strs, r)
	}
	if a.m().DType.Size == 0 {
		return writeMapped(ctx, a, src, r, mapping{write: true})
	}
	return moveOut(a, "write", src, func(b []byte) error { return a.Write(ctx, b, r) })
}

// moveIn calls read to fill a buffer with n elements and returns them decoded.
func moveIn[T any](a *Array, op string, n int64, read func([]byte) error) ([]T, error) {
	c, err := codecFor[T](a.m().DType, mapping{})
	if err != nil {
		return nil, a.wrap(op, err)
	}
	dst, err := allocate[T](n)
	if err == nil {
		err = decodeAll(c, a.m().DType, dst, read)
	}
	if err != nil {
		return nil, a.wrap(op, err)
	}
	return dst, nil
}

// moveOut calls write with the encoded bytes of src.
func moveOut[T any](a *Array, op string, src []T, write func([]byte) error) error {
	c, err := codecFor[T](a.m().DType, mapping{write: true})
	if err != nil {
		return a.wrap(op, err)
	}
	if c.direct {
		return write(bytesOf(src))
	}
	s := structconv.State{Block: make([]byte, len(src)*c.Size)}
	if err := c.Encode(&s, len(src), 0, unsafe.Pointer(unsafe.SliceData(src))); err != nil {
		return a.wrap(op, err)
	}
	return write(s.Block)
}

// decodeAll calls read to fill a buffer and decodes it into dst.
func decodeAll[T any](c *codec, d DType, dst []T, read func([]byte) error) error {
	if c.direct {
		b := bytesOf(dst)
		err := read(b)
		if d.Kind == Bool {
			normalizeBools(b)
		}
		return err
	}
	b := make([]byte, len(dst)*d.Size)
	if err := read(b); err != nil {
		return err
	}
	return c.Decode(nil, len(dst), b, unsafe.Pointer(unsafe.SliceData(dst)))
}

// ValuesOf returns the elements of v. It returns ErrType if T does not match the element type.
func ValuesOf[T Element](v Value) ([]T, error) {
	if want := DTypeOf[T](); !want.EqualValues(v.DType) {
		return nil, fmt.Errorf("%w: value is %v, asked for %v (%v)", ErrType, v.DType, reflect.TypeFor[T](), want)
	}
	out := make([]T, len(v.Data)/v.DType.Size)
	b := bytesOf(out)
	copy(b, v.Data)
	if v.DType.Kind == Bool {
		normalizeBools(b)
	}
	return slices.Clip(out), nil
}

// bytesOf returns the memory of s as bytes. The elements must not contain pointers.
func bytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// normalizeBools replaces every true byte by 1, because files may contain other values and a Go
// bool must be 0 or 1.
func normalizeBools(b []byte) {
	for i, x := range b {
		if x > 1 {
			b[i] = 1
		}
	}
}
