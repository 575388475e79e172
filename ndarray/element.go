// Generics at the edge: typed slices over arrays whose element type is a fact
// of the file. Nothing is converted; a mismatch is ErrType. What Go type belongs to
// what element is codec.go's.

package ndarray

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// Element is a Go type that has the bytes of an array's elements in memory.
type Element interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// DTypeOf returns the element type of T, in native byte order.
func DTypeOf[T Element]() DType {
	return scalarType(reflect.TypeFor[T]())
}

// Read fills dst with the elements of r in row-major order; len(dst) must be
// exactly r.NumElems(). T must be the array's element type, in either byte order:
// there is no conversion. These belong together:
//
//	numbers, bool     Go's of the same kind and size; of Enum its integer; of DateTime and TimeDelta int64
//	string            Bytes and Unicode without their padding, and String
//	[n]byte           any element of n bytes, raw, in native order: float16, long double, opaque bytes
//	[n]T              SubArray, an array in an array for each axis
//	struct            Struct: each exported field by its name, or by the name in its tag `nd:"name"`, or not at
//	                  all, `nd:"-"`. Fields of the array that the struct does not have are left out.
//
// It returns ErrType, ErrSize, ErrRegion or ErrClosed, ErrValue for text that is
// not valid, or what the backend returns.
func Read[T any](ctx context.Context, a *Array, dst []T, r Region) error {
	const op = "read"
	if texts, ok := any(dst).([]string); ok && a.m().DType.Kind == String {
		return a.ReadStrings(ctx, texts, r)
	}
	c, err := codecFor[T](a.m().DType, false)
	if err == nil && r.NumElems() != int64(len(dst)) && r.In(a.m().Shape) {
		err = fmt.Errorf("%w: %d elements, region %v has %d", ErrSize, len(dst), r, r.NumElems())
	}
	if err != nil {
		return a.wrap(op, err)
	}
	return a.wrap(op, decodeAll(c, a.m().DType, dst, func(b []byte) error { return a.Read(ctx, b, r) }))
}

// maxReadAll is how many bytes ReadAll and Take allocate at most: a file can claim
// any shape in a few bytes.
const maxReadAll = 4 << 30

// ReadAll returns all elements of a in row-major order.
//
// It returns ErrSize if they take more than 4 GiB, for which Read is there, and
// the errors of Read.
func ReadAll[T any](ctx context.Context, a *Array) ([]T, error) {
	if _, err := codecFor[T](a.m().DType, false); err != nil {
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

// allocate makes room for n elements.
func allocate[T any](n int64) ([]T, error) {
	size := max(int64(reflect.TypeFor[T]().Size()), 1)
	if n > maxReadAll/size {
		return nil, fmt.Errorf("%w: %d elements of %d bytes, at most %d bytes at once", ErrSize, n, size, maxReadAll)
	}
	return make([]T, n), nil
}

// ReadScalar returns the one element of an array with exactly one.
//
// It returns ErrShape for any other array, and the errors of Read.
func ReadScalar[T any](ctx context.Context, a *Array) (T, error) {
	var one [1]T
	if n := a.m().NumElems(); n != 1 {
		return one[0], a.wrap("read", fmt.Errorf("%w: %s has %d elements, not one", ErrShape, shapeText(*a.m()), n))
	}
	err := Read(ctx, a, one[:], Whole(a.m().Shape))
	return one[0], err
}

// Write replaces the elements of r with src, in row-major order; len(src) must
// be exactly r.NumElems(). T must be the array's element type as in Read, and a
// struct must have all fields of the array's.
//
// It returns ErrType, ErrSize, ErrRegion, ErrClosed or ErrReadOnly, ErrValue for
// text that does not fit its place or ends in what it is padded with,
// errors.ErrUnsupported, or what the backend returns.
func Write[T any](ctx context.Context, a *Array, src []T, r Region) error {
	if texts, ok := any(src).([]string); ok && a.m().DType.Kind == String {
		return a.WriteStrings(ctx, texts, r)
	}
	return moveOut(a, "write", src, func(b []byte) error { return a.Write(ctx, b, r) })
}

// moveIn makes n elements of what read puts into bytes.
func moveIn[T any](a *Array, op string, n int64, read func([]byte) error) ([]T, error) {
	c, err := codecFor[T](a.m().DType, false)
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

// moveOut gives write the bytes of src.
func moveOut[T any](a *Array, op string, src []T, write func([]byte) error) error {
	c, err := codecFor[T](a.m().DType, true)
	if err != nil {
		return a.wrap(op, err)
	}
	if c.direct {
		return write(bytesOf(src))
	}
	b := make([]byte, len(src)*a.m().DType.Size)
	if err := c.encode(b, a.m().DType.Size, unsafe.Pointer(unsafe.SliceData(src)), len(src)); err != nil {
		return a.wrap(op, err)
	}
	return write(b)
}

// decodeAll fills dst from the bytes that read gives.
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
	return c.decode(unsafe.Pointer(unsafe.SliceData(dst)), len(dst), b, d.Size)
}

// ValuesOf returns the elements of v; ErrType if T is not its element type.
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

// bytesOf looks at the memory of s, whose elements hold no pointers.
func bytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// normalizeBools makes every true byte a 1: files may hold others, Go's bool
// must not.
func normalizeBools(b []byte) {
	for i, x := range b {
		if x > 1 {
			b[i] = 1
		}
	}
}
