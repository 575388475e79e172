package draft_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/ndarray"
)

// addition creates an array in a file and writes its values.
func addition(t *testing.T, location string, opts *hyperslab.CreateOptions) *hyperslab.Draft {
	t.Helper()
	d, err := hyperslab.Create(bg, location, filetest.Int32s(7), opts)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(bg, d.Array, filetest.Count(7), ndarray.Whole(d.Shape())))
	return d
}

func TestCreate_ExistingHDF5(t *testing.T) {
	for _, mode := range []struct {
		name string
		opts *hyperslab.CreateOptions
	}{
		{"copy", nil},
		{"in place", &hyperslab.CreateOptions{InPlace: true}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "f.h5")
			filetest.Save(t, file+":/a", filetest.Int32s(5), nil)
			over := &hyperslab.CreateOptions{Overwrite: true, InPlace: mode.opts != nil}

			t.Run("add", func(t *testing.T) {
				filetest.Save(t, file+":/g/b", filetest.Int32s(3), mode.opts)
				filetest.RequireCount(t, file+":/a")
				filetest.RequireCount(t, file+":/g/b")
			})
			t.Run("existing object", func(t *testing.T) {
				_, err := hyperslab.Create(bg, file+":/a", filetest.Int32s(7), mode.opts)
				require.ErrorIs(t, err, ndarray.ErrExists)
			})
			t.Run("group", func(t *testing.T) {
				_, err := hyperslab.Create(bg, file+":/g", filetest.Int32s(7), over)
				require.ErrorIs(t, err, ndarray.ErrParam)
			})
			t.Run("path through an array", func(t *testing.T) {
				_, err := hyperslab.Create(bg, file+":/a/b", filetest.Int32s(7), over)
				require.Error(t, err)
			})
			t.Run("discard", func(t *testing.T) {
				for _, object := range []string{":/a", ":/new"} {
					require.NoError(t, addition(t, file+object, over).Close())
				}
				_, err := hyperslab.Open(bg, file+":/new", nil)
				require.ErrorIs(t, err, ndarray.ErrNotFound)
				a, err := hyperslab.Open(bg, file+":/a", nil)
				require.NoError(t, err)
				require.Equal(t, []int64{5}, a.Shape())
				require.NoError(t, a.Close())
				filetest.RequireCount(t, file+":/a")
			})
			t.Run("replace", func(t *testing.T) {
				require.NoError(t, addition(t, file+":/a", over).Commit(bg))
				filetest.RequireCount(t, file+":/a")
				filetest.RequireCount(t, file+":/g/b")
				f, err := h5.Open(file, h5.ReadOnly)
				require.NoError(t, err)
				var names []string
				for l, err := range f.Root().Links() {
					require.NoError(t, err)
					names = append(names, l.Name)
				}
				require.NoError(t, f.Close())
				require.Equal(t, []string{"a", "g"}, names)
			})
			t.Run("symbolic link", func(t *testing.T) {
				link := filepath.Join(t.TempDir(), "link.h5")
				require.NoError(t, os.Symlink(file, link))
				filetest.Save(t, link+":/l", filetest.Int32s(2), mode.opts)
				filetest.RequireCount(t, file+":/l")
				info, err := os.Lstat(link)
				require.NoError(t, err)
				require.Equal(t, os.ModeSymlink, info.Mode().Type())
			})
			require.Equal(t, []string{"f.h5"}, filetest.Entries(t, dir))
			testutil.Python(t, []string{"h5py", "numpy"}, "-c", `import h5py, sys, numpy as np
with h5py.File(sys.argv[1]) as f:
    for name, n in ("a", 7), ("g/b", 3), ("l", 2):
        assert np.array_equal(f[name][()], np.arange(n)), name
    assert sorted(f) == ["a", "g", "l"], list(f)`, file)
		})
	}
	t.Run("other change meanwhile", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "f.h5")
		filetest.Save(t, file+":/a", filetest.Int32s(5), nil)
		d := addition(t, file+":/b", nil)
		require.NoError(t, os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)))
		require.ErrorContains(t, d.Commit(bg), "changed by another program")
		require.NoError(t, d.Close())
		require.Equal(t, []string{"f.h5"}, filetest.Entries(t, filepath.Dir(file)))
		filetest.RequireCount(t, file+":/a")
	})
	t.Run("not HDF5", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "f.h5")
		require.NoError(t, os.WriteFile(file, []byte("text"), 0o644))
		_, err := hyperslab.Create(bg, file+":/a", filetest.Int32s(5), &hyperslab.CreateOptions{Overwrite: true})
		require.ErrorIs(t, err, ndarray.ErrFormat)
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "text", string(b))
	})
	t.Run("in place of another format", func(t *testing.T) {
		_, err := hyperslab.Create(bg, filepath.Join(t.TempDir(), "f.b2nd"), filetest.Int32s(5), &hyperslab.CreateOptions{InPlace: true})
		require.ErrorIs(t, err, ndarray.ErrParam)
	})
}

// TestCreate_inPlaceExists checks that a draft that is refused in place leaves the existing object.
func TestCreate_inPlaceExists(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.h5")
	spec := ndarray.Spec{Shape: []int64{3}, DType: ndarray.DTypeOf[int64]()}
	put := func(o *hyperslab.CreateOptions) error {
		d, err := hyperslab.Create(context.Background(), file+":/x", spec, o)
		if err != nil {
			return err
		}
		return errors.Join(d.Commit(context.Background()), d.Close())
	}
	require.NoError(t, put(nil))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := put(&hyperslab.CreateOptions{InPlace: true}); !errors.Is(err, ndarray.ErrExists) {
				panic(err)
			}
		})
	}
	wg.Wait()
	a, err := hyperslab.Open(context.Background(), file+":/x", nil)
	require.NoError(t, err)
	require.NoError(t, a.Close())
}
