package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goodReport is the output of h5diff 1.14.5 for two equal datasets of which the second lacks an
// attribute.
const goodReport = `
dataset: </t> and </t>
0 differences found
   obj1   obj2
 --------------------------------------
    x           DIMENSION_LIST 
    x      x    long name      
    x      x    units          
Attributes status:  2 common, 1 only in obj1, 0 only in obj2
attribute: <long name of </t>> and <long name of </t>>
0 differences found
attribute: <units of </t>> and <units of </t>>
0 differences found
`

// fake replaces the tools. It returns the output of a successful run and records the arguments. If
// answer is set and does not return nil, fake returns that output instead.
type fake struct {
	calls  [][]string
	answer func(args []string) *output
}

func (f *fake) tool(name string) tool {
	return func(args ...string) (output, error) {
		args = append([]string{name}, args...)
		f.calls = append(f.calls, args)
		if f.answer != nil {
			if o := f.answer(args); o != nil {
				o.args = args
				return *o, nil
			}
		}
		o := output{args: args}
		switch {
		case slices.Contains(args, "ls"):
			o.stdout = `{"entries": [
				{"path": "/axis", "kind": "array", "shape": [3], "dtype": "<f8", "stored_bytes": 24},
				{"path": "/group", "kind": "group", "shape": null, "dtype": null},
				{"path": "/names", "kind": "array", "shape": [3], "dtype": "|S4"},
				{"path": "/t", "kind": "array", "shape": [2, 3], "dtype": ">i2", "stored_bytes": 12}]}`
		case slices.Contains(args, "info"):
			o.stdout = `{"dimension_names": ["y", "x"], "unsupported_attributes": [{"name": "DIMENSION_LIST", "type": "H5T_VLEN { H5T_REFERENCE { H5T_STD_REF_OBJECT } }", "reason": "holds references"}]}`
		case slices.Contains(args, "convert"):
			o.stdout = `{"bytes": 1200000, "stored_bytes": 300000, "copy_seconds": 0.5}`
		case name == "h5diff":
			o.stdout, o.code = goodReport, 1
		}
		return o, nil
	}
}

func (f *fake) run(t *testing.T) (string, error) {
	t.Helper()
	var stdout, stderr strings.Builder
	err := run(f.tool("hyperslab"), f.tool("h5diff"), []string{"data/x.h5"}, &stdout, &stderr)
	require.Empty(t, stderr.String(), "progress is for terminals only")
	return stdout.String(), err
}

func TestDemo_EqualFiles(t *testing.T) {
	f := &fake{}
	out, err := f.run(t)
	require.NoError(t, err)
	require.Equal(t, `Attributes that cannot be carried over and are excluded by name:
     2 × DIMENSION_LIST (holds references)

  dataset     shape  dtype    bytes  stored  ratio  MB/s
  x.h5:/axis      3    <f8  1200000  300000  4.00x   2.4
  x.h5:/t       2x3    >i2  1200000  300000  4.00x   2.4
  2 datasets                2400000  600000  4.00x   2.4

8 comparisons by hyperslab diff and 4 by h5diff found no difference.
`, out)
}

func TestDemo_roundTrips(t *testing.T) {
	f := &fake{}
	_, err := f.run(t)
	require.NoError(t, err)
	temporary := regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `/[^ ]*/([a-z]+\.)`)
	var calls []string
	for _, c := range f.calls {
		line := temporary.ReplaceAllString(strings.Join(c, " "), "$1")
		if strings.Contains(line, "info --json data/") || strings.Contains(line, "h5:/t") || strings.HasSuffix(line, " /t") {
			calls = append(calls, line)
		}
	}
	const named = "--exclude-attr DIMENSION_LIST"
	require.Equal(t, []string{
		"hyperslab info --json data/x.h5:/axis",
		"hyperslab info --json data/x.h5:/t",
		"hyperslab convert --json --quiet data/x.h5:/t one.b2nd " + named,
		"hyperslab convert --json --quiet one.b2nd one.h5:/t",
		"hyperslab diff --quiet data/x.h5:/t one.b2nd " + named,
		"hyperslab diff --quiet data/x.h5:/t one.h5:/t " + named,
		"hyperslab info --json one.h5:/t",
		"h5diff -v2 --no-compact-subset data/x.h5 one.h5 /t",
		"hyperslab convert --json --quiet data/x.h5:/t sparse.b2nd --sparse " + named,
		"hyperslab convert --json --quiet sparse.b2nd sparse.h5:/t",
		"hyperslab diff --quiet data/x.h5:/t sparse.b2nd " + named,
		"hyperslab diff --quiet data/x.h5:/t sparse.h5:/t " + named,
		"hyperslab info --json sparse.h5:/t",
		"h5diff -v2 --no-compact-subset data/x.h5 sparse.h5 /t",
	}, calls)
}

func TestDemo_Differences(t *testing.T) {
	for _, tt := range []struct {
		name, tool, word string
		answer           output
		want             string
	}{
		{"conversion refused", "hyperslab", "convert", output{code: 2, stderr: "cannot"}, "exit 2: cannot"},
		{"values differ", "hyperslab", "diff", output{code: 1, stdout: "values differ"}, "exit 1: values differ"},
		{"diff cannot", "hyperslab", "diff", output{code: 2, stderr: "no such file"}, "exit 2: no such file"},
		{"reference differs", "h5diff", "/t", output{code: 1, stdout: "3 differences found"}, "3 differences found"},
		{"reference fails", "h5diff", "/t", output{code: 2, stderr: "unable to open"}, "unable to open"},
		{"reference warns", "h5diff", "/t", output{code: 1, stdout: goodReport, stderr: "warning"}, "warning"},
		{"reference finds nothing missing", "h5diff", "/t", output{stdout: goodReport}, "exit 0"},
		{"reference cannot compare", "h5diff", "/t", output{code: 1, stdout: goodReport + "Some objects are not comparable"}, "not comparable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{answer: func(args []string) *output {
				if args[0] == tt.tool && slices.Contains(args, tt.word) && strings.HasSuffix(fmt.Sprint(args), "/t]") ||
					args[0] == tt.tool && slices.Contains(args, tt.word) && slices.Contains(args, "data/x.h5:/t") {
					return &tt.answer
				}
				return nil
			}}
			out, err := f.run(t)
			require.ErrorContains(t, err, "1 of 2 datasets failed")
			require.ErrorContains(t, err, "x.h5:/t: ")
			require.ErrorContains(t, err, tt.want)
			require.Contains(t, out, "x.h5:/axis", "the other dataset is still shown")
		})
	}
}

func TestDemo_lostDimensionName(t *testing.T) {
	f := &fake{answer: func(args []string) *output {
		if slices.Contains(args, "info") && strings.HasSuffix(args[len(args)-1], "one.h5:/t") {
			return &output{stdout: `{"dimension_names": ["y", ""]}`}
		}
		return nil
	}}
	_, err := f.run(t)
	require.ErrorContains(t, err, `one.h5:/t are named ["y" ""], want ["y" "x"]`)
}

func TestDemo_noNumbers(t *testing.T) {
	f := &fake{answer: func(args []string) *output {
		if slices.Contains(args, "ls") {
			return &output{stdout: `{"entries": []}`}
		}
		return nil
	}}
	_, err := f.run(t)
	require.ErrorContains(t, err, "no dataset of numbers in data/x.h5")
}

func TestExecTool(t *testing.T) {
	o, err := execTool("sh")("-c", "echo out; echo err >&2; exit 3")
	require.NoError(t, err)
	require.Equal(t, output{args: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}, stdout: "out\n", stderr: "err\n", code: 3}, o)
	require.EqualError(t, o.failure(), "sh -c echo out; echo err >&2; exit 3: exit 3: out\nerr")

	_, err = execTool("./no-such-program")()
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestReadReport(t *testing.T) {
	d := dataset{path: "/t", leftOut: []unsupported{{Name: "DIMENSION_LIST"}}}
	require.NoError(t, readReport(goodReport, d))
	for _, tt := range []struct{ name, old, new, want string }{
		{"data differs", "0 differences found\n   obj1", "position\n3 differences found\n   obj1", `h5diff says "position"`},
		{"attribute differs", "units of </t>>\n0 diff", "units of </t>>\n1 diff", `h5diff says "1 differences found"`},
		{"attribute not compared", "attribute: <units of </t>> and <units of </t>>\n0 differences found\n", "", "compared 1 of 2 attributes"},
		{"data not compared", "dataset: </t> and </t>\n0 differences found\n", "", "compared 1 of 2 attributes"},
		{"attribute too many", "    x      x    units", "           x    units", "the original has not: units"},
		{"labels of no axes", "    x      x    units", "           x    DIMENSION_LABELS", "the original has not: DIMENSION_LABELS"},
		{"attribute lost", "    x      x    units", "    x           units", `misses the attributes ["DIMENSION_LIST" "units"]`},
		{"attribute not lost", "    x           DIM", "    x      x    DIM", "misses the attributes []"},
		{"counts", "2 common, 1", "2 common, 2", "compared 2 of 2"},
		{"nothing stored, unexpectedly", "0 differences", "Not comparable: </t> or </t> is an empty dataset\n0 differences", "is an empty dataset"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report := strings.Replace(goodReport, tt.old, tt.new, 1)
			require.NotEqual(t, goodReport, report)
			require.ErrorContains(t, readReport(report, d), tt.want)
		})
	}

	labels := strings.Replace(strings.Replace(goodReport, "    x      x    long", "           x    DIMENSION_LABELS\n    x      x    long", 1), "0 only in obj2", "1 only in obj2", 1)
	require.ErrorContains(t, readReport(labels, d), "the original has not: DIMENSION_LABELS")
	named := d
	named.axes = []string{"x"}
	require.NoError(t, readReport(labels, named), "the names of the axes take the place of the scales")

	empty := strings.Replace(goodReport, "0 diff", "Not comparable: </t> or </t> is an empty dataset\n0 diff", 1) +
		"-----\nSome objects are not comparable\n-----\nUse -c for a list of objects without details of differences.\n"
	d.unstored = true
	require.NoError(t, readReport(empty, d))
}

// TestDemo_references checks that only attributes with references are excluded. For any other
// unsupported attribute, convert must return an error and the demo must fail.
func TestDemo_references(t *testing.T) {
	f := &fake{}
	f.answer = func(args []string) *output {
		if slices.Contains(args, "info") {
			return &output{stdout: `{"unsupported_attributes": [{"name": "pair", "type": "H5T_ARRAY { [2] H5T_STD_I32LE }", "reason": "no such type"}]}`}
		}
		return nil
	}
	_, err := f.run(t)
	require.Error(t, err, "h5diff's report speaks of an attribute that should be there")
	for _, args := range f.calls {
		require.NotContains(t, args, "--exclude-attr")
	}
}
