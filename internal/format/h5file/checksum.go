// Checksum of all version 2 metadata: Bob Jenkins' lookup3.

package h5file

import (
	"encoding/binary"
	"math/bits"
)

// Lookup3 returns the checksum of metadata (H5_checksum_lookup3 with an initial value of 0). It is
// also the hash of names in indexes.
func Lookup3(b []byte) uint32 { return lookup3(b, 0) }

// lookup3 is Lookup3 with another initial value. The hash of a shared message uses its type.
func lookup3(b []byte, initial uint32) uint32 {
	v := 0xdeadbeef + uint32(len(b)) + initial
	x, y, z := v, v, v
	for len(b) > 12 {
		x += binary.LittleEndian.Uint32(b)
		y += binary.LittleEndian.Uint32(b[4:])
		z += binary.LittleEndian.Uint32(b[8:])
		x, y, z = mix(x, y, z)
		b = b[12:]
	}
	if len(b) == 0 {
		return z
	}
	var last [12]byte
	copy(last[:], b)
	x += binary.LittleEndian.Uint32(last[:])
	y += binary.LittleEndian.Uint32(last[4:])
	z += binary.LittleEndian.Uint32(last[8:])
	return final(x, y, z)
}

func mix(x, y, z uint32) (uint32, uint32, uint32) {
	x -= z
	x ^= bits.RotateLeft32(z, 4)
	z += y
	y -= x
	y ^= bits.RotateLeft32(x, 6)
	x += z
	z -= y
	z ^= bits.RotateLeft32(y, 8)
	y += x
	x -= z
	x ^= bits.RotateLeft32(z, 16)
	z += y
	y -= x
	y ^= bits.RotateLeft32(x, 19)
	x += z
	z -= y
	z ^= bits.RotateLeft32(y, 4)
	y += x
	return x, y, z
}

func final(x, y, z uint32) uint32 {
	z ^= y
	z -= bits.RotateLeft32(y, 14)
	x ^= z
	x -= bits.RotateLeft32(z, 11)
	y ^= x
	y -= bits.RotateLeft32(x, 25)
	z ^= y
	z -= bits.RotateLeft32(y, 16)
	x ^= z
	x -= bits.RotateLeft32(z, 4)
	y ^= x
	y -= bits.RotateLeft32(x, 14)
	z ^= y
	z -= bits.RotateLeft32(y, 24)
	return z
}

// WrongChecksum is a checksum of a structure that differs from the computed one.
type WrongChecksum struct {
	Structure        string
	Start, Length    int64 // range of the bytes of which it is computed, in the file
	At               int64 // offset of the checksum; its own bytes count as zeros if they are in the range
	Stored, Computed uint32
}

// wrong passes a wrong checksum to the source, if it has a method for it. It passes no checksum
// inside bytes that a filter decoded.
func (p *part) wrong(c WrongChecksum) {
	if to, ok := p.r.f.src.(interface{ WrongChecksum(WrongChecksum) }); ok && !p.decoded {
		c.Structure, c.Start = p.what, p.at
		to.WrongChecksum(c)
	}
}
