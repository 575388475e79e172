package h5objects_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5objects"
	"github.com/hyperslab/hyperslab/ndarray"
)

// create writes an array of two elements.
func create(t *testing.T, location string, values ...int32) {
	t.Helper()
	draft, err := hyperslab.Create(t.Context(), location, ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int32]()}, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(t.Context(), draft.Array, values, ndarray.Whole([]int64{2})))
	require.NoError(t, draft.Commit(t.Context()))
	require.NoError(t, draft.Close())
}

// read returns the elements of an array of two elements.
func read(t *testing.T, location string) []int32 {
	t.Helper()
	arr, err := hyperslab.Open(t.Context(), location, nil)
	require.NoError(t, err)
	defer arr.Close()
	values := make([]int32, 2)
	require.NoError(t, ndarray.Read(t.Context(), arr, values, ndarray.Whole([]int64{2})))
	return values
}

func TestCopy_Run(t *testing.T) {
	dir := t.TempDir()
	first, second, target := filepath.Join(dir, "1.h5"), filepath.Join(dir, "2.h5"), filepath.Join(dir, "3.h5")
	create(t, first+":/a", 1, 2)
	create(t, second+":/g/b", 3, 4)
	create(t, target+":/old", 5, 6)
	open := map[string]*h5.File{}
	for _, name := range []string{first, second, target} {
		f, err := h5.Open(name, h5.ReadWrite)
		require.NoError(t, err)
		open[name] = f
		defer func() { require.NoError(t, f.Close()) }()
	}
	released := 0
	run := func(c h5objects.Copy) error {
		c.Target = target
		c.Open = func(file string) (*h5.File, error) { return open[file], nil }
		c.Release = func() error { released++; return nil }
		return c.Run(t.Context(), open[target])
	}

	require.NoError(t, run(h5objects.Copy{Sources: []h5objects.Source{
		{File: first, Path: "/a", To: "/x/a"}, {File: second, Path: "/g", To: "/x/g"}, {File: target, Path: "/old", To: "/new", Within: true},
	}}))
	require.Equal(t, 6, released, "each file is checked and copied")
	require.NoError(t, open[target].Flush())
	require.Equal(t, []int32{1, 2}, read(t, target+":/x/a"))
	require.Equal(t, []int32{3, 4}, read(t, target+":/x/g/b"))
	require.Equal(t, []int32{5, 6}, read(t, target+":/new"))

	t.Run("existing target", func(t *testing.T) {
		c := h5objects.Copy{Sources: []h5objects.Source{{File: second, Path: "/g/b", To: "/old"}}}
		err := run(c)
		require.ErrorIs(t, err, ndarray.ErrExists)
		require.ErrorContains(t, err, "copy "+second+":/g/b: already exists: "+target+":/old")
		c.Replace = true
		require.NoError(t, run(c))
		require.NoError(t, open[target].Flush())
		require.Equal(t, []int32{3, 4}, read(t, target+":/old"))
	})
	t.Run("excluded object", func(t *testing.T) {
		require.NoError(t, run(h5objects.Copy{
			Sources: []h5objects.Source{{File: second, Path: "/g", To: "/empty"}},
			Exclude: func(path string) bool { return path == "/g/b" },
		}))
		there, err := open[target].Root().HasLink("/empty/b")
		require.NoError(t, err)
		require.False(t, there)
	})
	t.Run("missing source", func(t *testing.T) {
		err := run(h5objects.Copy{Sources: []h5objects.Source{{File: first, Path: "/nope", To: "/n"}}})
		require.ErrorIs(t, err, ndarray.ErrNotFound)
		there, err := open[target].Root().HasLink("/n")
		require.NoError(t, err)
		require.False(t, there)
	})
	t.Run("target above its source", func(t *testing.T) {
		c := h5objects.Copy{Sources: []h5objects.Source{{File: target, Path: "/x/g/b", To: "/x", Within: true}}, Replace: true}
		require.ErrorIs(t, run(c), ndarray.ErrParam)
		c.Open = func(file string) (*h5.File, error) { return open[file], nil }
		require.ErrorIs(t, c.CheckPaths(), ndarray.ErrParam)
		require.NoError(t, open[target].Flush())
		require.Equal(t, []int32{3, 4}, read(t, target+":/x/g/b"))
	})
}

func TestStoredBytes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.h5")
	create(t, file+":/g/a", 1, 2)
	create(t, file+":/g/h/b", 3, 4)
	f, err := h5.Open(file, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	one := h5objects.StoredBytes(t.Context(), f.Root(), "/g/a")
	require.Positive(t, one)
	require.Equal(t, 2*one, h5objects.StoredBytes(t.Context(), f.Root(), "/g"))
	require.Zero(t, h5objects.StoredBytes(t.Context(), f.Root(), "/nope"))
}

func TestDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o777))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	got, err := h5objects.Directory(filepath.Join(dir, "link", "new.h5"))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "real"), got)
}
