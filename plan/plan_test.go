package plan_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// wave fills an array with a smooth function and zeros, so that the sizes of compressed chunks
// differ and some chunks are not stored.
func wave(t testing.TB, location string, spec ndarray.Spec) {
	t.Helper()
	d, err := hyperslab.Create(t.Context(), location, spec, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	v := make([]float32, d.NumElems())
	for i := range v {
		if i%7000 < 5000 {
			v[i] = float32(i%977) * float32(i%31)
		}
	}
	require.NoError(t, ndarray.Write(t.Context(), d.Array, v, ndarray.Whole(spec.Shape)))
	require.NoError(t, d.Commit(t.Context()))
}

func floats(shape, chunks []int64) ndarray.Spec {
	return ndarray.Spec{
		Shape: shape, ChunkShape: chunks, DType: ndarray.DTypeOf[float32](),
		Attrs: []ndarray.Attr{{Name: "units", Value: ndarray.Text("m")}, {Name: "scale", Value: ndarray.Scalar(2.5)}},
	}
}

// single copies an array in one call, like the command convert.
func single(t testing.TB, src, dst string, change func(*ndarray.Spec), o *hyperslab.CreateOptions) {
	t.Helper()
	a, err := hyperslab.Open(t.Context(), src, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	spec := specOf(t, a)
	change(&spec)
	d, err := hyperslab.Create(t.Context(), dst, spec, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	_, err = ndarray.Copy(t.Context(), d.Array, a, nil)
	require.NoError(t, err)
	require.NoError(t, d.Commit(t.Context()))
}

func specOf(t testing.TB, a *ndarray.Array) ndarray.Spec {
	t.Helper()
	spec := a.Meta().Spec()
	attrs, err := a.Attrs(t.Context())
	require.NoError(t, err)
	spec.Attrs = attrs.List
	spec.Compression, spec.BlockShape = nil, nil
	return spec
}

// planned returns a plan whose target has the Spec of its source with the changes of change.
func planned(t testing.TB, operation, src, dst string, change func(*ndarray.Spec), o plan.Options) *plan.Plan {
	t.Helper()
	a, err := hyperslab.Open(t.Context(), src, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	spec := specOf(t, a)
	change(&spec)
	o.Spec = &spec
	p, err := plan.New(t.Context(), operation, src, dst, &o)
	require.NoError(t, err)
	b, err := p.Encode()
	require.NoError(t, err)
	parsed, err := plan.Parse(b)
	require.NoError(t, err)
	require.Equal(t, p, parsed)
	return p
}

// all executes all shards of a plan in random order.
func all(t testing.TB, p *plan.Plan) {
	t.Helper()
	for i, s := range p.Stages {
		for _, shard := range rand.Perm(int(s.Shards)) {
			done, err := p.Work(t.Context(), i+1, int64(shard), nil)
			require.NoError(t, err)
			require.True(t, done)
		}
	}
}

// TestPlan_Commit_concurrent commits a plan several times at once. All calls succeed, because the
// slower ones find the target of the plan.
func TestPlan_Commit_concurrent(t *testing.T) {
	dir := t.TempDir()
	wave(t, dir+"/a.b2nd", floats([]int64{37, 50, 61}, []int64{8, 20, 61}))
	for range 8 {
		out := t.TempDir()
		p := planned(t, "rechunk", dir+"/a.b2nd", out+"/out.b2nd", func(s *ndarray.Spec) { s.ChunkShape = []int64{10, 10, 10} }, plan.Options{ShardBytes: 60_000})
		all(t, p)
		var group errgroup.Group
		for range 6 {
			group.Go(func() error { return p.Commit(t.Context(), nil) })
		}
		require.NoError(t, group.Wait())
		require.NoDirExists(t, out+"/out.b2nd.parts")
	}
}

// content returns the bytes of a file, or of all files in a directory.
func content(t testing.TB, name string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	require.NoError(t, filepath.WalkDir(name, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, name)] = string(b)
		return err
	}))
	return files
}

func requireSame(t testing.TB, want, got string) {
	t.Helper()
	w, g := content(t, want), content(t, got)
	require.Len(t, g, len(w))
	for name, b := range w {
		require.Truef(t, b == g[name], "%s differs: %d bytes, want %d", name, len(g[name]), len(b))
	}
}

func TestPlan_Commit(t *testing.T) {
	dir := t.TempDir()
	shape := []int64{37, 50, 61}
	wave(t, dir+"/a.b2nd", floats(shape, []int64{8, 20, 61}))
	wave(t, dir+"/a.h5:/g/x", floats(shape, []int64{8, 20, 61}))
	for _, test := range []struct {
		name, operation, src, dst string
		change                    func(*ndarray.Spec)
		options                   plan.Options
		create                    hyperslab.CreateOptions
		stages                    int
	}{
		{"b2nd to b2nd with other chunks", "rechunk", "a.b2nd", "out.b2nd", func(s *ndarray.Spec) { s.ChunkShape = []int64{10, 10, 10} }, plan.Options{}, hyperslab.CreateOptions{}, 1},
		{"b2nd to b2nd with the same storage", "copy", "a.b2nd", "out.b2nd", func(*ndarray.Spec) {}, plan.Options{}, hyperslab.CreateOptions{}, 1},
		{"b2nd to sparse b2nd", "convert", "a.b2nd", "out.b2nd", func(s *ndarray.Spec) { s.ChunkShape = []int64{10, 10, 10} }, plan.Options{Sparse: true}, hyperslab.CreateOptions{Sparse: true}, 1},
		{"b2nd to HDF5", "convert", "a.b2nd", "out.h5:/g/x", func(s *ndarray.Spec) { s.ChunkShape = []int64{10, 10, 10} }, plan.Options{Compact: true}, hyperslab.CreateOptions{}, 1},
		{"HDF5 to HDF5 with other compression", "repack", "a.h5:/g/x", "out.h5:/x", func(s *ndarray.Spec) {
			s.Compression = &ndarray.Compression{Codec: "zstd", Level: 3, Filters: []string{"shuffle"}}
			s.Fill = []byte{0, 0, 128, 63}
		}, plan.Options{Compact: true}, hyperslab.CreateOptions{}, 1},
		{"HDF5 to growing HDF5", "convert", "a.h5:/g/x", "out.h5:/x", func(s *ndarray.Spec) {
			s.ChunkShape, s.MaxShape = []int64{40, 7, 64}, []int64{-1, 50, -1}
		}, plan.Options{Compact: true}, hyperslab.CreateOptions{}, 1},
		{"HDF5 to b2nd", "convert", "a.h5:/g/x", "out.b2nd", func(s *ndarray.Spec) { s.AxisNames = []string{"t", "", "x"} }, plan.Options{}, hyperslab.CreateOptions{}, 1},
		{"planes to columns in two stages", "rechunk", "a.h5:/g/x", "out.h5:/x", func(s *ndarray.Spec) { s.ChunkShape = []int64{37, 5, 5} }, plan.Options{ShardBytes: 25_000, Compact: true}, hyperslab.CreateOptions{}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := t.TempDir()
			single(t, dir+"/"+test.src, out+"/single-"+test.dst, test.change, &test.create)
			if test.options.ShardBytes == 0 {
				test.options.ShardBytes = 60_000
			}
			p := planned(t, test.operation, dir+"/"+test.src, out+"/"+test.dst, test.change, test.options)
			require.Len(t, p.Stages, test.stages)
			require.Greater(t, p.Stages[0].Shards, int64(4))
			all(t, p)
			file, _, _ := strings.Cut(test.dst, ":")
			require.NoFileExists(t, out+"/"+file)
			require.NoError(t, p.Commit(t.Context(), nil))
			requireSame(t, out+"/single-"+file, out+"/"+file)
			require.NoDirExists(t, out+"/"+file+".parts")
			require.NoError(t, p.Commit(t.Context(), nil), "a repeated commit compares the target with the source")
			_, err := p.Work(t.Context(), 1, 0, nil)
			require.ErrorIs(t, err, ndarray.ErrExists)
		})
	}
}

func TestPlan_Commit_results(t *testing.T) {
	dir := t.TempDir()
	wave(t, dir+"/a.b2nd", floats([]int64{37, 50, 61}, []int64{8, 20, 61}))
	a, err := hyperslab.Open(t.Context(), dir+"/a.b2nd", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	want, err := ndarray.Summarize(t.Context(), a, nil)
	require.NoError(t, err)
	run := func(operation string, bytes int64) map[string]any {
		dst := filepath.Join(t.TempDir(), "result.json")
		p, err := plan.New(t.Context(), operation, dir+"/a.b2nd", dst, &plan.Options{ShardBytes: bytes})
		require.NoError(t, err)
		all(t, p)
		require.NoError(t, p.Commit(t.Context(), nil))
		b, err := os.ReadFile(dst)
		require.NoError(t, err)
		doc := map[string]any{}
		require.NoError(t, json.Unmarshal(b, &doc))
		require.NoError(t, p.Commit(t.Context(), nil), "a repeated commit")
		require.NoError(t, os.WriteFile(dst, []byte(`{"plan": "other"}`), 0o666))
		require.ErrorIs(t, p.Commit(t.Context(), nil), ndarray.ErrExists)
		return doc
	}
	t.Run("stats", func(t *testing.T) {
		for _, bytes := range []int64{10_000, 60_000, 1 << 30} {
			doc := run("stats", bytes)
			require.Equal(t, float64(want.Count), doc["count"])
			require.Equal(t, want.Min, doc["min"])
			require.Equal(t, want.Max, doc["max"])
			require.Equal(t, want.Sum, doc["sum"])
			require.Equal(t, want.Mean, doc["mean"])
			require.Equal(t, want.Std, doc["std"])
		}
	})
	t.Run("verify", func(t *testing.T) {
		doc := run("verify", 60_000)
		require.Equal(t, 15.0, doc["chunks"])
		require.Equal(t, 0.0, doc["corrupt"])
	})
	t.Run("checksum", func(t *testing.T) {
		doc := run("checksum", 60_000)
		require.Len(t, doc["sha256"], 64)
		again := run("checksum", 60_000)
		delete(doc, "plan") // depends on the target
		delete(again, "plan")
		require.Equal(t, doc, again)
	})
}

// TestNew_large plans for 10 TiB in 10 million chunks.
func TestNew_large(t *testing.T) {
	dir := t.TempDir()
	d, err := hyperslab.Create(t.Context(), dir+"/a.h5:/x", ndarray.Spec{
		Shape: []int64{10_000_000, 1024, 128}, ChunkShape: []int64{1, 1024, 128}, DType: ndarray.DTypeOf[float64](),
	}, nil)
	require.NoError(t, err)
	require.NoError(t, d.Commit(t.Context()))
	for _, chunks := range [][]int64{{1, 1024, 128}, {8192, 16, 1}} {
		p, err := plan.New(t.Context(), "checksum", dir+"/a.h5:/x", dir+"/out.json", &plan.Options{Chunks: chunks})
		require.NoError(t, err)
		b, err := p.Encode()
		require.NoError(t, err)
		require.Less(t, len(b), 2000)
		again, err := plan.New(t.Context(), "checksum", dir+"/a.h5:/x", dir+"/out.json", &plan.Options{Chunks: chunks})
		require.NoError(t, err)
		require.Equal(t, p, again)
	}
	p := planned(t, "rechunk", dir+"/a.h5:/x", dir+"/out.h5:/x", func(s *ndarray.Spec) { s.ChunkShape = []int64{8192, 16, 1} }, plan.Options{})
	require.Len(t, p.Stages, 2)
	require.Equal(t, 2, p.Passes)
	for _, s := range p.Stages {
		require.Greater(t, s.Shards, int64(5_000))
		require.Less(t, s.Shards, int64(50_000))
	}
	require.Less(t, p.ReadBytes, 3*p.Source.Bytes)
}
