// Fletcher-32 as libhdf5 computes it, and as readers misread it.

package crosscheck

// fletcherForm selects a form of the checksum of the filter Fletcher-32. The zero value is that of
// libhdf5.
type fletcherForm struct {
	modulo    bool // the sums are reduced modulo 65535 instead of folded
	little    bool // the words are little-endian
	oddLow    bool // the last byte of an odd number of bytes is in the low half of its word
	oddLost   bool // the last byte of an odd number of bytes is ignored
	swapped   bool // the halves of the result are exchanged
	unfolded  bool // the sums are folded only at the end
	startOnes bool // the sums start with 65535
	bigEndian bool // the result is stored in big-endian order
}

// fletcherFold is the form of libhdf5.
var fletcherFold fletcherForm

var fletcherRules = []rule[fletcherForm]{
	{"the sums are reduced modulo 65535", "filter 3 (fletcher32)", fletcherSentence, fletcherForm{modulo: true}},
	{"the words are little-endian", "filter 3 (fletcher32)", fletcherSentence, fletcherForm{little: true}},
	{"the last byte of an odd number is in the low half of its word", "filter 3 (fletcher32)", fletcherSentence, fletcherForm{oddLow: true}},
	{"the last byte of an odd number is ignored", "filter 3 (fletcher32)", fletcherSentence, fletcherForm{oddLost: true}},
	{"the sums are exchanged", "filter 3 (fletcher32)", fletcherSentence, fletcherForm{swapped: true}},
	{"the sums of 32 bits overflow", "filter 3 (fletcher32)", fletcherSentence, fletcherForm{unfolded: true}},
	{"the sums start with 65535", "filter 3 (fletcher32)", fletcherSentence, fletcherForm{startOnes: true}},
	{"the checksum is big-endian", "filter 3 (fletcher32)", fletcherSentence, fletcherForm{bigEndian: true}},
}

const fletcherSentence = "libhdf5, filter 3: two sums of big-endian words of 16 bits, from 0, folded by adding the carry; an odd byte is the high half of a word"

// fletcherBlock is the number of words after which libhdf5 folds its sums.
const fletcherBlock = 360

// fletcher32 returns the checksum of b, which the filter stores in little-endian order.
func fletcher32(b []byte, f fletcherForm) uint32 {
	var a, s uint32
	if f.startOnes {
		a, s = 0xFFFF, 0xFFFF
	}
	reduce := func(v uint32) uint32 {
		if f.modulo {
			return v % 0xFFFF
		}
		return v&0xFFFF + v>>16
	}
	for i := 0; i+1 < len(b); i += 2 {
		w := uint32(b[i])<<8 | uint32(b[i+1])
		if f.little {
			w = uint32(b[i+1])<<8 | uint32(b[i])
		}
		a += w
		s += a
		if (i/2+1)%fletcherBlock == 0 && !f.unfolded {
			a, s = reduce(a), reduce(s)
		}
	}
	if !f.unfolded {
		a, s = reduce(a), reduce(s)
	}
	if len(b)%2 != 0 && !f.oddLost {
		w := uint32(b[len(b)-1])
		if !f.oddLow {
			w <<= 8
		}
		a, s = reduce(a+w), reduce(s+a+w)
	}
	a, s = reduce(reduce(a)), reduce(reduce(s))
	switch {
	case f.swapped:
		return a<<16 | s
	case f.bigEndian:
		v := s<<16 | a
		return v>>24 | v>>8&0xFF00 | v<<8&0xFF0000 | v<<24
	}
	return s<<16 | a
}
