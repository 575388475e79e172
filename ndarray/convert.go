// Explicit, checked conversions between numeric types.

package ndarray

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
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
		return fmt.Errorf("%w: element %d: %s is not a value of %v", ErrValue, i, FormatElement(from, src[i*from.Size:(i+1)*from.Size]), to)
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

// convertPiece is the number of elements that are converted in one loop, so that they stay in the
// cache.
const convertPiece = 2048

// convertAll is Convert for types and lengths that are checked. It returns the index of the first
// value that does not fit.
func convertAll(dst []byte, to DType, src []byte, from DType, round bool) (i int, ok bool) {
	to, from = integerOf(to), integerOf(from)
	c := converter{to: to, from: from, round: round, loop: numbers.LoopOf(numberKind(to), numberKind(from))}
	for len(src) > 0 {
		n := min(len(src)/from.Size, convertPiece)
		if !c.convert(dst[:n*to.Size], src[:n*from.Size]) {
			for k := 0; k < n; k++ {
				if !c.convert(dst[k*to.Size:][:to.Size], src[k*from.Size:][:from.Size]) {
					return i + k, false
				}
			}
		}
		dst, src, i = dst[n*to.Size:], src[n*from.Size:], i+n
	}
	return 0, true
}

// numberKind returns the kind of the numbers that are converted: a Bool is converted as an integer
// of one byte, and a float of 2 bytes as one of 8 bytes.
func numberKind(d DType) numbers.Kind {
	switch d.Kind {
	case Int:
		return [...]numbers.Kind{1: numbers.Int8, 2: numbers.Int16, 4: numbers.Int32, 8: numbers.Int64}[d.Size]
	case Bool, Uint:
		return [...]numbers.Kind{1: numbers.Uint8, 2: numbers.Uint16, 4: numbers.Uint32, 8: numbers.Uint64}[d.Size]
	}
	if d.Size == 4 {
		return numbers.Float32
	}
	return numbers.Float64
}

type converter struct {
	to, from DType
	round    bool
	loop     numbers.Loop
	widened  []byte
}

// convert converts some elements and reports whether every value fits.
func (c *converter) convert(dst, src []byte) bool {
	switch {
	case c.from.Kind == Bool: // every byte except 0 is true
		c.widened = append(c.widened[:0], src...)
		for i, v := range c.widened {
			c.widened[i] = min(v, 1)
		}
		src = c.widened
	case c.from.Size == 2 && (c.from.Kind == Float || c.from.Kind == BFloat):
		c.widened = c.widened[:0]
		for ; len(src) > 0; src = src[2:] {
			c.widened = binary.NativeEndian.AppendUint64(c.widened, math.Float64bits(loadFloat(c.from, src[:2])))
		}
		src = c.widened
	}
	same := c.loop(dst, src)
	switch {
	case c.to.Kind == Bool:
		return same && !slices.ContainsFunc(dst, func(v byte) bool { return v > 1 })
	case same || !c.round || c.to.Kind != Float:
		return same
	}
	return c.to.Size == 8 || c.from.Kind != Float || sameInfinities(dst, src)
}

// sameInfinities reports whether the float32 in dst are infinite exactly where the float64 in src
// are.
func sameInfinities(dst, src []byte) bool {
	for ; len(dst) > 0; dst, src = dst[4:], src[8:] {
		x, y := math.Float32frombits(binary.NativeEndian.Uint32(dst)), math.Float64frombits(binary.NativeEndian.Uint64(src))
		if math.IsInf(float64(x), 0) != math.IsInf(y, 0) {
			return false
		}
	}
	return true
}

func (d DType) isReal() bool {
	switch d.Kind {
	case Bool, Int, Uint, Float, BFloat:
		return true
	}
	return false
}
