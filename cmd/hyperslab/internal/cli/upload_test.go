// Tests of commands that write to s3:// URLs.

package cli_test

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/s3test"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// bucketFor starts an S3 server in memory with the bucket "data", sets the environment for it and
// returns it. A request for which refuse returns true gets the status 403.
func bucketFor(t *testing.T, refuse func(*http.Request) bool) *s3test.Server {
	s := s3test.Start(t, nil, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if refuse != nil && refuse(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	t.Setenv("TMPDIR", t.TempDir())
	before := remote.DefaultClient // keeps the settings of the first bucket
	remote.DefaultClient = remote.NewClient(nil)
	t.Cleanup(func() { remote.DefaultClient = before })
	return s
}

// keysOf returns the names of the objects of the bucket, sorted.
func keysOf(t *testing.T, b *s3test.Server) []string {
	return slices.Sorted(maps.Keys(b.Objects(t)))
}

func TestRun_upload(t *testing.T) {
	dir := t.TempDir()
	values := make([]int32, 100)
	for i := range values {
		values[i] = int32(i)
	}
	create(t, dir+"/a.b2nd", ndarray.Spec{Shape: []int64{100}, ChunkShape: []int64{30}}, values)
	create(t, dir+"/x.h5:/g/a", ndarray.Spec{Shape: []int64{100}, ChunkShape: []int64{30}}, values)
	// --io-stats replaces the client: each command asks the server again.
	do := func(t *testing.T, code int, args ...string) string {
		t.Helper()
		_, stderr, got := run(append(args, "--io-stats")...)
		require.Equal(t, code, got, stderr)
		left, err := os.ReadDir(os.TempDir())
		require.NoError(t, err)
		require.Empty(t, left)
		return stderr
	}
	same := func(t *testing.T, a, b string) {
		t.Helper()
		want, _, _ := run("dump", "--csv", "--no-header", a)
		got, stderr, code := run("dump", "--csv", "--no-header", b, "--io-stats")
		require.Zero(t, code, stderr)
		require.Equal(t, want, got)
	}
	for _, c := range []struct {
		name, source, target, at string
		flags                    []string
	}{
		{"array", "a.b2nd", "s3://data/d/new.b2nd", "", nil},
		{"sparse frame", "a.b2nd", "s3://data/new.b2nd", "", []string{"--sparse"}},
		{"path in a new HDF5 file", "a.b2nd", "s3://data/new.h5", ":/g/a", nil},
		{"tree", "x.h5", "s3://data/new.h5", ":/g/a", nil},
		{"container", "x.h5", "s3://data/new.b2z", ":/g/a", nil},
		{"plain values", "a.b2nd", "s3://data/new.npy", "", nil},
	} {
		t.Run("convert/"+c.name, func(t *testing.T) {
			b := bucketFor(t, nil)
			target := c.target
			if c.source == "a.b2nd" {
				target += c.at
			}
			args := append([]string{"convert", dir + "/" + c.source, target}, c.flags...)
			do(t, 0, append(args, "--dry-run")...)
			require.Empty(t, keysOf(t, b))
			do(t, 0, args...)
			same(t, dir+"/a.b2nd", c.target+c.at)
			before := keysOf(t, b)
			require.Contains(t, do(t, 4, args...), "already exists")
			require.Equal(t, before, keysOf(t, b))
			do(t, 0, append(args, "-f")...)
			same(t, dir+"/a.b2nd", c.target+c.at)
			require.Equal(t, before, keysOf(t, b))
		})
	}
	t.Run("convert/document", func(t *testing.T) {
		bucketFor(t, nil)
		out, stderr, code := run("convert", dir+"/a.b2nd", "s3://data/new.b2nd", "--json", "--io-stats")
		require.Zero(t, code, stderr)
		require.Contains(t, out, `"target": "s3://data/new.b2nd"`)
	})
	t.Run("convert/several sources", func(t *testing.T) {
		b := bucketFor(t, nil)
		do(t, 0, "convert", "--into", "s3://data/all", "--format", "b2nd", dir+"/a.b2nd", dir+"/x.h5:/g/a")
		require.ElementsMatch(t, []string{"all/a.b2nd", "all/x-g-a.b2nd"}, keysOf(t, b))
	})
	for _, c := range [][]string{{"a.b2nd", "s3://data/c.b2nd", ""}, {"x.h5:/g/a", "s3://data/c.h5", ":/b"}, {"a.b2nd", "s3://data/c.h5", ":/b"}} {
		t.Run("cp/"+c[0]+" to "+c[1]+c[2], func(t *testing.T) {
			b := bucketFor(t, nil)
			args := []string{"cp", dir + "/" + c[0], c[1] + c[2]}
			do(t, 0, append(args, "--dry-run")...)
			require.Empty(t, keysOf(t, b))
			do(t, 0, args...)
			same(t, dir+"/a.b2nd", c[1]+c[2])
			do(t, 4, args...)
			do(t, 0, append(args, "-f")...)
			require.Len(t, keysOf(t, b), 1)
		})
	}
	t.Run("cp/download", func(t *testing.T) {
		bucketFor(t, nil)
		do(t, 0, "cp", dir+"/a.b2nd", "s3://data/c.b2nd")
		do(t, 0, "cp", "s3://data/c.b2nd", dir+"/back.b2nd")
		want, err := os.ReadFile(dir + "/a.b2nd")
		require.NoError(t, err)
		got, err := os.ReadFile(dir + "/back.b2nd")
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
	t.Run("repack", func(t *testing.T) {
		b := bucketFor(t, nil)
		do(t, 0, "repack", dir+"/x.h5", "s3://data/r.h5", "--chunks", "50")
		same(t, dir+"/a.b2nd", "s3://data/r.h5:/g/a")
		do(t, 4, "repack", dir+"/x.h5", "s3://data/r.h5")
		do(t, 0, "repack", "--replace", "s3://data/r.h5", "--codec", "none")
		same(t, dir+"/a.b2nd", "s3://data/r.h5:/g/a")
		do(t, 0, "repack", "--into", "s3://data/all/", dir+"/a.b2nd")
		require.ElementsMatch(t, []string{"all/a.b2nd", "r.h5"}, keysOf(t, b))
	})
	t.Run("failed request", func(t *testing.T) {
		b := bucketFor(t, func(r *http.Request) bool { return r.Method == http.MethodPut })
		do(t, 2, "convert", dir+"/a.b2nd", "s3://data/new.b2nd")
		do(t, 2, "convert", dir+"/a.b2nd", "s3://data/new.b2nd", "--sparse")
		require.Empty(t, keysOf(t, b))
	})
	t.Run("refused targets", func(t *testing.T) {
		b := bucketFor(t, nil)
		for _, args := range [][]string{
			{"convert", dir + "/a.b2nd", "https://example.com/x.b2nd"}, {"cp", dir + "/a.b2nd", "http://example.com/x.b2nd"},
			{"convert", dir + "/a.b2nd", "s3://data/x.bcolz"}, {"convert", dir + "/x.h5", "s3://data/x.b2d"}, {"convert", dir + "/x.h5", "s3://data/x"},
			{"convert", dir + "/a.b2nd", "s3://data/x.h5:/a", "--in-place"}, {"cp", dir + "/x.h5:/g/a", "s3://data/x.h5:/a", "--in-place"},
		} {
			require.Contains(t, do(t, 2, args...), "hyperslab "+args[0]+": ")
		}
		require.Empty(t, keysOf(t, b))
	})
}
