// Attributes and names of kerchunk references, as kerchunk 0.2.10 writes them.

package kerchunk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// internalAttrs are attributes of the format that Zarr expresses otherwise.
var internalAttrs = []string{"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"}

// zattrs returns attributes in the form of Python. Attributes of one element are scalars of any
// rank, and null attributes are empty strings.
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
		out[x.Name] = json.RawMessage(jsonform.Python.AppendValue(nil, v))
	}
	return out
}

// appendAttributes appends attributes as an object, which json.loads of Python reads. A
// json.RawMessage is appended as it is, because encoding/json has no NaN.
func appendAttributes(out []byte, attrs map[string]any) ([]byte, error) {
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(attrs)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonform.AppendString(out, name), ':')
		if raw, ok := attrs[name].(json.RawMessage); ok {
			out = append(out, raw...)
			continue
		}
		b, err := json.Marshal(attrs[name])
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return append(out, '}'), nil
}

// checkName returns ErrNotZarr for the path of an object that has a component that the keys of a
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
			return fmt.Errorf("%w: the name %q: %s", ErrNotZarr, name, reason)
		}
	}
	return nil
}
