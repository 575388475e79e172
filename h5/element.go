// The typed edge: Go's numbers and bools in and out of datasets. Built on
// ReadRegion and WriteRegion.

package h5

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// Element is what Read and Write move.
type Element interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// TypeOf is the datatype of T in memory; that of bool is Bool().
func TypeOf[T Element]() Datatype {
	t := reflect.TypeFor[T]()
	size := int(t.Size())
	switch t.Kind() {
	case reflect.Bool:
		return Bool()
	case reflect.Float32, reflect.Float64:
		return IEEEFloat(size, NativeOrder)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Int(size, NativeOrder)
	default:
		return Uint(size, NativeOrder)
	}
}

// Read fills dst with the elements of r, in row-major order. A stored number is
// converted to T; len(dst) must be r.NumElems().
//
// It returns ErrOverflow or ErrPrecision if a value is not exactly a T, ErrType
// if no number (for T bool: no enumeration as Bool()) is stored, and the errors
// of ReadRegion.
func Read[T Element](d *Dataset, dst []T, r Region) error {
	return readElements(d, dst, r, d.ReadRegion)
}

// ReadLossy is Read that clamps, rounds and cuts values that are not exactly a T.
func ReadLossy[T Element](d *Dataset, dst []T, r Region) error {
	return readElements(d, dst, r, d.ReadRegionLossy)
}

// maxReadAll is how many bytes ReadAll allocates at most: a file can claim any
// shape in a few bytes.
const maxReadAll = 4 << 30

// ReadAll returns every element in row-major order. It returns ErrSize if they
// take more than 4 GiB, for which Read is there, and the errors of Read.
func ReadAll[T Element](d *Dataset) ([]T, error) {
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	n := info.Space.NumElems()
	if b := mul(n, int64(reflect.TypeFor[T]().Size())); b < 0 || b > maxReadAll {
		return nil, &Error{Op: "read", Path: d.path, Err: fmt.Errorf("%w: %v, %d bytes are the most", ErrSize, info.Space, maxReadAll)}
	}
	dst := make([]T, n)
	if n == 0 {
		return dst, nil
	}
	return dst, Read(d, dst, info.Space.All())
}

// Write replaces the elements of r with src, in row-major order; the rest is as
// in Read and WriteRegion.
func Write[T Element](d *Dataset, src []T, r Region) error {
	return writeElements(d, src, r, d.WriteRegion)
}

// WriteLossy is Write that clamps, rounds and cuts values that are not exactly of
// the stored type.
func WriteLossy[T Element](d *Dataset, src []T, r Region) error {
	return writeElements(d, src, r, d.WriteRegionLossy)
}

func bytesOf[T Element](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

func checkLength[T Element](d *Dataset, op string, s []T, r Region) error {
	if n := r.NumElems(); n >= 0 && n != int64(len(s)) {
		return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: slice has %d elements, %d selected", ErrSize, len(s), n)}
	}
	return nil
}

func readElements[T Element](d *Dataset, dst []T, r Region, read func([]byte, Datatype, Region) error) error {
	if err := checkLength(d, "read", dst, r); err != nil {
		return err
	}
	b := bytesOf(dst)
	if err := read(b, TypeOf[T](), r); err != nil {
		return err
	}
	// Nothing but 0 and 1 may ever stand in a Go bool, and the file can hold any byte.
	if reflect.TypeFor[T]().Kind() == reflect.Bool && slices.ContainsFunc(b, func(v byte) bool { return v > 1 }) {
		clear(b)
		return &Error{Op: "read", Path: d.path, Err: fmt.Errorf("%w: neither FALSE nor TRUE", ErrOverflow)}
	}
	return nil
}

func writeElements[T Element](d *Dataset, src []T, r Region, write func([]byte, Datatype, Region) error) error {
	if err := checkLength(d, "write", src, r); err != nil {
		return err
	}
	return write(bytesOf(src), TypeOf[T](), r)
}
