package carrays_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// trees are golden directories written by bcolz-zipline.
const trees = "../../format/bcolztree/testdata"

func TestOpen_bcolzByContent(t *testing.T) {
	for _, tree := range []string{"type_i4", "type_f8", "rows", "unicode", "bool", "codec_zstd"} {
		dir := filepath.Join(trees, tree)
		f, err := hyperslab.Sniff(dir)
		require.NoError(t, err)
		require.Equal(t, hyperslab.Bcolz, f)
		a, err := hyperslab.Open(bg, dir, nil)
		require.NoError(t, err, tree)
		require.Equal(t, "bcolz", a.Meta().Format)

		entries := filetest.Walk(t, dir)
		require.Len(t, entries, 1)
		require.Equal(t, "/", entries[0].Path)
		require.Equal(t, a.Meta(), entries[0].Meta)

		// A copy in memory must have the same elements.
		m, err := mem.New(a.Meta().Spec())
		require.NoError(t, err)
		copied, err := ndarray.New(m)
		require.NoError(t, err)
		_, err = ndarray.Copy(bg, copied, a, nil)
		require.NoError(t, err)
		same, err := ndarray.Compare(bg, a, copied, &ndarray.CompareOptions{IgnoreAttrs: true})
		require.NoError(t, err)
		require.True(t, same.Equal(), tree)
		require.NoError(t, a.Close())
	}
}

func TestBcolzTables(t *testing.T) {
	dir := filepath.Join(trees, "table")
	entries := filetest.Walk(t, dir)
	require.Equal(t, hyperslab.Group, entries[0].Kind)
	require.Greater(t, len(entries), 1)
	for _, e := range entries[1:] {
		require.NoError(t, e.Err)
		a, err := hyperslab.Open(bg, dir+":"+e.Path, nil)
		require.NoError(t, err)
		require.Equal(t, e.Meta, a.Meta())
		require.NoError(t, a.Close())
		require.Equal(t, []hyperslab.Entry{e}, filetest.Walk(t, dir+":"+e.Path), "one column by itself")
	}
	a, err := hyperslab.Open(bg, dir, nil)
	require.NoError(t, err)
	require.Equal(t, "[('id', '<i4'), ('value', '<f8'), ('tag', 'S3')]", a.DType().String(), "all columns as one array")
	require.NoError(t, a.Close())
	_, err = hyperslab.Open(bg, dir+":/none", nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	_, err = hyperslab.Open(bg, filepath.Join(trees, "type_i4")+":/x", nil)
	require.ErrorIs(t, err, ndarray.ErrParam)
}

// TestWalk_corruptColumn checks that Walk lists the other columns of a ctable if one cannot be
// opened.
func TestWalk_corruptColumn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(trees, "table"))))
	before := filetest.Walk(t, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, before[1].Path, "meta", "sizes")))
	after := filetest.Walk(t, dir)
	require.Len(t, after, len(before))
	require.Error(t, after[1].Err)
	require.Equal(t, before[2:], after[2:])
}

func TestCreateBcolz(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x.bcolz")
	d, err := ndarray.ParseDType("<i4")
	require.NoError(t, err)
	spec := ndarray.Spec{Shape: []int64{3}, DType: d, Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}}}
	draft, err := hyperslab.Create(bg, target, spec, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(bg, draft.Array, []int32{7, 8, 9}, ndarray.Whole(spec.Shape)))
	require.NoFileExists(t, target)
	require.NoError(t, draft.Commit(bg))
	a, err := hyperslab.Open(bg, target, nil)
	require.NoError(t, err)
	got, err := ndarray.ReadAll[int32](bg, a)
	require.NoError(t, err)
	require.Equal(t, []int32{7, 8, 9}, got)
	attrs, err := a.Attrs(bg)
	require.NoError(t, err)
	require.Equal(t, spec.Attrs, attrs.List)
	require.NoError(t, a.Close())

	_, err = hyperslab.Create(bg, target, spec, nil)
	require.ErrorIs(t, err, ndarray.ErrExists)
	_, err = hyperslab.Create(bg, filepath.Join(t.TempDir(), "y")+":/column", spec, &hyperslab.CreateOptions{Format: hyperslab.Bcolz})
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = hyperslab.Create(bg, filepath.Join(t.TempDir(), "z"), ndarray.Spec{DType: d}, &hyperslab.CreateOptions{Format: hyperslab.Bcolz})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = hyperslab.Open(bg, filepath.Join(trees, "type_i4"), &hyperslab.OpenOptions{DType: new(d)})
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = hyperslab.Sniff(t.TempDir())
	require.ErrorIs(t, err, ndarray.ErrFormat)
}

// TestCreateTable checks that a one-dimensional array of structures is stored as a ctable. Its
// columns can be opened individually, and it can be resized in place.
func TestCreateTable(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x.bcolz")
	d, err := ndarray.ParseDType("[('id', '<i4'), ('value', '<f8')]")
	require.NoError(t, err)
	draft, err := hyperslab.Create(bg, target, ndarray.Spec{Shape: []int64{2}, DType: d}, nil)
	require.NoError(t, err)
	src := make([]byte, 24)
	src[0], src[12] = 7, 8
	require.NoError(t, draft.Write(bg, src, ndarray.Whole([]int64{2})))
	require.NoError(t, draft.Commit(bg))
	a, err := hyperslab.Open(bg, target, &hyperslab.OpenOptions{Write: true})
	require.NoError(t, err)
	require.NoError(t, a.Resize(bg, []int64{3}))
	require.NoError(t, a.Close())
	a, err = hyperslab.Open(bg, target+":/id", &hyperslab.OpenOptions{Write: true})
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(bg, a, []int32{9}, ndarray.Region{Start: []int64{2}, Shape: []int64{1}}))
	got, err := ndarray.ReadAll[int32](bg, a)
	require.NoError(t, err)
	require.Equal(t, []int32{7, 8, 9}, got)
	require.NoError(t, a.Close())
}

// TestCopyTree_table checks that arrays of one length in one group are copied to a ctable, whatever
// their format. Objects that a ctable cannot represent are refused before anything is written.
func TestCopyTree_table(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.h5")
	_, err := filetest.CopyTree(bg, file, filepath.Join(trees, "table"), nil)
	require.NoError(t, err)
	table := filepath.Join(dir, "a.bcolz")
	stats, err := filetest.CopyTree(bg, table, file, nil)
	require.NoError(t, err)
	require.Equal(t, 3, stats.Arrays)
	for _, column := range []string{"id", "value", "tag"} {
		a, err := hyperslab.Open(bg, table+":/"+column, nil)
		require.NoError(t, err)
		b, err := hyperslab.Open(bg, filepath.Join(trees, "table")+":/"+column, nil)
		require.NoError(t, err)
		same, err := ndarray.Compare(bg, a, b, nil)
		require.NoError(t, err)
		require.True(t, same.Equal(), column)
		require.NoError(t, errors.Join(a.Close(), b.Close()))
	}
	before, err := hyperslab.Open(bg, filepath.Join(trees, "table"), nil)
	require.NoError(t, err)
	after, err := hyperslab.Open(bg, table, nil)
	require.NoError(t, err)
	want, err := before.Attrs(bg)
	require.NoError(t, err)
	got, err := after.Attrs(bg)
	require.NoError(t, err)
	require.ElementsMatch(t, want.List, got.List)
	require.NoError(t, errors.Join(before.Close(), after.Close()))

	directory := filepath.Join(dir, "directory")
	require.NoError(t, os.MkdirAll(filepath.Join(directory, "deeper"), 0o777))
	filetest.Save(t, filetest.In(directory, "a.b2nd"), filetest.Int32s(5, 2), nil)
	filetest.Save(t, filetest.In(directory, "b.b2nd"), filetest.Int32s(6), nil)
	filetest.Save(t, filetest.In(directory, "c.b2nd"), filetest.Int32s(), nil)
	filetest.Save(t, filetest.In(directory, "deeper/d.b2nd"), filetest.Int32s(5), nil)
	lossy := filepath.Join(dir, "lossy.bcolz")
	stats, err = filetest.CopyTree(bg, lossy, directory, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	var lost []string
	for _, p := range stats.Refused {
		lost = append(lost, p.Path)
	}
	require.Equal(t, []string{"/b", "/c", "/deeper", "/deeper/d"}, lost)
	require.NoDirExists(t, lossy)
	stats, err = filetest.CopyTree(bg, lossy, directory, &hyperslab.TreeOptions{Accept: func(hyperslab.Problem) bool { return true }})
	require.NoError(t, err)
	require.Equal(t, 1, stats.Arrays)
	filetest.RequireCount(t, lossy+":/a")
}

// TestNestedTable checks that a nested ctable is both a tree, with a column at each path, and an
// array of structures. CopyTree copies it completely to formats that have groups.
func TestNestedTable(t *testing.T) {
	dir := t.TempDir()
	path := filetest.In(dir, "nested")
	d, err := ndarray.ParseDType(`[('a', '<i4'), ('g', [('b', '<f8'), ('h', [('c', '<u2')])]), ('z', '|S2')]`)
	require.NoError(t, err)
	spec := ndarray.Spec{Shape: []int64{5}, DType: d, Attrs: []ndarray.Attr{{Name: "title", Value: ndarray.Text("x")}}}
	b, err := bcolz.CreateRecords(path, spec, &bcolz.CreateOptions{Nested: true})
	require.NoError(t, err)
	want := filetest.Noise(d, 5)
	require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, want, ndarray.Whole(spec.Shape), 0))
	require.NoError(t, b.Close())

	list := func(location string, opts *hyperslab.WalkOptions) (out []string) {
		for e, err := range hyperslab.Walk(bg, location, opts) {
			require.NoError(t, err)
			require.NoError(t, e.Err)
			out = append(out, string(e.Kind)+" "+e.Path)
		}
		return out
	}
	all := []string{"group /", "array /a", "group /g", "array /g/b", "group /g/h", "array /g/h/c", "array /z"}
	require.Equal(t, all, list(path, nil))
	require.Equal(t, []string{"group /g", "array /g/b", "group /g/h", "array /g/h/c"}, list(path+":/g", nil))
	require.Equal(t, []string{"array /g/h/c"}, list(path+":/g/h/c", nil))
	require.Equal(t, []string{"group /", "array /a", "group /g", "array /z"}, list(path, &hyperslab.WalkOptions{Prune: func(e hyperslab.Entry) bool { return e.Path == "/g" }}))
	for _, err := range hyperslab.Walk(bg, path+":/none", nil) {
		require.ErrorIs(t, err, ndarray.ErrNotFound)
	}

	whole, err := hyperslab.Open(bg, path, nil)
	require.NoError(t, err)
	got := make([]byte, len(want))
	require.NoError(t, whole.Read(bg, got, ndarray.Whole(spec.Shape)))
	require.Equal(t, want, got)
	require.NoError(t, whole.Close())
	_, err = hyperslab.Open(bg, path+":/g", nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)

	for _, to := range []string{"copy.h5", "copy"} {
		stats, err := filetest.CopyTree(bg, filetest.In(dir, to), path, nil)
		require.NoError(t, err)
		require.Equal(t, 3, stats.Groups)
		require.Equal(t, 4, stats.Arrays)
		require.Equal(t, all, list(filetest.In(dir, to), nil))
		for _, name := range []string{"/a", "/g/b", "/g/h/c", "/z"} {
			x, err := hyperslab.Open(bg, path+":"+name, nil)
			require.NoError(t, err)
			y, err := hyperslab.Open(bg, filetest.In(dir, to)+":"+name, nil)
			require.NoError(t, err)
			c, err := ndarray.Compare(bg, x, y, nil)
			require.NoError(t, err)
			require.True(t, c.Equal(), "%s in %s: %+v", name, to, c)
			require.NoError(t, errors.Join(x.Close(), y.Close()))
		}
		attrs, err := filetest.GroupAttrs(filetest.In(dir, to)+":/", nil)
		require.NoError(t, err)
		require.Len(t, attrs.List, 1)
	}
	attrs, err := filetest.GroupAttrs(path+":/g", nil)
	require.NoError(t, err)
	require.Empty(t, attrs.List)
	_, err = filetest.CopyTree(bg, filetest.In(dir, "flat.bcolz"), path, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported, "a ctable has no groups")
	require.NoDirExists(t, filetest.In(dir, "flat.bcolz"))
}

// TestWalk_bcolzInDirectory lists, opens, verifies and copies the bcolz arrays and tables in a
// directory, trusted and untrusted.
func TestWalk_bcolzInDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, tree := range map[string]string{"plain": "type_i4", "sub/float": "type_f8", "sub/table": "table"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(trees, tree))))
	}
	f, err := hyperslab.Sniff(dir)
	require.NoError(t, err)
	require.Equal(t, hyperslab.Directory, f)

	all := filetest.Walk(t, dir)
	arrays := map[string]hyperslab.Entry{}
	for _, e := range all {
		require.NoError(t, e.Err, e.Path)
		if e.Kind == hyperslab.Array {
			arrays[e.Path] = e
		}
	}
	require.Contains(t, arrays, "/plain")
	require.Contains(t, arrays, "/sub/float")
	for _, column := range filetest.Walk(t, filepath.Join(dir, "sub", "table"))[1:] {
		require.Contains(t, arrays, "/sub/table"+column.Path)
	}
	for _, u := range []*hyperslab.Untrusted{nil, {InProcess: true}, {}} {
		o := &hyperslab.OpenOptions{Untrusted: u}
		if u != nil {
			filetest.RequireSameWalk(t, dir, *u, nil)
		}
		for at, e := range arrays {
			a, err := hyperslab.Open(bg, dir+":"+at, o)
			require.NoError(t, err, at)
			require.Equal(t, e.Meta.Shape, a.Meta().Shape)
			require.NoError(t, a.Close())
		}
		_, err := hyperslab.Open(bg, dir+":/sub/none", o)
		require.ErrorIs(t, err, ndarray.ErrNotFound)
		_, err = hyperslab.Open(bg, dir+":/plain/x", o)
		require.ErrorIs(t, err, ndarray.ErrParam)
	}
	below := filetest.Walk(t, dir+":/sub/table")
	require.Equal(t, "/sub/table", below[0].Path)

	copied := filepath.Join(t.TempDir(), "c.h5")
	_, err = filetest.CopyTree(bg, copied, dir, nil)
	require.NoError(t, err)
	for at := range arrays {
		a, err := hyperslab.Open(bg, dir+":"+at, nil)
		require.NoError(t, err)
		b, err := hyperslab.Open(bg, copied+":"+at, nil)
		require.NoError(t, err)
		same, err := ndarray.Compare(bg, a, b, &ndarray.CompareOptions{IgnoreAttrs: true})
		require.NoError(t, err)
		require.True(t, same.Equal(), at)
		require.NoError(t, errors.Join(a.Close(), b.Close()))
	}
}

// TestWalk_corruptBcolzInDirectory checks that a corrupt bcolz array hides no other.
func TestWalk_corruptBcolzInDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(trees, "type_i4"))))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "meta", "storage"), []byte("{"), 0o600))
	all := filetest.Walk(t, dir)
	require.Len(t, all, 3)
	require.ErrorIs(t, all[1].Err, ndarray.ErrCorrupt)
	require.NoError(t, all[2].Err)
}
