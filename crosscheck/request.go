// Requests of Reader, and answers in other forms than stored elements.

package crosscheck

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// Request describes the object that Reader asks for. For a file that must be refused, the fields
// are those of the valid file from which it was made, so that they do not reveal the answer.
type Request struct {
	Path      string  // file or directory
	Area      string  // one of Areas
	Object    string  // path in an HDF5 file ("/path@name" is an attribute), column, key or name; "" for a file with one object
	Kind      string  // of an object of an HDF5 file: dataset, attribute, group or datatype; otherwise ""
	DType     string  // in NumPy's notation; "" if NumPy or the format has none
	Shape     []int64 // slowest dimension first; empty for one element
	Item      int     // bytes of an element; 0 for elements of variable length
	BigEndian bool    // stored elements are big-endian; false if DType has no byte order
}

// newRequest returns the request for a case. like is the valid case from which it was made.
func newRequest(dir string, c Case, like *Case) Request {
	r := Request{Path: filepath.Join(dir, filepath.FromSlash(c.Path)), Area: c.Area, Object: c.Object}
	if c.Area == "metalayer" {
		r.Object = c.Params["name"]
	}
	if like == nil || like.Decoded == nil {
		return r
	}
	d := like.Decoded
	r.DType, r.Shape, r.Item, r.BigEndian = d.DType, slices.Clone(d.Shape), d.Item, strings.HasPrefix(d.DType, ">")
	if c.Area == "hdf5" {
		r.Kind = "dataset"
		if kind, is := like.Metadata["kind"].(string); is {
			r.Kind = kind
		} else if strings.Contains(c.Object, "@") {
			r.Kind = "attribute"
		}
	}
	return r
}

// FromLittle returns the stored elements for elements in little-endian byte order. It returns
// errors.ErrUnsupported if r has no dtype, because the parts of such elements are unknown.
func (r *Request) FromLittle(b []byte) ([]byte, error) {
	if r.DType == "" && r.Item != 1 {
		return nil, fmt.Errorf("crosscheck: little-endian elements without a dtype: %w", errors.ErrUnsupported)
	}
	return fromLittle(slices.Clone(b), r.DType, r.Item), nil
}

// fromLittle reverses the numbers of big-endian elements in place.
func fromLittle(b []byte, dtype string, item int) []byte {
	if !strings.HasPrefix(dtype, ">") || item <= 0 || len(b)%item != 0 {
		return b
	}
	switch {
	case dtype[1] == 'c':
		item /= 2
	case dtype[1] == 'U':
		item = 4
	}
	for i := 0; i < len(b); i += item {
		reverse(b[i : i+item])
	}
	return b
}

// FromFloat64 returns the stored elements for numbers. It returns errors.ErrUnsupported if a number
// of the dtype is not always a float64, which holds for integers of 8 bytes whose magnitude reaches
// 2^53, and for dtypes that are not numbers. A number that is no element of the dtype is an error.
func (r *Request) FromFloat64(v []float64) ([]byte, error) {
	if len(r.DType) < 3 || !strings.ContainsRune("iufb", rune(r.DType[1])) || r.Item > 8 {
		return nil, fmt.Errorf("crosscheck: numbers of dtype %q: %w", r.DType, errors.ErrUnsupported)
	}
	out := make([]byte, 0, len(v)*r.Item)
	for i, x := range v {
		if r.DType[1] != 'f' && r.Item == 8 && math.Abs(x) >= 1<<53 {
			return nil, fmt.Errorf("crosscheck: element %d: %g is not exact: %w", i, x, errors.ErrUnsupported)
		}
		e, ok := elementOf(x, r.DType[1], r.Item)
		if !ok {
			return nil, fmt.Errorf("crosscheck: element %d: %g is not a number of dtype %s", i, x, r.DType)
		}
		out = append(out, e...)
	}
	return fromLittle(out, r.DType, r.Item), nil
}

// elementOf returns a number as a little-endian element of kind i, u, b or f, and false if no
// element has this value.
func elementOf(x float64, kind byte, item int) ([]byte, bool) {
	var bits uint64
	switch {
	case kind == 'i':
		bits = uint64(int64(x))
	case kind == 'u', kind == 'b':
		bits = uint64(x)
	case item == 8:
		bits = math.Float64bits(x)
	case item == 4:
		bits = uint64(math.Float32bits(float32(x)))
	case item == 2:
		h, found := halfOf(x)
		if !found {
			return nil, false
		}
		bits = uint64(h)
	}
	e := binary.LittleEndian.AppendUint64(nil, bits)[:item]
	back := numberOf(e, "<"+string(kind))
	return e, back == x || back != back && x != x
}

// halfOf returns the number of 16 bits with a value.
func halfOf(x float64) (uint16, bool) {
	for h := range 1 << 16 {
		if v := half(uint16(h)); v == x && math.Signbit(v) == math.Signbit(x) || v != v && x != x {
			return uint16(h), true
		}
	}
	return 0, false
}
