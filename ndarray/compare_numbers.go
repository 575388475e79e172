// Comparison of numbers of different types by value.

package ndarray

import "math"

// number is a real number: an integer as its sign and the bits of its int64 or uint64, or a float.
type number struct {
	float    bool
	negative bool
	bits     uint64
	x        float64
}

// isNumber reports whether elements of d are numbers that can be compared with those of another
// type. Extended precision cannot, because it does not fit into a float64.
func (d DType) isNumber() bool {
	return d.isReal() && d.Size <= 8 || d.Kind == Complex && d.Size <= 16
}

// numeric returns d, or the integer type of an enumeration.
func numeric(d DType) DType {
	if d.Kind == Enum {
		return *d.Base
	}
	return d
}

// differNumbers returns a function that reports whether an element of type a and one of type b are
// different numbers. It returns nil if one of the types is not numeric. Numbers are compared
// exactly: for example, 0 equals -0, and 2^53+1 equals no float64. NaN equals NaN, unless the
// tolerance has EqualNaN unset. A tolerance applies if one of the types is a float or complex.
func (t *Tolerance) differNumbers(a, b DType) func(x, y []byte) bool {
	a, b = numeric(a), numeric(b)
	if !a.isNumber() || !b.isNumber() {
		return nil
	}
	tolerant := t != nil && !(isInteger(a) && isInteger(b))
	return func(x, y []byte) bool {
		xr, xi := loadNumber(a, x)
		yr, yi := loadNumber(b, y)
		if xr.isNaN() || xi.isNaN() || yr.isNaN() || yi.isNaN() {
			if tolerant && !t.EqualNaN {
				return true
			}
			return xr.isNaN() != yr.isNaN() || xi.isNaN() != yi.isNaN()
		}
		if xr.equal(yr) && xi.equal(yi) {
			return false
		}
		if !tolerant {
			return true
		}
		distance := math.Hypot(xr.float64()-yr.float64(), xi.float64()-yi.float64())
		return !(distance <= t.bound(math.Hypot(yr.float64(), yi.float64())))
	}
}

func isInteger(d DType) bool { return d.Kind == Bool || d.Kind == Int || d.Kind == Uint }

// loadNumber returns the real and the imaginary part of an element.
func loadNumber(d DType, b []byte) (re, im number) {
	switch d.Kind {
	case Bool:
		if b[0] != 0 {
			re.bits = 1
		}
	case Int:
		v := loadInt(b)
		re.negative, re.bits = v < 0, uint64(v)
	case Uint:
		re.bits = loadUint(b)
	case Complex:
		half := DType{Kind: Float, Size: d.Size / 2}
		return number{float: true, x: loadFloat(half, b[:half.Size])}, number{float: true, x: loadFloat(half, b[half.Size:])}
	default:
		re.float, re.x = true, loadFloat(d, b)
	}
	return re, im
}

func (n number) isNaN() bool { return n.float && math.IsNaN(n.x) }

// equal reports whether two numbers, neither of them NaN, are the same.
func (n number) equal(m number) bool {
	switch {
	case n.float && m.float:
		return n.x == m.x
	case n.float:
		return m.equal(n)
	case !m.float:
		return n.negative == m.negative && n.bits == m.bits
	case m.x != math.Trunc(m.x):
		return false
	case n.negative:
		return m.x < 0 && m.x >= -1<<63 && int64(m.x) == int64(n.bits)
	}
	return m.x >= 0 && m.x < 1<<64 && uint64(m.x) == n.bits
}

// float64 returns the nearest float64.
func (n number) float64() float64 {
	switch {
	case n.float:
		return n.x
	case n.negative:
		return float64(int64(n.bits))
	}
	return float64(n.bits)
}
