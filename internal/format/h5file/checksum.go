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
	return lookup3Rest(v, v, v, b)
}

// lookup3Block is the number of bytes between two states of lookup3.
const lookup3Block = 12

// lookup3Rest returns the checksum from a state and the bytes after it.
func lookup3Rest(x, y, z uint32, b []byte) uint32 {
	for len(b) > lookup3Block {
		x, y, z = lookup3Next(x, y, z, b)
		b = b[lookup3Block:]
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

// lookup3Next returns the state after one block.
func lookup3Next(x, y, z uint32, b []byte) (uint32, uint32, uint32) {
	return mix(x+binary.LittleEndian.Uint32(b), y+binary.LittleEndian.Uint32(b[4:]), z+binary.LittleEndian.Uint32(b[8:]))
}

// WrongByte returns the index and the value of a byte of b, for which try returns true, with which
// the checksum of b becomes sum. values are combined with the byte by exclusive or. The run time
// grows with the square of the length of b. b has its bytes again when WrongByte returns.
func WrongByte(b []byte, sum uint32, values []byte, try func(i int) bool) (i int, v byte, ok bool) {
	v0 := 0xdeadbeef + uint32(len(b))
	x, y, z := v0, v0, v0
	for start := 0; start < len(b); start += lookup3Block {
		rest := b[start:]
		for i := range min(lookup3Block, len(rest)) {
			had := rest[i]
			if !try(start + i) {
				continue
			}
			for _, d := range values {
				rest[i] = had ^ d
				if lookup3Rest(x, y, z, rest) == sum {
					rest[i] = had
					return start + i, had ^ d, true
				}
			}
			rest[i] = had
		}
		if len(rest) > lookup3Block {
			x, y, z = lookup3Next(x, y, z, rest)
		}
	}
	return 0, 0, false
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

// ChecksumRecorder is implemented by a source that receives the wrong checksums of its structures.
type ChecksumRecorder interface{ WrongChecksum(WrongChecksum) }

// wrong passes a wrong checksum to the source, if it is a ChecksumRecorder. It passes no checksum
// inside bytes that a filter decoded.
func (p *part) wrong(c WrongChecksum) {
	if to, ok := p.r.f.src.(ChecksumRecorder); ok && !p.decoded {
		c.Structure, c.Start = p.what, p.at
		to.WrongChecksum(c)
	}
}
