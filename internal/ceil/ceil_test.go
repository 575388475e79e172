package ceil_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/ceil"
)

var numbers = []int64{0, 1, 2, 3, 7, 1 << 20, 1<<20 + 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}

func TestDiv(t *testing.T) {
	for _, n := range numbers {
		for _, d := range numbers[1:] {
			sum := new(big.Int).Add(big.NewInt(n), big.NewInt(d-1))
			want := sum.Div(sum, big.NewInt(d))
			require.Equal(t, want.Int64(), ceil.Div(n, d), "%d/%d", n, d)
		}
	}
	require.Zero(t, ceil.Div(0, 0))
	require.EqualValues(t, math.MaxInt32, ceil.Div(int32(math.MaxInt32), 1))
	require.EqualValues(t, 2, ceil.Div(uint64(math.MaxUint64), uint64(math.MaxUint64-1)))
}

func TestMultiple(t *testing.T) {
	for _, n := range numbers {
		for _, d := range numbers[1:] {
			for _, limit := range numbers {
				want := new(big.Int).Mul(big.NewInt(ceil.Div(n, d)), big.NewInt(d))
				if most := big.NewInt(limit); want.Cmp(most) > 0 {
					want = most
				}
				require.Equal(t, want.Int64(), ceil.Multiple(n, d, limit), "%d up to a multiple of %d, at most %d", n, d, limit)
			}
		}
	}
}
