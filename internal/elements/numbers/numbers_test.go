package numbers_test

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
)

// value returns the exact value of a number, or nil for infinities and NaN.
func value(k numbers.Kind, b []byte) *big.Float {
	var word uint64
	switch k.Size() {
	case 1:
		word = uint64(b[0])
	case 2:
		word = uint64(binary.NativeEndian.Uint16(b))
	case 4:
		word = uint64(binary.NativeEndian.Uint32(b))
	default:
		word = binary.NativeEndian.Uint64(b)
	}
	f := 0.0
	switch {
	case k == numbers.Float32:
		f = float64(math.Float32frombits(uint32(word)))
	case k == numbers.Float64:
		f = math.Float64frombits(word)
	case k >= numbers.Uint8:
		return new(big.Float).SetUint64(word)
	default:
		free := 64 - 8*k.Size()
		return new(big.Float).SetInt64(int64(word<<free) >> free)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return big.NewFloat(f)
}

// TestLoopOf checks that a loop reports a value as unchanged exactly if both numbers have the same
// value.
func TestLoopOf(t *testing.T) {
	kinds := rapid.Map(rapid.IntRange(0, int(numbers.Float64)), func(k int) numbers.Kind { return numbers.Kind(k) })
	bytes := rapid.SampledFrom([]byte{0, 1, 0x3f, 0x43, 0x7e, 0x7f, 0x80, 0xbf, 0xc3, 0xff})
	rapid.Check(t, func(t *rapid.T) {
		from, to := kinds.Draw(t, "from"), kinds.Draw(t, "to")
		src := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), bytes), from.Size(), from.Size()).Draw(t, "element")
		dst := make([]byte, to.Size())
		same := numbers.LoopOf(to, from)(dst, src)
		x, y := value(from, src), value(to, dst)
		if x == nil { // infinity or NaN, which only floats have
			require.Equal(t, to >= numbers.Float32, same)
			return
		}
		require.Equal(t, same, y != nil && x.Cmp(y) == 0, "%v becomes %v", x, y)
		if to.Holds(from) {
			require.True(t, same)
		}
		if !same && to >= numbers.Float32 { // rounded to nearest
			want := make([]byte, to.Size())
			if to == numbers.Float32 {
				f, _ := x.Float32()
				binary.NativeEndian.PutUint32(want, math.Float32bits(f))
			} else {
				f, _ := x.Float64()
				binary.NativeEndian.PutUint64(want, math.Float64bits(f))
			}
			require.Equal(t, want, dst)
		}
	})
}

// TestFormat_Load_nan checks that the sign and the highest bits of a NaN stay.
func TestFormat_Load_nan(t *testing.T) {
	half := numbers.Format{Float: true, Size: 2, Precision: 16, Layout: numbers.Layout{SignPos: 15, ExpPos: 10, ExpSize: 5, MantSize: 10, Bias: 15, Implied: true}}
	for _, word := range []uint16{0x7e00, 0xfe00, 0x7c01, 0xfdff} {
		got, err := half.Load(binary.LittleEndian.AppendUint16(nil, word)).Float64(true)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(numbers.Half(word)), math.Float64bits(got), "%#x", word)
	}
	x87 := numbers.Format{Float: true, Size: 10, Precision: 80, Layout: numbers.X87}
	for _, tt := range []struct{ src, want string }{
		{"\x01\x00\x00\x00\x00\x00\x00\x80\xff\xff", "fff8000000000000"}, // only the lowest bit
		{"\x00\x08\x00\x00\x00\x00\x00\x80\xff\x7f", "7ff0000000000001"},
	} {
		got, err := x87.Load([]byte(tt.src)).Float64(true)
		require.NoError(t, err)
		require.Equal(t, tt.want, strconv.FormatUint(math.Float64bits(got), 16))
	}
}

// TestNearest compares each value with the nearest one that exact arithmetic finds.
func TestNearest(t *testing.T) {
	kinds := rapid.Map(rapid.IntRange(0, int(numbers.Float64)), func(k int) numbers.Kind { return numbers.Kind(k) })
	bytes := rapid.SampledFrom([]byte{0, 1, 0x3f, 0x43, 0x7e, 0x7f, 0x80, 0xbf, 0xc3, 0xef, 0xff})
	rapid.Check(t, func(t *rapid.T) {
		from, to := kinds.Draw(t, "from"), kinds.Draw(t, "to")
		src := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), bytes), from.Size(), from.Size()).Draw(t, "element")
		r := numbers.Rules{Round: rapid.Bool().Draw(t, "round"), Clip: rapid.Bool().Draw(t, "clip")}
		dst := make([]byte, to.Size())
		c, bad := numbers.Nearest(dst, to, src, from, r)
		if same := numbers.LoopOf(to, from)(make([]byte, to.Size()), src); same {
			require.Equal(t, -1, bad)
			require.Zero(t, c)
			return
		}
		require.LessOrEqual(t, c.Rounded+c.Clipped, int64(1))
		require.Equal(t, bad == -1, c.Rounded+c.Clipped == 1)
		if !r.Round && !r.Clip {
			require.Zero(t, bad)
			return
		}
		if bad >= 0 {
			return
		}
		x, y := value(from, src), value(to, dst)
		require.NotNil(t, y, "a changed value is finite")
		if x == nil { // an infinity
			require.Equal(t, int64(1), c.Clipped)
			return
		}
		// No neighbour of the result is nearer.
		distance := func(v *big.Float) *big.Float { d := new(big.Float).Sub(v, x); return d.Abs(d) }
		for _, step := range []int{-1, 1} {
			next := neighbour(to, dst, step)
			if v := value(to, next); v != nil {
				require.LessOrEqual(t, distance(y).Cmp(distance(v)), 0, "%v: got %v, %v is nearer", x, y, v)
			}
		}
	})
}

// neighbour returns the next value of a kind above or below a number, or the number itself at the
// end of the range.
func neighbour(k numbers.Kind, b []byte, step int) []byte {
	out := make([]byte, len(b))
	switch {
	case k == numbers.Float32:
		v := math.Float32frombits(binary.NativeEndian.Uint32(b))
		binary.NativeEndian.PutUint32(out, math.Float32bits(math.Nextafter32(v, float32(math.Inf(step)))))
		return out
	case k == numbers.Float64:
		v := math.Float64frombits(binary.NativeEndian.Uint64(b))
		binary.NativeEndian.PutUint64(out, math.Float64bits(math.Nextafter(v, math.Inf(step))))
		return out
	}
	var wide [8]byte
	copy(wide[:], b)
	n := binary.NativeEndian.Uint64(wide[:]) + uint64(step) // a little-endian machine
	binary.NativeEndian.PutUint64(wide[:], n)
	copy(out, wide[:])
	if x, y := value(k, b), value(k, out); (y.Cmp(x) > 0) != (step > 0) {
		copy(out, b)
	}
	return out
}
