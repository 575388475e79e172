// Turning byte order round, eight bytes at a time where the unit allows it.

package ndarray

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// SwapBytes turns the byte order of all elements in b round, in place: a
// complex number as its two parts, Unicode as code points of 4 bytes. Types
// without a byte order are left alone. len(b) must be a multiple of d.Size.
func (d DType) SwapBytes(b []byte) {
	switch d.unit() {
	case 2:
		swap2(b)
	case 4:
		swap4(b)
	case 8:
		swap8(b)
	}
}

// ToNative turns b from d's byte order in storage to this machine's, or back,
// in place. It does nothing if the two are the same.
func (d DType) ToNative(b []byte) {
	if !d.IsNative() {
		d.SwapBytes(b)
	}
}

func swap2(b []byte) {
	const low = 0x00ff00ff00ff00ff
	for ; len(b) >= 8; b = b[8:] {
		x := binary.NativeEndian.Uint64(b)
		binary.NativeEndian.PutUint64(b, x&low<<8|x>>8&low)
	}
	for ; len(b) >= 2; b = b[2:] {
		b[0], b[1] = b[1], b[0]
	}
}

func swap4(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		x := bits.ReverseBytes64(binary.NativeEndian.Uint64(b))
		binary.NativeEndian.PutUint64(b, bits.RotateLeft64(x, 32))
	}
	if len(b) >= 4 {
		slices.Reverse(b[:4])
	}
}

func swap8(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.NativeEndian.PutUint64(b, bits.ReverseBytes64(binary.NativeEndian.Uint64(b)))
	}
}
