package hdf5_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

var bg = context.Background()

// create creates a file with one small dataset "/x" and returns its path.
func create(t *testing.T, edit func(*ndarray.Spec)) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.h5")
	spec := ndarray.Spec{Shape: []int64{4, 3}, DType: ndarray.DTypeOf[int32]()}
	if edit != nil {
		edit(&spec)
	}
	b, err := hdf5.Create(file, "x", spec, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	return file
}

func meta(t *testing.T, file string) ndarray.Meta {
	t.Helper()
	b, err := hdf5.Open(file, "/x", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	return b.Meta()
}

func TestDefaults(t *testing.T) {
	m := meta(t, create(t, nil))
	require.Equal(t, hdf5.DefaultCompression(), m.Compression)
	require.Equal(t, []int64{4, 3}, m.ChunkShape)
	require.True(t, m.ReadOnly)
}

func TestChunks(t *testing.T) {
	none := &ndarray.Compression{Codec: "none"}
	for _, c := range []struct {
		name string
		edit func(*ndarray.Spec)
		want []int64
	}{
		{"clipped to the axes", func(s *ndarray.Spec) { s.ChunkShape = []int64{10, 2} }, []int64{4, 2}},
		{"clipped to where they grow", func(s *ndarray.Spec) {
			s.ChunkShape, s.MaxShape = []int64{10, 20}, []int64{ndarray.Unlimited, 7}
		}, []int64{10, 7}},
		{"none for a scalar", func(s *ndarray.Spec) { s.Shape = nil }, nil},
		{"none for null", func(s *ndarray.Spec) { s.Shape, s.Null = nil, true }, nil},
		{"none for a fixed empty axis", func(s *ndarray.Spec) { s.Shape, s.ChunkShape = []int64{0, 3}, []int64{2, 2} }, nil},
		{"none without compression", func(s *ndarray.Spec) { s.Compression = none }, nil},
		{"as asked without compression", func(s *ndarray.Spec) { s.Compression, s.ChunkShape = none, []int64{2, 2} }, []int64{2, 2}},
		{"needed to grow", func(s *ndarray.Spec) { s.Compression, s.MaxShape = none, []int64{9, 3} }, []int64{4, 3}},
		{"for an empty axis that grows", func(s *ndarray.Spec) {
			s.Shape, s.MaxShape = []int64{0, 3}, []int64{ndarray.Unlimited, 3}
		}, []int64{1024, 3}},
		{"of a large array", func(s *ndarray.Spec) { s.Shape = []int64{10000, 10000} }, grid.AutoChunk([]int64{10000, 10000}, 4)},
	} {
		require.Equal(t, c.want, meta(t, create(t, c.edit)).ChunkShape, c.name)
	}
}

func TestCompression_Preserved(t *testing.T) {
	for _, c := range []*ndarray.Compression{
		{Codec: "none"}, {Codec: "none", Filters: []string{"shuffle"}}, {Codec: "deflate", Level: 0}, {Codec: "deflate", Level: 9},
		{Codec: "deflate", Level: 1, Filters: []string{"shuffle", "fletcher32"}}, {Codec: "none", Filters: []string{"fletcher32"}},
	} {
		got := meta(t, create(t, func(s *ndarray.Spec) { s.Compression, s.ChunkShape = c, []int64{2, 2} })).Compression
		require.Equal(t, c, got)
	}
	for _, c := range []struct {
		compression ndarray.Compression
		want        error
	}{
		{ndarray.Compression{Codec: "snappy", Level: 5}, errors.ErrUnsupported},
		{ndarray.Compression{Codec: "zstd"}, ndarray.ErrParam},
		{ndarray.Compression{Codec: "zstd", Level: 23}, ndarray.ErrParam},
		{ndarray.Compression{Codec: "lz4", Level: 1}, ndarray.ErrParam},
		{ndarray.Compression{Codec: "blosc/snappy"}, errors.ErrUnsupported},
		{ndarray.Compression{Codec: "blosc/lz4", Level: 10}, ndarray.ErrParam},
		{ndarray.Compression{Codec: "bitshuffle/lz4", Filters: []string{"shuffle"}}, errors.ErrUnsupported},
		{ndarray.Compression{Codec: "lzf", Filters: []string{"fletcher32", "shuffle"}}, errors.ErrUnsupported},
		{ndarray.Compression{Codec: "lzf", Filters: []string{"bitshuffle", "shuffle"}}, errors.ErrUnsupported},
		{ndarray.Compression{Codec: "", Level: 5}, errors.ErrUnsupported},
		{ndarray.Compression{Codec: "deflate", Level: 4, Filters: []string{"delta"}}, errors.ErrUnsupported},
		{ndarray.Compression{Codec: "deflate", Level: 10}, ndarray.ErrParam},
		{ndarray.Compression{Codec: "deflate", Level: -1}, ndarray.ErrParam},
		{ndarray.Compression{Codec: "none", Level: 1}, ndarray.ErrParam},
	} {
		file := filepath.Join(t.TempDir(), "a.h5")
		_, err := hdf5.Create(file, "x", ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int32](), Compression: &c.compression}, nil)
		require.ErrorIs(t, err, c.want, "%+v", c.compression)
		_, err = os.Lstat(file)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestCreateErrors(t *testing.T) {
	spec := ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int32]()}
	file := create(t, nil)
	_, err := hdf5.Create(file, "y", spec, nil)
	require.ErrorIs(t, err, ndarray.ErrExists)
	require.Equal(t, []int64{4, 3}, meta(t, file).Shape, "existing objects are unchanged")
	_, err = hdf5.Create(filepath.Join(t.TempDir(), "no", "a.h5"), "x", spec, nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	unicode, err := ndarray.ParseDType("<U3")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		object string
		edit   func(*ndarray.Spec)
		want   error
	}{
		"no name":       {"", nil, ndarray.ErrParam},
		"only the root": {"//", nil, ndarray.ErrParam},
		"zero byte":     {"a\x00b", nil, ndarray.ErrParam},
		"unicode":       {"x", func(s *ndarray.Spec) { s.DType = unicode }, errors.ErrUnsupported},
		"unicode attribute": {"x", func(s *ndarray.Spec) {
			s.Attrs = []ndarray.Attr{{Name: "a", Value: ndarray.Value{DType: unicode, Data: make([]byte, 12)}}}
		}, errors.ErrUnsupported},
		"chunk of 4 GiB": {"x", func(s *ndarray.Spec) { s.Shape, s.ChunkShape = []int64{1 << 40}, []int64{1 << 30} }, ndarray.ErrParam},
	} {
		s, dir := spec, t.TempDir()
		if c.edit != nil {
			c.edit(&s)
		}
		_, err := hdf5.Create(filepath.Join(dir, "a.h5"), c.object, s, nil)
		require.ErrorIs(t, err, c.want, name)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, name)
	}
}

func TestOpenErrors(t *testing.T) {
	file, dir := create(t, nil), t.TempDir()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	write := func(name string, b []byte) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, b, 0o644))
		return p
	}
	for _, c := range []struct {
		file, object string
		want         error
	}{
		{filepath.Join(dir, "none.h5"), "x", ndarray.ErrNotFound},
		{write("empty.h5", nil), "x", ndarray.ErrFormat},
		{write("text.h5", []byte("no HDF5 at all")), "x", ndarray.ErrFormat},
		{write("cut.h5", b[:len(b)/2]), "x", ndarray.ErrCorrupt},
		{file, "y", ndarray.ErrNotFound},
		{file, "g/y", ndarray.ErrNotFound},
		{file, "/", ndarray.ErrFormat},
		{file, "", ndarray.ErrFormat},
	} {
		_, err := hdf5.Open(c.file, c.object, nil)
		require.ErrorIs(t, err, c.want, "%s %s", c.file, c.object)
		var e *ndarray.Error
		require.ErrorAs(t, err, &e)
		require.Contains(t, e.Path, c.file)
	}
}

// foreign creates a file with objects that this package does not write.
func foreign(t *testing.T, fill func(root *h5.Group)) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "foreign.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	fill(f.Root())
	require.NoError(t, f.Close())
	return file
}

func TestAttr_bitFields(t *testing.T) {
	bits := h5.Datatype{Class: h5.Bitfield, Size: 2, Precision: 16}
	file := foreign(t, func(root *h5.Group) {
		d, err := root.CreateDataset("x", h5.Int(4, h5.LittleEndian), h5.ScalarSpace(), nil)
		require.NoError(t, err)
		for _, a := range []h5.Attribute{
			{Name: "a record", Datatype: h5.Datatype{Class: h5.Compound, Size: 2, Members: []h5.Member{{Name: "f", Type: &bits}}}, Data: []byte{1, 2}},
			{Name: "b number", Datatype: h5.Int(2, h5.BigEndian), Data: []byte{0, 5}},
			{Name: "c pair", Datatype: h5.Datatype{Class: h5.Array, Size: 4, Base: &bits, Dims: []int64{2}}, Data: []byte{1, 0, 2, 0}},
		} {
			a.Space = h5.ScalarSpace()
			require.NoError(t, d.WriteAttribute(a))
		}
		require.NoError(t, d.Close())
	})
	b, err := hdf5.Open(file, "x", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	attrs, err := b.(ndarray.AttrReader).Attrs(bg)
	require.NoError(t, err)
	require.Empty(t, attrs.Unsupported)
	for i, want := range []string{"{f: 0x0201}", "5", "[0x0001 0x0002]"} {
		require.Equal(t, want, attrs.List[i].Value.String())
	}
	require.Equal(t, ">i2", attrs.List[1].Value.DType.String())
}

// TestTypes_references checks attributes of references, alone, in sequences and in compounds.
// netCDF-4 stores its dimensions in such attributes.
func TestTypes_references(t *testing.T) {
	b, err := hdf5.Open("../../testdata/etopo120.h5", "/ROSE", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	x, err := hdf5.Open("../../testdata/etopo120.h5", "/ETOPO120X", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, x.Close()) }()
	for name, o := range map[string]ndarray.Backend{"DIMENSION_LIST": b, "REFERENCE_LIST": x} {
		attrs, err := o.(ndarray.AttrReader).Attrs(bg)
		require.NoError(t, err)
		require.Len(t, attrs.Unsupported, 1)
		require.Equal(t, name, attrs.Unsupported[0].Name)
		require.Equal(t, "refers to objects of its own file", attrs.Unsupported[0].Reason)
	}
}

// TestFill_nan checks that every bit of a NaN is preserved, in both byte orders.
func TestFill_nan(t *testing.T) {
	want := []uint64{0x7ff8000000000001, 0x7ff0000000000001, 0xfff123456789abcd, math.Float64bits(math.Inf(-1)), 1 << 63}
	for _, s := range []string{"<f8", ">f8"} {
		d, err := ndarray.ParseDType(s)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "a.h5")
		b, err := hdf5.Create(file, "x", ndarray.Spec{Shape: []int64{5}, DType: d}, nil)
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		src := make([]float64, len(want))
		for i, bits := range want {
			src[i] = math.Float64frombits(bits)
		}
		require.NoError(t, ndarray.Write(bg, a, src, ndarray.Whole(a.Shape())))
		got, err := ndarray.ReadAll[float64](bg, a)
		require.NoError(t, err)
		for i, bits := range want {
			require.Equal(t, bits, math.Float64bits(got[i]), s)
		}
		require.NoError(t, a.Close())
	}
}

func TestDescribe(t *testing.T) {
	file := create(t, func(s *ndarray.Spec) { s.ChunkShape = []int64{2, 2} })
	f, err := h5.Open(file, h5.ReadOnly)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	d, err := f.Root().OpenDataset("x")
	require.NoError(t, err)
	about, err := hdf5.Describe(d, "somewhere", nil)
	require.NoError(t, err)
	require.Equal(t, "somewhere", about.Meta.Path)
	require.Equal(t, int64(4), about.Storage.NumChunks)
	require.Equal(t, "H5T_STD_I32LE", about.Type)
	require.NoError(t, d.Close())
	_, err = hdf5.Describe(d, "somewhere", nil)
	require.ErrorIs(t, err, ndarray.ErrClosed)
}

func TestOpen_attributeOfUnknownType(t *testing.T) {
	others := []ndarray.Attr{{Name: "bytes", Value: ndarray.Scalar(int16(-3))}, {Name: "units", Value: ndarray.Text("K")}}
	path := filepath.Join(t.TempDir(), "x.h5")
	b, err := hdf5.Create(path, "x", ndarray.Spec{
		Shape: []int64{4}, DType: ndarray.DTypeOf[int32](), Attrs: append(slices.Clone(others), ndarray.Attr{Name: "later", Value: ndarray.Scalar(1.5)}),
	}, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(file, []byte("later\x00"))
	require.Positive(t, at)
	at += bytes.Index(file[at:], []byte{0x11, 0x20, 0x3f, 0, 8, 0, 0, 0}) // an IEEE float of 8 bytes, in version 1
	// Version 6 does not exist yet.
	file[at] = 0x61
	require.NoError(t, os.WriteFile(path, file, 0o600))

	b, err = hdf5.Open(path, "x", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	require.Nil(t, b.Meta().AxisNames)
	dst := make([]byte, 16)
	require.NoError(t, b.ReadRegion(bg, dst, ndarray.Whole([]int64{4}), 0))
	attrs, err := b.(ndarray.AttrReader).Attrs(bg)
	require.NoError(t, err)
	require.Len(t, attrs.Unsupported, 1)
	require.Equal(t, "later", attrs.Unsupported[0].Name)
	require.Contains(t, attrs.Unsupported[0].Reason, "unknown format version")
	require.Equal(t, others, attrs.List)
}

func TestOpen_nativeComplex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.LatestFormat, High: h5.LatestFormat})
	require.NoError(t, err)
	values := []complex128{1 + 2i, complex(0, -0.5)}
	for name, order := range map[string]h5.Order{"little": h5.LittleEndian, "big": h5.BigEndian} {
		part := h5.IEEEFloat(8, order)
		z := h5.Datatype{Class: h5.Complex, Size: 16, Base: &part}
		d, err := f.Root().CreateDataset(name, z, h5.SimpleSpace(2), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, values, h5.All))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	for name, want := range map[string]string{"little": "<c16", "big": ">c16"} {
		b, err := hdf5.Open(path, name, nil)
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		require.Equal(t, want, a.DType().String())
		got := make([]complex128, 2)
		require.NoError(t, ndarray.Read(bg, a, got, ndarray.Whole([]int64{2})))
		require.Equal(t, values, got)
		require.NoError(t, a.Close())
	}
}
