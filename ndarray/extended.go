// The x87 extended format, NumPy's long double on x86-64: 10 bytes in 12 or 16. Go has no type for
// it.

package ndarray

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// extended is an x87 extended number. Its significand includes the leading bit.
type extended struct {
	negative bool
	exponent int // biased by 16383
	mantissa uint64
}

// loadExtended reads an element of 12 or 16 bytes in native order. It ignores the padding, the
// bytes after the ten lowest.
func loadExtended(b []byte) extended {
	var top uint16
	var e extended
	if NativeOrder == Little {
		e.mantissa, top = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint16(b[8:])
	} else {
		n := len(b)
		e.mantissa, top = binary.BigEndian.Uint64(b[n-8:]), binary.BigEndian.Uint16(b[n-10:])
	}
	e.negative, e.exponent = top>>15 != 0, int(top&0x7fff)
	return e
}

// number returns the exact value. It reports false for infinities and NaN.
func (e extended) number() (*big.Float, bool) {
	if e.exponent == 0x7fff {
		return nil, false
	}
	prec := uint(64)
	if e.exponent == 0 { // a subnormal has fewer significant bits
		prec = uint(max(bits.Len64(e.mantissa), 1))
	}
	f := new(big.Float).SetPrec(prec).SetUint64(e.mantissa)
	f.SetMantExp(f, max(e.exponent, 1)-16383-63)
	if e.negative {
		f.Neg(f)
	}
	return f, true
}

func (e extended) float64() float64 {
	if f, ok := e.number(); ok {
		x, _ := f.Float64()
		return x
	}
	if e.mantissa<<1 == 0 {
		return math.Inf(map[bool]int{false: 1, true: -1}[e.negative])
	}
	return math.NaN()
}

// String returns the shortest decimal that parses to the same number.
func (e extended) String() string {
	if f, ok := e.number(); ok {
		if f.Sign() == 0 && e.negative {
			return "-0"
		}
		return f.Text('g', -1)
	}
	switch x := e.float64(); {
	case x > 0:
		return "+Inf"
	case x < 0:
		return "-Inf"
	}
	sign := uint16(0)
	if e.negative {
		sign = 0x8000
	}
	if sign == 0 && e.mantissa == 0xc000000000000000 {
		return "NaN"
	}
	return fmt.Sprintf("NaN(0x%04x%016x)", sign|0x7fff, e.mantissa)
}
