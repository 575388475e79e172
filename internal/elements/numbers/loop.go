// Loops over elements, one for each pair of types.

package numbers

import "unsafe"

// Kind is a type of numbers in the machine's byte order.
type Kind int

// The kinds: integers first, in the order of their sizes.
const (
	Int8 Kind = iota
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
)

// Size returns the bytes of a number.
func (k Kind) Size() int { return [...]int{1, 2, 4, 8, 1, 2, 4, 8, 4, 8}[k] }

// Holds reports whether k can represent every value of from.
func (k Kind) Holds(from Kind) bool {
	bits := [...]int{7, 15, 31, 63, 8, 16, 32, 64, 24, 53}
	signed := func(k Kind) bool { return k < Uint8 || k >= Float32 }
	return bits[k] >= bits[from] && (signed(k) || !signed(from)) && (k >= Float32 || from < Float32)
}

// Loop converts all of src, of one kind, to dst, of another kind, and reports whether every value
// is unchanged. A NaN stays a NaN. Floats that change are rounded to nearest, ties to even, also if
// the source is an integer. Other values that change are undefined. dst must be long enough.
type Loop func(dst, src []byte) (same bool)

// LoopOf returns the loop that converts numbers of kind from to kind to.
func LoopOf(to, from Kind) Loop { return loops[from](to) }

type (
	whole interface {
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
	}
	float  interface{ float32 | float64 }
	number interface{ whole | float }
)

// loops contains, by the type of src, functions that return the loop for the type of dst.
var loops = [...]func(to Kind) Loop{
	fromWhole[int8], fromWhole[int16], fromWhole[int32], fromWhole[int64],
	fromWhole[uint8], fromWhole[uint16], fromWhole[uint32], fromWhole[uint64],
	fromFloat[float32], fromFloat[float64],
}

func fromWhole[S whole](to Kind) Loop {
	return [...]Loop{
		wholeToWhole[S, int8], wholeToWhole[S, int16], wholeToWhole[S, int32], wholeToWhole[S, int64],
		wholeToWhole[S, uint8], wholeToWhole[S, uint16], wholeToWhole[S, uint32], wholeToWhole[S, uint64],
		wholeToFloat[S, float32], wholeToFloat[S, float64],
	}[to]
}

func fromFloat[S float](to Kind) Loop {
	return [...]Loop{
		floatToWhole[S, int8], floatToWhole[S, int16], floatToWhole[S, int32], floatToWhole[S, int64],
		floatToWhole[S, uint8], floatToWhole[S, uint16], floatToWhole[S, uint32], floatToWhole[S, uint64],
		floatToFloat[S, float32], floatToFloat[S, float64],
	}[to]
}

func wholeToWhole[S, D whole](dst, src []byte) bool {
	from, to, same := size[S](), size[D](), true
	for ; len(src) >= from; src, dst = src[from:], dst[to:] {
		s := load[S](src)
		d := D(s)
		same = same && S(d) == s && (d < 0) == (s < 0)
		store(dst, d)
	}
	return same
}

func wholeToFloat[S whole, D float](dst, src []byte) bool {
	from, to, same := size[S](), size[D](), true
	limit := D(0x1p63) // larger than every S, but an S may be rounded to it
	if unsigned[S]() {
		limit *= 2
	}
	for ; len(src) >= from; src, dst = src[from:], dst[to:] {
		s := load[S](src)
		d := D(s)
		same = same && d < limit && S(d) == s
		store(dst, d)
	}
	return same
}

func floatToWhole[S float, D whole](dst, src []byte) bool {
	from, to, same := size[S](), size[D](), true
	low, limit := S(0), S(uint64(1)<<(8*to-1)) // the minimum, and the maximum plus 1
	if unsigned[D]() {
		limit *= 2
	} else {
		low = -limit
	}
	for ; len(src) >= from; src, dst = src[from:], dst[to:] {
		s := load[S](src)
		if !(s >= low && s < limit) { // also for NaN
			return false
		}
		d := D(s)
		same = same && S(d) == s
		store(dst, d)
	}
	return same
}

func floatToFloat[S, D float](dst, src []byte) bool {
	from, to, same := size[S](), size[D](), true
	for ; len(src) >= from; src, dst = src[from:], dst[to:] {
		s := load[S](src)
		d := D(s)
		same = same && (S(d) == s || s != s)
		store(dst, d)
	}
	return same
}

func size[T number]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

func unsigned[T whole]() bool {
	var v T
	return v-1 > 0
}

// load returns the number at the beginning of b, which need not be aligned.
func load[T number](b []byte) (v T) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)), b)
	return v
}

func store[T number](b []byte, v T) {
	copy(b[:unsafe.Sizeof(v)], unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}
