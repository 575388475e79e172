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

// fake answers like the tools do when all is well, and writes down what it was
// asked. answer may say something else; nil means all is well.
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
				{"path": "/axis", "kind": "array", "shape": [3], "dtype": "<f8"},
				{"path": "/group", "kind": "group", "shape": null, "dtype": null},
				{"path": "/names", "kind": "array", "shape": [3], "dtype": "|S4"},
				{"path": "/t", "kind": "array", "shape": [2, 3], "dtype": ">i2"}]}`
		case slices.Contains(args, "info"):
			o.stdout = `{"unsupported_attributes": [{"name": "DIMENSION_LIST", "type": "vlen", "reason": "holds references"}]}`
		case slices.Contains(args, "convert"):
			o.stdout = `{"bytes": 1200000, "stored_bytes": 300000, "seconds": 0.5}`
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

func TestAllTheSame(t *testing.T) {
	f := &fake{}
	out, err := f.run(t)
	require.NoError(t, err)
	require.Equal(t, `Attributes that cannot be carried over and are excluded by name:
     2 × DIMENSION_LIST (holds references)

     dataset  shape  dtype    bytes  stored  ratio  MB/s
  x.h5:/axis      3    <f8  1200000  300000  4.00x   2.4
     x.h5:/t    2x3    >i2  1200000  300000  4.00x   2.4
  2 datasets                2400000  600000  4.00x   2.4

8 comparisons by hyperslab diff and 4 by h5diff found no difference.
`, out)
}

func TestEveryRoundTripIsMadeAndCompared(t *testing.T) {
	f := &fake{}
	_, err := f.run(t)
	require.NoError(t, err)
	temporary := regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `/[^ ]*/([a-z]+\.)`)
	var calls []string
	for _, c := range f.calls {
		line := temporary.ReplaceAllString(strings.Join(c, " "), "$1")
		if strings.Contains(line, "info") || strings.Contains(line, "h5:/t") || strings.HasSuffix(line, " /t") {
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
		"h5diff --no-compact-subset --exclude-attribute /t/DIMENSION_LIST data/x.h5 one.h5 /t",
		"hyperslab convert --json --quiet data/x.h5:/t sparse.b2nd --sparse " + named,
		"hyperslab convert --json --quiet sparse.b2nd sparse.h5:/t",
		"hyperslab diff --quiet data/x.h5:/t sparse.b2nd " + named,
		"hyperslab diff --quiet data/x.h5:/t sparse.h5:/t " + named,
		"h5diff --no-compact-subset --exclude-attribute /t/DIMENSION_LIST data/x.h5 sparse.h5 /t",
	}, calls)
}

func TestAnythingWrongFails(t *testing.T) {
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
		{"reference cannot compare and exits 0", "h5diff", "/t", output{stdout: "Some objects are not comparable"}, "not comparable"},
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

func TestNoNumbersAtAllIsAnError(t *testing.T) {
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
