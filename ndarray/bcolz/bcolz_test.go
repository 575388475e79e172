package bcolz_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// upTo returns 0 to n-1.
func upTo[T int8 | int32 | int64 | uint16 | float32 | float64](n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(i)
	}
	return out
}

func requireValues[T ndarray.Element](t *testing.T, name string, want []T) {
	t.Helper()
	got, err := ndarray.ReadAll[T](bg, openGolden(t, name))
	require.NoError(t, err, name)
	require.Equal(t, want, got, name)
}

// TestGoldenValues checks that arrays written by bcolz-zipline contain the original values.
func TestGoldenValues(t *testing.T) {
	requireValues(t, "type_i1", upTo[int8](7))
	requireValues(t, "type_u2", upTo[uint16](7))
	requireValues(t, "type_i4", upTo[int32](7)) // big-endian
	requireValues(t, "type_i8", upTo[int64](7))
	requireValues(t, "type_f4", upTo[float32](7))
	requireValues(t, "type_f8", upTo[float64](7)) // big-endian
	requireValues(t, "bool", []bool{false, true, false, false, true, false, false})
	requireValues(t, "empty", []int32{})
	requireValues(t, "exact", upTo[int32](8))
	requireValues(t, "stale", upTo[int32](8))
	requireValues(t, "grown", []int32{0, 1, 2, -7, -7, -7, -7, -7, -7})
	requireValues(t, "rows", upTo[float64](30))
	requireValues(t, "attrs", upTo[int32](3))
	requireValues(t, "nan", []float64{1, 1})
	for _, codec := range []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"} {
		requireValues(t, "codec_"+codec, upTo[int32](3000))
	}
	requireValues(t, "codec_none", upTo[int32](50))
	requireValues(t, "bitshuffle", upTo[int32](1003))

	require.Equal(t, "\x00\x00\x00\x00\x00a\x00\x00\x00\x00bc\x00\x00\x00def\x00\x00ghij\x00klmnop\x00\x00\x00\x00", string(readAll(t, openGolden(t, "bytes"))))
	var points []rune
	text := readAll(t, openGolden(t, "unicode"))
	for ; len(text) > 0; text = text[4:] {
		points = append(points, rune(binary.NativeEndian.Uint32(text)))
	}
	require.Equal(t, "\x00\x00\x00a\x00\x00é世\x00😀bcd\x00\x00ef\x00ghi", string(points))
	require.Equal(t, []byte{0, 0, 255, 1, 0, 254, 2, 0, 253}, readAll(t, openGolden(t, "void"))[:9])
	dates := openGolden(t, "date")
	require.Equal(t, "<M8[ns]", dates.DType().String())
	for i, b := 0, readAll(t, dates); i < 7; i++ {
		require.EqualValues(t, i, binary.NativeEndian.Uint64(b[8*i:]))
	}
	half := readAll(t, openGolden(t, "type_f2"))
	require.EqualValues(t, 0x4600, binary.NativeEndian.Uint16(half[12:]), "6")
}

// TestStructures checks structures that bcolz can write. bcolz itself cannot read them.
func TestStructures(t *testing.T) {
	a := openGolden(t, "structured")
	require.Equal(t, "[('f0', '<i4'), ('f1', '<f8')]", a.DType().String())
	require.Equal(t, make([]byte, 36), readAll(t, a))
	for _, text := range []string{"[('a', '>i4'), ('b', '|S3')]", "[('a', '<i2'), ('in', [('b', '>f8'), ('c', '|b1')])]"} {
		dir := filepath.Join(t.TempDir(), "a")
		d := parse(t, text)
		dflt := map[bool]string{false: `[7, "x"]`, true: "[7, [0.5, true]]"}[d.Fields[1].Type.Kind == ndarray.Struct]
		w := tree{dtype: d, shape: []int64{5, 2}, chunkLen: 2, data: pattern(d, 10), perFile: 2, dflt: dflt}
		w.write(t, dir)
		b := open(t, dir)
		require.True(t, d.Equal(b.DType()), "%v", b.DType())
		require.Equal(t, w.data, readAll(t, b))
		require.Contains(t, ndarray.FormatElement(d, b.Meta().Fill), "7", text)
		requireSame(t, w, b, ndarray.Region{Start: []int64{1, 1}, Shape: []int64{3, 1}}, text)
		require.NoError(t, b.Close())
	}
}

func TestMeta(t *testing.T) {
	m := openGolden(t, "rows").Meta()
	require.Equal(t, ndarray.Meta{
		Format: "bcolz", Path: filepath.Join(goldenDir, "rows"), Shape: []int64{5, 2, 3}, ChunkShape: []int64{2, 2, 3},
		DType: ndarray.DTypeOf[float64](), Fill: binary.NativeEndian.AppendUint64(nil, math.Float64bits(2.5)),
		Compression: &ndarray.Compression{Codec: "lz4", Level: 5, Filters: []string{"shuffle"}}, ReadOnly: true,
	}, m)
	m = openGolden(t, "codec_zstd").Meta()
	require.Equal(t, "bitshuffle + zstd 5", m.Compression.String())
	require.Nil(t, m.Fill)
	require.Equal(t, "none", openGolden(t, "codec_none").Meta().Compression.String())
	require.Equal(t, ">i4", openGolden(t, "type_i4").DType().String())
	fill := openGolden(t, "nan").Meta().Fill
	require.True(t, math.IsNaN(math.Float64frombits(binary.NativeEndian.Uint64(fill))))
}

func TestStorage(t *testing.T) {
	s, err := openGolden(t, "stale").Storage(bg)
	require.NoError(t, err)
	require.Equal(t, ndarray.Storage{StoredBytes: 64, NumChunks: 2}, s, "the file left over does not count")
	s, err = openGolden(t, "empty").Storage(bg)
	require.NoError(t, err)
	require.Zero(t, s)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err = openGolden(t, "rows").Storage(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// pattern returns bytes that are valid elements of any type.
func pattern(d ndarray.DType, n int64) []byte {
	b := make([]byte, n*int64(d.Size))
	for i := range b {
		b[i] = byte(i*7+i/251) % 91
		if d.Kind == ndarray.Bool {
			b[i] &= 1
		}
	}
	return b
}

// canHold reports whether a carray can have the layout, and the chunk length. A carray needs at
// least one dimension and chunks of whole rows.
func canHold(l samples.Layout) (chunkLen int64, ok bool) {
	switch {
	case len(l.Shape) == 0:
		return 0, false
	case l.ChunkShape == nil:
		return 2, true
	}
	return l.ChunkShape[0], slices.Equal(l.ChunkShape[1:], l.Shape[1:])
}

// TestConformance checks the guarantees of the conformance suite that concern reading. The suite
// itself needs backends that write. For each element type and layout the test reads the whole
// array, each chunk, and a region that cuts every dimension.
func TestConformance(t *testing.T) {
	dir := testenv.Scratch(t)
	layouts := append(samples.Layouts(),
		samples.Layout{Shape: []int64{11, 3}, ChunkShape: []int64{4, 3}},
		samples.Layout{Shape: []int64{3, 0, 2}, ChunkShape: []int64{2, 0, 2}},
		samples.Layout{Shape: []int64{5, 2, 1, 3}, ChunkShape: []int64{7, 2, 1, 3}})
	n := 0
	for _, d := range samples.DTypes() {
		if !d.NumPy().Equal(d) || d.Kind == ndarray.Struct || d.Kind == ndarray.SubArray {
			continue // NumPy cannot represent the type, or bcolz cannot read it
		}
		for _, l := range layouts {
			chunkLen, ok := canHold(l)
			if !ok {
				continue
			}
			for _, perFile := range []int{1, 3} {
				n++
				name := fmt.Sprintf("%v %v chunks of %d, %d in a file", d, l.Shape, chunkLen, perFile)
				path := filepath.Join(dir, fmt.Sprint(n))
				elems, _ := grid.Product(l.Shape)
				w := tree{dtype: d, shape: l.Shape, chunkLen: chunkLen, data: pattern(d, elems), perFile: perFile}
				w.write(t, path)
				a := open(t, path)
				require.True(t, d.Equal(a.DType()), name)
				require.Equal(t, l.Shape, a.Shape(), name)
				require.Equal(t, w.data, readAll(t, a), name)
				for r := range a.ChunkRegions() {
					requireSame(t, w, a, r, name)
				}
				inner := ndarray.Whole(l.Shape)
				for i, n := range l.Shape {
					inner.Start[i] = min(1, n/2)
					inner.Shape[i] = (n + 1) / 2
				}
				requireSame(t, w, a, inner, name)
				require.NoError(t, a.Close())
			}
		}
	}
	require.Greater(t, n, 300)
}

// requireSame compares a region with the same region of an array in memory.
func requireSame(t requireT, w tree, a *ndarray.Array, r ndarray.Region, name string) {
	t.Helper()
	b, err := mem.New(ndarray.Spec{Shape: w.shape, DType: w.dtype})
	require.NoError(t, err)
	model, err := ndarray.New(b)
	require.NoError(t, err)
	require.NoError(t, model.Write(bg, w.data, ndarray.Whole(w.shape)))
	want := make([]byte, r.NumElems()*int64(w.dtype.Size))
	require.NoError(t, model.Read(bg, want, r))
	got := make([]byte, len(want))
	require.NoError(t, a.Read(bg, got, r), name)
	require.Equal(t, want, got, "%s: %v", name, r)
	require.NoError(t, model.Close())
}

// TestRandomRegions checks that any region of a random tree is equal to that of a model in memory.
func TestRandomRegions(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		d := rapid.SampledFrom([]string{"<i4", ">f8", "|S3", "|b1", ">U2"}).Draw(t, "dtype")
		w := tree{
			shape:    rapid.SliceOfN(rapid.Int64Range(0, 9), 1, 4).Draw(t, "shape"),
			chunkLen: rapid.Int64Range(1, 10).Draw(t, "chunklen"),
			perFile:  rapid.IntRange(1, 3).Draw(t, "chunks a file"),
		}
		var err error
		w.dtype, err = ndarray.ParseDType(d)
		require.NoError(t, err)
		elems, _ := grid.Product(w.shape)
		w.data = pattern(w.dtype, elems)
		path := filepath.Join(dir, fmt.Sprint(n))
		w.write(t, path)
		a := open(t, path)
		for range 4 {
			r := ndarray.Whole(w.shape)
			for i, n := range w.shape {
				r.Start[i] = rapid.Int64Range(0, n).Draw(t, "start")
				r.Shape[i] = rapid.Int64Range(0, n-r.Start[i]).Draw(t, "length")
			}
			requireSame(t, w, a, r, path)
		}
		require.NoError(t, a.Close())
		require.NoError(t, os.RemoveAll(path))
	})
}

func TestConcurrentReads(t *testing.T) {
	a := openGolden(t, "codec_zstd")
	want := upTo[int32](3000)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 20 {
				start := (g*173 + i*61) % 2900
				got := make([]int32, 100)
				if err := ndarray.Read(bg, a, got, ndarray.Region{Start: []int64{int64(start)}, Shape: []int64{100}}); err != nil {
					t.Errorf("rows from %d: %v", start, err)
				} else if !slices.Equal(want[start:start+100], got) {
					t.Errorf("rows from %d: got %v", start, got)
				}
			}
		})
	}
	wg.Wait()
}

// TestRefusals checks the errors of a cancelled context, a wrong buffer size, a region outside the
// array, changes of a read-only array, and calls after Close.
func TestRefusals(t *testing.T) {
	a := open(t, filepath.Join(goldenDir, "rows"))
	whole := ndarray.Whole(a.Shape())
	buf := make([]byte, 240)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, a.Read(ctx, buf, whole), context.Canceled)
	require.Equal(t, make([]byte, 240), buf)
	_, err := a.Attrs(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, a.Read(bg, buf[1:], whole), ndarray.ErrSize)
	require.ErrorIs(t, a.Read(bg, buf, ndarray.Region{Start: []int64{1, 0, 0}, Shape: a.Shape()}), ndarray.ErrRegion)
	require.ErrorIs(t, a.Write(bg, buf, whole), ndarray.ErrReadOnly)
	require.ErrorIs(t, a.SetAttr(bg, ndarray.Attr{Name: "a", Value: ndarray.Scalar(true)}), ndarray.ErrReadOnly)
	require.ErrorIs(t, a.DeleteAttr(bg, "a"), ndarray.ErrReadOnly)
	require.True(t, a.Meta().ReadOnly)
	require.NoError(t, a.Close())
	require.ErrorIs(t, a.Close(), ndarray.ErrClosed)
	require.ErrorIs(t, a.Read(bg, buf, whole), ndarray.ErrClosed)
	_, err = a.Attrs(bg)
	require.ErrorIs(t, err, ndarray.ErrClosed)
	_, err = a.Storage(bg)
	require.ErrorIs(t, err, ndarray.ErrClosed)
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := bcolz.Open(filepath.Join(dir, "nothing"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	require.ErrorIs(t, err, fs.ErrNotExist)
	var e *ndarray.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, filepath.Join(dir, "nothing"), e.Path)
	for path, want := range map[string]error{
		dir: ndarray.ErrFormat, filepath.Join(goldenDir, "gen.py"): ndarray.ErrFormat, filepath.Join(goldenDir, "table"): ndarray.ErrFormat,
		filepath.Join(goldenDir, "object"): ndarray.ErrType,
	} {
		_, err := bcolz.Open(path, nil)
		require.ErrorIs(t, err, want, path)
	}
	_, err = bcolz.Open(filepath.Join(goldenDir, "object"), nil)
	require.ErrorContains(t, err, "elements of object")
	_, err = bcolz.Open(filepath.Join(goldenDir, "rows"), &bcolz.OpenOptions{MaxMetadata: 1 << 20, MaxChunk: 95})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "2 rows of 48 bytes, want at most 95 bytes")
}

// corrupt writes a tree of 6 rows in two files, calls edit to corrupt it, and returns the error of
// opening and reading it.
func corrupt(t *testing.T, edit func(dir string)) error {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a")
	tree{dtype: ndarray.DTypeOf[int32](), shape: []int64{6}, chunkLen: 4, data: pattern(ndarray.DTypeOf[int32](), 6)}.write(t, dir)
	edit(dir)
	b, err := bcolz.Open(dir, nil)
	if err != nil {
		require.Nil(t, b)
		return err
	}
	a, err := ndarray.New(b)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	return a.Read(bg, make([]byte, a.NBytes()), ndarray.Whole(a.Shape()))
}

func TestDamage(t *testing.T) {
	require.NoError(t, corrupt(t, func(string) {}))
	file := func(name string, edit func([]byte) []byte) func(string) {
		return func(dir string) {
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, edit(b), 0o666))
		}
	}
	replace := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte {
			require.Contains(t, string(b), old)
			return []byte(strings.Replace(string(b), old, new, 1))
		}
	}
	set := func(at int, to byte) func([]byte) []byte {
		return func(b []byte) []byte { b[at] = to; return b }
	}
	for _, c := range []struct {
		name string
		edit func(string)
		want error
		says string
	}{
		{"no sizes", func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "meta/sizes"))) }, ndarray.ErrCorrupt, "meta/sizes"},
		{"no chunk file", func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "data/__1.blp"))) }, ndarray.ErrCorrupt, "data/__1.blp"},
		{"cut chunk file", file("data/__1.blp", func(b []byte) []byte { return b[:30] }), ndarray.ErrCorrupt, "data/__1.blp: chunk header at byte 16: got 14 bytes, want 16"},
		{"cut JSON", file("meta/sizes", func(b []byte) []byte { return b[:10] }), ndarray.ErrCorrupt, "meta/sizes"},
		{"version of the file", file("data/__0.blp", set(4, 9)), errors.ErrUnsupported, "data/__0.blp: version"},
		{"version of the chunk", file("data/__0.blp", set(16, 5)), errors.ErrUnsupported, "got 5, want 1 or 2"},
		{"snappy", file("data/__0.blp", set(18, 2<<5)), errors.ErrUnsupported, "snappy"},
		{"streams that are none", file("data/__0.blp", set(18, 1<<5|0x10)), ndarray.ErrCorrupt, "data/__0.blp"},
		{"more rows than files", file("meta/sizes", replace("[6]", "[8]")), ndarray.ErrCorrupt, "data/__1.blp: nbytes at byte 16: got 8 bytes of rows, want 16"},
		{"unknown type", file("meta/storage", replace("<i4", "<x4")), errors.ErrUnsupported, "<x4"},
		{"structure", file("meta/storage", replace("<i4", "[('a', '<i4'")), ndarray.ErrType, "[('a', '<i4'"},
		{"dflt of a structure", file("meta/storage", replace("<i4", "[('a', '<i4')]")), ndarray.ErrCorrupt, "dflt is a number 0, elements are [('a', '<i4')]"},
		{"dflt", file("meta/storage", replace(`"dflt": 0`, `"dflt": "a"`)), ndarray.ErrCorrupt, `dflt is a string "a", elements are <i4`},
		{"rank", file("meta/sizes", replace("[6]", "[6"+strings.Repeat(", 1", 32)+"]")), errors.ErrUnsupported, "33 axes, at most 32"},
	} {
		err := corrupt(t, c.edit)
		require.ErrorIs(t, err, c.want, c.name)
		require.ErrorContains(t, err, c.says, c.name)
	}
	var place *format.Error
	require.ErrorAs(t, corrupt(t, file("data/__0.blp", set(0, 'B'))), &place)
	require.Equal(t, "bcolz data/__0.blp", place.Format)
}

// TestLinks checks that symbolic links out of the tree are rejected, and links inside it are
// followed.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the privilege to create symbolic links is missing on Windows")
	}
	err := corrupt(t, func(dir string) {
		outside := filepath.Join(filepath.Dir(dir), "outside")
		require.NoError(t, os.Rename(filepath.Join(dir, "data/__1.blp"), outside))
		require.NoError(t, os.Symlink(outside, filepath.Join(dir, "data/__1.blp")))
	})
	require.ErrorContains(t, err, "escapes")
	require.NoError(t, corrupt(t, func(dir string) {
		require.NoError(t, os.Rename(filepath.Join(dir, "data/__1.blp"), filepath.Join(dir, "inside")))
		require.NoError(t, os.Symlink("../inside", filepath.Join(dir, "data/__1.blp")))
	}))
}

// TestAppend_rowsAfterLast checks that rows of the last file outside the shape are ignored.
func TestAppend_rowsAfterLast(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	d := ndarray.DTypeOf[int32]()
	tree{dtype: d, shape: []int64{8}, chunkLen: 4, data: pattern(d, 8)}.write(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, bcolztree.SizesFile), bcolztree.Sizes{Shape: []int64{6}}.Append(nil), 0o666))
	a := open(t, dir)
	require.Equal(t, pattern(d, 6), readAll(t, a))
	require.NoError(t, a.Close())
}

func TestFill(t *testing.T) {
	ne := binary.NativeEndian
	for _, c := range []struct {
		dtype, dflt string
		want        []byte
	}{
		{"|b1", "true", []byte{1}},
		{"|b1", "1", []byte{1}},
		{"|b1", "false", nil},
		{"|i1", "-128", []byte{0x80}},
		{">i2", "-2", ne.AppendUint16(nil, 0xfffe)},
		{"<i8", "-9223372036854775808", ne.AppendUint64(nil, 1<<63)},
		{"<u8", "18446744073709551615", ne.AppendUint64(nil, math.MaxUint64)},
		{"<f4", "0.1", ne.AppendUint32(nil, math.Float32bits(0.1))},
		{"<f8", "-Infinity", ne.AppendUint64(nil, math.Float64bits(math.Inf(-1)))},
		{"<f8", "3", ne.AppendUint64(nil, math.Float64bits(3))},
		{"<f2", "1.0", ne.AppendUint16(nil, 0x3c00)},
		{"<f2", "-65504.0", ne.AppendUint16(nil, 0xfbff)},
		{"<f2", "65519.0", ne.AppendUint16(nil, 0x7bff)},
		{"<f2", "65520.0", ne.AppendUint16(nil, 0x7c00)},
		{"<f2", "NaN", ne.AppendUint16(nil, 0x7e00)},
		{"<f2", "5.960464477539063e-08", ne.AppendUint16(nil, 1)},
		{"<f2", "6.103515625e-05", ne.AppendUint16(nil, 0x0400)},
		{"<f2", "6.1e-05", ne.AppendUint16(nil, 0x03ff)},
		{"<f2", "2049.0", ne.AppendUint16(nil, 0x6800)}, // rounds to even
		{"<f2", "2051.0", ne.AppendUint16(nil, 0x6802)},
		{"<f2", "2047.9", ne.AppendUint16(nil, 0x6800)}, // rounds up to the next power of two
		{"<c8", "2.0", append(ne.AppendUint32(nil, math.Float32bits(2)), 0, 0, 0, 0)},
		{"|S3", `"ab"`, []byte("ab\x00")},
		{"<U2", `"\u4e16"`, append(ne.AppendUint32(nil, 0x4e16), 0, 0, 0, 0)},
		{"|V2", `"\u0000a"`, []byte("\x00a")},
	} {
		d, err := ndarray.ParseDType(c.dtype)
		require.NoError(t, err)
		dir := filepath.Join(t.TempDir(), "a")
		tree{dtype: d, shape: []int64{0}, chunkLen: 4, dflt: c.dflt}.write(t, dir)
		a := open(t, dir)
		require.Equal(t, c.want, a.Meta().Fill, "%s %s", c.dtype, c.dflt)
		require.NoError(t, a.Close())
	}
	for _, c := range [][2]string{
		{"|b1", "2"}, {"|b1", `"a"`}, {"|i1", "128"}, {"|i1", "1.5"}, {"<u4", "-1"}, {"<u4", "true"}, {"<f8", "null"}, {"<f8", "1e999"},
		{"|S3", `"abcd"`}, {"|S3", `"\u00e9"`}, {"|S3", "0"}, {"<U1", `"ab"`}, {"<U1", "1"}, {"<i4", "[0]"}, {"<i4", "{}"},
	} {
		d, err := ndarray.ParseDType(c[0])
		require.NoError(t, err)
		dir := filepath.Join(t.TempDir(), "a")
		tree{dtype: d, shape: []int64{0}, chunkLen: 4, dflt: c[1]}.write(t, dir)
		_, err = bcolz.Open(dir, nil)
		require.ErrorIs(t, err, ndarray.ErrCorrupt, "%v", c)
		require.ErrorContains(t, err, "dflt is")
	}
}

func TestAttrs(t *testing.T) {
	got, err := openGolden(t, "attrs").Attrs(bg)
	require.NoError(t, err)
	requireAttr(t, got, "temp", ndarray.Scalar(22.5))
	requireAttr(t, got, "count", ndarray.Scalar(int64(-3)))
	requireAttr(t, got, "name", ndarray.Text("Grüße 😀 \"x\"\n"))
	requireAttr(t, got, "flag", ndarray.Scalar(true))
	requireAttr(t, got, "list", ndarray.Vector(int64(1), 2, 3))
	requireAttr(t, got, "limits", ndarray.Vector(1e16, 1e15, 1e-4, 1e-5, math.Inf(1), math.NaN(), 0.1))
	require.Equal(t, []ndarray.UnsupportedAttr{
		{Name: "none", Type: "null", Reason: "null has no element type", Raw: []byte{0xc0}},
		{Name: "mixed", Type: "a list", Reason: "a number and a string in one list", Raw: []byte("\x93\x01\xa1a\x81\xa1b\xcb\x3e\xe4\xf8\xb5\x88\xe3h\xf1")},
	}, got.Unsupported)

	dir := filepath.Join(t.TempDir(), "a")
	tree{dtype: ndarray.DTypeOf[int32](), shape: []int64{0}, chunkLen: 1, attrs: `{
		"matrix": [[1, 2, 3], [4, 5, 6]], "mix": [1, 2.5], "texts": ["a", ""], "empty": [], "large": 18446744073709551615,
		"larges": [9223372036854775808, 1], "bools": [true, false], "zero": -0.0,
		"ragged": [[1], [2, 3]], "object": {"a": 1}, "huge": 18446744073709551616, "signs": [-1, 18446744073709551615],
		"inexact": [9007199254740993, 0.5], "over": 1e999, "": 1, "nul": "a\u0000b", "deep": ` + strings.Repeat("[", 33) + "1" + strings.Repeat("]", 33) + "}"}.write(t, dir)
	a := open(t, dir)
	got, err = a.Attrs(bg)
	require.NoError(t, err)
	matrix := ndarray.Vector(int64(1), 2, 3, 4, 5, 6)
	matrix.Shape = []int64{2, 3}
	requireAttr(t, got, "matrix", matrix)
	requireAttr(t, got, "mix", ndarray.Vector(1, 2.5))
	requireAttr(t, got, "bools", ndarray.Vector(true, false))
	requireAttr(t, got, "empty", ndarray.Vector[float64]())
	requireAttr(t, got, "large", ndarray.Scalar(uint64(math.MaxUint64)))
	requireAttr(t, got, "larges", ndarray.Vector(uint64(1<<63), 1))
	requireAttr(t, got, "zero", ndarray.Scalar(math.Copysign(0, -1)))
	strs, ok := got.Get("texts")
	require.True(t, ok)
	require.Equal(t, []string{"a", ""}, strs.Strings)
	require.Len(t, got.List, 8)
	var names []string
	for _, u := range got.Unsupported {
		names = append(names, u.Name)
		require.NotEmpty(t, u.Reason)
	}
	require.Equal(t, []string{"ragged", "object", "huge", "signs", "inexact", "over", "", "nul", "deep"}, names)
	require.NoError(t, a.Close())
}

func requireAttr(t *testing.T, attrs ndarray.Attrs, name string, want ndarray.Value) {
	t.Helper()
	got, ok := attrs.Get(name)
	require.True(t, ok, name)
	require.True(t, want.Equal(got), "%s: got %v %v, want %v %v", name, got.DType, got, want.DType, want)
}
