package treecopy_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// stored creates an array of spec as b2nd and as HDF5, opens each and calls look with its metadata.
func stored(t *testing.T, spec ndarray.Spec, look func(m ndarray.Meta)) {
	t.Helper()
	dir := t.TempDir()
	b, err := b2nd.Create(filetest.In(dir, "x.b2nd"), spec, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	h, err := hdf5.Create(filetest.In(dir, "x.h5"), "x", spec, nil)
	require.NoError(t, err)
	require.NoError(t, h.Close())
	for _, location := range []string{filetest.In(dir, "x.b2nd"), filetest.In(dir, "x.h5:/x")} {
		a, err := hyperslab.Open(bg, location, nil)
		require.NoError(t, err)
		look(a.Meta())
		require.NoError(t, a.Close())
	}
}

// everywhere creates an array of spec in every file format, opens each and calls look with it.
func everywhere(t *testing.T, spec ndarray.Spec, look func(a *ndarray.Array)) {
	t.Helper()
	dir := testenv.Scratch(t)
	for _, s := range storages()[1:] { // all except memory
		spec := spec
		if s.name == "bcolz" && spec.ChunkShape != nil {
			spec.ChunkShape = append(slices.Clone(spec.ChunkShape[:1]), spec.Shape[1:]...)
		}
		a := s.put(t, filepath.Join(dir, s.name), spec, func(*ndarray.Array) {})
		look(a)
		require.NoError(t, a.Close())
	}
}

// TestMapping has one subtest for each row of the table in ndarray's doc.go and each paragraph
// below it.
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
				require.False(t, m.Null, "a scalar or an empty axis is not null")
			})
		}
		high := ndarray.Spec{Shape: slices.Repeat([]int64{1}, 32), DType: f4}
		require.NoError(t, hdf5.Check("x", high))
		require.ErrorIs(t, b2nd.Check(high), errors.ErrUnsupported)
		require.ErrorContains(t, b2nd.Check(high), "at most 16")
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
		// Without MaxShape, a b2nd array can grow along any dimension, and an HDF5 dataset has a
		// fixed shape.
		dir := t.TempDir()
		for _, location := range []string{filetest.In(dir, "x.b2nd"), filetest.In(dir, "x.h5:/x")} {
			filetest.Save(t, location, filetest.Int32s(6, 4), nil)
			a, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Write: true})
			require.NoError(t, err)
			if err := a.Resize(bg, []int64{7, 9}); a.Meta().Format == "b2nd" {
				require.NoError(t, err)
				require.Equal(t, []int64{7, 9}, a.Shape())
			} else {
				require.ErrorIs(t, err, errors.ErrUnsupported)
				require.Equal(t, []int64{6, 4}, a.Shape())
			}
			require.NoError(t, a.Close())
		}
	})
	t.Run("AxisNames", func(t *testing.T) {
		spec := chunked
		spec.AxisNames = []string{"time", ""}
		stored(t, spec, func(m ndarray.Meta) { require.Equal(t, spec.AxisNames, m.AxisNames, m.Format) })
		// Without a label, the name of the dimension scale is the dimension name.
		file := filetest.In(t.TempDir(), "s.h5")
		f, err := h5.Create(file, nil)
		require.NoError(t, err)
		data, err := f.Root().CreateDataset("data", h5.IEEEFloat(4, h5.LittleEndian), h5.SimpleSpace(3, 2), nil)
		require.NoError(t, err)
		scale, err := f.Root().CreateDataset("g/lon", h5.IEEEFloat(4, h5.LittleEndian), h5.SimpleSpace(2), nil)
		require.NoError(t, err)
		require.NoError(t, scale.MakeScale("longitude"))
		require.NoError(t, data.AttachScale(1, scale))
		require.NoError(t, errors.Join(data.Close(), scale.Close(), f.Close()))
		a, err := hyperslab.Open(bg, file+":/data", nil)
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
	t.Run("attributes", func(t *testing.T) {
		spec := chunked
		for i := range 20 { // more than the 16 metalayers of a frame
			spec.Attrs = append(spec.Attrs, ndarray.Attr{Name: fmt.Sprintf("a%02d", i), Value: ndarray.Vector(int8(i))})
		}
		everywhere(t, spec, func(a *ndarray.Array) {
			attrs, err := a.Attrs(bg)
			require.NoError(t, err)
			require.Empty(t, attrs.Unsupported)
			require.Len(t, attrs.List, 20, a.Meta().Format)
			for _, want := range spec.Attrs {
				got, ok := attrs.Get(want.Name)
				require.True(t, ok)
				require.True(t, got.Equal(want.Value), "%s in %s: %v", want.Name, a.Meta().Format, got)
			}
		})
	})
	t.Run("bcolz", func(t *testing.T) {
		dir := t.TempDir()
		spec := ndarray.Spec{Shape: []int64{6, 4}, ChunkShape: []int64{4, 4}, MaxShape: []int64{ndarray.Unlimited, 4}, AxisNames: []string{"time", ""},
			DType: f4, Fill: []byte{1, 2, 3, 4}, Compression: &ndarray.Compression{Codec: "zlib", Level: 3, Filters: []string{"bitshuffle"}}}
		b, err := bcolz.Create(filetest.In(dir, "x"), spec, nil)
		require.NoError(t, err)
		require.NoError(t, b.Close())
		a, err := hyperslab.Open(bg, filetest.In(dir, "x"), nil)
		require.NoError(t, err)
		got := a.Meta().Spec()
		require.Equal(t, spec, got)
		require.Equal(t, "bcolz", a.Meta().Format)
		require.NoError(t, a.Close())
		for what, edit := range map[string]func(*ndarray.Spec){
			"no scalars":          func(s *ndarray.Spec) { *s = ndarray.Spec{DType: f4} },
			"no null arrays":      func(s *ndarray.Spec) { *s = ndarray.Spec{DType: f4, Null: true} },
			"no blocks":           func(s *ndarray.Spec) { s.BlockShape = []int64{2, 2} },
			"the first axis only": func(s *ndarray.Spec) { s.MaxShape = []int64{6, 5} },
			"rows whole":          func(s *ndarray.Spec) { s.ChunkShape = []int64{4, 2} },
			"variable length":     func(s *ndarray.Spec) { *s = ndarray.Spec{Shape: []int64{3}, DType: ndarray.Text("").DType} },
			`filter "delta"`:      func(s *ndarray.Spec) { s.Compression.Filters = []string{"delta"} },
			"machine-independent nam": func(s *ndarray.Spec) {
				*s = ndarray.Spec{Shape: []int64{3}, DType: ndarray.DType{Kind: ndarray.Float, Size: 16, Order: ndarray.Little}}
			},
		} {
			s := spec
			c := *spec.Compression
			s.Compression = &c
			edit(&s)
			err := bcolz.Check(s)
			require.ErrorIs(t, err, errors.ErrUnsupported, what)
			require.ErrorContains(t, err, what)
		}
	})
	t.Run("Caterva cannot", func(t *testing.T) {
		file := filetest.In(t.TempDir(), "c.b2nd")
		for what, edit := range map[string]func(*ndarray.Spec){
			"null arrays":     func(s *ndarray.Spec) { *s = ndarray.Spec{DType: f4, Null: true} },
			"a maximum shape": func(s *ndarray.Spec) { s.MaxShape = []int64{9, 9} },
			"dimension names": func(s *ndarray.Spec) { s.AxisNames = []string{"x", "y"} },
			"a fill value":    func(s *ndarray.Spec) { s.Fill = []byte{1, 0, 0, 0} },
		} {
			s := chunked
			edit(&s)
			_, err := hyperslab.Create(bg, file, s, &hyperslab.CreateOptions{Format: hyperslab.Caterva})
			require.ErrorIs(t, err, errors.ErrUnsupported, what)
			require.ErrorContains(t, err, what)
			require.NoFileExists(t, file)
		}
		s := chunked
		s.BlockShape, s.Attrs = []int64{2, 3}, []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}}
		d, err := hyperslab.Create(bg, file, s, &hyperslab.CreateOptions{Format: hyperslab.Caterva})
		require.NoError(t, err)
		require.NoError(t, d.Commit(bg))
		a, err := hyperslab.Open(bg, file, &hyperslab.OpenOptions{DType: new(f4)})
		require.NoError(t, err)
		m := a.Meta()
		require.Equal(t, []any{"caterva", s.Shape, s.ChunkShape, s.BlockShape, f4}, []any{m.Format, m.Shape, m.ChunkShape, m.BlockShape, m.DType})
		require.NoError(t, a.Close())
	})
	t.Run("Caterva", func(t *testing.T) {
		b, err := b2nd.Open(catervaFile(t), nil)
		require.NoError(t, err)
		m := b.Meta()
		require.Equal(t, "caterva", m.Format)
		require.Equal(t, ndarray.Void, m.DType.Kind, "opaque by default")
		require.NotEmpty(t, m.ChunkShape)
		require.NotEmpty(t, m.BlockShape)
		require.False(t, m.Null)
		require.Nil(t, m.MaxShape)
		require.Nil(t, m.AxisNames)
		require.Nil(t, m.Fill)
		require.NoError(t, b.Close())
	})
}

// TestExtremeShapes checks shapes at the limits: the maximum number of dimensions, prime lengths,
// and more elements than fit into memory.
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
		filetest.Save(t, filetest.In(dir, c.location), c.spec, nil)
		filetest.RequireCount(t, filetest.In(dir, c.location))
	}
	dir := testenv.Scratch(t)
	big := ndarray.Spec{Shape: []int64{1_000_000_007}, ChunkShape: []int64{1 << 20}, DType: d}
	for _, s := range storages() {
		if s.name == "mem" { // it would allocate 4 GB
			continue
		}
		a := s.put(t, filepath.Join(dir, s.name), big, func(a *ndarray.Array) {
			require.NoError(t, ndarray.Put(bg, a, []int32{1, 2}, ndarray.Points([]int64{-1}, []int64{500_000_000})), s.name)
		})
		got, err := ndarray.Take[int32](bg, a, ndarray.Select(ndarray.List(-1, 0, 500_000_000)))
		require.NoError(t, err, s.name)
		require.Equal(t, []int32{1, 0, 2}, got, s.name)
		stored, err := a.Storage(bg)
		require.NoError(t, err, s.name)
		require.Less(t, stored.StoredBytes, int64(20<<20), s.name)
		require.NoError(t, a.Close())
	}
	for _, s := range storages() {
		prime := ndarray.Spec{Shape: []int64{101, 103}, ChunkShape: []int64{13, 7}, DType: d}
		empty := ndarray.Spec{Shape: []int64{0, 3}, DType: d}
		high := ndarray.Spec{Shape: slices.Repeat([]int64{1}, 8), DType: d}
		if s.name == "bcolz" {
			prime.ChunkShape[1] = 103
		}
		for i, spec := range []ndarray.Spec{prime, empty, high} {
			a := s.put(t, filepath.Join(dir, fmt.Sprint(s.name, i)), spec, func(a *ndarray.Array) {
				require.NoError(t, ndarray.Write(bg, a, filetest.Count(a.NumElems()), ndarray.Whole(a.Shape())))
			})
			all, err := ndarray.ReadAll[int32](bg, a)
			require.NoError(t, err)
			require.Equal(t, filetest.Count(a.NumElems()), all, s.name)
			require.NoError(t, a.Close())
		}
		for _, shape := range [][]int64{{math.MaxInt64}, {1 << 32, 1 << 31}, {1 << 62, 4, 0}} {
			_, err := s.create(filepath.Join(dir, "o"), ndarray.Spec{Shape: shape, DType: d})
			require.ErrorIs(t, err, ndarray.ErrShape, "%v in %s", shape, s.name)
			require.NoFileExists(t, filepath.Join(dir, "o"))
		}
	}
	// Each format must support its maximum rank and refuse one dimension more.
	for name, most := range map[string]int{"mem": 32, "b2nd": 16, "sparse": 16, "caterva": 8, "hdf5": 32, "bcolz": 32} {
		s := storages()[slices.IndexFunc(storages(), func(s storage) bool { return s.name == name })]
		spec := ndarray.Spec{Shape: append([]int64{3}, slices.Repeat([]int64{1}, most-1)...), DType: d}
		a := s.put(t, filepath.Join(dir, name+"rank"), spec, func(a *ndarray.Array) {
			require.NoError(t, ndarray.Write(bg, a, filetest.Count(3), ndarray.Whole(a.Shape())))
		})
		all, err := ndarray.ReadAll[int32](bg, a)
		require.NoError(t, err)
		require.Equal(t, filetest.Count(3), all, name)
		require.NoError(t, a.Close())
		spec.Shape = append(spec.Shape, 1)
		_, err = s.create(filepath.Join(dir, name+"rank1"), spec)
		want := ndarray.ErrShape // the maximum rank of ndarray
		if most < grid.MaxRank {
			want = errors.ErrUnsupported // the maximum rank of the format
		}
		require.ErrorIs(t, err, want, name)
	}
}

// TestPlainFrames checks that a frame without array metadata opens as an array of one dimension.
// Its dtype is the option DType, or opaque bytes without that option.
func TestPlainFrames(t *testing.T) {
	dir := t.TempDir()
	for i, contiguous := range []bool{true, false} {
		file := filetest.In(dir, fmt.Sprint(i))
		p := cblosc.DefaultCParams()
		p.TypeSize = 4
		s, err := cblosc.CreateSChunk(cblosc.Storage{Path: file, Contiguous: contiguous, CParams: p})
		require.NoError(t, err)
		for _, x := range []byte{1, 2} {
			require.NoError(t, s.AppendBuffer(bytes.Repeat([]byte{x, 0, 0, 0}, 10)))
		}
		require.NoError(t, s.Close())
		a, err := hyperslab.Open(bg, file, &hyperslab.OpenOptions{DType: new(ndarray.DTypeOf[int32]())})
		require.NoError(t, err)
		values, err := ndarray.ReadAll[int32](bg, a)
		require.NoError(t, err)
		require.Equal(t, append(slices.Repeat([]int32{1}, 10), slices.Repeat([]int32{2}, 10)...), values)
		require.NoError(t, a.Close())
		n := 0
		for e, err := range hyperslab.Walk(bg, file, nil) {
			require.NoError(t, errors.Join(err, e.Err))
			require.Equal(t, []any{hyperslab.Array, "|V4", "frame", []int64{20}}, []any{e.Kind, e.Type, e.Meta.Format, e.Meta.Shape})
			n++
		}
		require.Equal(t, 1, n)
		_, err = hyperslab.Open(bg, file, &hyperslab.OpenOptions{Write: true})
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
}

// catervaFile writes a Caterva array without a dtype, with five metadata fields as in Caterva's own
// files.
func catervaFile(t *testing.T) string {
	t.Helper()
	file := filetest.In(t.TempDir(), "caterva.b2frame")
	p := cblosc.DefaultCParams()
	p.TypeSize = 4
	a, err := caterva.Create(&cblosc.ArrayParams{Shape: []int64{5}, ChunkShape: []int32{4}, Blocks: []int32{2},
		Storage: cblosc.Storage{Path: file, Contiguous: true, CParams: p}})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	return file
}
