// Shared corpus of the tests. It is emitted once, and tests must not change it.

package crosscheck

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

var corpus struct {
	once sync.Once
	dir  string // parent directory of the directory with the vectors
	m    *Manifest
	err  error
}

// Corpus returns the directory of all vectors and their manifest.
func Corpus(t testing.TB) (string, *Manifest) {
	t.Helper()
	corpus.once.Do(func() {
		if corpus.dir, corpus.err = os.MkdirTemp("", "crosscheck-corpus-"); corpus.err == nil {
			corpus.m, corpus.err = Emit(context.Background(), filepath.Join(corpus.dir, "v"), nil)
		}
	})
	require.NoError(t, corpus.err)
	return filepath.Join(corpus.dir, "v"), corpus.m
}

// annotations contains the annotated fields of the vectors in Corpus by path.
var annotations sync.Map

// described returns the annotated fields of a vector in Corpus.
func described(t *testing.T, c Case) format.Field {
	t.Helper()
	if f, is := annotations.Load(c.Path); is {
		return f.(format.Field)
	}
	dir, _ := Corpus(t)
	f, err := annotate(filepath.Join(dir, filepath.FromSlash(c.Path)), c)
	require.NoError(t, err, c.ID)
	annotations.Store(c.Path, f)
	return f
}

// RemoveCorpus deletes the corpus. TestMain calls it after all tests.
func RemoveCorpus() error { return os.RemoveAll(corpus.dir) }

// sampling reports whether tests run a sample of the vectors.
func sampling() bool { return raceBuild || !testenv.All() }

// sampled returns the cases of the given areas that tests read with every violated rule: every
// seventh case without the arrays of many chunks, which take seconds, or all cases if the complete
// sets are tested.
func sampled(m *Manifest, names ...string) []Case {
	var out []Case
	for i, c := range inAreas(m, names...) {
		if !sampling() || i%7 == 0 && !strings.Contains(c.ID, "array-pages") {
			out = append(out, c)
		}
	}
	return out
}

// misreadsAreNamed reads a vector with each rule violated in turn. If the bytes differ, it checks
// their explanation, and counts in named the explanations that contain the violated rule. Another
// rule may give the same bytes, so the explanation may contain that rule instead.
func misreadsAreNamed[M any](t *testing.T, dir string, c Case, rules []rule[M], read func(M) ([]byte, error), named map[string]int) {
	t.Helper()
	for _, r := range rules {
		got, err := read(r.m)
		if err != nil || hexSum(got) == c.Decoded.SHA256 {
			continue
		}
		x, err := Explain(dir, c, got)
		require.NoError(t, err)
		require.NotEmpty(t, x.Rule, c.ID)
		require.NotEmpty(t, x.Stage, c.ID)
		if x.Rule == r.name {
			require.Equal(t, r.stage, x.Stage)
			require.Contains(t, x.String(), r.sentence)
			named[r.name]++
		}
	}
}

// rulesToName returns the rules that at least one explanation must contain: all rules, or none if
// the tests run a sample.
func rulesToName[R any](all []R) []R {
	if sampling() {
		return nil
	}
	return all
}

// inAreas returns the cases of the given areas.
func inAreas(m *Manifest, names ...string) []Case {
	var out []Case
	for _, c := range m.Cases {
		for _, name := range names {
			if c.Area == name {
				out = append(out, c)
			}
		}
	}
	return out
}

// WriteEach is Writer for vectors that already exist.
func WriteEach(t *testing.T, dir string, cases []Case, write func(s Spec, data []byte, out string) error) {
	writeEach(t, dir, cases, write, nil)
}

// InAreas exports inAreas.
func InAreas(m *Manifest, names ...string) []Case { return inAreas(m, names...) }

// Sampled exports sampled.
func Sampled(m *Manifest, names ...string) []Case { return sampled(m, names...) }

// Unchanged exports unchanged.
func Unchanged(dir string, c Case) error { return unchanged(dir, c) }

// RaceBuild exports raceBuild.
const RaceBuild = raceBuild

// Sampling exports sampling.
func Sampling() bool { return sampling() }

// Part writes a corpus with the cases that keep selects to the directory dir.
func Part(t *testing.T, dir string, keep func(Case) bool) *Manifest {
	t.Helper()
	from, m := Corpus(t)
	part := *m
	part.Cases = nil
	for _, c := range m.Cases {
		if !keep(c) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(c.Path)))
		require.NoError(t, err)
		name := filepath.Join(dir, filepath.FromSlash(c.Path))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, b, 0o644))
		part.Cases = append(part.Cases, c)
	}
	require.NotEmpty(t, part.Cases)
	require.NoError(t, part.save(dir))
	return &part
}

// Digest returns the size and the SHA-256 of a file or directory of a case.
var Digest = digest

// The versions of the formats of a report and of a Spec.
const (
	ReportSchema = reportSchema
	SpecSchema   = specSchema
)
