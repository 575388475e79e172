package ndarray_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

func TestSummarize_integers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3),
			rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})), 1, 200).Draw(t, "values")
		signed := rapid.Bool().Draw(t, "signed")
		var a *ndarray.Array
		number := big.NewInt
		shape, chunk := []int64{int64(len(values))}, []int64{rapid.Int64Range(1, 50).Draw(t, "chunk")}
		if signed {
			a = fromSlice(t, shape, chunk, values)
		} else {
			u := make([]uint64, len(values))
			for i, v := range values {
				u[i] = uint64(v)
			}
			a = fromSlice(t, shape, chunk, u)
			number = func(v int64) *big.Int { return new(big.Int).SetUint64(uint64(v)) }
		}
		s, err := ndarray.Summarize(context.Background(), a, &ndarray.WorkOptions{Memory: 1 << 10})
		require.NoError(t, err)
		sum, squares := new(big.Int), new(big.Int)
		low, high := number(values[0]), number(values[0])
		for _, v := range values {
			n := number(v)
			sum.Add(sum, n)
			squares.Add(squares, new(big.Int).Mul(n, n))
			if n.Cmp(low) < 0 {
				low = n
			}
			if n.Cmp(high) > 0 {
				high = n
			}
		}
		require.Equal(t, int64(len(values)), s.Count)
		require.Zero(t, s.ExactSum.Cmp(sum), "%v, want %v", s.ExactSum, sum)
		require.Zero(t, s.MinInt.Cmp(low), "%v, want %v", s.MinInt, low)
		require.Zero(t, s.MaxInt.Cmp(high), "%v, want %v", s.MaxInt, high)
		n := new(big.Rat).SetInt64(s.Count)
		mean := new(big.Rat).Quo(new(big.Rat).SetInt(sum), n)
		want, _ := mean.Float64()
		require.Equal(t, want, s.Mean)
		variance := new(big.Rat).Sub(new(big.Rat).Quo(new(big.Rat).SetInt(squares), n), new(big.Rat).Mul(mean, mean))
		v, _ := variance.Float64()
		require.Equal(t, math.Sqrt(v), s.Std)
	})
}

func TestSummarize_Floats(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		values              []float64
		count, nans         int64
		min, max, sum, mean float64
		std                 float64
	}{
		{[]float64{1, nan, 3, nan}, 2, 2, 1, 3, 4, 2, 1},
		{[]float64{nan}, 0, 1, nan, nan, 0, nan, nan},
		{[]float64{1e308, 1e308}, 2, 0, 1e308, 1e308, inf, 1e308, 0},
		{[]float64{1, 1e100, 1, -1e100}, 4, 0, -1e100, 1e100, 2, 0.5, nan},
		{[]float64{inf, 1}, 2, 0, 1, inf, inf, inf, nan},
		{[]float64{inf, -inf}, 2, 0, -inf, inf, nan, nan, nan},
		{[]float64{1e15 + 1, 1e15 + 2, 1e15 + 3}, 3, 0, 1e15 + 1, 1e15 + 3, 3e15 + 6, 1e15 + 2, math.Sqrt(2.0 / 3)},
	} {
		a := fromSlice(t, []int64{int64(len(c.values))}, nil, c.values)
		s, err := ndarray.Summarize(t.Context(), a, nil)
		require.NoError(t, err)
		same := func(what string, want, got float64) {
			t.Helper()
			require.True(t, want == got || math.IsNaN(want) && math.IsNaN(got), "%v: %s is %v, want %v", c.values, what, got, want)
		}
		require.Equal(t, c.count, s.Count)
		require.Equal(t, c.nans, s.NaNs)
		require.Nil(t, s.ExactSum)
		same("min", c.min, s.Min)
		same("max", c.max, s.Max)
		same("sum", c.sum, s.Sum)
		same("mean", c.mean, s.Mean)
		if !math.IsNaN(c.std) || math.IsInf(c.max, 0) || c.count == 0 {
			same("std", c.std, s.Std)
		}
	}
}

// TestSummarize_manyFloats checks that the sum of many floats is the exact sum, rounded once, for
// any division into units.
func TestSummarize_manyFloats(t *testing.T) {
	values := make([]float32, 300_000)
	exact := new(big.Float).SetPrec(200)
	for i := range values {
		values[i] = float32(i%1000) * 0.1
		exact.Add(exact, big.NewFloat(float64(values[i])))
	}
	want, _ := exact.Float64()
	for _, memory := range []int64{1 << 12, 1 << 16, 0} {
		a := fromSlice(t, []int64{300, 1000}, []int64{7, 90}, values)
		var units int64
		s, err := ndarray.Summarize(t.Context(), a, &ndarray.WorkOptions{Memory: memory, Workers: 3, Progress: func(p ndarray.Progress) { units = p.DoneUnits }})
		require.NoError(t, err)
		require.Equal(t, want, s.Sum)
		require.InEpsilon(t, want/300_000, s.Mean, 1e-15)
		require.Positive(t, units)
	}
}

// TestSummarize_floats checks that sum, mean and standard deviation are the exact values, rounded
// once, for any division into units and any number of workers.
func TestSummarize_floats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-1e3, 1e3), rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64),
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 0.1, -0.1, math.SmallestNonzeroFloat64, 1e300, -1e300, 1e15 + 1, 1})), 1, 300).Draw(t, "values")
		n := new(big.Rat).SetInt64(int64(len(values)))
		sum, squares := new(big.Rat), new(big.Rat)
		for _, v := range values {
			x := new(big.Rat).SetFloat64(v)
			sum.Add(sum, x)
			squares.Add(squares, x.Mul(x, x))
		}
		wantSum, _ := sum.Float64()
		mean := new(big.Rat).Quo(sum, n)
		wantMean, _ := mean.Float64()
		variance := new(big.Rat).Sub(new(big.Rat).Quo(squares, n), mean.Mul(mean, mean))
		root := new(big.Float).SetPrec(400).SetRat(variance)
		wantStd, _ := root.Sqrt(root).Float64()
		a := fromSlice(t, []int64{int64(len(values))}, []int64{rapid.Int64Range(1, 50).Draw(t, "chunk")}, values)
		for range 3 {
			o := &ndarray.WorkOptions{Memory: rapid.Int64Range(64, 1<<12).Draw(t, "memory"), Workers: rapid.IntRange(1, 8).Draw(t, "workers")}
			s, err := ndarray.Summarize(context.Background(), a, o)
			require.NoError(t, err)
			require.Equal(t, wantSum, s.Sum)
			require.Equal(t, wantMean, s.Mean)
			require.Equal(t, wantStd, s.Std)
		}
	})
}

func TestSummarize_otherTypes(t *testing.T) {
	summary := func(d string, b []byte) ndarray.Summary {
		a := newMem(t, ndarray.Spec{Shape: []int64{2}, DType: dtype(t, d)})
		require.NoError(t, a.Write(t.Context(), b, ndarray.Whole(a.Shape())))
		s, err := ndarray.Summarize(t.Context(), a, nil)
		require.NoError(t, err)
		return s
	}
	require.Equal(t, 1.0, summary("?", []byte{0, 7}).Sum)
	require.Equal(t, -3.0, summary("enum('i1', {'A': -3})", []byte{0xfd, 0}).Sum)
	require.Equal(t, 2.5, summary(">f2", binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, 0x3c00), 0x3e00)).Sum)
	require.Equal(t, 3.0, summary("<bfloat16", binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, 0x3fc0), 0x3fc0)).Sum)
	for _, d := range []string{"c8", "S3", "M8[s]", "V2", "[('a', 'i4')]"} {
		_, err := ndarray.Summarize(t.Context(), newMem(t, ndarray.Spec{Shape: []int64{2}, DType: dtype(t, d)}), nil)
		require.ErrorIs(t, err, ndarray.ErrType, d)
	}
	empty, err := ndarray.Summarize(t.Context(), newMem(t, ndarray.Spec{Shape: []int64{0}, DType: dtype(t, "i4")}), nil)
	require.NoError(t, err)
	require.Zero(t, empty.Count)
	require.Zero(t, empty.ExactSum.Sign())
	require.True(t, math.IsNaN(empty.Mean))
}

func TestCountBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-2, 2), rapid.SampledFrom([]float64{0, 0.1, 0.3, 1, math.NaN(), math.Inf(-1)})), 1, 60).Draw(t, "values")
		bins := rapid.IntRange(1, 20).Draw(t, "bins")
		a := fromSlice(t, []int64{int64(len(values))}, []int64{7}, values)
		h, err := ndarray.CountBins(context.Background(), a, 0, 1, bins, &ndarray.WorkOptions{Memory: 256})
		require.NoError(t, err)
		want := make([]int64, bins)
		var below, above, nans int64
		for _, x := range values {
			switch {
			case math.IsNaN(x):
				nans++
			case x < 0:
				below++
			case x > 1:
				above++
			default:
				for i := bins - 1; i >= 0; i-- {
					if x >= h.Edge(i) {
						want[i]++
						break
					}
				}
			}
		}
		require.Equal(t, want, h.Bins)
		require.Equal(t, []int64{below, above, nans}, []int64{h.Below, h.Above, h.NaNs})
	})
	t.Run("integers between floats", func(t *testing.T) {
		const edge = 1 << 60
		for name, a := range map[string]*ndarray.Array{
			"int64":   fromSlice(t, []int64{5}, nil, []int64{edge - 1, edge, edge + 1, 2*edge + 1, math.MinInt64}),
			"uint64":  fromSlice(t, []int64{5}, nil, []uint64{edge - 1, edge, edge + 1, 2*edge + 1, 0}),
			"largest": fromSlice(t, []int64{5}, nil, []uint64{edge - 1, edge, edge + 1, math.MaxUint64, 0}),
		} {
			h, err := ndarray.CountBins(t.Context(), a, 0, 2*edge, 2, nil)
			require.NoError(t, err)
			first, below := int64(2), int64(0)
			if name == "int64" {
				first, below = 1, 1
			}
			require.Equal(t, []int64{first, 2, below, 1}, []int64{h.Bins[0], h.Bins[1], h.Below, h.Above}, name)
		}
	})
	t.Run("missing integers", func(t *testing.T) {
		for _, data := range [][]int64{{7, 1, 7, 2}, {7, 7, 7, 7}} {
			a, err := ndarray.New(marked{fromSlice(t, []int64{4}, []int64{1}, data).Backend(), 7})
			require.NoError(t, err)
			h, err := ndarray.CountBins(t.Context(), a, 0, 10, 1, nil)
			require.NoError(t, err)
			require.Equal(t, int64(4), h.NaNs+h.Bins[0])
			require.Equal(t, int64(bytes.Count([]byte(fmt.Sprint(data)), []byte("7"))), h.NaNs)
		}
	})
	a := fromSlice(t, []int64{3}, nil, []int32{0, 5, 10})
	h, err := ndarray.CountBins(t.Context(), a, 0, 10, 2, nil)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, h.Bins)
	for _, c := range [][3]float64{{0, 1, 0}, {1, 1, 3}, {2, 1, 3}, {math.NaN(), 1, 3}, {0, math.Inf(1), 3}, {0, 1, 1 << 25}, {-math.MaxFloat64, math.MaxFloat64, 2}} {
		_, err := ndarray.CountBins(t.Context(), a, c[0], c[1], int(c[2]), nil)
		require.ErrorIs(t, err, ndarray.ErrParam)
	}
}

func TestEach(t *testing.T) {
	a := fromSlice(t, []int64{10, 9}, []int64{4, 5}, make([]uint8, 90))
	var seen atomic.Int64
	require.NoError(t, ndarray.Each(t.Context(), a, &ndarray.WorkOptions{Memory: 64, Workers: 2}, func(_ context.Context, r ndarray.Region, b []byte) error {
		if int64(len(b)) != r.NumElems() {
			return errors.New("wrong length")
		}
		seen.Add(r.NumElems())
		return nil
	}))
	require.Equal(t, int64(90), seen.Load())
	stop := errors.New("stop")
	err := ndarray.Each(t.Context(), a, nil, func(context.Context, ndarray.Region, []byte) error { return stop })
	require.ErrorIs(t, err, stop)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, ndarray.Each(ctx, a, nil, func(context.Context, ndarray.Region, []byte) error { return nil }), context.Canceled)
	require.ErrorIs(t, ndarray.Each(t.Context(), a, &ndarray.WorkOptions{Workers: -1}, nil), ndarray.ErrParam)
}

func TestMap(t *testing.T) {
	values := make([]int16, 7*5)
	for i := range values {
		values[i] = int16(i - 9)
	}
	for _, chunk := range [][]int64{{2, 2}, {7, 5}} {
		src := fromSlice(t, []int64{7, 5}, []int64{3, 2}, values)
		dst := newMem(t, ndarray.Spec{Shape: []int64{7, 5}, ChunkShape: chunk, DType: dtype(t, "f8")})
		require.NoError(t, ndarray.Map(t.Context(), dst, src, &ndarray.WorkOptions{Memory: 256, Workers: 2},
			func(_ context.Context, _ ndarray.Region, out, in []byte) error {
				for ; len(in) > 0; in, out = in[2:], out[8:] {
					x := int16(binary.NativeEndian.Uint16(in))
					binary.NativeEndian.PutUint64(out, math.Float64bits(float64(x)/2))
				}
				return nil
			}))
		got, err := ndarray.ReadAll[float64](t.Context(), dst)
		require.NoError(t, err)
		for i, x := range got {
			require.Equal(t, float64(values[i])/2, x)
		}
	}
	src := fromSlice(t, []int64{2}, nil, []int8{1, 2})
	require.ErrorIs(t, ndarray.Map(t.Context(), fromSlice(t, []int64{3}, nil, make([]int8, 3)), src, nil, nil), ndarray.ErrShape)
}

// TestEach_progressAndCancel checks that every function that processes all chunks reports its
// progress and stops when its context is cancelled.
func TestEach_progressAndCancel(t *testing.T) {
	a := fromSlice(t, []int64{60, 9}, []int64{4, 9}, make([]uint8, 540))
	dst := fromSlice(t, []int64{60, 9}, []int64{4, 9}, make([]uint8, 540))
	for name, work := range map[string]func(ctx context.Context, o *ndarray.WorkOptions) error{
		"each": func(ctx context.Context, o *ndarray.WorkOptions) error {
			return ndarray.Each(ctx, a, o, func(context.Context, ndarray.Region, []byte) error { return nil })
		},
		"map": func(ctx context.Context, o *ndarray.WorkOptions) error {
			return ndarray.Map(ctx, dst, a, o, func(context.Context, ndarray.Region, []byte, []byte) error { return nil })
		},
		"summarize": func(ctx context.Context, o *ndarray.WorkOptions) error {
			_, err := ndarray.Summarize(ctx, a, o)
			return err
		},
		"bins": func(ctx context.Context, o *ndarray.WorkOptions) error {
			_, err := ndarray.CountBins(ctx, a, 0, 1, 2, o)
			return err
		},
	} {
		var seen []ndarray.Progress
		o := &ndarray.WorkOptions{Workers: 2, Memory: 200, Progress: func(p ndarray.Progress) { seen = append(seen, p) }}
		require.NoError(t, work(t.Context(), o), name)
		require.Greater(t, len(seen), 3, name)
		for i, p := range seen {
			require.Equal(t, int64(i+1), p.DoneUnits, name)
			require.True(t, i == 0 || p.DoneBytes > seen[i-1].DoneBytes, name)
		}
		last := seen[len(seen)-1]
		require.Equal(t, ndarray.Progress{DoneBytes: 540, TotalBytes: 540, DoneUnits: last.TotalUnits, TotalUnits: int64(len(seen))}, last, name)

		ctx, cancel := context.WithCancel(t.Context())
		done := int64(0)
		o.Progress = func(p ndarray.Progress) {
			done = p.DoneUnits
			cancel()
		}
		require.ErrorIs(t, work(ctx, o), context.Canceled, name)
		require.Less(t, done, last.TotalUnits, name)
	}
}

// TestSummary_Merge encodes the summaries of two parts with MarshalBinary, merges them, and
// compares the result with the summary of all elements.
func TestSummary_Merge(t *testing.T) {
	part := func(t testing.TB, a *ndarray.Array, s ndarray.Selection) ndarray.Summary {
		v, err := ndarray.View(a, s)
		require.NoError(t, err)
		one, err := ndarray.Summarize(t.Context(), v, nil)
		require.NoError(t, err)
		b, err := one.MarshalBinary()
		require.NoError(t, err)
		again := ndarray.Summary{DType: one.DType}
		require.NoError(t, again.UnmarshalBinary(b))
		bytes, err := again.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, b, bytes)
		for n := range len(b) {
			require.ErrorIs(t, again.UnmarshalBinary(b[:n]), ndarray.ErrCorrupt)
		}
		return again
	}
	check := func(t *testing.T, a *ndarray.Array, cut int64) {
		want, err := ndarray.Summarize(t.Context(), a, nil)
		require.NoError(t, err)
		got := part(t, a, ndarray.Select(ndarray.All().To(cut)))
		require.NoError(t, got.Merge(part(t, a, ndarray.Select(ndarray.From(cut)))))
		text := func(s ndarray.Summary) string {
			return fmt.Sprint(s.DType, s.Count, s.NaNs, s.Min, s.Max, s.Sum, s.Mean, s.Std, s.MinInt, s.MaxInt, s.ExactSum)
		}
		require.Equal(t, text(want), text(got))
	}
	t.Run("floats", func(t *testing.T) {
		for _, cut := range []int64{0, 1, 3, 7} {
			check(t, fromSlice(t, []int64{7}, nil, []float64{1e300, -1e300, math.SmallestNonzeroFloat64, -2.5, math.NaN(), 1e-200, -3}), cut)
			check(t, fromSlice(t, []int64{7}, nil, []float32{1, 2, float32(math.Inf(1)), 4, 5, 6, 7}), cut)
		}
	})
	t.Run("missing integers", func(t *testing.T) {
		for _, cut := range []int64{0, 2, 4} {
			a, err := ndarray.New(marked{fromSlice(t, []int64{4}, []int64{1}, []int64{math.MinInt64, -1, 5, -1}).Backend(), -1})
			require.NoError(t, err)
			want, err := ndarray.Summarize(t.Context(), a, nil)
			require.NoError(t, err)
			require.Equal(t, []any{int64(2), int64(2), "-9223372036854775803"}, []any{want.Count, want.NaNs, want.ExactSum.String()})
			check(t, a, cut)
		}
	})
	t.Run("integers", func(t *testing.T) {
		for _, cut := range []int64{0, 2, 4} {
			check(t, fromSlice(t, []int64{4}, nil, []int64{math.MinInt64, -1, 5, math.MaxInt64}), cut)
			check(t, fromSlice(t, []int64{4}, nil, []uint64{1, math.MaxUint64, 5, 0}), cut)
			check(t, fromSlice(t, []int64{4}, nil, []uint8{1, 255, 5, 0}), cut)
		}
	})
	t.Run("errors", func(t *testing.T) {
		a := part(t, fromSlice(t, []int64{2}, nil, []int32{1, 2}), ndarray.Selection{})
		b := part(t, fromSlice(t, []int64{2}, nil, []float32{1, 2}), ndarray.Selection{})
		require.ErrorIs(t, a.Merge(b), ndarray.ErrType)
		require.ErrorIs(t, a.Merge(ndarray.Summary{DType: a.DType}), ndarray.ErrParam)
		_, err := new(ndarray.Summary).MarshalBinary()
		require.ErrorIs(t, err, ndarray.ErrParam)
		require.ErrorIs(t, (&ndarray.Summary{DType: ndarray.DTypeOf[complex64]()}).UnmarshalBinary(nil), ndarray.ErrType)
	})
}

// marked is a backend of int64 in which one value marks missing elements. All elements of it are
// uniform if they are equal.
type marked struct {
	ndarray.Backend
	value int64
}

// DropMissing implements ndarray.MissingTeller.
func (m marked) DropMissing(b []byte) []byte {
	var out []byte
	for ; len(b) > 0; b = b[8:] {
		if int64(binary.NativeEndian.Uint64(b)) != m.value {
			out = append(out, b[:8]...)
		}
	}
	return out
}

// Uniform implements ndarray.UniformTeller.
func (m marked) Uniform(ctx context.Context, _ ndarray.Region) (func(r ndarray.Region) bool, error) {
	return func(r ndarray.Region) bool { return r.NumElems() == 1 }, nil
}
