package treecopy_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/ndarray"
)

// commons writes an HDF5 file whose arrays, attributes and datatypes share committed datatypes in
// every possible way.
func commons(t *testing.T, file string) {
	t.Helper()
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	root := f.Root()
	i4 := h5.Int(4, h5.BigEndian)
	part := h5.Int(2, h5.LittleEndian)
	part.Precision = 9
	shared := func(g *h5.Group, name string, d h5.Datatype) (*h5.CommittedType, h5.Datatype) {
		var c *h5.CommittedType
		var err error
		if name == "" {
			c, err = g.CommitAnonymous(d)
		} else {
			c, err = g.CommitDatatype(name, d)
		}
		require.NoError(t, err)
		s, err := c.Shared()
		require.NoError(t, err)
		return c, s
	}
	point, pointType := shared(root, "types/point", h5.Datatype{Class: h5.Compound, Size: 8, Members: []h5.Member{{Name: "x", Type: &i4}, {Name: "y", Offset: 4, Type: &i4}}})
	text, textType := shared(root, "types/text", h5.VariableString(h5.UTF8))
	odd, _ := shared(root, "types/odd", part) // ndarray has no dtype for it, and no object uses it
	hidden, hiddenType := shared(root, "", h5.Uint(2, h5.LittleEndian))
	attribute := func(o interface{ WriteAttribute(h5.Attribute) error }, name string, d h5.Datatype, data []byte, strs ...string) {
		require.NoError(t, o.WriteAttribute(h5.Attribute{Name: name, Datatype: d, Space: h5.ScalarSpace(), Data: data, Strings: strs}))
	}
	for _, name := range []string{"a", "deep/b"} {
		d, err := root.CreateDataset(name, pointType, h5.SimpleSpace(3), nil)
		require.NoError(t, err)
		require.NoError(t, d.WriteRegion([]byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0},
			pointType.Native(), h5.Region{Start: []int64{0}, Count: []int64{3}}))
		attribute(d, "origin", pointType, []byte{0, 0, 0, 7, 0, 0, 0, 8})
		attribute(d, "own", h5.Uint(2, h5.LittleEndian), []byte{1, 0})
		require.NoError(t, d.Close())
	}
	d, err := root.CreateDataset("counts", hiddenType, h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	d, err = root.CreateDataset("words", textType, h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	attribute(root, "title", textType, nil, "everything")
	attribute(point, "unit", textType, nil, "m")
	attribute(hidden, "n", hiddenType, []byte{9, 0})
	require.NoError(t, root.LinkHard("deep/alias", "types/point"))
	require.NoError(t, errors.Join(point.Close(), text.Close(), odd.Close(), hidden.Close(), f.Close()))
}

// sharing returns the committed datatype that each object and attribute of a file uses. It names
// the datatype by its first path, or by its first user if it has no path.
func sharing(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := h5.Open(file, h5.ReadOnly)
	require.NoError(t, err)
	names, out := map[uint64]string{}, map[string]string{}
	entries := filetest.Walk(t, file)
	for _, e := range entries {
		if e.Kind == hyperslab.Type {
			d, err := f.Root().CommittedDatatype(e.Path)
			require.NoError(t, err)
			names[d.Committed] = e.Path
			out[e.Path] = d.String()
		}
	}
	use := func(by string, d h5.Datatype) {
		if d.Committed == 0 {
			return
		}
		if names[d.Committed] == "" {
			names[d.Committed] = "first " + by
			o, err := f.OpenAddress(d.Committed)
			require.NoError(t, err)
			for a, err := range o.Attributes() {
				require.NoError(t, err)
				out[by+" type@"+a.Name] = names[a.Datatype.Committed] + a.Datatype.String()
			}
			require.NoError(t, o.Close())
		}
		out[by] = names[d.Committed]
	}
	for _, e := range entries {
		if e.Kind == hyperslab.Link {
			out[e.Path] = "link to " + e.Target
			continue
		}
		o, err := f.Root().OpenObject(e.Path)
		require.NoError(t, err)
		if d, ok := o.(*h5.Dataset); ok {
			info, err := d.Info()
			require.NoError(t, err)
			use(e.Path, info.Datatype)
		}
		for a, err := range o.Attributes() {
			require.NoError(t, err)
			use(e.Path+"@"+a.Name, a.Datatype)
		}
		require.NoError(t, o.Close())
	}
	require.NoError(t, f.Close())
	return out
}

// TestCopyTree_CommittedTypes checks that committed datatypes are copied from HDF5 to HDF5 and
// shared by the same objects as before. Other formats cannot represent them, so they are listed as
// refused.
func TestCopyTree_CommittedTypes(t *testing.T) {
	dir := t.TempDir()
	src := filetest.In(dir, "src.h5")
	commons(t, src)
	stats, err := filetest.CopyTree(bg, filetest.In(dir, "out.h5"), src, nil)
	require.NoError(t, err)
	require.Equal(t, []int{4, 4, 1}, []int{stats.Types, stats.Arrays, stats.Links})
	want := sharing(t, src)
	require.Equal(t, "/deep/alias", want["/deep/b"], "the first path of the point in the order of names")
	require.Equal(t, "/deep/alias", want["/a@origin"])
	require.Equal(t, "link to /deep/alias", want["/types/point"])
	require.Equal(t, "/types/text", want["/deep/alias@unit"])
	require.Equal(t, "first /counts", want["/counts"])
	require.Contains(t, want, "/counts type@n")
	require.Equal(t, want, sharing(t, filetest.In(dir, "out.h5")))
	compare := func(other string, paths ...string) {
		for _, path := range paths {
			a, err := hyperslab.Open(bg, src+":"+path, nil)
			require.NoError(t, err)
			b, err := hyperslab.Open(bg, other+":"+path, nil)
			require.NoError(t, err)
			c, err := ndarray.Compare(bg, a, b, nil)
			require.NoError(t, err)
			require.True(t, c.Equal(), path)
			require.NoError(t, errors.Join(a.Close(), b.Close()))
		}
	}
	compare(filetest.In(dir, "out.h5"), "/a", "/deep/b", "/counts", "/words")

	// A copy of a subtree contains datatypes from outside of it without a name.
	_, err = filetest.CopyTree(bg, filetest.In(dir, "types.h5"), src+":/types", nil)
	require.NoError(t, err)
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "deep.h5"), src+":/deep", nil)
	require.NoError(t, err)
	require.Equal(t, 2, stats.Types, "the point, with a name in here, and the text of its unit")
	require.Equal(t, "/alias", sharing(t, filetest.In(dir, "deep.h5"))["/b"])

	// Other formats refuse the named datatypes, but not the arrays that use them.
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "directory"), src, &hyperslab.TreeOptions{Strings: "error"})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	var lost []string
	for _, p := range stats.Refused {
		lost = append(lost, p.Path+" "+p.What)
	}
	require.Equal(t, []string{"/deep/alias datatype", "/types/odd datatype", "/types/point link", "/types/text datatype", "/words array"}, lost)
	require.NoFileExists(t, filetest.In(dir, "directory"))
	_, err = filetest.CopyTree(bg, filetest.In(dir, "directory"), src, &hyperslab.TreeOptions{Accept: func(p hyperslab.Problem) bool { return slices.Contains(lost, p.Path+" "+p.What) }})
	require.NoError(t, err)
	compare(filetest.In(dir, "directory"), "/a", "/deep/b", "/counts")
}

// TestCopyTree_CommittedTypesInterop checks that h5py opens the copy and finds the committed
// datatypes.
func TestCopyTree_CommittedTypesInterop(t *testing.T) {
	python := testenv.Python(t, "h5py")
	dir := t.TempDir()
	commons(t, filetest.In(dir, "src.h5"))
	_, err := filetest.CopyTree(bg, filetest.In(dir, "out.h5"), filetest.In(dir, "src.h5"), nil)
	require.NoError(t, err)
	out, err := exec.Command(python, "-c", `import h5py, sys
f = h5py.File(sys.argv[1])
print(f["types/point"].dtype, f["types/point"].attrs["unit"], f["a"].id.get_type().committed(), f["counts"].id.get_type().committed())
print(f["deep/b"][:].tolist(), f["a"].attrs["origin"].tolist())`, filetest.In(dir, "out.h5")).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "[('x', '>i4'), ('y', '>i4')] m True True\n[(1, 2), (3, 4), (5, 6)] (7, 8)\n", string(out))
}

// writeSparse writes numbers that leave more than half of their bits unused, which libhdf5 accepts
// only in object headers with a checksum.
const writeSparse = `import h5py, sys, numpy as np
t, s = h5py.h5t.STD_I32LE.copy(), h5py.h5s
t.set_precision(10)
pair = h5py.h5t.create(h5py.h5t.COMPOUND, 8)
pair.insert(b"a", 0, t)
pair.insert(b"b", 4, h5py.h5t.STD_I32LE)
with h5py.File(sys.argv[1], "w", libver="latest") as f:
    c = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    c.set_chunk((2,))
    c.set_filter(h5py.h5z.FILTER_NBIT, 0, ())
    x = h5py.h5d.create(f.id, b"x", t, s.create_simple((3,)), c)
    x.write(s.ALL, s.ALL, np.arange(3, dtype="i4"))
    h5py.h5d.create(f.id, b"pair", pair, s.create_simple((3,)))
    for o in (f.id, x, f.create_group("g").id): h5py.h5a.create(o, b"a", t, s.create(s.SCALAR)).write(np.array(3))
`

const readSparse = `import h5py, sys
with h5py.File(sys.argv[1]) as f: print(f["x"][:].tolist(), f["pair"][:].tolist(), [int(f[n].attrs["a"]) for n in ("/", "x", "g")])
`

// TestCopyTree_sparseNumbers checks that h5py reads copies and the recovered file of such numbers.
func TestCopyTree_sparseNumbers(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "a.h5")
	testutil.Python(t, []string{"h5py"}, "-c", writeSparse, src)
	want := testutil.Python(t, []string{"h5py"}, "-c", readSparse, src)
	copied, recovered := filepath.Join(dir, "copied.h5"), filepath.Join(dir, "recovered.h5")
	tree, err := hyperslab.OpenTree(bg, src, nil)
	require.NoError(t, err)
	_, err = hyperslab.CopyTree(bg, copied, tree, nil)
	require.NoError(t, err)
	require.NoError(t, tree.Close())
	_, err = hyperslab.Recover(bg, recovered, src, nil)
	require.NoError(t, err)
	for _, file := range []string{copied, recovered} {
		require.Equal(t, want, testutil.Python(t, []string{"h5py"}, "-c", readSparse, file), file)
	}
}
