package h5value_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// stored creates a dataset of the given type that contains v.
func stored[T any](t testing.TB, f *h5.File, name string, dt h5.Datatype, v []T) *h5.Dataset {
	t.Helper()
	d, err := f.Root().CreateDataset(name, dt, h5.SimpleSpace(int64(len(v))), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, v, region([]int64{0}, []int64{int64(len(v))})))
	return d
}

// TestConvert_bigEndian checks that big-endian numbers are read correctly. Gonum's binding returns
// other numbers (defect 1).
func TestConvert_bigEndian(t *testing.T) {
	f := newFile(t)
	d := stored(t, f, "i", h5.Int(4, h5.BigEndian), []int32{1, 2, 3, -4})
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3, -4}, got)
	raw := make([]byte, 16)
	require.NoError(t, d.ReadRegion(raw, h5.Int(4, h5.BigEndian), region([]int64{0}, []int64{4})))
	require.Equal(t, []byte{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xfc}, raw, "it is stored big-endian")
	d = stored(t, f, "f", h5.IEEEFloat(8, h5.BigEndian), []float64{1.5, math.Inf(1), math.MaxFloat64})
	floats, err := h5value.ReadAll[float64](d)
	require.NoError(t, err)
	require.Equal(t, []float64{1.5, math.Inf(1), math.MaxFloat64}, floats)
}

// TestConvert_Widening checks that numbers are read exactly as a wider type than the stored one.
// Gonum's binding returns garbage (defect 2).
func TestConvert_Widening(t *testing.T) {
	d := stored(t, newFile(t), "d", h5.Int(2, h5.LittleEndian), []int16{1, -2, math.MaxInt16, math.MinInt16})
	got, err := h5value.ReadAll[float64](d)
	require.NoError(t, err)
	require.Equal(t, []float64{1, -2, math.MaxInt16, math.MinInt16}, got)
	wide, err := h5value.ReadAll[int64](d)
	require.NoError(t, err)
	require.Equal(t, []int64{1, -2, math.MaxInt16, math.MinInt16}, wide)
}

// TestShortSlice checks that a slice that is too short returns an error. Gonum's binding writes
// past its end (defect 3).
func TestShortSlice(t *testing.T) {
	v := make([]float64, 1000)
	d := stored(t, newFile(t), "d", h5.IEEEFloat(8, h5.LittleEndian), v)
	all := region([]int64{0}, []int64{1000})
	guard := []float64{7, 7, 7}
	err := h5value.Read(d, guard[:1:1], all)
	require.ErrorIs(t, err, h5.ErrSize)
	require.ErrorContains(t, err, "slice has 1 elements, 1000 selected")
	require.Equal(t, []float64{7, 7, 7}, guard)
	err = d.ReadRegion(make([]byte, 7999), h5.IEEEFloat(8, h5.NativeOrder), all)
	require.ErrorIs(t, err, h5.ErrSize)
	require.ErrorContains(t, err, "buffer has 7999 bytes, 1000 elements of 8 bytes selected")
	require.ErrorIs(t, d.ReadRegion(make([]byte, 8001), h5.IEEEFloat(8, h5.NativeOrder), all), h5.ErrSize)
	require.ErrorIs(t, d.WriteRegion(nil, h5.IEEEFloat(8, h5.NativeOrder), all), h5.ErrSize)
	require.ErrorIs(t, h5value.Write(d, make([]float64, 1001), all), h5.ErrSize)
	got, err := h5value.ReadAll[float64](d)
	require.NoError(t, err)
	require.Equal(t, v, got)
}

func TestRegionsOutside(t *testing.T) {
	d := stored(t, newFile(t), "d", h5.Int(1, h5.LittleEndian), make([]int8, 10))
	for _, r := range []h5.Region{
		region([]int64{0}, []int64{11}),
		region([]int64{10}, []int64{1}),
		region([]int64{11}, []int64{0}),
		region([]int64{-1}, []int64{1}),
		region([]int64{0}, []int64{-1}),
		region([]int64{0, 0}, []int64{1, 1}),
		region(nil, nil),
		region([]int64{0}, nil),
		region([]int64{1}, []int64{math.MaxInt64}),
		{Start: []int64{0}, Count: []int64{4}, Stride: []int64{4}},
		{Start: []int64{0}, Count: []int64{2}, Stride: []int64{math.MaxInt64}},
		{Start: []int64{0}, Count: []int64{2}, Stride: []int64{1}, Block: []int64{2}},
		{Start: []int64{0}, Count: []int64{1}, Block: []int64{0}},
		{Start: []int64{0}, Count: []int64{1}, Block: []int64{math.MaxInt64}},
		{Start: []int64{0}, Count: []int64{1}, Stride: []int64{0}},
		{Start: []int64{0}, Count: []int64{1}, Stride: []int64{1, 1}},
	} {
		n := max(r.NumElems(), 0)
		if n > 100 {
			n = 0
		}
		err := h5value.Read(d, make([]int8, n), r)
		if r.NumElems() > 100 {
			require.ErrorIs(t, d.ReadRegion(nil, h5.Int(1, h5.NativeOrder), r), h5.ErrSize, "%+v", r)
			continue
		}
		require.ErrorIs(t, err, h5.ErrRegion, "%+v", r)
	}
	err := h5value.Read(d, make([]int8, 3), region([]int64{8}, []int64{3}))
	require.ErrorContains(t, err, "out of range: start [8], count [3]; the dataset has the shape [10]")
	require.NoError(t, h5value.Read(d, []int8{}, region([]int64{10}, []int64{0})), "no elements at the end")
}

func TestConvert_StridesBlocks(t *testing.T) {
	v := make([]int32, 8*9)
	for i := range v {
		v[i] = int32(i)
	}
	d := newDataset(t, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(8, 9), &h5.DatasetOptions{ChunkShape: []int64{3, 4}})
	require.NoError(t, h5value.Write(d, v, region([]int64{0, 0}, []int64{8, 9})))
	rapid.Check(t, func(t *rapid.T) {
		var r h5.Region
		var rows, cols []int
		for axis, n := range []int64{8, 9} {
			block := rapid.Int64Range(1, 3).Draw(t, "block")
			stride := block + rapid.Int64Range(0, 2).Draw(t, "gap")
			start := rapid.Int64Range(0, n-block).Draw(t, "start")
			count := rapid.Int64Range(0, (n-start-block)/stride+1).Draw(t, "count")
			r.Start, r.Count = append(r.Start, start), append(r.Count, count)
			r.Stride, r.Block = append(r.Stride, stride), append(r.Block, block)
			var at []int
			for c := range count {
				for b := range block {
					at = append(at, int(start+c*stride+b))
				}
			}
			if axis == 0 {
				rows = at
			} else {
				cols = at
			}
		}
		want := []int32{}
		for _, i := range rows {
			for _, j := range cols {
				want = append(want, int32(9*i+j))
			}
		}
		got := make([]int32, r.NumElems())
		require.NoError(t, h5value.Read(d, got, r))
		require.Equal(t, want, got)
	})
}

// checkLossless compares Read and Write of a random value with exactly.
func checkLossless[S, D int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](
	t *rapid.T, src *h5.Dataset, dst *h5.Dataset, values *rapid.Generator[S],
) {
	v := rapid.SliceOfN(values, 1, 1).Draw(t, "v")
	one := region([]int64{0}, []int64{1})
	require.NoError(t, h5value.Write(src, v, one))
	got := make([]D, 1)
	readErr := h5value.Read(src, got, one)
	require.NoError(t, h5value.Write(dst, []D{1}, one))
	writeErr := h5value.Write(dst, v, one)
	want, class := exactly[S, D](v[0])
	if class != nil {
		require.ErrorIs(t, readErr, class, "read %v as %T", v[0], want)
		require.ErrorIs(t, writeErr, class, "write %v as %T", v[0], want)
		require.NoError(t, h5value.Read(dst, got, one))
		require.Equal(t, []D{1}, got, "no byte was written")
		return
	}
	require.NoError(t, readErr, "read %v as %T", v[0], want)
	require.NoError(t, writeErr, "write %v as %T", v[0], want)
	require.True(t, got[0] == want || want != want && got[0] != got[0], "%v became %v", v[0], got[0])
	require.NoError(t, h5value.Read(dst, got, one))
	require.True(t, got[0] == want || want != want && got[0] != got[0], "%v was written as %v", v[0], got[0])
}

// exactly converts a value with Go's rules and the widest types, and returns the error for a loss.
func exactly[S, D int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](s S) (D, error) {
	var zero D
	half := 0.5
	isFloat := D(half) != zero
	if f := float64(s); isFloat {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return D(s), nil
		}
		d := D(s)
		if math.IsInf(float64(d), 0) {
			return 0, h5.ErrOverflow
		}
		// S(d) overflows for the largest integers, because a float represents them only rounded up.
		if float64(d) >= 18446744073709551616 || (float64(d) >= 9223372036854775808 && S(0)-1 < 0) {
			if S(half) == 0 {
				return 0, h5.ErrPrecision
			}
		}
		if S(d) != s {
			return 0, h5.ErrPrecision
		}
		return d, nil
	}
	// The destination is an integer.
	low, high := limits[D]()
	if S(half) != 0 { // the source is a float
		f := float64(s)
		if f != f || f >= high || f < low {
			if f > low-1 && f < low { // truncated towards zero, the value would fit
				return 0, h5.ErrPrecision
			}
			return 0, h5.ErrOverflow
		}
		if f != math.Trunc(f) {
			return 0, h5.ErrPrecision
		}
		return D(s), nil
	}
	d := D(s)
	if S(d) != s || (d < 0) != (s < 0) {
		return 0, h5.ErrOverflow
	}
	return d, nil
}

// limits returns the minimum of an integer type and its maximum plus one.
func limits[D any]() (float64, float64) {
	var d D
	switch any(d).(type) {
	case int8:
		return -128, 128
	case int16:
		return -32768, 32768
	case int32:
		return -2147483648, 2147483648
	case int64:
		return -9223372036854775808, 9223372036854775808
	case uint8:
		return 0, 256
	case uint16:
		return 0, 65536
	case uint32:
		return 0, 4294967296
	default:
		return 0, 18446744073709551616
	}
}

func floats() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Int64(), func(i int64) float64 { return float64(i) / 2 }),
		rapid.Map(rapid.Float32(), func(f float32) float64 { return float64(f) }),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-300, 3.5e38,
			1 << 24, 1<<24 + 1, 1 << 53, 1 << 63, 1 << 64, -1 << 63, -0.5, 255.5}))
}

func TestConvert_Exact(t *testing.T) {
	f := newFile(t)
	i64 := rapid.OneOf(rapid.Int64(), rapid.Map(rapid.Int16(), func(i int16) int64 { return int64(i) }),
		rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, 1 << 53, 1<<53 + 1, 1 << 24, 1<<24 + 1, -1}))
	u64 := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{math.MaxUint64, 1 << 63, math.MaxUint64 - 1023}))
	for _, order := range []h5.Order{h5.LittleEndian, h5.BigEndian} {
		one := func(name string, dt h5.Datatype) *h5.Dataset {
			d, err := f.Root().CreateDataset(order.String()+name, dt, h5.SimpleSpace(1), nil)
			require.NoError(t, err)
			return d
		}
		si64, su64 := one("i64", h5.Int(8, order)), one("u64", h5.Uint(8, order))
		sf64, sf32 := one("f64", h5.IEEEFloat(8, order)), one("f32", h5.IEEEFloat(4, order))
		si8, su8, si32 := one("i8", h5.Int(1, order)), one("u8", h5.Uint(1, order)), one("i32", h5.Int(4, order))
		sf32b, si64b := one("f32b", h5.IEEEFloat(4, order)), one("i64b", h5.Int(8, order))
		t.Run(order.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				checkLossless[int64, int8](t, si64, si8, i64)
				checkLossless[int64, int32](t, si64, si32, i64)
				checkLossless[int64, uint64](t, si64, su64, i64)
				checkLossless[int64, float64](t, si64, sf64, i64)
				checkLossless[int64, float32](t, si64, sf32, i64)
				checkLossless[uint64, int64](t, su64, si64, u64)
				checkLossless[uint64, float64](t, su64, sf64, u64)
				checkLossless[uint64, uint8](t, su64, su8, u64)
				checkLossless[float64, float32](t, sf64, sf32, floats())
				checkLossless[float64, int64](t, sf64, si64, floats())
				checkLossless[float64, uint64](t, sf64, su64, floats())
				checkLossless[float64, int8](t, sf64, si8, floats())
				checkLossless[float64, uint8](t, sf64, su8, floats())
				checkLossless[float32, float64](t, sf32b, sf64, rapid.Float32())
				checkLossless[float32, int64](t, sf32b, si64b, rapid.Float32())
			})
		})
	}
}

func TestConvert_Lossy(t *testing.T) {
	f := newFile(t)
	d := stored(t, f, "d", h5.IEEEFloat(8, h5.LittleEndian), []float64{1.5, 300, -1})
	all := region([]int64{0}, []int64{3})
	got := make([]uint8, 3)
	err := h5value.Read(d, got, all)
	require.ErrorIs(t, err, h5.ErrPrecision)
	require.ErrorContains(t, err, "element 0: value would lose precision: 1.5 as a whole number")
	err = h5value.Read(d, got[:2], region([]int64{1}, []int64{2}))
	require.ErrorIs(t, err, h5.ErrOverflow)
	require.ErrorContains(t, err, "element 0: value out of range: 300 in uint8")
	require.NoError(t, h5value.ReadLossy(d, got, all))
	require.Equal(t, []uint8{1, 255, 0}, got)
	small, err := f.Root().CreateDataset("small", h5.Int(1, h5.LittleEndian), h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	require.ErrorIs(t, h5value.Write(small, []float64{1, 2, 1000}, all), h5.ErrOverflow)
	require.NoError(t, h5value.WriteLossy(small, []float64{1.9, 2, 1000}, all))
	values, err := h5value.ReadAll[int8](small)
	require.NoError(t, err)
	require.Equal(t, []int8{1, 2, 127}, values)
}

func TestConvert_incompatibleTypes(t *testing.T) {
	f := newFile(t)
	number := stored(t, f, "n", h5.Int(4, h5.LittleEndian), []int32{1, 2})
	all := region([]int64{0}, []int64{2})
	text, err := f.Root().CreateDataset("t", h5.FixedString(4, h5.NullPad, h5.ASCII), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	variable, err := f.Root().CreateDataset("v", h5.VariableString(h5.UTF8), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	boolean := stored(t, f, "b", h5value.Bool(), []bool{true, false})

	_, err = readStrings(number, all)
	require.ErrorIs(t, err, h5.ErrType)
	require.ErrorIs(t, h5value.Write(number, []string{"a", "b"}, all), h5.ErrType)
	require.ErrorIs(t, h5value.Read(text, make([]int32, 2), all), h5.ErrType)
	require.ErrorIs(t, h5value.Read(variable, make([]int64, 2), all), h5.ErrType)
	require.ErrorIs(t, h5value.Read(number, make([]bool, 2), all), h5.ErrType)
	require.ErrorIs(t, h5value.Write(boolean, []int8{1, 2}, all), h5.ErrOverflow, "2 is no member")
	require.ErrorIs(t, text.ReadRegion(make([]byte, 6), h5.FixedString(3, h5.NullPad, h5.ASCII), all), h5.ErrType)
	require.ErrorIs(t, variable.ReadRegion(nil, h5.VariableString(h5.UTF8), all), h5.ErrType)
	numbers := make([]int8, 2)
	require.NoError(t, h5value.Read(boolean, numbers, all), "an enumeration is a number to read")
	require.Equal(t, []int8{1, 0}, numbers)
}

func TestBools(t *testing.T) {
	d := stored(t, newFile(t), "b", h5value.Bool(), []bool{true, false, true})
	got, err := h5value.ReadAll[bool](d)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true}, got)
	// A byte other than 0 and 1 must not be stored in a Go bool.
	require.NoError(t, d.WriteRegion([]byte{2}, h5value.Bool(), region([]int64{1}, []int64{1})))
	_, err = h5value.ReadAll[bool](d)
	require.ErrorIs(t, err, h5.ErrOverflow)
}

func TestConvert_ScalarNull(t *testing.T) {
	f := newFile(t)
	s, err := f.Root().CreateDataset("s", h5.IEEEFloat(8, h5.LittleEndian), h5.ScalarSpace(), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(s, []float64{2.5}, h5.Region{}))
	got, err := h5value.ReadAll[float64](s)
	require.NoError(t, err)
	require.Equal(t, []float64{2.5}, got)
	n, err := f.Root().CreateDataset("n", h5.IEEEFloat(8, h5.LittleEndian), h5.NullSpace(), nil)
	require.NoError(t, err)
	got, err = h5value.ReadAll[float64](n)
	require.NoError(t, err)
	require.Empty(t, got)
	require.ErrorIs(t, h5value.Read(n, make([]float64, 1), h5.Region{}), h5.ErrRegion)
}

// TestReadAll_hugeShape checks that ReadAll does not allocate memory for a huge shape. A file can
// have any shape without storing elements.
func TestReadAll_hugeShape(t *testing.T) {
	d := newDataset(t, h5.Int(1, h5.LittleEndian), h5.SimpleSpace(1<<40), &h5.DatasetOptions{ChunkShape: []int64{1 << 20}})
	_, err := h5value.ReadAll[int8](d)
	require.ErrorIs(t, err, h5.ErrSize)
	got := []int8{1}
	require.NoError(t, h5value.Read(d, got, region([]int64{1<<40 - 1}, []int64{1})))
	require.Equal(t, []int8{0}, got)
}

func TestRead_overflow(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "a.h5"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	d, err := f.Root().CreateDataset("d", h5.Int(2, h5.LittleEndian), h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, h5value.Write(d, []int16{1, 300, 2}, h5.All))

	err = h5value.Read(d, make([]uint8, 3), h5.All)
	require.ErrorIs(t, err, h5.ErrOverflow)
	require.ErrorContains(t, err, "element 1: ")
	require.ErrorContains(t, err, "300")
	err = h5value.Write(d, []int32{1, 2, 70000}, h5.All)
	require.ErrorIs(t, err, h5.ErrOverflow)
	require.ErrorContains(t, err, "element 2: ")
	require.ErrorContains(t, err, "70000")
	err = h5value.Write(d, []float64{1, 2.5, 3}, h5.All)
	require.ErrorIs(t, err, h5.ErrPrecision)
	require.ErrorContains(t, err, "element 1: ")
	require.ErrorContains(t, err, "2.5")

	got, err := h5value.ReadAll[int16](d)
	require.NoError(t, err)
	require.Equal(t, []int16{1, 300, 2}, got, "unchanged")
}

// TestEncode_bits checks that numbers in structs keep their bits if they are stored as in memory.
func TestEncode_bits(t *testing.T) {
	type record struct {
		A, B  float64
		Names [2]string
		Parts [2]struct{ C, D float32 }
		Z     complex64
	}
	dt, err := h5value.DatatypeFor[record]()
	require.NoError(t, err)
	var in record
	nan, negative := uint64(0x7ff8000000001234), math.Copysign(0, -1)
	in.A, in.B, in.Names = math.Float64frombits(nan), negative, [2]string{"a", "b"}
	in.Parts[1].D, in.Z = math.Float32frombits(0x7fc01234), complex(1, 2)
	v, err := h5value.Encode(dt, []record{in, {}, in})
	require.NoError(t, err)
	out, err := h5value.Decode[record](v)
	require.NoError(t, err)
	require.Equal(t, nan, math.Float64bits(out[2].A))
	require.Equal(t, math.Float64bits(negative), math.Float64bits(out[2].B))
	require.Equal(t, uint32(0x7fc01234), math.Float32bits(out[2].Parts[1].D))
	require.Equal(t, in.Z, out[2].Z)
	require.Equal(t, in.Names, out[2].Names)
	require.Equal(t, record{}, out[1])
}
