package numbers_test

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/numbers"
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
