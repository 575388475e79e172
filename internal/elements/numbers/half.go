// Floats of 2, 4 and 8 bytes in native byte order. Go has no type for IEEE 754 binary16.

package numbers

import (
	"encoding/binary"
	"math"
)

// LoadFloat returns the exact value of an IEEE float of 2, 4 or 8 bytes.
func LoadFloat(b []byte) float64 {
	switch len(b) {
	case 2:
		return Half(binary.NativeEndian.Uint16(b))
	case 4:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.NativeEndian.Uint64(b))
}

// Half returns the exact value of a binary16.
func Half(h uint16) float64 {
	sign, exp, frac := uint64(h>>15), int(h>>10&0x1f), uint64(h&0x3ff)
	switch exp {
	case 0: // zero and subnormal: frac × 2^-24
		return math.Copysign(math.Ldexp(float64(frac), -24), 1-2*float64(sign))
	case 0x1f: // infinity and NaN; the payload keeps its highest bits
		return math.Float64frombits(sign<<63 | 0x7ff<<52 | frac<<42)
	}
	return math.Float64frombits(sign<<63 | uint64(exp-15+1023)<<52 | frac<<42)
}

// ToHalf rounds x to the nearest IEEE 754 binary16, ties to even.
func ToHalf(x float64) uint16 {
	var sign uint16
	if math.Signbit(x) {
		sign, x = 0x8000, -x
	}
	switch {
	case math.IsNaN(x):
		return sign | 0x7e00
	case x >= 65520: // half-way between the largest number and the next power of two
		return sign | 0x7c00
	case x < 0x1p-14: // subnormal; rounding up may give the smallest normal number
		return sign | uint16(math.RoundToEven(x*0x1p24))
	}
	e := math.Ilogb(x)
	m := uint16(math.RoundToEven(math.Ldexp(x, 10-e))) // 1024 to 2048, including the hidden bit
	return sign | uint16(e+14)<<10 + m
}
