package cli_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Each tolerance of diff lets pass what the help text says and nothing more, between two
// formats, and the first element that differs is told with its index and all digits of both.
func TestDiffTolerances(t *testing.T) {
	t.Chdir(t.TempDir())
	otherNaN := math.Float64frombits(math.Float64bits(math.NaN()) ^ 5)
	next := math.Nextafter(1, 2)
	a := []float64{1, 1, 100, 0, math.NaN(), math.NaN(), math.Inf(1), 5}
	b := []float64{1, next, 101, 1e-9, math.NaN(), otherNaN, math.Inf(1), 5}
	create(t, "a.b2nd", ndarray.Spec{Shape: []int64{2, 4}, ChunkShape: []int64{1, 3}}, a)
	create(t, "b.h5:/b", ndarray.Spec{Shape: []int64{2, 4}}, b)
	for flags, different := range map[string][]int{
		"":                                 {1, 2, 3, 5}, // bit for bit: NaN is the same as the same NaN
		"--atol 1e-9":                      {2, 4, 5},    // with a tolerance by value: NaN is no value
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
