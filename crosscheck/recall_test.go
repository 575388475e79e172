package crosscheck

import (
	_ "embed"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed recall.txt
var recallText string

// TestRecall checks that recall.txt has at least 40 reports of defects, and that a mutated reader
// with each defect, where one expresses it, does not pass the vector.
func TestRecall(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	x, err := newRuleIndex(rulesText)
	require.NoError(t, err)
	scratch := t.TempDir()
	besides(t, dir, scratch, m.Cases)
	project, number := regexp.MustCompile(`^[\w.-]+/[\w.-]+$`), regexp.MustCompile(`^[0-9]+$`)
	reports := make(map[string]bool)
	proofs := make(map[string]int)
	for _, line := range strings.Split(strings.TrimSpace(recallText), "\n") {
		if strings.HasPrefix(line, "# ") {
			continue
		}
		f := strings.Split(line, " | ")
		require.Len(t, f, 5, line)
		require.Regexp(t, project, f[0])
		require.Regexp(t, number, f[1])
		require.False(t, reports[f[0]+f[1]+f[2]], "twice: %s", line)
		reports[f[0]+f[1]+f[2]] = true
		i := slices.IndexFunc(m.Cases, func(c Case) bool { return c.ID == f[3] })
		require.GreaterOrEqual(t, i, 0, "no vector %s", f[3])
		kind, what, _ := strings.Cut(f[4], " ")
		proofs[kind]++
		t.Run(f[0]+"#"+f[1], func(t *testing.T) { provesDefect(t, scratch, x, m.Cases[i], kind, what) })
	}
	require.GreaterOrEqual(t, len(reports), 40)
	require.GreaterOrEqual(t, len(reports)-proofs["reason"], 30, "%v", proofs)
}

// provesDefect checks the proof of one report.
func provesDefect(t *testing.T, scratch string, x *ruleIndex, c Case, kind, what string) {
	t.Helper()
	require.Equal(t, kind == "accepts", c.Must == Refuse, c.ID)
	switch kind {
	case "accepts":
	case "reason":
		require.NotEmpty(t, what)
	case "misread":
		misreadsStep(t, c, what)
	case "refuses":
		require.True(t, slices.ContainsFunc(x.exercised(c, described(t, c)), func(i int) bool { return x.rules[i].text == what }), "%s does not exercise %q", c.ID, what)
	case "rule":
		i := strings.LastIndex(what, ": ")
		require.Positive(t, i, what)
		misreadsRule(t, scratch, x, c, what[:i], what[i+2:])
	default:
		t.Fatalf("unknown proof %q", kind)
	}
}

// misreadsStep checks that a reader that misreads a step between the fields does not read the
// elements of a vector, or computes another checksum.
func misreadsStep(t *testing.T, c Case, name string) {
	t.Helper()
	dir, _ := Corpus(t)
	s, err := loadStored(filepath.Join(dir, filepath.FromSlash(c.Path)), c.Object)
	require.NoError(t, err)
	require.NotNil(t, s)
	if i := slices.IndexFunc(hdf5Rules, func(r rule[hdf5Misread]) bool { return r.name == name }); i >= 0 {
		got, err := s.read(hdf5Rules[i].m)
		require.True(t, err != nil || hexSum(got) != c.Decoded.SHA256, "a reader with %q passes", name)
		return
	}
	i := slices.IndexFunc(fletcherRules, func(r rule[fletcherForm]) bool { return r.name == name })
	require.GreaterOrEqual(t, i, 0, "unknown step %q", name)
	require.True(t, slices.ContainsFunc(s.chunks, func(k hdf5Chunk) bool {
		n := len(k.data) - 4
		return fletcher32(k.data[:n], fletcherRules[i].m) != binary.LittleEndian.Uint32(k.data[n:])
	}), "a reader with %q accepts the checksum", name)
}

// misreadsRule checks that a reader with a misreading of the fields of a rule reads something else
// from a vector. It is the reference with a copy of the file that has the misread values.
func misreadsRule(t *testing.T, scratch string, x *ruleIndex, c Case, text, name string) {
	t.Helper()
	dir, _ := Corpus(t)
	path := filepath.Join(dir, filepath.FromSlash(c.Path))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	found := false
	for i := range x.rules {
		r := &x.rules[i]
		if r.text != text || r.refused || r.excluded != "" {
			continue
		}
		for _, m := range misreadingsOf(i, r, nil) {
			if m.name != name {
				continue
			}
			changed := m.mutate(b, described(t, c), r, c.Area)
			if changed == nil {
				continue
			}
			found = true
			copied := filepath.Join(scratch, "recall"+filepath.Ext(c.Path))
			require.NoError(t, os.WriteFile(copied, changed, 0o644))
			line := strings.Join([]string{copied, c.Area, c.Object, c.Params["name"]}, "\t")
			want := digestOf(path, c.Area, c.Object, c.Params["name"])
			require.NotEqual(t, "error", want)
			require.NotEqual(t, want, readMutated(t, scratch, []string{line})[0], "a reader with %q passes", name)
		}
	}
	require.True(t, found, "%s: no misreading %q of %q", c.ID, name, text)
}
