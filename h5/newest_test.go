// Tests of the datatypes that HDF5 2 introduced: small floats, which older libraries can also read
// because their class is an existing one, and the new class of complex numbers.

package h5_test

import (
	"encoding/binary"
	"math"
	"math/cmplx"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// smallFloats are HDF5 2's predefined small floats (H5T_FLOAT_…), each with its datatype and a
// function that returns the value of a code. The functions use independent arithmetic: truncated
// float32 and sums of powers of two.
var smallFloats = map[string]struct {
	dt    h5.Datatype
	value func(code uint16) float64
}{
	"FLOAT_BFLOAT16LE": {smallFloat(2, h5.LittleEndian, 8, 7, 127), bfloat16},
	"FLOAT_BFLOAT16BE": {smallFloat(2, h5.BigEndian, 8, 7, 127), bfloat16},
	"FLOAT_F8E5M2": {smallFloat(1, h5.LittleEndian, 5, 2, 15), func(code uint16) float64 {
		if code>>2&31 == 31 {
			return map[bool]float64{true: math.Inf(1 - int(code>>7)*2), false: math.NaN()}[code&3 == 0]
		}
		return sumOfBits(code, 5, 2, 15)
	}},
	"FLOAT_F8E4M3": {smallFloat(1, h5.LittleEndian, 4, 3, 7), func(code uint16) float64 {
		if code&127 == 127 {
			return math.NaN()
		}
		return sumOfBits(code, 4, 3, 7)
	}},
}

func smallFloat(size int, order h5.Order, exp, mant int, bias uint64) h5.Datatype {
	return h5.Datatype{Class: h5.Float, Size: size, Order: order, Precision: 8 * size,
		Layout: h5.FloatLayout{SignPos: 8*size - 1, ExpPos: mant, ExpSize: exp, MantSize: mant, ExpBias: bias}}
}

func bfloat16(code uint16) float64 { return float64(math.Float32frombits(uint32(code) << 16)) }

func sumOfBits(code uint16, exp, mant, bias int) float64 {
	e := int(code>>mant) & (1<<exp - 1)
	v := 0.0
	if e > 0 {
		v = math.Ldexp(1, e-bias)
	}
	for i := range mant {
		if code>>i&1 != 0 {
			v += math.Ldexp(1, max(e, 1)-bias-mant+i)
		}
	}
	return math.Copysign(v, 1-2*float64(code>>(exp+mant)))
}

// codes returns all values of a small float as bytes in its byte order.
func codes(dt h5.Datatype) []byte {
	b := make([]byte, 0, dt.Size<<(8*dt.Size))
	for code := range 1 << (8 * dt.Size) {
		switch {
		case dt.Size == 1:
			b = append(b, byte(code))
		case dt.Order == h5.BigEndian:
			b = binary.BigEndian.AppendUint16(b, uint16(code))
		default:
			b = binary.LittleEndian.AppendUint16(b, uint16(code))
		}
	}
	return b
}

// TestSmallFloats checks that every code of every type is read exactly, alone and in a compound,
// and that writing the value restores the same bytes.
func TestSmallFloats(t *testing.T) {
	for name, tt := range smallFloats {
		raw := codes(tt.dt)
		n := len(raw) / tt.dt.Size
		for _, dt := range []h5.Datatype{tt.dt, h5.CompoundOf(h5.Member{Name: "v", Type: &tt.dt})} {
			d, err := newFile(t).Root().CreateDataset("d", dt, h5.SimpleSpace(int64(n)), nil)
			require.NoError(t, err, name)
			whole := region([]int64{0}, []int64{int64(n)})
			require.NoError(t, d.WriteRegion(raw, dt, whole))
			info, err := d.Info()
			require.NoError(t, err)
			require.True(t, info.Datatype.Equal(dt), "%s: %v", name, info.Datatype)
			got := readSmall(t, d, dt)
			for code, v := range got {
				want := tt.value(uint16(code))
				require.True(t, math.Float64bits(v) == math.Float64bits(want) || v != v && want != want, "%s %#x: %v, want %v", name, code, v, want)
			}
			writeSmall(t, d, dt, got)
			back := make([]byte, len(raw))
			require.NoError(t, d.ReadRegion(back, dt, whole))
			for code, v := range got {
				if v == v { // NaN has several codes, and any of them is correct
					at := code * tt.dt.Size
					require.Equal(t, raw[at:at+tt.dt.Size], back[at:at+tt.dt.Size], "%s %#x", name, code)
				}
			}
		}
	}
}

func readSmall(t *testing.T, d *h5.Dataset, dt h5.Datatype) []float64 {
	t.Helper()
	if dt.Class != h5.Compound {
		got, err := h5value.ReadAll[float64](d)
		require.NoError(t, err)
		return got
	}
	records, err := h5value.ReadAll[inside[float64]](d)
	require.NoError(t, err)
	got := make([]float64, len(records))
	for i, r := range records {
		got[i] = r.V
	}
	return got
}

func writeSmall(t *testing.T, d *h5.Dataset, dt h5.Datatype, values []float64) {
	t.Helper()
	if dt.Class != h5.Compound {
		require.NoError(t, h5value.Write(d, values, h5.All))
		return
	}
	records := make([]inside[float64], len(values))
	for i, v := range values {
		records[i].V = v
	}
	require.NoError(t, h5value.Write(d, records, h5.All))
}

// TestSmallFloatsRound checks numbers between two codes. Write must return an error, and WriteLossy
// must round to the nearest code. In a compound, ties must be rounded to the even code. Alone,
// where libhdf5 does most conversions, either code is accepted, and numbers below the least normal
// number follow the documentation of WriteLossy.
func TestSmallFloatsRound(t *testing.T) {
	for name, tt := range smallFloats {
		f := newFile(t)
		d, err := f.Root().CreateDataset("d", tt.dt, h5.SimpleSpace(1), nil)
		require.NoError(t, err)
		c, err := f.Root().CreateDataset("c", h5.CompoundOf(h5.Member{Name: "v", Type: &tt.dt}), h5.SimpleSpace(1), nil)
		require.NoError(t, err)
		var finite []float64
		for code := range uint16(1) << (8*tt.dt.Size - 1) {
			if v := tt.value(code); v == v && !math.IsInf(v, 0) {
				finite = append(finite, v) // ascending
			}
		}
		top := finite[len(finite)-1]
		normal := math.Ldexp(1, 1-int(tt.dt.Layout.ExpBias))
		rapid.Check(t, func(t *rapid.T) {
			v := rapid.Float64Range(0, top).Draw(t, "v")
			if rapid.Bool().Draw(t, "middle") {
				i := rapid.IntRange(0, len(finite)-2).Draw(t, "i")
				v = (finite[i] + finite[i+1]) / 2
			}
			sign := rapid.SampledFrom([]float64{1, -1}).Draw(t, "sign")
			i, exact := slices.BinarySearch(finite, v)
			even, nearest := finite[i], finite[i:i+1]
			if !exact {
				switch below, above := v-finite[i-1], finite[i]-v; {
				case below == above:
					nearest, even = finite[i-1:i+1], finite[i-i%2]
				case below < above:
					nearest, even = finite[i-1:i], finite[i-1]
				}
				require.ErrorIs(t, h5value.Write(d, []float64{sign * v}, h5.All), h5.ErrPrecision, "%s %v", name, v)
			}
			require.NoError(t, h5value.WriteLossy(d, []float64{sign * v}, h5.All))
			got, err := h5value.ReadAll[float64](d)
			require.NoError(t, err)
			if v >= normal {
				require.Contains(t, nearest, sign*got[0], "%s %v", name, sign*v)
			}
			require.NoError(t, h5value.WriteLossy(c, []inside[float64]{{sign * v}}, h5.All))
			in, err := h5value.ReadAll[inside[float64]](c)
			require.NoError(t, err)
			require.Equal(t, sign*even, in[0].V, "%s %v", name, sign*v)
		})
		require.ErrorIs(t, h5value.Write(d, []float64{2 * top}, h5.All), h5.ErrOverflow, name)
	}
}

// newestScript writes one dataset of each type with the HDF5 2 of h5py: every code of the small
// floats, and complex numbers.
const newestScript = `
import ctypes, glob, os, sys
import h5py, numpy as np
found = glob.glob(os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs", "libhdf5-*"))
if h5py.version.hdf5_version_tuple < (2, 0, 0) or not found:
    print("no HDF5 2")
    sys.exit()
lib = ctypes.CDLL(found[0])
with h5py.File(sys.argv[1], "w") as f:
    for name in sys.argv[2:]:
        t = h5py.h5i.wrap_identifier(ctypes.c_int64.in_dll(lib, "H5T_%s_g" % name).value).copy()
        n = 256 ** t.get_size() if name.startswith("FLOAT") else 3
        d = h5py.h5d.create(f.id, name.encode(), t, h5py.h5s.create_simple((n,)))
        if name.startswith("FLOAT"):
            raw = np.arange(n, dtype={1: "u1", 2: ">u2" if name.endswith("BE") else "<u2"}[t.get_size()])
        else:
            raw = np.array([1 + 2j, -0.5j, complex(np.inf, 0)], dtype=(">" if name.endswith("BE") else "<") + "c%d" % t.get_size()) if t.get_size() > 4 else np.array([1, 2, 0, -0.5, np.inf, 0], dtype=(">" if name.endswith("BE") else "<") + "f2")
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, raw, t)
`

// complexBases are the base types of HDF5 2's predefined complex numbers.
var complexBases = map[string]h5.Datatype{
	"COMPLEX_IEEE_F16LE": h5.IEEEFloat(2, h5.LittleEndian), "COMPLEX_IEEE_F16BE": h5.IEEEFloat(2, h5.BigEndian),
	"COMPLEX_IEEE_F32LE": h5.IEEEFloat(4, h5.LittleEndian), "COMPLEX_IEEE_F32BE": h5.IEEEFloat(4, h5.BigEndian),
	"COMPLEX_IEEE_F64LE": h5.IEEEFloat(8, h5.LittleEndian), "COMPLEX_IEEE_F64BE": h5.IEEEFloat(8, h5.BigEndian),
}

// TestNewest_types checks that files with HDF5 2's predefined types can be read with any linked
// libhdf5. Complex numbers need a release with the class.
func TestNewest_types(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	args := []string{path}
	for name := range smallFloats {
		args = append(args, name)
	}
	for name := range complexBases {
		args = append(args, name)
	}
	if out := python(t, newestScript, args...); out != "" {
		testenv.Missing(t, "h5py has %s", out)
	}
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	for name, tt := range smallFloats {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err, name)
		info, err := d.Info()
		require.NoError(t, err)
		require.True(t, info.Datatype.Equal(tt.dt), "%s: %+v", name, info.Datatype)
		for code, v := range readSmall(t, d, tt.dt) {
			want := tt.value(uint16(code))
			require.True(t, v == want || v != v && want != want, "%s %#x: %v, want %v", name, code, v, want)
		}
		natural, err := h5value.ReadAll[any](d)
		require.NoError(t, err)
		require.IsType(t, float32(0), natural[0], name)
		require.NoError(t, d.Close())
	}
	for name, base := range complexBases {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err, name)
		info, err := d.Info()
		require.NoError(t, err)
		require.Equal(t, h5.Complex, info.Datatype.Class)
		require.True(t, info.Datatype.Base.Equal(base), "%s: %+v", name, info.Datatype.Base)
		got, err := h5value.ReadAll[complex128](d)
		require.NoError(t, err)
		require.Equal(t, []complex128{1 + 2i, complex(0, -0.5), complex(math.Inf(1), 0)}, got, name)
		require.NoError(t, d.Close())
	}
}

// TestNativeComplex checks that complex numbers are equal after a write and a read.
func TestNativeComplex(t *testing.T) {
	for name, base := range complexBases {
		dt := h5.Datatype{Class: h5.Complex, Size: 2 * base.Size, Base: &base}
		f := newFile(t)
		values := []complex128{0, 1 - 1i, complex(-0.5, 1024), cmplx.Inf()}
		d, err := f.Root().CreateDataset("d", dt, h5.SimpleSpace(int64(len(values))), nil)
		require.NoError(t, err, name)
		require.NoError(t, h5value.Write(d, values, h5.All))
		got, err := h5value.ReadAll[complex128](d)
		require.NoError(t, err)
		require.Equal(t, values, got, name)
		narrow, err := h5value.ReadAll[complex64](d)
		require.NoError(t, err, "every value is a complex64")
		require.Equal(t, complex64(values[2]), narrow[2])
		_, err = h5value.ReadAll[float64](d)
		require.ErrorIs(t, err, h5.ErrType)
		if base.Size < 8 {
			require.ErrorIs(t, h5value.Write(d, []complex128{complex(0.1, 0), 0, 0, 0}, h5.All), h5.ErrPrecision, name)
		}
		raw := make([]byte, len(values)*dt.Size)
		require.NoError(t, d.ReadRegion(raw, dt, region([]int64{0}, []int64{int64(len(values))})))
		require.True(t, slices.Contains(raw, 0x3c) || base.Size > 2, "1 as a float16")

		records, err := f.Root().CreateDataset("c", h5.CompoundOf(h5.Member{Name: "v", Type: &dt}), h5.SimpleSpace(1), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(records, []inside[complex128]{{values[2]}}, h5.All))
		in, err := h5value.ReadAll[inside[complex128]](records)
		require.NoError(t, err)
		require.Equal(t, values[2], in[0].V)
	}
}
