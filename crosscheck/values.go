// Results that are not stored elements: numbers as float64, or elements in the byte order of x86.

package crosscheck

import (
	"encoding/binary"
	"fmt"
	"math"
)

// converted returns the stored elements for a result in the given form: "" is stored elements,
// "little" elements in little-endian order, and "float64" numbers.
func converted(dir string, c Case, got []byte, form string) ([]byte, error) {
	switch form {
	case "":
		return got, nil
	case "little":
		return fromLittle(got, c.Decoded.DType, c.Decoded.Item), nil
	case "float64":
		return storedFrom(dir, c, got)
	}
	return nil, fmt.Errorf("form %q: want little or float64", shortLine(form))
}

// storedFrom converts numbers to stored elements. An equal number becomes the element of the
// reference, any other number its complement, so that it counts as a difference.
func storedFrom(dir string, c Case, got []byte) ([]byte, error) {
	want, err := Decode(dir, c)
	if err != nil {
		return nil, err
	}
	size := c.Decoded.Item
	if len(c.Decoded.DType) < 3 || size > 8 {
		return nil, fmt.Errorf("numbers of dtype %q cannot be compared as float64", c.Decoded.DType)
	}
	n := len(got) / 8
	out := make([]byte, n*size)
	for i := range n {
		v := math.Float64frombits(binary.LittleEndian.Uint64(got[8*i:]))
		e := out[i*size : (i+1)*size]
		if at := (i + 1) * size; at <= len(want) {
			copy(e, want[at-size:at])
			if w := numberOf(e, c.Decoded.DType); w == v || w != w && v != v {
				continue
			}
			for k := range e {
				e[k] = ^want[at-size+k]
			}
		}
	}
	return out, nil
}

// uintOf returns the bits of a stored element.
func uintOf(e []byte, dtype string) (u uint64) {
	for i := range e {
		k := len(e) - 1 - i // little-endian
		if dtype[0] == '>' {
			k = i
		}
		u = u<<8 | uint64(e[k])
	}
	return u
}

// numberOf returns the value of a stored element.
func numberOf(e []byte, dtype string) float64 {
	u := uintOf(e, dtype)
	bits := uint(8 * len(e))
	switch dtype[1] {
	case 'i':
		return float64(int64(u<<(64-bits)) >> (64 - bits))
	case 'u', 'b':
		return float64(u)
	}
	switch bits {
	case 16:
		return half(uint16(u))
	case 32:
		return float64(math.Float32frombits(uint32(u)))
	}
	return math.Float64frombits(u)
}

func half(h uint16) float64 {
	sign, exp, mant := float64(1), int(h>>10&31), float64(h&1023)
	if h>>15 == 1 {
		sign = -1
	}
	switch exp {
	case 0:
		return sign * math.Ldexp(mant, -24)
	case 31:
		if mant != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+mant, exp-25)
}
