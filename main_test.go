package hyperslab_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/ndarray"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

// withoutInit is the environment variable that makes this test binary a program without
// worker.Init.
const withoutInit = "FORMATS_TEST_WITHOUT_INIT"

func TestMain(m *testing.M) {
	if os.Getenv(withoutInit) == "" {
		worker.Init()
	}
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left})
}

var bg = context.Background()

// save creates and commits an array with the values 0, 1, 2, ….
func save(t *testing.T, location string, spec ndarray.Spec, opts *hyperslab.CreateOptions) {
	t.Helper()
	d, err := hyperslab.Create(bg, location, spec, opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, ndarray.Write(bg, d.Array, count(d.NumElems()), ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(bg))
}

// requireSandbox returns the isolation of the worker that reads an array.
func requireSandbox(t *testing.T, a *ndarray.Array) string {
	t.Helper()
	s, err := a.Storage(bg)
	require.NoError(t, err)
	require.NotEmpty(t, s.Isolation)
	return s.Isolation
}

func count(n int64) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(i)
	}
	return v
}

func int32s(shape ...int64) ndarray.Spec {
	return ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[int32]()}
}

// entries returns the names in a directory, including temporary files.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func requireCount(t *testing.T, location string) {
	t.Helper()
	a, err := hyperslab.Open(bg, location, nil)
	require.NoError(t, err)
	got, err := ndarray.ReadAll[int32](bg, a)
	require.NoError(t, err)
	require.Equal(t, count(a.NumElems()), got)
	require.NoError(t, a.Close())
}

// in returns the path or location name in a directory. Unlike filepath.Join it keeps ":/" at the
// end.
func in(dir, name string) string { return dir + "/" + name }
