package hdf5_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// TestAttr_digests checks that attributes of unsupported types are equal if their values are equal,
// and differ otherwise. References are compared by the path of their object.
func TestAttr_digests(t *testing.T) {
	type entry struct {
		Name   string
		Values []int32
		To     h5.Ref
	}
	first := entry{Name: "a", Values: []int32{1, 2}}
	// file creates objects before the referenced one, so that the referenced object has another
	// address.
	file := func(before int, to string, x entry, region bool) string {
		path := filepath.Join(t.TempDir(), "a.h5")
		f, err := h5.Create(path, nil)
		require.NoError(t, err)
		for i := range before {
			g, err := f.Root().CreateGroup(string(rune('p' + i)))
			require.NoError(t, err)
			require.NoError(t, g.Close())
		}
		for _, name := range []string{"here", "there", "x"} {
			d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(6), nil)
			require.NoError(t, err)
			require.NoError(t, d.Close())
		}
		d, err := f.Root().OpenDataset("x")
		require.NoError(t, err)
		if region {
			r, err := f.Root().ReferenceRegion(to, h5.RegionReference, h5.Region{Start: []int64{1}, Count: []int64{int64(len(x.Values))}})
			require.NoError(t, err)
			v, err := h5value.Encode(h5.ReferenceType(h5.RegionReference), []h5.Ref{r})
			require.NoError(t, err)
			require.NoError(t, d.WriteAttribute(h5.Attribute{Name: "odd", Datatype: h5.ReferenceType(h5.RegionReference), Space: h5.SimpleSpace(1), Values: v}))
		} else {
			if to != "" {
				x.To, err = f.Root().Reference(to, h5.ObjectReference)
				require.NoError(t, err)
			} else {
				x.To = h5.Ref{Kind: h5.ObjectReference}
			}
			require.NoError(t, h5value.WriteAttr(d, "odd", []entry{x, x}))
		}
		require.NoError(t, d.Close())
		require.NoError(t, f.Close())
		return path
	}
	open := func(path string, o *hdf5.OpenOptions) *ndarray.Array {
		b, err := hdf5.Open(path, "/x", o)
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		return a
	}
	problem := func(a, b string, o *hdf5.OpenOptions) string {
		c, err := ndarray.Compare(t.Context(), open(a, nil), open(b, o), nil)
		require.NoError(t, err)
		if len(c.Attrs) == 0 {
			return ""
		}
		if c.Attrs[0].Unsupported {
			return "unsupported"
		}
		return "differs"
	}
	other := func(change func(*entry)) entry { x := first; change(&x); return x }
	one := file(0, "here", first, false)
	require.Empty(t, problem(one, one, nil))
	require.Empty(t, problem(one, file(5, "here", first, false), nil), "another address")
	for name, path := range map[string]string{
		"object": file(0, "there", first, false), "nothing": file(0, "", first, false),
		"text":   file(0, "here", other(func(x *entry) { x.Name = "b" }), false),
		"number": file(0, "here", other(func(x *entry) { x.Values = []int32{1, 3} }), false),
		"length": file(0, "here", other(func(x *entry) { x.Values = []int32{1} }), false),
	} {
		require.Equal(t, "differs", problem(one, path, nil), name)
	}
	region := file(0, "here", first, true)
	require.Empty(t, problem(region, file(3, "here", first, true), nil))
	require.Equal(t, "differs", problem(region, file(0, "here", other(func(x *entry) { x.Values = x.Values[:1] }), true), nil))

	// A reference in an untrusted file may have any target.
	require.Equal(t, "unsupported", problem(one, one, &hdf5.OpenOptions{Untrusted: true}))
	b, err := hdf5.Open(one, "/x", &hdf5.OpenOptions{Untrusted: true})
	require.NoError(t, err)
	_, err = b.(interface {
		AttrDigest(context.Context, string) ([32]byte, error)
	}).AttrDigest(t.Context(), "odd")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, b.Close())
}
