package h5tree_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestTree_GroupAttrs_orders reads groups and arrays in orders in which the group of the object
// before is a parent, a child, or neither, and by several goroutines.
func TestTree_GroupAttrs_orders(t *testing.T) {
	name := filetest.In(t.TempDir(), "x.h5")
	paths := []string{"/"}
	for _, top := range []string{"/a", "/ab", "/a/b", "/a/b/a", "/a/b/a/b", "/ab/a"} {
		paths = append(paths, top)
		filetest.Save(t, name+":"+top+"/x", filetest.Int32s(int64(len(top))), nil)
	}
	for _, p := range paths {
		require.NoError(t, hyperslab.EditGroupAttrs(bg, name+":"+p, []ndarray.Attr{{Name: "path", Value: ndarray.Text(p)}}, nil))
	}
	tree, err := hyperslab.OpenTree(bg, name, nil)
	require.NoError(t, err)
	defer tree.Close()
	check := func(p string) error {
		attrs, err := tree.GroupAttrs(bg, p)
		if err != nil {
			return err
		}
		if v, ok := attrs.Get("path"); !ok || !v.Equal(ndarray.Text(p)) {
			return fmt.Errorf("attribute of %s: got %v", p, v)
		}
		if p == "/" {
			return nil
		}
		a, err := tree.Open(bg, p+"/x")
		if err != nil {
			return err
		}
		if n := a.Shape()[0]; n != int64(len(p)) {
			err = fmt.Errorf("shape of %s/x: got %d", p, n)
		}
		return errors.Join(err, a.Close())
	}
	var g errgroup.Group
	for i := range len(paths) {
		order := slices.Concat(paths[i:], paths[:i])
		if i%2 == 0 {
			slices.Reverse(order)
		}
		for _, p := range order {
			require.NoError(t, check(p))
			g.Go(func() error { return check(p) })
		}
	}
	require.NoError(t, g.Wait())
	_, err = tree.GroupAttrs(bg, "/a/none/b")
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	require.ErrorContains(t, err, "/a/none/b")
	require.NoError(t, check("/a/b"))
}

func TestTree_GroupAttrs(t *testing.T) {
	dir := t.TempDir()
	filetest.Grove(t, filetest.In(dir, "g.h5"))
	_, err := filetest.CopyTree(bg, filetest.In(dir, "g"), filetest.In(dir, "g.h5"), nil)
	require.NoError(t, err)
	for _, tree := range []string{"g.h5", "g"} {
		deep := filetest.In(dir, tree) + ":/deep"
		attrs, err := filetest.GroupAttrs(deep, nil)
		require.NoError(t, err)
		require.Len(t, attrs.List, 2)
		one, two := ndarray.Attr{Name: "n", Value: ndarray.Scalar(2.5)}, ndarray.Attr{Name: "new", Value: ndarray.Text("x")}
		require.NoError(t, hyperslab.EditGroupAttrs(bg, deep, []ndarray.Attr{one, two}, []string{"unit"}))
		attrs, err = filetest.GroupAttrs(deep, nil)
		require.NoError(t, err)
		require.Len(t, attrs.List, 2)
		for _, want := range []ndarray.Attr{one, two} {
			v, ok := attrs.Get(want.Name)
			require.True(t, ok)
			require.True(t, v.Equal(want.Value))
		}
		require.NoError(t, hyperslab.EditGroupAttrs(bg, filetest.In(dir, tree), []ndarray.Attr{one}, nil), "the root")
		attrs, err = filetest.GroupAttrs(filetest.In(dir, tree)+":/", nil)
		require.NoError(t, err)
		require.Len(t, attrs.List, 2)

		require.ErrorIs(t, hyperslab.EditGroupAttrs(bg, deep, nil, []string{"none"}), ndarray.ErrNotFound)
		require.ErrorIs(t, hyperslab.EditGroupAttrs(bg, deep+"/none", []ndarray.Attr{one}, nil), ndarray.ErrNotFound)
		require.ErrorIs(t, hyperslab.EditGroupAttrs(bg, deep, []ndarray.Attr{{}}, nil), ndarray.ErrParam)
		_, err = filetest.GroupAttrs(deep+"/none", nil)
		require.ErrorIs(t, err, ndarray.ErrNotFound)
	}
	wide := ndarray.Attr{Name: "u", Value: ndarray.Value{DType: ndarray.DType{Kind: ndarray.Unicode, Size: 4, Order: ndarray.Little}, Data: make([]byte, 4)}}
	require.ErrorIs(t, hyperslab.EditGroupAttrs(bg, filetest.In(dir, "g.h5"), []ndarray.Attr{wide}, nil), errors.ErrUnsupported)
	require.NoError(t, hyperslab.EditGroupAttrs(bg, filetest.In(dir, "g"), []ndarray.Attr{wide}, nil))

	// A directory that another program has created has no attribute file.
	require.NoError(t, os.Remove(filetest.In(dir, "g/deep/__group__.b2nd")))
	attrs, err := filetest.GroupAttrs(filetest.In(dir, "g:/deep"), nil)
	require.NoError(t, err)
	require.Empty(t, attrs.List)
	require.NoError(t, hyperslab.EditGroupAttrs(bg, filetest.In(dir, "g:/deep"), []ndarray.Attr{wide}, nil))
	attrs, err = filetest.GroupAttrs(filetest.In(dir, "g:/deep"), nil)
	require.NoError(t, err)
	require.Len(t, attrs.List, 1)

	table := testenv.Module(t, "internal/format/bcolztree/testdata/table")
	_, err = filetest.GroupAttrs(table, nil)
	require.NoError(t, err)
	require.ErrorIs(t, hyperslab.EditGroupAttrs(bg, table, nil, nil), errors.ErrUnsupported)
	_, err = filetest.GroupAttrs(table+":/x", nil)
	require.ErrorIs(t, err, ndarray.ErrParam)
	filetest.Save(t, filetest.In(dir, "a.b2nd"), filetest.Int32s(3), nil)
	_, err = filetest.GroupAttrs(filetest.In(dir, "a.b2nd"), nil)
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = filetest.GroupAttrs(filetest.In(dir, "none"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
}
