// The record: one metalayer, "hyperslab", for properties that a b2nd array and plain attribute
// values cannot represent, so that they are not lost in a file.

package b2nd

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// recordName is the variable-length metalayer that contains the record: a MessagePack map. Every
// key except the first is optional:
//
//	version   1
//	dtype     of the elements, if NumPy's type string is incomplete: [ndarray's type string,
//	          character set, padding], and for structures and tagged bytes a list of
//	          [number, character set, padding, tag] of those parts that have one, counted from the innermost
//	null      true: the array is null, its shape on disk is [0]
//	maxshape  list of lengths, -1 for unlimited
//	axes      list of dimension names, "" if there is no name
//	fill      one element, in the byte order of storage
//	attrs     list of [name, dtype as above, shape or nil for null, value]
//
// A name that is not UTF-8 is stored as bytes. The value of an attribute is nil if it is in the
// metalayer of its own name. Otherwise it is the elements as bytes, or as a list of strings.
const recordName = "hyperslab"

const recordVersion = 1

type record struct {
	dtype    *ndarray.DType
	null     bool
	maxShape []int64
	axes     []string
	fill     []byte // byte order of storage
	attrs    []recordAttr
	at       map[string]int // indexes in attrs; nil until they are needed
}

// recordAttr is an attribute. If alone is set, its data is in its own metalayer.
type recordAttr struct {
	name  string
	value ndarray.Value
	alone bool
}

func (r *record) empty() bool {
	return r.dtype == nil && !r.null && r.maxShape == nil && r.axes == nil && r.fill == nil && len(r.attrs) == 0
}

func (r *record) encode() []byte {
	m := msgpack.Map{{Key: "version", Value: int64(recordVersion)}}
	add := func(key string, v any) { m = append(m, msgpack.Pair{Key: key, Value: v}) }
	if r.dtype != nil {
		add("dtype", encodeDType(*r.dtype))
	}
	if r.null {
		add("null", true)
	}
	if r.maxShape != nil {
		add("maxshape", encodeShape(r.maxShape))
	}
	if r.axes != nil {
		names := make([]any, len(r.axes))
		for i, name := range r.axes {
			names[i] = name
		}
		add("axes", names)
	}
	if r.fill != nil {
		add("fill", r.fill)
	}
	if len(r.attrs) > 0 {
		list := make([]any, 0, len(r.attrs))
		for _, a := range r.attrs {
			list = append(list, a.encode())
		}
		add("attrs", list)
	}
	return msgpack.Append(nil, m)
}

func (a recordAttr) encode() any {
	d := a.value.DType
	out := []any{any(a.name), encodeDType(d), nil, nil}
	if !utf8.ValidString(a.name) {
		out[0] = []byte(a.name)
	}
	if !a.value.Null {
		out[2] = encodeShape(a.value.Shape)
	}
	switch {
	case a.alone || a.value.Null:
	case d.Size == 0:
		strs := make([]any, len(a.value.Strings))
		for i, s := range a.value.Strings {
			strs[i] = []byte(s) // may contain invalid UTF-8
		}
		out[3] = strs
	default:
		b := append([]byte{}, a.value.Data...)
		d.ToNative(b) // to storage order; ToNative is its own inverse
		out[3] = b
	}
	return out
}

func encodeDType(d ndarray.DType) any {
	out := []any{d.String(), int64(d.CharSet), int64(d.Pad)}
	n, parts := int64(0), []any{}
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		if p.CharSet != ndarray.ASCII || p.Pad != ndarray.NullPad || p.Tag != "" {
			parts = append(parts, []any{n, int64(p.CharSet), int64(p.Pad), []byte(p.Tag)})
		}
		n++
		return p
	})
	if n > 1 && len(parts) > 0 || d.Tag != "" {
		out = append(out, parts)
	}
	return out
}

func encodeShape(shape []int64) any {
	list := make([]any, len(shape))
	for i, n := range shape {
		list[i] = n
	}
	return list
}

var errRecord = errors.New(`metalayer "hyperslab" is corrupt`)

// parseRecord parses the record. It rejects unknown keys and versions, because a later release
// wrote them.
func parseRecord(b []byte) (*record, error) {
	v, err := msgpack.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	m, ok := v.(msgpack.Map)
	if !ok || len(m) == 0 || m[0].Key != any("version") {
		return nil, fmt.Errorf("%w: no version", errRecord)
	}
	if m[0].Value != any(int64(recordVersion)) {
		return nil, fmt.Errorf(`%w: metalayer "hyperslab" of version %v, this release knows %d`,
			errors.ErrUnsupported, m[0].Value, recordVersion)
	}
	r := &record{}
	for _, p := range m[1:] {
		ok := false
		switch p.Key {
		case any("dtype"):
			var d ndarray.DType
			d, ok = decodeDType(p.Value)
			r.dtype = &d
		case any("null"):
			r.null, ok = p.Value.(bool)
		case any("maxshape"):
			r.maxShape, ok = decodeShape(p.Value, ndarray.Unlimited)
		case any("axes"):
			r.axes, ok = decodeAxes(p.Value)
		case any("fill"):
			r.fill, ok = p.Value.([]byte)
		case any("attrs"):
			r.attrs, ok = decodeAttrs(p.Value)
		}
		if !ok {
			return nil, fmt.Errorf("%w: key %v", errRecord, p.Key)
		}
	}
	return r, nil
}

func decodeDType(v any) (d ndarray.DType, ok bool) {
	list, _ := v.([]any)
	if len(list) != 3 && len(list) != 4 {
		return d, false
	}
	text, ok1 := list[0].(string)
	charSet, ok2 := list[1].(int64)
	pad, ok3 := list[2].(int64)
	d, err := ndarray.ParseDType(text)
	if !ok1 || !ok2 || !ok3 || err != nil || charSet < 0 || charSet > math.MaxUint8 || pad < 0 || pad > math.MaxUint8 {
		return d, false
	}
	d.CharSet, d.Pad = ndarray.CharSet(charSet), ndarray.Pad(pad)
	if len(list) == 4 {
		if d, ok = decodeParts(d, list[3]); !ok {
			return d, false
		}
	}
	return d, d.Validate() == nil
}

// decodeParts adds to the parts of d the properties that type strings do not contain.
func decodeParts(d ndarray.DType, v any) (ndarray.DType, bool) {
	list, ok := v.([]any)
	if !ok {
		return d, false
	}
	n, used := int64(0), 0
	d = d.MapParts(func(p ndarray.DType) ndarray.DType {
		if used < len(list) {
			part, _ := list[used].([]any)
			if len(part) == 4 && part[0] == any(n) {
				charSet, ok1 := part[1].(int64)
				pad, ok2 := part[2].(int64)
				tag, ok3 := part[3].([]byte)
				if ok1 && ok2 && ok3 && charSet >= 0 && charSet <= math.MaxUint8 && pad >= 0 && pad <= math.MaxUint8 {
					p.CharSet, p.Pad, p.Tag = ndarray.CharSet(charSet), ndarray.Pad(pad), string(tag)
					used++
				}
			}
		}
		n++
		return p
	})
	return d, used == len(list)
}

func decodeShape(v any, least int64) ([]int64, bool) {
	list, ok := v.([]any)
	if !ok || len(list) > grid.MaxRank {
		return nil, false
	}
	shape := make([]int64, len(list))
	for i, x := range list {
		if shape[i], ok = x.(int64); !ok || shape[i] < least {
			return nil, false
		}
	}
	return shape, true
}

func decodeAxes(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok || len(list) > grid.MaxRank {
		return nil, false
	}
	names := make([]string, len(list))
	for i, x := range list {
		if names[i], ok = x.(string); !ok {
			return nil, false
		}
	}
	return names, true
}

func decodeAttrs(v any) ([]recordAttr, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]recordAttr, 0, len(list))
	for _, x := range list {
		a, ok := decodeAttr(x)
		if !ok {
			return nil, false
		}
		out = append(out, a)
	}
	return out, true
}

func decodeAttr(v any) (a recordAttr, ok bool) {
	list, _ := v.([]any)
	if len(list) != 4 {
		return a, false
	}
	switch name := list[0].(type) {
	case string:
		a.name = name
	case []byte:
		a.name = string(name)
	default:
		return a, false
	}
	if a.value.DType, ok = decodeDType(list[1]); !ok {
		return a, false
	}
	d := a.value.DType
	if a.value.Null = list[2] == nil; a.value.Null {
		if d.Size > 0 {
			a.value.Data = []byte{}
		}
		return a, list[3] == nil
	}
	if a.value.Shape, ok = decodeShape(list[2], 0); !ok {
		return a, false
	}
	if len(a.value.Shape) == 0 {
		a.value.Shape = nil
	}
	switch data := list[3].(type) {
	case nil:
		a.alone = true
		return a, true
	case []byte:
		d.ToNative(data)
		a.value.Data = data
	case []any:
		for _, x := range data {
			b, ok := x.([]byte)
			if !ok {
				return a, false
			}
			a.value.Strings = append(a.value.Strings, string(b))
		}
	default:
		return a, false
	}
	return a, a.value.Validate() == nil
}
