// The corpus that the tests share: emitted once, and only read.

package crosscheck

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var corpus struct {
	once sync.Once
	dir  string // the folder above that of the vectors
	m    *Manifest
	err  error
}

// Corpus returns the folder of all vectors and their manifest.
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

// RemoveCorpus is for TestMain, when all tests have passed.
func RemoveCorpus() error { return os.RemoveAll(corpus.dir) }

// inAreas are the cases of some areas.
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
