// Wrong checksums of metadata. If a change of one byte makes a checksum right, the byte was wrong.

package recovery

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// Maximum lengths of a structure in which every value of every byte is tried, and every bit. The
// time grows with the square of the length.
const (
	maxByteSearch = 1 << 10
	maxBitSearch  = 1 << 14
)

// maxHashed is the number of hashed bytes after which a plan searches no more wrong bytes: seconds.
const maxHashed = 4 << 30

// checksums makes the changes that wrong checksums prove, and returns the other wrong checksums.
func (p *planner) checksums() (rest []wrongChecksum, err error) {
	for _, at := range slices.Sorted(maps.Keys(p.wrong)) {
		c := p.wrong[at]
		switch {
		case p.changed(c) && (p.guess || !p.unproved[c.At]):
			err = p.change(p.following(c))
		case oneByte(c.Stored ^ c.Computed):
			err = p.change(c.replaced(Certain, "only one byte of the checksum is wrong"))
		default:
			var found bool
			if found, err = p.search(c); !found {
				p.unproved[c.At] = true
				rest = append(rest, c)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// following returns the change of a checksum after other changes of its structure. It is certain if
// the checksum was right before them.
func (p *planner) following(c wrongChecksum) Change {
	if p.unproved[c.At] {
		return c.replaced(Guessed, "the structure has no other error after its changes")
	}
	x := c.replaced(Certain, "follows from the other changes of the structure")
	x.follows = true
	return x
}

// changed reports whether a change is in the bytes of which a checksum is computed.
func (p *planner) changed(c wrongChecksum) bool {
	return slices.ContainsFunc(p.changes, func(x Change) bool {
		return x.Offset < c.Start+c.Length && x.Offset+int64(len(x.New)) > c.Start && x.Offset != c.At
	})
}

// oneByte reports whether all bits of x are in one of its bytes.
func oneByte(x uint32) bool { return bits.LeadingZeros32(x)/8+bits.TrailingZeros32(x)/8 == 3 }

// replaced returns the change of a checksum to the computed one.
func (c wrongChecksum) replaced(as Certainty, reason string) Change {
	return Change{
		Offset: c.At, New: binary.LittleEndian.AppendUint32(nil, c.Computed), Structure: c.Structure + ": checksum", Object: c.object,
		Reason: fmt.Sprintf("got %#08x, want %#08x: %s", c.Stored, c.Computed, reason), Certainty: as,
	}
}

// search searches the byte of a structure whose change makes the checksum right.
func (p *planner) search(c wrongChecksum) (found bool, err error) {
	if c.Length > maxBitSearch || p.searched[c.At] || p.hashed > maxHashed {
		return false, nil
	}
	p.hashed += 4 * c.Length * c.Length
	p.searched[c.At] = true
	b, err := p.summed(c)
	if err != nil {
		return false, err
	}
	i, v, ok := wrongByte(b, c)
	if !ok {
		return false, nil
	}
	return true, p.change(Change{
		Offset: c.Start + int64(i), New: []byte{v}, Structure: c.Structure, Object: c.object, Certainty: Certain,
		Reason: fmt.Sprintf("byte: got %#02x, want %#02x, with which the checksum %#08x is right", b[i], v, c.Stored),
	})
}

// summed returns the bytes of which a checksum is computed.
func (p *planner) summed(c wrongChecksum) ([]byte, error) {
	b := make([]byte, c.Length)
	if _, err := p.ReadAt(b, c.Start); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if in := c.At - c.Start; in < c.Length {
		copy(b[in:], make([]byte, 4))
	}
	return b, nil
}

// wrongByte returns the position and the value of a byte that makes the checksum of b right.
func wrongByte(b []byte, c wrongChecksum) (i int, v byte, ok bool) {
	try := func(i int) bool {
		in := int64(i) - (c.At - c.Start)
		return in < 0 || in >= 4
	}
	i, v, ok = h5file.WrongByte(b, c.Stored, []byte{1, 2, 4, 8, 16, 32, 64, 128}, try)
	if ok || len(b) > maxByteSearch {
		return i, v, ok
	}
	var all []byte
	for x := 1; x < 256; x++ {
		all = append(all, byte(x))
	}
	return h5file.WrongByte(b, c.Stored, all, try)
}
