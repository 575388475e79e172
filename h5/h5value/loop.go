// Numbers of HDF5 for the converter of package numbers.

package h5value

import (
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/elements/numbers"
)

// kindOf returns the kind of t in either byte order. ok is false for other types.
func kindOf(t *h5.Datatype) (kind numbers.Kind, ok bool) {
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

// convertible reports whether convert supports these datatypes.
func convertible(to, from h5.Datatype) bool {
	_, source := kindOf(&from)
	_, target := kindOf(&to)
	return source && target
}

// convert fills dst with the numbers in src, which it overwrites. It returns false if a value
// changes or if a datatype is not that of an ordinary number.
func convert(dst []byte, to h5.Datatype, src []byte, from h5.Datatype) bool {
	source, ok := kindOf(&from)
	target, known := kindOf(&to)
	if !ok || !known {
		return false
	}
	reverse(src, from)
	if source == target {
		copy(dst, src)
	} else if !numbers.LoopOf(target, source)(dst, src) {
		return false
	}
	reverse(dst, to)
	return true
}

// reverse changes numbers from or to the byte order of t if that is not the machine's.
func reverse(b []byte, t h5.Datatype) {
	if t.Order == h5.NativeOrder || t.Size == 1 {
		return
	}
	for ; len(b) >= t.Size; b = b[t.Size:] {
		slices.Reverse(b[:t.Size])
	}
}
