// Types in the notation of .npy headers: NumPy's dtype.descr, where unnamed fields of bytes are
// padding.

package npy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Descr returns dtype.descr of NumPy for d, as Python prints it.
//
// It returns errors.ErrUnsupported for types that NumPy does not have, and for structures whose
// fields are not in the order of their offsets, as NumPy does.
func Descr(d ndarray.DType) (string, error) {
	if d.Size == 0 {
		return "", fmt.Errorf("%w: .npy cannot store elements of variable size (%v)", errors.ErrUnsupported, d)
	}
	d = d.NumPy()
	mark := unused(d.String())
	var err error
	n := 0
	padded := d.MapParts(func(p ndarray.DType) ndarray.DType {
		if p.Kind != ndarray.Struct {
			return p
		}
		var fields []ndarray.Field
		at := 0
		pad := func(to int) {
			if to > at {
				fields = append(fields, ndarray.Field{Name: mark + strconv.Itoa(n), Type: ndarray.DType{Kind: ndarray.Void, Size: to - at, Order: ndarray.NoOrder}})
				n++
			}
			at = to
		}
		for _, f := range p.Fields {
			if f.Offset < at {
				err = fmt.Errorf("%w: .npy cannot store a structure whose field %q at offset %d follows one that ends at %d", errors.ErrUnsupported, f.Name, f.Offset, at)
				return p
			}
			pad(f.Offset)
			fields = append(fields, f)
			at += f.Type.Size
		}
		pad(p.Size)
		return ndarray.StructOf(false, fields...)
	})
	if err != nil {
		return "", err
	}
	text := padded.String()
	for i := range n {
		text = strings.Replace(text, "'"+mark+strconv.Itoa(i)+"'", "''", 1)
	}
	if text[0] != '[' && text[0] != '(' {
		text = "'" + text + "'"
	}
	return text, nil
}

// ParseDescr parses NumPy's dtype.descr without the quotes around a simple type.
//
// It returns ndarray.ErrType for everything that NumPy does not accept.
func ParseDescr(text string) (ndarray.DType, error) {
	mark := unused(text)
	d, err := ndarray.ParseDType(nameless(text, mark))
	if err != nil {
		return d, err
	}
	d = d.MapParts(func(p ndarray.DType) ndarray.DType {
		if p.Kind != ndarray.Struct {
			return p
		}
		kept := p.Fields[:0]
		for _, f := range p.Fields {
			base := f.Type
			for base.Kind == ndarray.SubArray {
				base = *base.Base
			}
			switch {
			case !strings.HasPrefix(f.Name, mark):
				kept = append(kept, f)
			case base.Kind != ndarray.Void:
				err = fmt.Errorf("%w: %q: a field of %v without a name", ndarray.ErrType, text, f.Type)
			}
		}
		p.Fields = kept
		return p
	})
	if err == nil {
		err = d.Validate()
	}
	if err == nil && (d.Size == 0 || !d.NumPy().Equal(d)) { // ndarray's own notation
		err = fmt.Errorf("%w: got %q, want a type of NumPy", ndarray.ErrType, text)
	}
	return d, err
}

// unused returns a name that text does not contain.
func unused(text string) string {
	name := "padding"
	for strings.Contains(text, name) {
		name += "_"
	}
	return name
}

// nameless replaces the empty names of the fields in a list of tuples with mark and a number.
func nameless(text, mark string) string {
	var out strings.Builder
	n := 0
	before := [2]byte{} // the last two characters outside strings, without spaces
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\'' && c != '"' {
			if c != ' ' {
				before = [2]byte{before[1], c}
			}
			out.WriteByte(c)
			continue
		}
		start := i
		for i++; i < len(text) && text[i] != c; i++ {
			if text[i] == '\\' {
				i++
			}
		}
		quoted := text[start:min(i+1, len(text))]
		if len(quoted) == 2 && before[1] == '(' && (before[0] == '[' || before[0] == ',') {
			quoted = "'" + mark + strconv.Itoa(n) + "'"
			n++
		}
		out.WriteString(quoted)
		before = [2]byte{before[1], '\''}
	}
	return out.String()
}
