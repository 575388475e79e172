// Values of attributes on the command line, as input and output.

package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/ndarray"
)

// attrLine formats a value as attr get writes it: a string unquoted, everything else as JSON.
func attrLine(v ndarray.Value) (string, error) {
	j := valueJSON(v)
	if s, ok := j.(string); ok {
		return s, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(j)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// parseValue parses the value for attr set. dtype is a dtype, or "" to derive it from the value.
func parseValue(text, dtype string) (v ndarray.Value, err error) {
	if dtype == "string" {
		return ndarray.Text(text), nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var j any
	if err := dec.Decode(&j); err != nil || !atEnd(dec) || j == nil {
		j = text
	}
	var leaves []any
	if v.Shape, err = flatten(j, &leaves); err != nil {
		return v, err
	}
	if dtype == "" {
		v.DType = guessType(leaves)
	} else if v.DType, err = ndarray.ParseDType(dtype); err != nil {
		return v, err
	}
	if v.DType.Size == 0 && v.DType.Kind != ndarray.String {
		return v, fmt.Errorf("%w: a value of %v in JSON", errors.ErrUnsupported, v.DType)
	}
	for _, leaf := range leaves {
		if v.DType.Kind == ndarray.String {
			s, ok := leaf.(string)
			if !ok {
				return v, fmt.Errorf("%v is a number in a list of strings; put it in quotes", leaf)
			}
			v.Strings = append(v.Strings, s)
			continue
		}
		b, err := encodeLeaf(v.DType, leaf)
		if err != nil {
			return v, err
		}
		v.Data = append(v.Data, b...)
	}
	return v, nil
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
	case map[string]any:
		return nil, errors.New("an attribute has no members; give a value or lists of values")
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
			return d // encodeLeaf reports the error
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

// encodeLeaf encodes one value as an element of type d, in native byte order.
func encodeLeaf(d ndarray.DType, leaf any) ([]byte, error) {
	b := make([]byte, d.Size)
	wrong := func(want string) error { return fmt.Errorf("%v is no %s, which %v needs", leaf, want, d) }
	switch d.Kind {
	case ndarray.Bool:
		v, ok := leaf.(bool)
		if !ok {
			return nil, wrong("true or false")
		}
		if v {
			b[0] = 1
		}
		return b, nil
	case ndarray.Int, ndarray.Uint, ndarray.Float, ndarray.BFloat, ndarray.Enum:
		return b, encodeNumber(d, b, leaf)
	case ndarray.Bytes, ndarray.Unicode:
		s, ok := leaf.(string)
		if !ok {
			return nil, wrong("text in quotes")
		}
		return b, encodeText(d, b, s)
	}
	return nil, fmt.Errorf("a value of type %v cannot be written as text", d)
}

// special are the floats that are not JSON numbers, with their names in the documents of --json.
var special = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}

func encodeNumber(d ndarray.DType, b []byte, leaf any) error {
	text := ""
	switch leaf := leaf.(type) {
	case json.Number:
		text = leaf.String()
	case string:
		v, ok := special[leaf]
		if !ok {
			return fmt.Errorf("%q is not a number, which %v needs", leaf, d)
		}
		src := ndarray.Scalar(v)
		return ndarray.Convert(b, d, src.Data, src.DType, true)
	default:
		return fmt.Errorf("%v is not a number, which %v needs", leaf, d)
	}
	var src ndarray.Value
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		src = ndarray.Scalar(n)
	} else if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		src = ndarray.Scalar(n)
	} else {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		src = ndarray.Scalar(f)
	}
	return ndarray.Convert(b, d, src.Data, src.DType, d.Kind == ndarray.Float || d.Kind == ndarray.BFloat)
}

func encodeText(d ndarray.DType, b []byte, s string) error {
	if d.Kind == ndarray.Bytes {
		if len(s) > len(b) {
			return fmt.Errorf("%q: got %d bytes, want at most %d for %v", s, len(s), len(b), d)
		}
		copy(b, s)
		return nil
	}
	if n := utf8.RuneCountInString(s); n > len(b)/4 {
		return fmt.Errorf("%q: got %d characters, want at most %d for %v", s, n, len(b)/4, d)
	}
	i := 0
	for _, r := range s {
		binary.NativeEndian.PutUint32(b[i:], uint32(r))
		i += 4
	}
	return nil
}
