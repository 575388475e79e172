// IEEE 754 binary16, for which Go has no type.

package ndarray

import "math"

// float16 returns the exact value of a binary16.
func float16(h uint16) float64 {
	sign, exp, frac := uint64(h>>15), int(h>>10&0x1f), uint64(h&0x3ff)
	switch exp {
	case 0: // zero and subnormal: frac × 2^-24
		return math.Copysign(math.Ldexp(float64(frac), -24), 1-2*float64(sign))
	case 0x1f: // infinity and NaN; the payload keeps its highest bits
		return math.Float64frombits(sign<<63 | 0x7ff<<52 | frac<<42)
	}
	return math.Float64frombits(sign<<63 | uint64(exp-15+1023)<<52 | frac<<42)
}
