// Exact sums of floats, which do not depend on the order of summation.

package ndarray

import (
	"math"
	"math/big"
	"math/bits"
)

// exactSum is a sum of numbers ±v × 2^(e-origin) with e ≥ 0, in words of 32 bits, lowest first. An
// addition changes each word without carrying into the next one. A word holds 2^30 additions before
// it must be carried.
type exactSum struct {
	words []int64
	added int // since the last carry
}

// addOrSub adds or subtracts v × 2^e.
func (s *exactSum) addOrSub(negative bool, v uint64, e int) {
	if s.added++; s.added == 1<<30 {
		s.carry()
	}
	at, shift := e>>5, uint(e&31)
	w := s.words[at : at+3 : at+3]
	low, middle, high := int64(uint32(v<<shift)), int64(uint32(v>>(32-shift))), int64(v>>(64-shift))
	if negative {
		low, middle, high = -low, -middle, -high
	}
	w[0] += low
	w[1] += middle
	w[2] += high
}

// carry leaves 32 bits in each word except the last, which contains the sign.
func (s *exactSum) carry() {
	last := len(s.words) - 1
	for i := range last {
		s.words[i+1] += s.words[i] >> 32
		s.words[i] &= math.MaxUint32
	}
	s.added = 1
}

// join adds another sum of the same length and carries both.
func (s *exactSum) join(o *exactSum) {
	s.carry()
	o.carry()
	for i, w := range o.words {
		s.words[i] += w
	}
	s.added++
}

// set sets the sum × 2^origin, which must fit.
func (s *exactSum) set(n *big.Int) {
	last := len(s.words) - 1
	low, mask := new(big.Int), big.NewInt(math.MaxUint32)
	n = new(big.Int).Set(n)
	for i := range last {
		s.words[i] = low.And(n, mask).Int64() // in two's complement
		n.Rsh(n, 32)
	}
	s.words[last], s.added = n.Int64(), 1
}

// big returns the sum × 2^origin.
func (s *exactSum) big() *big.Int {
	n := new(big.Int)
	for i := len(s.words) - 1; i >= 0; i-- {
		n.Lsh(n, 32).Add(n, big.NewInt(s.words[i]))
	}
	return n
}

// The negative exponent of the smallest float64, and the number of words for 2^63 float64 values in
// units of the smallest; and the same for their squares.
const (
	leastExp    = 1074
	sumWords    = (2*leastExp+63)/32 + 2
	squareWords = (4*leastExp+63)/32 + 2
)

// moments are the exact sums of finite floats and of their squares.
type moments struct{ sum, squares exactSum }

func newMoments() moments {
	return moments{exactSum{words: make([]int64, sumWords)}, exactSum{words: make([]int64, squareWords)}}
}

// magnitude splits a finite x into v and e, so that x is ±v × 2^(e-leastExp).
func magnitude(x float64) (v uint64, e int) {
	b := math.Float64bits(x)
	v, e = b&(1<<52-1), int(b>>52&0x7ff)
	if e > 0 {
		v |= 1 << 52
		e--
	}
	return v, e
}

func (m *moments) add(x float64) {
	v, e := magnitude(x)
	m.sum.addOrSub(x < 0, v, e)
	high, low := bits.Mul64(v, v)
	m.squares.addOrSub(false, low, 2*e)
	m.squares.addOrSub(false, high, 2*e+64)
}

// addMany adds x n times.
func (m *moments) addMany(x float64, n uint64) {
	v, e := magnitude(x)
	addProduct := func(s *exactSum, negative bool, v uint64, e int) {
		high, low := bits.Mul64(v, n)
		s.addOrSub(negative, low, e)
		s.addOrSub(negative, high, e+64)
	}
	addProduct(&m.sum, x < 0, v, e)
	high, low := bits.Mul64(v, v)
	addProduct(&m.squares, false, low, 2*e)
	addProduct(&m.squares, false, high, 2*e+64)
}

func (m *moments) join(o *moments) {
	m.sum.join(&o.sum)
	m.squares.join(&o.squares)
}

// summary returns the rounded sum, mean and standard deviation of n floats. The variance is (n Σx²
// - (Σx)²) / n², exact until the square root.
func (m *moments) summary(n int64) (sum, mean, std float64) {
	const digits = 128
	whole, count := m.sum.big(), big.NewInt(n)
	sum, _ = scaled(new(big.Float).SetInt(whole)).Float64()
	mean, _ = new(big.Rat).SetFrac(whole, new(big.Int).Lsh(count, leastExp)).Float64()
	v := new(big.Int).Mul(count, m.squares.big())
	v.Sub(v, new(big.Int).Mul(whole, whole))
	root := new(big.Float).SetPrec(digits).SetInt(v)
	root.Sqrt(root).Quo(root, new(big.Float).SetInt(count))
	std, _ = scaled(root).Float64()
	return sum, mean, std
}

// scaled returns x × 2^-leastExp.
func scaled(x *big.Float) *big.Float { return x.SetMantExp(x, -leastExp) }
