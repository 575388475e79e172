package cblosc_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// plain is the model of an array: all elements in row-major order.
type plain struct {
	shape []int64
	item  int
	data  []byte
}

func newPlain(shape []int64, item int) *plain {
	return &plain{shape, item, make([]byte, count(shape)*int64(item))}
}

func count(shape []int64) int64 {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	return n
}

// each calls f for every element of a region, with its byte offset in the array and in the region.
func (p *plain) each(start, shape []int64, f func(at, in int)) {
	index := make([]int64, len(shape))
	for in := range count(shape) {
		at := int64(0)
		for i := range index {
			at = at*p.shape[i] + start[i] + index[i]
		}
		f(int(at)*p.item, int(in)*p.item)
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < shape[i] {
				break
			}
			index[i] = 0
		}
	}
}

func (p *plain) read(start, shape []int64) []byte {
	dst := make([]byte, count(shape)*int64(p.item))
	p.each(start, shape, func(at, in int) { copy(dst[in:in+p.item], p.data[at:]) })
	return dst
}

func (p *plain) write(src []byte, start, shape []int64) {
	p.each(start, shape, func(at, in int) { copy(p.data[at:at+p.item], src[in:]) })
}

func (p *plain) resize(shape []int64) {
	q := newPlain(shape, p.item)
	both := slices.Clone(shape)
	for i := range both {
		both[i] = min(both[i], p.shape[i])
	}
	origin := make([]int64, len(shape))
	q.write(p.read(origin, both), origin, both)
	*p = *q
}

// row returns the number of elements in one element of a dimension.
func (p *plain) row(axis int) int64 {
	shape := slices.Clone(p.shape)
	shape[axis] = 1
	return count(shape)
}

func (p *plain) insert(src []byte, axis int, at, n int64) {
	q := newPlain(slices.Clone(p.shape), p.item)
	q.shape[axis] += n
	q = newPlain(q.shape, p.item)
	part, origin := slices.Clone(p.shape), make([]int64, len(p.shape))
	part[axis] = at
	q.write(p.read(origin, part), origin, part)
	from, to := slices.Clone(origin), slices.Clone(origin)
	from[axis], to[axis], part[axis] = at, at+n, p.shape[axis]-at
	q.write(p.read(from, part), to, part)
	part[axis] = n
	q.write(src, from, part)
	*p = *q
}

func (p *plain) delete(axis int, at, n int64) {
	shape := slices.Clone(p.shape)
	shape[axis] -= n
	q := newPlain(shape, p.item)
	part, origin := slices.Clone(shape), make([]int64, len(shape))
	part[axis] = at
	q.write(p.read(origin, part), origin, part)
	from, to := slices.Clone(origin), slices.Clone(origin)
	from[axis], to[axis], part[axis] = at+n, at, shape[axis]-at
	q.write(p.read(from, part), to, part)
	*p = *q
}

// picks calls f for each element that the lists select, with its byte offset in the array and in
// the result.
func (p *plain) picks(lists [][]int64, f func(at, in int)) {
	shape := make([]int64, len(lists))
	for i := range lists {
		shape[i] = int64(len(lists[i]))
	}
	result := &plain{shape: shape, item: p.item}
	result.each(make([]int64, len(shape)), shape, func(in, _ int) {
		at, n, stride := int64(0), int64(in/p.item), int64(1)
		for i := len(shape) - 1; i >= 0; i-- {
			at += lists[i][n%shape[i]] * stride
			n /= shape[i]
			stride *= p.shape[i]
		}
		f(int(at)*p.item, in)
	})
}

func (p *plain) pick(lists [][]int64) []byte {
	n := int64(p.item)
	for _, l := range lists {
		n *= int64(len(l))
	}
	out := make([]byte, n)
	p.picks(lists, func(at, in int) { copy(out[in:in+p.item], p.data[at:]) })
	return out
}

func (p *plain) put(src []byte, lists [][]int64) {
	p.picks(lists, func(at, in int) { copy(p.data[at:at+p.item], src[in:]) })
}

// TestArrayModel checks that any sequence of reads, writes and resizes matches a model, also after
// the array is opened again, and in the bytes of the frame.
func TestArrayModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 4).Draw(t, "rank")
		item := rapid.SampledFrom([]int{1, 2, 3, 8, 300}).Draw(t, "item")
		p := &cblosc.ArrayParams{DType: fmt.Sprintf("|V%d", item)}
		for range rank {
			c := rapid.Int32Range(1, 6).Draw(t, "chunk")
			p.Shape = append(p.Shape, rapid.Int64Range(0, 9).Draw(t, "shape"))
			p.ChunkShape = append(p.ChunkShape, c)
			p.Blocks = append(p.Blocks, rapid.Int32Range(1, c).Draw(t, "block"))
		}
		p.Storage = cblosc.Storage{Contiguous: rapid.Bool().Draw(t, "contiguous"), CParams: cparams(item)}
		p.Storage.CParams.Codec = rapid.SampledFrom(cblosc.Codecs()).Draw(t, "codec")
		delta := rapid.Bool().Draw(t, "delta")
		if delta {
			p.Storage.CParams.Filters = [cblosc.MaxFilters]cblosc.Filter{{ID: cblosc.Delta}}
		}
		if rapid.Bool().Draw(t, "disk") {
			d, err := os.MkdirTemp(dir, "")
			require.NoError(t, err)
			p.Storage.Path = filepath.Join(d, "x.b2nd")
			defer func() { require.NoError(t, os.RemoveAll(d)) }()
		}
		a, err := cblosc.CreateArray(p)
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		model := newPlain(slices.Clone(p.Shape), item)
		check := func(t *rapid.T, a *cblosc.Array) {
			require.Equal(t, len(model.shape), len(a.Shape()))
			require.True(t, slices.Equal(model.shape, a.Shape()))
			require.Equal(t, p.DType, a.DType())
			require.Equal(t, item, a.ItemSize())
			got := make([]byte, len(model.data))
			require.NoError(t, a.ReadRegion(got, make([]int64, rank), model.shape))
			require.Equal(t, model.data, got)
		}
		region := func(t *rapid.T) (start, shape []int64) {
			start, shape = []int64{}, []int64{}
			for _, n := range model.shape {
				s := rapid.Int64Range(0, n).Draw(t, "start")
				start = append(start, s)
				shape = append(shape, rapid.Int64Range(0, n-s).Draw(t, "length"))
			}
			return start, shape
		}
		t.Repeat(map[string]func(*rapid.T){
			"read": func(t *rapid.T) {
				start, shape := region(t)
				want := model.read(start, shape)
				got := bytes.Repeat([]byte{0xEE}, len(want))
				require.NoError(t, a.ReadRegion(got, start, shape))
				require.Equal(t, want, got)
			},
			"write": func(t *rapid.T) {
				start, shape := region(t)
				src := testutil.Noise(int(count(shape))*item, rapid.Uint64Range(0, 99).Draw(t, "seed"))
				require.NoError(t, a.WriteRegion(src, start, shape))
				model.write(src, start, shape)
			},
			"resize": func(t *rapid.T) {
				shape := make([]int64, rank)
				for i := range shape {
					shape[i] = rapid.Int64Range(0, 9).Draw(t, "shape")
				}
				require.NoError(t, a.Resize(shape))
				model.resize(shape)
			},
			"append": func(t *rapid.T) {
				if rank == 0 {
					return
				}
				axis := rapid.IntRange(0, rank-1).Draw(t, "axis")
				n := rapid.Int64Range(0, 7).Draw(t, "n")
				if rapid.Bool().Draw(t, "a chunk") {
					n = int64(p.ChunkShape[axis])
				}
				src := testutil.Noise(int(model.row(axis)*n)*item, rapid.Uint64Range(0, 99).Draw(t, "seed"))
				require.NoError(t, a.Append(axis, src))
				if len(src) > 0 {
					model.insert(src, axis, model.shape[axis], n)
				}
			},
			"insert and delete": func(t *rapid.T) {
				if rank == 0 {
					return
				}
				axis := rapid.IntRange(0, rank-1).Draw(t, "axis")
				chunk := int64(p.ChunkShape[axis])
				at := chunk * rapid.Int64Range(0, model.shape[axis]/chunk).Draw(t, "at")
				n := chunk * rapid.Int64Range(0, 2).Draw(t, "n")
				if model.row(axis) == 0 {
					return
				}
				src := testutil.Noise(int(model.row(axis)*n)*item, rapid.Uint64Range(0, 99).Draw(t, "seed"))
				require.NoError(t, a.Insert(axis, at, src))
				model.insert(src, axis, at, n)
				check(t, a)
				at = chunk * rapid.Int64Range(0, model.shape[axis]/chunk).Draw(t, "at")
				if n = chunk * rapid.Int64Range(0, 3).Draw(t, "n"); at+n > model.shape[axis] {
					n = model.shape[axis] - at
				}
				require.NoError(t, a.Delete(axis, at, n))
				model.delete(axis, at, n)
			},
			"steps": func(t *rapid.T) {
				start, n, step := make([]int64, rank), make([]int64, rank), make([]int64, rank)
				lists := make([][]int64, rank)
				for i, size := range model.shape {
					step[i] = rapid.SampledFrom([]int64{1, 2, 3, 7, -1, -2, -5}).Draw(t, "step")
					if size == 0 {
						continue
					}
					start[i] = rapid.Int64Range(0, size-1).Draw(t, "start")
					most := (size-1-start[i])/max(step[i], 1) + 1
					if step[i] < 0 {
						most = start[i]/-step[i] + 1
					}
					n[i] = rapid.Int64Range(0, most).Draw(t, "count")
					for j := range n[i] {
						lists[i] = append(lists[i], start[i]+j*step[i])
					}
				}
				want := model.pick(lists)
				got := make([]byte, len(want))
				require.NoError(t, a.ReadSteps(got, start, n, step))
				require.Equal(t, want, got)
				src := testutil.Noise(len(want), rapid.Uint64Range(0, 99).Draw(t, "seed"))
				require.NoError(t, a.WriteSteps(src, start, n, step))
				model.put(src, lists)
			},
			"orthogonal": func(t *rapid.T) {
				lists := make([][]int64, rank)
				for i, size := range model.shape {
					if size > 0 {
						lists[i] = rapid.SliceOfN(rapid.Int64Range(0, size-1), 0, 6).Draw(t, "list")
					}
				}
				want := model.pick(lists)
				got := make([]byte, len(want))
				require.NoError(t, a.ReadOrthogonal(got, lists))
				require.Equal(t, want, got)
				src := testutil.Noise(len(want), rapid.Uint64Range(0, 99).Draw(t, "seed"))
				require.NoError(t, a.WriteOrthogonal(src, lists))
				model.put(src, lists)
			},
			"points": func(t *rapid.T) {
				if rank == 0 || slices.Contains(model.shape, 0) {
					return
				}
				var points []int64
				var want []byte
				k := rapid.IntRange(0, 9).Draw(t, "points")
				src := testutil.Noise(k*item, rapid.Uint64Range(0, 99).Draw(t, "seed"))
				for range k {
					var at []int64
					for _, size := range model.shape {
						at = append(at, rapid.Int64Range(0, size-1).Draw(t, "at"))
					}
					points = append(points, at...)
					want = append(want, model.read(at, slices.Repeat([]int64{1}, rank))...)
				}
				got := make([]byte, k*item)
				require.NoError(t, a.ReadPoints(got, points))
				require.Equal(t, append([]byte{}, want...), got)
				require.NoError(t, a.WritePoints(src, points))
				for j := range k {
					model.write(src[j*item:][:item], points[j*rank:][:rank], slices.Repeat([]int64{1}, rank))
				}
			},
			"slice": func(t *rapid.T) {
				start, shape := region(t)
				var l cblosc.Layout
				if rapid.Bool().Draw(t, "other chunks") {
					for range rank {
						c := rapid.Int32Range(1, 6).Draw(t, "chunk")
						l.ChunkShape = append(l.ChunkShape, c)
						l.Blocks = append(l.Blocks, rapid.Int32Range(1, c).Draw(t, "block"))
					}
				}
				b, err := a.Slice(start, shape, l)
				if delta || rank == 0 {
					require.ErrorIs(t, err, errors.ErrUnsupported)
				} else {
					require.NoError(t, err)
					got := make([]byte, count(shape)*int64(item))
					require.NoError(t, b.ReadAll(got))
					require.Equal(t, model.read(start, shape), got)
					require.NoError(t, b.Close())
				}
				other := l.ChunkShape != nil && !(slices.Equal(l.ChunkShape, p.ChunkShape) && slices.Equal(l.Blocks, p.Blocks))
				b, err = a.Copy(l)
				if delta && other {
					require.ErrorIs(t, err, errors.ErrUnsupported)
					return
				}
				require.NoError(t, err)
				check(t, b)
				require.NoError(t, b.Close())
			},
			"chunks of": func(t *rapid.T) {
				start, shape := region(t)
				chunks, err := a.ChunksOf(start, shape)
				require.NoError(t, err)
				want := map[int64]bool{}
				model.each(start, shape, func(at, _ int) {
					index, n := make([]int64, rank), int64(at/item)
					for i := rank - 1; i >= 0; i-- {
						index[i] = n % model.shape[i] / int64(p.ChunkShape[i])
						n /= model.shape[i]
					}
					i, err := a.ChunkNumber(index)
					require.NoError(t, err)
					want[i] = true
					back, err := a.ChunkIndex(i)
					require.NoError(t, err)
					require.Equal(t, index, back)
				})
				require.ElementsMatch(t, slices.Collect(maps.Keys(want)), chunks)
			},
			"reopen": func(t *rapid.T) {
				if p.Storage.Path == "" {
					return
				}
				again, err := cblosc.OpenArray(p.Storage.Path)
				if err != nil && mayNotOpen(t, &p.Storage, a.SChunk()) {
					return
				}
				require.NoError(t, err)
				require.NoError(t, a.Close())
				a = again
			},
			"bytes": func(t *rapid.T) {
				b, err := a.Bytes()
				require.NoError(t, err)
				c, err := cblosc.OpenArrayBytes(b)
				require.NoError(t, err)
				check(t, c)
				require.NoError(t, c.Close())
				got := make([]byte, len(model.data))
				require.NoError(t, a.ReadAll(got))
				require.Equal(t, model.data, got)
			},
			"chunk": func(t *rapid.T) {
				n := a.SChunk().NumChunks()
				if n == 0 {
					return
				}
				b, err := a.SChunk().Chunk(rapid.Int64Range(0, n-1).Draw(t, "i"))
				require.NoError(t, err)
				info, err := cblosc.Info(b)
				require.NoError(t, err)
				require.Equal(t, a.SChunk().ChunkSize(), info.NBytes)
			},
			"": func(t *rapid.T) {
				check(t, a)
				require.True(t, slices.Equal(p.ChunkShape, a.ChunkShape()))
				require.True(t, slices.Equal(p.Blocks, a.Blocks()))
			},
		})
	})
}

func TestArrayParamsValidate(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    cblosc.ArrayParams
		want error
		text string
	}{
		{"negative shape", cblosc.ArrayParams{Shape: []int64{-1}, ChunkShape: []int32{1}, Blocks: []int32{1}}, cblosc.ErrParam, "shape[0] = -1"},
		{"chunk 0", cblosc.ArrayParams{Shape: []int64{4}, ChunkShape: []int32{0}, Blocks: []int32{1}}, cblosc.ErrParam, "chunks[0] = 0"},
		{"block 0", cblosc.ArrayParams{Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{0}}, cblosc.ErrParam, "blocks[0] = 0"},
		{"block above chunk", cblosc.ArrayParams{Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{3}}, cblosc.ErrParam, "1 to chunks[0] = 2"},
		{"ranks", cblosc.ArrayParams{Shape: []int64{4, 4}, ChunkShape: []int32{2}, Blocks: []int32{2}}, cblosc.ErrParam, "shape of 2 dimensions, chunks of 1, blocks of 1"},
		{"too many dimensions", cblosc.ArrayParams{Shape: make([]int64, 17), ChunkShape: make([]int32, 17), Blocks: make([]int32, 17)}, errors.ErrUnsupported, "dimensions: got 17, want at most 16"},
		{"dtype", cblosc.ArrayParams{DType: "a\x00b"}, cblosc.ErrParam, "dtype"},
		{"2 GiB chunk", cblosc.ArrayParams{Shape: []int64{1 << 40}, ChunkShape: []int32{1 << 28}, Blocks: []int32{1}}, cblosc.ErrLimit, "more than 2147483615 bytes"},
		{"2 GiB by padding", cblosc.ArrayParams{Shape: []int64{1 << 40}, ChunkShape: []int32{1<<28 - 5}, Blocks: []int32{1 << 27}}, cblosc.ErrLimit, "more than 2147483615 bytes"},
		{"chunk overflow", cblosc.ArrayParams{Shape: []int64{1, 1, 1}, ChunkShape: []int32{1 << 30, 1 << 30, 1 << 30}, Blocks: []int32{1, 1, 1}}, cblosc.ErrLimit, "bytes"},
		{"number of chunks", cblosc.ArrayParams{Shape: []int64{1 << 50}, ChunkShape: []int32{1}, Blocks: []int32{1}}, cblosc.ErrLimit, "chunks"},
		{"number of chunks together", cblosc.ArrayParams{Shape: []int64{1 << 20, 1 << 20}, ChunkShape: []int32{1, 1}, Blocks: []int32{1, 1}}, cblosc.ErrLimit, "chunks"},
		{"shape at the end of int64", cblosc.ArrayParams{Shape: []int64{math.MaxInt64}, ChunkShape: []int32{1000}, Blocks: []int32{1}}, cblosc.ErrLimit, "chunks"},
		{"metalayers", cblosc.ArrayParams{Meta: make([]cblosc.Metalayer, 16)}, cblosc.ErrLimit, "16 metalayers beside the array's own, at most 15"},
		{"metalayer name", cblosc.ArrayParams{Meta: []cblosc.Metalayer{{Name: string(make([]byte, 32))}}}, cblosc.ErrParam, "meta[0]"},
		{"metalayer twice", cblosc.ArrayParams{Meta: []cblosc.Metalayer{{Name: "a"}, {Name: "a"}}}, cblosc.ErrExists, "meta[1]"},
		{"the array's own metalayer", cblosc.ArrayParams{Meta: []cblosc.Metalayer{{Name: "b2nd"}}}, cblosc.ErrExists, "meta[0]"},
		{"cparams", cblosc.ArrayParams{Storage: cblosc.Storage{CParams: &cblosc.CParams{TypeSize: -1}}}, cblosc.ErrParam, "TypeSize = -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := cblosc.CreateArray(&tt.p)
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.text)
		})
	}
}

func TestCreateArray_dimensionLimit(t *testing.T) {
	n := cblosc.MaxDim + 1
	_, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: make([]int64, n), ChunkShape: make([]int32, n), Blocks: make([]int32, n)})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "dimensions: got 17, want at most 16")
}

func TestArray_hugeZeros(t *testing.T) {
	st := cblosc.Storage{Contiguous: true, Path: filepath.Join(t.TempDir(), "huge"), CParams: cparams(1)}
	shape := []int64{1 << 36}
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: shape, ChunkShape: []int32{1 << 30}, Blocks: []int32{1 << 20}, Storage: st})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	a, err = cblosc.OpenArray(st.Path)
	require.NoError(t, err)
	closing(t, a)
	require.Equal(t, shape, a.Shape())
	require.EqualValues(t, 64, a.SChunk().NumChunks())
	info, err := os.Stat(st.Path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(1000))
}

// TestArray_ReadSteps_hugeCount checks that a count larger than the buffer is rejected before
// memory is allocated for it.
func TestArray_ReadSteps_hugeCount(t *testing.T) {
	const length = 1 << 49
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{
		Shape: []int64{length, 2}, ChunkShape: []int32{1 << 30, 1}, Blocks: []int32{1 << 20, 1}, Storage: cblosc.Storage{Contiguous: true, CParams: cparams(1)},
	})
	require.NoError(t, err)
	closing(t, a)
	for _, f := range []func([]byte, []int64, []int64, []int64) error{a.ReadSteps, a.WriteSteps} {
		require.ErrorIs(t, f(make([]byte, 3), []int64{0, 0}, []int64{length / 2, 1}, []int64{2, 1}), cblosc.ErrSize)
		require.ErrorIs(t, f(make([]byte, 3), []int64{0, 0}, []int64{length / 2, 0}, []int64{2, 1}), cblosc.ErrSize)
		require.NoError(t, f(nil, []int64{0, 0}, []int64{length / 2, 0}, []int64{2, 1}))
	}
}

func TestArray_invalidArguments(t *testing.T) {
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{4, 6}, ChunkShape: []int32{2, 2}, Blocks: []int32{1, 2},
		Storage: cblosc.Storage{CParams: cparams(2)}})
	require.NoError(t, err)
	require.Equal(t, "|S2", a.DType())
	for _, f := range []func([]byte, []int64, []int64) error{a.ReadRegion, a.WriteRegion} {
		for _, n := range []int{0, 47, 49} {
			err := f(make([]byte, n), []int64{0, 0}, []int64{4, 6})
			require.ErrorIs(t, err, cblosc.ErrSize)
			require.ErrorContains(t, err, fmt.Sprintf("buffer of %d bytes, region of 48", n))
		}
		for _, r := range [][2][]int64{
			{{0}, {4}}, {{0, 0}, {4}}, {nil, nil}, {{0, 0, 0}, {1, 1, 1}}, {{-1, 0}, {1, 1}}, {{0, 0}, {-1, 1}}, {{0, 0}, {5, 1}},
			{{0, 7}, {1, 0}}, {{3, 0}, {2, 1}}, {{math.MaxInt64, 0}, {1, 1}}, {{1, 0}, {math.MaxInt64, 1}},
		} {
			require.ErrorIs(t, f(make([]byte, 2), r[0], r[1]), cblosc.ErrRegion, "%v", r)
		}
		require.NoError(t, f(nil, []int64{4, 6}, []int64{0, 0}), "an empty region at the end")
	}
	require.ErrorIs(t, a.Resize([]int64{1}), cblosc.ErrParam)
	require.ErrorIs(t, a.Resize([]int64{-1, 1}), cblosc.ErrParam)
	require.ErrorIs(t, a.Resize([]int64{math.MaxInt64, 1}), cblosc.ErrLimit)
	require.NoError(t, a.Resize([]int64{4, 6}))

	s := a.SChunk()
	chunk := func(block, n int) []byte {
		p := cparams(2)
		p.BlockSize = block
		return compress(t, p, testutil.Ramp(n, 1))
	}
	require.ErrorIs(t, s.AppendBuffer(make([]byte, 8)), errors.ErrUnsupported)
	require.ErrorIs(t, s.AppendChunk(chunk(0, 8)), errors.ErrUnsupported)
	require.ErrorIs(t, s.InsertChunk(0, chunk(0, 8)), errors.ErrUnsupported)
	require.ErrorIs(t, s.DeleteChunk(0), errors.ErrUnsupported)
	require.ErrorIs(t, s.UpdateChunk(5, chunk(4, 6)), cblosc.ErrSize, "a short last chunk")
	meta, err := s.Meta().Get("b2nd")
	require.NoError(t, err)
	require.ErrorIs(t, s.Meta().Update("b2nd", meta), cblosc.ErrParam)

	require.NoError(t, a.Close())
	for _, err := range []error{a.Close(), s.Close(), a.ReadRegion(nil, nil, nil), a.WriteRegion(nil, nil, nil), a.Resize(nil)} {
		require.ErrorIs(t, err, cblosc.ErrClosed)
	}
}

// TestArray_updateChunk checks that updating a chunk of an array has the same result as writing the
// region.
func TestArray_updateChunk(t *testing.T) {
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{100}, ChunkShape: []int32{50}, Blocks: []int32{20},
		Storage: cblosc.Storage{CParams: cparams(4), Contiguous: true}})
	require.NoError(t, err)
	closing(t, a)
	want := testutil.Ramp(400, 3)
	p, err := a.SChunk().CParams()
	require.NoError(t, err)
	require.Equal(t, 80, p.BlockSize)
	padded := make([]byte, a.SChunk().ChunkSize()) // 50 elements in 3 blocks of 20
	copy(padded, want[200:])
	require.Len(t, padded, 240)
	require.NoError(t, a.SChunk().UpdateChunk(1, compress(t, p, padded)))
	got := make([]byte, 40)
	require.NoError(t, a.ReadRegion(got, []int64{55}, []int64{10}))
	require.Equal(t, want[220:260], got)
	p.BlockSize = 40
	err = a.SChunk().UpdateChunk(1, compress(t, p, padded))
	require.ErrorIs(t, err, cblosc.ErrSize)
	require.ErrorContains(t, err, "blocks of 40 bytes, the array's have 80")
}

// TestArrayManyGoroutines checks that 64 goroutines read correct values from one array.
func TestArrayManyGoroutines(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		t.Run(name, func(t *testing.T) {
			a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{64, 50}, ChunkShape: []int32{8, 50}, Blocks: []int32{2, 10}, Storage: st})
			require.NoError(t, err)
			if st.Path != "" { // so that the first access to each chunk checks it
				require.NoError(t, a.WriteRegion(testutil.Ramp(64*200, 1), []int64{0, 0}, []int64{64, 50}))
				require.NoError(t, a.Close())
				a, err = cblosc.OpenArray(st.Path)
				require.NoError(t, err)
			}
			closing(t, a)
			var wg sync.WaitGroup
			for g := range 64 {
				wg.Go(func() {
					row, got := testutil.Ramp(200, uint64(g)), make([]byte, 200)
					for range 3 {
						if err := errors.Join(a.WriteRegion(row, []int64{int64(g), 0}, []int64{1, 50}),
							a.ReadRegion(got, []int64{int64(g), 0}, []int64{1, 50})); err != nil || !bytes.Equal(row, got) {
							t.Errorf("row %d: %v", g, err)
						}
						a.Shape()
						a.SChunk().NBytes()
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestCreateArrayFrom_noElements(t *testing.T) {
	a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{0, 8}, ChunkShape: []int32{4, 5}, Blocks: []int32{2, 3},
		Storage: cblosc.Storage{CParams: cparams(4), Contiguous: true}}, nil)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 8}, a.Shape())
	require.NoError(t, a.Resize([]int64{2, 8}))
	want := testutil.Ramp(2*8*4, 1)
	require.NoError(t, a.WriteRegion(want, []int64{0, 0}, []int64{2, 8}))
	got := make([]byte, len(want))
	require.NoError(t, a.ReadAll(got))
	require.Equal(t, want, got)
	require.NoError(t, a.Close())
}
