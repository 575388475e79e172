package plan_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// child is the environment variable that makes this test binary a worker process. It contains a
// task in JSON.
const child = "HYPERSLAB_TEST_PLAN_CHILD"

// task is the work of a child process.
type task struct {
	Plan     string // file
	Stage    int
	Shards   []int64
	Commit   bool
	FileSize uint64 // maximum size of the files that the process writes; 0: no limit
}

func workAsChild() int {
	var x task
	err := json.Unmarshal([]byte(os.Getenv(child)), &x)
	if err == nil {
		err = x.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (x *task) run() error {
	b, err := os.ReadFile(x.Plan)
	if err != nil {
		return err
	}
	p, err := plan.Parse(b)
	if err != nil {
		return err
	}
	if x.FileSize > 0 {
		signal.Ignore(syscall.SIGXFSZ) // so that write returns EFBIG
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: x.FileSize, Max: x.FileSize}); err != nil {
			return err
		}
	}
	ctx := context.Background()
	for _, shard := range x.Shards {
		if _, err := p.Work(ctx, x.Stage, shard, nil); err != nil {
			return err
		}
	}
	if x.Commit {
		return p.Commit(ctx, nil)
	}
	return nil
}

// start starts a child process with the task.
func (x task) start(t testing.TB) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	b, err := json.Marshal(x)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), child+"="+string(b))
	stderr := &strings.Builder{}
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	return cmd, stderr
}

func save(t testing.TB, p *plan.Plan) string {
	t.Helper()
	b, err := p.Encode()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "plan.json")
	require.NoError(t, os.WriteFile(file, b, 0o666))
	return file
}

// untilDone runs a child until it succeeds. It kills the given number of attempts after random
// times.
func (x task) untilDone(t testing.TB, attempts int, most time.Duration) error {
	killed := 0
	for {
		cmd, stderr := x.start(t)
		if killed >= attempts {
			if err := cmd.Wait(); err != nil {
				return fmt.Errorf("%w: %s", err, stderr)
			}
			return nil
		}
		time.Sleep(time.Duration(rand.Int64N(int64(most))))
		if err := cmd.Process.Kill(); err != nil {
			return err
		}
		if err := cmd.Wait(); err == nil { // the child succeeded before it was killed
			most = max(most/2, time.Millisecond)
			if x.Commit {
				return nil
			}
			continue
		}
		killed++
	}
}

// TestPlan_Work_killed runs eight worker processes that do all shards in different orders, so that
// every shard is done several times and concurrently. Each process is killed at least once.
func TestPlan_Work_killed(t *testing.T) {
	dir := t.TempDir()
	kills := 1
	shape := []int64{48, 64, 64}
	if need.All() {
		kills, shape = 5, []int64{96, 256, 256}
	}
	wave(t, dir+"/a.h5:/x", floats(shape, []int64{8, 16, 64}))
	for _, test := range []struct {
		name, dst string
		bytes     int64
		change    func(*ndarray.Spec)
	}{
		{"b2nd", "out.b2nd", 100_000, func(s *ndarray.Spec) { s.ChunkShape = []int64{10, 10, 10} }},
		{"HDF5 in two stages", "out.h5:/x", 40_000, func(s *ndarray.Spec) { s.ChunkShape = []int64{shape[0], 4, 4} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := t.TempDir()
			single(t, dir+"/a.h5:/x", out+"/single-"+test.dst, test.change, nil)
			p := planned(t, "convert", dir+"/a.h5:/x", out+"/"+test.dst, test.change, plan.Options{ShardBytes: test.bytes, Workers: 2})
			file, _, _ := strings.Cut(test.dst, ":")
			saved := save(t, p)
			for i, s := range p.Stages {
				var all sync.WaitGroup
				errs := make([]error, 8)
				for w := range errs {
					all.Go(func() {
						x := task{Plan: saved, Stage: i + 1}
						for _, shard := range rand.Perm(int(s.Shards)) {
							x.Shards = append(x.Shards, int64(shard))
						}
						errs[w] = x.untilDone(t, kills, 200*time.Millisecond)
					})
				}
				all.Wait()
				for _, err := range errs {
					require.NoError(t, err)
				}
				missing, err := p.Missing(t.Context(), i+1)
				require.NoError(t, err)
				require.Empty(t, missing)
				require.NoFileExists(t, out+"/"+file)
			}
			require.NoError(t, task{Plan: saved, Commit: true}.untilDone(t, kills, 100*time.Millisecond))
			requireSame(t, out+"/single-"+file, out+"/"+file)
			require.NoDirExists(t, out+"/"+file+".parts")
		})
	}
}

// TestPlan_Work_fullDisk limits the size of the files that a worker can write, which fails like a
// full disk. The same shards succeed afterwards.
func TestPlan_Work_fullDisk(t *testing.T) {
	dir := t.TempDir()
	same := func(*ndarray.Spec) {}
	wave(t, dir+"/a.b2nd", floats([]int64{64, 64, 64}, []int64{16, 64, 64}))
	single(t, dir+"/a.b2nd", dir+"/single.b2nd", same, nil)
	p := planned(t, "convert", dir+"/a.b2nd", dir+"/out.b2nd", same, plan.Options{ShardBytes: 300_000, Workers: 2})
	x := task{Plan: save(t, p), Stage: 1, Shards: []int64{0, 1, 2, 3}, FileSize: 8192}
	require.Equal(t, int64(4), p.Stages[0].Shards)
	cmd, stderr := x.start(t)
	require.Error(t, cmd.Wait())
	require.Contains(t, stderr.String(), "file too large")
	missing, err := p.Missing(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, x.Shards, missing)
	entries, err := os.ReadDir(dir + "/out.b2nd.parts")
	require.NoError(t, err)
	require.Len(t, entries, 1) // only the plan: the part was removed
	require.ErrorIs(t, p.Commit(t.Context(), nil), plan.ErrIncomplete)
	require.NoFileExists(t, dir+"/out.b2nd")
	x.FileSize = 0
	require.NoError(t, x.untilDone(t, 0, time.Second))
	require.NoError(t, p.Commit(t.Context(), nil))
	requireSame(t, dir+"/single.b2nd", dir+"/out.b2nd")
}
