package judge_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/damage"
	"github.com/hyperslab/hyperslab/internal/testkit/judge"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func TestMain(m *testing.M) {
	worker.Init()
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left})
}

// extensions are those of the formats that the judge reads.
var extensions = []string{".h5", ".he5", ".hdf5", ".nc", ".fast5", ".b2nd", ".b2frame", ".b2z", ".b2d", ".b2e", ".npy", ".bcolz"}

// files returns the files and containers below dir that the judge reads.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir && slices.Contains(extensions, filepath.Ext(path)) {
			list = append(list, path)
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return err
	}))
	require.NotEmpty(t, list, dir)
	return list
}

// tally collects results.
type tally struct {
	mu       sync.Mutex
	verdicts map[string]int
	excepted int
}

func (n *tally) add(t *testing.T, r judge.Result, what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.verdicts[r.Verdict+", judge "+string(r.Answer.Outcome)]++
	switch {
	case r.Difference != "" && r.Excepted:
		n.excepted++
	case r.Difference != "":
		t.Errorf("%s: %s: %s", r.Name, what, r.Difference)
	}
}

// pool is a set of judges, one for each core.
type pool chan *judge.Judge

func newPool(t *testing.T) pool {
	t.Helper()
	p := make(pool, runtime.GOMAXPROCS(0))
	for range cap(p) {
		p <- judge.New(t)
	}
	return p
}

// each calls work for each number below n.
func (p pool) each(t *testing.T, n int, work func(ctx context.Context, j *judge.Judge, i int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(cap(p))
	for i := range n {
		group.Go(func() error {
			j := <-p
			defer func() { p <- j }()
			return work(ctx, j, i)
		})
	}
	require.NoError(t, group.Wait())
}

func (p pool) compareAll(t *testing.T, list []string) {
	t.Helper()
	n := &tally{verdicts: map[string]int{}}
	p.each(t, len(list), func(ctx context.Context, j *judge.Judge, i int) error {
		r, err := j.Compare(ctx, list[i])
		n.add(t, r, list[i])
		return err
	})
	t.Logf("%d files, %d documented differences: %v", len(list), n.excepted, n.verdicts)
}

// TestExceptions_documented checks that each exception has a row in the document.
func TestExceptions_documented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "known-issues.md"))
	require.NoError(t, err)
	rows := 0
	for _, x := range judge.Exceptions {
		require.Contains(t, string(b), "\n| "+x.Row+" | ")
	}
	_, table, found := strings.Cut(string(b), "## Verdicts\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| ") {
			rows++
		}
	}
	require.Equal(t, len(judge.Exceptions)+1, rows, "a row without an exception")
}

// TestCompare_files compares the verdicts of files of other software.
func TestCompare_files(t *testing.T) {
	p := newPool(t)
	t.Run("forms", func(t *testing.T) {
		dir := t.TempDir()
		judge.WriteSources(t, dir)
		p.compareAll(t, append(files(t, filepath.Join(dir, "forms")), testenv.Sample(files(t, filepath.Join(dir, "whole")), 8)...))
	})
	t.Run("repository", func(t *testing.T) { p.compareAll(t, files(t, filepath.Join("..", "..", "..", "testdata"))) })
	for _, variable := range []string{testenv.Corpus, testenv.Blosc2Source, testenv.HDF5Source} {
		t.Run(variable, func(t *testing.T) { p.compareAll(t, testenv.Sample(files(t, testenv.Directory(t, variable)), 40)) })
	}
}

// TestCompare_mutations compares the verdicts of damaged copies of files, and reads the files that
// Recover makes of them.
func TestCompare_mutations(t *testing.T) {
	p, dir := newPool(t), t.TempDir()
	judge.WriteSources(t, dir)
	sources := append(files(t, filepath.Join(dir, "whole")), files(t, filepath.Join("..", "..", "..", "testdata"))...)
	if os.Getenv(testenv.Corpus) != "" {
		for _, folder := range []string{"blosc2", "caterva2", "hdf5-filters", "hdf5-foreign"} {
			sources = append(sources, files(t, filepath.Join(testenv.Directory(t, testenv.Corpus), folder))...)
		}
	}
	require.GreaterOrEqual(t, len(sources), 44)
	copies := 20
	if testenv.All() {
		copies = 2000
	}
	contents := make([]string, min(len(sources), copies)) // digests
	p.each(t, len(contents), func(_ context.Context, j *judge.Judge, i int) error {
		a, err := j.Read(sources[i])
		contents[i] = a.Digest
		return err
	})
	n, recovered := &tally{verdicts: map[string]int{}}, 0
	p.each(t, copies, func(ctx context.Context, j *judge.Judge, i int) error {
		k := i % len(sources)
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%04d-%s", i, filepath.Base(sources[k])))
		what, err := mutate(path, sources[k], uint64(i))
		if err != nil {
			return err
		}
		r, err := j.Compare(ctx, path)
		if err != nil {
			return err
		}
		if r.Answer.Digest == contents[k] {
			what += ", the same contents"
		}
		n.add(t, r, what)
		if r.Verdict == "valid" || r.Verdict == "partly" || isContainer(path) {
			return nil
		}
		is, difference, err := j.Recover(ctx, path)
		n.mu.Lock()
		defer n.mu.Unlock()
		if is {
			recovered++
		}
		if difference != "" {
			t.Errorf("%s: %s: %s", r.Name, what, difference)
		}
		return err
	})
	t.Logf("%d mutations of %d files, %d documented differences, %d recovered: %v", copies, len(sources), n.excepted, recovered, n.verdicts)
}

// isContainer reports whether the file is a container, which Recover does not read.
func isContainer(path string) bool {
	return slices.Contains([]string{".b2z", ".b2d", ".b2e"}, filepath.Ext(path))
}

// mutate writes a damaged copy of a file or directory to path.
func mutate(path, source string, seed uint64) (string, error) {
	info, err := os.Stat(source)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		err = os.CopyFS(path, os.DirFS(source))
	} else {
		var b []byte
		if b, err = os.ReadFile(source); err == nil {
			err = os.WriteFile(path, b, 0o600)
		}
	}
	if err != nil {
		return "", err
	}
	return damage.File(path, rand.New(rand.NewPCG(60, seed)))
}
