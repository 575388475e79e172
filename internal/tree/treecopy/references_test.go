package treecopy_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// referring writes an HDF5 file whose attributes and arrays hold references of all kinds, also null
// references and references to an object that was deleted.
func referring(t *testing.T, file string) {
	t.Helper()
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	root := f.Root()
	i4 := h5.Int(4, h5.LittleEndian)
	dataset := func(name string, dt h5.Datatype, dims ...int64) *h5.Dataset {
		d, err := root.CreateDataset(name, dt, h5.SimpleSpace(dims...), nil)
		require.NoError(t, err)
		return d
	}
	data := dataset("g/data", i4, 3, 4)
	require.NoError(t, h5value.Write(data, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, h5.All))
	other := dataset("other", i4, 2)
	kind, err := root.CommitDatatype("kind", i4)
	require.NoError(t, err)
	gone := dataset("gone", i4, 1)
	ref := func(to string) h5.Ref {
		r, err := root.Reference(to, h5.ObjectReference)
		require.NoError(t, err)
		return r
	}
	region, err := root.ReferenceRegion("g/data", h5.RegionReference, h5.Region{Start: []int64{1, 1}, Count: []int64{2, 2}})
	require.NoError(t, err)
	null, lost := h5.Ref{Kind: h5.ObjectReference}, ref("gone")
	require.NoError(t, errors.Join(gone.Close(), root.Unlink("gone")))
	g, err := root.OpenGroup("g")
	require.NoError(t, err)

	object := h5.ReferenceType(h5.ObjectReference)
	name := h5.FixedString(4, h5.NullPad, h5.ASCII)
	record := h5.CompoundOf(h5.Member{Name: "name", Type: &name}, h5.Member{Name: "to", Type: &object})
	attribute := func(o h5.Object, name string, dt h5.Datatype, space h5.Dataspace, values any) {
		var v h5.Values
		var err error
		switch x := values.(type) {
		case []h5.Ref:
			v, err = h5value.Encode(dt, x)
		case []h5value.Record:
			v, err = h5value.Encode(dt, x)
		}
		require.NoError(t, err)
		require.NoError(t, o.WriteAttribute(h5.Attribute{Name: name, Datatype: dt, Space: space, Values: v}))
	}
	attribute(g, "to", object, h5.SimpleSpace(4), []h5.Ref{ref("g/data"), ref("/"), null, ref("kind")})
	attribute(data, "region", h5.ReferenceType(h5.RegionReference), h5.ScalarSpace(), []h5.Ref{region})
	attribute(root, "record", record, h5.ScalarSpace(), []h5value.Record{{{Name: "name", Value: "abcd"}, {Name: "to", Value: ref("other")}}})
	attribute(kind, "self", object, h5.ScalarSpace(), []h5.Ref{ref("kind")})
	attribute(other, "gone", object, h5.SimpleSpace(2), []h5.Ref{lost, ref("g")})
	refs := dataset("g/refs", object, 3)
	require.NoError(t, h5value.Write(refs, []h5.Ref{ref("g"), null, ref("other")}, h5.All))
	require.NoError(t, errors.Join(refs.Close(), g.Close(), data.Close(), other.Close(), kind.Close(), f.Close()))
}

// pointsTo returns the paths and selections of the references in the attributes and the array of a
// copy of referring, as h5py reads them.
func pointsTo(t *testing.T, file, group string) string {
	t.Helper()
	out, err := exec.Command(testenv.Python(t, "h5py"), "-c", `import h5py, sys
f = h5py.File(sys.argv[1])
g = f[sys.argv[2]]
def name(r):
    return f[r].name if r else None
print([name(r) for r in g.attrs["to"]], [name(r) for r in g["refs"][:]])
r = g["data"].attrs["region"]
print(name(r), f[r][r].tolist() if r else None)
if "kind" in f:
    print(f.attrs["record"]["name"], name(f.attrs["record"]["to"]), name(f["kind"].attrs["self"]), [name(r) for r in f["other"].attrs["gone"]])
`, file, group).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// lines returns the text of problems.
func lines(list []hyperslab.Problem) (out []string) {
	for _, p := range list {
		out = append(out, p.String())
	}
	return out
}

// TestCopyTree_references checks that references in attributes and arrays lead to the copied
// objects, and that a reference to an object that is not copied is a loss.
func TestCopyTree_references(t *testing.T) {
	dir := t.TempDir()
	src := filetest.In(dir, "src.h5")
	referring(t, src)
	all := func(hyperslab.Problem) bool { return true }
	dangling := "/other: attribute gone (to deleted objects): they become null"

	t.Run("whole file", func(t *testing.T) {
		stats, err := filetest.CopyTree(bg, filetest.In(dir, "out.h5"), src, nil)
		require.NoError(t, err)
		require.Equal(t, []string{dangling}, lines(stats.Changes))
		require.Equal(t, []int{3, 2, 1, 5}, []int{stats.Arrays, stats.Groups, stats.Types, stats.Attrs})
		require.Equal(t, `['/g/data', '/', None, '/kind'] ['/g', None, '/other']
/g/data [[5, 6], [9, 10]]
b'abcd' /other /kind [None, '/g']
`, pointsTo(t, filetest.In(dir, "out.h5"), "/g"))
	})
	t.Run("other compression", func(t *testing.T) {
		deflate := func(_ string, m ndarray.Meta, spec *ndarray.Spec, _ *int) error {
			if len(m.Shape) == 1 {
				spec.ChunkShape, spec.Compression = []int64{2}, &ndarray.Compression{Codec: "deflate", Level: 1}
			}
			return nil
		}
		_, err := filetest.CopyTree(bg, filetest.In(dir, "deflate.h5"), src, &hyperslab.TreeOptions{Adjust: deflate})
		require.NoError(t, err)
		require.Contains(t, pointsTo(t, filetest.In(dir, "deflate.h5"), "/g"), "['/g', None, '/other']\n")
		a, err := hyperslab.Open(bg, filetest.In(dir, "deflate.h5:/g/refs"), nil)
		require.NoError(t, err)
		require.Equal(t, []int64{2}, a.Meta().ChunkShape)
		require.Equal(t, "deflate 1", a.Meta().Compression.String())
		require.NoError(t, a.Close())
	})
	t.Run("external file", func(t *testing.T) {
		file := filetest.In(dir, "external.h5")
		f, err := h5.Create(file, nil)
		require.NoError(t, err)
		g, err := f.Root().CreateGroup("g")
		require.NoError(t, err)
		d, err := f.Root().CreateDataset("refs", h5.ReferenceType(h5.ObjectReference), h5.SimpleSpace(2), &h5.DatasetOptions{
			External: []h5.ExternalFile{{Name: filetest.In(dir, "refs.bin"), Size: 16}},
		})
		require.NoError(t, err)
		r, err := f.Root().Reference("g", h5.ObjectReference)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, []h5.Ref{r, {Kind: h5.ObjectReference}}, h5.All))
		require.NoError(t, errors.Join(g.Close(), d.Close(), f.Close()))
		stats, err := filetest.CopyTree(bg, filetest.In(dir, "inside.h5"), file, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"/refs: layout (external files): the elements are stored in the target"}, lines(stats.Changes))
		a, err := hyperslab.Open(bg, filetest.In(dir, "inside.h5:/refs"), nil)
		require.NoError(t, err)
		got := make([]string, 2)
		require.NoError(t, a.ReadStrings(bg, got, ndarray.Whole(a.Shape())))
		require.Equal(t, []string{"/g", ""}, got)
		require.NoError(t, a.Close())
	})
	t.Run("group", func(t *testing.T) {
		outside := []string{
			"/g: attribute to: not found: /, which is not copied",
			"/g/refs: references: not found: /other, which is not copied",
		}
		stats, err := filetest.CopyTree(bg, filetest.In(dir, "g.h5"), src+":/g", nil)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.Equal(t, outside, lines(stats.Refused))
		require.NoFileExists(t, filetest.In(dir, "g.h5"))
		stats, err = filetest.CopyTree(bg, filetest.In(dir, "g.h5"), src+":/g", &hyperslab.TreeOptions{Accept: all})
		require.NoError(t, err)
		require.Equal(t, outside, lines(stats.Lost))
		require.Equal(t, "['/data', None, None, None] ['/', None, None]\n/data [[5, 6], [9, 10]]\n", pointsTo(t, filetest.In(dir, "g.h5"), "/"))
	})
	t.Run("excluded target", func(t *testing.T) {
		o := &hyperslab.TreeOptions{DryRun: true, Exclude: func(path string) bool { return path == "/other" }}
		stats, err := filetest.CopyTree(bg, filetest.In(dir, "none.h5"), src, o)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.Equal(t, []string{
			"/: attribute record: not found: /other, which is not copied",
			"/g/refs: references: not found: /other, which is not copied",
		}, sorted(lines(stats.Refused)))
		o.Accept = func(p hyperslab.Problem) bool { return p.What == "references" }
		stats, err = filetest.CopyTree(bg, filetest.In(dir, "none.h5"), src, o)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.Equal(t, []int{1, 1}, []int{len(stats.Refused), len(stats.Lost)})
	})
	t.Run("untrusted", func(t *testing.T) {
		stats, err := filetest.CopyTree(bg, filetest.In(dir, "none.h5"), src, nil, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: true}})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		var lost []string
		for _, p := range stats.Refused {
			lost = append(lost, p.Path+" "+p.What)
		}
		require.Equal(t, []string{"/ attribute record", "/g attribute to", "/g/data attribute region", "/g/refs array", "/kind datatype", "/other attribute gone"}, sorted(lost))
	})
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// TestCopyTree_referencesAsText checks that attributes of references become strings in other
// formats, and that compounds with references are lost.
func TestCopyTree_referencesAsText(t *testing.T) {
	python := testenv.Python(t, "blosc2")
	dir := t.TempDir()
	src := filetest.In(dir, "src.h5")
	referring(t, src)
	stats, err := filetest.CopyTree(bg, filetest.In(dir, "tree"), src, &hyperslab.TreeOptions{Accept: func(p hyperslab.Problem) bool { return p.What != "attribute to" }})
	require.NoError(t, err)
	var lost []string
	for _, p := range stats.Lost {
		lost = append(lost, p.Path+" "+p.What)
	}
	require.Equal(t, []string{"/ attribute record", "/g/refs array", "/kind datatype"}, sorted(lost))
	require.Contains(t, lines(stats.Changes), "/g/data: type of attribute region (H5T_REFERENCE { H5T_STD_REF_DSETREG }): b2nd stores the paths as strings")
	out, err := exec.Command(python, "-c", `import blosc2, sys
a = blosc2.open(sys.argv[1])
print(a.schunk.vlmeta["region"])`, filetest.In(dir, "tree/g/data.b2nd")).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "/g/data[1:3, 1:3]\n", string(out))
	attrs, err := filetest.GroupAttrs(filetest.In(dir, "tree")+":/g", nil)
	require.NoError(t, err)
	to, ok := attrs.Get("to")
	require.True(t, ok)
	require.Equal(t, []string{"/g/data", "/", "", "/kind"}, to.Strings)

	// In a copy of a group, the paths are those of the copy. Attributes that lead out are lost.
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "g"), src+":/g", &hyperslab.TreeOptions{Accept: func(p hyperslab.Problem) bool { return true }})
	require.NoError(t, err)
	require.Contains(t, strings.Join(lines(stats.Lost), "\n"), "/g: attribute to: ")
	a, err := hyperslab.Open(bg, filetest.In(dir, "g")+":/data", nil)
	require.NoError(t, err)
	region, err := a.Attr(bg, "region")
	require.NoError(t, err)
	require.Equal(t, []string{"/data[1:3, 1:3]"}, region.Strings)
	require.NoError(t, a.Close())
}

// TestCopyTree_links checks user-defined links, and groups with a creation order in which an object
// and the members of a group are found by another path than the one that Walk lists.
func TestCopyTree_links(t *testing.T) {
	dir := t.TempDir()
	src := filetest.In(dir, "src.h5")
	creation := h5.DefaultFileCreation()
	creation.LinkOrder = h5.IndexedCreationOrder
	f, err := h5.Create(src, &h5.CreateOptions{Creation: &creation})
	require.NoError(t, err)
	for _, name := range []string{"z/x", "z/y", "last"} {
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(2), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, []int32{7, 8}, h5.All))
		require.NoError(t, d.Close())
	}
	root := f.Root()
	require.NoError(t, errors.Join(root.LinkHard("a", "z"), root.LinkHard("first", "last"), root.LinkUser("user", 200, []byte("value")), f.Close()))
	names := func(file string) (out []string) {
		f, err := h5.Open(file, h5.ReadOnly)
		require.NoError(t, err)
		for l, err := range f.Root().LinksIn(h5.ByCreation) {
			require.NoError(t, err)
			out = append(out, l.Name+string(l.Value))
		}
		require.NoError(t, f.Close())
		for _, e := range filetest.Walk(t, file) {
			out = append(out, strings.TrimSpace(e.Path+" "+e.Target))
		}
		return out
	}
	_, err = filetest.CopyTree(bg, filetest.In(dir, "out.h5"), src, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"z", "last", "a", "first", "uservalue", "/", "/a", "/a/x", "/a/y", "/first", "/last /first", "/user link class 200", "/z /a"}, names(src))
	require.Equal(t, names(src), names(filetest.In(dir, "out.h5")))
	_, err = filetest.CopyTree(bg, filetest.In(dir, "part.h5"), src, &hyperslab.TreeOptions{Exclude: func(path string) bool { return slices.Contains([]string{"/a/x", "/last", "/user"}, path) }})
	require.NoError(t, err)
	require.Equal(t, []string{"z", "a", "first", "/", "/a", "/a/y", "/first", "/z /a"}, names(filetest.In(dir, "part.h5")))
}

// TestCopyTree_scaleOutside checks that the name of a dimension scale that is not part of the copy
// becomes the label of the dimension, and that other scales stay attached.
func TestCopyTree_scaleOutside(t *testing.T) {
	dir := t.TempDir()
	src := filetest.In(dir, "src.h5")
	f, err := h5.Create(src, nil)
	require.NoError(t, err)
	dataset := func(name string, dims ...int64) *h5.Dataset {
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(dims...), nil)
		require.NoError(t, err)
		return d
	}
	x, y, data := dataset("x", 2), dataset("g/y", 3), dataset("g/data", 2, 3)
	require.NoError(t, errors.Join(x.MakeScale("x"), y.MakeScale("y"), data.AttachScale(0, x), data.AttachScale(1, y)))
	require.NoError(t, errors.Join(x.Close(), y.Close(), data.Close(), f.Close()))
	stats, err := filetest.CopyTree(bg, filetest.In(dir, "out.h5"), src+":/g", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"/g/data: scale of dimension 0 (/x): the copy does not contain it; its name is kept as dimension name"}, lines(stats.Changes))
	f, err = h5.Open(filetest.In(dir, "out.h5"), h5.ReadOnly)
	require.NoError(t, err)
	axes, err := dimscale.Read(f.Root(), "/data", 2)
	require.NoError(t, err)
	require.Equal(t, []dimscale.Axis{{Label: "x"}, {Scales: []string{"/y"}}}, axes)
	require.NoError(t, f.Close())
}

// TestCopyTree_unreadableTarget checks that an array that cannot be read is left out with its hard
// links, and that a reference to it becomes null and is reported.
func TestCopyTree_unreadableTarget(t *testing.T) {
	dir := t.TempDir()
	src := filetest.In(dir, "src.h5")
	f, err := h5.Create(src, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(64), &h5.DatasetOptions{ChunkShape: []int64{64}, Fletcher32: true})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, slices.Repeat([]int32{0x5a5a5a5a}, 64), h5.All))
	r, err := f.Root().Reference("x", h5.ObjectReference)
	require.NoError(t, err)
	require.NoError(t, h5value.WriteAttr(f.Root(), "to", []h5.Ref{r}))
	require.NoError(t, errors.Join(d.Close(), f.Root().LinkHard("y", "x"), f.Close()))
	b, err := os.ReadFile(src)
	require.NoError(t, err)
	b[bytes.Index(b, []byte("ZZZZZZZZ"))]++
	require.NoError(t, os.WriteFile(src, b, 0o666))

	divide := func(_ string, _ ndarray.Meta, spec *ndarray.Spec, _ *int) error {
		spec.ChunkShape = []int64{32} // otherwise the chunk is copied as it is stored
		return nil
	}
	stats, err := filetest.CopyTree(bg, filetest.In(dir, "out.h5"), src, &hyperslab.TreeOptions{SkipUnreadable: true, Adjust: divide})
	require.NoError(t, err)
	var left []string
	for _, p := range stats.Unreadable {
		left = append(left, p.Path+" "+p.What)
	}
	require.Equal(t, []string{"/ attribute to", "/x array", "/y link"}, sorted(left))
	require.Equal(t, []int{0, 0}, []int{stats.Arrays, stats.Links})
	f, err = h5.Open(filetest.In(dir, "out.h5"), h5.ReadOnly)
	require.NoError(t, err)
	refs, err := h5value.ReadAttr[h5.Ref](f.Root(), "to")
	require.NoError(t, err)
	require.True(t, refs[0].IsNull())
	require.NoError(t, f.Close())
}

// TestCopyTree_unreadableAttribute checks that only the attribute is left out whose strings cannot
// be read.
func TestCopyTree_unreadableAttribute(t *testing.T) {
	dir := t.TempDir()
	src := filetest.In(dir, "src.h5")
	f, err := h5.Create(src, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(h5value.WriteAttr(d, "n", []int32{7}), h5value.WriteAttr(d, "text", []string{"lost"})))
	require.NoError(t, errors.Join(d.Close(), f.Close()))
	b, err := os.ReadFile(src)
	require.NoError(t, err)
	b[bytes.Index(b, []byte("GCOL"))]++ // the global heap, which contains the string
	require.NoError(t, os.WriteFile(src, b, 0o666))

	_, err = filetest.CopyTree(bg, filetest.In(dir, "out.h5"), src, nil)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
	require.ErrorContains(t, err, "/x: attribute text: ")
	require.NoFileExists(t, filetest.In(dir, "out.h5"))
	for _, dry := range []bool{true, false} {
		stats, err := filetest.CopyTree(bg, filetest.In(dir, "out.h5"), src, &hyperslab.TreeOptions{SkipUnreadable: true, DryRun: dry})
		require.NoError(t, err)
		require.Len(t, stats.Unreadable, 1)
		require.Equal(t, "/x attribute text", stats.Unreadable[0].Path+" "+stats.Unreadable[0].What)
		require.Equal(t, []int{1, 1}, []int{stats.Arrays, stats.Attrs})
	}
	a, err := hyperslab.Open(bg, filetest.In(dir, "out.h5:/x"), nil)
	require.NoError(t, err)
	attrs, err := a.Attrs(bg)
	require.NoError(t, err)
	require.Len(t, attrs.List, 1)
	require.NoError(t, a.Close())
}

// TestCopyTree_manyAttributes checks that objects with many attributes are created with headers
// that can store them elsewhere, because libhdf5 compares the names of all attributes in a header.
// Others keep the oldest format.
func TestCopyTree_manyAttributes(t *testing.T) {
	dir := t.TempDir()
	src := filetest.In(dir, "src.h5")
	f, err := h5.Create(src, nil)
	require.NoError(t, err)
	counts := map[string]int{"/few": 3, "/many": 600, "/g": 600}
	for path, n := range counts {
		o, err := createObject(f, path)
		require.NoError(t, err)
		for i := range n {
			require.NoError(t, h5value.WriteAttr(o, fmt.Sprintf("k%d", i), []int32{int32(i)}))
		}
		require.NoError(t, o.Close())
	}
	require.NoError(t, f.Close())
	for _, steps := range [][]string{{"direct.h5"}, {"store.b2z", "indirect.h5"}} {
		from := src
		for _, to := range steps {
			_, err := filetest.CopyTree(bg, filetest.In(dir, to), from, nil)
			require.NoError(t, err)
			from = filetest.In(dir, to)
		}
		out, err := h5.Open(from, h5.ReadOnly)
		require.NoError(t, err)
		for path, n := range counts {
			o, err := out.Root().OpenObject(path)
			require.NoError(t, err)
			header, err := o.Header()
			require.NoError(t, err)
			require.Equal(t, n > 500, header.AttributeIndex != 0, "%s:%s", from, path)
			info, err := o.Stat()
			require.NoError(t, err)
			require.Equal(t, n, info.NumAttrs)
			last, err := o.ReadAttribute(fmt.Sprintf("k%d", n-1))
			require.NoError(t, err)
			require.Equal(t, byte((n-1)>>8), last.Data[1])
			require.NoError(t, o.Close())
		}
		require.NoError(t, out.Close())
	}
}

// createObject creates the group /g, or a dataset at any other path.
func createObject(f *h5.File, path string) (h5.Object, error) {
	if path == "/g" {
		return f.Root().CreateGroup(path)
	}
	return f.Root().CreateDataset(path, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(2), nil)
}
