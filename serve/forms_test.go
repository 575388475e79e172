package serve_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/serve"
)

// TestData_exactForms reads negative zeros, NaN and strings that are not UTF-8 from HDF5 and b2nd.
func TestData_exactForms(t *testing.T) {
	dir := t.TempDir()
	zero := math.Copysign(0, -1)
	floats := ndarray.Vector(zero, math.Float64frombits(0xfff8000000000001), 1)
	text := ndarray.DType{Kind: ndarray.Bytes, Size: 4, Order: ndarray.NoOrder}
	for _, c := range []struct {
		name      string
		v         ndarray.Value
		json, csv string
	}{
		{"f", floats, "[-0.0,null,1.0]", "-0.0,NaN,1\n"},
		{"s", ndarray.Value{DType: text, Shape: []int64{2}, Data: []byte("\xff\xfe\x00\x00a\xef\xbf\xbd")}, `["base64://4=","a` + "\ufffd" + `"]`, `"""base64://4=""","""a` + "\ufffd" + `"""` + "\n"},
	} {
		for _, file := range []string{c.name + ".h5", c.name + ".b2nd"} {
			at := filepath.Join(dir, file)
			path := "/" + c.name
			if filepath.Ext(file) == ".h5" {
				at += ":" + path
			}
			attrs := []ndarray.Attr{{Name: "a", Value: c.v}}
			a, err := hyperslab.Create(bg, at, ndarray.Spec{Shape: c.v.Shape, DType: c.v.DType, Attrs: attrs}, nil)
			require.NoError(t, err)
			require.NoError(t, a.Write(bg, c.v.Data, ndarray.Whole(c.v.Shape)))
			require.NoError(t, a.Commit(bg))
			s := newServer(t, dir, &serve.Options{Trusted: true})
			for target, want := range map[string]string{"/data?format=json&": c.json, "/data?format=csv&": c.csv, "/attr?": `{"a":` + c.json + `}`} {
				status, _, body := get(t, s, target+"file="+file+"&path="+path)
				require.Equal(t, 200, status, "%s: %s", target, body)
				require.Equal(t, want, string(body), file+target)
			}
		}
	}
}
