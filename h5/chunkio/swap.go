// Conversion between types that differ only in byte order.

package chunkio

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
)

// A swap converts elements between types that differ in byte order.
type swap struct {
	size int // size in bytes of the numbers to swap; 1: no swap
}

// newSwap returns nil if the types differ in more than byte order.
func newSwap(stored, mem h5.Datatype) *swap {
	if stored.Size != mem.Size {
		return nil
	}
	if stored.Equal(mem) {
		return &swap{1}
	}
	// Array types: compare their base types.
	for stored.Class == h5.Array && mem.Class == h5.Array && slices.Equal(stored.Dims, mem.Dims) {
		stored, mem = *stored.Base, *mem.Base
	}
	numbers := func(t h5.Datatype) bool {
		return (t.Class == h5.Integer || t.Class == h5.Float || t.Class == h5.Bitfield) &&
			t.Order != h5.VAX && t.Precision == 8*t.Size && t.Offset == 0
	}
	if !numbers(stored) || !numbers(mem) {
		return nil
	}
	size := stored.Size
	stored.Order = mem.Order
	if !stored.Equal(mem) {
		return nil
	}
	return &swap{size}
}

func (s *swap) needed() bool { return s.size > 1 }

// bytes reverses the bytes of each number in b, which must contain whole elements.
func (s *swap) bytes(b []byte) {
	ne := binary.NativeEndian
	switch s.size {
	case 1:
	case 2:
		for ; len(b) >= 8; b = b[8:] {
			v := ne.Uint64(b)
			ne.PutUint64(b, v>>8&0x00FF00FF00FF00FF|v&0x00FF00FF00FF00FF<<8)
		}
		for ; len(b) >= 2; b = b[2:] {
			b[0], b[1] = b[1], b[0]
		}
	case 4:
		for ; len(b) >= 8; b = b[8:] {
			ne.PutUint64(b, bits.RotateLeft64(bits.ReverseBytes64(ne.Uint64(b)), 32))
		}
		if len(b) >= 4 {
			ne.PutUint32(b, bits.ReverseBytes32(ne.Uint32(b)))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			ne.PutUint64(b, bits.ReverseBytes64(ne.Uint64(b)))
		}
	default:
		for ; len(b) >= s.size; b = b[s.size:] {
			slices.Reverse(b[:s.size])
		}
	}
}
