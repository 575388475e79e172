package grid_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/grid"
)

var numbers = []int64{0, 1, 2, 3, 7, 1 << 20, 1<<20 + 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}

func TestDivUp(t *testing.T) {
	for _, n := range numbers {
		for _, d := range numbers[1:] {
			sum := new(big.Int).Add(big.NewInt(n), big.NewInt(d-1))
			want := sum.Div(sum, big.NewInt(d))
			require.Equal(t, want.Int64(), grid.DivUp(n, d), "%d/%d", n, d)
		}
	}
	require.Zero(t, grid.DivUp(0, 0))
	require.EqualValues(t, math.MaxInt32, grid.DivUp(int32(math.MaxInt32), 1))
	require.EqualValues(t, 2, grid.DivUp(uint64(math.MaxUint64), uint64(math.MaxUint64-1)))
}

func TestRoundUp(t *testing.T) {
	for _, n := range numbers {
		for _, d := range numbers[1:] {
			for _, limit := range numbers {
				want := new(big.Int).Mul(big.NewInt(grid.DivUp(n, d)), big.NewInt(d))
				if most := big.NewInt(limit); want.Cmp(most) > 0 {
					want = most
				}
				require.Equal(t, want.Int64(), grid.RoundUp(n, d, limit), "%d up to a multiple of %d, at most %d", n, d, limit)
			}
		}
	}
}

func TestGCD(t *testing.T) {
	for _, a := range numbers {
		for _, b := range numbers {
			want := new(big.Int).GCD(nil, nil, big.NewInt(a), big.NewInt(b))
			require.Equal(t, want.Int64(), grid.GCD(a, b), "%d and %d", a, b)
		}
	}
}
