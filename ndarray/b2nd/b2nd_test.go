package b2nd_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

var bg = context.Background()

func dtype(t *testing.T, s string) ndarray.DType {
	t.Helper()
	d, err := ndarray.ParseDType(s)
	require.NoError(t, err)
	return d
}

// create creates a small array and returns its path.
func create(t *testing.T, edit func(*ndarray.Spec)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.b2nd")
	spec := ndarray.Spec{Shape: []int64{4, 3}, DType: dtype(t, "<i4")}
	if edit != nil {
		edit(&spec)
	}
	b, err := b2nd.Create(path, spec, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	return path
}

func open(t *testing.T, path string, o *b2nd.OpenOptions) *ndarray.Array {
	t.Helper()
	b, err := b2nd.Open(path, o)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// low opens the file with package cblosc, which sees the stored bytes and metalayers like another
// program.
func low(t *testing.T, path string) *cblosc.Array {
	t.Helper()
	a, err := cblosc.OpenArray(path)
	require.NoError(t, err)
	return a
}

func TestArray_Interop(t *testing.T) {
	path := create(t, func(s *ndarray.Spec) {
		s.DType = dtype(t, ">f8")
		s.Attrs = []ndarray.Attr{
			{Name: "unit", Value: ndarray.Text("K")},
			{Name: "scale", Value: ndarray.Scalar(float32(0.5))},
			{Name: "years", Value: ndarray.Vector[int16](2001, 2002)},
			{Name: "valid", Value: ndarray.Scalar(true)},
			{Name: "phase", Value: ndarray.Scalar(1 + 2i)}, // MessagePack has no complex numbers
			{Name: strings.Repeat("n", 32), Value: ndarray.Text("long name")},
		}
	})
	a := low(t, path)
	require.Equal(t, ">f8", a.DType())
	names, err := a.SChunk().VLMeta().Names()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"unit", "scale", "years", "valid", "hyperslab"}, names)
	for name, want := range map[string]string{
		"unit": "\xa1K", "scale": "\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00", "years": "\x92\xcd\x07\xd1\xcd\x07\xd2", "valid": "\xc3",
	} {
		got, err := a.SChunk().VLMeta().Get(name)
		require.NoError(t, err)
		require.Equal(t, []byte(want), got, name)
	}
	require.NoError(t, a.Close())
}

func TestRecord_omitted(t *testing.T) {
	a := low(t, create(t, nil))
	names, err := a.SChunk().VLMeta().Names()
	require.NoError(t, err)
	require.Empty(t, names)
	require.NoError(t, a.Close())
}

// TestForeignChanges checks that metalayers added, changed or deleted by another program take
// precedence over the recorded attributes.
func TestForeignChanges(t *testing.T) {
	path := create(t, func(s *ndarray.Spec) {
		s.Attrs = []ndarray.Attr{
			{Name: "kept", Value: ndarray.Vector[int16](1, 2)},
			{Name: "same type", Value: ndarray.Scalar(int16(1))},
			{Name: "other type", Value: ndarray.Scalar(int16(1))},
			{Name: "other shape", Value: ndarray.Vector[int16](1, 2)},
			{Name: "too large", Value: ndarray.Scalar(int8(1))},
			{Name: "deleted", Value: ndarray.Scalar(int8(1))},
			{Name: "recorded", Value: ndarray.Scalar(1i)},
			{Name: "taken over", Value: ndarray.Scalar(1i)},
		}
	})
	a := low(t, path)
	vl := a.SChunk().VLMeta()
	for name, content := range map[string]string{
		"same type": "\x07", "other type": "\xa1x", "other shape": "\x93\x01\x02\x03", "too large": "\xcd\x01\x00",
	} {
		require.NoError(t, vl.Update(name, []byte(content)))
	}
	require.NoError(t, vl.Delete("deleted"))
	for name, content := range map[string]string{
		"taken over": "\x05", "new": "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", "garbage": "\xc1\x00", "map": "\x80", "nil": "\xc0", "ext": "\xd4\x2a0",
	} {
		require.NoError(t, vl.Add(name, []byte(content)))
	}
	require.NoError(t, a.Close())

	attrs, err := open(t, path, nil).Attrs(bg)
	require.NoError(t, err)
	got := map[string]string{}
	for _, x := range attrs.List {
		got[x.Name] = strings.TrimLeft(x.Value.DType.String(), "<>|") + " " + x.Value.String()
	}
	require.Equal(t, map[string]string{
		"kept": "i2 [1 2]", "same type": "i2 7", "other type": `string "x"`, "other shape": "i8 [1 2 3]", "too large": "i8 256",
		"recorded": "c16 (0+1i)", "taken over": "i8 5", "new": "f8 1.5",
	}, got)
	unsupported := map[string]string{}
	for _, u := range attrs.Unsupported {
		unsupported[u.Name] = u.Type
		require.NotEmpty(t, u.Reason)
	}
	require.Equal(t, map[string]string{
		"garbage": "metalayer of 2 bytes", "map": "MessagePack", "nil": "MessagePack", "ext": "MessagePack",
	}, unsupported)
}

// TestFixedMetalayers checks that fixed metalayers written by another program are read as
// attributes and are never changed. All ways to read attributes must give the same result.
func TestFixedMetalayers(t *testing.T) {
	dir := t.TempDir()
	layers := []cblosc.Metalayer{
		{Name: "kind", Content: []byte("\xa4note")}, {Name: "both", Content: []byte("\x01")}, {Name: "map", Content: []byte("\x80")},
		{Name: "range", Content: []byte("\x92\x01\x02")},
	}
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 4
	for _, old := range []bool{false, true} {
		path := filepath.Join(dir, fmt.Sprint(old))
		p := cblosc.ArrayParams{Shape: []int64{4}, ChunkShape: []int32{4}, Blocks: []int32{4}, Meta: layers,
			Storage: cblosc.Storage{Path: path, CParams: cp}}
		create := caterva.Create
		if !old {
			create, p.DType = cblosc.CreateArray, "<i4"
		}
		a, err := create(&p)
		require.NoError(t, err)
		require.NoError(t, a.SChunk().VLMeta().Add("both", []byte{2}))
		require.NoError(t, a.Close())

		w, err := b2nd.Open(path, &b2nd.OpenOptions{Write: true})
		require.NoError(t, err)
		require.ErrorIs(t, w.(ndarray.AttrWriter).SetAttr(bg, ndarray.Attr{Name: "kind", Value: ndarray.Text("else")}), errors.ErrUnsupported)
		require.ErrorIs(t, w.(ndarray.AttrWriter).DeleteAttr(bg, "kind"), errors.ErrUnsupported)
		require.ErrorIs(t, w.(ndarray.AttrWriter).DeleteAttr(bg, "none"), ndarray.ErrNotFound)
		require.NoError(t, w.(ndarray.AttrWriter).SetAttr(bg, ndarray.Attr{Name: "both", Value: ndarray.Scalar(int16(3))}))
		r, err := b2nd.OpenFS(os.DirFS(path), nil)
		require.NoError(t, err)
		for _, b := range []ndarray.Backend{w, r} {
			got, err := b.(ndarray.AttrReader).Attrs(bg)
			require.NoError(t, err)
			require.Equal(t, []ndarray.Attr{
				{Name: "both", Value: ndarray.Scalar(int16(3))},
				{Name: "kind", Value: ndarray.Text("note"), Raw: layers[0].Content, Fixed: true},
				{Name: "range", Value: ndarray.Vector(int64(1), 2), Raw: layers[3].Content, Fixed: true},
			}, got.List)
			require.Equal(t, []ndarray.UnsupportedAttr{
				{Name: "both", Type: "fixed metalayer", Reason: "a variable-length metalayer has the same name", Raw: layers[1].Content, Fixed: true},
				{Name: "map", Type: "MessagePack", Reason: "map of 0 pairs", Raw: layers[2].Content, Fixed: true},
			}, got.Unsupported)
		}
		require.NoError(t, r.Close())
		require.NoError(t, w.(ndarray.AttrWriter).DeleteAttr(bg, "both"))
		got, err := w.(ndarray.AttrReader).Attrs(bg)
		require.NoError(t, err)
		both, _ := got.Get("both")
		require.Equal(t, ndarray.Scalar(int64(1)), both, "the fixed one")
		require.NoError(t, w.Close())
	}

	path := filepath.Join(dir, "frame")
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: true, CParams: cp})
	require.NoError(t, err)
	require.NoError(t, s.Meta().Add("kind", []byte("\xa4note")))
	require.NoError(t, s.AppendBuffer(make([]byte, 64)))
	require.NoError(t, s.Close())
	f, err := b2nd.OpenFrame(path, nil)
	require.NoError(t, err)
	attrs, err := f.(ndarray.AttrReader).Attrs(bg)
	require.NoError(t, err)
	require.Equal(t, []ndarray.Attr{{Name: "kind", Value: ndarray.Text("note"), Raw: []byte("\xa4note"), Fixed: true}}, attrs.List)
	require.NoError(t, f.Close())
}

// TestAutomaticShapes checks that Create uses grid.AutoChunk and AutoBlocks if the Spec has no
// chunk and block shapes.
func TestAutomaticShapes(t *testing.T) {
	for _, shape := range [][]int64{{4, 3}, {1000, 1000, 7}, {1 << 30}, {0, 5}} {
		m := open(t, create(t, func(s *ndarray.Spec) { s.Shape = shape }), nil).Meta()
		require.Equal(t, grid.AutoChunk(shape, 4), m.ChunkShape)
		require.Equal(t, grid.AutoBlocks(m.ChunkShape, 4), m.BlockShape)
	}
}

func TestOpenErrors(t *testing.T) {
	path := create(t, nil)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, b, 0o644))
		return p
	}
	frame := filepath.Join(dir, "plain")
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: frame, Contiguous: true})
	require.NoError(t, err)
	require.NoError(t, s.AppendBuffer(make([]byte, 64)))
	require.NoError(t, s.Close())
	for _, c := range []struct {
		path string
		want error
	}{
		{filepath.Join(dir, "none"), ndarray.ErrNotFound},
		{write("empty", nil), ndarray.ErrCorrupt},
		{write("text", []byte("This is not a frame at all, only some text, and long enough to hold a header of one.")), ndarray.ErrFormat},
		{write("cut", b[:len(b)-7]), ndarray.ErrCorrupt},
		{write("head only", b[:90]), ndarray.ErrCorrupt},
		{frame, ndarray.ErrFormat},
	} {
		_, err := b2nd.Open(c.path, nil)
		require.ErrorIs(t, err, c.want, c.path)
		require.ErrorContains(t, err, c.path)
		var e *ndarray.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "open", e.Op)
	}
}

// raw creates an array with C-Blosc2, as programs do that do not use ndarray.
func raw(t *testing.T, dtype string, size int, record []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raw.b2nd")
	cp := cblosc.DefaultCParams()
	cp.TypeSize = size
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{
		Shape: []int64{4}, ChunkShape: []int32{4}, Blocks: []int32{4}, DType: dtype,
		Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: cp},
	})
	require.NoError(t, err)
	if record != nil {
		require.NoError(t, a.SChunk().VLMeta().Add("hyperslab", record))
	}
	require.NoError(t, a.Close())
	return path
}

func TestRecord_unknownTypes(t *testing.T) {
	objects := raw(t, "|O", 8, nil)
	_, err := b2nd.Open(objects, nil)
	require.ErrorIs(t, err, ndarray.ErrType)
	require.ErrorContains(t, err, "|O")
	any8 := open(t, objects, &b2nd.OpenOptions{AnyType: true})
	require.Equal(t, "|V8", any8.DType().String())
	i8 := dtype(t, "<i8")
	require.Equal(t, i8, open(t, objects, &b2nd.OpenOptions{DType: &i8}).DType())
	i4 := dtype(t, "<i4")
	_, err = b2nd.Open(objects, &b2nd.OpenOptions{DType: &i4})
	require.ErrorIs(t, err, ndarray.ErrType)
	require.ErrorContains(t, err, "4 bytes, elements of 8")

	wrong := raw(t, "|u4", 4, nil) // as in the test data of C-Blosc2
	b, err := os.ReadFile(wrong)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(wrong, bytes.Replace(b, []byte("|u4"), []byte("|u1"), 1), 0o600))
	_, err = b2nd.Open(wrong, nil)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
	require.ErrorContains(t, err, "1 bytes, elements of 4")
	require.Equal(t, "|u1", open(t, raw(t, "uint8", 1, nil), nil).DType().String())
}

func TestDamagedRecord(t *testing.T) {
	for _, record := range []string{"\xc0", "\x81\xa7version\x01\x00", "\x82\xa7version\x01\xa4fill\xc4\x01\x00", "\x82\xa7version\x01\xa4null\xc3"} {
		_, err := b2nd.Open(raw(t, "<i4", 4, []byte(record)), nil)
		require.ErrorIs(t, err, ndarray.ErrCorrupt, "%q", record)
	}
	_, err := b2nd.Open(raw(t, "<i4", 4, []byte("\x81\xa7version\x02")), nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestCompression_Preserved(t *testing.T) {
	for _, c := range []*ndarray.Compression{
		{Codec: "none"}, {Codec: "blosclz", Level: 1}, {Codec: "lz4", Level: 9, Filters: []string{"shuffle"}},
		{Codec: "lz4hc", Level: 3, Filters: []string{"bitshuffle"}}, {Codec: "zlib", Level: 6}, {Codec: "zstd", Level: 2, Filters: []string{"delta", "shuffle"}},
	} {
		path := create(t, func(s *ndarray.Spec) { s.Compression = c })
		require.Equal(t, c, open(t, path, nil).Meta().Compression)
	}
	require.Equal(t, b2nd.DefaultCompression(), open(t, create(t, nil), nil).Meta().Compression)
	for _, c := range []struct {
		compression ndarray.Compression
		want        error
	}{
		{ndarray.Compression{Codec: "deflate", Level: 4}, errors.ErrUnsupported},
		{ndarray.Compression{Codec: "", Level: 4}, errors.ErrUnsupported},
		{ndarray.Compression{Codec: "zstd", Level: 4, Filters: []string{"fletcher32"}}, errors.ErrUnsupported},
		{ndarray.Compression{Codec: "zstd", Level: 10}, ndarray.ErrParam},
		{ndarray.Compression{Codec: "none", Level: 3}, ndarray.ErrParam},
		{ndarray.Compression{Codec: "zstd", Filters: make([]string, 7)}, ndarray.ErrParam},
	} {
		path := filepath.Join(t.TempDir(), "a.b2nd")
		_, err := b2nd.Create(path, ndarray.Spec{Shape: []int64{1}, DType: dtype(t, "<i4"), Compression: &c.compression}, nil)
		require.ErrorIs(t, err, c.want, "%+v", c.compression)
		_, err = os.Lstat(path)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestCreateErrors(t *testing.T) {
	path := create(t, nil)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	spec := ndarray.Spec{Shape: []int64{1}, DType: dtype(t, "<i4")}
	_, err = b2nd.Create(path, spec, nil)
	require.ErrorIs(t, err, ndarray.ErrExists)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, err = b2nd.Create(filepath.Join(t.TempDir(), "no", "a.b2nd"), spec, nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	for _, c := range []struct {
		edit func(*ndarray.Spec)
		want error
	}{
		{func(s *ndarray.Spec) { s.Shape = slices.Repeat([]int64{1}, cblosc.MaxDim+1) }, errors.ErrUnsupported},
		{func(s *ndarray.Spec) { s.DType = ndarray.Text("").DType }, errors.ErrUnsupported},
		{func(s *ndarray.Spec) { s.Shape, s.ChunkShape = []int64{1 << 40}, []int64{1 << 33} }, ndarray.ErrShape},
		{func(s *ndarray.Spec) { s.Shape, s.ChunkShape = []int64{1 << 40}, []int64{1 << 30} }, ndarray.ErrShape},
		{func(s *ndarray.Spec) { s.ChunkShape, s.BlockShape = []int64{1}, []int64{2} }, ndarray.ErrShape},
	} {
		s := spec
		c.edit(&s)
		p := filepath.Join(t.TempDir(), "a.b2nd")
		_, err = b2nd.Create(p, s, nil)
		require.ErrorIs(t, err, c.want, "%+v", s)
		_, err = os.Lstat(p)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

// TestManyAttributes checks more attributes than C-Blosc2 allows metalayers, and one with the name
// of the package's own metalayer.
func TestManyAttributes(t *testing.T) {
	var want []ndarray.Attr
	for i := range 40 {
		want = append(want, ndarray.Attr{Name: fmt.Sprintf("a%d", i), Value: ndarray.Scalar(int32(i))})
	}
	want = append(want, ndarray.Attr{Name: "hyperslab", Value: ndarray.Text("our own name")},
		ndarray.Attr{Name: "latin-1 \xe4", Value: ndarray.Scalar(int8(1))})
	path := create(t, func(s *ndarray.Spec) { s.Attrs = want })
	attrs, err := open(t, path, nil).Attrs(bg)
	require.NoError(t, err)
	require.Equal(t, want, attrs.List, "in the order they were set")
	a := low(t, path)
	names, err := a.SChunk().VLMeta().Names()
	require.NoError(t, err)
	require.Len(t, names, cblosc.MaxVLMetalayers)
	require.NoError(t, a.Close())
}

// TestFill_largeElements checks fill values of every size, also those that are too large for the
// type size field of a chunk header.
func TestFill_largeElements(t *testing.T) {
	for _, size := range []int{1, 3, 255, 256, 300, 1000} {
		fill := bytes.Repeat([]byte{1, 2, 3}, size)[:size]
		path := create(t, func(s *ndarray.Spec) {
			s.DType = ndarray.DType{Kind: ndarray.Void, Size: size, Order: ndarray.NoOrder}
			s.ChunkShape, s.Fill = []int64{3, 2}, fill
		})
		a := open(t, path, nil)
		got := make([]byte, a.NBytes())
		require.NoError(t, a.Read(bg, got, ndarray.Whole(a.Shape())))
		require.Equal(t, bytes.Repeat(fill, 12), got, "%d bytes", size)
	}
}

// TestFill_blocks checks that a chunk filled with the fill value has the block size of the array.
// C-Blosc2's automatic block size differs from it, and such a chunk would be rejected.
func TestFill_blocks(t *testing.T) {
	path := create(t, func(s *ndarray.Spec) {
		s.Shape, s.ChunkShape, s.BlockShape = []int64{45515}, []int64{45515}, []int64{22758}
		s.Fill = []byte{1, 0, 0, 0x80}
	})
	got, err := ndarray.ReadAll[int32](bg, open(t, path, nil))
	require.NoError(t, err)
	require.Len(t, got, 45515)
	for _, v := range got {
		require.Equal(t, int32(-2147483647), v)
	}
}

// TestLargeSparseArray checks that a large array without written chunks needs less than 1 MiB.
func TestLargeSparseArray(t *testing.T) {
	path := create(t, func(s *ndarray.Spec) { s.Shape = []int64{1000, 1000, 1000} })
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(1<<20))
	a := open(t, path, nil)
	require.Equal(t, int64(1e9), a.NumElems())
	got := make([]byte, 4)
	require.NoError(t, a.Read(bg, got, ndarray.Region{Start: []int64{999, 999, 999}, Shape: []int64{1, 1, 1}}))
	require.Equal(t, make([]byte, 4), got)
}

// catervaFile writes a file of one chunk and one block in the layout of the Caterva library.
func catervaFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.caterva")
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 4
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: true, CParams: cp})
	require.NoError(t, err)
	meta := b2ndmeta.Meta{Shape: []int64{2, 3}, Chunks: []int32{2, 3}, Blocks: []int32{2, 3}, Caterva: true}
	require.NoError(t, s.Meta().Add("caterva", meta.Append(nil)))
	var data []byte
	for i := range int32(6) {
		data = binary.NativeEndian.AppendUint32(data, uint32(i))
	}
	require.NoError(t, s.AppendBuffer(data))
	require.NoError(t, s.Close())
	return path
}

// TestCaterva checks that elements of a Caterva array are opaque unless the caller specifies a
// type, because Caterva does not store it.
func TestCaterva(t *testing.T) {
	path := catervaFile(t)
	a := open(t, path, nil)
	require.Equal(t, "caterva", a.Meta().Format)
	require.Equal(t, "|V4", a.DType().String())
	require.Equal(t, []int64{2, 3}, a.Shape())
	i4 := ndarray.DTypeOf[int32]()
	got, err := ndarray.ReadAll[int32](bg, open(t, path, &b2nd.OpenOptions{DType: &i4}))
	require.NoError(t, err)
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5}, got)
	i8 := ndarray.DTypeOf[int64]()
	_, err = b2nd.Open(path, &b2nd.OpenOptions{DType: &i8})
	require.ErrorIs(t, err, ndarray.ErrType)
}

// TestCreateCaterva checks that arrays created as Caterva can be read again: attributes always, and
// numbers if the caller specifies the element type.
func TestCreateCaterva(t *testing.T) {
	dir := t.TempDir()
	unit := []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}}
	for _, sparse := range []bool{false, true} {
		for i, d := range []ndarray.DType{dtype(t, "<i4"), dtype(t, ">i4"), dtype(t, "[('a', '<i2'), ('b', '>u2')]")} {
			path := filepath.Join(dir, fmt.Sprint(i, sparse))
			spec := ndarray.Spec{Shape: []int64{7, 5}, ChunkShape: []int64{4, 3}, BlockShape: []int64{2, 3}, DType: d, Attrs: unit}
			b, err := b2nd.Create(path, spec, &b2nd.CreateOptions{Sparse: sparse, Caterva: true})
			require.NoError(t, err)
			require.Equal(t, "caterva", b.Meta().Format)
			require.True(t, d.Equal(b.Meta().DType))
			data := make([]byte, 7*5*4)
			for i := range data {
				data[i] = byte(i)
			}
			require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, data, ndarray.Whole(spec.Shape), 0))
			require.NoError(t, b.Close())

			a := open(t, path, nil)
			require.Equal(t, "caterva", a.Meta().Format)
			require.Equal(t, "|V4", a.DType().String())
			require.Equal(t, spec.ChunkShape, a.Meta().ChunkShape)
			require.Equal(t, spec.BlockShape, a.Meta().BlockShape)
			attrs, err := a.Attrs(bg)
			require.NoError(t, err)
			require.Equal(t, unit, attrs.List)
			a = open(t, path, &b2nd.OpenOptions{DType: &d})
			got := make([]byte, len(data))
			require.NoError(t, a.Read(bg, got, ndarray.Whole(spec.Shape)))
			require.Equal(t, data, got)

			w, err := b2nd.Open(path, &b2nd.OpenOptions{Write: true})
			require.NoError(t, err)
			for _, shape := range [][]int64{{3, 5}, {8, 9}} {
				require.NoError(t, w.(ndarray.Resizer).Resize(bg, shape))
				require.Equal(t, shape, w.Meta().Shape)
			}
			require.NoError(t, w.Close())
			a = open(t, path, &b2nd.OpenOptions{DType: &d})
			got = make([]byte, 8*9*4)
			require.NoError(t, a.Read(bg, got, ndarray.Whole(a.Shape())))
			for row := range 8 {
				want := make([]byte, 9*4)
				if row < 3 {
					copy(want, data[row*5*4:][:5*4])
				}
				require.Equal(t, want, got[row*9*4:][:9*4], "row %d", row)
			}
		}
	}
	for _, spec := range []ndarray.Spec{
		{Null: true}, {Shape: []int64{2}, MaxShape: []int64{ndarray.Unlimited}}, {Shape: []int64{2}, AxisNames: []string{"x"}}, {Shape: []int64{2}, Fill: []byte{1, 0}},
	} {
		spec.DType = dtype(t, "<i2")
		path := filepath.Join(dir, "refused")
		_, err := b2nd.Create(path, spec, &b2nd.CreateOptions{Caterva: true})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "Caterva")
		require.NoFileExists(t, path)
	}
}

// TestRecord_noSpace checks that SetAttr fails if other metalayers use all the space that the
// record needs.
func TestRecord_noSpace(t *testing.T) {
	b, err := b2nd.Create(filepath.Join(t.TempDir(), "a.b2nd"), ndarray.Spec{Shape: []int64{1}, DType: dtype(t, "<i4")}, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	vl := b2nd.SChunk(b).VLMeta()
	for i := range cblosc.MaxVLMetalayers {
		require.NoError(t, vl.Add(fmt.Sprintf("other %d", i), []byte{byte(i)}))
	}
	err = b.(ndarray.AttrWriter).SetAttr(bg, ndarray.Attr{Name: "a", Value: ndarray.Scalar(true)})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, err, cblosc.ErrLimit)
	attrs, err := b.(ndarray.AttrReader).Attrs(bg)
	require.NoError(t, err)
	_, has := attrs.Get("a")
	require.False(t, has, "chunks that are not stored are not listed")
}

// TestFill_writtenZeros checks that zeros written to a new array with another fill value are
// stored. Chunks that were not written must read as the fill value.
func TestFill_writtenZeros(t *testing.T) {
	for _, o := range []*b2nd.CreateOptions{nil, {Sparse: true}} {
		path := filepath.Join(t.TempDir(), "x.b2nd")
		d, err := ndarray.ParseDType("<i2")
		require.NoError(t, err)
		b, err := b2nd.Create(path, ndarray.Spec{Shape: []int64{7}, ChunkShape: []int64{2}, DType: d, Fill: []byte{1, 0}}, o)
		require.NoError(t, err)
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(context.Background(), make([]byte, 4), ndarray.Region{Start: []int64{2}, Shape: []int64{2}}, 0))
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(context.Background(), make([]byte, 2), ndarray.Region{Start: []int64{6}, Shape: []int64{1}}, 0))
		got := make([]byte, 14)
		require.NoError(t, b.ReadRegion(context.Background(), got, ndarray.Whole([]int64{7}), 0))
		require.Equal(t, []byte{1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0}, got)
		require.NoError(t, b.Close())
	}
}
