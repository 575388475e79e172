// Trees of arrays.

package filetest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CopyTree copies the tree at a location.
func CopyTree(ctx context.Context, dst, location string, o *hyperslab.TreeOptions, from ...*hyperslab.OpenOptions) (stats hyperslab.TreeStats, err error) {
	var files *hyperslab.OpenOptions
	if len(from) > 0 {
		files = from[0]
	}
	src, err := hyperslab.OpenTree(ctx, location, files)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	return hyperslab.CopyTree(ctx, dst, src, o)
}

// OpenTree opens a tree until the end of the test.
func OpenTree(t interface {
	require.TestingT
	Helper()
	Cleanup(f func())
}, location string, o *hyperslab.OpenOptions) *hyperslab.Tree {
	t.Helper()
	tree, err := hyperslab.OpenTree(context.Background(), location, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

// GroupAttrs reads the attributes of the group at a location.
func GroupAttrs(location string, o *hyperslab.OpenOptions) (attrs ndarray.Attrs, err error) {
	tree, err := hyperslab.OpenTree(context.Background(), location, o)
	if err != nil {
		return attrs, err
	}
	l, err := locate.Parse(location)
	if err == nil {
		attrs, err = tree.GroupAttrs(context.Background(), l.Object)
	}
	return attrs, errors.Join(err, tree.Close())
}

// Walk returns the entries of a walk without errors.
func Walk(t *testing.T, location string) []hyperslab.Entry {
	t.Helper()
	var all []hyperslab.Entry
	for e, err := range hyperslab.Walk(context.Background(), location, nil) {
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}

// WriteObjects writes an HDF5 file with every kind of object and link that Walk reports.
func WriteObjects(t *testing.T, file string) {
	t.Helper()
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	root := f.Root()
	dataset := func(name string, dt h5.Datatype, space h5.Dataspace, o *h5.DatasetOptions) {
		d, err := root.CreateDataset(name, dt, space, o)
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	level := 6
	dataset("b/data", h5.Int(4, h5.BigEndian), h5.SimpleSpace(10, 6), &h5.DatasetOptions{ChunkShape: []int64{4, 6}, Shuffle: true, Deflate: &level})
	dataset("b/words", h5.VariableString(h5.UTF8), h5.SimpleSpace(2), nil)
	dataset("a", h5.IEEEFloat(8, h5.LittleEndian), h5.ScalarSpace(), nil)
	dataset("nothing", h5.IEEEFloat(8, h5.LittleEndian), h5.NullSpace(), nil)
	part := h5.Int(2, h5.LittleEndian)
	for range 40 { // deeper than an element type of ndarray can be
		part = h5.SequenceOf(part)
	}
	record := h5.CompoundOf(h5.Member{Name: "f", Type: &part})
	dataset("records", record, h5.SimpleSpace(3), nil)
	g, err := root.CreateGroup("b/inner")
	require.NoError(t, err)
	require.NoError(t, g.LinkHard("up", "/b"))          // a cycle
	require.NoError(t, g.LinkHard("again", "/b/data"))  // a second name
	require.NoError(t, g.LinkSoft("soft", "/b/data"))   // to an object
	require.NoError(t, g.LinkSoft("dangling", "/none")) // to no object
	require.NoError(t, g.LinkExternal("outside", "other.h5", "/x"))
	require.NoError(t, g.WriteAttribute(h5.Attribute{
		Name: "note", Datatype: h5.Int(4, h5.LittleEndian), Space: h5.ScalarSpace(), Data: []byte{1, 0, 0, 0},
	}))
	require.NoError(t, g.LinkHard("root", "/")) // the largest cycle
	require.NoError(t, g.Close())
	require.NoError(t, f.Close())
}
