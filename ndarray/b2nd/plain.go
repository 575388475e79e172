// Plain values: the values of attributes in Python, and their conversion to and from ndarray's
// values, with and without a recorded type.

package b2nd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// toPlain returns v as nested lists of numbers, booleans, strings and bytes. It reports whether v,
// with its type and shape, can be restored from them exactly. Float16, complex numbers, null
// values, and floats and bools with unusual bits cannot.
func toPlain(v ndarray.Value) (any, bool) {
	if v.Null {
		return nil, false
	}
	at := 0
	plain, ok := listOf(v, v.Shape, &at)
	if !ok {
		return nil, false
	}
	back, ok := fromPlain(plain, v.DType, v.Shape)
	return plain, ok && back.Equal(v)
}

func listOf(v ndarray.Value, shape []int64, at *int) (any, bool) {
	if len(shape) == 0 {
		*at++
		switch {
		case v.DType.Kind == ndarray.String:
			return v.Strings[*at-1], utf8.ValidString(v.Strings[*at-1])
		case v.DType.Size == 0:
			return nil, false
		}
		return leafOf(v.DType, v.Data[(*at-1)*v.DType.Size:*at*v.DType.Size])
	}
	list := make([]any, 0, shape[0])
	for range shape[0] {
		x, ok := listOf(v, shape[1:], at)
		if !ok {
			return nil, false
		}
		list = append(list, x)
	}
	return list, true
}

// leafOf returns one element as a plain value.
func leafOf(d ndarray.DType, b []byte) (any, bool) {
	ne := binary.NativeEndian
	bits := uint64(0)
	switch len(b) {
	case 1:
		bits = uint64(b[0])
	case 2:
		bits = uint64(ne.Uint16(b))
	case 4:
		bits = uint64(ne.Uint32(b))
	case 8:
		bits = ne.Uint64(b)
	}
	switch d.Kind {
	case ndarray.Bool:
		return b[0] != 0, true
	case ndarray.Int:
		shift := 64 - 8*d.Size
		return int64(bits<<shift) >> shift, true
	case ndarray.Uint:
		if bits > math.MaxInt64 {
			return bits, true
		}
		return int64(bits), true
	case ndarray.Float:
		switch d.Size {
		case 4:
			return float64(math.Float32frombits(uint32(bits))), true
		case 8:
			return math.Float64frombits(bits), true
		}
	case ndarray.Bytes:
		pad := "\x00"
		if d.Pad == ndarray.SpacePad {
			pad = " "
		}
		if b = bytes.TrimRight(b, pad); utf8.Valid(b) {
			return string(b), true
		}
		return bytes.Clone(b), true
	case ndarray.Unicode:
		var s strings.Builder
		for ; len(b) >= 4; b = b[4:] {
			s.WriteRune(rune(ne.Uint32(b)))
		}
		return strings.TrimRight(s.String(), "\x00"), true
	case ndarray.Void:
		return bytes.Clone(b), true
	}
	return nil, false
}

// fromPlain is the inverse of toPlain for a value of type d and the given shape. It reports whether
// plain is such a value.
func fromPlain(plain any, d ndarray.DType, shape []int64) (ndarray.Value, bool) {
	v := ndarray.Value{DType: d, Shape: shape}
	if !leaves(plain, shape, func(leaf any) bool { return appendLeaf(&v, leaf) }) {
		return ndarray.Value{}, false
	}
	if d.Kind != ndarray.String && v.Data == nil {
		v.Data = []byte{}
	}
	return v, v.Validate() == nil
}

// leaves calls f for every element of nested lists, until f returns false. It reports whether the
// lists have exactly the given shape and f always returned true.
func leaves(plain any, shape []int64, f func(any) bool) bool {
	if len(shape) == 0 {
		return f(plain)
	}
	list, ok := plain.([]any)
	if !ok || int64(len(list)) != shape[0] {
		return false
	}
	for _, x := range list {
		if !leaves(x, shape[1:], f) {
			return false
		}
	}
	return true
}

// appendLeaf appends one plain element to v if v's type can represent it exactly.
func appendLeaf(v *ndarray.Value, leaf any) bool {
	d, ne := v.DType, binary.NativeEndian
	number := func(bits uint64) bool {
		switch d.Size {
		case 1:
			v.Data = append(v.Data, byte(bits))
		case 2:
			v.Data = ne.AppendUint16(v.Data, uint16(bits))
		case 4:
			v.Data = ne.AppendUint32(v.Data, uint32(bits))
		case 8:
			v.Data = ne.AppendUint64(v.Data, bits)
		}
		return true
	}
	switch d.Kind {
	case ndarray.Bool:
		x, ok := leaf.(bool)
		if x {
			v.Data = append(v.Data, 1)
		} else {
			v.Data = append(v.Data, 0)
		}
		return ok
	case ndarray.Int:
		x, ok := leaf.(int64)
		shift := 64 - 8*d.Size
		return ok && x<<shift>>shift == x && number(uint64(x))
	case ndarray.Uint:
		switch x := leaf.(type) {
		case uint64:
			return d.Size == 8 && number(x)
		case int64:
			return x >= 0 && (d.Size == 8 || x>>(8*d.Size) == 0) && number(uint64(x))
		}
	case ndarray.Float:
		x, ok := leaf.(float64)
		switch {
		case !ok:
			return false
		case d.Size == 8:
			return number(math.Float64bits(x))
		case d.Size == 4:
			y := float32(x)
			return (float64(y) == x || math.IsNaN(x)) && number(uint64(math.Float32bits(y)))
		}
	case ndarray.Bytes, ndarray.Void:
		var b []byte
		switch x := leaf.(type) {
		case string:
			b = []byte(x)
		case []byte:
			b = x
		default:
			return false
		}
		// netCDF-4 writes null-terminated strings without space for the zero byte.
		if len(b) > d.Size || d.Kind == ndarray.Void && len(b) != d.Size {
			return false
		}
		pad := byte(0)
		if d.Pad == ndarray.SpacePad {
			pad = ' '
		}
		v.Data = append(append(v.Data, b...), bytes.Repeat([]byte{pad}, d.Size-len(b))...)
		return true
	case ndarray.Unicode:
		s, ok := leaf.(string)
		if !ok || utf8.RuneCountInString(s) > d.Size/4 {
			return false
		}
		for _, r := range s {
			v.Data = ne.AppendUint32(v.Data, uint32(r))
		}
		v.Data = append(v.Data, make([]byte, d.Size-4*utf8.RuneCountInString(s))...)
		return true
	case ndarray.String:
		s, ok := leaf.(string)
		v.Strings = append(v.Strings, s)
		return ok
	}
	return false
}

// natural converts a plain value without a recorded type. Strings become strings of variable
// length. Integers become int64, or uint64 if one of them needs it, or float64 if there are floats
// among them. Bytes become Bytes of the longest length, and lists of equal lengths become
// dimensions. The error describes values that ndarray cannot represent.
func natural(plain any) (ndarray.Value, error) {
	plain = dropTuples(plain)
	shape := shapeOf(plain)
	if len(shape) > grid.MaxRank {
		return ndarray.Value{}, fmt.Errorf("%d nested lists", len(shape))
	}
	var all []any
	if !leaves(plain, shape, func(x any) bool { all = append(all, x); return true }) {
		return ndarray.Value{}, errors.New("lists of different lengths")
	}
	d, err := naturalType(all)
	if err != nil {
		return ndarray.Value{}, err
	}
	v := ndarray.Value{DType: d, Shape: shape}
	if d.Kind != ndarray.String {
		v.Data = []byte{}
	}
	for _, x := range all {
		if d.Kind == ndarray.Float {
			x = toFloat(x)
		}
		if !appendLeaf(&v, x) {
			return ndarray.Value{}, fmt.Errorf("a %T among %v", x, d)
		}
	}
	return v, v.Validate()
}

func toFloat(x any) any {
	switch x := x.(type) {
	case int64:
		return float64(x)
	case uint64:
		return float64(x)
	case float32:
		return float64(x)
	}
	return x
}

func dropTuples(plain any) any {
	list, ok := plain.([]any)
	if !ok {
		return plain
	}
	if len(list) > 0 && list[0] == any(msgpack.TupleMark) {
		list = list[1:]
	}
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = dropTuples(x)
	}
	return out
}

// shapeOf returns the shape along the first element of each list.
func shapeOf(plain any) []int64 {
	var shape []int64
	for {
		list, ok := plain.([]any)
		if !ok {
			return shape
		}
		shape = append(shape, int64(len(list)))
		if len(list) == 0 {
			return shape
		}
		plain = list[0]
	}
}

// naturalType returns the type that can represent all leaves. If there are no leaves, it is
// float64, as in NumPy.
func naturalType(all []any) (ndarray.DType, error) {
	var bools, numbers, strs, bins int
	var negative, large, fraction, inexact bool // among the numbers
	longest := 1
	for _, x := range all {
		switch x := x.(type) {
		case bool:
			bools++
		case int64:
			numbers++
			negative = negative || x < 0
			inexact = inexact || x > 1<<53 || x < -1<<53
		case uint64:
			numbers++
			large, inexact = true, true
		case float32, float64:
			numbers++
			fraction = true
		case string:
			strs++
		case []byte:
			bins++
			longest = max(longest, len(x))
		case nil:
			return ndarray.DType{}, errors.New("nil")
		case msgpack.Ext:
			return ndarray.DType{}, fmt.Errorf("extension %d of %d bytes", x.Kind, len(x.Data))
		case msgpack.Map:
			return ndarray.DType{}, fmt.Errorf("map of %d pairs", len(x))
		default:
			return ndarray.DType{}, errors.New("lists of different depths")
		}
	}
	switch n := len(all); {
	case n == 0:
		return ndarray.DTypeOf[float64](), nil
	case bools == n:
		return ndarray.DTypeOf[bool](), nil
	case strs == n:
		return ndarray.Text("").DType, nil
	case bins == n:
		return ndarray.DType{Kind: ndarray.Bytes, Size: longest, Order: ndarray.NoOrder}, nil
	case numbers == n && fraction && !inexact:
		return ndarray.DTypeOf[float64](), nil
	case numbers == n && !fraction && !large:
		return ndarray.DTypeOf[int64](), nil
	case numbers == n && !fraction && !negative:
		return ndarray.DTypeOf[uint64](), nil
	case numbers == n:
		return ndarray.DType{}, errors.New("numbers without a common type")
	}
	return ndarray.DType{}, errors.New("values of different types")
}
