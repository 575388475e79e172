package msgpack

import "slices"

// TupleMark is the first element of a list by which python-blosc2 represents a tuple.
const TupleMark = "__tuple__"

// Simplified returns the types in content that an ndarray.Value does not preserve: "tuple" and
// "bytes". A tuple becomes a list, and bytes become a string without trailing zero bytes.
func Simplified(content []byte) (names []string) {
	plain, err := Parse(content)
	if content == nil || err != nil {
		return nil
	}
	var look func(any)
	look = func(v any) {
		name := ""
		switch v := v.(type) {
		case []byte:
			name = "bytes"
		case []any:
			if len(v) > 0 && v[0] == any(TupleMark) {
				name = "tuple"
			}
			for _, x := range v {
				look(x)
			}
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	look(plain)
	slices.Sort(names)
	return names
}
