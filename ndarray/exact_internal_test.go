package ndarray

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExactSumCarries checks that words close to their limit are carried before they overflow, and
// that the sum does not change.
func TestExactSumCarries(t *testing.T) {
	for _, full := range []int64{math.MaxInt64>>1 - 1<<33, math.MinInt64>>1 + 1<<33} {
		s := exactSum{words: make([]int64, 6), added: 1<<30 - 3}
		for i := range 4 {
			s.words[i] = full
		}
		want := s.big()
		for i := range 5 {
			e := 7 * i
			s.addOrSub(full < 0, math.MaxUint64, e)
			more := new(big.Int).Lsh(new(big.Int).SetUint64(math.MaxUint64), uint(e))
			if full < 0 {
				more.Neg(more)
			}
			require.Zero(t, s.big().Cmp(want.Add(want, more)))
		}
		require.Less(t, s.added, 10)
		require.LessOrEqual(t, s.words[1], int64(4)<<32)
		o := exactSum{words: make([]int64, 6)}
		o.addOrSub(true, 12345, 31)
		s.join(&o)
		require.Zero(t, s.big().Cmp(want.Sub(want, big.NewInt(12345<<31))))
	}
}
