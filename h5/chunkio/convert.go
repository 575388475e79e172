// Conversion of numbers between datatypes in workers, for the machine's integers and floats.

package chunkio

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
)

// errChanged means that a value cannot be represented in the other type. The operation is then
// repeated with libhdf5, which counts such values and returns a detailed error.
var errChanged = errors.New("a value that the conversion would change")

// A conversion converts elements of one type to another. If no value changes, the result has the
// same bits as that of libhdf5.
type conversion struct {
	src, dst  int  // element sizes in bytes
	in, out   swap // to and from the machine's byte order
	exact     bool // dst can represent every value of src
	numbers   func(dst, src []byte) (same bool)
	notNumber func(b []byte) // nil: NaNs are as the machine converts them
}

// newConversion returns nil for types other than ordinary numbers, and for lossy conversions that
// libhdf5 rounds or clamps.
func newConversion(from, to h5.Datatype, lossy bool) *conversion {
	f, t := kindOf(from), kindOf(to)
	if f < 0 || t < 0 {
		return nil
	}
	c := &conversion{src: from.Size, dst: to.Size, in: swap{1}, out: swap{1}, exact: holds(t, f), numbers: loops[f](t)}
	if lossy && !c.exact {
		return nil
	}
	if from.Order != h5.NativeOrder {
		c.in.size = from.Size
	}
	if to.Order != h5.NativeOrder {
		c.out.size = to.Size
	}
	// For floats in the machine's byte order, libhdf5 uses a conversion of the compiler. For others
	// it uses a loop (H5T__conv_f_f), which sets all bits of a NaN's fraction.
	if f >= float32s && (c.in.needed() || c.out.needed()) {
		switch t {
		case float32s:
			c.notNumber = allOnes4
		case float64s:
			c.notNumber = allOnes8
		}
	}
	return c
}

// pieceOf is the number of elements that are byte-swapped and converted at a time, so that they
// stay in the cache.
const pieceOf = 2048

// convert converts the elements of src to dst and overwrites src. It returns errChanged if the
// other type cannot represent one of them.
func (c *conversion) convert(dst, src []byte) error {
	for len(src) > 0 {
		n := min(len(src)/c.src, pieceOf)
		from, to := src[:n*c.src], dst[:n*c.dst]
		src, dst = src[len(from):], dst[len(to):]
		c.in.bytes(from)
		if !c.numbers(to, from) {
			return errChanged
		}
		if c.notNumber != nil {
			c.notNumber(to)
		}
		c.out.bytes(to)
	}
	return nil
}

// The types of numbers, integers first, in the order of their sizes.
const (
	int8s = iota
	int16s
	int32s
	int64s
	uint8s
	uint16s
	uint32s
	uint64s
	float32s
	float64s
)

// kindOf returns the kind of t in either byte order, or -1 for other types.
func kindOf(t h5.Datatype) int {
	for kind, size := range []int{1, 2, 4, 8, 1, 2, 4, 8, 4, 8} {
		if t.Size != size {
			continue
		}
		same := h5.Int(size, t.Order)
		switch {
		case kind >= float32s:
			same = h5.IEEEFloat(size, t.Order)
		case kind >= uint8s:
			same = h5.Uint(size, t.Order)
		}
		if t.Order != h5.VAX && t.Equal(same) {
			return kind
		}
	}
	return -1
}

// holds reports whether type to can represent every value of type from.
func holds(to, from int) bool {
	bits := [...]int{7, 15, 31, 63, 8, 16, 32, 64, 24, 53}
	signed := func(kind int) bool { return kind < uint8s || kind >= float32s }
	return bits[to] >= bits[from] && (signed(to) || !signed(from)) && (to >= float32s || from < float32s)
}

type (
	whole interface {
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
	}
	float  interface{ float32 | float64 }
	number interface{ whole | float }
)

// loops contains, by the type of src, functions that return the loop for the type of dst.
var loops = [...]func(to int) func(dst, src []byte) bool{
	fromWhole[int8], fromWhole[int16], fromWhole[int32], fromWhole[int64],
	fromWhole[uint8], fromWhole[uint16], fromWhole[uint32], fromWhole[uint64],
	fromFloat[float32], fromFloat[float64],
}

func fromWhole[S whole](to int) func(dst, src []byte) bool {
	return [...]func(dst, src []byte) bool{
		wholeToWhole[S, int8], wholeToWhole[S, int16], wholeToWhole[S, int32], wholeToWhole[S, int64],
		wholeToWhole[S, uint8], wholeToWhole[S, uint16], wholeToWhole[S, uint32], wholeToWhole[S, uint64],
		wholeToFloat[S, float32], wholeToFloat[S, float64],
	}[to]
}

func fromFloat[S float](to int) func(dst, src []byte) bool {
	return [...]func(dst, src []byte) bool{
		floatToWhole[S, int8], floatToWhole[S, int16], floatToWhole[S, int32], floatToWhole[S, int64],
		floatToWhole[S, uint8], floatToWhole[S, uint16], floatToWhole[S, uint32], floatToWhole[S, uint64],
		floatToFloat[S, float32], floatToFloat[S, float64],
	}[to]
}

// The loops convert all of src and report whether every value is unchanged. dst must be long
// enough.

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

// allOnes4 sets every bit of the fraction of a NaN.
func allOnes4(b []byte) {
	const infinity, fraction = 0x7F8 << 20, 1<<23 - 1
	for ; len(b) >= 4; b = b[4:] {
		if v := binary.NativeEndian.Uint32(b); v&^(1<<31) > infinity {
			binary.NativeEndian.PutUint32(b, v|fraction)
		}
	}
}

func allOnes8(b []byte) {
	const infinity, fraction = 0x7FF << 52, 1<<52 - 1
	for ; len(b) >= 8; b = b[8:] {
		if v := binary.NativeEndian.Uint64(b); v&^(1<<63) > infinity {
			binary.NativeEndian.PutUint64(b, v|fraction)
		}
	}
}
