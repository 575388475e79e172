// Conversion of numbers to the nearest value of another kind.

package numbers

import "math"

// Rules are the changes of values that Nearest may make.
type Rules struct {
	Round bool // to the nearest value, ties to even
	Clip  bool // to the minimum or maximum, also for infinities
	Bool  bool // the maximum of an integer is 1
}

// Changes are the numbers of values that Nearest changed.
type Changes struct{ Rounded, Clipped int64 }

// Nearest converts all of src to dst. A value that the new kind cannot represent is rounded or
// clipped, if the rules allow that. bad is the index of the first value for which they do not, or
// -1; dst is then partly filled. NaN is never changed, so integers cannot represent it. dst must be
// long enough.
func Nearest(dst []byte, to Kind, src []byte, from Kind, r Rules) (c Changes, bad int) {
	bad = nearest[from](to)(dst, src, r, &c)
	return c, bad
}

// nearestLoop is Nearest for two kinds.
type nearestLoop func(dst, src []byte, r Rules, c *Changes) (bad int)

// nearest contains, by the type of src, functions that return the loop for the type of dst.
var nearest = [...]func(to Kind) nearestLoop{
	nearestWhole[int8], nearestWhole[int16], nearestWhole[int32], nearestWhole[int64],
	nearestWhole[uint8], nearestWhole[uint16], nearestWhole[uint32], nearestWhole[uint64],
	nearestFloat[float32], nearestFloat[float64],
}

func nearestWhole[S whole](to Kind) nearestLoop {
	return [...]nearestLoop{
		clipWhole[S, int8], clipWhole[S, int16], clipWhole[S, int32], clipWhole[S, int64],
		clipWhole[S, uint8], clipWhole[S, uint16], clipWhole[S, uint32], clipWhole[S, uint64],
		roundWhole[S, float32], roundWhole[S, float64],
	}[to]
}

func nearestFloat[S float](to Kind) nearestLoop {
	return [...]nearestLoop{
		wholeOf[S, int8], wholeOf[S, int16], wholeOf[S, int32], wholeOf[S, int64],
		wholeOf[S, uint8], wholeOf[S, uint16], wholeOf[S, uint32], wholeOf[S, uint64],
		roundFloat[S, float32], roundFloat[S, float64],
	}[to]
}

// limits returns the least and the greatest value of a type of integers.
func limits[D whole](r Rules) (low, high D) {
	if r.Bool {
		return 0, 1
	}
	if unsigned[D]() {
		return 0, ^D(0)
	}
	low = D(1) << (8*size[D]() - 1)
	return low, ^low
}

func clipWhole[S, D whole](dst, src []byte, r Rules, c *Changes) int {
	from, to := size[S](), size[D]()
	low, high := limits[D](r)
	for i := 0; len(src) >= from; i, src, dst = i+1, src[from:], dst[to:] {
		s := load[S](src)
		d := D(s)
		if S(d) != s || (d < 0) != (s < 0) || d > high {
			if !r.Clip {
				return i
			}
			c.Clipped++
			if d = high; s < 0 {
				d = low
			}
		}
		store(dst, d)
	}
	return -1
}

func roundWhole[S whole, D float](dst, src []byte, r Rules, c *Changes) int {
	from, to := size[S](), size[D]()
	limit := D(0x1p63)
	if unsigned[S]() {
		limit *= 2
	}
	for i := 0; len(src) >= from; i, src, dst = i+1, src[from:], dst[to:] {
		s := load[S](src)
		d := D(s)
		if d >= limit || S(d) != s {
			if !r.Round {
				return i
			}
			c.Rounded++
		}
		store(dst, d)
	}
	return -1
}

// wholeOf converts floats to integers. A value is rounded if its nearest integer is in the range of
// the type, and otherwise clipped.
func wholeOf[S float, D whole](dst, src []byte, r Rules, c *Changes) int {
	from, to := size[S](), size[D]()
	low, high := limits[D](r)
	least, most := float64(low), float64(high) // most may be rounded up, to high plus 1
	inside := func(v float64) bool { return v >= least && (v < most || v == most && most < 0x1p63) }
	for i := 0; len(src) >= from; i, src, dst = i+1, src[from:], dst[to:] {
		s := float64(load[S](src))
		n := math.RoundToEven(s)
		var d D
		switch {
		case inside(n) && (n == s || r.Round):
			if d = D(n); n != s {
				c.Rounded++
			}
		case r.Clip && s < least:
			d = low
			c.Clipped++
		case r.Clip && s > least && !inside(s):
			d = high
			c.Clipped++
		default:
			return i
		}
		store(dst, d)
	}
	return -1
}

// roundFloat converts floats to floats. A value is rounded if the nearest float is finite, and
// otherwise clipped. An infinity is not changed.
func roundFloat[S, D float](dst, src []byte, r Rules, c *Changes) int {
	from, to := size[S](), size[D]()
	for i := 0; len(src) >= from; i, src, dst = i+1, src[from:], dst[to:] {
		s := load[S](src)
		d := D(s)
		if S(d) != s && s == s {
			over := math.IsInf(float64(d), 0)
			switch {
			case !over && r.Round:
				c.Rounded++
			case r.Clip && (over || math.Abs(float64(s)) > math.MaxFloat32):
				d = D(math.Copysign(math.MaxFloat32, float64(s)))
				c.Clipped++
			default:
				return i
			}
		}
		store(dst, d)
	}
	return -1
}
