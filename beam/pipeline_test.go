package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apache "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

func TestMain(m *testing.M) {
	apache.Init()
	os.Exit(m.Run())
}

// source creates an array and returns its location.
func source(t *testing.T, dir string) string {
	t.Helper()
	spec := ndarray.Spec{Shape: []int64{64, 64, 64}, ChunkShape: []int64{4, 64, 64}, DType: ndarray.DTypeOf[float32]()}
	at := filepath.Join(dir, "source.h5") + ":/x"
	d, err := hyperslab.Create(t.Context(), at, spec, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	v := make([]float32, d.NumElems())
	for i := range v {
		v[i] = float32(i % 1013)
	}
	require.NoError(t, ndarray.Write(t.Context(), d.Array, v, ndarray.Whole(spec.Shape)))
	require.NoError(t, d.Commit(t.Context()))
	return at
}

// single does the operation of a plan without shards.
func single(t *testing.T, src, dst string, chunks []int64) {
	t.Helper()
	a, err := hyperslab.Open(t.Context(), src, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	spec := a.Meta().Spec()
	spec.ChunkShape, spec.Compression = chunks, nil
	d, err := hyperslab.Create(t.Context(), dst, spec, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	_, err = ndarray.Copy(t.Context(), d.Array, a, nil)
	require.NoError(t, err)
	require.NoError(t, d.Commit(t.Context()))
}

func newPlan(t *testing.T, src, dst string, chunks []int64, shard int64) *plan.Plan {
	t.Helper()
	a, err := hyperslab.Open(t.Context(), src, nil)
	require.NoError(t, err)
	spec := a.Meta().Spec()
	require.NoError(t, a.Close())
	spec.ChunkShape, spec.Compression = chunks, nil
	p, err := plan.New(t.Context(), "convert", src, dst, &plan.Options{Spec: &spec, ShardBytes: shard, Workers: 1, Compact: strings.Contains(dst, ".h5:")})
	require.NoError(t, err)
	return p
}

// execute runs a plan on Prism in this process and returns its counters. program is hyperslab, for
// a plan of many files.
func execute(t *testing.T, p *plan.Plan, program string, check bool) (map[string]int64, error) {
	t.Helper()
	pipeline, scope := apache.NewPipelineWithRoot()
	target, err := build(scope, p, program)
	require.NoError(t, err)
	if check {
		passert.Equals(scope, target, p.Target.Location)
	}
	result, err := prism.Execute(t.Context(), pipeline)
	if err != nil {
		return nil, err
	}
	counters := make(map[string]int64)
	for _, c := range result.Metrics().AllMetrics().Counters() {
		if c.Namespace() == "hyperslab" {
			counters[c.Name()] += c.Result()
		}
	}
	return counters, nil
}

func TestBuild(t *testing.T) {
	dir := t.TempDir()
	src := source(t, dir)
	for _, test := range []struct {
		name, dst string
		chunks    []int64
		shard     int64
		stages    int
	}{
		{"one stage", "out.b2nd", []int64{8, 32, 32}, 100_000, 1},
		{"two stages", "out.h5:/x", []int64{64, 8, 8}, 40_000, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := t.TempDir()
			file, _, _ := strings.Cut(test.dst, ":")
			single(t, src, filepath.Join(out, "single-"+test.dst), test.chunks)
			p := newPlan(t, src, filepath.Join(out, test.dst), test.chunks, test.shard)
			require.Len(t, p.Stages, test.stages)
			require.Greater(t, p.Stages[0].Shards, int64(8))
			_, err := p.Work(t.Context(), 1, 3, nil) // is skipped
			require.NoError(t, err)
			counters, err := execute(t, p, "", true)
			require.NoError(t, err)
			all := int64(0)
			for _, s := range p.Stages {
				all += s.Shards
			}
			require.Equal(t, int64(1), counters["shards_skipped"])
			require.Equal(t, all-1, counters["shards_done"])
			require.Positive(t, counters["bytes_done"])
			want, err := os.ReadFile(filepath.Join(out, "single-"+file))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(out, file))
			require.NoError(t, err)
			require.True(t, string(want) == string(got), "the target differs from the output of one process")
		})
	}
}

// TestBuild_files compares the targets of a plan of many files with those of one process.
func TestBuild_files(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "hyperslab")
	goBuild := exec.Command("go", "build", "-o", program, "./cmd/hyperslab")
	goBuild.Dir = ".."
	out, err := goBuild.CombinedOutput()
	require.NoError(t, err, "%s", out)
	hyperslab := func(args ...string) {
		t.Helper()
		out, err := exec.Command(program, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "in", "sub"), 0o755))
	for _, name := range []string{"a", "b", "sub/c"} {
		source(t, filepath.Join(dir, "in"))
		require.NoError(t, os.Rename(filepath.Join(dir, "in", "source.h5"), filepath.Join(dir, "in", name+".h5")))
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	hyperslab("convert", "-r", at("in"), "--into", at("want"), "--format", "b2z", "-q")
	hyperslab("plan", "convert", "-r", at("in"), "--into", at("out"), "--format", "b2z", "--shard-bytes", "4KiB", "-o", at("p.json"))
	b, err := os.ReadFile(filepath.Join(dir, "p.json"))
	require.NoError(t, err)
	p, err := plan.Parse(b)
	require.NoError(t, err)
	require.Equal(t, int64(3), p.Stages[0].Shards)
	counters, err := execute(t, p, program, false)
	require.NoError(t, err)
	require.Equal(t, int64(3), counters["shards_done"])
	for _, name := range []string{"a.b2z", "b.b2z", "sub/c.b2z"} {
		want, err := os.ReadFile(filepath.Join(dir, "want", name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(dir, "out", name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), name)
	}
}

func TestBuild_changedSource(t *testing.T) {
	dir := t.TempDir()
	src := source(t, dir)
	p := newPlan(t, src, filepath.Join(dir, "out.b2nd"), []int64{8, 32, 32}, 100_000)
	require.NoError(t, os.Remove(filepath.Join(dir, "source.h5")))
	source(t, dir)
	_, err := execute(t, p, "", false)
	require.ErrorContains(t, err, plan.ErrSource.Error())
	require.NoFileExists(t, filepath.Join(dir, "out.b2nd"))
}
