package treediff_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// compareFile writes an HDF5 file with the arrays /a and /g/b, whose last element is given, and
// with a given attribute of /g.
func compareFile(t *testing.T, name string, last int32, unit string) string {
	t.Helper()
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), name)
	for _, object := range []string{"/a", "/g/b"} {
		d, err := hyperslab.Create(ctx, file+":"+object, ndarray.Spec{DType: ndarray.DTypeOf[int32](), Shape: []int64{4}, ChunkShape: []int64{2}}, nil)
		require.NoError(t, err)
		defer d.Close()
		require.NoError(t, ndarray.Write(ctx, d.Array, []int32{1, 2, 3, last}, ndarray.Whole(d.Shape())))
		require.NoError(t, d.Commit(ctx))
	}
	require.NoError(t, hyperslab.EditGroupAttrs(ctx, file+":/g", []ndarray.Attr{{Name: "unit", Value: ndarray.Text(unit)}}, nil))
	return file
}

func TestCompare(t *testing.T) {
	ctx := context.Background()
	x, y := compareFile(t, "x.h5", 4, "m"), compareFile(t, "y.h5", 5, "km")

	t.Run("same file", func(t *testing.T) {
		r, err := hyperslab.Compare(ctx, filetest.OpenTree(t, x, nil), filetest.OpenTree(t, x, nil), nil)
		require.NoError(t, err)
		require.Equal(t, &hyperslab.CompareReport{Compared: 4}, r)
	})
	t.Run("values and attributes", func(t *testing.T) {
		var done, total int64
		r, err := hyperslab.Compare(ctx, filetest.OpenTree(t, x, nil), filetest.OpenTree(t, y, nil), &hyperslab.CompareOptions{CompareOptions: ndarray.CompareOptions{
			Progress: func(p ndarray.Progress) { done, total = p.DoneBytes, p.TotalBytes },
		}})
		require.NoError(t, err)
		require.Len(t, r.Differences, 3)
		require.Equal(t, "/a", r.Differences[0].Path)
		require.Equal(t, []ndarray.Difference{{Index: []int64{3}, A: "4", B: "5"}}, r.Differences[0].Array.Diffs)
		require.Equal(t, []ndarray.AttrDifference{{Name: "unit", A: `string "m"`, B: `string "km"`}}, r.Differences[1].Attrs)
		require.Equal(t, "/g/b", r.Differences[2].Path)
		require.Equal(t, [2]int64{32, 32}, [2]int64{done, total})
	})
	t.Run("without progress", func(t *testing.T) { // arrays are described only if they differ
		w := filepath.Join(t.TempDir(), "w.h5")
		filetest.WriteObjects(t, w)
		for _, files := range [][2]string{{w, w}, {w, x}, {x, w}, {x, y}} {
			with, err := hyperslab.Compare(ctx, filetest.OpenTree(t, files[0], nil), filetest.OpenTree(t, files[1], nil), &hyperslab.CompareOptions{CompareOptions: ndarray.CompareOptions{Progress: func(ndarray.Progress) {}}})
			require.NoError(t, err)
			without, err := hyperslab.Compare(ctx, filetest.OpenTree(t, files[0], nil), filetest.OpenTree(t, files[1], nil), nil)
			require.NoError(t, err)
			for i := range with.Differences {
				with.Differences[i].Time = 0
			}
			for i := range without.Differences {
				without.Differences[i].Time = 0
			}
			require.Equal(t, with, without)
		}
	})
	t.Run("excluded objects", func(t *testing.T) {
		r, err := hyperslab.Compare(ctx, filetest.OpenTree(t, x, nil), filetest.OpenTree(t, y, nil), &hyperslab.CompareOptions{Exclude: func(path string) bool { return path == "/g" }})
		require.NoError(t, err)
		require.Len(t, r.Differences, 1)
		require.Equal(t, 2, r.Compared)
	})
	t.Run("group below a path", func(t *testing.T) {
		r, err := hyperslab.Compare(ctx, filetest.OpenTree(t, x+":/g", nil), filetest.OpenTree(t, y+":/g", nil), &hyperslab.CompareOptions{ValuesOnly: true})
		require.NoError(t, err)
		require.Len(t, r.Differences, 1)
		require.Equal(t, "/b", r.Differences[0].Path)
		require.Equal(t, "/g/b", r.Differences[0].A.Path)
	})
	t.Run("two arrays", func(t *testing.T) {
		r, err := hyperslab.Compare(ctx, filetest.OpenTree(t, x+":/a", nil), filetest.OpenTree(t, y+":/g/b", nil), nil)
		require.NoError(t, err)
		require.Len(t, r.Differences, 1)
		require.Equal(t, "/", r.Differences[0].Path)
		require.EqualValues(t, 1, r.Differences[0].Array.NumDiffs)
	})
	t.Run("other format and missing objects", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "x")
		_, err := filetest.CopyTree(ctx, dir, x, nil)
		require.NoError(t, err)
		r, err := hyperslab.Compare(ctx, filetest.OpenTree(t, x, nil), filetest.OpenTree(t, dir, nil), nil)
		require.NoError(t, err)
		require.Equal(t, &hyperslab.CompareReport{Compared: 4}, r)
		r, err = hyperslab.Compare(ctx, filetest.OpenTree(t, x+":/g", nil), filetest.OpenTree(t, dir, nil), nil)
		require.NoError(t, err)
		require.Len(t, r.Differences, 5)
		require.Nil(t, r.Differences[1].A)
		require.Equal(t, hyperslab.Array, r.Differences[1].B.Kind)
	})
	t.Run("encoding", func(t *testing.T) {
		other := filepath.Join(t.TempDir(), "z.h5")
		_, err := filetest.CopyTree(ctx, other, x, &hyperslab.TreeOptions{Adjust: func(_ string, _ ndarray.Meta, s *ndarray.Spec, _ *int) error {
			s.ChunkShape = []int64{4}
			return nil
		}})
		require.NoError(t, err)
		for encoding, want := range map[bool]int{false: 0, true: 2} {
			r, err := hyperslab.Compare(ctx, filetest.OpenTree(t, x, nil), filetest.OpenTree(t, other, nil), &hyperslab.CompareOptions{Encoding: encoding})
			require.NoError(t, err)
			require.Len(t, r.Differences, want)
		}
	})
	t.Run("untrusted files", func(t *testing.T) {
		untrusted := &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{}}
		r, err := hyperslab.Compare(ctx, filetest.OpenTree(t, x, untrusted), filetest.OpenTree(t, y, untrusted), nil)
		require.NoError(t, err)
		require.Len(t, r.Differences, 3)
	})
	t.Run("error of Prepare", func(t *testing.T) {
		stop := errors.New("stop")
		_, err := hyperslab.Compare(ctx, filetest.OpenTree(t, x, nil), filetest.OpenTree(t, y, nil), &hyperslab.CompareOptions{Prepare: func(_, _ *ndarray.Array, _ *int) error { return stop }})
		require.ErrorIs(t, err, stop)
	})
	t.Run("closed tree", func(t *testing.T) {
		closed := filetest.OpenTree(t, y, nil)
		require.NoError(t, closed.Close())
		_, err := hyperslab.Compare(ctx, filetest.OpenTree(t, x, nil), closed, nil)
		require.ErrorIs(t, err, ndarray.ErrClosed)
	})
}
