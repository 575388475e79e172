package formats_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/formats"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// trees are golden directories written by bcolz-zipline.
const trees = "../../internal/format/bcolztree/testdata"

func TestOpensBcolzByContent(t *testing.T) {
	for _, tree := range []string{"type_i4", "type_f8", "rows", "unicode", "bool", "codec_zstd"} {
		dir := filepath.Join(trees, tree)
		f, err := formats.Sniff(dir)
		require.NoError(t, err)
		require.Equal(t, formats.Bcolz, f)
		a, err := formats.Open(bg, dir)
		require.NoError(t, err, tree)
		require.Equal(t, "bcolz", a.Meta().Format)

		entries := walk(t, dir)
		require.Len(t, entries, 1)
		require.Equal(t, "/", entries[0].Path)
		require.Equal(t, a.Meta(), entries[0].Meta)

		// What was read goes into another format and is the same there.
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
	entries := walk(t, dir)
	require.Equal(t, formats.Group, entries[0].Kind)
	require.Greater(t, len(entries), 1)
	for _, e := range entries[1:] {
		require.NoError(t, e.Err)
		a, err := formats.Open(bg, dir+":"+e.Path)
		require.NoError(t, err)
		require.Equal(t, e.Meta, a.Meta())
		require.NoError(t, a.Close())
		require.Equal(t, []formats.Entry{e}, walk(t, dir+":"+e.Path), "one column by itself")
	}
	a, err := formats.Open(bg, dir)
	require.NoError(t, err)
	require.Equal(t, "[('id', '<i4'), ('value', '<f8'), ('tag', 'S3')]", a.DType().String(), "all columns as one array")
	require.NoError(t, a.Close())
	_, err = formats.Open(bg, dir+":/none")
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	_, err = formats.Open(bg, filepath.Join(trees, "type_i4")+":/x")
	require.ErrorIs(t, err, ndarray.ErrParam)
}

// A column that cannot be opened does not hide the others.
func TestWalkGoesOnBehindADamagedColumn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(trees, "table"))))
	before := walk(t, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, before[1].Path, "meta", "sizes")))
	after := walk(t, dir)
	require.Len(t, after, len(before))
	require.Error(t, after[1].Err)
	require.Equal(t, before[2:], after[2:])
}

func TestCreateBcolz(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x.bcolz")
	d, err := ndarray.ParseDType("<i4")
	require.NoError(t, err)
	spec := ndarray.Spec{Shape: []int64{3}, DType: d, Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}}}
	draft, err := formats.Create(bg, target, spec)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(bg, draft.Array, []int32{7, 8, 9}, ndarray.Whole(spec.Shape)))
	require.NoFileExists(t, target)
	require.NoError(t, draft.Commit(bg))
	a, err := formats.Open(bg, target)
	require.NoError(t, err)
	got, err := ndarray.ReadAll[int32](bg, a)
	require.NoError(t, err)
	require.Equal(t, []int32{7, 8, 9}, got)
	attrs, err := a.Attrs(bg)
	require.NoError(t, err)
	require.Equal(t, spec.Attrs, attrs.List)
	require.NoError(t, a.Close())

	_, err = formats.Create(bg, target, spec)
	require.ErrorIs(t, err, ndarray.ErrExists)
	_, err = formats.Create(bg, filepath.Join(t.TempDir(), "y")+":/column", spec, formats.WithFormat(formats.Bcolz))
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = formats.Create(bg, filepath.Join(t.TempDir(), "z"), ndarray.Spec{DType: d}, formats.WithFormat(formats.Bcolz))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = formats.Open(bg, filepath.Join(trees, "type_i4"), formats.WithDType(d))
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = formats.Sniff(t.TempDir())
	require.ErrorIs(t, err, ndarray.ErrFormat)
}

// A structure along one axis becomes a ctable, whose columns can be opened by
// themselves, and grows in place.
func TestCreateTable(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x.bcolz")
	d, err := ndarray.ParseDType("[('id', '<i4'), ('value', '<f8')]")
	require.NoError(t, err)
	draft, err := formats.Create(bg, target, ndarray.Spec{Shape: []int64{2}, DType: d})
	require.NoError(t, err)
	src := make([]byte, 24)
	src[0], src[12] = 7, 8
	require.NoError(t, draft.Write(bg, src, ndarray.Whole([]int64{2})))
	require.NoError(t, draft.Commit(bg))
	a, err := formats.Open(bg, target, formats.WithWrite())
	require.NoError(t, err)
	require.NoError(t, a.Resize(bg, []int64{3}))
	require.NoError(t, a.Close())
	a, err = formats.Open(bg, target+":/id", formats.WithWrite())
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(bg, a, []int32{9}, ndarray.Region{Start: []int64{2}, Shape: []int64{1}}))
	got, err := ndarray.ReadAll[int32](bg, a)
	require.NoError(t, err)
	require.Equal(t, []int32{7, 8, 9}, got)
	require.NoError(t, a.Close())
}

// Arrays of one length side by side are a ctable, wherever they come from; what does
// not fit is found before anything is written.
func TestCopyTreeToTable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.h5")
	_, err := formats.CopyTree(bg, file, filepath.Join(trees, "table"), nil)
	require.NoError(t, err)
	table := filepath.Join(dir, "a.bcolz")
	stats, err := formats.CopyTree(bg, table, file, nil)
	require.NoError(t, err)
	require.Equal(t, 3, stats.Arrays)
	for _, column := range []string{"id", "value", "tag"} {
		a, err := formats.Open(bg, table+":/"+column)
		require.NoError(t, err)
		b, err := formats.Open(bg, filepath.Join(trees, "table")+":/"+column)
		require.NoError(t, err)
		same, err := ndarray.Compare(bg, a, b, nil)
		require.NoError(t, err)
		require.True(t, same.Equal(), column)
		require.NoError(t, errors.Join(a.Close(), b.Close()))
	}
	before, err := formats.Open(bg, filepath.Join(trees, "table"))
	require.NoError(t, err)
	after, err := formats.Open(bg, table)
	require.NoError(t, err)
	want, err := before.Attrs(bg)
	require.NoError(t, err)
	got, err := after.Attrs(bg)
	require.NoError(t, err)
	require.ElementsMatch(t, want.List, got.List)
	require.NoError(t, errors.Join(before.Close(), after.Close()))

	folder := filepath.Join(dir, "folder")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "deeper"), 0o777))
	save(t, in(folder, "a.b2nd"), int32s(5, 2))
	save(t, in(folder, "b.b2nd"), int32s(6))
	save(t, in(folder, "c.b2nd"), int32s())
	save(t, in(folder, "deeper/d.b2nd"), int32s(5))
	lossy := filepath.Join(dir, "lossy.bcolz")
	_, err = formats.CopyTree(bg, lossy, folder, nil)
	var loss *formats.LossError
	require.ErrorAs(t, err, &loss)
	var lost []string
	for _, p := range loss.Problems {
		lost = append(lost, p.Path)
	}
	require.Equal(t, []string{"/b", "/c", "/deeper", "/deeper/d"}, lost)
	require.NoDirExists(t, lossy)
	stats, err = formats.CopyTree(bg, lossy, folder, &formats.TreeOptions{Accept: func(formats.Problem) bool { return true }})
	require.NoError(t, err)
	require.Equal(t, 1, stats.Arrays)
	requireCount(t, lossy+":/a")
}

// A nested ctable is a tree with groups, a column at each of its paths, and an array of
// structures; it is copied whole to formats that have groups.
func TestNestedTable(t *testing.T) {
	dir := t.TempDir()
	path := in(dir, "nested")
	d, err := ndarray.ParseDType(`[('a', '<i4'), ('g', [('b', '<f8'), ('h', [('c', '<u2')])]), ('z', '|S2')]`)
	require.NoError(t, err)
	spec := ndarray.Spec{Shape: []int64{5}, DType: d, Attrs: []ndarray.Attr{{Name: "title", Value: ndarray.Text("x")}}}
	b, err := bcolz.CreateRecords(path, spec, &bcolz.CreateOptions{Nested: true})
	require.NoError(t, err)
	want := noise(d, 5)
	require.NoError(t, b.WriteRegion(bg, want, ndarray.Whole(spec.Shape)))
	require.NoError(t, b.Close())

	list := func(location string, opts ...formats.Option) (out []string) {
		for e, err := range formats.Walk(bg, location, opts...) {
			require.NoError(t, err)
			require.NoError(t, e.Err)
			out = append(out, string(e.Kind)+" "+e.Path)
		}
		return out
	}
	all := []string{"group /", "array /a", "group /g", "array /g/b", "group /g/h", "array /g/h/c", "array /z"}
	require.Equal(t, all, list(path))
	require.Equal(t, []string{"group /g", "array /g/b", "group /g/h", "array /g/h/c"}, list(path+":/g"))
	require.Equal(t, []string{"array /g/h/c"}, list(path+":/g/h/c"))
	require.Equal(t, []string{"group /", "array /a", "group /g", "array /z"}, list(path, formats.WithPrune(func(e formats.Entry) bool { return e.Path == "/g" })))
	for _, err := range formats.Walk(bg, path+":/none") {
		require.ErrorIs(t, err, ndarray.ErrNotFound)
	}

	whole, err := formats.Open(bg, path)
	require.NoError(t, err)
	got := make([]byte, len(want))
	require.NoError(t, whole.Read(bg, got, ndarray.Whole(spec.Shape)))
	require.Equal(t, want, got)
	require.NoError(t, whole.Close())
	_, err = formats.Open(bg, path+":/g")
	require.ErrorIs(t, err, ndarray.ErrNotFound)

	for _, to := range []string{"copy.h5", "copy"} {
		stats, err := formats.CopyTree(bg, in(dir, to), path, nil)
		require.NoError(t, err)
		require.Equal(t, 3, stats.Groups)
		require.Equal(t, 4, stats.Arrays)
		require.Equal(t, all, list(in(dir, to)))
		for _, name := range []string{"/a", "/g/b", "/g/h/c", "/z"} {
			x, err := formats.Open(bg, path+":"+name)
			require.NoError(t, err)
			y, err := formats.Open(bg, in(dir, to)+":"+name)
			require.NoError(t, err)
			c, err := ndarray.Compare(bg, x, y, nil)
			require.NoError(t, err)
			require.True(t, c.Equal(), "%s in %s: %+v", name, to, c)
			require.NoError(t, errors.Join(x.Close(), y.Close()))
		}
		attrs, err := formats.GroupAttrs(bg, in(dir, to)+":/")
		require.NoError(t, err)
		require.Len(t, attrs.List, 1)
	}
	attrs, err := formats.GroupAttrs(bg, path+":/g")
	require.NoError(t, err)
	require.Empty(t, attrs.List)
	_, err = formats.CopyTree(bg, in(dir, "flat.bcolz"), path, nil)
	var loss *formats.LossError
	require.ErrorAs(t, err, &loss, "a ctable has no groups")
	require.NoDirExists(t, in(dir, "flat.bcolz"))
}
