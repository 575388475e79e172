// Explicit, checked conversions between numeric types.

package ndarray

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Convert fills dst, elements of type to, with the elements of src, of type from, both in native
// byte order. The types are Bool, Int, Uint, Float of 4 or 8 bytes, and Enum, which is converted as
// its integer type. The source may also be a Float of 2 bytes or a BFloat. Without round every
// value must be exactly representable in the new type. With round it must only be within its range
// and is rounded to the nearest float.
//
// It returns ErrType for other types, ErrSize if the lengths of the buffers do not match, and
// ErrValue, with the index of the element, for a value that does not fit. After ErrValue dst is
// partly filled.
func Convert(dst []byte, to DType, src []byte, from DType, round bool) error {
	to, from = integerOf(to), integerOf(from)
	if !to.isReal() || !from.isReal() || to.Kind == BFloat || to.Kind == Float && to.Size != 4 && to.Size != 8 || from.Kind == Float && from.Size > 8 { // extended precision is not converted
		return fmt.Errorf("%w: %v from %v", ErrType, to, from)
	}
	if len(src)%from.Size != 0 || len(dst)/to.Size != len(src)/from.Size || len(dst)%to.Size != 0 {
		return fmt.Errorf("%w: %d bytes of %v from %d of %v", ErrSize, len(dst), to, len(src), from)
	}
	if i, ok := convertAll(dst, to, src, from, round); !ok {
		return fmt.Errorf("%w: element %d: %s is no %v", ErrValue, i, FormatElement(from, src[i*from.Size:(i+1)*from.Size]), to)
	}
	return nil
}

// integerOf returns the integer type of an Enum, and other types as they are.
func integerOf(d DType) DType {
	if d.Kind == Enum {
		return *d.Base
	}
	return d
}

// convertAll is Convert for types and lengths that are checked. It returns the index of the first
// value that does not fit.
func convertAll(dst []byte, to DType, src []byte, from DType, round bool) (i int, ok bool) {
	to, from = integerOf(to), integerOf(from)
	for ; len(src) > 0; i++ {
		if !convertOne(dst[:to.Size], to, src[:from.Size], from, round) {
			return i, false
		}
		dst, src = dst[to.Size:], src[from.Size:]
	}
	return 0, true
}

func (d DType) isReal() bool {
	switch d.Kind {
	case Bool, Int, Uint, Float, BFloat:
		return true
	}
	return false
}

func convertOne(dst []byte, to DType, src []byte, from DType, round bool) bool {
	if from.Kind == Float || from.Kind == BFloat {
		x := loadFloat(from, src)
		if to.Kind == Float {
			return storeFloat(dst, x, round)
		}
		switch {
		case x != math.Trunc(x): // also for NaN
			return false
		case x < 0 && x >= -1<<63:
			return storeInt(dst, to, true, uint64(int64(x)))
		case x >= 0 && x < 1<<64:
			return storeInt(dst, to, false, uint64(x))
		}
		return false
	}
	negative, bits := false, uint64(0)
	switch from.Kind {
	case Bool:
		if src[0] != 0 {
			bits = 1
		}
	case Int:
		v := loadInt(src)
		negative, bits = v < 0, uint64(v)
	default:
		bits = loadUint(src)
	}
	if to.Kind != Float {
		return storeInt(dst, to, negative, bits)
	}
	x := float64(bits)
	exact := x < 1<<64 && uint64(x) == bits
	if negative {
		x = float64(int64(bits))
		exact = int64(x) == int64(bits) // -2^63 is a float64
	}
	return (exact || round) && storeFloat(dst, x, round)
}

// storeFloat stores x in 4 or 8 bytes. It accepts NaN, but may change its payload.
func storeFloat(dst []byte, x float64, round bool) bool {
	if len(dst) == 8 {
		binary.NativeEndian.PutUint64(dst, math.Float64bits(x))
		return true
	}
	y := float32(x)
	binary.NativeEndian.PutUint32(dst, math.Float32bits(y))
	if round {
		return math.IsInf(float64(y), 0) == math.IsInf(x, 0)
	}
	return float64(y) == x || math.IsNaN(x)
}

// storeInt stores an integer in an integer or a bool. If it is negative, bits are those of an
// int64.
func storeInt(dst []byte, to DType, negative bool, bits uint64) bool {
	fits := false
	switch to.Kind {
	case Bool:
		fits = !negative && bits <= 1
	case Int:
		least := uint64(1) << (8*to.Size - 1) // 2^(n-1), the magnitude of the smallest value
		fits = !negative && bits < least || negative && -bits <= least
	default:
		fits = !negative && (to.Size == 8 || bits>>(8*to.Size) == 0)
	}
	switch to.Size {
	case 1:
		dst[0] = byte(bits)
	case 2:
		binary.NativeEndian.PutUint16(dst, uint16(bits))
	case 4:
		binary.NativeEndian.PutUint32(dst, uint32(bits))
	default:
		binary.NativeEndian.PutUint64(dst, bits)
	}
	return fits
}
