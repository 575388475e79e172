package bcolz_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

func parse(t requireT, text string) ndarray.DType {
	t.Helper()
	d, err := ndarray.ParseDType(text)
	require.NoError(t, err)
	return d
}

// family is the example structure of the format's document.
const family = `[('col1', '<i4'), ('col2', [('sc1', '>f8'), ('sc3', '|S3', (2,))]), ('col3', '<u2')]`

// TestNested checks that a table in the nested form of the document can be read as records, as
// columns and as a tree, and that its files have the documented paths.
func TestNested(t *testing.T) {
	dir := testenv.Scratch(t)
	path := filepath.Join(dir, "a")
	d := parse(t, family)
	fill := pattern(d, 1)
	// Both elements of sc3 have the same value.
	fill = append(fill[:15:15], append(fill[12:15:15], fill[18:]...)...)
	spec := ndarray.Spec{Shape: []int64{11}, ChunkShape: []int64{4}, DType: d, Fill: fill,
		Attrs: []ndarray.Attr{{Name: "title", Value: ndarray.Text("nested")}}}
	b, err := bcolz.CreateRecords(path, spec, &bcolz.CreateOptions{Nested: true})
	require.NoError(t, err)
	kind, err := bcolztree.Detect(os.DirFS(path), ".")
	require.NoError(t, err)
	require.Equal(t, bcolztree.NotATree, kind, "no tree before Close")
	want := pattern(d, 11)
	r := ndarray.Region{Start: []int64{2}, Shape: []int64{8}}
	require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, want[2*d.Size:10*d.Size], r, 0))
	require.NoError(t, b.Close())
	copy(want, append(fill, fill...))
	copy(want[10*d.Size:], fill)

	for _, file := range []string{"meta/storage", "meta/sizes", "data/col1/__2.blp", "data/col2/sc1/__0.blp", "data/col2/sc3/__1.blp", "data/col3/__2.blp"} {
		require.FileExists(t, filepath.Join(path, filepath.FromSlash(file)))
	}
	require.NoFileExists(t, filepath.Join(path, "__rootdirs__"))
	require.NoDirExists(t, filepath.Join(path, "data/col1/meta"))

	a := openRecords(t, path)
	require.Equal(t, d.String(), a.DType().String())
	require.Equal(t, fill, a.Meta().Fill)
	require.Equal(t, want, readAll(t, a))
	attrs, err := a.Attrs(bg)
	require.NoError(t, err)
	requireAttr(t, attrs, "title", ndarray.Text("nested"))
	require.NoError(t, a.Close())

	table, err := bcolz.OpenTable(path, nil)
	require.NoError(t, err)
	require.True(t, table.Nested)
	require.Equal(t, []string{"col1", "col2/sc1", "col2/sc3", "col3"}, table.Names)
	c, err := table.Column("col2/sc3")
	require.NoError(t, err)
	require.Equal(t, []int64{11, 2}, c.Meta().Shape)
	got := make([]byte, 6)
	require.NoError(t, c.ReadRegion(bg, got, ndarray.Region{Start: []int64{5, 0}, Shape: []int64{1, 2}}, 0))
	require.Equal(t, want[5*d.Size+12:5*d.Size+18], got)
	require.NoError(t, c.Close())
	_, err = table.Column("col2")
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	for range bcolztree.Describe(os.DirFS(path), ".").Complaints() {
		t.Fatal("a finding about a written file")
	}

	w, err := bcolz.OpenRecords(path, &bcolz.OpenOptions{Write: true})
	require.NoError(t, err)
	require.NoError(t, w.(ndarray.RegionWriter).WriteRegion(bg, want[:d.Size], ndarray.Region{Start: []int64{10}, Shape: []int64{1}}, 0))
	require.NoError(t, w.Close())
	copy(want[10*d.Size:], want[:d.Size])
	a = openRecords(t, path)
	require.Equal(t, want, readAll(t, a))
	require.NoError(t, a.Close())
	_, err = bcolz.Open(path, nil)
	require.ErrorIs(t, err, ndarray.ErrFormat)
	require.ErrorContains(t, err, "nested ctable, want a carray")
}

// TestNestedGrowth compares random sequences of growing, shrinking and writing with the same
// operations on a slice, in a new and in an open table. Until meta/sizes is renamed, all chunk
// files of a larger table may exist, but the table must still have its old size.
func TestNestedGrowth(t *testing.T) {
	dir := testenv.Scratch(t)
	path, sizes := filepath.Join(dir, "a"), filepath.Join(dir, "a", "meta", "sizes")
	d := parse(t, family)
	fill := pattern(d, 1)
	fill = append(fill[:15:15], append(fill[12:15:15], fill[18:]...)...)
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, os.RemoveAll(path))
		rows := rapid.IntRange(0, 9).Draw(t, "rows")
		b, err := bcolz.CreateRecords(path, ndarray.Spec{Shape: []int64{int64(rows)}, MaxShape: []int64{40}, DType: d,
			ChunkShape: []int64{rapid.Int64Range(1, 4).Draw(t, "chunk")}, Fill: fill}, &bcolz.CreateOptions{Nested: true})
		require.NoError(t, err)
		model := bytes.Repeat(fill, rows)
		check := func() {
			a := openRecords(t, path)
			require.Equal(t, []int64{int64(len(model) / d.Size)}, a.Shape())
			require.True(t, bytes.Equal(model, readAll(t, a)))
			require.NoError(t, a.Close())
		}
		open := func() {
			require.NoError(t, b.Close())
			check()
			b, err = bcolz.OpenRecords(path, &bcolz.OpenOptions{Write: true})
			require.NoError(t, err)
		}
		opened := false
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			rows := len(model) / d.Size
			src := bytes.Repeat(pattern(d, 1), rapid.IntRange(0, 4).Draw(t, "more"))
			for i := range src {
				src[i] ^= byte(i/d.Size) & 3
			}
			switch rapid.IntRange(0, 4).Draw(t, "verb") {
			case 0:
				to := rapid.IntRange(0, 14).Draw(t, "to")
				require.NoError(t, b.(ndarray.Resizer).Resize(bg, []int64{int64(to)}))
				model = append(model[:min(to, rows)*d.Size], bytes.Repeat(fill, max(to-rows, 0))...)
			case 1:
				require.NoError(t, b.(ndarray.Appender).Append(bg, src))
				model = append(model, src...)
			case 2:
				n := min(rows, len(src)/d.Size)
				if n == 0 {
					continue
				}
				at := rapid.IntRange(0, rows-n).Draw(t, "at")
				require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, src[:n*d.Size], ndarray.Region{Start: []int64{int64(at)}, Shape: []int64{int64(n)}}, 0))
				copy(model[at*d.Size:], src[:n*d.Size])
			case 3:
				open()
				opened = true
			case 4: // a writer is killed before the rename
				if !opened {
					continue
				}
				old, err := os.ReadFile(sizes)
				require.NoError(t, err)
				require.NoError(t, b.(ndarray.Appender).Append(bg, src))
				require.NoError(t, b.Close())
				require.NoError(t, os.WriteFile(sizes, old, 0o666))
				check()
				b, err = bcolz.OpenRecords(path, &bcolz.OpenOptions{Write: true})
				require.NoError(t, err)
			}
		}
		require.ErrorIs(t, b.(ndarray.Resizer).Resize(bg, []int64{41}), ndarray.ErrShape)
		require.ErrorIs(t, b.(ndarray.Resizer).Resize(bg, []int64{-1}), ndarray.ErrShape)
		require.ErrorIs(t, b.(ndarray.Appender).Append(bg, fill[1:]), ndarray.ErrSize)
		ended, cancel := context.WithCancel(bg)
		cancel()
		require.ErrorIs(t, b.(ndarray.Appender).Append(ended, fill), context.Canceled)
		open()
		require.NoError(t, b.Close())
		for range bcolztree.Describe(os.DirFS(path), ".").Complaints() {
			t.Fatal("a finding about a written file")
		}
		table, err := bcolz.OpenTable(path, &bcolz.OpenOptions{Write: true})
		require.NoError(t, err)
		c, err := table.Column("col1")
		require.NoError(t, err)
		require.ErrorIs(t, c.(ndarray.Resizer).Resize(bg, []int64{1}), errors.ErrUnsupported)
		require.ErrorIs(t, c.(ndarray.Appender).Append(bg, make([]byte, 4)), errors.ErrUnsupported)
		require.NoError(t, c.Close())
	})
}

// TestNestedStructures checks that structures of all types that bcolz supports, nested at any
// depth, can be written and read.
func TestNestedStructures(t *testing.T) {
	dir := testenv.Scratch(t)
	path := filepath.Join(dir, "a")
	leaves := []string{"|b1", "<i2", ">u8", "<f4", "|S5", "<U2", "|V3", ">M8[ns]"}
	var draw func(t *rapid.T, depth int) ndarray.DType
	draw = func(t *rapid.T, depth int) ndarray.DType {
		var fields []ndarray.Field
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "x y", "é", "meta"}), 1, 3, rapid.ID[string]).Draw(t, "names") {
			d := parse(t, rapid.SampledFrom(leaves).Draw(t, "leaf"))
			switch {
			case depth > 0 && rapid.IntRange(0, 2).Draw(t, "deeper") == 0:
				d = draw(t, depth-1)
			case rapid.Bool().Draw(t, "rows"):
				d = ndarray.SubArrayOf(d, rapid.SliceOfN(rapid.Int64Range(1, 3), 1, 2).Draw(t, "dims")...)
			}
			fields = append(fields, ndarray.Field{Name: name, Type: d})
		}
		return ndarray.StructOf(false, fields...)
	}
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, os.RemoveAll(path))
		d := draw(t, 3)
		n := rapid.Int64Range(0, 9).Draw(t, "rows")
		b, err := bcolz.CreateRecords(path, ndarray.Spec{Shape: []int64{n}, ChunkShape: []int64{3}, DType: d}, &bcolz.CreateOptions{Nested: true})
		require.NoError(t, err)
		want := make([]byte, n*int64(d.Size))
		for i := range want {
			want[i] = byte(i*7) & 1
		}
		if n > 0 {
			require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, want, ndarray.Whole([]int64{n}), 0))
		}
		require.NoError(t, b.Close())
		a := openRecords(t, path)
		require.Equal(t, d.String(), a.DType().String())
		require.Equal(t, want, readAll(t, a))
		require.NoError(t, a.Close())
	})
}

// TestNestedCarrays checks that columns stored as carrays are read at any depth.
func TestNestedCarrays(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"data/x", "data/y/data/a", "data/y/data/b"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o777))
		tree{dtype: parse(t, "<i4"), shape: []int64{3}, chunkLen: 2, data: []byte{byte(i), 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}}.write(t, filepath.Join(dir, filepath.FromSlash(name)))
	}
	table, err := bcolz.OpenTable(dir, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y/a", "y/b"}, table.Names)
	b, err := table.Column("y/a")
	require.NoError(t, err)
	got := make([]byte, 4)
	require.NoError(t, b.ReadRegion(bg, got, ndarray.Region{Start: []int64{0}, Shape: []int64{1}}, 0))
	require.Equal(t, []byte{1, 0, 0, 0}, got)
	require.NoError(t, b.Close())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "data/y/data/b/meta")))
	_, err = bcolz.OpenTable(dir, nil)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
	require.ErrorContains(t, err, `"y/b"`)
}

func TestNestedRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	nested := &bcolz.CreateOptions{Nested: true}
	for _, text := range []string{`[('a', '<c32')]`, `[('a', [('b', '<i4')], (2,))]`, `[('__attrs__', '<i4')]`, `[('a/b', '<i4')]`, `<i4`} {
		_, err := bcolz.CreateRecords(path, ndarray.Spec{Shape: []int64{3}, DType: parse(t, text)}, nested)
		require.ErrorIs(t, err, errors.ErrUnsupported, text)
		require.NoDirExists(t, path)
	}
	_, err := bcolz.CreateRecords(path, ndarray.Spec{Shape: []int64{3}, DType: parse(t, `[('a', [('b', '<i4')])]`)}, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported, "only when asked")
}

func TestObjects(t *testing.T) {
	x, err := bcolz.OpenObjects(filepath.Join(goldenDir, "object"), nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, x.Len())
	n := 0
	for b, err := range x.All() {
		require.NoError(t, err)
		require.Equal(t, byte(0x80), b[0], "a pickle of protocol 2 or later")
		require.Equal(t, byte('.'), b[len(b)-1], "which ends in STOP")
		n++
	}
	require.Equal(t, 2, n)
	_, err = x.Pickle(2)
	require.ErrorIs(t, err, ndarray.ErrRegion)
	require.NoError(t, x.Close())
	_, err = bcolz.OpenObjects(filepath.Join(goldenDir, "rows"), nil)
	require.ErrorIs(t, err, ndarray.ErrType)
	_, err = bcolz.Open(filepath.Join(goldenDir, "object"), nil)
	require.ErrorIs(t, err, ndarray.ErrType)
	require.ErrorContains(t, err, "loading one can run any program")

	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "o"), os.DirFS(filepath.Join(goldenDir, "object"))))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "__rootdirs__"), []byte(`{"names": ["o"]}`), 0o666))
	table, err := bcolz.OpenTable(dir, nil)
	require.NoError(t, err)
	x, err = table.Objects("o")
	require.NoError(t, err)
	_, err = x.Pickle(1)
	require.NoError(t, err)
	require.NoError(t, x.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "o/data/__1.blp"), []byte("blpk"), 0o666))
	x, err = table.Objects("o")
	require.NoError(t, err)
	_, err = x.Pickle(1)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
	require.NoError(t, x.Close())
}

// TestChunks checks that several processes can fill one array if each of them writes different
// chunk files.
func TestChunks(t *testing.T) {
	path := filepath.Join(testenv.Scratch(t), "a")
	d := parse(t, "<i4")
	spec := ndarray.Spec{Shape: []int64{10, 2}, ChunkShape: []int64{3, 2}, DType: d, Fill: []byte{9, 0, 0, 0}}
	a := create(t, path, spec, &bcolz.CreateOptions{Skeleton: true})
	require.NoError(t, a.Close())
	require.NoFileExists(t, filepath.Join(path, "data/__0.blp"))
	want := pattern(d, 20)
	for _, part := range []bcolz.ChunkRange{{First: 2, End: 4}, {First: 0, End: 1}, {First: 1, End: 2}} {
		b, err := bcolz.Open(path, &bcolz.OpenOptions{Write: true, ChunkRange: &part})
		require.NoError(t, err)
		first, end := part.First*3, min(part.End*3, 10)
		r := ndarray.Region{Start: []int64{first, 0}, Shape: []int64{end - first, 2}}
		got := make([]byte, r.NumElems()*4)
		require.NoError(t, b.ReadRegion(bg, got, r, 0))
		require.Equal(t, spec.Fill, got[:4], "not written yet")
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, want[first*8:end*8], r, 0))
		all := ndarray.Whole(spec.Shape)
		require.ErrorIs(t, b.(ndarray.RegionWriter).WriteRegion(bg, want, all, 0), ndarray.ErrRegion)
		require.ErrorIs(t, b.ReadRegion(bg, make([]byte, 80), all, 0), ndarray.ErrRegion)
		require.ErrorIs(t, b.(ndarray.Resizer).Resize(bg, []int64{11, 2}), errors.ErrUnsupported)
		require.ErrorIs(t, b.(ndarray.Appender).Append(bg, want[:8]), errors.ErrUnsupported)
		require.NoError(t, b.Close())
	}
	c := open(t, path)
	require.Equal(t, want, readAll(t, c))
	require.NoError(t, c.Close())
	f, err := bcolz.OpenFS(os.DirFS(filepath.Dir(path)), "a", nil)
	require.NoError(t, err)
	got := make([]byte, len(want))
	require.NoError(t, f.ReadRegion(bg, got, ndarray.Whole(spec.Shape), 0))
	require.Equal(t, want, got)
	require.NoError(t, f.Close())
	_, err = bcolz.OpenFS(os.DirFS(path), ".", &bcolz.OpenOptions{Write: true})
	require.ErrorIs(t, err, ndarray.ErrReadOnly)
	_, err = bcolz.OpenFS(os.DirFS(path), "none", nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
}

// TestUnknownMeta checks that an unknown file in meta/ is preserved by every change. It must be
// listed as an unsupported attribute and in the description of the tree.
func TestUnknownMeta(t *testing.T) {
	path := filepath.Join(testenv.Scratch(t), "a")
	a := create(t, path, ndarray.Spec{Shape: []int64{4}, DType: parse(t, "<i4")}, nil)
	require.NoError(t, a.Close())
	other := filepath.Join(path, "meta/index")
	require.NoError(t, os.WriteFile(other, []byte(`{"kind": "sorted"}`), 0o666))
	b, err := bcolz.Open(path, &bcolz.OpenOptions{Write: true})
	require.NoError(t, err)
	require.NoError(t, b.(ndarray.Resizer).Resize(bg, []int64{9}))
	require.NoError(t, b.(ndarray.AttrWriter).SetAttr(bg, ndarray.Attr{Name: "n", Value: ndarray.Scalar(2.5)}))
	require.NoError(t, b.(ndarray.Resizer).Resize(bg, []int64{2}))
	attrs, err := b.(ndarray.AttrReader).Attrs(bg)
	require.NoError(t, err)
	require.Len(t, attrs.List, 1)
	require.Len(t, attrs.Unsupported, 1)
	require.Equal(t, "meta/index", attrs.Unsupported[0].Name)
	require.NoError(t, b.Close())
	kept, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, `{"kind": "sorted"}`, string(kept))
	f, ok := bcolztree.Describe(os.DirFS(path), ".").Find("./meta/index")
	require.True(t, ok)
	require.EqualValues(t, 18, f.Length)
}
