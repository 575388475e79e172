package crosscheck

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
)

// TestDifferences checks each row of docs/blosc2-differences.md, those of docs/hdf5-differences.md
// that begin with a vector, and that every other vector in it exists.
func TestDifferences(t *testing.T) {
	t.Parallel()
	_, m := Corpus(t)
	find := func(t *testing.T, id string) Case {
		i := slices.IndexFunc(m.Cases, func(c Case) bool { return c.ID == id })
		require.GreaterOrEqual(t, i, 0, "no vector %s", id)
		return m.Cases[i]
	}
	t.Run("blosc2", func(t *testing.T) {
		checked := 0
		for _, cells := range tableRows(t, "../docs/blosc2-differences.md", 4) {
			c, proof := find(t, cells[0]), cells[1]
			t.Run(c.ID+" "+proof, func(t *testing.T) { provesDifference(t, c, proof) })
			checked++
		}
		require.Greater(t, checked, 25)
	})
	t.Run("hdf5", func(t *testing.T) {
		named := 0
		for _, cells := range tableRows(t, "../docs/hdf5-differences.md", 3) {
			if strings.Contains(cells[0], "/") {
				c := find(t, cells[0])
				t.Run(c.ID, func(t *testing.T) { provesDifference(t, c, cells[1]) })
			}
			for _, id := range regexp.MustCompile("`(hdf5/[^`]+)`").FindAllStringSubmatch("`"+strings.Join(cells, "`|`")+"`", -1) {
				find(t, id[1])
				named++
			}
		}
		require.Greater(t, named, 25)
	})
}

// tableRows returns the rows of the tables of a document that have at least n cells, without heads.
// Quotes of code around a whole cell are removed.
func tableRows(t *testing.T, name string, n int) (rows [][]string) {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < n {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
			if strings.Count(cells[i], "`") == 2 {
				cells[i] = strings.Trim(cells[i], "`")
			}
		}
		rows = append(rows, cells)
	}
	return rows
}

// provesDifference checks the proof of one row.
func provesDifference(t *testing.T, c Case, proof string) {
	t.Helper()
	if proof == "refused" {
		require.Equal(t, Refuse, c.Must)
		return
	}
	require.Equal(t, Accept, c.Must)
	if proof == "accepted" {
		return
	}
	if name, is := strings.CutSuffix(proof, " ignored"); is {
		ignoresField(t, c, name)
		return
	}
	name, pattern, is := strings.Cut(proof, " = ")
	require.True(t, is, proof)
	form := regexp.MustCompile(pattern)
	var values []string
	for _, f := range described(t, c).Walk() {
		if ruleName(f) == name {
			values = append(values, strings.TrimRight(f.Value+" "+f.Meaning, " "))
		}
	}
	require.True(t, slices.ContainsFunc(values, form.MatchString), "%s: %s is %q", c.ID, name, values)
}

// ignoresField checks that the reference decodes the same from copies of a vector in which the last
// byte of a field, or of each filter of a pipeline, is one greater.
func ignoresField(t *testing.T, c Case, name string) {
	t.Helper()
	dir, _ := Corpus(t)
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.Path)))
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "copy"+filepath.Ext(c.Path))
	tried := 0
	change := func(f format.Field) {
		changed := bytes.Clone(b)
		changed[f.Offset+f.Length-1]++
		require.NoError(t, os.WriteFile(copied, changed, 0o644))
		w, err := readWritten(c.Area, copied, c.Object, c.Params["name"])
		require.NoError(t, err, "%s: %s at byte %d", c.ID, f.Name, f.Offset)
		require.Equal(t, c.Decoded.SHA256, hexSum(w.data), "%s: %s at byte %d", c.ID, f.Name, f.Offset)
		tried++
	}
	for _, f := range described(t, c).Walk() {
		switch {
		case ruleName(f) != name:
		case len(f.Fields) == 0:
			change(f)
		default:
			for _, p := range f.Fields {
				if ruleName(p) == "filter" {
					change(p)
				}
			}
		}
	}
	require.Positive(t, tried, "%s: no field %s", c.ID, name)
}
