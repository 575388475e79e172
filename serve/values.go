// Elements as JSON, in the form of h5grove: floats without a finite value are null, complex numbers
// are [real, imaginary], compounds are lists, references are their kind.

package serve

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/h5elem"
	"github.com/hyperslab/hyperslab/ndarray"
)

// appendView appends one element of HDF5.
func appendView(out []byte, e h5elem.View) []byte {
	t := e.Datatype()
	switch t.Class {
	case h5.Integer, h5.Bitfield, h5.Time:
		return appendWhole(out, e)
	case h5.Float:
		f, _, ok := e.Float()
		if !ok {
			return append(out, "null"...)
		}
		return appendFloat(out, f, t.Size)
	case h5.Enum:
		if h5value.IsBool(t) {
			n, _ := e.Whole()
			return strconv.AppendBool(out, n != "0")
		}
		return appendWhole(out, e)
	case h5.String:
		s, _ := e.Text() // a null pointer is an empty string, as in h5py
		return appendText(out, s)
	case h5.Opaque:
		return appendBytes(out, e.Bytes())
	case h5.Reference:
		return appendText(out, referenceText(e.Ref()))
	case h5.Complex:
		parts := h5.Values{Datatype: *t.Base, N: 2, Block: e.Bytes()}
		return appendList(out, 2, func(out []byte, i int) []byte { return appendView(out, h5elem.ViewOf(&parts, i)) })
	case h5.Array:
		return appendNested(out, t.Dims, func(out []byte, i int) []byte { return appendView(out, e.At(i)) })
	}
	return appendList(out, e.Len(), func(out []byte, i int) []byte { return appendView(out, e.At(i)) })
}

func appendWhole(out []byte, e h5elem.View) []byte {
	if s, ok := e.Whole(); ok {
		return append(out, s...)
	}
	return appendBytes(out, e.Bytes()) // more than 64 bits
}

// referenceText is h5py's description of a reference.
func referenceText(r h5.Ref) string {
	kind := "object"
	if r.Kind == h5.RegionReference {
		kind = "region"
	}
	if r.IsNull() {
		kind += " reference (null)"
	} else {
		kind += " reference"
	}
	return "<HDF5 " + kind + ">"
}

// appendFloat appends the shortest digits that read back as the same float of size bytes.
func appendFloat(out []byte, f float64, size int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(out, "null"...)
	}
	bits := 64
	if size <= 4 && float64(float32(f)) == f {
		bits = 32
	}
	start := len(out)
	out = strconv.AppendFloat(out, f, 'g', -1, bits)
	if !strings.ContainsAny(string(out[start:]), ".e") {
		out = append(out, ".0"...)
	}
	return out
}

// appendText appends a string. Bytes that are not UTF-8 become U+FFFD.
func appendText(out []byte, s string) []byte {
	b, err := marshal(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return append(out, "null"...) // a string cannot fail
	}
	return append(out, b...)
}

// appendBytes appends bytes without a meaning: as a string if they are UTF-8, otherwise as base64.
func appendBytes(out, b []byte) []byte {
	if utf8.Valid(b) {
		return appendText(out, string(b))
	}
	return appendText(out, "base64:"+base64.StdEncoding.EncodeToString(b))
}

func appendList(out []byte, n int, item func(out []byte, i int) []byte) []byte {
	out = append(out, '[')
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = item(out, i)
	}
	return append(out, ']')
}

// appendNested appends elements, numbered in row-major order, as nested lists.
func appendNested(out []byte, dims []int64, item func(out []byte, i int) []byte) []byte {
	next := 0
	var level func(out []byte, dims []int64) []byte
	level = func(out []byte, dims []int64) []byte {
		if len(dims) == 0 {
			next++
			return item(out, next-1)
		}
		return appendList(out, int(dims[0]), func(out []byte, _ int) []byte { return level(out, dims[1:]) })
	}
	return level(out, dims)
}

// appendElement appends one element of ndarray. b is in native byte order.
func appendElement(out []byte, d ndarray.DType, b []byte) []byte {
	switch d.Kind {
	case ndarray.Bool:
		return strconv.AppendBool(out, b[0] != 0)
	case ndarray.Int, ndarray.Uint:
		d.Tag = "" // bit fields are numbers too
		return append(out, ndarray.FormatElement(d, b)...)
	case ndarray.Enum:
		return append(out, ndarray.FormatElement(*d.Base, b)...)
	case ndarray.Float, ndarray.BFloat:
		f, err := strconv.ParseFloat(ndarray.FormatElement(d, b), 64)
		if err != nil { // a number of more than 64 bits out of range, or the payload of a NaN
			f = math.NaN()
		}
		return appendFloat(out, f, d.Size)
	case ndarray.Complex:
		half := d.Size / 2
		part := ndarray.DType{Kind: ndarray.Float, Size: half, Order: d.Order}
		return appendList(out, 2, func(out []byte, i int) []byte { return appendElement(out, part, b[i*half:][:half]) })
	case ndarray.DateTime, ndarray.TimeDelta:
		return appendText(out, ndarray.FormatElement(d, b))
	case ndarray.Bytes, ndarray.Unicode:
		quoted := ndarray.FormatElement(d, b)
		text, err := strconv.Unquote(quoted)
		if err != nil { // an invalid code point, which the escape shows
			text = strings.Trim(quoted, `"`)
		}
		return appendText(out, text)
	case ndarray.String:
		return appendText(out, string(b))
	case ndarray.Reference:
		if len(b) == 0 {
			return append(out, "null"...)
		}
		return appendText(out, string(b))
	case ndarray.Struct, ndarray.SubArray, ndarray.VLen:
		parts, err := d.Split(b)
		switch {
		case err != nil:
		case d.Kind == ndarray.Struct:
			return appendList(out, len(parts), func(out []byte, i int) []byte { return appendElement(out, d.Fields[i].Type, parts[i]) })
		case d.Kind == ndarray.VLen:
			return appendList(out, len(parts), func(out []byte, i int) []byte { return appendElement(out, *d.Base, parts[i]) })
		default:
			return appendNested(out, d.Dims, func(out []byte, i int) []byte { return appendElement(out, *d.Base, parts[i]) })
		}
	}
	return appendBytes(out, b)
}

// appendValue appends a value as nested lists, a scalar as itself.
func appendValue(out []byte, v ndarray.Value) []byte {
	if v.Null {
		return append(out, "null"...)
	}
	return appendNested(out, v.Shape, func(out []byte, i int) []byte {
		if v.DType.Size == 0 {
			return appendElement(out, v.DType, []byte(v.Strings[i]))
		}
		return appendElement(out, v.DType, v.Data[i*v.DType.Size:][:v.DType.Size])
	})
}
