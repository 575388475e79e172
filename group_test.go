package hyperslab_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// groupAttrs reads the attributes of the group at a location.
func groupAttrs(location string, o *hyperslab.OpenOptions) (attrs ndarray.Attrs, err error) {
	tree, err := hyperslab.OpenTree(bg, location, o)
	if err != nil {
		return attrs, err
	}
	l, err := locate.Parse(location)
	if err == nil {
		attrs, err = tree.GroupAttrs(bg, l.Object)
	}
	return attrs, errors.Join(err, tree.Close())
}

func TestTree_GroupAttrs(t *testing.T) {
	dir := t.TempDir()
	grove(t, in(dir, "g.h5"))
	_, err := copyTree(bg, in(dir, "g"), in(dir, "g.h5"), nil)
	require.NoError(t, err)
	for _, tree := range []string{"g.h5", "g"} {
		deep := in(dir, tree) + ":/deep"
		attrs, err := groupAttrs(deep, nil)
		require.NoError(t, err)
		require.Len(t, attrs.List, 2)
		one, two := ndarray.Attr{Name: "n", Value: ndarray.Scalar(2.5)}, ndarray.Attr{Name: "new", Value: ndarray.Text("x")}
		require.NoError(t, hyperslab.EditGroupAttrs(bg, deep, []ndarray.Attr{one, two}, []string{"unit"}))
		attrs, err = groupAttrs(deep, nil)
		require.NoError(t, err)
		require.Len(t, attrs.List, 2)
		for _, want := range []ndarray.Attr{one, two} {
			v, ok := attrs.Get(want.Name)
			require.True(t, ok)
			require.True(t, v.Equal(want.Value))
		}
		require.NoError(t, hyperslab.EditGroupAttrs(bg, in(dir, tree), []ndarray.Attr{one}, nil), "the root")
		attrs, err = groupAttrs(in(dir, tree)+":/", nil)
		require.NoError(t, err)
		require.Len(t, attrs.List, 2)

		require.ErrorIs(t, hyperslab.EditGroupAttrs(bg, deep, nil, []string{"none"}), ndarray.ErrNotFound)
		require.ErrorIs(t, hyperslab.EditGroupAttrs(bg, deep+"/none", []ndarray.Attr{one}, nil), ndarray.ErrNotFound)
		require.ErrorIs(t, hyperslab.EditGroupAttrs(bg, deep, []ndarray.Attr{{}}, nil), ndarray.ErrParam)
		_, err = groupAttrs(deep+"/none", nil)
		require.ErrorIs(t, err, ndarray.ErrNotFound)
	}
	wide := ndarray.Attr{Name: "u", Value: ndarray.Value{DType: ndarray.DType{Kind: ndarray.Unicode, Size: 4, Order: ndarray.Little}, Data: make([]byte, 4)}}
	require.ErrorIs(t, hyperslab.EditGroupAttrs(bg, in(dir, "g.h5"), []ndarray.Attr{wide}, nil), errors.ErrUnsupported)
	require.NoError(t, hyperslab.EditGroupAttrs(bg, in(dir, "g"), []ndarray.Attr{wide}, nil))

	// A directory that another program has created has no attribute file.
	require.NoError(t, os.Remove(in(dir, "g/deep/__group__.b2nd")))
	attrs, err := groupAttrs(in(dir, "g:/deep"), nil)
	require.NoError(t, err)
	require.Empty(t, attrs.List)
	require.NoError(t, hyperslab.EditGroupAttrs(bg, in(dir, "g:/deep"), []ndarray.Attr{wide}, nil))
	attrs, err = groupAttrs(in(dir, "g:/deep"), nil)
	require.NoError(t, err)
	require.Len(t, attrs.List, 1)

	table := "internal/format/bcolztree/testdata/table"
	_, err = groupAttrs(table, nil)
	require.NoError(t, err)
	require.ErrorIs(t, hyperslab.EditGroupAttrs(bg, table, nil, nil), errors.ErrUnsupported)
	_, err = groupAttrs(table+":/x", nil)
	require.ErrorIs(t, err, ndarray.ErrParam)
	save(t, in(dir, "a.b2nd"), int32s(3), nil)
	_, err = groupAttrs(in(dir, "a.b2nd"), nil)
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = groupAttrs(in(dir, "none"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
}

// TestCopyTreeAdjust checks that Adjust can change the Spec of each array and that an error of
// Adjust stops the copy before anything is written.
func TestCopyTreeAdjust(t *testing.T) {
	dir := t.TempDir()
	grove(t, in(dir, "g.h5"))
	none := &hyperslab.TreeOptions{Adjust: func(path string, m ndarray.Meta, spec *ndarray.Spec, _ *int) error {
		if len(m.Shape) == 2 {
			spec.ChunkShape, spec.Compression = []int64{2, 2}, &ndarray.Compression{Codec: "deflate", Level: 1}
		}
		return nil
	}}
	_, err := copyTree(bg, in(dir, "o.h5"), in(dir, "g.h5"), none)
	require.NoError(t, err)
	requireSameTree(t, in(dir, "g.h5"), in(dir, "o.h5"))
	a, err := hyperslab.Open(bg, in(dir, "o.h5:/deep/er/records"), nil)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 2}, a.Meta().ChunkShape)
	require.Equal(t, 1, a.Meta().Compression.Level)
	require.NoError(t, a.Close())
	stop := errors.New("stop")
	_, err = copyTree(bg, in(dir, "p.h5"), in(dir, "g.h5"), &hyperslab.TreeOptions{
		Adjust: func(string, ndarray.Meta, *ndarray.Spec, *int) error { return stop },
	})
	require.ErrorIs(t, err, stop)
	require.NoFileExists(t, in(dir, "p.h5"))
}
