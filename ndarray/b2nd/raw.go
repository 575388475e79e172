// Metalayers copied as bytes, and their content as JSON.

package b2nd

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/ndarray"
)

// onlyRaw reports whether an attribute has Raw but no Value.
func onlyRaw(attr ndarray.Attr) bool { return attr.Raw != nil && attr.Value.DType.Kind == 0 }

// keepsRaw reports whether the Raw bytes of an attribute must be stored: whether they still
// represent its Value, which the caller may have changed.
func keepsRaw(attr ndarray.Attr) bool {
	if attr.Raw == nil || attr.Name == recordName || len(attr.Name) > cblosc.MaxMetalayerName {
		return false
	}
	if onlyRaw(attr) {
		return true
	}
	plain, err := parseMsgpack(attr.Raw)
	if err != nil {
		return false
	}
	v, err := natural(plain)
	return err == nil && v.Equal(attr.Value)
}

// splitFixed separates the attributes of a new array that become fixed metalayers from the rest.
func splitFixed(attrs []ndarray.Attr) (fixed []cblosc.Metalayer, rest []ndarray.Attr) {
	for _, attr := range attrs {
		if attr.Fixed && keepsRaw(attr) && !ownLayer(attr.Name) {
			fixed = append(fixed, cblosc.Metalayer{Name: attr.Name, Content: attr.Raw})
		} else {
			rest = append(rest, attr)
		}
	}
	return fixed, rest
}

// withoutRaw returns the attributes that have a value.
func withoutRaw(attrs []ndarray.Attr) []ndarray.Attr {
	return slices.DeleteFunc(slices.Clone(attrs), onlyRaw)
}

// RawJSON returns the content of a metalayer as JSON, and whether it is MessagePack. A map whose keys
// are distinct strings is an object; another map is {"map": [[key, value], …]}. Bytes are {"base64": "…"}, and an
// extension type is {"ext": n, "base64": "…"}. Integers beyond 2^53 are strings, and so are NaN and the infinities.
func RawJSON(content []byte) (json.RawMessage, bool) {
	v, err := parseMsgpack(content)
	if err != nil {
		return nil, false
	}
	return appendJSON(nil, v), true
}

func appendJSON(dst []byte, v any) []byte {
	const exact = 1 << 53
	quoted := func(s string) []byte {
		b, _ := json.Marshal(s) // cannot fail for a string
		return append(dst, b...)
	}
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		if v > exact || v < -exact {
			return quoted(strconv.FormatInt(v, 10))
		}
		return strconv.AppendInt(dst, v, 10)
	case uint64:
		return quoted(strconv.FormatUint(v, 10))
	case float32:
		return appendFloat(dst, float64(v), 32)
	case float64:
		return appendFloat(dst, v, 64)
	case string:
		return quoted(v)
	case []byte:
		return append(append(append(dst, `{"base64":"`...), base64.StdEncoding.EncodeToString(v)...), `"}`...)
	case ext:
		dst = strconv.AppendInt(append(dst, `{"ext":`...), int64(v.kind), 10)
		return append(append(append(dst, `,"base64":"`...), base64.StdEncoding.EncodeToString(v.data)...), `"}`...)
	case []any:
		dst = append(dst, '[')
		for i, x := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, x)
		}
		return append(dst, ']')
	case pairs:
		return v.appendJSON(dst)
	}
	return append(dst, "null"...)
}

func appendFloat(dst []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, x, 'g', -1, bits)
}

func (m pairs) appendJSON(dst []byte) []byte {
	object, seen := true, make(map[string]bool)
	for _, p := range m {
		key, ok := p.key.(string)
		object = object && ok && !seen[key]
		seen[key] = true
	}
	open, between, end := "{", ":", "}"
	if !object {
		open, between, end = `{"map":[`, ",", "]}"
	}
	dst = append(dst, open...)
	for i, p := range m {
		if i > 0 {
			dst = append(dst, ',')
		}
		if !object {
			dst = append(dst, '[')
		}
		dst = append(appendJSON(dst, p.key), between...)
		dst = appendJSON(dst, p.value)
		if !object {
			dst = append(dst, ']')
		}
	}
	return append(dst, end...)
}
