package ndarraytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

// testUniform checks that regions reported as uniform have equal elements. Sums, bins and
// differences must be the same with and without the report.
func testUniform(t *testing.T, f Factory) {
	a := f.create(t, int32s())
	uniform, err := a.Uniform(bg)
	require.NoError(t, errors.Join(err, a.Close()))
	if uniform == nil {
		return // the backend never reports uniform regions
	}
	var numbers []ndarray.DType
	for _, s := range []string{"|b1", "|i1", "<i2", ">i4", "<i8", "|u1", "<u4", ">u8", "<f2", "<f4", ">f8", "<f8", "<c8", "|S5"} {
		d, err := ndarray.ParseDType(s)
		require.NoError(t, err)
		numbers = append(numbers, d)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(numbers).Draw(t, "dtype")
		shape := rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 3).Draw(t, "shape")
		spec := ndarray.Spec{Shape: shape, DType: d}
		if len(shape) > 0 && rapid.Bool().Draw(t, "chunked") {
			for range shape {
				spec.ChunkShape = append(spec.ChunkShape, rapid.Int64Range(1, 5).Draw(t, "chunk"))
			}
		}
		if rapid.Bool().Draw(t, "fill") {
			spec.Fill = rapid.OneOf(rapid.Just(pattern(d, 1)), rapid.Just(nan(d))).Draw(t, "fill value")
		}
		a := f.create(t, spec)
		if a == nil {
			return
		}
		for range rapid.IntRange(0, 3).Draw(t, "writes") {
			r := drawRegion(t, shape)
			b := pattern(d, r.NumElems())
			if rapid.Bool().Draw(t, "zeros") {
				clear(b)
			}
			require.NoError(t, a.Write(bg, b, r))
		}
		for range 2 {
			requireUniform(t, a)
			a = f.reopened(t, a)
		}
		require.NoError(t, a.Close())
	})
}

// nan returns an element of NaNs, or a zero element of types without NaN.
func nan(d ndarray.DType) []byte {
	if d.Kind == ndarray.Float || d.Kind == ndarray.Complex {
		return bytes.Repeat([]byte{0x7f}, d.Size) // in either byte order
	}
	return make([]byte, d.Size)
}

func requireUniform(t *rapid.T, a *ndarray.Array) {
	uniform, err := a.Uniform(bg)
	require.NoError(t, err)
	d := a.DType()
	all := dirty(a.NBytes())
	require.NoError(t, a.Read(bg, all, ndarray.Whole(a.Shape())))
	if uniform != nil {
		m := newModel(a.Shape(), d.Size, all)
		for range 5 {
			r := drawRegion(t, a.Shape())
			if r.NumElems() == 0 || !uniform(r) {
				continue
			}
			b := m.read(r)
			require.Equal(t, bytes.Repeat(b[:d.Size], int(r.NumElems())), b, "%v of %v, chunks %v", r, a.Shape(), a.Meta().ChunkShape)
		}
	}

	silent := openBackend(t, silentBackend{a})
	o := &ndarray.WorkOptions{Memory: 256, Workers: 2}
	if d.Kind != ndarray.Complex && d.Kind != ndarray.Bytes {
		got, err := ndarray.Summarize(bg, a, o)
		require.NoError(t, err)
		want, err := ndarray.Summarize(bg, silent, o)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got))
		bins, err := ndarray.CountBins(bg, a, -100, 100, 9, o)
		require.NoError(t, err)
		wantBins, err := ndarray.CountBins(bg, silent, -100, 100, 9, o)
		require.NoError(t, err)
		require.Equal(t, wantBins, bins)
	}
	co := &ndarray.CompareOptions{IgnoreAttrs: true, MaxDiffs: 7, Memory: 256, Workers: 2}
	got, err := ndarray.Compare(bg, a, openBackend(t, otherBackend{silentBackend{a}}), co)
	require.NoError(t, err)
	want, err := ndarray.Compare(bg, silent, openBackend(t, silentBackend{openBackend(t, otherBackend{silentBackend{a}})}), co)
	require.NoError(t, err)
	require.Equal(t, want.NumDiffs, got.NumDiffs)
	require.Equal(t, want.Diffs, got.Diffs)
}

func openBackend(t TB, b ndarray.Backend) *ndarray.Array {
	a, err := ndarray.New(b)
	require.NoError(t, err)
	return a
}

// silentBackend reads an array, and reports no uniform regions.
type silentBackend struct{ a *ndarray.Array }

func (b silentBackend) Meta() ndarray.Meta { return b.a.Meta() }
func (b silentBackend) Close() error       { return nil }
func (b silentBackend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	return b.a.Read(ctx, dst, r)
}

// otherBackend replaces the first byte of each element by zero, and reports the same uniform
// regions as the array.
type otherBackend struct{ silentBackend }

func (b otherBackend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	err := b.silentBackend.ReadRegion(ctx, dst, r, 0)
	for i := 0; i < len(dst); i += b.a.DType().Size {
		dst[i] = 0
	}
	return err
}

func (b otherBackend) Uniform(ctx context.Context, _ ndarray.Region) (func(ndarray.Region) bool, error) {
	return b.a.Uniform(ctx)
}
