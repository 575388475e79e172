// The form of an attribute that attr get writes and attr set reads: a value whose type follows from
// its text, or {"dtype": …, "value": …}.

package convert

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Types of the typed form that are no dtypes: values without an array type.
const (
	typeJSON    = "json"    // any JSON value, which b2nd and bcolz store
	typeMsgpack = "msgpack" // MessagePack in base64, which b2nd stores
)

// typed is the typed form of an attribute.
type typed struct {
	dtype                 string
	value                 any
	shape                 []int64 // nil: that of the lists
	charset, padding, tag string
}

// typedOf returns the typed form that an object is, or nil for any other object: one with other
// members.
func typedOf(o object) (*typed, error) {
	var t typed
	for _, m := range o {
		text, isText := m.value.(string)
		switch m.name {
		case "dtype":
			t.dtype = text
		case "charset":
			t.charset = text
		case "padding":
			t.padding = text
		case "tag":
			t.tag = text
		case "value":
			t.value, isText = m.value, true
		case "shape":
			isText = true
			list, ok := m.value.([]any)
			t.shape = []int64{}
			for _, x := range list {
				n, err := strconv.ParseInt(fmt.Sprint(x), 10, 64)
				ok = ok && err == nil
				t.shape = append(t.shape, n)
			}
			if !ok {
				return nil, fmt.Errorf("shape: got %v, want a list of lengths", m.value)
			}
		default:
			return nil, nil
		}
		if !isText {
			return nil, nil
		}
	}
	if t.dtype == "" || !slices.ContainsFunc(o, func(m member) bool { return m.name == "value" }) {
		return nil, nil
	}
	return &t, nil
}

// attr returns the attribute of a typed form.
func (t *typed) attr(err error) (a ndarray.Attr, _ error) {
	if err != nil {
		return a, err
	}
	switch t.dtype {
	case typeJSON:
		a.Raw, err = packRaw(t.value)
		return a, err
	case typeMsgpack:
		text, _ := t.value.(string)
		if a.Raw, err = base64.StdEncoding.DecodeString(text); err == nil {
			_, err = msgpack.Parse(a.Raw)
		}
		return a, err
	}
	d, err := t.parseDType()
	if err != nil {
		return a, err
	}
	a.Value = ndarray.Value{DType: d, Shape: t.shape}
	if t.value == nil && d.Kind != ndarray.Reference {
		a.Value.Null = true
		return a, nil
	}
	leaves, err := t.leaves(d)
	if err != nil {
		return a, err
	}
	if t.shape == nil {
		a.Value.Shape = shapeOf(t.value, d)
	}
	return a, appendLeaves(&a.Value, leaves)
}

// parseDType returns the dtype, with the properties that its notation does not have.
func (t *typed) parseDType() (ndarray.DType, error) {
	d, err := ndarray.ParseDType(t.dtype)
	if err != nil {
		return d, err
	}
	if d.Kind == ndarray.String {
		d.CharSet = ndarray.UTF8
	}
	for _, c := range []ndarray.CharSet{ndarray.ASCII, ndarray.UTF8} {
		if t.charset == c.String() {
			d.CharSet = c
		}
	}
	for _, p := range []ndarray.Pad{ndarray.NullPad, ndarray.NullTerm, ndarray.SpacePad} {
		if t.padding == p.String() {
			d.Pad = p
		}
	}
	if t.tag != "" {
		d.Tag = t.tag
	}
	if t.charset != "" && t.charset != d.CharSet.String() || t.padding != "" && t.padding != d.Pad.String() {
		return d, fmt.Errorf("unknown character set %q or padding %q", t.charset, t.padding)
	}
	return d, d.Validate()
}

// inner returns the number of nested lists of an element.
func inner(d ndarray.DType) int {
	switch d.Kind {
	case ndarray.Complex, ndarray.VLen:
		return 1
	case ndarray.SubArray:
		return len(d.Dims)
	}
	return 0
}

// shapeOf returns the lengths of nested lists of elements of d.
func shapeOf(v any, d ndarray.DType) []int64 {
	var shape []int64
	for list, ok := v.([]any); ok; list, ok = v.([]any) {
		shape = append(shape, int64(len(list)))
		if len(list) == 0 {
			break
		}
		v = list[0]
	}
	return shape[:max(len(shape)-inner(d), 0)]
}

// leaves returns the elements of the lists.
func (t *typed) leaves(d ndarray.DType) ([]any, error) {
	shape := t.shape
	if shape == nil {
		shape = shapeOf(t.value, d)
	}
	if d.Kind == ndarray.Struct || d.Kind == ndarray.VLen { // an element may be a list
		if t.shape == nil && t.value != nil {
			return nil, fmt.Errorf("shape: got none, want that of the value, because %v has lists as elements", d)
		}
	}
	if n, ok := grid.Product(shape); !ok || n < 0 {
		return nil, fmt.Errorf("%w: shape %v", ndarray.ErrShape, shape)
	} else if n == 0 {
		return nil, nil
	}
	if len(shape) == 0 {
		return []any{t.value}, nil
	}
	list, ok := t.value.([]any)
	if !ok {
		return nil, fmt.Errorf("value: got %v, want lists of shape %v", t.value, shape)
	}
	return nestedLeaves(list, shape)
}

// attrLine returns the form in which attr get writes an attribute. attr set reads it with the same
// type and value.
func attrLine(a ndarray.Attr) string {
	v := a.Value
	literal := string(jsonform.Literal.AppendValue(nil, v))
	candidates := []string{literal}
	if text, ok := scalarText(v); ok {
		candidates = []string{text, literal}
	}
	for _, text := range candidates {
		if back, err := parseAttr(text, ""); err == nil && back.Raw == nil && back.Value.DType.Equal(v.DType) && back.Value.Equal(v) &&
			sameRaw(a.Raw, literal) {
			return text
		}
	}
	if a.Raw != nil && !sameRaw(a.Raw, literal) { // for example, integers and floats in one list
		return rawLine(a.Raw)
	}
	return typedLine(v, literal)
}

// scalarText returns the text of a scalar string in UTF-8.
func scalarText(v ndarray.Value) (string, bool) {
	if v.DType.Kind != ndarray.String || len(v.Shape) > 0 || v.Null {
		return "", false
	}
	text := v.Strings[0]
	return text, utf8.ValidString(text) && !strings.HasSuffix(text, "\n") // a shell removes line breaks at the end
}

// plainLine returns the value without its type: a string as it is, everything else as JSON.
func plainLine(v ndarray.Value) string {
	out := jsonform.Literal.AppendValue(nil, v)
	var text string
	if json.Unmarshal(out, &text) == nil && out[0] == '"' {
		return text
	}
	return string(out)
}

// typedLine returns the typed form of a value.
func typedLine(v ndarray.Value, literal string) string {
	d := v.DType
	out := jsonform.AppendString([]byte(`{"dtype":`), d.String())
	add := func(key, text string) {
		out = jsonform.AppendString(append(append(out, `,"`...), key+`":`...), text)
	}
	plain, err := (&typed{dtype: d.String()}).parseDType()
	if err == nil && plain.CharSet != d.CharSet {
		add("charset", d.CharSet.String())
	}
	if err == nil && plain.Pad != d.Pad {
		add("padding", d.Pad.String())
	}
	if err == nil && plain.Tag != d.Tag {
		add("tag", d.Tag)
	}
	if d.Kind == ndarray.Struct || d.Kind == ndarray.VLen || emptyShape(v.Shape) || len(v.Shape) > 0 && slices.Contains(v.Shape, 0) {
		if !v.Null {
			out = append(out, `,"shape":`...)
			out = jsonform.AppendList(out, len(v.Shape), func(out []byte, i int) []byte { return strconv.AppendInt(out, v.Shape[i], 10) })
		}
	}
	return string(append(append(out, `,"value":`...), literal+"}"...))
}

// sameRaw reports whether raw is nil or has the meaning of a JSON value.
func sameRaw(raw []byte, literal string) bool {
	if raw == nil {
		return true
	}
	v, err := msgpack.Parse(raw)
	if err != nil {
		return false
	}
	packed, ok := appendPacked(nil, v, true)
	return ok && string(packed) == literal
}

// rawLine returns the form of a value without an array type: JSON, {"dtype":"json",…} if its text
// would have another meaning, or {"dtype":"msgpack",…} if JSON does not have the value.
func rawLine(raw []byte) string {
	v, err := msgpack.Parse(raw)
	if err == nil {
		if packed, ok := appendPacked(nil, v, false); ok {
			text := string(packed)
			for _, line := range []string{text, `{"dtype":"json","value":` + text + `}`} {
				if back, err := parseAttr(line, ""); err == nil && back.Raw != nil && sameRaw(back.Raw, text) {
					return line
				}
			}
		}
	}
	return fmt.Sprintf(`{"dtype":"msgpack","value":%q}`, base64.StdEncoding.EncodeToString(raw))
}

// appendPacked appends a value of MessagePack as JSON. It reports false for a value that JSON does
// not have. Floats that are no JSON numbers are strings if special is set.
func appendPacked(out []byte, v any, special bool) ([]byte, bool) {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), true
	case bool, int64, uint64:
		return fmt.Append(out, v), true
	case float64:
		return jsonform.Literal.AppendValue(out, ndarray.Scalar(v)), special || !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		return jsonform.AppendString(out, v), utf8.ValidString(v)
	case []any:
		ok := true
		out = jsonform.AppendList(out, len(v), func(out []byte, i int) []byte {
			out, is := appendPacked(out, v[i], special)
			ok = ok && is
			return out
		})
		return out, ok
	case msgpack.Map:
		out = append(out, '{')
		for i, p := range v {
			name, ok := p.Key.(string)
			if !ok || !utf8.ValidString(name) {
				return out, false
			}
			if i > 0 {
				out = append(out, ',')
			}
			if out, ok = appendPacked(append(jsonform.AppendString(out, name), ':'), p.Value, special); !ok {
				return out, false
			}
		}
		return append(out, '}'), true
	}
	return out, false
}

// packRaw returns a JSON value in MessagePack.
func packRaw(v any) ([]byte, error) {
	packed, err := packedOf(v)
	if err != nil {
		return nil, err
	}
	raw := msgpack.Append(nil, packed)
	back, err := msgpack.Parse(raw)
	if err == nil && !reflect.DeepEqual(back, packed) {
		err = errors.New("the value cannot be stored in MessagePack")
	}
	return raw, err
}

func packedOf(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n, nil
		}
		x, err := v.Float64()
		if err != nil || !strings.ContainsAny(v.String(), ".eE") {
			return nil, fmt.Errorf("%w: %s is not a number of 64 bits", ndarray.ErrValue, v)
		}
		return x, nil
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			var err error
			if list[i], err = packedOf(x); err != nil {
				return nil, err
			}
		}
		return list, nil
	case object:
		m := make(msgpack.Map, len(v))
		for i, x := range v {
			p, err := packedOf(x.value)
			if err != nil {
				return nil, err
			}
			m[i] = msgpack.Pair{Key: x.name, Value: p}
		}
		return m, nil
	}
	return v, nil
}
