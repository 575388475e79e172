package crosscheck

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
)

var updateRules = flag.Bool("update-rules", false, "write coverage.md")

// TestRules checks that the vectors exercise at least 95 % of the rules of each document, and each
// rule without a reason for its absence. It compares coverage.md with the result.
func TestRules(t *testing.T) {
	t.Parallel()
	_, m := Corpus(t)
	x, err := newRuleIndex(rulesText)
	require.NoError(t, err)
	vectors := exercisedBy(t, x, m)
	text, documents := coverageTable(x.rules, vectors)
	for _, d := range documents {
		require.GreaterOrEqual(t, 100*d.exercised, 95*(d.rules-d.impossible), "%s: %d of %d rules", d.name, d.exercised, d.rules-d.impossible)
	}
	for i, r := range x.rules {
		if r.excluded == "" {
			require.NotEmpty(t, vectors[i], "%s, %s: no vector exercises %q", r.document, r.section, r.text)
		}
	}
	name := "coverage.md"
	if *updateRules {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "run go test ./crosscheck -run 'TestRules$' -update-rules")
}

// exercisedBy returns for each rule the vectors that exercise it, one per file.
func exercisedBy(t *testing.T, x *ruleIndex, m *Manifest) [][]Case {
	vectors := make([][]Case, len(x.rules))
	seen := make(map[string]bool)
	for _, c := range m.Cases {
		if seen[c.Path] {
			continue
		}
		seen[c.Path] = true
		for _, i := range x.exercised(c, described(t, c)) {
			vectors[i] = append(vectors[i], c)
		}
	}
	return vectors
}

// documentCoverage counts the rules of one document.
type documentCoverage struct {
	name                         string
	rules, exercised, impossible int
}

// coverageTable returns coverage.md.
func coverageTable(rules []formatRule, vectors [][]Case) (string, []documentCoverage) {
	var documents []documentCoverage
	var b, missing strings.Builder
	document, section := "", ""
	for i, r := range rules {
		if r.document != document {
			document, section = r.document, ""
			documents = append(documents, documentCoverage{name: document})
			fmt.Fprintf(&b, "\n## %s\n", document)
		}
		if r.section != section || strings.HasSuffix(b.String(), "## "+document+"\n") {
			section = r.section
			if section != "" {
				fmt.Fprintf(&b, "\n### %s\n", section)
			}
			b.WriteString("\n| rule | vectors | smallest |\n|---|---|---|\n")
		}
		d := &documents[len(documents)-1]
		d.rules++
		text := strings.ReplaceAll(r.text, "|", "\\|")
		switch {
		case r.impossible:
			d.impossible++
			fmt.Fprintf(&b, "| %s | – | impossible: %s |\n", text, r.excluded)
			fmt.Fprintf(&missing, "| %s | %s | impossible: %s |\n", document, text, r.excluded)
		case r.excluded != "":
			fmt.Fprintf(&b, "| %s | 0 | missing: %s |\n", text, r.excluded)
			fmt.Fprintf(&missing, "| %s | %s | missing: %s |\n", document, text, r.excluded)
		default:
			smallest := ""
			for k, c := range vectors[i] {
				if k == 0 || c.Bytes < bytesOf(vectors[i], smallest) {
					smallest = c.ID
				}
			}
			if len(vectors[i]) > 0 {
				d.exercised++
			}
			fmt.Fprintf(&b, "| %s | %d | `%s` |\n", text, len(vectors[i]), smallest)
		}
	}
	var head strings.Builder
	head.WriteString("# Rules of the formats that the vectors of crosscheck exercise\n\n" +
		"This page is for people who want to know which rules of a format the vectors test. `go test ./crosscheck -run 'TestRules$' -update-rules` writes it from crosscheck/rules.txt, and the same test compares it.\n\n" +
		"The five documents from which the project was created have one table each. Three more tables list later forms of the formats, and containers. " +
		"A rule is a field, a version of a message, a value of a flag, or a limit. The annotated readers of internal/format decide whether a vector exercises a rule: " +
		"in a valid vector they find the field with the value of the rule, or in an invalid vector they report a violation in that field. " +
		"The column \"vectors\" contains the number of files, and \"smallest\" the smallest one. " +
		"A rule is impossible if the reference libraries cannot express it. A rule is missing if they can and no vector does.\n\n" +
		"| document | rules | impossible | exercised | percent of the possible |\n|---|---|---|---|---|\n")
	all := documentCoverage{name: "all"}
	for _, d := range documents {
		all.rules, all.impossible, all.exercised = all.rules+d.rules, all.impossible+d.impossible, all.exercised+d.exercised
	}
	for _, d := range append(documents, all) {
		fmt.Fprintf(&head, "| %s | %d | %d | %d | %.1f |\n", d.name, d.rules, d.impossible, d.exercised, 100*float64(d.exercised)/float64(d.rules-d.impossible))
	}
	fmt.Fprintf(&head, "\n## Rules without a vector\n\n| document | rule | reason |\n|---|---|---|\n%s", missing.String())
	return head.String() + b.String(), documents
}

func bytesOf(cases []Case, id string) int64 {
	for _, c := range cases {
		if c.ID == id {
			return c.Bytes
		}
	}
	return 0
}

// TestParseRules_invalid checks the errors of the rules file.
func TestParseRules_invalid(t *testing.T) {
	for text, problem := range map[string]string{
		"no test":                            "line 1",
		"= D\n: hdf5\n@ a\nrule | field ~ (": "line 4",
		"= D\n: hdf5\n@ a; b > x":            "line 3",
	} {
		_, err := parseRules(text)
		require.ErrorContains(t, err, problem, text)
	}
}

// TestEmit_small checks that the small set has at most 5 MB, exercises the same rules as the
// default set, and is the same twice.
func TestEmit_small(t *testing.T) {
	t.Parallel()
	t.Run("selection", func(t *testing.T) {
		t.Parallel()
		full, m := Corpus(t)
		dir := filepath.Join(t.TempDir(), "small")
		require.NoError(t, fs.WalkDir(os.DirFS(full), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return errors.Join(err, os.MkdirAll(filepath.Join(dir, path), 0o755))
			}
			if path == ManifestName {
				return nil // the small set gets its own
			}
			return os.Link(filepath.Join(full, path), filepath.Join(dir, path))
		}))
		e := &emitter{dir: dir, m: &Manifest{Schema: m.Schema, Versions: m.Versions, Small: true, Cases: slices.Clone(m.Cases)}}
		require.NoError(t, e.reduce(func(c Case) (format.Field, error) { return described(t, c), nil }))
		require.NoError(t, e.m.save(dir))
		size, _, err := digest(dir)
		require.NoError(t, err)
		require.LessOrEqual(t, size, int64(5_000_000))
		t.Logf("%d of %d cases, %d bytes", len(e.m.Cases), len(m.Cases), size)
		small, err := Load(dir)
		require.NoError(t, err)
		require.ElementsMatch(t, Areas(), small.Areas())
		cases := make(map[string]bool)
		for _, c := range small.Cases {
			cases[c.ID] = true
			require.NoError(t, unchanged(dir, c))
			for _, name := range c.Beside {
				require.FileExists(t, filepath.Join(dir, filepath.Dir(c.Path), name))
			}
		}
		for _, c := range small.Cases {
			if base := c.Params["base"]; base != "" {
				require.True(t, cases[base], "%s has no valid vector", c.ID)
			}
		}
		x, err := newRuleIndex(rulesText)
		require.NoError(t, err)
		some := exercisedBy(t, x, small)
		for i, r := range x.rules { // TestRules requires the same of the default set
			require.Equal(t, r.excluded == "", len(some[i]) > 0, "%s: %s", r.section, r.text)
		}
	})
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		var o Options
		o.Small = true
		if os.Getenv("HYPERSLAB_ALL") == "" {
			o.Areas = []string{"metalayer", "bcolz"}
		}
		var sums []string
		for range 2 {
			dir := filepath.Join(t.TempDir(), "small")
			m, err := Emit(t.Context(), dir, &o)
			require.NoError(t, err)
			require.True(t, m.Small)
			_, sum, err := digest(dir)
			require.NoError(t, err)
			sums = append(sums, sum)
		}
		require.Equal(t, sums[0], sums[1])
	})
	t.Run("small and full", func(t *testing.T) {
		_, err := Emit(t.Context(), filepath.Join(t.TempDir(), "x"), &Options{Small: true, Full: true})
		require.ErrorContains(t, err, "exclude each other")
	})
}
