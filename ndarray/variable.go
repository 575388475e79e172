// Elements of variable size: strings, sequences, references, and structures and sub-arrays that
// contain them. An element is a Go string of self-contained bytes, so that every function that
// moves strings also moves these elements.

package ndarray

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// Split returns the parts of an element of a Struct, SubArray or VLen: one for each field, in
// the order of Fields, or one for each element of Base, in row-major order. Numbers are in native
// byte order. The element of a String is its characters, and that of a Reference is the path of its
// target. The parts share the memory of b.
//
// It returns ErrType for another Kind, and ErrValue for bytes that are no element of d.
func (d DType) Split(b []byte) ([][]byte, error) {
	parts := slices.Grow([][]byte(nil), len(d.Fields))
	bad := func() ([][]byte, error) {
		return nil, fmt.Errorf("%w: %d bytes are not a valid %v", ErrValue, len(b), d)
	}
	rest, ok := b, true
	next := func(size int) {
		var p []byte
		if p, rest, ok = cutPart(size, rest); ok {
			parts = append(parts, p)
		}
	}
	switch d.Kind {
	case Struct:
		if d.Size > 0 {
			if len(b) != d.Size {
				return bad()
			}
			for _, f := range d.Fields {
				parts = append(parts, b[f.Offset:f.Offset+f.Type.Size])
			}
			return parts, nil
		}
		for i := 0; i < len(d.Fields) && ok; i++ {
			next(d.Fields[i].Type.Size)
		}
	case SubArray:
		n, _ := grid.Product(d.Dims)
		for i := int64(0); i < n && ok; i++ {
			next(d.Base.Size)
		}
	case VLen:
		for len(rest) > 0 && ok {
			next(d.Base.Size)
		}
	default:
		return nil, fmt.Errorf("%w: %v has no parts", ErrType, d)
	}
	if !ok || len(rest) > 0 {
		return bad()
	}
	return parts, nil
}

// cutPart returns the first part of b, an element of the given size, and the bytes after it. A part
// of variable size, which is 0, follows its length.
func cutPart(size int, b []byte) (part, rest []byte, ok bool) {
	n := uint64(size)
	if size == 0 {
		var head int
		if n, head = binary.Uvarint(b); head <= 0 {
			return nil, nil, false
		}
		b = b[head:]
	}
	if n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}

// Join is the inverse of Split: it returns the element of d with the given parts.
//
// It returns ErrType for a Kind without parts, and ErrSize for another number of parts or a part of
// another size.
func (d DType) Join(parts ...[]byte) ([]byte, error) {
	var b []byte
	want, types := len(parts), func(int) DType { return *d.Base }
	switch d.Kind {
	case Struct:
		want, types = len(d.Fields), func(i int) DType { return d.Fields[i].Type }
	case SubArray:
		n, _ := grid.Product(d.Dims)
		want = int(n)
	case VLen:
	default:
		return nil, fmt.Errorf("%w: %v has no parts", ErrType, d)
	}
	if len(parts) != want {
		return nil, fmt.Errorf("%w: %d parts, %v has %d", ErrSize, len(parts), d, want)
	}
	fields := d.Kind == Struct && d.Size > 0
	if fields {
		b = make([]byte, d.Size)
	}
	for i, p := range parts {
		t := types(i)
		if t.Size > 0 && len(p) != t.Size {
			return nil, fmt.Errorf("%w: part %d has %d bytes, %v has %d", ErrSize, i, len(p), t, t.Size)
		}
		switch {
		case fields:
			copy(b[d.Fields[i].Offset:], p)
		case t.Size == 0:
			b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
		default:
			b = append(b, p...)
		}
	}
	return b, nil
}

// checkElement returns ErrParam for a string with a zero byte, and ErrValue unless b is an element
// of d, which has a variable size.
func (d DType) checkElement(b string) error {
	switch d.Kind {
	case String, Reference:
		return checkString(b)
	case VLen:
		if d.Base.Size > 0 && len(b)%d.Base.Size == 0 {
			return nil
		}
	}
	parts, err := d.Split([]byte(b))
	for i := 0; i < len(parts) && err == nil; i++ {
		t := d.Base
		if d.Kind == Struct {
			t = &d.Fields[i].Type
		}
		if t.Size == 0 {
			err = t.checkElement(string(parts[i]))
		}
	}
	return err
}

func checkString(s string) error {
	if strings.Contains(s, "\x00") {
		return fmt.Errorf("%w: string %q holds a zero byte", ErrParam, s)
	}
	return nil
}
