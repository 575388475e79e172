// Values of attributes on the command line, as input.

package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/ndarray"
)

// parseAttr parses the value for attr set. dtype is a dtype, or "" to derive it from the value. A
// value without an array type has only Raw.
func parseAttr(text, dtype string) (ndarray.Attr, error) {
	if dtype == "string" {
		return ndarray.Attr{Value: ndarray.Text(text)}, nil
	}
	j, err := decodeJSON(text)
	if err != nil || j == nil {
		j = text
	}
	if o, ok := j.(object); ok {
		if dtype != "" {
			return ndarray.Attr{}, errors.New("--dtype is for a value or lists of values, got an object")
		}
		if form, err := typedOf(o); form != nil || err != nil {
			return form.attr(err)
		}
		raw, err := packRaw(j)
		return ndarray.Attr{Raw: raw}, err
	}
	v, err := parseValue(j, dtype)
	return ndarray.Attr{Value: v}, err
}

// parseValue returns the value of nested lists. dtype is as in parseAttr.
func parseValue(j any, dtype string) (v ndarray.Value, err error) {
	var leaves []any
	if v.Shape, err = flatten(j, &leaves); err != nil {
		return v, err
	}
	if dtype == "" {
		v.DType = guessType(leaves)
	} else if v.DType, err = shell.ParseDType(dtype); err != nil {
		return v, err
	}
	return v, appendLeaves(&v, leaves)
}

// appendLeaves appends elements to a value.
func appendLeaves(v *ndarray.Value, leaves []any) error {
	for _, leaf := range leaves {
		b, err := encodeElement(v.DType, leaf)
		if err != nil {
			return err
		}
		if v.DType.Size == 0 {
			v.Strings = append(v.Strings, string(b))
		} else {
			v.Data = append(v.Data, b...)
		}
	}
	return nil
}

// object is a JSON object, in the order of its members.
type object []member

type member struct {
	name  string
	value any
}

// get returns the value of a member, or nil.
func (o object) get(name string) any {
	if i := slices.IndexFunc(o, func(m member) bool { return m.name == name }); i >= 0 {
		return o[i].value
	}
	return nil
}

// maxNesting is the maximum number of nested lists and objects of a JSON value.
const maxNesting = 100

// decodeJSON decodes one JSON value: nil, bool, json.Number, string, []any and object.
func decodeJSON(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	v, err := decodeNext(dec, 0)
	if err == nil && !atEnd(dec) {
		err = errors.New("text after the JSON value")
	}
	return v, err
}

func decodeNext(dec *json.Decoder, depth int) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxNesting {
		return nil, fmt.Errorf("more than %d nested lists", maxNesting)
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decodeNext(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	case json.Delim('{'):
		o := object{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeNext(dec, depth+1)
			if err != nil {
				return nil, err
			}
			o = append(o, member{name.(string), v})
		}
		_, err := dec.Token()
		return o, err
	}
	return t, nil
}

func atEnd(dec *json.Decoder) bool {
	_, err := dec.Token()
	return errors.Is(err, io.EOF)
}

// flatten collects the leaves of nested lists in row-major order.
func flatten(j any, leaves *[]any) (shape []int64, err error) {
	switch j := j.(type) {
	case nil:
		return nil, errors.New("null is not a value of an attribute")
	case []any:
		var inner []int64
		for i, member := range j {
			s, err := flatten(member, leaves)
			if err != nil {
				return nil, err
			}
			if i > 0 && fmt.Sprint(s) != fmt.Sprint(inner) {
				return nil, fmt.Errorf("lists of different lengths: member 0 has shape %v, member %d %v", inner, i, s)
			}
			inner = s
		}
		return append([]int64{int64(len(j))}, inner...), nil
	default:
		*leaves = append(*leaves, j)
		return nil, nil
	}
}

// guessType returns the type that can hold all leaves: for numbers int64, uint64 if a number needs
// it, or float64 if a number has a fraction or an exponent.
func guessType(leaves []any) ndarray.DType {
	d := ndarray.DTypeOf[float64]()
	if len(leaves) == 0 {
		return d
	}
	switch leaves[0].(type) {
	case bool:
		return ndarray.DTypeOf[bool]()
	case string:
		return ndarray.Text("").DType
	}
	signed, unsigned := true, true
	for _, leaf := range leaves {
		n, ok := leaf.(json.Number)
		if !ok {
			return d // encodeElement reports the error
		}
		_, err := strconv.ParseInt(n.String(), 10, 64)
		signed = signed && err == nil
		_, err = strconv.ParseUint(n.String(), 10, 64)
		unsigned = unsigned && err == nil
	}
	switch {
	case signed:
		return ndarray.DTypeOf[int64]()
	case unsigned:
		return ndarray.DTypeOf[uint64]()
	}
	return d
}
