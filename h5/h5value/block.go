// The parts of a block of h5.Values: words, strings and bytes, as h5.Values describes them.

package h5value

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/ceil"
)

const (
	wordSize     = 8
	sequenceSize = 2 * wordSize // length and offset
)

func wordOf(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }

func putWord(b []byte, w uint64) { binary.NativeEndian.PutUint64(b, w) }

// element returns the bytes of element i, which has size bytes.
func element(v *h5.Values, i, size int) []byte { return v.Block[i*size : (i+1)*size] }

// bytesAt returns the bytes or the string at an offset of a block.
func bytesAt(block []byte, place uint64) []byte {
	n := wordOf(block[place:])
	return block[place+wordSize:][:n]
}

// appendBytes appends bytes, or with terminated a string, which ends with at least one zero byte.
func appendBytes(b []byte, s string, terminated bool) []byte {
	b = append(binary.NativeEndian.AppendUint64(b, uint64(len(s))), s...)
	if terminated {
		b = append(b, 0)
	}
	for len(b)%wordSize != 0 {
		b = append(b, 0)
	}
	return b
}

// grow appends space for n elements to the block and returns its offset.
func grow(v *h5.Values, n, size int) int {
	place := len(v.Block)
	room := ceil.Multiple(n*size, wordSize, math.MaxInt)
	v.Block = slices.Grow(v.Block, room)[:place+room]
	clear(v.Block[place:])
	return place
}

// memberCalled returns the member of a compound, or nil.
func memberCalled(t *h5.Datatype, name string) *h5.Member {
	for i := range t.Members {
		if t.Members[i].Name == name {
			return &t.Members[i]
		}
	}
	return nil
}

// length returns the number of elements of an array.
func length(t *h5.Datatype) int { return int(h5.SimpleSpace(t.Dims...).NumElems()) }
