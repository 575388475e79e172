// Numbers of any kind, and their conversion to Go's numbers.

package numbers

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// Error is the error for a number that the target of a conversion cannot represent.
type Error struct {
	Overflow bool // the number is out of range; otherwise it would lose precision
	Value    Number
	Target   string // for example "a float32"; "" for a Format or an integer of some size
}

func (e *Error) Error() string {
	text := "value would lose precision: " + e.Value.String()
	if e.Overflow {
		text = "value out of range: " + e.Value.String()
	}
	if e.Target != "" {
		text += " as " + e.Target
	}
	return text
}

// Number is an integer, a float64, or a float that has no exact float64.
type Number struct {
	kind numberKind
	neg  bool   // isInt
	mag  uint64 // isInt: the magnitude
	f    float64
	big  *big.Float // isBig
}

type numberKind int

const (
	isInt numberKind = iota
	isFloat
	isBig
)

// OfInt returns an integer.
func OfInt(v int64) Number {
	if v < 0 {
		return Number{neg: true, mag: -uint64(v)}
	}
	return Number{mag: uint64(v)}
}

// OfUint returns an integer.
func OfUint(v uint64) Number { return Number{mag: v} }

// OfFloat returns a float.
func OfFloat(v float64) Number { return Number{kind: isFloat, f: v} }

// OfBig returns v, which the Number may refer to.
func OfBig(v *big.Float) Number {
	if f, acc := v.Float64(); acc == big.Exact {
		return OfFloat(f)
	}
	return Number{kind: isBig, big: v}
}

// Big returns n, or nil for NaN. The caller must not change it.
func (n Number) Big() *big.Float {
	if n.IsNaN() {
		return nil
	}
	return n.bigFloat()
}

// IsNaN reports whether n is NaN.
func (n Number) IsNaN() bool { return n.kind == isFloat && math.IsNaN(n.f) }

// bigFloat returns n exactly. n must not be NaN.
func (n Number) bigFloat() *big.Float {
	switch n.kind {
	case isInt:
		v := new(big.Float).SetUint64(n.mag)
		if n.neg {
			v.Neg(v)
		}
		return v
	case isFloat:
		return big.NewFloat(n.f)
	default:
		return n.big
	}
}

// integer returns n as an integer from -low to high. If lossy, it truncates and clamps, and NaN
// becomes 0.
func (n Number) integer(low, high uint64, lossy bool) (Number, error) {
	whole, exact := n, true
	switch {
	case n.kind == isInt:
	case n.kind == isFloat && math.IsNaN(n.f):
		if lossy {
			return Number{}, nil
		}
		return Number{}, &Error{true, n, "a whole number"}
	case n.kind == isFloat && math.IsInf(n.f, 0):
		if !lossy {
			return Number{}, &Error{true, n, "a whole number"}
		}
		whole = Number{neg: n.f < 0, mag: math.MaxUint64}
	default:
		v := n.bigFloat()
		mag, _ := new(big.Float).Abs(v).Uint64() // truncated; the largest uint64 for larger numbers
		if v.MantExp(nil) > 64 && !lossy {
			return Number{}, &Error{true, n, "a whole number"}
		}
		whole, exact = Number{neg: v.Sign() < 0 && mag != 0, mag: mag}, v.IsInt()
	}
	limit := high
	if whole.neg {
		limit = low
	}
	if whole.mag > limit {
		if !lossy {
			return Number{}, &Error{Overflow: true, Value: n}
		}
		whole.mag = limit
	}
	if !exact && !lossy {
		return Number{}, &Error{false, n, "a whole number"}
	}
	return whole, nil
}

// Signed returns n as a signed integer of at most 64 bits, or an *Error. If lossy, it truncates and
// clamps instead, and NaN becomes 0.
func (n Number) Signed(bits int, lossy bool) (int64, error) {
	limit := uint64(1) << (bits - 1)
	n, err := n.integer(limit, limit-1, lossy)
	return int64(n.Bits()), err
}

// Unsigned is like Signed, for unsigned integers.
func (n Number) Unsigned(bits int, lossy bool) (uint64, error) {
	n, err := n.integer(0, ^uint64(0)>>(64-bits), lossy)
	return n.Bits(), err
}

// Bits returns an integer in two's complement.
func (n Number) Bits() uint64 {
	if n.neg {
		return -n.mag
	}
	return n.mag
}

// Float64 returns n as a float64, or an *Error if it has no exact float64. If lossy, it rounds.
func (n Number) Float64(lossy bool) (float64, error) {
	switch n.kind {
	case isInt:
		f := float64(n.mag)
		if !lossy && (bits.Len64(n.mag)-bits.TrailingZeros64(n.mag) > 53) {
			return 0, &Error{false, n, "a float64"}
		}
		if n.neg {
			f = -f
		}
		return f, nil
	case isFloat:
		return n.f, nil
	}
	f, _ := n.big.Float64()
	if lossy {
		return f, nil
	}
	if math.IsInf(f, 0) {
		return 0, &Error{true, n, "a float64"}
	}
	return 0, &Error{false, n, "a float64"}
}

// Float32 is like Float64, for a float32.
func (n Number) Float32(lossy bool) (float32, error) {
	if n.kind == isInt && bits.Len64(n.mag)-bits.TrailingZeros64(n.mag) <= 24 {
		f := float32(n.mag)
		if n.neg {
			f = -f
		}
		return f, nil
	}
	if n.kind == isFloat {
		f := float32(n.f)
		if lossy || float64(f) == n.f || f != f {
			return f, nil
		}
		if math.IsInf(float64(f), 0) {
			return 0, &Error{true, n, "a float32"}
		}
		return 0, &Error{false, n, "a float32"}
	}
	f, _ := n.bigFloat().Float32()
	switch {
	case lossy:
		return f, nil
	case math.IsInf(float64(f), 0):
		return 0, &Error{true, n, "a float32"}
	}
	return 0, &Error{false, n, "a float32"}
}

func (n Number) String() string {
	switch n.kind {
	case isInt:
		if n.neg {
			return fmt.Sprintf("-%d", n.mag)
		}
		return fmt.Sprint(n.mag)
	case isFloat:
		return fmt.Sprint(n.f)
	default:
		return n.big.Text('g', 40)
	}
}
