// Conversion of element types and fill values between bcolz and ndarray.

package bcolz

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

var kinds = map[byte]ndarray.Kind{
	'b': ndarray.Bool, 'i': ndarray.Int, 'u': ndarray.Uint, 'f': ndarray.Float, 'c': ndarray.Complex,
	'S': ndarray.Bytes, 'U': ndarray.Unicode, 'V': ndarray.Void, 'M': ndarray.DateTime, 'm': ndarray.TimeDelta,
}

// dtypeOf returns the element type, or ErrType with its name if ndarray does not have it.
func dtypeOf(t bcolztree.DType) (ndarray.DType, error) {
	if t.Structured {
		d, err := ndarray.ParseDType(t.Text)
		if err != nil || d.Kind != ndarray.Struct || d.Size == 0 {
			return d, fmt.Errorf("%w: elements of %s are not supported", ndarray.ErrType, t.Text)
		}
		return d, nil
	}
	if t.Kind == 'O' {
		return ndarray.DType{}, fmt.Errorf("%w: elements of object are pickles of Python; bcolztree.OpenObjects gives their bytes, and loading one can run any program", ndarray.ErrType)
	}
	d := ndarray.DType{Kind: kinds[t.Kind], Size: int(t.Size), Order: ndarray.Order(t.Order)}
	if t.Unit != "" { // for example "ns" or "25s"
		x, err := ndarray.ParseDType(fmt.Sprintf("<M8[%s]", t.Unit))
		if err != nil {
			return ndarray.DType{}, err
		}
		d.Unit = x.Unit
	}
	if d.Validate() != nil {
		return ndarray.DType{}, fmt.Errorf("%w: elements of %s are not supported", ndarray.ErrType, t.Text)
	}
	return d, nil
}

// fillOf returns dflt as one element in native order, nil if it is all zero
// bytes. Floats are rounded to the element type, as NumPy does.
func fillOf(v bcolztree.Value, d ndarray.DType) ([]byte, error) {
	b, ok := element(v, d)
	if !ok {
		return nil, fmt.Errorf("%w: dflt is %s %s, elements are %v", ndarray.ErrCorrupt, v.Kind, v.Append(nil), d)
	}
	if len(bytes.Trim(b, "\x00")) == 0 {
		return nil, nil
	}
	return b, nil
}

// element returns v as an element of type d, in native order.
func element(v bcolztree.Value, d ndarray.DType) ([]byte, bool) {
	b := make([]byte, 0, d.Size)
	switch d.Kind {
	case ndarray.Bool:
		n, isInt := v.Int64()
		on := v.Bool || n == 1
		if on {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
		return b, v.Kind == bcolztree.Bool || isInt && (n == 0 || n == 1)
	case ndarray.Int, ndarray.DateTime, ndarray.TimeDelta:
		n, ok := v.Int64()
		shift := 64 - 8*d.Size
		return appendUint(b, uint64(n), d.Size), ok && n<<shift>>shift == n
	case ndarray.Uint:
		n, err := strconv.ParseUint(v.Text, 10, 8*d.Size)
		return appendUint(b, n, d.Size), v.Kind == bcolztree.Number && err == nil
	case ndarray.Float:
		x, ok := v.Float64()
		if d.Size > 8 { // Go has no such floats; only zero, whose bytes are zero, is supported
			return b[:d.Size], ok && x == 0
		}
		return appendFloat(b, x, d.Size), ok
	case ndarray.Complex:
		// JSON has no complex numbers; dflt is the real part.
		x, ok := v.Float64()
		if d.Size > 16 {
			return b[:d.Size], ok && x == 0
		}
		return appendFloat(appendFloat(b, x, d.Size/2), 0, d.Size/2), ok
	case ndarray.Bytes, ndarray.Void:
		// bcolz writes bytes as an ASCII string of the same bytes.
		b = append(b, v.Text...)
		if v.Kind != bcolztree.String || len(b) > d.Size {
			return nil, false
		}
		for _, c := range b {
			if c >= utf8.RuneSelf {
				return nil, false
			}
		}
		return b[:d.Size], true
	case ndarray.Unicode:
		if v.Kind != bcolztree.String || utf8.RuneCountInString(v.Text) > d.Size/4 {
			return nil, false
		}
		for _, r := range v.Text {
			b = binary.NativeEndian.AppendUint32(b, uint32(r))
		}
		return b[:d.Size], true
	case ndarray.Struct:
		// As in NumPy's tolist, the list of the fields.
		if v.Kind != bcolztree.List || len(v.List) != len(d.Fields) {
			return nil, false
		}
		b = b[:d.Size]
		for i, f := range d.Fields {
			e, ok := element(v.List[i], f.Type)
			if !ok {
				return nil, false
			}
			copy(b[f.Offset:], e)
		}
		return b, true
	case ndarray.SubArray:
		var all []bcolztree.Value
		if !leaves(v, d.Dims, &all) {
			return nil, false
		}
		for _, x := range all {
			e, ok := element(x, *d.Base)
			if !ok {
				return nil, false
			}
			b = append(b, e...)
		}
		return b, true
	}
	return nil, false
}

func appendUint(b []byte, bits uint64, size int) []byte {
	switch size {
	case 1:
		return append(b, byte(bits))
	case 2:
		return binary.NativeEndian.AppendUint16(b, uint16(bits))
	case 4:
		return binary.NativeEndian.AppendUint32(b, uint32(bits))
	}
	return binary.NativeEndian.AppendUint64(b, bits)
}

func appendFloat(b []byte, x float64, size int) []byte {
	switch size {
	case 2:
		return appendUint(b, uint64(numbers.ToHalf(x)), 2)
	case 4:
		return appendUint(b, uint64(math.Float32bits(float32(x))), 4)
	}
	return appendUint(b, math.Float64bits(x), 8)
}
