package bcolz_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

func openRecords(t requireT, path string) *ndarray.Array {
	t.Helper()
	b, err := bcolz.OpenRecords(path, nil)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	return a
}

// noTable returns the reason why a ctable cannot store the array, or "".
func noTable(s ndarray.Spec) string {
	switch {
	case s.Null, len(s.Shape) != 1, s.BlockShape != nil:
		return "rows of structures"
	case s.DType.Kind != ndarray.Struct:
		return "structures"
	}
	for _, f := range s.DType.Fields {
		base := f.Type
		column := ndarray.Spec{Shape: s.Shape, MaxShape: s.MaxShape, Compression: s.Compression}
		for base.Kind == ndarray.SubArray {
			base = *base.Base
		}
		column.DType = base
		if why := cannot(column); why != "" {
			return why
		}
		if s.Fill != nil {
			all := s.Fill[f.Offset : f.Offset+f.Type.Size]
			if !bytes.Equal(bytes.Repeat(all[:base.Size], len(all)/base.Size), all) {
				return "one fill value a column"
			}
		}
	}
	return ""
}

// three returns a structure with a number, a string and a vector of two numbers.
func three(t requireT) ndarray.DType {
	t.Helper()
	d, err := ndarray.ParseDType(`[('id', '<i4'), ('tag', '|S3'), ('pos', '<f8', (2,))]`)
	require.NoError(t, err)
	return d
}

func TestRecordsGolden(t *testing.T) {
	a := openRecords(t, filepath.Join(goldenDir, "table"))
	require.Equal(t, []int64{6}, a.Shape())
	require.Equal(t, `[('id', '<i4'), ('value', '<f8'), ('tag', 'S3')]`, a.DType().String())
	all := readAll(t, a)
	for i := range 6 {
		e := all[i*a.DType().Size:]
		require.EqualValues(t, i, e[0])
	}
	attrs, err := a.Attrs(bg)
	require.NoError(t, err)
	requireAttr(t, attrs, "title", ndarray.Text("three columns"))
	require.NoError(t, a.Close())
}

// TestRecordsGrowth compares random sequences of growing, shrinking and writing with the same
// operations on a slice, in every column.
func TestRecordsGrowth(t *testing.T) {
	dir := testenv.Scratch(t)
	d := three(t)
	size := d.Size
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		fill := bytes.Repeat([]byte{0}, size)
		fill[0], fill[4] = 7, 'x'
		rows := rapid.IntRange(0, 9).Draw(t, "rows")
		b, err := bcolz.CreateRecords(path, ndarray.Spec{Shape: []int64{int64(rows)}, DType: d, ChunkShape: []int64{rapid.Int64Range(1, 4).Draw(t, "chunk")}, Fill: fill}, nil)
		require.NoError(t, err)
		_, err = bcolz.OpenRecords(path, nil)
		require.ErrorIs(t, err, ndarray.ErrFormat, "no ctable before Close")
		require.NoError(t, b.Close())
		model := bytes.Repeat(fill, rows)
		b, err = bcolz.OpenRecords(path, &bcolz.OpenOptions{Write: true})
		require.NoError(t, err)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			rows := len(model) / size
			switch rapid.IntRange(0, 3).Draw(t, "verb") {
			case 0:
				to := rapid.IntRange(0, 14).Draw(t, "to")
				require.NoError(t, b.(ndarray.Resizer).Resize(bg, []int64{int64(to)}))
				model = append(model[:min(to, rows)*size], bytes.Repeat(fill, max(to-rows, 0))...)
			case 1:
				src := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte") % 128}, rapid.IntRange(0, 6).Draw(t, "more")*size)
				require.NoError(t, b.(ndarray.Appender).Append(bg, src))
				model = append(model, src...)
			case 2:
				if rows == 0 {
					continue
				}
				at := rapid.IntRange(0, rows-1).Draw(t, "at")
				k := rapid.IntRange(1, rows-at).Draw(t, "n")
				src := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte") % 128}, k*size)
				require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, src, ndarray.Region{Start: []int64{int64(at)}, Shape: []int64{int64(k)}}, 0))
				copy(model[at*size:], src)
			case 3: // a writer was killed while the table grew: the last columns are longer
				require.NoError(t, b.Close())
				for _, name := range []string{"tag", "pos"}[rapid.IntRange(0, 1).Draw(t, "first"):] {
					c, err := bcolz.Open(filepath.Join(path, name), &bcolz.OpenOptions{Write: true})
					require.NoError(t, err)
					shape := slices.Clone(c.Meta().Shape)
					shape[0] += rapid.Int64Range(1, 5).Draw(t, "lost")
					require.NoError(t, c.(ndarray.Resizer).Resize(bg, shape))
					require.NoError(t, c.Close())
				}
				b, err = bcolz.OpenRecords(path, &bcolz.OpenOptions{Write: true})
				require.NoError(t, err)
			}
			c := openRecords(t, path)
			require.Equal(t, []int64{int64(len(model) / size)}, c.Shape())
			require.True(t, bytes.Equal(model, readAll(t, c)))
			require.NoError(t, c.Close())
		}
		require.NoError(t, b.Close())
	})
}

func TestRecordsRefusals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t")
	spec := ndarray.Spec{Shape: []int64{4}, DType: three(t)}
	for _, tt := range []struct {
		change func(*ndarray.Spec)
		want   error
	}{
		{func(s *ndarray.Spec) { s.DType = ndarray.DTypeOf[int32]() }, errors.ErrUnsupported},
		{func(s *ndarray.Spec) { s.Shape = []int64{2, 2} }, errors.ErrUnsupported},
		{func(s *ndarray.Spec) { s.Shape, s.Null = nil, true }, errors.ErrUnsupported},
		{func(s *ndarray.Spec) { s.ChunkShape, s.BlockShape = []int64{2}, []int64{1} }, errors.ErrUnsupported},
		{func(s *ndarray.Spec) { s.Shape = []int64{-1} }, ndarray.ErrShape},
		{func(s *ndarray.Spec) {
			s.DType = ndarray.StructOf(false, ndarray.Field{Name: "in", Type: three(t)})
		}, errors.ErrUnsupported},
		{func(s *ndarray.Spec) {
			s.DType = ndarray.StructOf(false, ndarray.Field{Name: "c", Type: ndarray.Text("").DType})
		}, errors.ErrUnsupported},
		{func(s *ndarray.Spec) {
			s.DType = ndarray.StructOf(false, ndarray.Field{Name: "a/b", Type: ndarray.DTypeOf[int8]()})
		}, errors.ErrUnsupported},
		{func(s *ndarray.Spec) {
			s.DType = ndarray.StructOf(false, ndarray.Field{Name: bcolztree.RootDirsFile, Type: ndarray.DTypeOf[int8]()})
		}, errors.ErrUnsupported},
		{func(s *ndarray.Spec) { s.Fill = pattern(s.DType, 1) }, errors.ErrUnsupported},
	} {
		s := spec
		tt.change(&s)
		_, err := bcolz.CreateRecords(path, s, nil)
		require.ErrorIs(t, err, tt.want, "%+v", s)
		require.NoDirExists(t, path)
	}
	b, err := bcolz.CreateRecords(path, spec, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	_, err = bcolz.CreateRecords(path, spec, nil)
	require.ErrorIs(t, err, ndarray.ErrExists)

	r, err := bcolz.OpenRecords(path, nil)
	require.NoError(t, err)
	require.ErrorIs(t, r.(ndarray.Appender).Append(bg, make([]byte, 23)), ndarray.ErrReadOnly)
	require.ErrorIs(t, r.(ndarray.Resizer).Resize(bg, []int64{1}), ndarray.ErrReadOnly)
	require.ErrorIs(t, r.(ndarray.AttrWriter).SetAttr(bg, ndarray.Attr{Name: "a", Value: ndarray.Scalar(true)}), ndarray.ErrReadOnly)
	require.NoError(t, r.Close())
	w, err := bcolz.OpenRecords(path, &bcolz.OpenOptions{Write: true})
	require.NoError(t, err)
	require.ErrorIs(t, w.(ndarray.Appender).Append(bg, make([]byte, 24)), ndarray.ErrSize)
	require.ErrorIs(t, w.(ndarray.Resizer).Resize(bg, []int64{1, 2}), ndarray.ErrShape)
	require.ErrorIs(t, w.(ndarray.Resizer).Resize(bg, []int64{-1}), ndarray.ErrShape)
	require.Equal(t, []int64{4}, w.Meta().Shape)
	require.NoError(t, w.Close())

	// A column that is shorter than the first one must be reported as corruption.
	c, err := bcolz.Open(filepath.Join(path, "tag"), &bcolz.OpenOptions{Write: true})
	require.NoError(t, err)
	require.NoError(t, c.(ndarray.Resizer).Resize(bg, []int64{3}))
	require.NoError(t, c.Close())
	_, err = bcolz.OpenRecords(path, nil)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
	require.ErrorContains(t, err, `column "tag" has 3 rows, the first column has 4`)

	_, err = bcolz.OpenRecords(filepath.Join(goldenDir, "rows"), nil)
	require.ErrorIs(t, err, ndarray.ErrFormat)
	none := filepath.Join(dir, "none")
	require.NoError(t, os.Mkdir(none, 0o777))
	require.NoError(t, bcolz.GatherTable(none, nil, nil))
	_, err = bcolz.OpenRecords(none, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestGatherTable(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int64{"a": 3, "b": 3, "long": 4} {
		a := create(t, filepath.Join(dir, name), ndarray.Spec{Shape: []int64{n}, DType: ndarray.DTypeOf[int32]()}, nil)
		require.NoError(t, a.Close())
	}
	require.ErrorIs(t, bcolz.GatherTable(dir, []string{"a", "long"}, nil), ndarray.ErrShape)
	require.ErrorIs(t, bcolz.GatherTable(dir, []string{"a", "none"}, nil), ndarray.ErrCorrupt)
	require.ErrorIs(t, bcolz.GatherTable(dir, []string{"a", "a"}, nil), errors.ErrUnsupported)
	require.ErrorIs(t, bcolz.GatherTable(dir, []string{"a", "\xff"}, nil), errors.ErrUnsupported)
	attrs := []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}, {Name: "n", Value: ndarray.Scalar(uint8(7))}}
	require.NoError(t, bcolz.GatherTable(dir, []string{"b", "a"}, attrs))
	table, err := bcolz.OpenTable(dir, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, table.Names)
	require.Equal(t, attrs, table.Attrs.List)
	require.ErrorIs(t, bcolz.GatherTable(dir, []string{"b", "a"}, attrs), ndarray.ErrExists)
}

// TestRecordsInterop checks that bcolz reads a ctable written by this package, and that this
// package reads it after bcolz has appended to it, trimmed and resized it.
func TestRecordsInterop(t *testing.T) {
	interpreter := testenv.Python(t, "bcolz")
	path := filepath.Join(t.TempDir(), "t")
	d, err := ndarray.ParseDType(`[('id', '<i4'), ('tag', '|S3'), ('pos', '<f8', (2,)), ('when', '<M8[s]')]`)
	require.NoError(t, err)
	b, err := bcolz.CreateRecords(path, ndarray.Spec{Shape: []int64{1000}, DType: d, ChunkShape: []int64{64},
		Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}}}, nil)
	require.NoError(t, err)
	want := make([]byte, 1000*d.Size)
	for i := range 1000 {
		e := want[i*d.Size : (i+1)*d.Size]
		e[0], e[1], e[4], e[5] = byte(i), byte(i>>8), 'a'+byte(i%20), 'b'
		e[13], e[14], e[22] = 0xf0, 0x3f, byte(i) // 1.0 and a small number
		e[23] = byte(i)
	}
	require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, want, ndarray.Whole([]int64{1000}), 0))
	require.NoError(t, b.Close())
	require.NoError(t, os.WriteFile(path+".bin", want, 0o644))
	out, err := exec.Command(interpreter, "testdata/interop_table.py", path).CombinedOutput()
	require.NoError(t, err, "interop_table.py:\n%s", out)
	want, err = os.ReadFile(path + ".bin") // as bcolz left it
	require.NoError(t, err)
	a := openRecords(t, path)
	require.True(t, bytes.Equal(want, readAll(t, a)))
	attrs, err := a.Attrs(bg)
	require.NoError(t, err)
	requireAttr(t, attrs, "unit", ndarray.Text("K"))
	requireAttr(t, attrs, "seen", ndarray.Scalar(int64(1)))
	require.NoError(t, a.Close())
}
