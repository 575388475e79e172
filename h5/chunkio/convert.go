// Numbers of one type as numbers of another: what the library does between the
// integers and floats of the machine, in workers.

package chunkio

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/hyperslab/hyperslab/h5"
)

// errChanged is a value that is not one of the other type. The library, asked
// again, counts them and says in which way.
var errChanged = errors.New("a value that the conversion would change")

// A conversion turns elements of one type into elements of another, bit for bit as
// the library does where no value changes.
type conversion struct {
	src, dst  int  // bytes of an element
	in, out   swap // to the machine's order, and from it
	exact     bool // every value of the one type is one of the other
	numbers   func(dst, src []byte) (same bool)
	notNumber func(b []byte) // nil: NaNs are as the machine converts them
}

// newConversion returns nil for types that are no ordinary numbers, and where lossy
// asks for values that the library rounds or clamps.
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
	// The library leaves floats in the machine's order to the compiler, and converts
	// others by a loop of its own (H5T__conv_f_f).
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

// pieceOf is how many elements are turned round and converted while they are near.
const pieceOf = 2048

// convert fills dst with the elements of src, of which it leaves nothing as it was.
// It returns errChanged if one of them is no value of the other type.
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

// kindOf is -1 for a type that is none of them in either order of bytes.
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

// holds reports that every value of from is one of to.
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

// loops are by the type of src; each returns the one for the type of dst.
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

// The loops convert all of src and report whether every value is the same. dst has
// room for it.

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
	limit := D(0x1p63) // which no S reaches, though one may be rounded to it
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
	low, limit := S(0), S(uint64(1)<<(8*to-1)) // the least, and one more than the greatest
	if unsigned[D]() {
		limit *= 2
	} else {
		low = -limit
	}
	for ; len(src) >= from; src, dst = src[from:], dst[to:] {
		s := load[S](src)
		if !(s >= low && s < limit) { // nor if it is no number
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

// load is the number in front of b, which need not be aligned.
func load[T number](b []byte) (v T) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)), b)
	return v
}

func store[T number](b []byte, v T) {
	copy(b[:unsafe.Sizeof(v)], unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}

// allOnes4 sets every bit of the fraction of what is not a number.
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
