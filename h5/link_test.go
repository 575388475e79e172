package h5_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

func TestLinksOfEveryKind(t *testing.T) {
	f := newFile(t)
	r := f.Root()
	_, err := r.CreateGroup("a/b/c")
	require.NoError(t, err)
	d, err := r.CreateDataset("数据", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, r.LinkHard("same", "数据"))
	require.NoError(t, r.LinkSoft("soft", "/a/b"))
	require.NoError(t, r.LinkExternal("out", "other.h5", "/x/y"))
	info, err := r.ObjectInfo("数据")
	require.NoError(t, err)
	require.Equal(t, 2, info.Links)
	require.Equal(t, h5.DatasetObject, info.Kind)
	ga, err := r.ObjectInfo("a")
	require.NoError(t, err)
	var got []h5.Link
	for l, err := range r.Links() {
		require.NoError(t, err)
		got = append(got, l)
	}
	require.Equal(t, []h5.Link{
		{Name: "a", Kind: h5.HardLink, Class: 0, Address: ga.Address},
		{Name: "out", Kind: h5.ExternalLink, Class: 64, Target: "/x/y", File: "other.h5"},
		{Name: "same", Kind: h5.HardLink, Class: 0, Address: info.Address},
		{Name: "soft", Kind: h5.SoftLink, Class: 1, Target: "/a/b"},
		{Name: "数据", Kind: h5.HardLink, Class: 0, Address: info.Address},
	}, got)
	for name, want := range map[string]h5.ObjectKind{
		"a": h5.GroupObject, "soft": h5.GroupObject, "a/b/c": h5.GroupObject, "same": h5.DatasetObject, ".": h5.GroupObject, "/": h5.GroupObject,
	} {
		kind, err := r.Kind(name)
		require.NoError(t, err, name)
		require.Equal(t, want, kind, name)
	}
	require.Equal(t, "/数据", d.Path())
	c, err := r.OpenGroup("soft/c")
	require.NoError(t, err)
	require.Equal(t, "/soft/c", c.Path())
	up, err := c.OpenDataset("/same")
	require.NoError(t, err)
	require.Equal(t, "/same", up.Path())
	require.NoError(t, r.Unlink("same"))
	require.NoError(t, r.Unlink("数据"))
	_, err = d.Info()
	require.NoError(t, err, "an open dataset outlives its last link")
}

// The loop may change what it walks: the links were collected before.
func TestLinksMayBeRemovedWhileListed(t *testing.T) {
	r := newFile(t).Root()
	for i := range 50 {
		require.NoError(t, r.LinkSoft(fmt.Sprint(i), "/x"))
	}
	n := 0
	for l, err := range r.Links() {
		require.NoError(t, err)
		require.NoError(t, r.Unlink(l.Name))
		n++
	}
	require.Equal(t, 50, n)
	for l := range r.Links() {
		t.Fatalf("%q is left", l.Name)
	}
}

func TestManyLinks(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 1000
	}
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Low: h5.V18, High: h5.LatestFormat})
	require.NoError(t, err)
	defer f.Close()
	for i := range n {
		require.NoError(t, f.Root().LinkSoft(fmt.Sprintf("link %06d", i), "/target"))
	}
	i := 0
	for l, err := range f.Root().Links() {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("link %06d", i), l.Name)
		i++
	}
	require.Equal(t, n, i)
}
