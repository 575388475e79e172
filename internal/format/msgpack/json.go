// JSON form of MessagePack values.

package msgpack

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
)

// JSON returns MessagePack as JSON, as AppendJSON, and whether content is MessagePack.
func JSON(content []byte) (json.RawMessage, bool) {
	v, err := Parse(content)
	if err != nil {
		return nil, false
	}
	return AppendJSON(nil, v), true
}

// AppendJSON appends a value of Parse as JSON. A map whose keys are distinct strings is an object;
// another map is {"map": [[key, value], …]}. Bytes are {"base64": "…"}, and an extension type is
// {"ext": n, "base64": "…"}. Integers beyond 2^53 are strings, and so are NaN and the infinities.
func AppendJSON(dst []byte, v any) []byte {
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
	case Ext:
		dst = strconv.AppendInt(append(dst, `{"ext":`...), int64(v.Kind), 10)
		return append(append(append(dst, `,"base64":"`...), base64.StdEncoding.EncodeToString(v.Data)...), `"}`...)
	case []any:
		dst = append(dst, '[')
		for i, x := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, x)
		}
		return append(dst, ']')
	case Map:
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

func (m Map) appendJSON(dst []byte) []byte {
	object, seen := true, make(map[string]bool)
	for _, p := range m {
		key, ok := p.Key.(string)
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
		dst = append(AppendJSON(dst, p.Key), between...)
		dst = AppendJSON(dst, p.Value)
		if !object {
			dst = append(dst, ']')
		}
	}
	return append(dst, end...)
}
