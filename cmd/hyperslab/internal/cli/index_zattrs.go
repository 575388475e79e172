// Attributes and names of kerchunk references, as kerchunk 0.2.10 writes them.

package cli

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// internalAttrs are attributes of the format that Zarr expresses otherwise.
var internalAttrs = []string{"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"}

// zattrs returns attributes as values for appendPython. Attributes of one element are scalars of
// any rank, and null attributes are empty strings.
func zattrs(attrs ndarray.Attrs) map[string]any {
	out := make(map[string]any)
	for _, x := range attrs.List {
		if slices.Contains(internalAttrs, x.Name) {
			continue
		}
		if out[x.Name] = any(""); x.Value.Null {
			continue
		}
		v := x.Value
		if n, ok := grid.Product(v.Shape); ok && n == 1 {
			v.Shape = nil
		}
		out[x.Name] = nest(v.Shape, func(i int) any { return attributeElement(v, i) })
	}
	return out
}

// attributeElement returns element i of an attribute. Numbers keep their exact values: floats are
// float64, and integers are json.Number.
func attributeElement(v ndarray.Value, i int) any {
	d := v.DType
	if d.Size == 0 {
		return elementJSON(d, []byte(v.Strings[i]))
	}
	b := v.Data[i*d.Size:][:d.Size]
	if d.Kind == ndarray.Enum { // h5py reads its numbers
		d = d.Base.Native()
	}
	switch {
	case d.Kind == ndarray.Int || d.Kind == ndarray.Uint:
		d.Tag = ""
		return json.Number(ndarray.FormatElement(d, b))
	case d.Kind == ndarray.Float && d.Size <= 8 || d.Kind == ndarray.BFloat:
		f := make([]byte, 8)
		if err := ndarray.Convert(f, ndarray.DTypeOf[float64](), b, d.Native(), true); err == nil {
			return math.Float64frombits(binary.NativeEndian.Uint64(f))
		}
	}
	return elementJSON(d, b)
}

// appendPython appends a value as json.dumps of Python writes it, which json.loads reads: NaN and
// the infinities are not quoted, and a float has a point or an exponent.
func appendPython(out []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case float64:
		switch {
		case math.IsNaN(v):
			return append(out, "NaN"...), nil
		case math.IsInf(v, 0):
			if v < 0 {
				out = append(out, '-')
			}
			return append(out, "Infinity"...), nil
		}
		start := len(out)
		out = strconv.AppendFloat(out, v, 'g', -1, 64)
		if !strings.ContainsAny(string(out[start:]), ".e") {
			out = append(out, ".0"...)
		}
		return out, nil
	case []any:
		out = append(out, '[')
		for i, x := range v {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendPython(out, x); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case map[string]any:
		out = append(out, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendPython(out, key); err == nil {
				out, err = appendPython(append(out, ':'), v[key])
			}
			if err != nil {
				return nil, err
			}
		}
		return append(out, '}'), nil
	}
	b, err := json.Marshal(v)
	return append(out, b...), err
}

// checkName returns errNotZarr for the path of an object that has a component that the keys of a
// Zarr store cannot hold: zarr regards a backslash as a slash and refuses "..", and the readers of
// references take keys that begin with .z for metadata.
func checkName(object string) error {
	for name := range strings.SplitSeq(strings.Trim(object, "/"), "/") {
		reason := ""
		switch {
		case name == "." || name == "..":
			reason = "zarr refuses it"
		case strings.HasPrefix(name, ".z"):
			reason = "names that begin with .z are those of metadata"
		case strings.Contains(name, `\`):
			reason = "zarr takes the backslash for a slash"
		case !utf8.ValidString(name):
			reason = "it is not UTF-8"
		}
		if reason != "" {
			return fmt.Errorf("%w: the name %q: %s", errNotZarr, name, reason)
		}
	}
	return nil
}
