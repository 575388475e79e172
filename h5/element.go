// The typed edge: Go values in and out of datasets. Numbers and bools go straight
// through the library, everything else by a plan.

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

// Element is what the library itself reads and writes.
type Element interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// TypeOf is the datatype of T in memory; that of bool is Bool().
func TypeOf[T Element]() Datatype {
	t, _ := elementType[T]()
	return t
}

// Read fills dst with the elements that s selects, in the order of the selection;
// len(dst) must be as many. T may be any type that meets the stored datatype:
// numbers, bool, strings, structs for compounds (fields by name, `h5:"name"`),
// slices for sequences, Record, Ref, the empty interface; plan.go has the list. Of
// a compound, only the members that a struct has are read.
//
// It returns ErrOverflow or ErrPrecision if a value is not exactly a T, ErrType if
// T and the stored datatype do not meet, ErrSize for a dst of another length, and
// the errors of ReadRegion. dst then holds nothing of use.
func Read[T any](d *Dataset, dst []T, s Selection) error { return read(d, dst, s, false) }

// ReadLossy is Read that clamps, rounds and cuts values that are not exactly a T.
func ReadLossy[T any](d *Dataset, dst []T, s Selection) error { return read(d, dst, s, true) }

// maxReadAll is how many bytes ReadAll allocates at most: a file can claim any
// shape in a few bytes.
const maxReadAll = 4 << 30

// ReadAll returns every element in row-major order. It returns ErrSize if they
// take more than 4 GiB, for which Read is there, and the errors of Read.
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

// Write replaces the elements that s selects with src, in the order of the
// selection; the rest is as in Read and WriteRegion. Members of a compound that a
// struct does not have stay as they were in the file.
//
// Beyond the errors of Read it returns ErrSize for a string or slice too long for
// its type and ErrParam for a string that could not come back as it is. Nothing
// is written on failure.
func Write[T any](d *Dataset, src []T, s Selection) error { return write(d, src, s, false) }

// WriteLossy is Write that clamps, rounds and cuts values that are not exactly of
// the stored type. Numbers round to the nearest, ties to even.
func WriteLossy[T any](d *Dataset, src []T, s Selection) error { return write(d, src, s, true) }

// elementType is the datatype in memory of a T whose slices the library fills
// itself.
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

// checkLength finds a slice of the wrong length where the selection alone says how
// many elements it has; of others the shim will say.
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
	if errors.Is(err, ErrType) { // numbers of enumerations, bit fields and times
		return readPlanned(d, dst, s, lossy)
	}
	if err != nil {
		return err
	}
	// Nothing but 0 and 1 may ever stand in a Go bool, and the file can hold any byte.
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
