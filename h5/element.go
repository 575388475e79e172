// Typed access to datasets with Go values. libhdf5 reads and writes numbers and bools directly;
// other types use a plan (plan.go).

package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// Element is the set of types that libhdf5 reads and writes directly.
type Element interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// TypeOf returns the datatype of T in memory. For bool it is Bool().
func TypeOf[T Element]() Datatype {
	t, _ := elementType[T]()
	return t
}

// Read fills dst with the elements that s selects, in the order of the selection. len(dst) must be
// the number of selected elements. T may be any type that is compatible with the stored datatype:
// numbers, bool, strings, structs for compounds (fields by name, `h5:"name"`), slices for
// sequences, Record, Ref, the empty interface; plan.go has the list. If T is a struct, Read reads
// only the members of the compound that T has.
//
// It returns ErrOverflow or ErrPrecision if T cannot represent a value exactly, ErrType if T is
// incompatible with the stored datatype, ErrSize for a dst of another length, and the errors of
// ReadRegion. After an error the contents of dst are undefined.
func Read[T any](d *Dataset, dst []T, s Selection) error { return read(d, dst, s, false) }

// ReadLossy is like Read, but clamps, rounds or truncates values that T cannot represent exactly.
func ReadLossy[T any](d *Dataset, dst []T, s Selection) error { return read(d, dst, s, true) }

// maxReadAll is the maximum number of bytes that ReadAll allocates. A limit is needed because a
// file can declare any shape in a few bytes.
const maxReadAll = 4 << 30

// ReadAll returns all elements in row-major order. It returns ErrSize if they take more than 4 GiB;
// use Read for such datasets. It also returns the errors of Read.
func ReadAll[T any](d *Dataset) ([]T, error) {
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
	return dst, Read(d, dst, All)
}

// Write replaces the elements that s selects with src, in the order of the selection. The rules are
// those of Read and WriteRegion. Members of a compound that a struct T does not have are unchanged
// in the file.
//
// It returns the errors of Read, ErrSize for a string or slice that is too long for its type, and
// ErrParam for a string that reading would not return unchanged. On failure nothing is written.
func Write[T any](d *Dataset, src []T, s Selection) error { return write(d, src, s, false) }

// WriteLossy is like Write, but clamps, rounds or truncates values that the stored type cannot
// represent exactly. Numbers round to nearest, ties to even.
func WriteLossy[T any](d *Dataset, src []T, s Selection) error { return write(d, src, s, true) }

// elementType returns the datatype in memory of T, and whether libhdf5 can fill a []T directly.
func elementType[T any]() (Datatype, bool) {
	t := reflect.TypeFor[T]()
	size := int(t.Size())
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return Bool(), true
	case k == reflect.Float32 || k == reflect.Float64:
		return IEEEFloat(size, NativeOrder), true
	case k >= reflect.Int && k <= reflect.Int64:
		return Int(size, NativeOrder), true
	case k >= reflect.Uint && k <= reflect.Uint64:
		return Uint(size, NativeOrder), true
	}
	return Datatype{}, false
}

func bytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// checkLength rejects a slice of the wrong length if the selection alone determines the number of
// elements. For other selections the shim checks the length.
func checkLength(d *Dataset, op string, length int, s Selection) error {
	n := int64(-1)
	switch s := s.(type) {
	case Region:
		n = s.NumElems()
	case Points:
		n = int64(len(s))
	}
	if n >= 0 && n != int64(length) {
		return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: slice has %d elements, %d selected", ErrSize, length, n)}
	}
	return nil
}

func lossyWord(lossy bool) C.int32_t {
	if lossy {
		return C.GOH5_NEAREST
	}
	return C.GOH5_LOSSLESS
}

func read[T any](d *Dataset, dst []T, s Selection, lossy bool) error {
	if err := checkLength(d, "read", len(dst), s); err != nil {
		return err
	}
	mem, ok := elementType[T]()
	if !ok {
		return readPlanned(d, dst, s, lossy)
	}
	b := bytesOf(dst)
	var err error
	if r, region := s.(Region); region {
		err = d.read(b, &mem, &r, lossyWord(lossy))
	} else {
		err = d.readWindow(b, &mem, Window{}, s, lossyWord(lossy))
	}
	if errors.Is(err, ErrType) { // integers in enumerations, bit fields and times
		return readPlanned(d, dst, s, lossy)
	}
	if err != nil {
		return err
	}
	// A Go bool must contain only 0 or 1, but the file can contain any byte.
	if reflect.TypeFor[T]().Kind() == reflect.Bool && slices.ContainsFunc(b, func(v byte) bool { return v > 1 }) {
		clear(b)
		return &Error{Op: "read", Path: d.path, Err: fmt.Errorf("%w: neither FALSE nor TRUE", ErrOverflow)}
	}
	return nil
}

func readPlanned[T any](d *Dataset, dst []T, s Selection, lossy bool) error {
	const op = "read"
	t, err := d.Datatype()
	if err != nil {
		return err
	}
	p, err := planFor(reflect.TypeFor[T](), &t)
	if err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	v, err := d.readValues(p.mem, s, len(dst))
	if err != nil {
		return err
	}
	if err := decodeValues(v, dst, lossy); err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	return nil
}

func write[T any](d *Dataset, src []T, s Selection, lossy bool) error {
	if err := checkLength(d, "write", len(src), s); err != nil {
		return err
	}
	mem, ok := elementType[T]()
	if !ok {
		return writePlanned(d, src, s, lossy)
	}
	var err error
	if r, region := s.(Region); region {
		err = d.write(bytesOf(src), &mem, &r, lossyWord(lossy))
	} else {
		err = d.writeWindow(bytesOf(src), &mem, Window{}, s, lossyWord(lossy))
	}
	if errors.Is(err, ErrType) {
		return writePlanned(d, src, s, lossy)
	}
	return err
}

func writePlanned[T any](d *Dataset, src []T, s Selection, lossy bool) error {
	const op = "write"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	t, err := d.Datatype()
	if err != nil {
		return err
	}
	v, err := encodeValues(&t, src, lossy)
	if err != nil {
		return &Error{Op: op, Path: d.path, Err: err}
	}
	return d.writeValues(v, s)
}
