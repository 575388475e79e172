package h5value_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// drawFloat returns a random float type of at most 64 bits whose values float64 can represent, with
// its fields at any offset.
func drawFloat(t *rapid.T) h5.Datatype {
	exp := rapid.IntRange(5, 11).Draw(t, "exponent") // shorter exponents may have no infinity
	mant := rapid.IntRange(2, 52).Draw(t, "mantissa")
	bits := 1 + exp + mant
	size := rapid.IntRange((bits+7)/8, max((bits+7)/8, min(8, (bits-1)/4))).Draw(t, "size")
	offset := rapid.IntRange(0, 8*size-bits).Draw(t, "offset")
	f := h5.Datatype{Class: h5.Float, Size: size, Precision: bits, Offset: offset, Order: h5.Order(rapid.IntRange(0, 1).Draw(t, "order"))}
	f.Layout = h5.FloatLayout{MantPos: offset, MantSize: mant, ExpPos: offset + mant, ExpSize: exp, SignPos: offset + mant + exp, ExpBias: 1<<(exp-1) - 1}
	if size == 1 {
		f.Order = h5.LittleEndian
	}
	return f
}

func drawInt(t *rapid.T) h5.Datatype {
	size := rapid.IntRange(1, 15).Draw(t, "size")
	dt := h5.Int(size, h5.Order(rapid.IntRange(0, 1).Draw(t, "order")))
	dt.Signed = rapid.Bool().Draw(t, "signed")
	// libhdf5 rejects types in which half of the bits or more are unused.
	dt.Precision = rapid.IntRange(4*size+1, min(64, 8*size)).Draw(t, "precision")
	dt.Offset = rapid.IntRange(0, 8*size-dt.Precision).Draw(t, "offset")
	dt.LowPad, dt.HighPad = h5.Padding(rapid.IntRange(0, 1).Draw(t, "low")), h5.Padding(rapid.IntRange(0, 1).Draw(t, "high"))
	if size == 1 {
		dt.Order = h5.LittleEndian
	}
	return dt
}

// inside is a compound of one member. The conversions of this package are used for its values
// instead of libhdf5's.
type inside[T any] struct {
	V T `h5:"v"`
}

// TestNumber_library checks that the conversions of this package and of libhdf5 read the same
// numbers from random integer and float types, and store the same bytes. The inexact limits of
// libhdf5's conversions are the exception.
func TestNumber_library(t *testing.T) {
	f := newFile(t)
	rapid.Check(t, func(t *rapid.T) {
		dt := drawInt(t)
		if rapid.Bool().Draw(t, "float") {
			dt = drawFloat(t)
		}
		raw := rapid.SliceOfN(rapid.Byte(), 8*dt.Size, 8*dt.Size).Draw(t, "bytes")
		lib, err := f.Root().CreateDataset("lib", dt, h5.SimpleSpace(8), nil)
		require.NoError(t, err, "%v", dt)
		c := h5.CompoundOf(h5.Member{Name: "v", Type: &dt})
		ours, err := f.Root().CreateDataset("ours", c, h5.SimpleSpace(8), nil)
		require.NoError(t, err)
		defer func() {
			for _, d := range []*h5.Dataset{lib, ours} {
				require.NoError(t, d.Close())
			}
			require.NoError(t, f.Root().Unlink("lib"))
			require.NoError(t, f.Root().Unlink("ours"))
		}()
		all := region([]int64{0}, []int64{8})
		require.NoError(t, lib.WriteRegion(raw, dt, all))
		require.NoError(t, ours.WriteRegion(raw, c, all))
		switch {
		case dt.Class == h5.Float:
			want, err := h5value.ReadAll[float64](lib)
			require.NoError(t, err)
			got, err := h5value.ReadAll[inside[float64]](ours)
			require.NoError(t, err)
			for i := range want {
				if want[i] != want[i] {
					require.True(t, got[i].V != got[i].V, "%v element %d: %v", dt, i, got[i].V)
					continue
				}
				require.Equal(t, math.Float64bits(want[i]), math.Float64bits(got[i].V), "%v element %d: %v and %v", dt, i, want[i], got[i].V)
			}
			require.NoError(t, h5value.Write(ours, got, h5.All))
			require.NoError(t, h5value.Write(lib, want, h5.All), "%v %v", dt, want)
			again, err := h5value.ReadAll[inside[float64]](ours)
			require.NoError(t, err)
			for i := range got {
				require.True(t, got[i].V == again[i].V || got[i].V != got[i].V && again[i].V != again[i].V)
			}
		case dt.Signed:
			want, err := h5value.ReadAll[int64](lib)
			require.NoError(t, err)
			got, err := h5value.ReadAll[inside[int64]](ours)
			require.NoError(t, err)
			for i := range want {
				require.Equal(t, want[i], got[i].V, "%v element %d", dt, i)
			}
			require.NoError(t, h5value.Write(lib, want, h5.All))
			require.NoError(t, h5value.Write(ours, got, h5.All))
		default:
			want, err := h5value.ReadAll[uint64](lib)
			require.NoError(t, err)
			got, err := h5value.ReadAll[inside[uint64]](ours)
			require.NoError(t, err)
			for i := range want {
				require.Equal(t, want[i], got[i].V, "%v element %d", dt, i)
			}
			require.NoError(t, h5value.Write(lib, want, h5.All))
			require.NoError(t, h5value.Write(ours, got, h5.All))
		}
		if dt.Class == h5.Integer {
			a, b := make([]byte, len(raw)), make([]byte, len(raw))
			require.NoError(t, lib.ReadRegion(a, dt, all))
			require.NoError(t, ours.ReadRegion(b, c, all))
			require.Equal(t, a, b, "%v: the padding too", dt)
		}
	})
}

// TestNumber_exactArithmetic compares the conversion of Go numbers to random float and integer
// types with exact arithmetic.
func TestNumber_exactArithmetic(t *testing.T) {
	number := rapid.OneOf(
		rapid.Float64(),
		rapid.Map(rapid.Float32(), func(f float32) float64 { return float64(f) }),
		rapid.Map(rapid.Int64Range(-1<<20, 1<<20), func(i int64) float64 { return float64(i) / 8 }),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64, 65504, 65520}),
	)
	rapid.Check(t, func(t *rapid.T) {
		v := number.Draw(t, "v")
		f := drawFloat(t)
		checkStored(t, f, v, holdsFloat(f.Layout, v))
		i := drawInt(t)
		checkStored(t, i, v, holdsInt(i, v))
	})
}

func checkStored(t *rapid.T, dt h5.Datatype, v float64, fits bool) {
	values, err := h5value.Encode(dt, []float64{v})
	if !fits {
		if err == nil {
			t.Fatalf("%v holds %v?", dt, v)
		}
		if !errors.Is(err, h5.ErrOverflow) && !errors.Is(err, h5.ErrPrecision) {
			t.Fatalf("%v of %v: %v", dt, v, err)
		}
		return
	}
	require.NoError(t, err, "%v %v %+v", dt, v, dt.Layout)
	got, err := h5value.Decode[float64](values)
	require.NoError(t, err)
	if dt.Class == h5.Integer {
		v += 0 // an integer has no signed zero
		require.Equal(t, v, got[0])
		return
	}
	require.Equal(t, math.Float64bits(v), math.Float64bits(got[0]), "%v: %v becomes %v", dt, v, got[0])
}

// holdsFloat reports, by exact arithmetic, whether the layout can represent v as m·2^e with few
// enough bits and an exponent in range.
func holdsFloat(l h5.FloatLayout, v float64) bool {
	if v == 0 || math.IsInf(v, 0) {
		return true
	}
	whole, exp := new(big.Float).SetFloat64(math.Abs(v)), 0
	exp = whole.MantExp(nil) - 1 // exponent of the leading one
	least := 1 - int(l.ExpBias)
	if exp > 1<<l.ExpSize-2-int(l.ExpBias) {
		return false
	}
	last := exp - int(whole.MinPrec()) + 1 // exponent of the last one
	return last >= max(exp, least)-l.MantSize
}

func holdsInt(dt h5.Datatype, v float64) bool {
	if v != math.Trunc(v) || math.IsInf(v, 0) {
		return false
	}
	whole, _ := new(big.Float).SetFloat64(v).Int(nil)
	low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(dt.Precision))
	if dt.Signed {
		high.Rsh(high, 1)
		low.Neg(high)
	}
	return whole.Cmp(low) >= 0 && whole.Cmp(high) < 0
}

// TestLongFloats checks the floats that are longer than float64: the 80 bits of x87, which store
// the leading one, and the quad of IEEE 754.
func TestLongFloats(t *testing.T) {
	quad := h5.Datatype{Class: h5.Float, Size: 16, Precision: 128, Order: h5.BigEndian,
		Layout: h5.FloatLayout{SignPos: 127, ExpPos: 112, ExpSize: 15, MantSize: 112, ExpBias: 16383}}
	x87 := h5.Datatype{Class: h5.Float, Size: 16, Precision: 80, Order: h5.LittleEndian,
		Layout: h5.FloatLayout{SignPos: 79, ExpPos: 64, ExpSize: 15, MantSize: 64, ExpBias: 16383, Norm: h5.NormNone}}
	third := new(big.Float).SetPrec(60).Quo(big.NewFloat(1), big.NewFloat(3))
	huge := new(big.Float).SetMantExp(big.NewFloat(1.25), 5000)
	for name, dt := range map[string]h5.Datatype{"quad": quad, "x87": x87} {
		require.NoError(t, dt.Validate(), name)
		want := []*big.Float{big.NewFloat(1.5), third, huge, big.NewFloat(math.Inf(-1)), new(big.Float).Neg(third), big.NewFloat(0)}
		f := newFile(t)
		d := writtenAs(t, f, "d", dt, want)
		got, err := h5value.ReadAll[*big.Float](d)
		require.NoError(t, err)
		for i := range want {
			require.Zero(t, want[i].Cmp(got[i]), "%s: %v and %v", name, want[i], got[i])
		}
		natural, err := h5value.NaturalType(dt)
		require.NoError(t, err)
		require.Equal(t, "*big.Float", natural.String())
		_, err = h5value.ReadAll[float64](d)
		require.Error(t, err)
		c := h5.CompoundOf(h5.Member{Name: "v", Type: &dt})
		in := writtenAs(t, f, "in", c, []inside[*big.Float]{{third}})
		_, err = h5value.ReadAll[inside[float64]](in)
		require.ErrorIs(t, err, h5.ErrPrecision)
		lossy := make([]inside[float64], 1)
		require.NoError(t, h5value.ReadLossy(in, lossy, h5.All))
		require.Equal(t, 1.0/3, lossy[0].V)
		require.NoError(t, h5value.Write(in, []inside[*big.Float]{{huge}}, h5.All))
		_, err = h5value.ReadAll[inside[float64]](in)
		require.ErrorIs(t, err, h5.ErrOverflow)
		require.NoError(t, h5value.Write(in, []inside[float64]{{math.NaN()}}, h5.All))
		nan, err := h5value.ReadAll[inside[*big.Float]](in)
		require.NoError(t, err)
		require.Nil(t, nan[0].V, "a big.Float is always a number")
		require.ErrorIs(t, h5value.Write(in, nan, h5.All), h5.ErrParam)
	}
	// libhdf5 must read the same values.
	d := writtenAs(t, newFile(t), "d", x87, []float64{1.5, -1.0 / 3, math.Inf(1)})
	got, err := h5value.ReadAll[float64](d)
	require.NoError(t, err)
	require.Equal(t, []float64{1.5, -1.0 / 3, math.Inf(1)}, got)
}

// TestShortFloats checks the floats of machine learning with at most eight bits, which have no
// infinity, against tables from their specifications.
func TestShortFloats(t *testing.T) {
	layout := func(bits, exp, mant int, bias uint64) h5.Datatype {
		return h5.Datatype{Class: h5.Float, Size: 1, Precision: bits,
			Layout: h5.FloatLayout{SignPos: bits - 1, ExpPos: mant, ExpSize: exp, MantSize: mant, ExpBias: bias}}
	}
	for name, tt := range map[string]struct {
		dt     h5.Datatype
		values map[byte]float64
		over   float64
	}{
		"E4M3": {layout(8, 4, 3, 7), map[byte]float64{0x01: math.Ldexp(1, -9), 0x07: 0.875 * math.Ldexp(1, -6), 0x08: math.Ldexp(1, -6), 0x78: 256, 0x7e: 448, 0xfe: -448, 0x7f: math.NaN()}, 480},
		"E5M2": {layout(8, 5, 2, 15), map[byte]float64{0x01: math.Ldexp(1, -16), 0x7b: 57344, 0x7c: math.Inf(1), 0xfc: math.Inf(-1), 0x7e: math.NaN()}, 65536},
		"E2M3": {layout(6, 2, 3, 1), map[byte]float64{0x01: 0.125, 0x07: 0.875, 0x1f: 7.5, 0x3f: -7.5}, 8},
		"E3M2": {layout(6, 3, 2, 3), map[byte]float64{0x01: 0.0625, 0x1f: 28, 0x3f: -28}, 32},
		"E2M1": {layout(4, 2, 1, 1), map[byte]float64{0x01: 0.5, 0x03: 1.5, 0x07: 6, 0x0f: -6}, 8},
		"bfloat16's exponent": {h5.Datatype{Class: h5.Float, Size: 2, Precision: 16, Order: h5.BigEndian,
			Layout: h5.FloatLayout{SignPos: 15, ExpPos: 7, ExpSize: 8, MantSize: 7, ExpBias: 127}}, nil, math.MaxFloat64},
	} {
		c := h5.CompoundOf(h5.Member{Name: "v", Type: &tt.dt})
		d, err := newFile(t).Root().CreateDataset("d", c, h5.SimpleSpace(1), nil)
		require.NoError(t, err, name)
		bare, err := newFile(t).Root().CreateDataset("d", tt.dt, h5.SimpleSpace(1), nil)
		require.NoError(t, err, name)
		for code, want := range tt.values {
			require.NoError(t, bare.WriteRegion([]byte{code}, tt.dt, region([]int64{0}, []int64{1})))
			alone, err := h5value.ReadAll[float64](bare)
			require.NoError(t, err)
			require.True(t, alone[0] == want || want != want && alone[0] != alone[0], "%s %#x: %v", name, code, alone[0])
			require.NoError(t, d.WriteRegion([]byte{code}, c, region([]int64{0}, []int64{1})))
			got, err := h5value.ReadAll[inside[float64]](d)
			require.NoError(t, err)
			if want != want {
				require.True(t, got[0].V != got[0].V, "%s %#x: %v", name, code, got[0].V)
			} else {
				require.Equal(t, want, got[0].V, "%s %#x", name, code)
			}
			require.NoError(t, h5value.Write(d, got, h5.All))
			raw := make([]byte, 1)
			require.NoError(t, d.ReadRegion(raw, c, region([]int64{0}, []int64{1})))
			if want == want {
				require.Equal(t, code, raw[0], name)
			}
		}
		require.ErrorIs(t, h5value.Write(d, []inside[float64]{{tt.over}}, h5.All), h5.ErrOverflow, name)
		if name == "E2M1" {
			require.ErrorIs(t, h5value.Write(d, []inside[float64]{{math.NaN()}}, h5.All), h5.ErrOverflow)
			require.ErrorIs(t, h5value.Write(d, []inside[float64]{{math.Inf(1)}}, h5.All), h5.ErrOverflow)
		}
	}
}

// TestNumber_unusedBits checks integers with unused bits. libhdf5 only reverses the bytes of such
// integers.
func TestNumber_unusedBits(t *testing.T) {
	for _, order := range []h5.Order{h5.LittleEndian, h5.BigEndian} {
		i17 := h5.Int(4, order)
		i17.Precision = 17
		f := newFile(t)
		d := writtenAs(t, f, "d", i17, []int32{-1, 5, -65536})
		raw := make([]byte, 12)
		require.NoError(t, d.ReadRegion(raw, i17, region([]int64{0}, []int64{3})))
		if order == h5.BigEndian {
			require.Equal(t, []byte{0, 1, 255, 255}, raw[:4], "unused bits are zero, as the type requires")
			require.ErrorIs(t, d.ReadRegion(raw, h5.Int(4, h5.LittleEndian), region([]int64{0}, []int64{3})), h5.ErrType)
		}
		got, err := h5value.ReadAll[int64](d)
		require.NoError(t, err)
		require.Equal(t, []int64{-1, 5, -65536}, got)
		require.ErrorIs(t, h5value.Write(d, []int32{65536, 0, 0}, h5.All), h5.ErrOverflow)
		require.NoError(t, h5value.WriteLossy(d, []int32{65536, 0, 0}, h5.All))
		lossy := make([]int8, 3)
		require.NoError(t, h5value.ReadLossy(d, lossy, h5.All))
		require.Equal(t, []int8{127, 0, 0}, lossy)
		v, err := h5value.Encode(i17, []int{-1})
		require.NoError(t, err)
		require.NoError(t, d.WriteAttribute(h5.Attribute{Name: "a", Datatype: i17, Space: h5.ScalarSpace(), Values: v}))
		a, err := h5value.ReadAttr[int](d, "a")
		require.NoError(t, err)
		require.Equal(t, []int{-1}, a)
	}
}

// TestVAX_roundTrip checks that VAX floats are the same after the file is closed and opened again,
// alone and as parts of other types.
func TestVAX_roundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	vax := map[string]h5.Datatype{}
	for _, size := range []int{4, 8} {
		v := h5.IEEEFloat(size, h5.VAX)
		v.Layout.ExpBias += 2
		three := h5.ArrayOf(v, 3)
		vax[fmt.Sprint("alone", size)], vax[fmt.Sprint("array", size)] = v, three
		vax[fmt.Sprint("compound", size)] = h5.CompoundOf(h5.Member{Name: "n", Type: ptr(h5.Int(1, 0))}, h5.Member{Name: "v", Type: &v})
	}
	for name, dt := range vax {
		d, err := f.Root().CreateDataset(name, dt, h5.SimpleSpace(2), nil)
		require.NoError(t, err)
		if dt.Class == h5.Float {
			require.NoError(t, h5value.Write(d, []float64{-2.5, 1024}, h5.All))
		}
	}
	require.NoError(t, f.Close())

	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	for name, dt := range vax {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		require.Equal(t, dt.String(), info.Datatype.String())
		require.True(t, dt.Equal(info.Datatype), name)
		if dt.Class == h5.Float {
			got, err := h5value.ReadAll[float64](d)
			require.NoError(t, err)
			require.Equal(t, []float64{-2.5, 1024}, got)
		}
	}
}

// TestVAX_write checks that VAX floats are stored in VAX byte order for every source type, or that
// the write fails. HDF5 2.2 converts other floats to VAX floats of the wrong byte order, so
// number.go converts them.
func TestVAX_write(t *testing.T) {
	f := newFile(t)
	values := []float64{1, -2.5, 1024}
	narrow := []float32{1, -2.5, 1024}
	for size, stored := range map[int][]byte{
		4: {0x80, 0x40, 0, 0, 0x20, 0xc1, 0, 0, 0x80, 0x45, 0, 0},
		8: {0x10, 0x40, 0, 0, 0, 0, 0, 0, 0x24, 0xc0, 0, 0, 0, 0, 0, 0, 0xb0, 0x40, 0, 0, 0, 0, 0, 0},
	} {
		vax := h5.IEEEFloat(size, h5.VAX)
		vax.Layout.ExpBias += 2
		d, err := f.Root().CreateDataset(fmt.Sprint(size), vax, h5.SimpleSpace(3), nil)
		require.NoError(t, err)
		whole := region([]int64{0}, []int64{3})
		check := func(how string) {
			t.Helper()
			got := make([]byte, len(stored))
			require.NoError(t, d.ReadRegion(got, vax, whole))
			require.Equal(t, stored, got, "%d: %s", size, how)
			back, err := h5value.ReadAll[float64](d)
			require.NoError(t, err)
			require.Equal(t, values, back, "%d: %s", size, how)
			require.NoError(t, d.WriteRegion(make([]byte, len(stored)), vax, whole))
		}
		require.NoError(t, h5value.Write(d, values, h5.All))
		check("doubles")
		require.NoError(t, h5value.WriteLossy(d, values, h5.All))
		check("doubles, lossy")
		require.NoError(t, h5value.Write(d, narrow, h5.All))
		check("floats")
		require.NoError(t, h5value.Write(d, []int16{1, -2, 1024}, h5.All)) // converted by libhdf5 in all releases
		back, err := h5value.ReadAll[float64](d)
		require.NoError(t, err)
		require.Equal(t, []float64{1, -2, 1024}, back)

		if vaxByTheLibrary(t, d.WriteRegion(natives(t, values...), h5.IEEEFloat(8, h5.NativeOrder), whole)) {
			check("bytes")
		}
		if vaxByTheLibrary(t, d.WriteRegion(natives(t, narrow...), h5.IEEEFloat(4, h5.NativeOrder), whole)) {
			check("bytes of floats")
		}
		if vaxByTheLibrary(t, d.WriteRegionLossy(natives(t, values...), h5.IEEEFloat(8, h5.NativeOrder), whole)) {
			check("bytes, lossy")
		}
		ieee := writtenAs(t, f, fmt.Sprint("ieee", size), h5.IEEEFloat(8, h5.NativeOrder), values)
		got := make([]byte, len(stored))
		if vaxByTheLibrary(t, ieee.ReadRegion(got, vax, whole)) {
			require.Equal(t, stored, got, "read as VAX")
		}
	}
}

// vaxByTheLibrary reports whether libhdf5 converted floats to VAX floats. Releases that convert
// them wrongly must return an error instead.
func vaxByTheLibrary(t *testing.T, err error) bool {
	t.Helper()
	version, verr := h5.Version()
	require.NoError(t, verr)
	switch {
	case version == "2.2.0":
		require.ErrorIs(t, err, h5.ErrType)
	case err == nil || strings.HasPrefix(version, "1."):
		require.NoError(t, err)
	default: // a release that is not tested yet
		require.ErrorIs(t, err, h5.ErrType)
	}
	return err == nil
}

// TestVAX_compound checks that the conversions of VAX floats in compounds and arrays agree with
// libhdf5's conversions of single VAX floats, and that they restore the same bytes.
func TestVAX_compound(t *testing.T) {
	f := newFile(t)
	values := []float64{1, -2.5, 0.1, 1e30, -1e-30, 0}
	for _, size := range []int{4, 8} {
		vax := h5.IEEEFloat(size, h5.VAX)
		vax.Layout.ExpBias += 2
		alone := writtenAs(t, f, fmt.Sprint("alone", size), vax, make([]float64, len(values)))
		exact := make([]float64, len(values)) // values after rounding to the type
		if !vaxByTheLibrary(t, alone.WriteRegionLossy(natives(t, values...), h5.IEEEFloat(8, h5.NativeOrder), region([]int64{0}, []int64{6}))) {
			require.NoError(t, h5value.WriteLossy(alone, values, h5.All))
		}
		require.NoError(t, h5value.Read(alone, exact, h5.All))
		stored := make([]byte, size*len(values))
		require.NoError(t, alone.ReadRegion(stored, vax, region([]int64{0}, []int64{6})))

		three := h5.ArrayOf(vax, 2)
		dt := h5.CompoundOf(h5.Member{Name: "n", Type: ptr(h5.Int(1, 0))}, h5.Member{Name: "v", Type: &vax}, h5.Member{Name: "pair", Type: &three})
		type row struct {
			N    int8       `h5:"n"`
			V    float64    `h5:"v"`
			Pair [2]float64 `h5:"pair"`
		}
		want := []row{{1, exact[0], [2]float64{exact[1], exact[2]}}, {2, exact[3], [2]float64{exact[4], exact[5]}}}
		var raw []byte
		for i, r := range want {
			raw = append(append(raw, byte(r.N)), stored[3*size*i:3*size*(i+1)]...)
		}
		d, err := f.Root().CreateDataset(fmt.Sprint("inside", size), dt, h5.SimpleSpace(2), nil)
		require.NoError(t, err)
		require.NoError(t, d.WriteRegion(raw, dt, region([]int64{0}, []int64{2})))
		got, err := h5value.ReadAll[row](d)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, d.WriteRegion(make([]byte, len(raw)), dt, region([]int64{0}, []int64{2})))
		require.NoError(t, h5value.Write(d, want, h5.All))
		again := make([]byte, len(raw))
		require.NoError(t, d.ReadRegion(again, dt, region([]int64{0}, []int64{2})))
		require.Equal(t, raw, again)
	}
}

// TestQuad_exact checks that a quad without an exact double returns an error in every type that
// contains it. A comparison in C's long double would not detect the loss, because long double
// cannot represent the quad either.
func TestQuad_exact(t *testing.T) {
	quad := h5.Datatype{Class: h5.Float, Size: 16, Precision: 128, Order: h5.LittleEndian,
		Layout: h5.FloatLayout{SignPos: 127, ExpPos: 112, ExpSize: 15, MantSize: 112, ExpBias: 16383}}
	one := new(big.Float).SetPrec(113).SetInt64(1)
	fine := new(big.Float).SetPrec(113).Add(one, new(big.Float).SetMantExp(one, -100))
	tiny := new(big.Float).SetMantExp(one, -16460) // less than the smallest long double
	d := writtenAs(t, newFile(t), "d", quad, []*big.Float{fine, tiny, big.NewFloat(2.5)})
	for i, want := range []error{h5.ErrPrecision, h5.ErrPrecision, nil} {
		at := h5.Points{{int64(i)}}
		f := make([]float64, 1)
		require.ErrorIs(t, h5value.Read(d, f, at), want)
		require.ErrorIs(t, h5value.Read(d, make([]float32, 1), at), want)
		require.ErrorIs(t, h5value.Read(d, make([]int64, 1), at), h5.ErrPrecision)
		require.NoError(t, h5value.ReadLossy(d, f, at))
		require.Equal(t, []float64{1, 0, 2.5}[i], f[0])
	}
	require.ErrorIs(t, d.ReadRegion(make([]byte, 24), h5.IEEEFloat(8, h5.NativeOrder), region([]int64{0}, []int64{3})), h5.ErrType)
	require.NoError(t, h5value.Write(d, []float64{0.1, -7, math.Inf(-1)}, h5.All))
	got, err := h5value.ReadAll[float64](d)
	require.NoError(t, err)
	require.Equal(t, []float64{0.1, -7, math.Inf(-1)}, got)

	// This float has few digits and exponents outside the range of double.
	long := h5.Datatype{Class: h5.Float, Size: 4, Precision: 32, Order: h5.BigEndian,
		Layout: h5.FloatLayout{SignPos: 31, ExpPos: 16, ExpSize: 15, MantSize: 16, ExpBias: 16383}}
	d = writtenAs(t, newFile(t), "d", long, []*big.Float{new(big.Float).SetMantExp(one, 5000)})
	_, err = h5value.ReadAll[float64](d)
	require.ErrorIs(t, err, h5.ErrOverflow)
	_, err = h5value.ReadAll[float32](d)
	require.ErrorIs(t, err, h5.ErrOverflow)
}

// TestQuad_library compares quads with libhdf5, which converts them to and from long double.
func TestQuad_library(t *testing.T) {
	quad := h5.Datatype{Class: h5.Float, Size: 16, Precision: 128, Order: h5.BigEndian,
		Layout: h5.FloatLayout{SignPos: 127, ExpPos: 112, ExpSize: 15, MantSize: 112, ExpBias: 16383}}
	d, err := newFile(t).Root().CreateDataset("d", quad, h5.SimpleSpace(1), nil)
	require.NoError(t, err)
	one := region([]int64{0}, []int64{1})
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.Float64().Draw(rt, "v")
		require.NoError(t, d.WriteRegion(natives(t, v), h5.IEEEFloat(8, h5.NativeOrder), one)) // converted by libhdf5
		got, err := h5value.ReadAll[*big.Float](d)
		require.NoError(t, err)
		require.Zero(t, got[0].Cmp(big.NewFloat(v)))
		back := make([]byte, 16)
		require.NoError(t, d.ReadRegion(back, quad, one))
		require.NoError(t, h5value.Write(d, got, h5.All)) // converted by this package
		again := make([]byte, 16)
		require.NoError(t, d.ReadRegion(again, quad, one))
		require.Equal(t, back, again)
		raw := make([]byte, 8)
		require.NoError(t, d.ReadRegionLossy(raw, h5.IEEEFloat(8, h5.NativeOrder), one)) // converted by libhdf5
		require.Equal(t, natives(t, v), raw)
	})
}

// TestNumber_NormalisationPadding checks every normalisation and padding. A float alone and a float
// in a compound must have the same bytes. If the highest bit of the mantissa is always set, libhdf5
// can only describe the type, so this package converts the values.
func TestNumber_NormalisationPadding(t *testing.T) {
	f := newFile(t)
	rapid.Check(t, func(t *rapid.T) {
		dt := drawFloat(t)
		dt.Layout.Norm = h5.Norm(rapid.IntRange(0, 2).Draw(t, "normalisation"))
		dt.Layout.InnerPad = h5.Padding(rapid.IntRange(0, 1).Draw(t, "inner"))
		dt.LowPad, dt.HighPad = h5.Padding(rapid.IntRange(0, 1).Draw(t, "low")), h5.Padding(rapid.IntRange(0, 1).Draw(t, "high"))
		values := []float64{float64(rapid.Int8Range(-4, 4).Draw(t, "v")) / 2, 1, math.Inf(-1), 0}
		c := h5.CompoundOf(h5.Member{Name: "v", Type: &dt})
		lib, err := f.Root().CreateDataset("lib", dt, h5.SimpleSpace(4), nil)
		require.NoError(t, err)
		ours, err := f.Root().CreateDataset("ours", c, h5.SimpleSpace(4), nil)
		require.NoError(t, err)
		defer func() {
			for name, d := range map[string]*h5.Dataset{"lib": lib, "ours": ours} {
				require.NoError(t, d.Close())
				require.NoError(t, f.Root().Unlink(name))
			}
		}()
		in := make([]inside[float64], len(values))
		for i, v := range values {
			in[i].V = v
		}
		require.NoError(t, h5value.Write(lib, values, h5.All), "%v %+v", dt, dt.Layout)
		require.NoError(t, h5value.Write(ours, in, h5.All))
		a, b := make([]byte, 4*dt.Size), make([]byte, 4*dt.Size)
		require.NoError(t, lib.ReadRegion(a, dt, region([]int64{0}, []int64{4})))
		require.NoError(t, ours.ReadRegion(b, c, region([]int64{0}, []int64{4})))
		require.Equal(t, a, b, "%v %+v", dt, dt.Layout)
		got, err := h5value.ReadAll[float64](lib)
		require.NoError(t, err)
		require.Equal(t, values, got)
		stored, err := lib.Datatype()
		require.NoError(t, err)
		require.True(t, stored.Equal(dt))
	})
}

// TestNumber_wideIntegers checks that integers of more than 64 bits are read as bytes. They are
// never converted to numbers, even if loss of values is allowed.
func TestNumber_wideIntegers(t *testing.T) {
	f := newFile(t)
	for _, dt := range []h5.Datatype{h5.Int(16, h5.LittleEndian), h5.Uint(16, h5.BigEndian), h5.Int(9, h5.LittleEndian)} {
		raw := make([]byte, dt.Size)
		raw[1] = 1
		d := writtenAs(t, f, dt.String(), dt, [][]byte{raw})
		for name, err := range map[string]error{
			"int64": second(h5value.ReadAll[int64](d)), "uint8": second(h5value.ReadAll[uint8](d)), "float64": second(h5value.ReadAll[float64](d)),
			"lossy": h5value.ReadLossy(d, make([]int64, 1), h5.All), "lossy float": h5value.ReadLossy(d, make([]float32, 1), h5.All),
			"write": h5value.Write(d, []int64{1}, h5.All), "write float": h5value.WriteLossy(d, []float64{1}, h5.All),
		} {
			require.ErrorIs(t, err, h5.ErrType, name)
			require.ErrorContains(t, err, fmt.Sprintf("integers of %d bits come as bytes only", dt.Precision), name)
		}
		one := region([]int64{0}, []int64{1})
		require.ErrorIs(t, d.ReadRegionLossy(make([]byte, 8), h5.Int(8, h5.NativeOrder), one), h5.ErrType)
		require.ErrorIs(t, d.WriteRegionLossy(make([]byte, 8), h5.Int(8, h5.NativeOrder), one), h5.ErrType)
		got, err := h5value.ReadAll[[]byte](d)
		require.NoError(t, err)
		require.Equal(t, [][]byte{raw}, got)
	}
}
