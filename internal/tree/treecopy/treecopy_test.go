package treecopy_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// requireSameTree compares two trees: paths, kinds, numbers of attributes, and for each array its
// attributes and shapes.
func requireSameTree(t *testing.T, a, b string) int {
	t.Helper()
	x, y := filetest.Walk(t, a), filetest.Walk(t, b)
	for _, all := range [][]hyperslab.Entry{x, y} { // the columns of a ctable are not in the order of their names
		slices.SortFunc(all, func(a, b hyperslab.Entry) int { return strings.Compare(a.Path, b.Path) })
	}
	arrays := 0
	require.Equal(t, len(x), len(y), "%s has %d entries, %s has %d", a, len(x), b, len(y))
	for i := range x {
		require.NoError(t, x[i].Err)
		require.NoError(t, y[i].Err)
		require.Equal(t, x[i].Path, y[i].Path)
		require.Equal(t, x[i].Kind, y[i].Kind, x[i].Path)
		if x[i].Kind != hyperslab.Array {
			require.Equal(t, x[i].Attrs, y[i].Attrs, x[i].Path)
			continue
		}
		arrays++
		p, err := hyperslab.Open(bg, a+":"+x[i].Path, nil)
		require.NoError(t, err)
		q, err := hyperslab.Open(bg, b+":"+y[i].Path, nil)
		require.NoError(t, err)
		c, err := ndarray.Compare(bg, p, q, nil)
		require.NoError(t, err)
		require.True(t, c.Equal(), "%s: %+v", x[i].Path, c)
		require.Equal(t, p.Meta().MaxShape, q.Meta().MaxShape, x[i].Path)
		require.Equal(t, p.Meta().AxisNames, q.Meta().AxisNames, x[i].Path)
		require.Equal(t, p.Meta().Fill, q.Meta().Fill, x[i].Path)
		require.NoError(t, p.Close())
		require.NoError(t, q.Close())
	}
	return arrays
}

// TestCopyTree copies a tree from HDF5 to a directory, to a second directory and back to HDF5. All
// copies must be equal.
func TestCopyTree(t *testing.T) {
	dir := t.TempDir()
	first := filetest.In(dir, "1.h5")
	filetest.Grove(t, first)
	at := first
	var last ndarray.Progress
	for _, next := range []string{"2", "3", "4.h5", "5.h5"} {
		stats, err := filetest.CopyTree(bg, filetest.In(dir, next), at, &hyperslab.TreeOptions{Progress: func(p ndarray.Progress) { last = p }})
		require.NoError(t, err, next)
		require.Equal(t, len(filetest.OddNames)+2, stats.Arrays)
		require.Equal(t, len(filetest.OddNames)+4, stats.Groups)
		require.Equal(t, len(filetest.OddNames)+5, stats.Attrs)
		require.Equal(t, ndarray.Progress{DoneBytes: stats.Bytes, TotalBytes: stats.Bytes, DoneUnits: int64(stats.Arrays), TotalUnits: int64(stats.Arrays)}, last)
		at = filetest.In(dir, next)
		require.Equal(t, len(filetest.OddNames)+2, requireSameTree(t, first, at))
	}
	require.ElementsMatch(t, []string{"1.h5", "2", "3", "4.h5", "5.h5"}, filetest.Entries(t, dir), "no temporary file is left")

	// A subtree can be copied too.
	stats, err := filetest.CopyTree(bg, filetest.In(dir, "deep"), first+":/deep", nil)
	require.NoError(t, err)
	require.Equal(t, 2, stats.Arrays)
	require.FileExists(t, filetest.In(dir, "deep/er/records.b2nd"))
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "er.h5"), filetest.In(dir, "deep")+":/er", nil)
	require.NoError(t, err)
	require.Equal(t, 1, stats.Arrays)
	a, err := hyperslab.Open(bg, filetest.In(dir, "er.h5:/records"), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"time", ""}, a.Meta().AxisNames)
	require.NoError(t, a.Close())
}

func TestCopyTree_fromTable(t *testing.T) {
	dir := t.TempDir()
	table := testenv.Module(t, "internal/format/bcolztree/testdata/table")
	for _, to := range []string{"t.h5", "t"} {
		_, err := filetest.CopyTree(bg, filetest.In(dir, to), table, nil)
		require.NoError(t, err)
		require.Positive(t, requireSameTree(t, table, filetest.In(dir, to)))
	}
}

// TestCopyTreeLosses checks that everything that the target cannot represent is listed before
// anything is written, and that it is left out only if Accept returns true for it.
func TestCopyTreeLosses(t *testing.T) {
	dir := t.TempDir()
	src := filetest.In(dir, "tree.h5")
	filetest.WriteObjects(t, src)
	stats, err := filetest.CopyTree(bg, filetest.In(dir, "out"), src, &hyperslab.TreeOptions{Strings: "error"})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	var lost []string
	for _, p := range stats.Refused {
		require.Error(t, p.Err)
		lost = append(lost, p.Path+" "+p.What)
	}
	require.Equal(t, []string{
		"/b/inner/again link", "/b/inner/dangling link", "/b/inner/outside link", "/b/inner/root link", "/b/inner/soft link", "/b/inner/up link",
		"/b/words array", "/records array",
	}, lost)
	require.NoFileExists(t, filetest.In(dir, "out"))

	accept := func(p hyperslab.Problem) bool { return p.What != "array" }
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "out"), src, &hyperslab.TreeOptions{Accept: accept, Strings: "error"})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.Len(t, stats.Refused, 2)
	all := func(hyperslab.Problem) bool { return true }
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "out"), src, &hyperslab.TreeOptions{Accept: all, DryRun: true, Strings: "error"})
	require.NoError(t, err)
	require.Len(t, stats.Lost, 8)
	require.NoFileExists(t, filetest.In(dir, "out"))
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "out"), src, &hyperslab.TreeOptions{Accept: all})
	require.NoError(t, err)
	require.Equal(t, 4, stats.Arrays)
	require.Len(t, stats.Lost, 7)
	require.True(t, slices.ContainsFunc(stats.Changes, func(p hyperslab.Problem) bool { return p.Path == "/b/words" && p.What == "type (string)" }), "%v", stats.Changes)

	// HDF5 represents strings of variable length, links, and types that ndarray does not have.
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "out.h5"), src, nil)
	require.NoError(t, err)
	require.Equal(t, 6, stats.Links)
	var want, got []string
	for _, e := range filetest.Walk(t, src) {
		want = append(want, e.Path+" "+e.LinkKind+" "+e.Target+" "+e.Type)
	}
	for _, e := range filetest.Walk(t, filetest.In(dir, "out.h5")) {
		got = append(got, e.Path+" "+e.LinkKind+" "+e.Target+" "+e.Type)
	}
	require.Equal(t, want, got)

	// HDF5 does not represent Unicode code points. By default their strings become UTF-8.
	spec := ndarray.Spec{Null: true, DType: ndarray.DType{Kind: ndarray.Unicode, Size: 4, Order: ndarray.Little}}
	require.NoError(t, os.Mkdir(filetest.In(dir, "u"), 0o777))
	d, err := hyperslab.Create(bg, filetest.In(dir, "u/x.b2nd"), spec, nil)
	require.NoError(t, err)
	require.NoError(t, d.Commit(bg))
	_, err = filetest.CopyTree(bg, filetest.In(dir, "u.h5"), filetest.In(dir, "u"), &hyperslab.TreeOptions{Strings: "error"})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "/x: array")
	require.ErrorContains(t, err, "<U1")
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "u.h5"), filetest.In(dir, "u"), nil)
	require.NoError(t, err)
	require.Len(t, stats.Changes, 1)
	require.Equal(t, "type (<U1)", stats.Changes[0].What)
	_, err = filetest.CopyTree(bg, filetest.In(dir, "u2.h5"), filetest.In(dir, "u"), &hyperslab.TreeOptions{Strings: "short"})
	require.ErrorIs(t, err, ndarray.ErrParam)
}

// TestCopyTree_fixedMetalayers checks that a fixed metalayer of another program is copied to a
// frame unchanged. In HDF5 it becomes an attribute or is listed as refused.
func TestCopyTree_fixedMetalayers(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filetest.In(dir, "src"), 0o777))
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 4
	x, err := cblosc.CreateArray(&cblosc.ArrayParams{
		Shape: []int64{4}, ChunkShape: []int32{4}, Blocks: []int32{4}, DType: "<i4",
		Meta:    []cblosc.Metalayer{{Name: "unit", Content: []byte("\xa1K")}, {Name: "map", Content: []byte("\x80")}},
		Storage: cblosc.Storage{Path: filetest.In(dir, "src/x.b2nd"), Contiguous: true, CParams: cp},
	})
	require.NoError(t, err)
	require.NoError(t, x.Close())
	for _, to := range []string{"x.h5", "x"} {
		stats, err := filetest.CopyTree(bg, filetest.In(dir, to), filetest.In(dir, "src"), nil)
		if to == "x" {
			require.NoError(t, err)
			copied, err := cblosc.OpenArray(filetest.In(dir, "x/x.b2nd"))
			require.NoError(t, err)
			layers, err := copied.SChunk().Meta().Map()
			require.NoError(t, err)
			require.Equal(t, "\xa1K", string(layers["unit"]))
			require.Equal(t, "\x80", string(layers["map"]))
			require.NoError(t, copied.Close())
		} else {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.Len(t, stats.Refused, 1)
			require.Equal(t, "/x attribute map", stats.Refused[0].Path+" "+stats.Refused[0].What)
			_, err = filetest.CopyTree(bg, filetest.In(dir, to), filetest.In(dir, "src"), &hyperslab.TreeOptions{Accept: func(hyperslab.Problem) bool { return true }})
			require.NoError(t, err)
		}
		a, err := hyperslab.Open(bg, filetest.In(dir, to)+":/x", nil)
		require.NoError(t, err)
		unit, err := a.Attr(bg, "unit")
		require.NoError(t, err)
		require.True(t, unit.Equal(ndarray.Text("K")))
		require.NoError(t, a.Close())
	}
}

func TestCopyTreeErrors(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "a.b2nd"), filetest.Int32s(3), nil)
	filetest.Save(t, filetest.In(dir, "b.h5:/x"), filetest.Int32s(3), nil)
	_, err := filetest.CopyTree(bg, filetest.In(dir, "out"), filetest.In(dir, "a.b2nd"), nil)
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = filetest.CopyTree(bg, filetest.In(dir, "out"), filetest.In(dir, "b.h5:/x"), nil)
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = filetest.CopyTree(bg, filetest.In(dir, "out.b2nd"), filetest.In(dir, "b.h5"), nil)
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = filetest.CopyTree(bg, filetest.In(dir, "out"), filetest.In(dir, "none.h5"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	_, err = filetest.CopyTree(bg, filetest.In(dir, "a.b2nd"), filetest.In(dir, "b.h5"), nil)
	require.Error(t, err)
	require.NoError(t, os.Mkdir(filetest.In(dir, "there"), 0o777))
	_, err = filetest.CopyTree(bg, filetest.In(dir, "there"), filetest.In(dir, "b.h5"), nil)
	require.ErrorIs(t, err, ndarray.ErrExists)
	_, err = filetest.CopyTree(bg, filetest.In(dir, "there"), filetest.In(dir, "b.h5"), &hyperslab.TreeOptions{Overwrite: true})
	require.NoError(t, err)
	filetest.RequireCount(t, filetest.In(dir, "there:/x"))
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err = filetest.CopyTree(ctx, filetest.In(dir, "out"), filetest.In(dir, "b.h5"), nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ElementsMatch(t, []string{"a.b2nd", "b.h5", "there"}, filetest.Entries(t, dir))
}
