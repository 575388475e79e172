// Typed access to datasets with Go values. libhdf5 reads and writes numbers and bools directly;
// other types use a plan (plan.go).

package h5value

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
)

// Read fills dst with the elements that s selects, in the order of the selection. len(dst) must be
// the number of selected elements. T may be any type that is compatible with the stored datatype:
// numbers, bool, strings, structs for compounds (fields by name, `h5:"name"`), slices for
// sequences, Record, Ref, the empty interface; the package comment has the list. If T is a struct,
// Read reads only the members of the compound that T has.
//
// It returns ErrOverflow or ErrPrecision if T cannot represent a value exactly, ErrType if T is
// incompatible with the stored datatype, ErrSize for a dst of another length, and the errors of
// ReadRegion. After an error the contents of dst are undefined.
func Read[T any](d *h5.Dataset, dst []T, s h5.Selection) error { return read(d, dst, s, false) }

// ReadLossy is like Read, but clamps, rounds or truncates values that T cannot represent exactly.
func ReadLossy[T any](d *h5.Dataset, dst []T, s h5.Selection) error { return read(d, dst, s, true) }

// maxReadAll is the maximum number of bytes that ReadAll allocates. A limit is needed because a
// file can declare any shape in a few bytes.
const maxReadAll = 4 << 30

// ReadAll returns all elements in row-major order. It returns ErrSize if they take more than 4 GiB;
// use Read for such datasets. It also returns the errors of Read.
func ReadAll[T any](d *h5.Dataset) ([]T, error) {
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	n := info.Space.NumElems()
	if size := int64(reflect.TypeFor[T]().Size()); n < 0 || size > 0 && n > maxReadAll/size {
		return nil, &h5.Error{Op: "read", Path: d.Path(), Err: fmt.Errorf("%w: %v, want at most %d bytes", h5.ErrSize, info.Space, maxReadAll)}
	}
	dst := make([]T, n)
	if n == 0 {
		return dst, nil
	}
	return dst, Read(d, dst, h5.All)
}

// Write replaces the elements that s selects with src, in the order of the selection. The rules are
// those of Read and WriteRegion. Members of a compound that a struct T does not have are unchanged
// in the file.
//
// It returns the errors of Read, ErrSize for a string or slice that is too long for its type, and
// ErrParam for a string that reading would not return unchanged. On failure nothing is written.
func Write[T any](d *h5.Dataset, src []T, s h5.Selection) error { return write(d, src, s, false) }

// WriteLossy is like Write, but clamps, rounds or truncates values that the stored type cannot
// represent exactly. Numbers round to nearest, ties to even.
func WriteLossy[T any](d *h5.Dataset, src []T, s h5.Selection) error { return write(d, src, s, true) }

// elementType returns the datatype in memory of t, and whether libhdf5 can fill a slice of t
// directly.
func elementType(t reflect.Type) (h5.Datatype, bool) {
	size := int(t.Size())
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return Bool(), true
	case k == reflect.Float32 || k == reflect.Float64:
		return h5.IEEEFloat(size, h5.NativeOrder), true
	case k >= reflect.Int && k <= reflect.Int64:
		return h5.Int(size, h5.NativeOrder), true
	case k >= reflect.Uint && k <= reflect.Uint64:
		return h5.Uint(size, h5.NativeOrder), true
	}
	return h5.Datatype{}, false
}

func bytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// checkLength rejects a slice of the wrong length if the selection alone determines the number of
// elements. For other selections the shim checks the length.
func checkLength(d *h5.Dataset, op string, length int, s h5.Selection) error {
	n := int64(-1)
	switch s := s.(type) {
	case h5.Region:
		n = s.NumElems()
	case h5.Points:
		n = int64(len(s))
	}
	if n >= 0 && n != int64(length) {
		return &h5.Error{Op: op, Path: d.Path(), Err: fmt.Errorf("%w: slice has %d elements, %d selected", h5.ErrSize, length, n)}
	}
	return nil
}

func read[T any](d *h5.Dataset, dst []T, s h5.Selection, lossy bool) error {
	if err := checkLength(d, "read", len(dst), s); err != nil {
		return err
	}
	mem, ok := elementType(reflect.TypeFor[T]())
	if !ok {
		return readPlanned(d, dst, s, lossy)
	}
	b := bytesOf(dst)
	err := d.ReadSelection(b, mem, s)
	if errors.Is(err, h5.ErrType) { // a conversion in which a value can change
		return readConverted(d, dst, mem, s, lossy)
	}
	if err != nil {
		return err
	}
	// A Go bool must contain only 0 or 1, but the file can contain any byte.
	if reflect.TypeFor[T]().Kind() == reflect.Bool && slices.ContainsFunc(b, func(v byte) bool { return v > 1 }) {
		clear(b)
		return &h5.Error{Op: "read", Path: d.Path(), Err: fmt.Errorf("%w: neither FALSE nor TRUE", h5.ErrOverflow)}
	}
	return nil
}

// readConverted reads elements as stored and converts them to T, whose datatype is mem.
func readConverted[T any](d *h5.Dataset, dst []T, mem h5.Datatype, s h5.Selection, lossy bool) error {
	t, err := d.Datatype()
	if err != nil {
		return err
	}
	if !convertible(mem, t) {
		return readPlanned(d, dst, s, lossy)
	}
	raw := make([]byte, len(dst)*t.Size)
	if err := d.ReadSelection(raw, t, s); err != nil {
		return err
	}
	if convert(bytesOf(dst), mem, slices.Clone(raw), t) {
		return nil
	}
	p, err := planFor(reflect.TypeFor[T](), &t)
	if err == nil {
		err = decode(p, h5.Values{Datatype: t, N: len(dst), Block: raw}, dst, lossy)
	}
	if err != nil {
		return &h5.Error{Op: "read", Path: d.Path(), Err: err}
	}
	return nil
}

func readPlanned[T any](d *h5.Dataset, dst []T, s h5.Selection, lossy bool) error {
	const op = "read"
	t, err := d.Datatype()
	if err != nil {
		return err
	}
	p, err := planFor(reflect.TypeFor[T](), &t)
	if err != nil {
		return &h5.Error{Op: op, Path: d.Path(), Err: err}
	}
	v, err := d.ReadValues(p.mem, s, len(dst))
	if err != nil {
		return err
	}
	if err := decode(p, v, dst, lossy); err != nil {
		return &h5.Error{Op: op, Path: d.Path(), Err: err}
	}
	return nil
}

func write[T any](d *h5.Dataset, src []T, s h5.Selection, lossy bool) error {
	if err := checkLength(d, "write", len(src), s); err != nil {
		return err
	}
	mem, ok := elementType(reflect.TypeFor[T]())
	if !ok {
		return writePlanned(d, src, s, lossy)
	}
	err := d.WriteSelection(bytesOf(src), mem, s)
	if errors.Is(err, h5.ErrType) { // a conversion in which a value can change
		return writeConverted(d, src, mem, s, lossy)
	}
	return err
}

// writeConverted converts all elements from T, whose datatype is mem, to the form in the file and
// then writes them, so that a value that cannot be represented changes nothing.
func writeConverted[T any](d *h5.Dataset, src []T, mem h5.Datatype, s h5.Selection, lossy bool) error {
	t, err := d.Datatype()
	if err != nil {
		return err
	}
	if convertible(t, mem) {
		raw := make([]byte, len(src)*t.Size)
		if convert(raw, t, slices.Clone(bytesOf(src)), mem) {
			return d.WriteSelection(raw, t, s)
		}
	}
	return writePlanned(d, src, s, lossy)
}

func writePlanned[T any](d *h5.Dataset, src []T, s h5.Selection, lossy bool) error {
	const op = "write"
	if f := d.File(); f.Mode() == h5.ReadOnly { // before an error of the elements
		return &h5.Error{Op: op, Path: d.Path(), Err: fmt.Errorf("%w: %s", h5.ErrReadOnly, f.Path())}
	}
	t, err := d.Datatype()
	if err != nil {
		return err
	}
	v, err := encode(&t, src, lossy)
	if err != nil {
		return &h5.Error{Op: op, Path: d.Path(), Err: err}
	}
	return d.WriteValues(v, s)
}
