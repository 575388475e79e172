// Generics at the edge: typed slices over arrays whose element type is a fact
// of the file. Nothing is converted; a mismatch is ErrType.

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
	t := reflect.TypeFor[T]()
	d := DType{Size: int(t.Size()), Order: NoOrder}
	switch t.Kind() {
	case reflect.Bool:
		d.Kind = Bool
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.Kind = Int
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.Kind = Uint
	case reflect.Float32, reflect.Float64:
		d.Kind = Float
	case reflect.Complex64, reflect.Complex128:
		d.Kind = Complex
	}
	return d.Native()
}

// Read fills dst with the elements of r in row-major order; len(dst) must be
// exactly r.NumElems(). T must be the array's element type, in either byte
// order: there is no conversion.
//
// It returns ErrType, ErrSize, ErrRegion or ErrClosed, or what the backend
// returns.
func Read[T Element](ctx context.Context, a *Array, dst []T, r Region) error {
	if err := matchType[T](a, "read"); err != nil {
		return err
	}
	b := bytesOf(dst)
	err := a.Read(ctx, b, r)
	if a.meta.DType.Kind == Bool {
		normalizeBools(b)
	}
	return err
}

// ReadAll returns all elements of a in row-major order.
//
// It returns the errors of Read.
func ReadAll[T Element](ctx context.Context, a *Array) ([]T, error) {
	if err := matchType[T](a, "read"); err != nil {
		return nil, err
	}
	r := Whole(a.meta.Shape)
	dst := make([]T, a.meta.NumElems())
	if a.meta.Null {
		return dst, nil
	}
	if err := Read(ctx, a, dst, r); err != nil {
		return nil, err
	}
	return dst, nil
}

// Write replaces the elements of r with src, in row-major order; len(src) must
// be exactly r.NumElems(). T must be the array's element type, in either byte
// order.
//
// It returns ErrType, ErrSize, ErrRegion, ErrClosed or ErrReadOnly,
// errors.ErrUnsupported, or what the backend returns.
func Write[T Element](ctx context.Context, a *Array, src []T, r Region) error {
	if err := matchType[T](a, "write"); err != nil {
		return err
	}
	return a.Write(ctx, bytesOf(src), r)
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

func matchType[T Element](a *Array, op string) error {
	if want := DTypeOf[T](); !want.EqualValues(a.meta.DType) {
		return a.wrap(op, fmt.Errorf("%w: array is %v, asked for %v (%v)", ErrType, a.meta.DType, reflect.TypeFor[T](), want))
	}
	return nil
}

// bytesOf looks at the memory of s.
func bytesOf[T Element](s []T) []byte {
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
