package formats_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/formats"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// stored makes an array of spec in both formats, opens each, and gives it to look.
func stored(t *testing.T, spec ndarray.Spec, look func(m ndarray.Meta)) {
	t.Helper()
	dir := t.TempDir()
	b, err := b2nd.Create(in(dir, "x.b2nd"), spec, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	h, err := hdf5.Create(in(dir, "x.h5"), "x", spec, nil)
	require.NoError(t, err)
	require.NoError(t, h.Close())
	for _, location := range []string{in(dir, "x.b2nd"), in(dir, "x.h5:/x")} {
		a, err := formats.Open(bg, location)
		require.NoError(t, err)
		look(a.Meta())
		require.NoError(t, a.Close())
	}
}

// The rows of the table in ndarray's doc.go, one test each.
func TestMapping(t *testing.T) {
	f4 := ndarray.DTypeOf[float32]()
	chunked := ndarray.Spec{Shape: []int64{6, 4}, ChunkShape: []int64{4, 3}, DType: f4}

	t.Run("Format", func(t *testing.T) {
		var got []string
		stored(t, chunked, func(m ndarray.Meta) { got = append(got, m.Format) })
		require.Equal(t, []string{"b2nd", "hdf5"}, got)
	})
	t.Run("Shape", func(t *testing.T) {
		for _, shape := range [][]int64{{}, {0}, {7}, {3, 0, 2}, slices.Repeat([]int64{1}, 8)} {
			stored(t, ndarray.Spec{Shape: shape, DType: f4}, func(m ndarray.Meta) {
				require.Equal(t, len(shape), len(m.Shape), m.Format)
				require.True(t, slices.Equal(shape, m.Shape), m.Format)
			})
		}
		high := ndarray.Spec{Shape: slices.Repeat([]int64{1}, 32), DType: f4}
		require.NoError(t, hdf5.Check("x", high))
		require.ErrorIs(t, b2nd.Check(high), errors.ErrUnsupported)
		require.ErrorContains(t, b2nd.Check(high), "2.21.3")
	})
	t.Run("Null", func(t *testing.T) {
		stored(t, ndarray.Spec{Null: true, DType: f4}, func(m ndarray.Meta) {
			require.True(t, m.Null, m.Format)
			require.Empty(t, m.Shape)
			require.Zero(t, m.NumElems())
		})
	})
	t.Run("MaxShape", func(t *testing.T) {
		spec := chunked
		spec.MaxShape = []int64{ndarray.Unlimited, 9}
		stored(t, spec, func(m ndarray.Meta) { require.Equal(t, spec.MaxShape, m.MaxShape, m.Format) })
		stored(t, chunked, func(m ndarray.Meta) { require.Nil(t, m.MaxShape, m.Format) })
	})
	t.Run("AxisNames", func(t *testing.T) {
		spec := chunked
		spec.AxisNames = []string{"time", ""}
		stored(t, spec, func(m ndarray.Meta) { require.Equal(t, spec.AxisNames, m.AxisNames, m.Format) })
		// A dimension scale without a label gives its name.
		file := in(t.TempDir(), "s.h5")
		f, err := h5.Create(file, nil)
		require.NoError(t, err)
		data, err := f.Root().CreateDataset("data", h5.IEEEFloat(4, h5.LittleEndian), h5.SimpleSpace(3, 2), nil)
		require.NoError(t, err)
		scale, err := f.Root().CreateDataset("g/lon", h5.IEEEFloat(4, h5.LittleEndian), h5.SimpleSpace(2), nil)
		require.NoError(t, err)
		require.NoError(t, scale.MakeScale("longitude"))
		require.NoError(t, data.AttachScale(1, scale))
		require.NoError(t, errors.Join(data.Close(), scale.Close(), f.Close()))
		a, err := formats.Open(bg, file+":/data")
		require.NoError(t, err)
		require.Equal(t, []string{"", "lon"}, a.Meta().AxisNames)
		require.NoError(t, a.Close())
	})
	t.Run("ChunkShape", func(t *testing.T) {
		stored(t, chunked, func(m ndarray.Meta) { require.Equal(t, []int64{4, 3}, m.ChunkShape, m.Format) })
		long := ndarray.Spec{Shape: []int64{6}, ChunkShape: []int64{100}, DType: f4}
		stored(t, long, func(m ndarray.Meta) {
			require.Equal(t, map[string][]int64{"b2nd": {100}, "hdf5": {6}}[m.Format], m.ChunkShape)
		})
	})
	t.Run("BlockShape", func(t *testing.T) {
		spec := chunked
		spec.BlockShape = []int64{2, 3}
		stored(t, spec, func(m ndarray.Meta) {
			require.Equal(t, map[string][]int64{"b2nd": {2, 3}}[m.Format], m.BlockShape)
		})
	})
	t.Run("DType", func(t *testing.T) {
		d, err := ndarray.ParseDType(`[('e', "enum('<i2', {'A': 1})"), ('h', '>bfloat16'), ('t', '<M8[ns]')]`)
		require.NoError(t, err)
		stored(t, ndarray.Spec{Shape: []int64{2}, DType: d}, func(m ndarray.Meta) { require.True(t, d.Equal(m.DType), "%s: %v", m.Format, m.DType) })
		require.ErrorIs(t, b2nd.Check(ndarray.Spec{DType: ndarray.Text("").DType}), errors.ErrUnsupported)
	})
	t.Run("Fill", func(t *testing.T) {
		spec := chunked
		spec.Fill = []byte{1, 2, 3, 4}
		stored(t, spec, func(m ndarray.Meta) { require.Equal(t, spec.Fill, m.Fill, m.Format) })
		stored(t, chunked, func(m ndarray.Meta) { require.Nil(t, m.Fill, m.Format) })
	})
	t.Run("Compression", func(t *testing.T) {
		stored(t, chunked, func(m ndarray.Meta) {
			require.Equal(t, map[string]string{"b2nd": "shuffle + zstd 5", "hdf5": "shuffle + deflate 4"}[m.Format], m.Compression.String())
		})
	})
	t.Run("Caterva", func(t *testing.T) {
		b, err := b2nd.Open(caterva(t), nil)
		require.NoError(t, err)
		m := b.Meta()
		require.Equal(t, "caterva", m.Format)
		require.Equal(t, ndarray.Void, m.DType.Kind, "opaque until told")
		require.NotEmpty(t, m.ChunkShape)
		require.NotEmpty(t, m.BlockShape)
		require.False(t, m.Null)
		require.Nil(t, m.MaxShape)
		require.Nil(t, m.AxisNames)
		require.Nil(t, m.Fill)
		require.NoError(t, b.Close())
	})
}

// Shapes at the limits: the most axes, primes, and more elements than memory has.
func TestExtremeShapes(t *testing.T) {
	d := ndarray.DTypeOf[int32]()
	for _, c := range []struct {
		location string
		spec     ndarray.Spec
	}{
		{"high.h5:/x", ndarray.Spec{Shape: slices.Repeat([]int64{1}, 32), DType: d}},
		{"wide.h5:/x", ndarray.Spec{Shape: append(slices.Repeat([]int64{1}, 30), 2, 3), ChunkShape: slices.Repeat([]int64{1}, 32), DType: d}},
		{"prime.b2nd", ndarray.Spec{Shape: []int64{101, 103}, ChunkShape: []int64{13, 7}, BlockShape: []int64{5, 3}, DType: d}},
		{"prime.h5:/x", ndarray.Spec{Shape: []int64{101, 103}, ChunkShape: []int64{13, 7}, DType: d}},
	} {
		dir := t.TempDir()
		save(t, in(dir, c.location), c.spec)
		requireCount(t, in(dir, c.location))
	}
	for _, location := range []string{"sparse.b2nd", "sparse.h5:/x"} {
		dir := t.TempDir()
		draft, err := formats.Create(bg, in(dir, location), ndarray.Spec{Shape: []int64{1_000_000_007}, ChunkShape: []int64{1 << 24}, DType: d})
		require.NoError(t, err)
		require.NoError(t, ndarray.Put(bg, draft.Array, []int32{1, 2}, ndarray.Points([]int64{-1}, []int64{500_000_000})))
		require.NoError(t, draft.Commit(bg))
		a, err := formats.Open(bg, in(dir, location))
		require.NoError(t, err)
		got, err := ndarray.Take[int32](bg, a, ndarray.Select(ndarray.List(-1, 0, 500_000_000)))
		require.NoError(t, err)
		require.Equal(t, []int32{1, 0, 2}, got)
		s, err := a.Storage(bg)
		require.NoError(t, err)
		require.Less(t, s.StoredBytes, int64(2<<20))
		require.NoError(t, a.Close())
	}
	for _, shape := range [][]int64{{math.MaxInt64}, {1 << 32, 1 << 31}, {1 << 62, 4, 0}} {
		for _, location := range []string{"o.b2nd", "o.h5:/x"} {
			_, err := formats.Create(bg, in(t.TempDir(), location), ndarray.Spec{Shape: shape, DType: d})
			require.ErrorIs(t, err, ndarray.ErrShape, "%v in %s", shape, location)
		}
	}
}

// caterva writes a Caterva array as its library did: five fields, no element type.
func caterva(t *testing.T) string {
	t.Helper()
	file := in(t.TempDir(), "caterva.b2frame")
	p := cblosc.DefaultCParams()
	p.TypeSize = 4
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{5}, Chunks: []int32{4}, Blocks: []int32{2}, Caterva: true,
		Storage: cblosc.Storage{Path: file, Contiguous: true, CParams: p}})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	return file
}
