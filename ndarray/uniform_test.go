package ndarray_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// noted is an array that can report which of its regions are uniform.
type noted struct {
	ndarray.Backend
	uniform func(ndarray.Region) bool
	err     error
}

func (n *noted) Uniform(_ context.Context, _ ndarray.Region) (func(ndarray.Region) bool, error) {
	return n.uniform, n.err
}

// drawNoted returns two arrays with the same random elements, some chunks of which are uniform. The
// first array reports its uniform chunks, the second does not.
func drawNoted(t *rapid.T, d ndarray.DType, shape []int64) (knows, plain *ndarray.Array, n *noted) {
	chunk := make([]int64, len(shape))
	for i := range chunk {
		chunk[i] = rapid.Int64Range(1, 5).Draw(t, "chunk")
	}
	element := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), d.Size, d.Size), rapid.SampledFrom(specials(d)))
	values := [][]byte{nil, element.Draw(t, "value"), element.Draw(t, "other value")}
	a := newMem(t, ndarray.Spec{Shape: shape, ChunkShape: chunk, DType: d})
	var kinds []int
	for r := range a.ChunkRegions() {
		kind := rapid.SampledFrom([]int{grid.Different, 1, 1, 2}).Draw(t, "kind")
		b := bytes.Repeat(values[kind], int(r.NumElems()))
		if kind == grid.Different {
			b = rapid.SliceOfN(rapid.Byte(), int(r.NumElems())*d.Size, int(r.NumElems())*d.Size).Draw(t, "elements")
		}
		require.NoError(t, a.Write(context.Background(), b, r))
		kinds = append(kinds, kind)
	}
	g, err := grid.New(shape, chunk)
	require.NoError(t, err)
	known := rapid.IntRange(0, len(kinds)).Draw(t, "chunks known")
	n = &noted{Backend: arrayBackend{a}, uniform: grid.Uniform[ndarray.Region](g, func(yield func(int64, int) bool) {
		for i, k := range kinds[:known] {
			if !yield(int64(i+1), k) {
				return
			}
		}
	})}
	// The result for a region must follow from the results for the chunks that intersect it.
	for range 5 {
		r := ndarray.Region{Start: make([]int64, len(shape)), Shape: make([]int64, len(shape))}
		for i, n := range shape {
			r.Start[i] = rapid.Int64Range(0, n-1).Draw(t, "start")
			r.Shape[i] = rapid.Int64Range(1, n-r.Start[i]).Draw(t, "length")
		}
		want, kind, i := true, -1, 0
		for c := range a.ChunkRegions() {
			if meets(c, r) {
				want = want && i < known && kinds[i] != grid.Different && (kind < 0 || kinds[i] == kind)
				kind = kinds[i]
			}
			i++
		}
		require.Equal(t, want, n.uniform(r), "%v of %v, chunks %v, kinds %v", r, shape, chunk, kinds[:known])
	}
	knows, err = ndarray.New(n)
	require.NoError(t, err)
	return knows, a, n
}

// arrayBackend wraps an array as a backend without optional methods.
type arrayBackend struct{ a *ndarray.Array }

func (b arrayBackend) Meta() ndarray.Meta { return b.a.Meta() }
func (b arrayBackend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	return b.a.Read(ctx, dst, r)
}
func (b arrayBackend) Close() error { return nil }

func meets(a, b ndarray.Region) bool {
	for i := range a.Start {
		if a.Start[i] >= b.Start[i]+b.Shape[i] || b.Start[i] >= a.Start[i]+a.Shape[i] {
			return false
		}
	}
	return true
}

// specials returns elements with extreme bit patterns: all bits set, no bits set, only the highest
// bit set, and all except the highest bit set. For floats they include NaNs and zeros of both
// signs, for integers the minimum and maximum. The last element is an infinity of float64, or a
// part of it.
func specials(d ndarray.DType) [][]byte {
	ones := bytes.Repeat([]byte{0xff}, d.Size)
	high, low := make([]byte, d.Size), bytes.Clone(ones)
	high[d.Size-1], low[d.Size-1] = 0x80, 0x7f
	inf := []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f}[8-d.Size:]
	return [][]byte{ones, high, low, make([]byte, d.Size), inf}
}

// TestUniform_regions checks that sums, histograms and differences are the same whether or not the
// backend reports uniform regions: for every numeric type, any grid, and partial chunks at the
// edge.
func TestUniform_regions(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		d := dtype(t, rapid.SampledFrom([]string{"|b1", "|i1", "<i2", "<i4", ">i4", "<i8", "|u1", "<u4", "<u8", ">u8",
			"<f2", "<f4", ">f4", "<f8", ">f8", "<bfloat16", "enum('<i2', {'RED': -1, 'GREEN': 7})"}).Draw(t, "dtype"))
		shape := rapid.SliceOfN(rapid.Int64Range(1, 12), 1, 3).Draw(t, "shape")
		a, plainA, _ := drawNoted(t, d, shape)
		b, plainB, _ := drawNoted(t, d, shape)
		memory, workers := rapid.Int64Range(64, 1<<10).Draw(t, "memory"), rapid.IntRange(1, 4).Draw(t, "workers")
		total := a.NumElems() * int64(d.Size)
		var last ndarray.Progress
		o := &ndarray.WorkOptions{Memory: memory, Workers: workers, Progress: func(p ndarray.Progress) { last = p }}

		got, err := ndarray.Summarize(ctx, a, o)
		require.NoError(t, err)
		require.Equal(t, ndarray.Progress{DoneBytes: total, TotalBytes: total, DoneUnits: last.TotalUnits, TotalUnits: last.TotalUnits}, last)
		want, err := ndarray.Summarize(ctx, plainA, nil)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got))

		picked, err := ndarray.ParseSelection(rapid.SampledFrom([]string{"[::-1]", "[1::2]", "[-1]", "[[-1, 0, 0]]", "[..., ::3]", "[..., ::-2]"}).Draw(t, "selection"))
		require.NoError(t, err)
		view, err := ndarray.View(a, picked)
		require.NoError(t, err)
		plainView, err := ndarray.View(plainA, picked)
		require.NoError(t, err)
		got, err = ndarray.Summarize(ctx, view, o)
		require.NoError(t, err)
		want, err = ndarray.Summarize(ctx, plainView, nil)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got), "%v", picked)

		bins, err := ndarray.CountBins(ctx, a, -100, 100, 7, o)
		require.NoError(t, err)
		wantBins, err := ndarray.CountBins(ctx, plainA, -100, 100, 7, nil)
		require.NoError(t, err)
		require.Equal(t, wantBins, bins)

		co := ndarray.CompareOptions{MaxDiffs: rapid.IntRange(0, 50).Draw(t, "differences")}
		if rapid.Bool().Draw(t, "tolerance") {
			co.Tolerance = &ndarray.Tolerance{Atol: 1, EqualNaN: true}
		}
		wantDiffs, err := ndarray.Compare(ctx, plainA, plainB, &co)
		require.NoError(t, err)
		co.Memory, co.Workers = memory, workers
		diffs, err := ndarray.Compare(ctx, a, b, &co)
		require.NoError(t, err)
		require.Equal(t, wantDiffs.NumDiffs, diffs.NumDiffs)
		require.Equal(t, wantDiffs.Diffs, diffs.Diffs)
	})
}

// huge is a uniform array that reports so. It fails if a large region of it is read.
type huge struct {
	meta  ndarray.Meta
	value []byte
	odd   int64 // the first odd elements are not reported as uniform; 0: all elements are uniform
}

func (h *huge) Meta() ndarray.Meta { return h.meta }
func (h *huge) Close() error       { return nil }
func (h *huge) ReadRegion(_ context.Context, dst []byte, r ndarray.Region, workers int) error {
	if r.NumElems() > 1<<20 {
		return errors.New("too much")
	}
	copy(dst, bytes.Repeat(h.value, int(r.NumElems())))
	return nil
}

func (h *huge) Uniform(_ context.Context, _ ndarray.Region) (func(ndarray.Region) bool, error) {
	return func(r ndarray.Region) bool { return r.Start[0] >= h.odd }, nil
}

// TestUniform_hugeShape checks that counts, sums and squares are exact for a very large number of
// elements.
func TestUniform_hugeShape(t *testing.T) {
	const n = 1 << 59
	array := func(value any, d string, odd int64) *ndarray.Array {
		b, err := binary.Append(nil, binary.NativeEndian, value)
		require.NoError(t, err)
		a, err := ndarray.New(&huge{ndarray.Meta{Shape: []int64{n}, ChunkShape: []int64{1 << 10}, DType: dtype(t, d)}, b, odd})
		require.NoError(t, err)
		return a
	}
	for _, odd := range []int64{0, 1 << 10} {
		for _, v := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
			s, err := ndarray.Summarize(t.Context(), array(v, "<i8", odd), nil)
			require.NoError(t, err)
			require.Equal(t, int64(n), s.Count)
			require.Zero(t, s.ExactSum.Cmp(new(big.Int).Mul(big.NewInt(v), big.NewInt(n))), "%v", s.ExactSum)
			require.Zero(t, s.MinInt.Cmp(big.NewInt(v)))
			require.Equal(t, float64(v), s.Mean)
			require.Zero(t, s.Std)
		}
		s, err := ndarray.Summarize(t.Context(), array(uint64(math.MaxUint64), "<u8", odd), nil)
		require.NoError(t, err)
		require.Zero(t, s.ExactSum.Cmp(new(big.Int).Mul(new(big.Int).SetUint64(math.MaxUint64), big.NewInt(n))))
		require.Zero(t, s.Std)
		for _, v := range []float64{0, math.Copysign(0, -1), -0.1, 1e15 + 1, math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64} {
			s, err := ndarray.Summarize(t.Context(), array(v, "<f8", odd), nil)
			require.NoError(t, err)
			require.Equal(t, int64(n), s.Count)
			require.Equal(t, v*n+0, s.Sum) // exact because n is a power of two, or infinite
			require.Equal(t, v+0, s.Mean)
			require.Zero(t, s.Std)
			h, err := ndarray.CountBins(t.Context(), array(v, "<f8", odd), -1, 1, 2, nil)
			require.NoError(t, err)
			require.Equal(t, int64(n), h.Bins[0]+h.Bins[1]+h.Above+h.Below)
		}
		nans, err := ndarray.Summarize(t.Context(), array(math.NaN(), "<f8", odd), nil)
		require.NoError(t, err)
		require.Equal(t, int64(n), nans.NaNs)
		require.Zero(t, nans.Count)

		c, err := ndarray.Compare(t.Context(), array(1.5, "<f8", odd), array(2.5, "<f8", 0), &ndarray.CompareOptions{MaxDiffs: 2})
		require.NoError(t, err)
		require.Equal(t, int64(n), c.NumDiffs)
		require.Equal(t, []ndarray.Difference{{Index: []int64{0}, A: "1.5", B: "2.5"}, {Index: []int64{1}, A: "1.5", B: "2.5"}}, c.Diffs)
		c, err = ndarray.Compare(t.Context(), array(1.5, "<f8", odd), array(1.5, "<f8", odd), nil)
		require.NoError(t, err)
		require.True(t, c.Equal())
	}

	// A view selects a region of the array under it.
	a := array(int64(3), "<i8", 1<<10)
	for selection, count := range map[string]int64{"::-1": n, "1::2": n / 2, "5": 1, "[7, 2000, 7]": 3, "1024:": n - 1024} {
		picked, err := ndarray.ParseSelection("[" + selection + "]")
		require.NoError(t, err)
		v, err := ndarray.View(a, picked)
		require.NoError(t, err)
		s, err := ndarray.Summarize(t.Context(), v, &ndarray.WorkOptions{Memory: 1 << 20})
		require.NoError(t, err, selection)
		require.Equal(t, count, s.Count, selection)
		require.Equal(t, 3.0, s.Mean, selection)
	}
}

// TestUniformErrors checks that an error of the query for uniform regions is returned by the
// operation.
func TestUniformErrors(t *testing.T) {
	wrong := errors.New("wrong")
	a := newMem(t, ndarray.Spec{Shape: []int64{1000}, DType: dtype(t, "<i4")})
	bad, err := ndarray.New(&noted{Backend: arrayBackend{a}, err: wrong})
	require.NoError(t, err)
	few := &ndarray.WorkOptions{Memory: 64}
	_, err = ndarray.Summarize(t.Context(), bad, few)
	require.ErrorIs(t, err, wrong)
	_, err = ndarray.Compare(t.Context(), a, bad, &ndarray.CompareOptions{Memory: 64})
	require.NoError(t, err, "only the first array is asked for uniform regions")
	_, err = ndarray.Compare(t.Context(), bad, a, &ndarray.CompareOptions{Memory: 64})
	require.ErrorIs(t, err, wrong)
	uniform, err := a.Uniform(t.Context())
	require.NoError(t, err)
	require.Nil(t, uniform)
	require.NoError(t, a.Close())
	_, err = a.Uniform(t.Context())
	require.ErrorIs(t, err, ndarray.ErrClosed)
}
