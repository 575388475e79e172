// Quantization: rounding of floats before compression, as in bcolz.

package bcolz

import (
	"encoding/binary"
	"math"

	"github.com/hyperslab/hyperslab/ndarray"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
)

// quantize rounds floats, in native order, to the nearest multiple of a power of two that keeps the
// given number of decimal digits (bcolz's utils.quantize). NaN, infinities, and values that the
// scaling takes out of range stay unchanged.
func quantize(b []byte, d ndarray.DType, digits int) {
	if digits == 0 || d.Kind != ndarray.Float {
		return
	}
	scale := quantum(digits)
	switch d.Size {
	case 2:
		for i := 0; i+2 <= len(b); i += 2 {
			scaled := numbers.LoadFloat(appendUint(nil, uint64(numbers.ToHalf(numbers.LoadFloat(b[i:i+2])*scale)), 2))
			y := numbers.ToHalf(math.RoundToEven(scaled) / scale)
			if y&0x7c00 != 0x7c00 {
				binary.NativeEndian.PutUint16(b[i:], y)
			}
		}
	case 4:
		for i := 0; i+4 <= len(b); i += 4 {
			x := math.Float32frombits(binary.NativeEndian.Uint32(b[i:]))
			// NumPy computes in the type of the array if the scale is a Python float.
			y := float32(math.RoundToEven(float64(x*float32(scale)))) / float32(scale)
			if !math.IsInf(float64(y), 0) && y == y {
				binary.NativeEndian.PutUint32(b[i:], math.Float32bits(y))
			}
		}
	case 8:
		for i := 0; i+8 <= len(b); i += 8 {
			x := math.Float64frombits(binary.NativeEndian.Uint64(b[i:]))
			y := math.RoundToEven(x*scale) / scale
			if !math.IsInf(y, 0) && y == y {
				binary.NativeEndian.PutUint64(b[i:], math.Float64bits(y))
			}
		}
	}
}

// quantum returns the power of two that keeps that many decimal digits.
func quantum(digits int) float64 {
	return math.Exp2(math.Ceil(float64(digits) * math.Log2(10)))
}
