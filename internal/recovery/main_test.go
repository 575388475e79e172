package recovery_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestMain(m *testing.M) {
	worker.Init()
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left})
}

var bg = context.Background()

func squares(n int) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(i) * int64(i)
	}
	return v
}

// save writes an array of 20 by 30 squares with chunks of 6 by 7 and returns its file.
func save(t testing.TB, location string, opts *hyperslab.CreateOptions) string {
	t.Helper()
	l, err := locate.Parse(filepath.Join(t.TempDir(), location))
	require.NoError(t, err)
	spec := ndarray.Spec{Shape: []int64{20, 30}, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{6, 7}}
	if filepath.Ext(l.File) == ".bcolz" {
		spec.ChunkShape[1] = 30
	}
	d, err := hyperslab.Create(bg, l.String(), spec, opts)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(bg, d.Array, squares(600), ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(bg))
	return l.File
}

func values(t *testing.T, location string) []int64 {
	t.Helper()
	a, err := hyperslab.Open(bg, location, nil)
	require.NoError(t, err)
	v, err := ndarray.ReadAll[int64](bg, a)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	return v
}

// recovered recovers a file and checks that the source is unchanged.
func recovered(t *testing.T, src string, o *recovery.Options) (string, *recovery.Report) {
	t.Helper()
	dst := filepath.Join(t.TempDir(), "new"+filepath.Ext(src))
	before := content(t, src)
	r, err := recovery.Recover(bg, dst, src, o)
	require.NoError(t, err)
	require.Equal(t, before, content(t, src), "the corrupt file was changed")
	return dst, r
}

// content returns all bytes of a file or directory.
func content(t *testing.T, path string) map[string]string {
	t.Helper()
	m := map[string]string{}
	require.NoError(t, filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, rerr := os.ReadFile(p)
			m[p], err = string(b), rerr
		}
		return err
	}))
	return m
}

func change(t *testing.T, file string, f func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, f(b), 0o600))
}
