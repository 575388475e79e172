// The parts of a block of h5.Values: words, strings and bytes, as h5.Values describes them.

package h5elem

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/internal/grid"
)

const (
	// WordSize is the size of a word.
	WordSize = 8
	// sequenceSize is the size of a sequence: its length and its offset.
	sequenceSize = 2 * WordSize
)

// Word returns the word at the start of b.
func Word(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }

// PutWord stores a word at the start of b.
func PutWord(b []byte, w uint64) { binary.NativeEndian.PutUint64(b, w) }

// Element returns the bytes of element i, which has size bytes.
func Element(v *h5.Values, i, size int) []byte { return v.Block[i*size : (i+1)*size] }

// BytesAt returns the bytes or the string at an offset of a block.
func BytesAt(block []byte, at uint64) []byte {
	n := Word(block[at:])
	return block[at+WordSize:][:n]
}

// AppendBytes appends bytes, or with terminated a string, which ends with at least one zero byte.
func AppendBytes(b []byte, s string, terminated bool) []byte {
	b = append(binary.NativeEndian.AppendUint64(b, uint64(len(s))), s...)
	if terminated {
		b = append(b, 0)
	}
	for len(b)%WordSize != 0 {
		b = append(b, 0)
	}
	return b
}

// Grow appends space for n elements to a block and returns its offset.
func Grow(block *[]byte, n, size int) int {
	at := len(*block)
	length := grid.RoundUp(n*size, WordSize, math.MaxInt)
	*block = slices.Grow(*block, length)[:at+length]
	clear((*block)[at:])
	return at
}

// Length returns the number of elements of an array.
func Length(t *h5.Datatype) int { return int(h5.SimpleSpace(t.Dims...).NumElems()) }

// TrimPadding returns a string of fixed length without its padding.
func TrimPadding(b []byte, pad h5.StringPad) string {
	switch pad {
	case h5.NullTerm:
		if i := slices.Index(b, 0); i >= 0 {
			b = b[:i]
		}
		return string(b)
	case h5.NullPad:
		return strings.TrimRight(string(b), "\x00")
	default:
		return strings.TrimRight(string(b), " ")
	}
}

// FormatOf returns the form of an integer, bit field, time or float.
func FormatOf(t *h5.Datatype) numbers.Format {
	return numbers.Format{
		Float: t.Class == h5.Float, Signed: t.Signed, Order: numbers.Order(t.Order),
		Size: t.Size, Precision: t.Precision, Offset: t.Offset,
		LowOnes: t.LowPad == h5.PadOne, HighOnes: t.HighPad == h5.PadOne, Layout: LayoutOf(&t.Layout),
	}
}

// LayoutOf returns the form of a float.
func LayoutOf(l *h5.FloatLayout) numbers.Layout {
	return numbers.Layout{
		SignPos: l.SignPos, ExpPos: l.ExpPos, ExpSize: l.ExpSize, MantPos: l.MantPos, MantSize: l.MantSize,
		Bias: l.ExpBias, Implied: l.Norm == h5.NormImplied, InnerOnes: l.InnerPad == h5.PadOne,
	}
}
