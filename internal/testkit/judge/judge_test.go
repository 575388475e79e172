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

	"github.com/hyperslab/hyperslab/internal/leak"
	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/internal/testkit/damage"
	"github.com/hyperslab/hyperslab/internal/testkit/judge"
	"github.com/hyperslab/hyperslab/internal/worker"

	"github.com/hyperslab/hyperslab/h5"
)

func TestMain(m *testing.M) {
	worker.Init()
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left})
}

// extensions are those of the formats that the judge reads.
var extensions = []string{".h5", ".he5", ".hdf5", ".nc", ".fast5", ".b2nd", ".b2frame", ".b2z", ".b2d", ".b2e", ".npy"}

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

// each calls work for each number below n, with one judge for each core.
func each(t *testing.T, n int, work func(ctx context.Context, j *judge.Judge, i int) error) {
	t.Helper()
	judges := make(chan *judge.Judge, runtime.GOMAXPROCS(0))
	for range cap(judges) {
		judges <- judge.New(t)
	}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(cap(judges))
	for i := range n {
		group.Go(func() error {
			j := <-judges
			defer func() { judges <- j }()
			return work(ctx, j, i)
		})
	}
	require.NoError(t, group.Wait())
}

func compareAll(t *testing.T, list []string) {
	t.Helper()
	n := &tally{verdicts: map[string]int{}}
	each(t, len(list), func(ctx context.Context, j *judge.Judge, i int) error {
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
	t.Run("forms", func(t *testing.T) {
		dir := t.TempDir()
		judge.WriteSources(t, dir)
		compareAll(t, append(files(t, filepath.Join(dir, "forms")), files(t, filepath.Join(dir, "whole"))...))
	})
	t.Run("repository", func(t *testing.T) { compareAll(t, files(t, filepath.Join("..", "..", "..", "testdata"))) })
	for _, variable := range []string{need.Corpus, need.Blosc2Source, need.HDF5Source} {
		t.Run(variable, func(t *testing.T) { compareAll(t, need.Sample(files(t, need.Directory(t, variable)), 12)) })
	}
}

// TestCompare_mutations compares the verdicts of damaged copies of files, and reads the files that
// Recover makes of them.
func TestCompare_mutations(t *testing.T) {
	dir := t.TempDir()
	judge.WriteSources(t, dir)
	sources := append(files(t, filepath.Join(dir, "whole")), files(t, filepath.Join("..", "..", "..", "testdata"))...)
	require.GreaterOrEqual(t, len(sources), 38)
	copies := 40
	if need.All() {
		copies = 2000
	}
	n := &tally{verdicts: map[string]int{}}
	contents := make([]string, len(sources)) // digests
	each(t, len(sources), func(_ context.Context, j *judge.Judge, i int) error {
		a, err := j.Read(sources[i])
		contents[i] = a.Digest
		return err
	})
	recovered := 0
	each(t, copies, func(ctx context.Context, j *judge.Judge, i int) error {
		source := sources[i%len(sources)]
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%04d-%s", i, filepath.Base(source)))
		what, err := mutate(path, source, uint64(i))
		if err != nil {
			return err
		}
		r, err := j.Compare(ctx, path)
		if err != nil {
			return err
		}
		if r.Answer.Digest == contents[i%len(sources)] {
			what += ", the same contents"
		}
		n.add(t, r, what)
		if r.Verdict == "valid" || r.Verdict == "partly" || strings.HasPrefix(filepath.Ext(path), ".b2") && len(filepath.Ext(path)) == 4 {
			return nil
		}
		is, difference, err := j.Recover(ctx, path)
		r.Difference = difference
		n.mu.Lock()
		if is {
			recovered++
		}
		n.mu.Unlock()
		if difference != "" {
			t.Errorf("%s: %s: %s", r.Name, what, difference)
		}
		return err
	})
	t.Logf("%d mutations of %d files, %d documented differences, %d recovered: %v", copies, len(sources), n.excepted, recovered, n.verdicts)
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
