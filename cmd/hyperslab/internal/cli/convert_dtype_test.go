// Tests of conversions to another element type. TestWays compares their values with NumPy.

package cli_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// roughly writes an array of float64 that is no array of uint8: one value is not an integer, one
// is negative and one is too large.
func roughly(t *testing.T, location string) {
	t.Helper()
	v := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9.5, -1, 300}
	fill := ndarray.Vector(7.0)
	create(t, location, ndarray.Spec{
		Shape: []int64{4, 3}, ChunkShape: []int64{2, 2}, Fill: fill.Data,
		Attrs: []ndarray.Attr{{Name: "_FillValue", Value: ndarray.Vector(7.0)}, {Name: "scale", Value: ndarray.Vector(0.5)}},
	}, v)
}

func TestConvert_dtype(t *testing.T) {
	t.Chdir(t.TempDir())
	roughly(t, "a.h5:/t")
	exact := []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 0, 255}
	t.Run("refused", func(t *testing.T) {
		for _, target := range []string{"x.b2nd", "x.npy", "x.h5:/t", "x.bcolz"} {
			_, stderr, code := run("convert", "a.h5:/t", target, "--dtype", "u1", "--exclude-unsupported")
			require.Equal(t, 2, code, target)
			require.Contains(t, stderr, "value does not fit: got 9.5, want a value of |u1, whose nearest value is 10")
			require.Contains(t, stderr, "element [3 0]")
			require.Contains(t, stderr, "--round")
			require.NoFileExists(t, "x.b2nd")
		}
		for _, flag := range []string{"--round", "--clip"} {
			_, stderr, code := run("convert", "a.h5:/t", "x.b2nd", "--dtype", "u1", flag)
			require.Equal(t, 2, code)
			require.Contains(t, stderr, map[string]string{"--round": "element [3 1]", "--clip": "element [3 0]"}[flag])
		}
		_, stderr, code := run("convert", "a.h5:/t", "x.b2nd", "--round")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "require --dtype")
	})
	t.Run("one array", func(t *testing.T) {
		stdout, stderr, code := run("convert", "a.h5:/t", "one.b2nd", "--dtype", "u1", "--round", "--clip", "--json")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "elements that --dtype changed: 1 rounded, 2 clipped")
		var doc struct {
			DType            string
			Rounded, Clipped int
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
		require.Equal(t, 1, doc.Rounded)
		require.Equal(t, 2, doc.Clipped)
		require.Equal(t, "|u1", doc.DType)
		got, a := readAll[uint8](t, "one.b2nd")
		require.Equal(t, exact, got)
		require.Equal(t, []byte{7}, a.Fill)
	})
	t.Run("tree", func(t *testing.T) {
		create(t, "a.h5:/g/n", ndarray.Spec{Shape: []int64{3}}, []int32{1, 2, 3})
		for _, target := range []string{"tree.b2z", "tree.h5", "tree"} {
			at := map[string]string{"tree.b2z": "tree.b2z:/", "tree.h5": "tree.h5:/", "tree": "tree/"}[target]
			end := map[bool]string{true: ".b2nd"}[target == "tree"]
			_, stderr, code := run("convert", "a.h5", target, "--dtype", "u1")
			require.Equal(t, 2, code)
			require.Contains(t, stderr, "/t: ")
			stdout, stderr, code := run("convert", "a.h5", target, "--dtype", "/t=u1", "--round", "--clip", "--json")
			require.Zero(t, code, stderr)
			require.Regexp(t, `"rounded": 1,\s+"clipped": 2`, stdout)
			got, _ := readAll[uint8](t, at+"t"+end)
			require.Equal(t, exact, got)
			n, _ := readAll[int32](t, at+"g/n"+end)
			require.Equal(t, []int32{1, 2, 3}, n)
			a, err := hyperslab.Open(t.Context(), at+"t"+end, nil)
			require.NoError(t, err)
			attrs, err := a.Attrs(t.Context())
			require.NoError(t, err)
			require.NoError(t, a.Close())
			fill, _ := attrs.Get("_FillValue")
			require.Equal(t, []byte{7}, fill.Data, "%s: %v", target, fill.DType)
			scale, _ := attrs.Get("scale")
			require.Len(t, scale.Data, 8)
		}
	})
	t.Run("many files", func(t *testing.T) {
		roughly(t, "b.h5:/t")
		stdout, stderr, code := run("convert", "--into", "out", "--format", "b2z", "--dtype", "/t=u1", "--round", "--clip", "--json=lines", "a.h5", "b.h5")
		require.Zero(t, code, stderr)
		require.Regexp(t, `"rounded":1,"clipped":2`, stdout)
		got, _ := readAll[uint8](t, "out/b.b2z:/t")
		require.Equal(t, exact, got)
		_, stderr, code = run("convert", "--into", "out", "--format", "b2z", "--dtype", "/t=i2", "--round", "a.h5", "b.h5")
		require.Equal(t, 4, code)
		require.Contains(t, stderr, "other options")
	})
	t.Run("plan", func(t *testing.T) {
		_, stderr, code := run("plan", "convert", "a.h5:/t", "p.b2nd", "--dtype", "u1", "--shard-bytes", "16", "-o", "plan.json")
		require.Zero(t, code, stderr)
		_, stderr, code = run("work", "plan.json", "--all", "-q")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "element [3 0]: value does not fit: got 9.5")
		must(t, "plan convert a.h5:/t q.b2nd --dtype u1 --round --clip --shard-bytes 4 -o plan2.json")
		must(t, "work plan2.json --all -q")
		require.Regexp(t, `"rounded": 1,\s+"clipped": 2`, must(t, "commit plan2.json -q --json"))
		got, _ := readAll[uint8](t, "q.b2nd")
		require.Equal(t, exact, got)
		require.Regexp(t, `"rounded": 1,\s+"clipped": 2`, must(t, "commit plan2.json -q --json"), "again")
	})
}
