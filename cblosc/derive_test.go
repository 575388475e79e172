package cblosc_test

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// matrix returns an array of 4-byte elements and its data.
func matrix(t testing.TB, p cblosc.ArrayParams) (*cblosc.Array, []byte) {
	t.Helper()
	if p.Storage.CParams == nil {
		p.Storage.CParams = cparams(4)
	}
	data := testutil.Ramp(int(count(p.Shape))*p.Storage.CParams.TypeSize, 1)
	a, err := cblosc.CreateArrayFrom(&p, data)
	require.NoError(t, err)
	return a, data
}

func requireData(t testing.TB, want []byte, a *cblosc.Array) {
	t.Helper()
	got := make([]byte, len(want))
	require.NoError(t, a.ReadAll(got))
	require.Equal(t, want, got)
}

func TestCreateArray_Values(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		for kind, value := range map[cblosc.Special][]byte{cblosc.Zeros: {0, 0, 0, 0}, cblosc.NaNs: {0, 0, 0xC0, 0x7F}, cblosc.Repeated: {1, 2, 3, 4}, cblosc.Uninit: nil} {
			t.Run(name+" "+kind.String(), func(t *testing.T) {
				p := cblosc.ArrayParams{Shape: []int64{5, 7}, ChunkShape: []int32{3, 4}, Blocks: []int32{2, 3}, DType: "<f4", Storage: st,
					Meta: []cblosc.Metalayer{{Name: "note", Content: []byte("x")}}}
				if st.Path != "" {
					p.Storage.Path += kind.String()
				}
				given := value
				if kind != cblosc.Repeated {
					given = nil
				}
				a, err := cblosc.CreateArrayOf(&p, kind, given)
				require.NoError(t, err)
				defer func() { require.NoError(t, a.Close()) }()
				if value != nil {
					requireData(t, bytes.Repeat(value, 35), a)
				}
				names, err := a.SChunk().Meta().Names()
				require.NoError(t, err)
				require.Equal(t, []string{"b2nd", "note"}, names)
				require.NoError(t, a.WriteRegion(testutil.Ramp(24, 1), []int64{1, 2}, []int64{2, 3}))
				b, err := a.Bytes()
				require.NoError(t, err)
				again, err := cblosc.OpenArrayBytes(b)
				require.NoError(t, err)
				got := make([]byte, 24)
				require.NoError(t, again.ReadRegion(got, []int64{1, 2}, []int64{2, 3}))
				require.Equal(t, testutil.Ramp(24, 1), got)
				require.NoError(t, again.Close())
			})
		}
	}
	p := &cblosc.ArrayParams{Storage: cblosc.Storage{CParams: cparams(2)}}
	for _, tt := range []struct {
		kind  cblosc.Special
		value []byte
		want  error
	}{{cblosc.Repeated, nil, cblosc.ErrSize}, {cblosc.Repeated, []byte{1}, cblosc.ErrSize}, {cblosc.Zeros, []byte{0, 0}, cblosc.ErrSize},
		{cblosc.NaNs, nil, cblosc.ErrParam}, {cblosc.NotSpecial, nil, cblosc.ErrParam}, {99, nil, cblosc.ErrParam}} {
		_, err := cblosc.CreateArrayOf(p, tt.kind, tt.value)
		require.ErrorIs(t, err, tt.want, "%v", tt.kind)
	}
}

func TestCreateArrayFrom_invalidArguments(t *testing.T) {
	p := &cblosc.ArrayParams{Shape: []int64{3}, ChunkShape: []int32{3}, Blocks: []int32{1}, Storage: cblosc.Storage{CParams: cparams(4)}}
	for _, n := range []int{0, 11, 13} {
		_, err := cblosc.CreateArrayFrom(p, make([]byte, n))
		require.ErrorIs(t, err, cblosc.ErrSize)
	}
	p.Shape[0] = 1 << 40
	p.ChunkShape[0] = 1 << 28
	_, err := cblosc.CreateArrayFrom(p, nil)
	require.ErrorIs(t, err, cblosc.ErrSize)
	p.Shape[0] = -1
	_, err = cblosc.CreateArrayFrom(p, nil)
	require.ErrorIs(t, err, cblosc.ErrParam)
}

// TestCreateArray_dtype checks that a dtype is stored as given.
func TestCreateArray_dtype(t *testing.T) {
	for _, dtype := range []string{"<f8", "float64", "[('a', '<i4'), ('b', '<f8', (2, 3))]", "{'names': ['a'], 'formats': ['<i4'], 'itemsize': 8}", "[[[[", "not a dtype"} {
		a, err := cblosc.CreateArray(&cblosc.ArrayParams{DType: dtype, Storage: cblosc.Storage{CParams: cparams(5)}})
		require.NoError(t, err)
		require.Equal(t, dtype, a.DType())
		require.NoError(t, a.Close())
	}
	_, err := cblosc.CreateArray(&cblosc.ArrayParams{DType: "a\x00b"})
	require.ErrorIs(t, err, cblosc.ErrParam)
}

// catervaArray returns a Caterva array of 4-byte elements and its data.
func catervaArray(t testing.TB, p cblosc.ArrayParams) (*cblosc.Array, []byte) {
	t.Helper()
	if p.Storage.CParams == nil {
		p.Storage.CParams = cparams(4)
	}
	data := testutil.Ramp(int(count(p.Shape))*p.Storage.CParams.TypeSize, 1)
	a, err := caterva.Create(&p)
	require.NoError(t, err)
	require.NoError(t, a.WriteRegion(data, make([]int64, len(p.Shape)), p.Shape))
	return a, data
}

// TestCaterva checks that C-Blosc2 and package format read arrays written as Caterva as Caterva.
func TestCaterva(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		t.Run(name, func(t *testing.T) {
			a, data := catervaArray(t, cblosc.ArrayParams{Shape: []int64{7, 6}, ChunkShape: []int32{4, 4}, Blocks: []int32{2, 3}, Storage: st,
				Meta: []cblosc.Metalayer{{Name: "note", Content: []byte("x")}}})
			defer func() { require.NoError(t, a.Close()) }()
			requireData(t, data, a)
			require.Empty(t, a.DType())
			b, err := a.Bytes()
			require.NoError(t, err)
			again, err := cblosc.OpenArrayBytes(b)
			require.NoError(t, err)
			defer func() { require.NoError(t, again.Close()) }()
			requireData(t, data, again)
			require.Equal(t, []int64{7, 6}, again.Shape())
			meta, err := again.SChunk().Meta().Map()
			require.NoError(t, err)
			require.Len(t, meta, 2)
			m, err := b2ndmeta.Parse(b2ndmeta.CatervaName, meta[b2ndmeta.CatervaName])
			require.NoError(t, err)
			require.True(t, m.Caterva)
			require.Equal(t, []int32{4, 4}, m.Chunks)
			require.ErrorIs(t, again.Resize([]int64{1, 1}), errors.ErrUnsupported)
			require.ErrorIs(t, again.Append(0, make([]byte, 24)), errors.ErrUnsupported)
			require.ErrorIs(t, again.Delete(0, 0, 1), errors.ErrUnsupported)
			require.Contains(t, again.String(), "Caterva array [7 6] in chunks [4 4] of blocks [2 3], 4 bytes an element")

			_, err = again.Copy(cblosc.Layout{})
			require.ErrorIs(t, err, errors.ErrUnsupported)
			_, err = again.ExpandDims([]int{0}, cblosc.Layout{})
			require.ErrorIs(t, err, errors.ErrUnsupported)
			_, err = cblosc.Concatenate(0, []*cblosc.Array{again, again}, cblosc.Layout{})
			require.ErrorIs(t, err, errors.ErrUnsupported)
			path := filepath.Join(t.TempDir(), "x")
			require.NoError(t, again.Save(path))
			saved, err := cblosc.OpenArray(path)
			require.NoError(t, err)
			defer func() { require.NoError(t, saved.Close()) }()
			requireData(t, data, saved)
			require.Empty(t, saved.DType())
			part, err := again.Slice([]int64{1, 2}, []int64{6, 3}, cblosc.Layout{})
			require.NoError(t, err)
			defer func() { require.NoError(t, part.Close()) }()
			want := make([]byte, 6*3*4)
			require.NoError(t, again.ReadRegion(want, []int64{1, 2}, []int64{6, 3}))
			requireData(t, want, part)
			require.Equal(t, "|S4", part.DType())
		})
	}
	scalar, data := catervaArray(t, cblosc.ArrayParams{})
	requireData(t, data, scalar)
	require.NoError(t, scalar.Close())
	empty, err := caterva.Create(&cblosc.ArrayParams{Shape: []int64{0, 4}, ChunkShape: []int32{2, 2}, Blocks: []int32{1, 1}, Storage: cblosc.Storage{Contiguous: true}})
	require.NoError(t, err)
	b, err := empty.Bytes()
	require.NoError(t, err)
	require.NoError(t, empty.Close())
	empty, err = cblosc.OpenArrayBytes(b)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 4}, empty.Shape())
	require.NoError(t, empty.Close())
}

// TestArray_copyAndSave checks that a copy has the same elements and metalayers for all storages
// and chunk shapes.
func TestArray_copyAndSave(t *testing.T) {
	for from, st := range storages(t, cparams(4)) {
		a, data := matrix(t, cblosc.ArrayParams{Shape: []int64{7, 6}, ChunkShape: []int32{4, 4}, Blocks: []int32{2, 3}, DType: "<f4", Storage: st,
			Meta: []cblosc.Metalayer{{Name: "note", Content: []byte("fixed")}}})
		require.NoError(t, a.SChunk().VLMeta().Add("vl", []byte("variable")))
		zstd := cparams(4)
		zstd.Codec = cblosc.Zstd
		for _, l := range []cblosc.Layout{{}, {ChunkShape: []int32{3, 3}}, {Blocks: []int32{4, 4}}, {Storage: cblosc.Storage{CParams: zstd}}} {
			for to, target := range storages(t, l.Storage.CParams) {
				l.Storage = target
				if l.ChunkShape != nil {
					l.Blocks = []int32{3, 1}
				}
				b, err := a.Copy(l)
				require.NoError(t, err, "%s to %s", from, to)
				requireData(t, data, b)
				require.Equal(t, "<f4", b.DType())
				for _, m := range [][2]*cblosc.Metalayers{{a.SChunk().Meta(), b.SChunk().Meta()}, {a.SChunk().VLMeta(), b.SChunk().VLMeta()}} {
					want, err := m[0].Map()
					require.NoError(t, err)
					got, err := m[1].Map()
					require.NoError(t, err)
					delete(want, "b2nd")
					require.Contains(t, got, map[bool]string{true: "note", false: "vl"}[len(want) > 0 && want["note"] != nil])
					delete(got, "b2nd")
					require.Equal(t, want, got)
				}
				require.NoError(t, b.Append(0, make([]byte, 24)), "a copy can be changed")
				require.NoError(t, b.Close())
			}
		}
		path := filepath.Join(t.TempDir(), "x")
		require.NoError(t, a.Save(path))
		require.ErrorIs(t, a.Save(path), cblosc.ErrExists)
		require.ErrorIs(t, a.Save(""), cblosc.ErrParam)
		b, err := cblosc.OpenArray(path)
		require.NoError(t, err)
		requireData(t, data, b)
		require.NoError(t, b.Close())
		offset, err := a.SChunk().AppendToFile(path)
		require.NoError(t, err)
		for _, o := range []cblosc.OpenOptions{{Offset: offset}, {Offset: offset, Map: cblosc.MapRead}} {
			b, err = cblosc.OpenArrayWith(path, o)
			require.NoError(t, err)
			requireData(t, data, b)
			require.ErrorIs(t, b.Append(0, make([]byte, 24)), cblosc.ErrReadOnly)
			require.ErrorIs(t, b.WriteOrthogonal(nil, nil), cblosc.ErrReadOnly)
			require.ErrorIs(t, b.WritePoints(nil, nil), cblosc.ErrReadOnly)
			require.ErrorIs(t, b.Delete(0, 0, 1), cblosc.ErrReadOnly)
			require.NoError(t, b.Close())
		}
		_, err = a.Copy(cblosc.Layout{Storage: cblosc.Storage{CParams: cparams(2)}})
		require.ErrorIs(t, err, cblosc.ErrParam)
		_, err = a.Copy(cblosc.Layout{ChunkShape: []int32{1}})
		require.ErrorIs(t, err, cblosc.ErrParam)
		_, err = a.Copy(cblosc.Layout{Storage: cblosc.Storage{Path: path}})
		require.ErrorIs(t, err, cblosc.ErrExists)
		_, err = a.Slice([]int64{0}, []int64{1, 1}, cblosc.Layout{})
		require.ErrorIs(t, err, cblosc.ErrRegion)
		_, err = a.Slice([]int64{5, 5}, []int64{3, 1}, cblosc.Layout{})
		require.ErrorIs(t, err, cblosc.ErrRegion)
		require.NoError(t, a.Close())
		_, err = a.Copy(cblosc.Layout{})
		require.ErrorIs(t, err, cblosc.ErrClosed)
		require.ErrorIs(t, a.Save(path+"2"), cblosc.ErrClosed)
	}
}

func TestSaveLargeElements(t *testing.T) {
	p := cblosc.ArrayParams{Shape: []int64{5}, ChunkShape: []int32{2}, Blocks: []int32{1}, Storage: cblosc.Storage{CParams: cparams(300), Contiguous: true}}
	a, data := matrix(t, p)
	closing(t, a)
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, a.Save(path))
	b, err := cblosc.OpenArray(path)
	require.NoError(t, err)
	closing(t, b)
	require.Equal(t, 300, b.ItemSize())
	requireData(t, data, b)
}

func TestArray_SqueezeExpand(t *testing.T) {
	// C-Blosc2 handles chunks that are longer than a dropped dimension incorrectly.
	long, _ := matrix(t, cblosc.ArrayParams{Shape: []int64{1, 5, 1, 3}, ChunkShape: []int32{4, 3, 1, 2}, Blocks: []int32{2, 2, 1, 2}, DType: "<i4"})
	closing(t, long)
	for _, drop := range [][]int{nil, {0}} {
		_, err := long.Squeeze(drop, cblosc.Layout{})
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
	a, data := matrix(t, cblosc.ArrayParams{Shape: []int64{1, 5, 1, 3}, ChunkShape: []int32{1, 3, 1, 2}, Blocks: []int32{1, 2, 1, 2}, DType: "<i4"})
	closing(t, a)
	_, err := a.Squeeze(nil, cblosc.Layout{ChunkShape: []int32{2, 2}, Blocks: []int32{1, 1}})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	for _, tt := range []struct {
		drop []int
		want []int64
	}{{nil, []int64{5, 3}}, {[]int{0}, []int64{5, 1, 3}}, {[]int{2}, []int64{1, 5, 3}}, {[]int{}, []int64{1, 5, 1, 3}}} {
		b, err := a.Squeeze(tt.drop, cblosc.Layout{})
		require.NoError(t, err)
		require.Equal(t, tt.want, b.Shape())
		require.Equal(t, "<i4", b.DType())
		requireData(t, data, b)
		require.NoError(t, b.Close())
	}
	for _, drop := range [][]int{{1}, {4}, {-1}} {
		_, err := a.Squeeze(drop, cblosc.Layout{})
		require.ErrorIs(t, err, cblosc.ErrParam)
	}
	for _, tt := range []struct {
		axes []int
		want []int64
	}{{[]int{0}, []int64{1, 1, 5, 1, 3}}, {[]int{4}, []int64{1, 5, 1, 3, 1}}, {[]int{0, 1, 3, 7}, []int64{1, 1, 1, 1, 5, 1, 3, 1}}, {nil, []int64{1, 5, 1, 3}}} {
		b, err := a.ExpandDims(tt.axes, cblosc.Layout{})
		require.NoError(t, err)
		require.Equal(t, tt.want, b.Shape())
		requireData(t, data, b)
		require.NoError(t, b.Close())
	}
	for _, axes := range [][]int{{-1}, {5}, {1, 0}, {1, 1}} {
		_, err := a.ExpandDims(axes, cblosc.Layout{})
		require.ErrorIs(t, err, cblosc.ErrParam, "%v", axes)
	}
	axes := make([]int, cblosc.MaxDim)
	for i := range axes {
		axes[i] = i
	}
	_, err = a.ExpandDims(axes, cblosc.Layout{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	one, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{1}, ChunkShape: []int32{1}, Blocks: []int32{1}}, []byte("12345678"))
	require.NoError(t, err)
	closing(t, one)
	_, err = one.Squeeze(nil, cblosc.Layout{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	scalar, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{}, []byte("12345678"))
	require.NoError(t, err)
	closing(t, scalar)
	_, err = scalar.ExpandDims([]int{0}, cblosc.Layout{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = scalar.Slice(nil, nil, cblosc.Layout{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	again, err := scalar.Copy(cblosc.Layout{})
	require.NoError(t, err)
	closing(t, again)
	requireData(t, []byte("12345678"), again)
}

// TestArray_sharedChunks checks operations that keep chunks unchanged. C-Blosc2 performs them, and
// another reader must read its output correctly from every storage.
func TestArray_sharedChunks(t *testing.T) {
	a, data := matrix(t, cblosc.ArrayParams{Shape: []int64{1, 50, 1, 7}, ChunkShape: []int32{1, 20, 1, 4}, Blocks: []int32{1, 10, 1, 3}, DType: "<i4"})
	closing(t, a)
	for name, st := range storages(t, nil) {
		for _, drop := range [][]int{nil, {0}, {0, 2}} {
			if st.Path != "" {
				st.Path += "x"
			}
			b, err := a.Squeeze(drop, cblosc.Layout{Storage: st})
			require.NoError(t, err, name)
			if drop == nil {
				require.Equal(t, []int64{50, 7}, b.Shape())
				require.Equal(t, []int32{20, 4}, b.ChunkShape())
			}
			requireSound(t, data, b)
			if st.Path != "" {
				st.Path += "y"
			}
			c, err := b.ExpandDims([]int{0, 2}, cblosc.Layout{Storage: st})
			require.NoError(t, err, name)
			requireSound(t, data, c)
			x, err := a.SChunk().Chunk(3)
			require.NoError(t, err)
			y, err := b.SChunk().Chunk(3)
			require.NoError(t, err)
			require.Equal(t, x, y, "the chunk as it is")
			require.NoError(t, b.Close())
			require.NoError(t, c.Close())
		}
	}
	p := cparams(4)
	p.Codec = cblosc.Zstd
	b, err := a.Squeeze(nil, cblosc.Layout{Storage: cblosc.Storage{CParams: p}})
	require.NoError(t, err)
	requireSound(t, data, b)
	closing(t, b)
	require.NoError(t, a.WriteRegion(make([]byte, 4), []int64{0, 0, 0, 0}, []int64{1, 1, 1, 1}))
	requireData(t, data, b) // b must not be a view
	require.NoError(t, a.WriteRegion(data[:4], []int64{0, 0, 0, 0}, []int64{1, 1, 1, 1}))
	requireData(t, data, a)
	both, err := cblosc.Concatenate(0, []*cblosc.Array{b, b, b}, cblosc.Layout{})
	require.NoError(t, err)
	requireSound(t, slices.Concat(data, data, data), both)
	require.NoError(t, both.Close())
}

// requireSound checks the data of an array and that package format accepts its frame.
func requireSound(t *testing.T, want []byte, a *cblosc.Array) {
	t.Helper()
	requireData(t, want, a)
	b, err := a.Bytes()
	require.NoError(t, err)
	f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	require.NoError(t, f.Check())
	m, ok, err := f.Array()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, a.Shape(), m.Shape)
	again, err := cblosc.OpenArrayBytes(b)
	require.NoError(t, err)
	requireData(t, want, again)
	require.NoError(t, again.Close())
}

// TestConcatenateModel compares the concatenation of random arrays with a model.
func TestConcatenateModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 3).Draw(t, "rank")
		axis := rapid.IntRange(0, rank-1).Draw(t, "axis")
		draw := func(lo, hi int, name string) []int64 {
			out := make([]int64, rank)
			for i := range out {
				out[i] = int64(rapid.IntRange(lo, hi).Draw(t, name))
			}
			return out
		}
		shape := draw(1, 9, "shape")
		var arrays []*cblosc.Array
		var datas [][]byte
		var total int64
		simple := true
		for i := range rapid.IntRange(1, 3).Draw(t, "arrays") {
			own := slices.Clone(shape)
			own[axis] = int64(rapid.IntRange(0, 9).Draw(t, "length"))
			total += own[axis]
			chunks, blocks := make([]int32, rank), make([]int32, rank)
			for j, n := range draw(1, 5, "chunk") {
				chunks[j], blocks[j] = int32(n), int32(n)
			}
			blocks[0] = (chunks[0] + 1) / 2
			if i > 0 && rapid.IntRange(0, 3).Draw(t, "other chunks") > 0 {
				chunks, blocks = arrays[0].ChunkShape(), arrays[0].Blocks()
			}
			p := cparams(2)
			if rapid.IntRange(0, 5).Draw(t, "delta") == 5 {
				p.Filters = [cblosc.MaxFilters]cblosc.Filter{{ID: cblosc.Delta}}
				simple = false
			}
			simple = simple && own[axis] > 0 && (i == 0 || slices.Equal(chunks, arrays[0].ChunkShape()) && slices.Equal(blocks, arrays[0].Blocks()))
			data := testutil.Ramp(int(count(own))*2, uint64(i))
			a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: own, ChunkShape: chunks, Blocks: blocks, Storage: cblosc.Storage{CParams: p, Contiguous: i == 0},
				Meta: []cblosc.Metalayer{{Name: "own", Content: []byte{byte(i)}}}}, data)
			require.NoError(t, err)
			arrays, datas = append(arrays, a), append(datas, data)
		}
		var want []byte
		rows := count(shape[:axis])
		for row := range int(rows) {
			for _, data := range datas {
				n := len(data) / int(rows)
				want = append(want, data[row*n:][:n]...)
			}
		}
		d, err := cblosc.Concatenate(axis, arrays, cblosc.Layout{})
		if !simple {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			for _, a := range arrays {
				require.NoError(t, a.Close())
			}
			return
		}
		require.NoError(t, err)
		shape[axis] = total
		require.Equal(t, shape, d.Shape())
		got := make([]byte, len(want))
		require.NoError(t, d.ReadRegion(got, make([]int64, rank), shape))
		require.True(t, bytes.Equal(want, got))
		meta, err := d.SChunk().Meta().Get("own")
		require.NoError(t, err)
		require.Equal(t, []byte{0}, meta)
		for _, a := range append(arrays, d) {
			require.NoError(t, a.Close())
		}
	})
}

func TestConcatenate(t *testing.T) {
	p := cblosc.ArrayParams{Shape: []int64{3, 4}, ChunkShape: []int32{2, 3}, Blocks: []int32{2, 2}, DType: "<i4"}
	a, x := matrix(t, p)
	closing(t, a)
	b, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{3, 4}, ChunkShape: []int32{2, 3}, Blocks: []int32{2, 2}, DType: "<i4", Storage: cblosc.Storage{CParams: cparams(4)}}, testutil.Ramp(48, 7))
	require.NoError(t, err)
	closing(t, b)
	coarse, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{3, 4}, ChunkShape: []int32{3, 4}, Blocks: []int32{1, 4}, DType: "<i4", Storage: cblosc.Storage{CParams: cparams(4)}}, testutil.Ramp(48, 7))
	require.NoError(t, err)
	closing(t, coarse)
	_, err = cblosc.Concatenate(0, []*cblosc.Array{a, coarse}, cblosc.Layout{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "chunks [3 4] in blocks [1 4], want [2 3] in [2 2]")
	y := testutil.Ramp(48, 7)
	rows, err := cblosc.Concatenate(0, []*cblosc.Array{a, b, a}, cblosc.Layout{})
	require.NoError(t, err)
	require.Equal(t, []int64{9, 4}, rows.Shape())
	requireData(t, slices.Concat(x, y, x), rows)
	require.NoError(t, rows.Close())
	columns, err := cblosc.Concatenate(1, []*cblosc.Array{a, b}, cblosc.Layout{Storage: cblosc.Storage{Contiguous: true, Path: filepath.Join(t.TempDir(), "x")}})
	require.NoError(t, err)
	require.Equal(t, []int64{3, 8}, columns.Shape())
	var want []byte
	for i := range 3 {
		want = slices.Concat(want, x[16*i:16*i+16], y[16*i:16*i+16])
	}
	requireData(t, want, columns)
	require.NoError(t, columns.Close())

	for _, axis := range []int{-1, 2} {
		_, err = cblosc.Concatenate(axis, []*cblosc.Array{a, b}, cblosc.Layout{})
		require.ErrorIs(t, err, cblosc.ErrParam)
	}
	_, err = cblosc.Concatenate(0, nil, cblosc.Layout{})
	require.ErrorIs(t, err, cblosc.ErrParam)
	other, _ := matrix(t, cblosc.ArrayParams{Shape: []int64{3, 5}, ChunkShape: []int32{2, 3}, Blocks: []int32{2, 2}, DType: "<i4"})
	closing(t, other)
	_, err = cblosc.Concatenate(0, []*cblosc.Array{a, other}, cblosc.Layout{})
	require.ErrorIs(t, err, cblosc.ErrParam)
	require.ErrorContains(t, err, `shape [3 5] of "<i4" after [3 4] of "<i4" in dimension 0`)
}

func TestReshape_invalidArguments(t *testing.T) {
	a, _ := matrix(t, cblosc.ArrayParams{Shape: []int64{4, 6}, ChunkShape: []int32{2, 4}, Blocks: []int32{1, 2}})
	require.ErrorIs(t, a.Append(0, make([]byte, 23)), cblosc.ErrSize)
	require.ErrorContains(t, a.Append(0, make([]byte, 23)), "23 bytes, want a multiple of 24")
	for _, axis := range []int{-1, 2} {
		require.ErrorIs(t, a.Append(axis, nil), cblosc.ErrParam)
		require.ErrorIs(t, a.Delete(axis, 0, 1), cblosc.ErrParam)
	}
	require.ErrorIs(t, a.Insert(0, 1, make([]byte, 48)), cblosc.ErrParam, "inside a chunk")
	require.ErrorIs(t, a.Insert(0, 0, make([]byte, 24)), cblosc.ErrParam, "half a chunk")
	require.ErrorIs(t, a.Insert(0, 5, make([]byte, 48)), cblosc.ErrRegion)
	require.ErrorIs(t, a.Insert(0, -2, make([]byte, 48)), cblosc.ErrRegion)
	require.ErrorIs(t, a.Delete(0, 0, 1), cblosc.ErrParam)
	require.ErrorIs(t, a.Delete(0, 1, 2), cblosc.ErrParam)
	for _, r := range [][2]int64{{-1, 1}, {0, 5}, {5, 0}, {0, -1}, {math.MaxInt64, 1}, {1, math.MaxInt64}} {
		require.ErrorIs(t, a.Delete(0, r[0], r[1]), cblosc.ErrRegion, "%v", r)
	}
	require.Equal(t, []int64{4, 6}, a.Shape())
	require.NoError(t, a.Delete(0, 3, 1), "the far end may be cut anywhere")
	require.NoError(t, a.Close())
	require.ErrorIs(t, a.Append(0, nil), cblosc.ErrClosed)
	require.ErrorIs(t, a.Delete(0, 0, 0), cblosc.ErrClosed)
}

// TestSelection_delta checks elements outside the first block of a chunk that uses the filter
// Delta.
func TestSelection_delta(t *testing.T) {
	p := &cblosc.ArrayParams{DType: "|u1", Shape: []int64{64, 64}, ChunkShape: []int32{64, 64}, Blocks: []int32{16, 64}}
	p.Storage = cblosc.Storage{CParams: cparams(1)}
	p.Storage.CParams.Filters = [cblosc.MaxFilters]cblosc.Filter{{ID: cblosc.Delta}}
	a, err := cblosc.CreateArray(p)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	// (not noise, because chunks that do not compress are stored without a filter)
	model := &plain{p.Shape, 1, testutil.Ramp(4096, 1)}
	require.NoError(t, a.WriteRegion(model.data, []int64{0, 0}, p.Shape))

	lists := [][]int64{{17, 35, 63}, {0, 13, 63}}
	got := make([]byte, 9)
	require.NoError(t, a.ReadOrthogonal(got, lists))
	require.Equal(t, model.pick(lists), got)

	values := testutil.Noise(9, 2)
	require.NoError(t, a.WriteOrthogonal(values, lists))
	model.put(values, lists)
	all := make([]byte, 4096)
	require.NoError(t, a.ReadRegion(all, []int64{0, 0}, p.Shape))
	require.Equal(t, model.data, all)
}

func TestSelection_invalidArguments(t *testing.T) {
	a, _ := matrix(t, cblosc.ArrayParams{Shape: []int64{4, 6}, ChunkShape: []int32{2, 4}, Blocks: []int32{1, 2}})
	for _, f := range []func([]byte, [][]int64) error{a.ReadOrthogonal, a.WriteOrthogonal} {
		for _, at := range []int64{-1, 4, math.MaxInt64, math.MinInt64} {
			require.ErrorIs(t, f(make([]byte, 4), [][]int64{{at}, {0}}), cblosc.ErrRegion, "%d", at)
		}
		require.ErrorIs(t, f(make([]byte, 4), [][]int64{{0}}), cblosc.ErrRegion)
		require.ErrorIs(t, f(make([]byte, 7), [][]int64{{0, 1}, {0}}), cblosc.ErrSize)
		require.ErrorContains(t, f(make([]byte, 7), [][]int64{{0, 1}, {0}}), "7 bytes, selection of 2 elements of 4")
		require.ErrorIs(t, f(make([]byte, 4), [][]int64{{}, {0}}), cblosc.ErrSize)
		require.NoError(t, f(nil, [][]int64{{}, {0}}))
	}
	for _, f := range []func([]byte, []int64) error{a.ReadPoints, a.WritePoints} {
		require.ErrorIs(t, f(make([]byte, 4), []int64{0}), cblosc.ErrParam)
		require.ErrorIs(t, f(make([]byte, 4), []int64{0, 6}), cblosc.ErrRegion)
		require.ErrorIs(t, f(make([]byte, 4), []int64{-1, 0}), cblosc.ErrRegion)
		require.ErrorIs(t, f(make([]byte, 5), []int64{0, 0}), cblosc.ErrSize)
		require.NoError(t, f(nil, nil))
	}
	for _, f := range []func([]byte, []int64, []int64, []int64) error{a.ReadSteps, a.WriteSteps} {
		one := []int64{1, 1}
		require.ErrorIs(t, f(make([]byte, 4), []int64{0, 0}, one, []int64{0, 1}), cblosc.ErrParam)
		require.ErrorIs(t, f(make([]byte, 4), []int64{0}, one, one), cblosc.ErrRegion)
		for _, r := range [][3]int64{{4, 1, 1}, {-1, 1, 1}, {0, 5, 1}, {0, 3, 2}, {3, 3, -2}, {0, -1, 1}, {0, 2, math.MaxInt64}, {3, 2, math.MinInt64}, {0, math.MaxInt64, 1}} {
			require.ErrorIs(t, f(make([]byte, 4), []int64{r[0], 0}, []int64{r[1], 1}, []int64{r[2], 1}), cblosc.ErrRegion, "%v", r)
		}
		require.ErrorIs(t, f(make([]byte, 5), []int64{0, 0}, one, one), cblosc.ErrSize)
	}
	require.ErrorIs(t, a.ReadAll(make([]byte, 95)), cblosc.ErrSize)
	_, err := a.ChunksOf([]int64{0, 0}, []int64{5, 1})
	require.ErrorIs(t, err, cblosc.ErrRegion)
	for _, i := range []int64{-1, 4} {
		_, err = a.ChunkIndex(i)
		require.ErrorIs(t, err, cblosc.ErrRegion)
	}
	for _, at := range [][]int64{{0}, {2, 0}, {0, -1}} {
		_, err = a.ChunkNumber(at)
		require.ErrorIs(t, err, cblosc.ErrRegion)
	}
	require.NoError(t, a.Close())
	require.ErrorIs(t, a.ReadOrthogonal(nil, nil), cblosc.ErrClosed)
	require.ErrorIs(t, a.ReadPoints(nil, nil), cblosc.ErrClosed)
	require.ErrorIs(t, a.ReadAll(nil), cblosc.ErrClosed)
}

// TestArrayMeta checks that C-Blosc2 and package format encode the array metalayer to the same
// bytes and decode the same properties.
func TestArrayMeta(t *testing.T) {
	for rank := range cblosc.MaxDim + 1 {
		shape, chunks, blocks := []int64{}, []int32{}, []int32{}
		for i := range rank {
			shape, chunks, blocks = append(shape, int64(5+i)), append(chunks, int32(2+i%2)), append(blocks, int32(1+i%2))
		}
		b, err := cblosc.EncodeArrayMeta(shape, chunks, blocks, "<f8")
		require.NoError(t, err)
		m := b2ndmeta.Meta{Shape: shape, Chunks: chunks, Blocks: blocks, DType: "<f8"}
		require.Equal(t, m.Append(nil), b, "%d dimensions", rank)
		for _, caterva := range []bool{false, true} {
			if caterva && rank > 8 {
				continue // the maximum of Caterva
			}
			want := "<f8"
			if m.Caterva = caterva; caterva {
				m.DType, want = "", ""
			}
			s, c, bl, dtype, err := cblosc.DecodeArrayMeta(m.Append(nil), caterva)
			require.NoError(t, err)
			require.Equal(t, shape, s)
			require.Equal(t, chunks, c)
			require.Equal(t, blocks, bl)
			require.Equal(t, want, dtype)
		}
	}
	_, err := cblosc.EncodeArrayMeta([]int64{1}, nil, nil, "")
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.EncodeArrayMeta(nil, nil, nil, "a\x00b")
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.EncodeArrayMeta(make([]int64, 17), nil, nil, "")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, _, _, _, err = cblosc.DecodeArrayMeta([]byte{0x97, 0, 9}, false)
	require.ErrorIs(t, err, cblosc.ErrFormat)
}

func TestCopyBox(t *testing.T) {
	src := newPlain([]int64{4, 5, 6}, 3)
	copy(src.data, testutil.Ramp(len(src.data), 1))
	dst := newPlain([]int64{3, 7, 6}, 3)
	want := newPlain(dst.shape, 3)
	box := []int64{2, 3, 4}
	want.write(src.read([]int64{1, 2, 0}, box), []int64{1, 0, 2}, box)
	require.NoError(t, cblosc.CopyBox(cblosc.Box{Data: dst.data, Shape: dst.shape, Start: []int64{1, 0, 2}}, cblosc.Box{Data: src.data, Shape: src.shape, Start: []int64{1, 2, 0}}, box, 3))
	require.Equal(t, want.data, dst.data)
	one := func(n int) cblosc.Box { return cblosc.Box{Data: make([]byte, n), Shape: []int64{2}, Start: []int64{0}} }
	require.NoError(t, cblosc.CopyBox(one(2), one(2), []int64{0}, 1))
	require.NoError(t, cblosc.CopyBox(cblosc.Box{Data: make([]byte, 3)}, cblosc.Box{Data: []byte("abc")}, nil, 3))
	require.ErrorIs(t, cblosc.CopyBox(one(2), one(3), []int64{1}, 1), cblosc.ErrSize)
	require.ErrorIs(t, cblosc.CopyBox(one(2), one(2), []int64{3}, 1), cblosc.ErrRegion)
	require.ErrorIs(t, cblosc.CopyBox(one(2), one(2), []int64{1, 1}, 1), cblosc.ErrRegion)
	require.ErrorIs(t, cblosc.CopyBox(one(2), one(2), []int64{1}, 0), cblosc.ErrParam)
	require.ErrorIs(t, cblosc.CopyBox(cblosc.Box{}, cblosc.Box{}, make([]int64, 17), 1), errors.ErrUnsupported)
}
