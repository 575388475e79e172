package draft_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestObjects_Run(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	source, other, target := in("a.h5"), in("b.h5"), in("c.h5")
	filetest.Save(t, source+":/g/x", filetest.Int32s(5, 3), nil)
	filetest.Save(t, other+":/y", filetest.Int32s(7), nil)
	shape := func(location string) []int64 {
		a, err := hyperslab.Open(t.Context(), location, nil)
		require.NoError(t, err)
		defer a.Close()
		return a.Shape()
	}
	copied := func(o *hyperslab.ObjectOptions, pairs ...string) error {
		var list []hyperslab.ObjectCopy
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, hyperslab.ObjectCopy{From: pairs[i], To: pairs[i+1]})
		}
		_, err := hyperslab.CopyObjects(t.Context(), target, list, o)
		return err
	}

	t.Run("errors leave no file", func(t *testing.T) {
		for _, x := range []struct {
			pairs []string
			want  error
		}{
			{nil, ndarray.ErrParam},
			{[]string{source, "/x"}, ndarray.ErrParam},
			{[]string{source + ":/g/x", "/"}, ndarray.ErrParam},
			{[]string{source + ":/nope", "/x"}, ndarray.ErrNotFound},
			{[]string{in("nope.h5") + ":/g", "/x"}, ndarray.ErrNotFound},
			{[]string{source + ":/g/x", "/x", other + ":/y", "/x"}, ndarray.ErrParam},
		} {
			require.ErrorIs(t, copied(nil, x.pairs...), x.want, "%q", x.pairs)
			require.NoFileExists(t, target)
		}
	})
	t.Run("new file", func(t *testing.T) {
		require.NoError(t, copied(nil, source+":/g/x", "/new/x", other+":/y", "y"))
		require.Equal(t, []int64{5, 3}, shape(target+":/new/x"))
		require.Equal(t, []int64{7}, shape(target+":/y"))
	})
	t.Run("existing object", func(t *testing.T) {
		before, err := os.ReadFile(target)
		require.NoError(t, err)
		require.ErrorIs(t, copied(nil, source+":/g/x", "/y"), ndarray.ErrExists)
		after, err := os.ReadFile(target)
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.NoError(t, copied(&hyperslab.ObjectOptions{Overwrite: true}, source+":/g/x", "/y"))
		require.Equal(t, []int64{5, 3}, shape(target+":/y"))
	})
	t.Run("within a file, in place", func(t *testing.T) {
		require.NoError(t, copied(&hyperslab.ObjectOptions{InPlace: true}, target+":/new", "/copy/new", other+":/y", "/copy/y"))
		require.Equal(t, []int64{5, 3}, shape(target+":/copy/new/x"))
		require.Equal(t, []int64{7}, shape(target+":/copy/y"))
		require.ErrorIs(t, copied(&hyperslab.ObjectOptions{Overwrite: true}, target+":/copy/y", "/copy"), ndarray.ErrParam)
	})
	t.Run("lock of the caller", func(t *testing.T) {
		lock, err := hyperslab.LockFile(t.Context(), target, nil)
		require.NoError(t, err)
		for i, inPlace := range []bool{false, true} {
			to := []string{"/locked/0", "/locked/1"}[i]
			require.NoError(t, copied(&hyperslab.ObjectOptions{Lock: lock, InPlace: inPlace}, other+":/y", to))
		}
		require.NoError(t, lock.Release())
		require.Equal(t, []int64{7}, shape(target+":/locked/1"))
	})
	t.Run("target of another format", func(t *testing.T) {
		frame := in("d.b2nd")
		filetest.Save(t, frame, filetest.Int32s(2), nil)
		_, err := hyperslab.CopyObjects(t.Context(), frame, []hyperslab.ObjectCopy{{From: other + ":/y", To: "/y"}}, nil)
		require.ErrorIs(t, err, ndarray.ErrParam)
		require.False(t, errors.Is(err, ndarray.ErrExists))
	})
}
