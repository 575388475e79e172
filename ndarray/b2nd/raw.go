// Metalayers copied as bytes.

package b2nd

import (
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/ndarray"
)

// onlyRaw reports whether an attribute has Raw but no Value.
func onlyRaw(attr ndarray.Attr) bool { return attr.Raw != nil && attr.Value.DType.Kind == 0 }

// keepsRaw reports whether the Raw bytes of an attribute must be stored: whether they still
// represent its Value, which the caller may have changed.
func keepsRaw(attr ndarray.Attr) bool {
	if attr.Raw == nil || hiddenLayer(attr.Name) || len(attr.Name) > cblosc.MaxMetalayerName {
		return false
	}
	if onlyRaw(attr) {
		return true
	}
	plain, err := msgpack.Parse(attr.Raw)
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
