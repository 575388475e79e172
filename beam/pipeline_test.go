package main

import (
	"os"
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

// execute runs a plan on Prism in this process and returns its counters.
func execute(t *testing.T, p *plan.Plan, check bool) (map[string]int64, error) {
	t.Helper()
	pipeline, scope := apache.NewPipelineWithRoot()
	target, err := build(scope, p, os.Getenv("HYPERSLAB_PROGRAM"))
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
			counters, err := execute(t, p, true)
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

func TestBuild_changedSource(t *testing.T) {
	dir := t.TempDir()
	src := source(t, dir)
	p := newPlan(t, src, filepath.Join(dir, "out.b2nd"), []int64{8, 32, 32}, 100_000)
	require.NoError(t, os.Remove(filepath.Join(dir, "source.h5")))
	source(t, dir)
	_, err := execute(t, p, false)
	require.ErrorContains(t, err, plan.ErrSource.Error())
	require.NoFileExists(t, filepath.Join(dir, "out.b2nd"))
}
