package plan_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/s3test"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
	"github.com/hyperslab/hyperslab/remote"
)

// bucket starts an S3 server and makes the package use it. The third request and 1 of every n fail,
// half of them after their effect. With n = 0, no request fails.
func bucket(t *testing.T, n int64) (s *s3test.Server, failed *atomic.Int64) {
	t.Helper()
	failed = new(atomic.Int64)
	var requests atomic.Int64
	return serve(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if n == 0 || requests.Add(1) != 3 && rand.Int64N(n) != 0 {
			next.ServeHTTP(w, r)
			return
		}
		if failed.Add(1)%2 == 0 {
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}), failed
}

// often returns the rate of failed requests of tests that are not about failures.
func often() int64 {
	if testenv.All() {
		return 20
	}
	return 0
}

// serve starts an S3 server and makes the package use it.
func serve(t testing.TB, wrap func(w http.ResponseWriter, r *http.Request, next http.Handler)) *s3test.Server {
	t.Helper()
	s := s3test.Start(t, nil, wrap)
	use(t)
	return s
}

// use makes the package use the server of the environment.
func use(t testing.TB) {
	t.Helper()
	client := remote.DefaultClient
	remote.DefaultClient = remote.NewClient(&remote.Options{Retries: 20})
	t.Cleanup(func() {
		remote.DefaultClient.CloseIdle()
		remote.DefaultClient = client
	})
}

// s3Kinds are the kinds of targets in a bucket.
func s3Kinds() []kind {
	return slices.DeleteFunc(kinds(), func(k kind) bool { return k.name == "HDF5 with virtual dataset" })
}

// requireObjects checks that the objects below the target are the files of a local target, and that
// the bucket contains no others.
func requireObjects(t *testing.T, s *s3test.Server, want, file string) {
	t.Helper()
	objects := make(map[string]string)
	for key, b := range s.Objects(t) {
		objects[strings.TrimPrefix(key, "d/"+file)] = string(b)
	}
	files := content(t, want)
	require.Equal(t, slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(objects)))
	for name, b := range files {
		require.True(t, b == objects[name], "%s differs", name)
	}
	require.Zero(t, s.Incomplete(t))
}

// TestPlan_Commit_s3 writes to a bucket of which 5 percent of the requests fail.
func TestPlan_Commit_s3(t *testing.T) {
	dir := t.TempDir()
	wave(t, dir+"/a.b2nd", floats([]int64{37, 50, 61}, []int64{8, 20, 61}))
	for _, test := range s3Kinds() {
		if test.stages > 1 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			s, failed := bucket(t, 20)
			t.Setenv("TMPDIR", t.TempDir())
			file, _, _ := strings.Cut(test.dst, ":")
			p, out := test.plan(t, dir+"/a.b2nd", "s3://data/d/"+test.dst, nil)
			all(t, p)
			for key := range s.Objects(t) {
				require.NotEqual(t, "d/"+file, key)
				require.NotEqual(t, "d/"+file+"/chunks.b2frame", key)
			}
			done, err := p.Work(t.Context(), 1, 3, nil)
			require.NoError(t, err)
			require.False(t, done)
			require.NoError(t, p.Commit(t.Context(), nil))
			requireObjects(t, s, out+"/"+file, file)
			before := s.Objects(t)
			require.NoError(t, p.Commit(t.Context(), nil), "a repeated commit")
			require.Equal(t, before, s.Objects(t))
			_, err = p.Work(t.Context(), 1, 0, nil)
			require.ErrorIs(t, err, ndarray.ErrExists)
			_, err = plan.New(t.Context(), "convert", dir+"/a.b2nd", "s3://data/d/"+test.dst, &test.options)
			require.ErrorIs(t, err, ndarray.ErrExists)
			require.Equal(t, before, s.Objects(t))
			left, err := os.ReadDir(os.TempDir())
			require.NoError(t, err)
			require.Empty(t, left)
			require.Positive(t, failed.Load())
		})
	}
	t.Run("from S3 in two stages", func(t *testing.T) {
		s, _ := bucket(t, often())
		one := planned(t, "copy", dir+"/a.b2nd", "s3://data/a.b2nd", func(*ndarray.Spec) {}, plan.Options{})
		all(t, one)
		require.NoError(t, one.Commit(t.Context(), nil))
		columns := func(s *ndarray.Spec) { s.ChunkShape = []int64{37, 5, 5} }
		p := planned(t, "rechunk", "s3://data/a.b2nd", "s3://data/out.b2nd", columns, plan.Options{ShardBytes: 25_000})
		require.Len(t, p.Stages, 2)
		all(t, p)
		require.NoError(t, p.Commit(t.Context(), nil))
		require.Len(t, s.Objects(t), 2)
		requireEqual(t, dir+"/a.b2nd", "s3://data/out.b2nd")
	})
	t.Run("chunks of zeros in a sparse target", func(t *testing.T) {
		s, _ := bucket(t, 0)
		src := dir + "/zeros.h5:/x"
		d, err := hyperslab.Create(t.Context(), src, ndarray.Spec{Shape: []int64{10, 64}, ChunkShape: []int64{1, 64}, DType: ndarray.DTypeOf[float32]()}, nil)
		require.NoError(t, err)
		for _, row := range []int64{2, 5} {
			v := make([]float32, 64)
			v[row] = 1
			require.NoError(t, ndarray.Write(t.Context(), d.Array, v, ndarray.Region{Start: []int64{row, 0}, Shape: []int64{1, 64}}))
		}
		require.NoError(t, d.Commit(t.Context()))
		p := planned(t, "convert", src, "s3://data/z.b2nd", func(*ndarray.Spec) {}, plan.Options{Sparse: true, ShardBytes: 512})
		all(t, p)
		require.NoError(t, p.Commit(t.Context(), nil))
		require.Equal(t, []string{"z.b2nd/00000002.chunk", "z.b2nd/00000005.chunk", "z.b2nd/chunks.b2frame"}, slices.Sorted(maps.Keys(s.Objects(t))))
		requireEqual(t, src, "s3://data/z.b2nd")
	})
	t.Run("one small chunk at the end of a sparse target", func(t *testing.T) {
		s, _ := bucket(t, 0)
		src := dir + "/last.h5:/x"
		d, err := hyperslab.Create(t.Context(), src, ndarray.Spec{Shape: []int64{2000, 64}, ChunkShape: []int64{1, 64}, DType: ndarray.DTypeOf[float32]()}, nil)
		require.NoError(t, err)
		for _, row := range []int64{0, 1999} {
			require.NoError(t, ndarray.Write(t.Context(), d.Array, slices.Repeat([]float32{1}, 64), ndarray.Region{Start: []int64{row, 0}, Shape: []int64{1, 64}}))
		}
		require.NoError(t, d.Commit(t.Context()))
		p := planned(t, "convert", src, "s3://data/l.b2nd", func(*ndarray.Spec) {}, plan.Options{Sparse: true})
		all(t, p)
		require.NoError(t, p.Commit(t.Context(), nil))
		requireEqual(t, src, "s3://data/l.b2nd")
		local := t.TempDir()
		for key, b := range s.Objects(t) {
			require.NoError(t, os.WriteFile(local+"/"+filepath.Base(key), b, 0o666))
		}
		requireEqual(t, src, local)
		f, err := frameio.Open(local, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		require.Equal(t, "00000000.chunk", f.ChunkFiles()[0])
		require.Equal(t, "00000001.chunk", f.ChunkFiles()[1999], "python-blosc2 does not open a frame of 72 bytes with file 1999")
	})
	for _, operation := range []string{"verify", "stats", "checksum"} {
		t.Run(operation, func(t *testing.T) {
			s, _ := bucket(t, often())
			p, err := plan.New(t.Context(), operation, dir+"/a.b2nd", "s3://data/r.json", &plan.Options{ShardBytes: 60_000})
			require.NoError(t, err)
			all(t, p)
			require.NoError(t, p.Commit(t.Context(), nil))
			require.Equal(t, []string{"r.json"}, slices.Collect(maps.Keys(s.Objects(t))))
			require.Contains(t, string(s.Objects(t)["r.json"]), `"operation": "`+operation+`"`)
		})
	}
}

// TestPlan_Commit_s3Errors checks that an error leaves no target.
func TestPlan_Commit_s3Errors(t *testing.T) {
	dir := t.TempDir()
	wave(t, dir+"/a.b2nd", floats([]int64{8, 8, 8}, []int64{2, 8, 8}))
	start := func(t *testing.T, o plan.Options) (*s3test.Server, *plan.Plan) {
		s, _ := bucket(t, 0)
		o.ShardBytes, o.Workers = 512, 1
		p := planned(t, "copy", dir+"/a.b2nd", "s3://data/out.b2nd", func(*ndarray.Spec) {}, o)
		all(t, p)
		return s, p
	}
	unchanged := func(t *testing.T, s *s3test.Server, want error, f func() error) {
		before := s.Objects(t)
		require.ErrorIs(t, f(), want)
		require.Equal(t, before, s.Objects(t))
	}
	key := func(t *testing.T, s *s3test.Server, part string) string {
		for name := range s.Objects(t) {
			if strings.Contains(name, part) {
				return name
			}
		}
		require.Fail(t, "no object "+part)
		return ""
	}
	for _, test := range []struct {
		name, part string
		options    plan.Options
	}{
		{"part", "/1-000000002-", plan.Options{}},
		{"chunk", "/00000002.chunk", plan.Options{Sparse: true}},
		{"receipt", "/1-000000002.json", plan.Options{}},
	} {
		t.Run("changed "+test.name, func(t *testing.T) {
			s, p := start(t, test.options)
			name := key(t, s, test.part)
			b := s.Objects(t)[name]
			b[len(b)/2] ^= 1
			s.Put(t, name, b)
			unchanged(t, s, plan.ErrReceipt, func() error { return p.Commit(t.Context(), nil) })
		})
		t.Run("missing "+test.name, func(t *testing.T) {
			s, p := start(t, test.options)
			s.Delete(t, key(t, s, test.part))
			want := plan.ErrReceipt
			if test.name == "receipt" {
				want = plan.ErrIncomplete
			}
			unchanged(t, s, want, func() error { return p.Commit(t.Context(), nil) })
		})
	}
	t.Run("foreign chunk", func(t *testing.T) {
		s, _ := bucket(t, 0)
		p := planned(t, "copy", dir+"/a.b2nd", "s3://data/out.b2nd", func(*ndarray.Spec) {}, plan.Options{Sparse: true, ShardBytes: 512})
		s.Put(t, "out.b2nd/00000002.chunk", []byte("other"))
		_, err := p.Work(t.Context(), 1, 2, nil)
		require.ErrorIs(t, err, ndarray.ErrExists)
		require.Equal(t, "other", string(s.Objects(t)["out.b2nd/00000002.chunk"]))
	})
	t.Run("target of another program", func(t *testing.T) {
		s, p := start(t, plan.Options{})
		s.Put(t, "out.b2nd", []byte("other"))
		unchanged(t, s, ndarray.ErrExists, func() error { return p.Commit(t.Context(), nil) })
	})
	t.Run("second plan for the target", func(t *testing.T) {
		s, _ := start(t, plan.Options{})
		other := planned(t, "copy", dir+"/a.b2nd", "s3://data/out.b2nd", func(*ndarray.Spec) {}, plan.Options{ShardBytes: 1024})
		unchanged(t, s, plan.ErrTarget, func() error { _, err := other.Work(t.Context(), 1, 0, nil); return err })
		unchanged(t, s, plan.ErrTarget, func() error { return other.Commit(t.Context(), nil) })
	})
	t.Run("conflicts with invisible objects", func(t *testing.T) {
		var mu sync.Mutex
		seen := make(map[string]bool)
		s := serve(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			mu.Lock()
			first := r.Header.Get("If-None-Match") == "*" && !seen[r.URL.Path]
			seen[r.URL.Path] = seen[r.URL.Path] || first
			mu.Unlock()
			if first {
				w.WriteHeader(http.StatusConflict)
				return
			}
			next.ServeHTTP(w, r)
		})
		p := planned(t, "copy", dir+"/a.b2nd", "s3://data/out.b2nd", func(*ndarray.Spec) {}, plan.Options{Sparse: true, ShardBytes: 512})
		all(t, p)
		require.NoError(t, p.Commit(t.Context(), nil))
		require.Len(t, s.Objects(t), 5)
		requireEqual(t, dir+"/a.b2nd", "s3://data/out.b2nd")
	})
	t.Run("virtual dataset", func(t *testing.T) {
		bucket(t, 0)
		_, err := plan.New(t.Context(), "convert", dir+"/a.b2nd", "s3://data/out.h5:/x", nil)
		require.ErrorContains(t, err, "compact")
	})
	t.Run("web server", func(t *testing.T) {
		_, err := plan.New(t.Context(), "copy", dir+"/a.b2nd", "https://example.com/out.b2nd", nil)
		require.ErrorContains(t, err, "s3://bucket/key")
	})
}

// TestPlan_Commit_gateway writes through the server of another project. Eight worker processes are
// killed.
func TestPlan_Commit_gateway(t *testing.T) {
	s3test.Gateway(t)
	use(t)
	dir := t.TempDir()
	shape := []int64{48, 64, 64}
	wave(t, dir+"/a.b2nd", floats(shape, []int64{8, 16, 64}))
	for i, k := range s3Kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			dst := fmt.Sprintf("s3://data/%d/%s", i, k.dst)
			p, want := k.plan(t, dir+"/a.b2nd", dst, shape)
			workKilled(t, p, 1, func() bool { return false })
			requireEqual(t, want+"/"+k.dst, dst)
			_, err := plan.New(t.Context(), "convert", dir+"/a.b2nd", dst, &plan.Options{Compact: k.options.Compact})
			require.ErrorIs(t, err, ndarray.ErrExists)
		})
	}
}

// TestPlan_Work_s3Killed runs worker processes against a bucket of which 5 percent of the requests
// fail.
func TestPlan_Work_s3Killed(t *testing.T) {
	dir := t.TempDir()
	shape := []int64{48, 64, 64}
	wave(t, dir+"/a.b2nd", floats(shape, []int64{8, 16, 64}))
	kills := 1
	if testenv.All() {
		kills = 3
	}
	for _, k := range testenv.Sample(s3Kinds(), 3) {
		t.Run(k.name, func(t *testing.T) {
			s, failed := bucket(t, 20)
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			file, _, _ := strings.Cut(k.dst, ":")
			p, want := k.plan(t, dir+"/a.b2nd", "s3://data/d/"+k.dst, shape)
			workKilled(t, p, kills, func() bool {
				objects := s.Objects(t)
				return objects["d/"+file] != nil || objects["d/"+file+"/chunks.b2frame"] != nil
			})
			requireObjects(t, s, want+"/"+file, file)
			require.Positive(t, failed.Load())
		})
	}
}

// TestPlan_Work_s3Requests compares the requests of 1,000 workers, each with one shard, with
// docs/cluster/requests.md.
func TestPlan_Work_s3Requests(t *testing.T) {
	if !testenv.All() {
		t.Skip("counted with HYPERSLAB_ALL, because TestStore_requests counts the calls below")
	}
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{1000, 16}, ChunkShape: []int64{1, 16}, DType: ndarray.DTypeOf[float32]()}
	d, err := hyperslab.Create(t.Context(), dir+"/a.b2nd", spec, nil)
	require.NoError(t, err)
	v := make([]float32, d.NumElems())
	for i := range v {
		v[i] = float32(i + 1)
	}
	require.NoError(t, ndarray.Write(t.Context(), d.Array, v, ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(t.Context()))
	text, err := os.ReadFile("../docs/cluster/requests.md")
	require.NoError(t, err)
	for _, test := range []struct {
		name    string
		options plan.Options
	}{{"contiguous b2nd", plan.Options{}}, {"sparse b2nd", plan.Options{Sparse: true}}} {
		t.Run(test.name, func(t *testing.T) {
			var requests atomic.Int64
			serve(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				requests.Add(1)
				next.ServeHTTP(w, r)
			})
			test.options.ShardBytes, test.options.Workers = 64, 1
			p := planned(t, "copy", dir+"/a.b2nd", "s3://data/out.b2nd", func(*ndarray.Spec) {}, test.options)
			require.Equal(t, int64(1000), p.Stages[0].Shards)
			requests.Store(0)
			all(t, p)
			work := requests.Swap(0)
			require.NoError(t, p.Commit(t.Context(), nil))
			require.Contains(t, string(text), fmt.Sprintf("| %s | %d | %d |", test.name, work, requests.Load()))
		})
	}
}

// TestPlan_requestsOfData counts the requests for elements that a worker reads from a source in a
// bucket, and that Commit reads from the parts: neighbouring chunks are merged.
func TestPlan_requestsOfData(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{64, 1 << 16}, ChunkShape: []int64{1, 1 << 16}, DType: ndarray.DTypeOf[int64]()}
	d, err := hyperslab.Create(t.Context(), dir+"/a.b2nd", spec, nil)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]int64, d.NumElems())
	for i := range v {
		v[i] = r.Int64()
	}
	require.NoError(t, ndarray.Write(t.Context(), d.Array, v, ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(t.Context()))
	for name, change := range map[string]func(*ndarray.Spec){
		"same chunks":  func(*ndarray.Spec) {},
		"other chunks": func(s *ndarray.Spec) { s.ChunkShape = []int64{2, 1 << 15} },
	} {
		for _, file := range []string{"out.b2nd", "out.h5:/x"} {
			t.Run(name+" "+file, func(t *testing.T) {
				var data atomic.Int64
				serve(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					if r.Method == http.MethodGet && r.Header.Get("Range") != "" {
						data.Add(1)
					}
					next.ServeHTTP(w, r)
				})
				upload := planned(t, "copy", dir+"/a.b2nd", "s3://data/a.b2nd", func(*ndarray.Spec) {}, plan.Options{ShardBytes: 8 << 20})
				all(t, upload)
				data.Store(0)
				require.NoError(t, upload.Commit(t.Context(), nil))
				require.LessOrEqual(t, data.Load(), int64(24), "of 32 MiB in 4 parts: at most 3 requests for their chunks and 3 to open them")
				p := planned(t, "rechunk", "s3://data/a.b2nd", "s3://data/"+file, change, plan.Options{ShardBytes: 8 << 20, Compact: strings.Contains(file, ".h5")})
				data.Store(0)
				all(t, p)
				require.LessOrEqual(t, data.Swap(0), 5*p.Stages[0].Shards, "of each worker")
				require.NoError(t, p.Commit(t.Context(), nil))
				require.LessOrEqual(t, data.Load(), 6*p.Stages[0].Shards)
			})
		}
	}
}
