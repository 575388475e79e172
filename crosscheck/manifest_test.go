package crosscheck_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/crosscheck"
)

// TestManifest_documented checks that docs/crosscheck-manifest.md has a table for each type, with
// the JSON keys in the order of the fields.
func TestManifest_documented(t *testing.T) {
	text, err := os.ReadFile("../docs/crosscheck-manifest.md")
	require.NoError(t, err)
	documented := make(map[string][]string)
	section := ""
	key := regexp.MustCompile("`([a-z0-9_]+)`")
	for _, line := range strings.Split(string(text), "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range key.FindAllStringSubmatch(cells[1], -1) {
			documented[section] = append(documented[section], m[1])
		}
	}
	inCode := make(map[string][]string)
	for name, v := range map[string]any{
		"manifest": crosscheck.Manifest{}, "case": crosscheck.Case{}, "decoded": crosscheck.Decoded{}, "coverage": crosscheck.Coverage{},
		"report": crosscheck.Report{}, "spec": crosscheck.Spec{}, "result": crosscheck.Result{}, "explanation": crosscheck.Explanation{}, "advice": crosscheck.Advice{}, "advised": crosscheck.Advised{},
	} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			tag, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			require.NotEmpty(t, tag, "%s.%s", name, typ.Field(i).Name)
			inCode[name] = append(inCode[name], tag)
		}
	}
	require.Equal(t, inCode, documented)
	for _, word := range []string{crosscheck.Schema, crosscheck.ReportSchema, crosscheck.SpecSchema, crosscheck.ManifestName} {
		require.Contains(t, string(text), word)
	}
	for _, v := range crosscheck.Verdicts {
		require.Contains(t, string(text), "`"+string(v)+"`")
	}
}
