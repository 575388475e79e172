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

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
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
	Abort    bool   // the process gets the signal of a C abort during its last shard
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
	for i, shard := range x.Shards {
		var o plan.WorkOptions
		if x.Abort && i == len(x.Shards)-1 {
			o.Progress = func(ndarray.Progress) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
				select {} // until the signal arrives
			}
		}
		if _, err := p.Work(ctx, x.Stage, shard, &o); err != nil {
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

// kind is a kind of target.
type kind struct {
	name, dst string
	stages    int
	options   plan.Options
	create    hyperslab.CreateOptions
}

func kinds() []kind {
	return []kind{
		{"HDF5 with virtual dataset", "out.h5:/g/x", 1, plan.Options{}, hyperslab.CreateOptions{}},
		{"compact HDF5", "out.h5:/g/x", 1, plan.Options{Compact: true}, hyperslab.CreateOptions{}},
		{"compact HDF5 in two stages", "out.h5:/x", 2, plan.Options{Compact: true}, hyperslab.CreateOptions{}},
		{"contiguous b2nd", "out.b2nd", 1, plan.Options{}, hyperslab.CreateOptions{}},
		{"sparse b2nd", "out.b2nd", 1, plan.Options{Sparse: true}, hyperslab.CreateOptions{Sparse: true}},
		{"sparse b2nd in two stages", "out.b2nd", 2, plan.Options{Sparse: true}, hyperslab.CreateOptions{Sparse: true}},
	}
}

// plan returns the plan of an array for the target, and the directory with the files that one
// process writes.
func (k *kind) plan(t *testing.T, src, dst string, shape []int64) (p *plan.Plan, want string) {
	t.Helper()
	change := func(s *ndarray.Spec) { s.ChunkShape = []int64{10, 10, 10} }
	k.options.ShardBytes, k.options.Workers = 100_000, 2
	if k.stages > 1 {
		change = func(s *ndarray.Spec) { s.ChunkShape = []int64{shape[0], 4, 4} }
		k.options.ShardBytes = 40_000
	}
	p = planned(t, "convert", src, dst, change, k.options)
	require.Len(t, p.Stages, k.stages)
	want = t.TempDir()
	if k.name == "HDF5 with virtual dataset" {
		one := planned(t, "convert", src, want+"/"+k.dst, change, k.options)
		all(t, one)
		require.NoError(t, one.Commit(t.Context(), nil))
	} else {
		single(t, src, want+"/"+k.dst, change, &k.create)
	}
	return p, want
}

// workKilled runs eight worker processes that do all shards in different orders, so that every
// shard is done several times and concurrently. Each process is killed at least once. Before that
// the disk of one process is full, and the library of another one aborts. visible is called while
// the target must not exist.
func workKilled(t *testing.T, p *plan.Plan, kills int, visible func() bool) {
	t.Helper()
	saved := save(t, p)
	for i, s := range p.Stages {
		aborting := task{Plan: saved, Stage: i + 1, Shards: []int64{0, 2}, Abort: true}
		cmd, stderr := aborting.start(t)
		require.Error(t, cmd.Wait())
		require.Contains(t, stderr.String(), "SIGABRT")
		full := task{Plan: saved, Stage: i + 1, Shards: []int64{1}, FileSize: 1000}
		cmd, stderr = full.start(t)
		require.Error(t, cmd.Wait())
		require.Contains(t, stderr.String(), "file too large")
		missing, err := p.Missing(t.Context(), i+1)
		require.NoError(t, err)
		require.Len(t, missing, int(s.Shards)-1, "one attempt of one shard is lost")
		require.NotContains(t, missing, int64(0))
		var workers sync.WaitGroup
		errs := make([]error, 8)
		for w := range errs {
			workers.Go(func() {
				x := task{Plan: saved, Stage: i + 1}
				for _, shard := range rand.Perm(int(s.Shards)) {
					x.Shards = append(x.Shards, int64(shard))
				}
				errs[w] = x.untilDone(t, kills, 300*time.Millisecond)
			})
		}
		workers.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		missing, err = p.Missing(t.Context(), i+1)
		require.NoError(t, err)
		require.Empty(t, missing)
		require.False(t, visible())
	}
	require.NoError(t, task{Plan: saved, Commit: true}.untilDone(t, kills, 200*time.Millisecond))
	require.NoError(t, p.Commit(t.Context(), nil)) // also removes what a killed commit has left
}

func TestPlan_Work_killed(t *testing.T) {
	dir := t.TempDir()
	kills, shape, some := 1, []int64{48, 64, 64}, testenv.Sample(kinds(), 3)
	if testenv.All() {
		kills, shape = 5, []int64{96, 128, 128}
	}
	wave(t, dir+"/a.h5:/x", floats(shape, []int64{8, 16, 64}))
	for _, k := range some {
		t.Run(k.name, func(t *testing.T) {
			out := t.TempDir()
			p, want := k.plan(t, dir+"/a.h5:/x", out+"/"+k.dst, shape)
			file, _, _ := strings.Cut(k.dst, ":")
			workKilled(t, p, kills, func() bool {
				_, err := os.Lstat(out + "/" + file)
				return err == nil
			})
			requireSame(t, want, out)
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
