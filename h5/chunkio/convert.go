// Conversion of numbers between datatypes in workers, for the machine's integers and floats.

package chunkio

import (
	"encoding/binary"
	"errors"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/numbers"
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
	numbers   numbers.Loop
	notNumber func(b []byte) // nil: NaNs are as the machine converts them
}

// newConversion returns nil for types other than ordinary numbers, and for lossy conversions that
// libhdf5 rounds or clamps.
func newConversion(from, to h5.Datatype, lossy bool) *conversion {
	f, known := kindOf(from)
	t, same := kindOf(to)
	if !known || !same {
		return nil
	}
	c := &conversion{src: from.Size, dst: to.Size, in: swap{1}, out: swap{1}, exact: t.Holds(f), numbers: numbers.LoopOf(t, f)}
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
	if f >= numbers.Float32 && (c.in.needed() || c.out.needed()) {
		switch t {
		case numbers.Float32:
			c.notNumber = allOnes4
		case numbers.Float64:
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

// kindOf returns the kind of t in either byte order. ok is false for other types.
func kindOf(t h5.Datatype) (kind numbers.Kind, ok bool) {
	for kind := numbers.Int8; kind <= numbers.Float64; kind++ {
		size := kind.Size()
		if t.Size != size {
			continue
		}
		same := h5.Int(size, t.Order)
		switch {
		case kind >= numbers.Float32:
			same = h5.IEEEFloat(size, t.Order)
		case kind >= numbers.Uint8:
			same = h5.Uint(size, t.Order)
		}
		if t.Order != h5.VAX && t.Equal(same) {
			return kind, true
		}
	}
	return 0, false
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
