// Attribute types that only MessagePack has.

package b2nd

import (
	"slices"

	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

// MessagePackTypes returns the types in the content of a metalayer, as in ndarray.Attr, that other
// formats do not have and that a Value does not preserve: "tuple" and "bytes". A tuple becomes a
// list, and bytes become a string without trailing zero bytes.
func MessagePackTypes(raw []byte) (names []string) {
	plain, err := msgpack.Parse(raw)
	if raw == nil || err != nil {
		return nil
	}
	var look func(any)
	look = func(v any) {
		name := ""
		switch v := v.(type) {
		case []byte:
			name = "bytes"
		case []any:
			if len(v) > 0 && v[0] == any(tupleMark) {
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
