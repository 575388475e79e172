package serve_test

import (
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
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

// TestData_nulls reads columns of a table of python-blosc2.
func TestData_nulls(t *testing.T) {
	python, dir := testenv.Python(t, "blosc2"), t.TempDir()
	script := filepath.Join("..", "cmd", "hyperslab", "internal", "cli", "testdata", "nulls.py")
	out, err := exec.Command(python, script, "write", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, o := range []*serve.Options{{Trusted: true}, {}} {
		s := newServer(t, dir, o)
		for _, c := range []struct{ column, json, csv string }{
			{"i8", "[4611686018427387904,null,null]", "4611686018427387904,,\n"},
			{"f8", "[-0.0,null,null]", "-0.0,,\n"},
			{"nd", "[[1.0,2.0],[null,null],[null,null]]", "1,2\n,\n,\n"},
			{"s", `["ab",null,null]`, `"""ab""",,` + "\n"},
			{"vl", `["vv",null,null]`, ""},
			{"dic", `["red",null,null]`, ""},
		} {
			for _, file := range []string{"mask.b2z", "sentinel.b2d"} {
				at := "file=" + file + "&path=/" + c.column
				status, _, body := get(t, s, "/data?"+at)
				require.Equal(t, 200, status, "%s", body)
				require.Equal(t, c.json, string(body), at)
				if c.csv != "" {
					_, _, body = get(t, s, "/data?format=csv&"+at)
					require.Equal(t, c.csv, string(body), at)
				}
				want := 422
				if c.column == "f8" || c.column == "nd" {
					want = 200
				}
				for _, format := range []string{"npy", "bin", "b2nd"} {
					status, _, body = get(t, s, "/data?format="+format+"&"+at)
					require.Equal(t, want, status, "%s %s: %.100s", at, format, body)
				}
			}
		}
		_, _, body := get(t, s, "/data?format=csv&file=mask.b2z&path=/i8&selection=1:2")
		require.Equal(t, "\"\"\n", string(body))
		_, _, body = get(t, s, "/stats?file=mask.b2d&path=/i8")
		require.Contains(t, string(body), `"min":4611686018427387904,"max":4611686018427387904`)
		_, _, body = get(t, s, "/stats?file=sentinel.b2d&path=/own")
		require.Contains(t, string(body), `"min":3,"max":3`)
		_, _, body = get(t, s, "/data?file=sentinel.b2d&path=/i8&selection=1:")
		require.Equal(t, "[null,null]", string(body))
	}
}
