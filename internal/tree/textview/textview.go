// Backend, type selection and attributes of arrays of strings.

package textview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Mode selects the type that replaces one that the target lacks.
type Mode string

// The modes.
const (
	Auto  Mode = "auto"  // strings of variable length if the target has them, else of a fixed size
	Fixed Mode = "fixed" // strings of the smallest fixed size, also if the target has others
	Error Mode = "error" // return an error
)

// maxSize is the maximum size of a fixed string in bytes. Its padding can take the whole array.
const maxSize = 1 << 20

// Type returns the type with which strings of an array are stored in HDF5, if variable is set, or
// in a format that lacks strings of variable length. It is the type of the array if the format
// stores it and mode does not request another one. Otherwise Type reads all strings. It returns
// errors.ErrUnsupported in mode Error and for strings of more than 1 MiB, and ndarray.ErrValue for
// invalid UTF-8, for code points that UTF-8 cannot represent and for zero characters in a string.
func Type(ctx context.Context, a *ndarray.Array, variable bool, mode Mode) (ndarray.DType, error) {
	d := a.DType()
	switch {
	case d.Kind == ndarray.String && variable && mode != Fixed,
		d.Kind == ndarray.Unicode && !variable,
		d.Kind != ndarray.String && d.Kind != ndarray.Unicode:
		return d, nil
	case mode == Error:
		return d, fmt.Errorf("%w: arrays of %s", errors.ErrUnsupported, describe(d))
	}
	size, characters, err := longest(ctx, a)
	if err != nil {
		return d, err
	}
	if d.Kind == ndarray.Unicode && mode != Fixed {
		return ndarray.Text("").DType, nil
	}
	fixed := ndarray.DType{Kind: ndarray.Bytes, Size: max(size, 1), Order: ndarray.NoOrder}
	switch {
	case variable && d.Kind == ndarray.String:
		fixed.CharSet = d.CharSet
	case variable:
		fixed.CharSet = ndarray.UTF8
	case d.CharSet == ndarray.UTF8:
		fixed = ndarray.DType{Kind: ndarray.Unicode, Size: 4 * max(characters, 1), Order: ndarray.NativeOrder}
	}
	if fixed.Size > maxSize {
		return d, fmt.Errorf("%w: strings of %d bytes with a fixed size, want at most %d bytes", errors.ErrUnsupported, fixed.Size, maxSize)
	}
	return fixed, nil
}

func describe(d ndarray.DType) string {
	if d.Kind == ndarray.String {
		return "strings of variable length"
	}
	return "strings of four-byte characters (" + d.String() + ")"
}

// longest returns the length of the longest strings in bytes and in characters. It checks that the
// other type can represent each string.
func longest(ctx context.Context, a *ndarray.Array) (size, characters int, err error) {
	m := a.Meta()
	if m.Null {
		return 0, 0, nil
	}
	v := &view{a: a, meta: m}
	v.meta.DType = ndarray.Text("").DType
	whole := ndarray.Region{Start: make([]int64, len(m.Shape)), Shape: m.Shape}
	err = v.each(ctx, whole, func(i int64, s string) error {
		size = max(size, len(s))
		characters = max(characters, utf8.RuneCountInString(s))
		if m.DType.CharSet == ndarray.UTF8 && !utf8.ValidString(s) {
			return fmt.Errorf("%w: string %d: got %q, want valid UTF-8", ndarray.ErrValue, i, s)
		}
		if strings.Contains(s, "\x00") {
			return fmt.Errorf("%w: string %d: got %q, want no zero character", ndarray.ErrValue, i, s)
		}
		return nil
	})
	return size, characters, err
}

// New returns an array that shows the strings of a with the type d, which Type returned. a must
// stay open while the result is used, and the caller must still close it. If d is the type of a,
// New returns a.
func New(a *ndarray.Array, d ndarray.DType) (*ndarray.Array, error) {
	if d.Equal(a.DType()) {
		return a, nil
	}
	v := &view{a: a, meta: a.Meta()}
	v.meta.DType, v.meta.Fill, v.meta.ReadOnly = d, nil, true
	return ndarray.New(v)
}

// view is a Backend for the strings of another array.
type view struct {
	a    *ndarray.Array
	meta ndarray.Meta
}

func (v *view) Meta() ndarray.Meta { return v.meta }

// ReadRegion implements ndarray.Backend for strings of a fixed size.
func (v *view) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	d := v.meta.DType
	return v.each(ctx, r, func(i int64, s string) error {
		element := dst[i*int64(d.Size):][:d.Size]
		if d.Kind == ndarray.Unicode {
			if err := numbers.PutUTF32(element, s); err != nil {
				return fmt.Errorf("%w: string %d of %v: %w", ndarray.ErrValue, i, r, err)
			}
			return nil
		}
		if len(s) > d.Size || strings.HasSuffix(s, "\x00") {
			return fmt.Errorf("%w: string %d of %v: got %q, want at most %d bytes and no zero byte at the end", ndarray.ErrValue, i, r, s, d.Size)
		}
		clear(element[copy(element, s):])
		return nil
	})
}

// ReadStrings implements ndarray.StringReader.
func (v *view) ReadStrings(ctx context.Context, dst []string, r ndarray.Region) error {
	return v.each(ctx, r, func(i int64, s string) error {
		dst[i] = s
		return nil
	})
}

// ReadNulls implements ndarray.NullReader.
func (v *view) ReadNulls(ctx context.Context, dst []bool, r ndarray.Region) error {
	return v.a.ReadNulls(ctx, dst, r)
}

// each calls f for the strings of r in row-major order. It holds at most a slab of them.
func (v *view) each(ctx context.Context, r ndarray.Region, f func(i int64, s string) error) error {
	at := int64(0)
	var strs []string
	for box := range grid.Slabs(v.a.Meta().ChunkShape, v.a.Meta().DType.Size, grid.Box(r)) {
		slab := ndarray.Region(box)
		strs = slices.Grow(strs[:0], int(slab.NumElems()))[:slab.NumElems()]
		if err := ndarray.Read(ctx, v.a, strs, slab); err != nil {
			return err
		}
		for _, s := range strs {
			if err := f(at, s); err != nil {
				return err
			}
			at++
		}
		clear(strs)
	}
	return nil
}

// Attrs implements ndarray.AttrReader.
func (v *view) Attrs(ctx context.Context) (ndarray.Attrs, error) { return v.a.Attrs(ctx) }

func (v *view) Close() error { return nil }

// Attr returns an attribute with strings of variable length instead of strings of four-byte
// characters, which HDF5 lacks. Other attributes stay. It returns ndarray.ErrValue for strings
// that UTF-8 cannot represent and for a zero character in a string.
func Attr(a ndarray.Attr) (ndarray.Attr, error) {
	d := a.Value.DType
	if d.Kind != ndarray.Unicode {
		return a, nil
	}
	v := ndarray.Value{DType: ndarray.Text("").DType, Shape: a.Value.Shape, Null: a.Value.Null}
	for b := a.Value.Data; len(b) >= d.Size; b = b[d.Size:] {
		s, err := numbers.UTF32String(b[:d.Size])
		if err == nil && strings.Contains(s, "\x00") {
			err = fmt.Errorf("got %q, want no zero character", s)
		}
		if err != nil {
			return a, fmt.Errorf("attribute %q: %w: string %d: %w", a.Name, ndarray.ErrValue, len(v.Strings), err)
		}
		v.Strings = append(v.Strings, s)
	}
	return ndarray.Attr{Name: a.Name, Value: v}, nil
}
