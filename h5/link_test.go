package h5_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func TestLink_kinds(t *testing.T) {
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
		{Name: "a", Kind: h5.HardLink, Order: -1, Address: ga.Address},
		{Name: "out", Kind: h5.ExternalLink, Class: 64, Order: -1, Target: "/x/y", File: "other.h5"},
		{Name: "same", Kind: h5.HardLink, Order: -1, Address: info.Address},
		{Name: "soft", Kind: h5.SoftLink, Class: 1, Order: -1, Target: "/a/b"},
		{Name: "数据", Kind: h5.HardLink, Order: -1, CharSet: h5.UTF8, Address: info.Address},
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

// TestLink_removeWhileListing checks that a loop may change the group, because the links were
// collected before.
func TestLink_removeWhileListing(t *testing.T) {
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

// TestManyLinks checks groups of up to 100,000 hard links in the old and the new format. Links are
// created, listed in every supported order, found by name and by index, and removed.
func TestManyLinks(t *testing.T) {
	n := 5_000
	if testenv.All() {
		n = 100_000
	}
	for _, tt := range []struct {
		low   h5.LibVer
		order h5.CreationOrder
	}{{h5.Earliest, h5.NoCreationOrder}, {h5.V18, h5.IndexedCreationOrder}} {
		f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Low: tt.low, High: h5.LatestFormat})
		require.NoError(t, err)
		defer f.Close()
		_, err = f.Root().CreateGroup("target")
		require.NoError(t, err)
		g, err := f.Root().CreateGroupWith("g", &h5.GroupOptions{Order: tt.order})
		require.NoError(t, err)
		made, sorted := make([]string, n), make([]string, n)
		for i := range n {
			sorted[i] = fmt.Sprintf("link %06d", i)
			made[i*7919%n] = sorted[i] // 7919 is prime to n
		}
		for _, name := range made {
			require.NoError(t, g.LinkHard(name, "/target"))
		}
		target, err := f.Root().ObjectInfo("target")
		require.NoError(t, err)
		require.Equal(t, n+1, target.Links)
		orders := map[h5.ListOrder][]string{h5.ByName: sorted, h5.ByNameDescending: sorted}
		if tt.order != h5.NoCreationOrder {
			orders[h5.ByCreation], orders[h5.ByCreationDescending] = made, made
		}
		for o, want := range orders {
			got := linkNames(t, g, o)
			if o == h5.ByNameDescending || o == h5.ByCreationDescending {
				slices.Reverse(got)
			}
			require.True(t, slices.Equal(want, got), "order %d", o)
			for _, at := range []int{0, n / 3, n - 1} {
				l, err := g.LinkAt(o, int64(at))
				require.NoError(t, err)
				if o == h5.ByNameDescending || o == h5.ByCreationDescending {
					at = n - 1 - at
				}
				require.Equal(t, want[at], l.Name, "order %d", o)
				require.Equal(t, target.Address, l.Address)
			}
		}
		has, err := g.HasLink("link 1")
		require.NoError(t, err)
		require.False(t, has)
		for i := range n {
			require.NoError(t, g.Unlink(made[i]))
			if i == n/2 {
				require.Len(t, linkNames(t, g, h5.ByName), n-i-1)
			}
		}
		require.Empty(t, linkNames(t, g, h5.AsStored))
		target, err = f.Root().ObjectInfo("target")
		require.NoError(t, err)
		require.Equal(t, 1, target.Links)
	}
}

// linkNames returns the names of the links of a group in an order.
func linkNames(t testing.TB, g *h5.Group, o h5.ListOrder) []string {
	t.Helper()
	var names []string
	for l, err := range g.LinksIn(o) {
		require.NoError(t, err)
		names = append(names, l.Name)
	}
	return names
}

func TestCreationOrder(t *testing.T) {
	r := newFile(t).Root()
	for _, order := range []h5.CreationOrder{h5.TrackCreationOrder, h5.IndexedCreationOrder} {
		for _, n := range []int{5, 40} { // compact and dense
			g, err := r.CreateGroupWith(fmt.Sprint("g", order, n), &h5.GroupOptions{Order: order})
			require.NoError(t, err)
			var want, sorted []string
			for i := range n {
				name := fmt.Sprintf("%02d", i*7%n)
				want = append(want, name)
				require.NoError(t, g.LinkSoft(name, "/x"))
			}
			sorted = slices.Sorted(slices.Values(want))
			require.Equal(t, want, linkNames(t, g, h5.ByCreation))
			require.Equal(t, sorted, linkNames(t, g, h5.ByName))
			require.ElementsMatch(t, want, linkNames(t, g, h5.AsStored))
			slices.Reverse(want)
			slices.Reverse(sorted)
			require.Equal(t, want, linkNames(t, g, h5.ByCreationDescending))
			require.Equal(t, sorted, linkNames(t, g, h5.ByNameDescending))

			l, err := g.LinkAt(h5.ByCreation, 3)
			require.NoError(t, err)
			require.Equal(t, h5.Link{Name: want[n-4], Kind: h5.SoftLink, Class: 1, Order: 3, Target: "/x"}, l)
			require.NoError(t, g.UnlinkAt(h5.ByCreation, 3))
			require.NotContains(t, linkNames(t, g, h5.ByCreation), want[n-4])
			info, err := g.Info()
			require.NoError(t, err)
			require.Equal(t, int64(n), info.MaxOrder, "the number of the link that is gone is not used again")
			require.Equal(t, int64(n-1), info.Links)

			_, err = g.LinkAt(h5.ByName, int64(n-1))
			require.ErrorIs(t, err, h5.ErrRegion)
			require.ErrorContains(t, err, fmt.Sprintf("place %d of %d", n-1, n-1))
			_, err = g.OpenObjectAt(h5.ByName, -1)
			require.ErrorIs(t, err, h5.ErrRegion)
		}
	}
	old, err := r.CreateGroup("old")
	require.NoError(t, err)
	require.NoError(t, old.LinkSoft("a", "b"))
	for _, err := range old.LinksIn(h5.ByCreation) {
		require.ErrorIs(t, err, h5.ErrNoOrder)
	}
	_, err = old.LinkAt(h5.ByCreation, 0)
	require.ErrorIs(t, err, h5.ErrNoOrder)
	require.ErrorIs(t, old.UnlinkAt(h5.ByCreationDescending, 0), h5.ErrNoOrder)
	for _, err := range old.LinksIn(99) {
		require.ErrorIs(t, err, h5.ErrParam)
	}
}

// TestUserLinks checks that a user-defined link is listed with its class and value and can be
// copied, moved and deleted. Functions that would follow it must return an error with the class.
func TestUserLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	r := f.Root()
	require.NoError(t, r.LinkUser("a/u", 187, []byte("value")))
	require.NoError(t, r.LinkUser("empty", 65, nil))
	require.NoError(t, r.CopyLink("a/u", r, "copied/to"))
	require.NoError(t, r.MoveLink("a/u", r, "moved"))
	require.NoError(t, f.Close())

	f, err = h5.Open(path, h5.ReadWrite)
	require.NoError(t, err)
	defer f.Close()
	r = f.Root()
	l, err := r.Link("copied/to")
	require.NoError(t, err)
	require.Equal(t, h5.Link{Name: "to", Kind: h5.UserLink, Class: 187, Order: -1, Value: []byte("value")}, l)
	l, err = r.Link("empty")
	require.NoError(t, err)
	require.Equal(t, 65, l.Class)
	require.Empty(t, l.Value)

	_, open := r.OpenGroup("moved/below")
	_, dataset := r.OpenDataset("moved")
	_, object := r.OpenObject("moved")
	_, info := r.ObjectInfo("moved")
	_, kind := r.Kind("moved")
	for name, err := range map[string]error{"group": open, "dataset": dataset, "object": object, "info": info, "kind": kind} {
		require.ErrorIs(t, err, h5.ErrUserLink, name)
		require.NotErrorIs(t, err, h5.ErrNotFound, name)
		var u *h5.UserLinkError
		require.ErrorAs(t, err, &u, name)
		require.Equal(t, h5.UserLinkError{Class: 187, Name: "moved"}, *u, name)
	}
	has, err := r.HasLink("moved")
	require.NoError(t, err)
	require.True(t, has)
	exists, err := r.Exists("moved")
	require.NoError(t, err)
	require.False(t, exists)

	require.NoError(t, r.Unlink("moved"))
	require.Equal(t, []string{"a", "copied", "empty"}, linkNames(t, r, h5.ByName))
	require.ErrorIs(t, r.LinkUser("x", 64, nil), h5.ErrParam)
	require.ErrorIs(t, r.LinkUser("x", 256, nil), h5.ErrParam)
	require.ErrorIs(t, r.LinkUser("x", 100, make([]byte, 1<<16)), h5.ErrSize)
}

func TestLink_moveAndCopy(t *testing.T) {
	f := newFile(t)
	r := f.Root()
	_, err := r.CreateGroup("a/b")
	require.NoError(t, err)
	before, err := r.ObjectInfo("a/b")
	require.NoError(t, err)
	a, err := r.OpenGroup("a")
	require.NoError(t, err)
	require.NoError(t, a.MoveLink("b", r, "new/place"))
	after, err := r.ObjectInfo("new/place")
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, r.CopyLink("new/place", a, "again"))
	after, err = r.ObjectInfo("a/again")
	require.NoError(t, err)
	require.Equal(t, 2, after.Links)

	require.ErrorIs(t, r.MoveLink("nothing", r, "x"), h5.ErrNotFound)
	require.ErrorIs(t, r.MoveLink("new/place", r, "a/again"), h5.ErrExists)
	require.ErrorIs(t, r.CopyLink("new/place", r, ""), h5.ErrParam)
	other := newFile(t)
	require.Error(t, r.CopyLink("a/again", other.Root(), "x"), "a hard link does not lead to another file")
	has, err := other.Root().HasLink("x")
	require.NoError(t, err)
	require.False(t, has)

	readOnly := reopen(t, f, h5.ReadOnly)
	require.ErrorIs(t, readOnly.Root().MoveLink("a", readOnly.Root(), "b"), h5.ErrReadOnly)
	require.ErrorIs(t, readOnly.Root().CopyLink("a", readOnly.Root(), "b"), h5.ErrReadOnly)
	require.ErrorIs(t, readOnly.Root().UnlinkAt(h5.ByName, 0), h5.ErrReadOnly)
	require.ErrorIs(t, readOnly.Root().LinkObject("x", readOnly.Root()), h5.ErrReadOnly)
}

// reopen closes a file and opens it again.
func reopen(t testing.TB, f *h5.File, mode h5.Mode) *h5.File {
	t.Helper()
	require.NoError(t, f.Close())
	again, err := h5.Open(f.Path(), mode)
	require.NoError(t, err)
	t.Cleanup(func() { _ = again.Close() })
	return again
}

func TestLink_existsAlongPath(t *testing.T) {
	r := newFile(t).Root()
	_, err := r.CreateGroup("a/b")
	require.NoError(t, err)
	_, err = r.CreateDataset("a/d", h5.Int(1, 0), h5.ScalarSpace(), nil)
	require.NoError(t, err)
	require.NoError(t, r.LinkSoft("soft", "/a"))
	require.NoError(t, r.LinkSoft("dangling", "/none"))
	require.NoError(t, r.LinkSoft("self", "/self"))
	require.NoError(t, r.LinkExternal("out", "nowhere.h5", "/"))
	for _, tt := range []struct {
		name         string
		link, object bool
	}{
		{"/", true, true}, {"a", true, true}, {"a/b", true, true}, {"/a//b/", true, true}, {"a/d", true, true}, {"soft/b", true, true},
		{"none", false, false}, {"a/none", false, false}, {"none/none", false, false}, {"a/d/x", false, false},
		{"dangling", true, false}, {"dangling/x", false, false}, {"self", true, false}, {"self/x", false, false},
		{"out", true, false}, {"out/x", false, false}, {"soft", true, true},
	} {
		has, err := r.HasLink(tt.name)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.link, has, tt.name)
		exists, err := r.Exists(tt.name)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.object, exists, tt.name)
	}
	_, err = r.HasLink("")
	require.ErrorIs(t, err, h5.ErrParam)
}

// TestExternalLinkAccess checks that external links use the prefix and open the other file with the
// given access.
func TestExternalLinkAccess(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "far"), 0o755))
	other, err := h5.Create(filepath.Join(dir, "far", "other.h5"), nil)
	require.NoError(t, err)
	_, err = other.Root().CreateGroup("g")
	require.NoError(t, err)
	require.NoError(t, other.Close())
	f, err := h5.Create(filepath.Join(dir, "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Root().LinkExternal("out", "other.h5", "/g"))
	_, err = f.Root().OpenObject("out")
	require.ErrorIs(t, err, h5.ErrNotFound)
	o, err := f.Root().OpenObjectBy("out", h5.LinkAccess{Prefix: filepath.Join(dir, "far"), ReadOnly: true})
	require.NoError(t, err)
	g := o.(*h5.Group)
	_, err = g.CreateGroup("new")
	require.Error(t, err, "the other file is open for reading")
	require.NoError(t, g.Close())

	last := ""
	for i := range 20 {
		name := fmt.Sprint("hop", i)
		require.NoError(t, f.Root().LinkSoft(name, "/"+last))
		last = name
	}
	_, err = f.Root().OpenObject(last)
	require.Error(t, err, "more links than the library follows by itself")
	o, err = f.Root().OpenObjectBy(last, h5.LinkAccess{MaxLinks: 30})
	require.NoError(t, err)
	require.NoError(t, o.Close())
	_, err = f.Root().OpenObjectBy(last, h5.LinkAccess{MaxLinks: -1})
	require.ErrorIs(t, err, h5.ErrParam)
}
