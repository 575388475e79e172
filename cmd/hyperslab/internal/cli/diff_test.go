package cli_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestDiffTolerances checks the tolerance flags of diff against the definitions of the help text,
// for two arrays in different formats. The first difference must be reported with its index and all
// digits of both values.
func TestDiffTolerances(t *testing.T) {
	t.Chdir(t.TempDir())
	otherNaN := math.Float64frombits(math.Float64bits(math.NaN()) ^ 5)
	next := math.Nextafter(1, 2)
	a := []float64{1, 1, 100, 0, math.NaN(), math.NaN(), math.Inf(1), 5}
	b := []float64{1, next, 101, 1e-9, math.NaN(), otherNaN, math.Inf(1), 5}
	create(t, "a.b2nd", ndarray.Spec{Shape: []int64{2, 4}, ChunkShape: []int64{1, 3}}, a)
	create(t, "b.h5:/b", ndarray.Spec{Shape: []int64{2, 4}}, b)
	for flags, different := range map[string][]int{
		"":                                 {1, 2, 3, 5}, // without a tolerance bits are compared: NaN equals NaN with the same bits
		"--atol 1e-9":                      {2, 4, 5},    // with a tolerance values are compared: NaN equals nothing
		"--atol 1":                         {4, 5},
		"--atol 1 --equal-nan":             {},
		"--rtol 1e-9 --equal-nan":          {2, 3},
		"--rtol 0.0099009901 --equal-nan":  {3},
		"--rtol 0.00990099 --equal-nan":    {2, 3},
		"--ulp 1 --equal-nan":              {2, 3},
		"--ulp 1 --atol 1e-9 --equal-nan":  {2},
		"--equal-nan":                      {1, 2, 3},
		"--ulp 1":                          {2, 3, 4, 5},
		"--rtol 0.01 --atol 0 --equal-nan": {3},
	} {
		args := append(strings.Fields(flags), "a.b2nd", "b.h5:/b", "-n", "10", "--json")
		stdout, stderr, code := run(append([]string{"diff"}, args...)...)
		require.Equal(t, min(len(different), 1), code, "%s: %s", flags, stderr)
		var doc struct {
			Same      bool
			Different int
			First     []struct {
				Index []int
				A, B  string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
		var got []int
		for _, f := range doc.First {
			at := f.Index[0]*4 + f.Index[1]
			got = append(got, at)
			for text, want := range map[string]float64{f.A: a[at], f.B: b[at]} {
				if !math.IsNaN(want) {
					x, err := strconv.ParseFloat(text, 64)
					require.NoError(t, err)
					require.Equal(t, want, x, "the digits give back the value")
				}
			}
		}
		require.ElementsMatch(t, different, got, "%q", flags)
		require.Equal(t, len(different), doc.Different, flags)
		require.Equal(t, len(different) == 0, doc.Same, flags)
	}
	stdout, _, code := run("diff", "a.b2nd", "b.h5:/b")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "[0, 1]")
	require.Contains(t, stdout, "1.0000000000000002")
}

// TestDiff_Parts checks that diff compares selections of two formats as arrays of their own, for
// each kind of selection. The reported index must be an index into the selection.
func TestDiff_Parts(t *testing.T) {
	t.Chdir(t.TempDir())
	a, b := make([]int32, 8*9), make([]int32, 9*8)
	for i := range 8 {
		for j := range 9 {
			a[i*9+j] = int32(10*i + j)
			b[(8-j)*8+i] = int32(10*i + j) // rotated by 90 degrees
		}
	}
	create(t, "a.b2nd", ndarray.Spec{Shape: []int64{8, 9}, ChunkShape: []int64{3, 4}}, a)
	create(t, "b.h5:/b[1]", ndarray.Spec{Shape: []int64{9, 8}, ChunkShape: []int64{2, 5}}, b)
	for _, tt := range []struct {
		a, b string
		code int
		at   []int // index of the first difference in the selections
	}{
		{"[3]", "[::-1, 3]", 0, nil},
		{"[2:7, 4]", "[4, 2:7]", 0, nil},
		{"[2:7:2, 4]", "[4, [2, 4, 6]]", 0, nil},
		{"[7, 8]", "[0, 7]", 0, nil},
		{"[:0]", "[..., :0].T", 2, nil},
		{"[3]", "[:, 3]", 1, []int{0}},
		{"[5, 3:6]", "[[5, 4, 0], 5]", 1, []int{2}},
		{"[0:2, 8, None]", "[0, 0:2, None]", 0, nil},
		{"[4:, 0:1]", "[8:, 4:]", 1, nil},
		{"", "[...]", 1, nil},
		{"[8]", "[0]", 2, nil},
	} {
		for _, flags := range [][]string{nil, {"--untrusted"}, {"-j", "1"}} {
			stdout, stderr, code := run(append([]string{"diff", "a.b2nd" + tt.a, "b.h5:/b[1]" + tt.b, "--json"}, flags...)...)
			require.Equal(t, tt.code, code, "%v: %s", tt, stderr)
			if code == 2 {
				require.Empty(t, stdout)
				continue
			}
			var doc struct {
				Same      bool
				SameShape bool `json:"same_shape"`
				First     []struct{ Index []int }
			}
			require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
			require.Equal(t, code == 0, doc.Same, tt)
			require.Equal(t, code == 0 || tt.at != nil, doc.SameShape, tt)
			if tt.at != nil {
				require.Equal(t, tt.at, doc.First[0].Index, tt)
			}
		}
	}
}

// TestDiff_escapedGroups checks that diff accepts a group whose name ends like a selection.
func TestDiff_escapedGroups(t *testing.T) {
	t.Chdir(t.TempDir())
	create(t, "a.h5:/g[0]/x", ndarray.Spec{Shape: []int64{2}}, []int32{1, 2})
	create(t, "b.h5:/g[0]/x", ndarray.Spec{Shape: []int64{2}}, []int32{1, 3})
	stdout, stderr, code := run("diff", "a.h5:/g[0]", "b.h5:/g[0]")
	require.Equal(t, 1, code, stderr)
	require.Contains(t, stdout, "1 of 2")
	_, stderr, code = run("diff", "a.h5:/g[0]", "a.h5:/g[0]")
	require.Zero(t, code, stderr)
}

// TestDiff_References checks attributes with object references. They are equal if the objects have
// the same paths, even if their addresses in the two files differ.
func TestDiff_References(t *testing.T) {
	etopo, err := filepath.Abs("../../../../testdata/etopo120.h5")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	_, stderr, code := run("repack", etopo, "a.h5", "--codec", "zstd", "-q")
	require.Equal(t, 0, code, stderr)
	_, stderr, code = run("diff", etopo, etopo)
	require.Equal(t, 0, code, stderr)
	stdout, stderr, code := run("diff", etopo+":/ROSE", "a.h5:/ROSE") // compares the attribute DIMENSION_LIST
	require.Equal(t, 0, code, stdout+stderr)

	for _, object := range []string{"", ":/ETOPO120X"} { // compares the attribute REFERENCE_LIST
		stdout, stderr, code := run("diff", etopo+object, "a.h5"+object)
		require.Equal(t, 0, code, stdout+stderr)
	}
}

// TestDiff_numericTypes checks that diff compares numbers of different types by value, and reports
// the difference of types separately.
func TestDiff_numericTypes(t *testing.T) {
	t.Chdir(t.TempDir())
	create(t, "a.b2nd", ndarray.Spec{Shape: []int64{3}, ChunkShape: []int64{2}}, []int32{1, 2, 3})
	create(t, "b.h5:/b", ndarray.Spec{Shape: []int64{3}}, []float64{1, 2, 3})
	create(t, "c.h5:/c", ndarray.Spec{Shape: []int64{3}}, []float64{1, 2.5, 3})
	for _, c := range []struct {
		args string
		code int
		want []string
	}{
		{"a.b2nd b.h5:/b", 1, []string{"dtype"}},
		{"a.b2nd b.h5:/b --values-only", 0, nil},
		{"a.b2nd c.h5:/c", 1, []string{"dtype", `value +\[1\] +2 +2\.5`, "1 of 3 values differ"}},
		{"a.b2nd c.h5:/c --values-only", 1, []string{`value +\[1\] +2 +2\.5`, "1 of 3 values differ"}},
		{"a.b2nd c.h5:/c --values-only --atol 0.5", 0, nil},
	} {
		t.Run(c.args, func(t *testing.T) {
			stdout, stderr, code := run(append([]string{"diff"}, strings.Fields(c.args)...)...)
			require.Equal(t, c.code, code, stderr)
			require.NotContains(t, stdout, "not compared")
			for _, want := range c.want {
				require.Regexp(t, want, stdout)
			}
		})
	}
}
