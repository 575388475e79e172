package h5_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
)

// TestVisit checks that Visit ends in graphs with cycles, returns each object once, and does not
// follow soft and external links.
func TestVisit(t *testing.T) {
	r := newFile(t).Root()
	_, err := r.CreateGroup("a/b")
	require.NoError(t, err)
	_, err = r.CreateDataset("a/..", h5.Int(1, 0), h5.ScalarSpace(), nil)
	require.NoError(t, err)
	require.NoError(t, r.LinkHard("a/b/up", "a"))
	require.NoError(t, r.LinkHard("a/b/top", "/"))
	require.NoError(t, r.LinkHard("z", "a/b"))
	require.NoError(t, r.LinkSoft("soft", "/a"))
	require.NoError(t, r.LinkExternal("out", "none.h5", "/"))
	require.Equal(t, []string{". group", "a group", "a/.. dataset", "a/b group"}, tree(t, r))
	a, err := r.OpenGroup("a")
	require.NoError(t, err)
	require.Equal(t, []string{". group", ".. dataset", "b group", "b/top group"}, tree(t, a))
	var links []string
	for l, err := range r.VisitLinks() {
		require.NoError(t, err)
		links = append(links, l.Path+" "+l.Link.Kind.String())
	}
	require.Equal(t, []string{"a hard", "a/.. hard", "a/b hard", "a/b/top hard", "a/b/up hard", "out external", "soft soft", "z hard"}, links)

	n := 0
	for range r.Visit() {
		if n++; n == 2 {
			break
		}
	}
	require.Equal(t, 2, n)
	require.NoError(t, a.Close())
	for _, err := range a.Visit() {
		require.ErrorIs(t, err, h5.ErrClosed)
	}
	for _, err := range a.VisitLinks() {
		require.ErrorIs(t, err, h5.ErrClosed)
	}
}

// TestVisit_Changes checks that a loop may change the visited groups.
func TestVisit_Changes(t *testing.T) {
	r := newFile(t).Root()
	for i := range 5 {
		_, err := r.CreateGroup(fmt.Sprint(i, "/x"))
		require.NoError(t, err)
	}
	var failed []string
	for v, err := range r.Visit() {
		if err != nil {
			require.ErrorIs(t, err, h5.ErrNotFound)
			failed = append(failed, v.Path)
		}
		if v.Path == "0" {
			require.NoError(t, r.Unlink("3"))
			_, err := r.CreateGroup("1/y")
			require.NoError(t, err)
		}
	}
	require.Equal(t, []string{"3"}, failed, "a listed file that has been removed is an error with its path")
}

// TestVisit_model compares Visit of random hard links with a model.
func TestVisit_model(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newFile(t).Root()
		type group = map[string]int // name to number of the group it leads to
		groups := []group{{}}
		paths := []string{"/"}
		for range rapid.IntRange(0, 25).Draw(rt, "links") {
			from := rapid.IntRange(0, len(groups)-1).Draw(rt, "from")
			name := rapid.SampledFrom([]string{"a", "b", "c", "..", "é"}).Draw(rt, "name")
			if _, taken := groups[from][name]; taken {
				continue
			}
			p := paths[from] + name
			if rapid.Bool().Draw(rt, "new") {
				_, err := r.CreateGroup(p)
				require.NoError(t, err)
				groups = append(groups, group{})
				paths = append(paths, p+"/")
				groups[from][name] = len(groups) - 1
				continue
			}
			to := rapid.IntRange(0, len(groups)-1).Draw(rt, "to")
			require.NoError(t, r.LinkHard(p, paths[to]))
			groups[from][name] = to
		}
		var want []string
		seen := map[int]bool{}
		var walk func(n int, p string)
		walk = func(n int, p string) {
			seen[n] = true
			want = append(want, p+" group")
			for _, name := range []string{"..", "a", "b", "c", "é"} {
				to, ok := groups[n][name]
				if ok && !seen[to] {
					child := name
					if p != "." {
						child = p + "/" + name
					}
					walk(to, child)
				}
			}
		}
		walk(0, ".")
		require.Equal(t, want, tree(t, r))
	})
}

// TestVisit_lock checks that no iterator holds the lock while the body of the loop runs, and that
// the loop can end early. Every loop writes to the file it iterates over.
func TestVisit_lock(t *testing.T) {
	f := newFile(t)
	r := f.Root()
	d, err := r.CreateDataset("g/d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(8), &h5.DatasetOptions{ChunkShape: []int64{2}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, make([]int32, 8), h5.All))
	for i := range 2 {
		scale, err := r.CreateDataset(fmt.Sprint("scale", i), h5.Int(4, h5.LittleEndian), h5.SimpleSpace(8), nil)
		require.NoError(t, err)
		require.NoError(t, scale.MakeScale(""))
		require.NoError(t, d.AttachScale(0, scale))
	}
	written := 0
	use := func(err error) bool {
		require.NoError(t, err)
		written++
		require.NoError(t, h5value.WriteAttr(r, "n", []int{written}))
		return false // leave the loop
	}
	r.Links()(func(_ h5.Link, err error) bool { return use(err) })
	r.LinksIn(h5.ByNameDescending)(func(_ h5.Link, err error) bool { return use(err) })
	r.Visit()(func(_ h5.Visited, err error) bool { return use(err) })
	r.VisitLinks()(func(_ h5.VisitedLink, err error) bool { return use(err) })
	r.Attributes()(func(_ h5.AttributeInfo, err error) bool { return use(err) })
	d.StoredChunks()(func(_ h5.Chunk, err error) bool { return use(err) })
	d.Scales(0)(func(_ h5.Scale, err error) bool { return use(err) })
	h5.SimpleSpace(8).Boxes(h5.Union(region([]int64{0}, []int64{1}), region([]int64{4}, []int64{1})))(func(_ h5.Box, err error) bool { return use(err) })
	require.Equal(t, 8, written)
	got, err := h5value.ReadAttr[int](r, "n")
	require.NoError(t, err)
	require.Equal(t, []int{8}, got)
}

// TestVisit_WrongLinkCount checks that Visit ends in a corrupt file with a group that contains
// itself and counts one hard link.
func TestVisit_WrongLinkCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	require.NoError(t, g.LinkHard("again", "."))
	require.NoError(t, g.Close())
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	count := b[hdf5test.Object(t, path, "/g").Addr+4:] // of an object header of version 1
	require.Equal(t, uint32(2), binary.LittleEndian.Uint32(count))
	binary.LittleEndian.PutUint32(count, 1)
	require.NoError(t, os.WriteFile(path, b, 0o600))

	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	require.Equal(t, []string{". group", "g group"}, tree(t, f.Root()))
	var links []string
	for l, err := range f.Root().VisitLinks() {
		require.NoError(t, err)
		links = append(links, l.Path)
	}
	require.Equal(t, []string{"g", "g/again"}, links)
	require.NoError(t, f.Close())
}
