package chunked

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAxis_extremeShape checks the chunks and elements of strided regions that end at the limit of
// a maximum shape.
func TestAxis_extremeShape(t *testing.T) {
	const shape = math.MaxInt64
	for _, r := range []struct{ start, count, stride, block int64 }{
		{0, 2, 1<<62 + 5, 1},
		{0, 2, 1<<62 + 5, 3},
		{7, 2, shape - 8, 1},
		{0, 3, 1<<62 - 1, 1},
		{shape - 10, 4, 3, 1},
		{shape - 10, 3, 4, 2},
		{1, 2, 1 << 62, 1<<20 + 1},
		{5, 1, 1, 1 << 21},
		{shape - 1, 1, shape, 1},
	} {
		for _, chunk := range []int64{1, 5, 1 << 20, 1<<20 + 7, 1 << 62} {
			c, ok := NewAxis(r.start, r.count, r.stride, r.block, shape)
			require.True(t, ok, "%v", r)
			if chunk < 1000 && r.block > 1000 {
				continue // millions of chunks
			}
			c.over(chunk)
			elements, before := int64(0), int64(-1)
			for k := range c.touched {
				number := c.at(k)
				require.Greater(t, number, before, "%v chunk %d", r, chunk)
				before = number
				lo := number * chunk
				hi := lo + min(chunk, shape-lo)
				var got row
				start, span, count, skipped := c.inside(lo, hi, &got)
				require.Equal(t, elements, skipped, "%v chunk %d of %d", r, number, chunk)
				want, first, last := slow(r.start, r.count, r.stride, r.block, lo, hi)
				require.Equal(t, want, count, "%v chunk %d of %d", r, number, chunk)
				require.Equal(t, first, start, "%v chunk %d of %d", r, number, chunk)
				require.Equal(t, last-first+1, span, "%v chunk %d of %d", r, number, chunk)
				sum := int64(0)
				for _, b := range got.parts[:got.n] {
					sum += b.n * b.size
				}
				require.Equal(t, count, sum)
				elements += count
			}
			require.Equal(t, r.count*r.block, elements, "%v chunk %d", r, chunk)
		}
	}
}

// slow counts the elements of a region from lo to hi block by block in big integers, and returns
// the first and the last of them.
func slow(start, count, stride, block, lo, hi int64) (n, first, last int64) {
	for i := range count {
		from := new(big.Int).Mul(big.NewInt(i), big.NewInt(stride))
		from.Add(from, big.NewInt(start))
		to := new(big.Int).Add(from, big.NewInt(block)) // exclusive
		if l := big.NewInt(lo); from.Cmp(l) < 0 {
			from = l
		}
		if h := big.NewInt(hi); to.Cmp(h) > 0 {
			to = h
		}
		if from.Cmp(to) >= 0 {
			continue
		}
		if n == 0 {
			first = from.Int64()
		}
		n += new(big.Int).Sub(to, from).Int64()
		last = to.Int64() - 1
	}
	return n, first, last
}
