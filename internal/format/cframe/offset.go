// Entries of the index.

package cframe

import (
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// Offset is an entry of the index: the location of a chunk, or a special chunk that is not stored.
// In a contiguous frame it counts bytes from the end of the header; the specification counts from
// its beginning. In a sparse frame it is the number in the name
// of the chunk file.
type Offset int64

// IsSpecial reports whether the chunk is special and not stored.
func (o Offset) IsSpecial() bool { return o < 0 }

// Special returns the kind of a special chunk. Like C-Blosc2 it tests bits 56, 58 and 57 in this
// order. It returns chunk.NotSpecial for a stored chunk, and for a special one without any of the
// bits.
func (o Offset) Special() chunk.Special {
	if !o.IsSpecial() {
		return chunk.NotSpecial
	}
	for _, s := range []chunk.Special{chunk.Zeros, chunk.Uninitialized, chunk.NaNs} {
		if o>>56&Offset(s) != 0 {
			return s
		}
	}
	return chunk.NotSpecial
}

// Check returns format.ErrUnsupported for a reserved code, and format.ErrCorrupt for bits that no
// code uses. It does not check the location of a stored chunk.
func (o Offset) Check() error {
	if !o.IsSpecial() {
		return nil
	}
	code := chunk.Special(o >> 56 & 7)
	if code != chunk.Zeros && code != chunk.NaNs && code != chunk.Uninitialized {
		return bad("special offset", 0, fmt.Sprintf("reserved code %d", code), "1 (zeros), 2 (NaN) or 4 (not initialized)", format.ErrUnsupported)
	}
	if o != specialOffset(code) {
		return bad("special offset", 0, fmt.Sprintf("%#016x", uint64(o)), fmt.Sprintf("%#016x", uint64(specialOffset(code))), format.ErrCorrupt)
	}
	return nil
}

func specialOffset(s chunk.Special) Offset { return Offset(-1)<<63 | Offset(s)<<56 }

// String returns the entry as a string.
func (o Offset) String() string {
	if o.IsSpecial() {
		return "special: " + o.Special().String()
	}
	return fmt.Sprint(int64(o))
}
