package cli_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestConvert_attributeTypes checks that tuples and bytes objects of python-blosc2 become lists and
// strings in other formats, and that convert reports this.
func TestConvert_attributeTypes(t *testing.T) {
	t.Chdir(t.TempDir())
	letters := ndarray.Value{DType: dtype(t, "S4"), Data: []byte("ab\x00\x00")}
	require.NoError(t, os.Mkdir("tree", 0o777))
	for _, file := range []string{"a.b2nd", "tree/a.b2nd"} {
		create(t, file, ndarray.Spec{Shape: []int64{2}, Attrs: []ndarray.Attr{
			{Name: "range", Value: ndarray.Vector(int64(1), 2), Raw: []byte("\x93\xa9__tuple__\x01\x02")},
			{Name: "key", Value: letters, Raw: []byte("\xc4\x04ab\x00\x00")},
			{Name: "list", Value: ndarray.Vector(int64(1), 2), Raw: []byte("\x92\x01\x02")},
			{Name: "unit", Value: ndarray.Text("m"), Raw: []byte("\xa1m")},
		}}, []int32{1, 2})
	}
	for _, c := range []struct{ source, target, format, at string }{
		{"a.b2nd", "a.h5:/a", "hdf5", ""},
		{"a.b2nd", "a.bcolz", "bcolz", ""},
		{"tree", "tree.h5", "hdf5", "/a: "},
		{"a.b2nd", "b.b2nd", "", ""},
		{"tree", "copy", "", ""},
	} {
		t.Run(c.target, func(t *testing.T) {
			stdout, stderr, code := run("convert", "-q", "--json", c.source, c.target)
			require.Zero(t, code, stderr)
			var doc struct{ Lost []string }
			require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
			if c.format == "" { // the target supports these types
				require.Empty(t, doc.Lost)
				return
			}
			require.ElementsMatch(t, []string{
				c.at + "type of attribute range (tuple): " + c.format + " has lists and strings only",
				c.at + "type of attribute key (bytes): " + c.format + " has lists and strings only",
			}, doc.Lost)
		})
	}
}
