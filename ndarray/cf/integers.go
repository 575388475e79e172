// Integers by integer factors: exact products and sums, and arrays of them.

package cf

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/hyperslab/hyperslab/ndarray"
)

// exact returns the integer element × times + plus, or false if 64 bits cannot represent it.
func (p *packing) exact(word uint64) (v uint64, ok bool) {
	high, low := bits.Mul64(word, p.times)
	low, carry := bits.Add64(low, p.plus, 0)
	if p.whole.Kind == ndarray.Uint {
		return low, high+carry == 0
	}
	// High words of negative numbers in two's complement.
	high += carry - word*(p.times>>63) - p.times*(word>>63) - p.plus>>63
	return low, high == uint64(int64(low)>>63)
}

// exactBig is exact for numbers of any size.
func (p *packing) exactBig(word uint64) *big.Int {
	v := p.big(word)
	return v.Add(v.Mul(v, p.big(p.times)), p.big(p.plus))
}

// big returns the integer of a word: of an element, of times or of plus.
func (p *packing) big(word uint64) *big.Int {
	if p.whole.Kind == ndarray.Uint {
		return new(big.Int).SetUint64(word)
	}
	return big.NewInt(int64(word))
}

// rounded is exact, rounded to a float.
func (p *packing) rounded(word uint64) float64 {
	v, ok := p.exact(word)
	switch {
	case !ok:
		f, _ := new(big.Float).SetInt(p.exactBig(word)).Float64()
		return f
	case p.whole.Kind == ndarray.Uint:
		return float64(v)
	}
	return float64(int64(v))
}

// load returns the word of an integer of type d in native order.
func load(d ndarray.DType, b []byte) uint64 {
	var word uint64
	switch d.Size {
	case 1:
		word = uint64(b[0])
	case 2:
		word = uint64(binary.NativeEndian.Uint16(b))
	case 4:
		word = uint64(binary.NativeEndian.Uint32(b))
	default:
		return binary.NativeEndian.Uint64(b)
	}
	if d.Kind == ndarray.Int {
		unused := 64 - 8*d.Size
		return uint64(int64(word<<unused) >> unused)
	}
	return word
}

// store writes the last bytes of a word in native order. It reports whether an integer of type d is
// the word.
func store(d ndarray.DType, b []byte, word uint64) bool {
	switch d.Size {
	case 1:
		b[0] = byte(word)
	case 2:
		binary.NativeEndian.PutUint16(b, uint16(word))
	case 4:
		binary.NativeEndian.PutUint32(b, uint32(word))
	default:
		binary.NativeEndian.PutUint64(b, word)
	}
	return load(d, b) == word
}

// lost returns an integer element that is missing, or false if none is.
func (p *packing) lost() (word uint64, ok bool) {
	var b [8]byte
	for _, word := range append([]uint64{p.least - 1, p.most + 1, 0}, p.missing...) { // 0: if limits exclude all elements
		if store(p.element, b[:], word) && p.isMissing(word) {
			return word, true
		}
	}
	return 0, false
}

// marker returns an integer of type d that is the value of no element that is not missing, in
// native order, or nil if no element is missing.
func (p *packing) marker(d ndarray.DType) []byte {
	word, ok := p.lost()
	if !ok {
		return nil
	}
	b := make([]byte, d.Size)
	switch p.times {
	case 1, math.MaxUint64: // ±1
		// The sum of a missing element, wrapped: that of no other, because different elements have
		// different wrapped sums.
		word = word*p.times + p.plus
	default:
		// The difference to plus is no multiple of times.
		word = p.plus + 1
		if p.big(p.plus).Sign() > 0 {
			word = p.plus - 1
		}
	}
	store(d, b, word)
	return b
}
