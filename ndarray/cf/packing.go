// Packed numbers and missing values.

package cf

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/ndarray"
)

// packing contains the attributes of an array that define the values of its elements (sections
// 2.5.1 and 8.1; NUG for _Unsigned). The value is element × scale + offset.
//
// Elements are words of 64 bits: an int64, a uint64 or the bits of a float64.
type packing struct {
	element       ndarray.DType // in native order; Uint if signed elements are read as unsigned
	unsigned      bool          // the stored elements are signed
	scaled        bool
	times, plus   uint64        // words of the factors that NumPy applies in integers; 1 and 0 without them
	whole         ndarray.DType // of element × times + plus in NumPy, for integers
	float         ndarray.DType // of the values, if they are no integers
	scale, offset *factor       // applied in floats after them; nil without one
	missing       []uint64      // words of elements that mark missing values
	least, most   uint64        // words of the valid integers; all of them without limits
	low, high     float64       // of valid floats; -Inf and +Inf without limits
	words         []string      // description of the attributes that apply

	warn func(attribute, format string, args ...any)
}

// factor is scale_factor or add_offset.
type factor struct {
	number numbers.Number
	dtype  ndarray.DType
	value  float64
	single bool // NumPy computes in 4 bytes, because no operand needs more
}

// isNumber reports whether elements of type d can have attributes of the conventions.
func isNumber(d ndarray.DType) bool {
	switch d.Kind {
	case ndarray.Int, ndarray.Uint, ndarray.BFloat:
		return true
	case ndarray.Float:
		return d.Size <= 8
	}
	return false
}

// packingOf returns the packing of an array of numbers. It has no words if no attribute changes the
// values of the elements.
func packingOf(attrs ndarray.Attrs, d ndarray.DType, warn func(attribute, format string, args ...any)) *packing {
	p := &packing{element: d.Native(), low: math.Inf(-1), high: math.Inf(1), warn: warn}
	p.element.Tag = ""
	switch word := strings.ToLower(text(attrs, "_Unsigned")); {
	case word == "true" && d.Kind == ndarray.Int:
		p.unsigned, p.element.Kind = true, ndarray.Uint
	case word != "" && word != "true" && word != "false":
		warn("_Unsigned", "got %q, want true or false", word)
	}
	p.least, p.most = 0, math.MaxUint64
	if p.element.Kind == ndarray.Int {
		p.least, p.most = 1<<63, math.MaxInt64
	}
	p.setScale(attrs)
	if p.unsigned {
		p.words = append(p.words, "elements read as unsigned (_Unsigned)")
	}
	for _, name := range []string{"_FillValue", "missing_value"} {
		if words, text := p.read(attrs, name, 0); words != nil {
			p.missing = append(p.missing, words...)
			p.words = append(p.words, name+" "+text+" is missing")
		}
	}
	p.setLimits(attrs)
	return p
}

// read returns the elements that equal the numbers of an attribute, and their text. As in
// netCDF4-python, an attribute with another number, for example 1e20 in 8 bytes for elements of 4
// bytes, has no effect. n is the length, or 0 for any.
func (p *packing) read(attrs ndarray.Attrs, name string, n int) (words []uint64, text string) {
	x, ok := attrs.Get(name)
	if !ok {
		return nil, ""
	}
	values, d, ok := numbersOf(attrs, name)
	switch {
	case !ok || len(values) == 0:
		p.warn(name, "got %s, want a number", kindOf(x))
		return nil, ""
	case n != 0 && len(values) != n:
		p.warn(name, "got %d numbers, want %d", len(values), n)
		return nil, ""
	}
	var list []string
	for _, v := range values {
		word, ok := p.word(v)
		if !ok {
			p.warn(name, "no element of type %v equals %s", p.stored(), numberText(v, d.Kind))
			return nil, ""
		}
		words, list = append(words, word), append(list, numberText(v, d.Kind))
	}
	return words, strings.Join(list, ", ")
}

// stored returns the type of the stored elements, in native order.
func (p *packing) stored() ndarray.DType {
	d := p.element
	if p.unsigned {
		d.Kind = ndarray.Int
	}
	return d
}

// setScale reads scale_factor and add_offset (section 8.1). The factor 1 and the offset 0 do not
// scale. If one of them is no number, both have no effect.
func (p *packing) setScale(attrs ndarray.Attrs) {
	p.times, p.whole, p.float = 1, p.element, p.element
	text, broken := "element", false
	read := func(name, operator string) *factor {
		x, there := attrs.Get(name)
		v, d, ok := numbersOf(attrs, name)
		switch {
		case !there:
			return nil
		case !ok || len(v) != 1:
			p.warn(name, "got %s, want a number", kindOf(x))
			broken = true
			return nil
		}
		text += " " + operator + " " + numberText(v[0], d.Kind) + " (" + name + ")"
		value, _ := v[0].Float64(true)
		return &factor{number: v[0], dtype: d.Native(), value: value}
	}
	scale, offset := read("scale_factor", "×"), read("add_offset", "+")
	if broken || scale == nil && offset == nil {
		return
	}
	p.words = append(p.words, text)
	p.scaled = scale != nil && scale.value != 1 || offset != nil && offset.value != 0
	if !p.scaled {
		if scale != nil && offset != nil && !p.integer() && !isInteger(scale.dtype) {
			p.float = scale.dtype // as in netCDF4-python
		}
		return
	}
	of := p.element
	p.scale = p.apply(scale, &of, &p.times)
	p.offset = p.apply(offset, &of, &p.plus)
	p.float = of
}

// apply changes the type of the values so far to that of NumPy after f is applied. If this is an
// integer, it sets word; otherwise, it returns f.
func (p *packing) apply(f *factor, of *ndarray.DType, word *uint64) *factor {
	if f == nil {
		return nil
	}
	*of = promoted(*of, f.dtype)
	if isInteger(*of) {
		*word, p.whole = f.number.Bits(), *of
		return nil
	}
	f.single = of.Size == 4
	return f
}

// promoted returns the type of the sum and of the product of two numbers in NumPy. All floats of 2
// bytes count as floats of 4 bytes.
func promoted(a, b ndarray.DType) ndarray.DType {
	if a.Kind == ndarray.Uint {
		a, b = b, a // the signed one is a, the unsigned one is b
	}
	size := max(a.Size, b.Size)
	if a.Kind != b.Kind {
		size = max(a.Size, 2*b.Size)
	}
	switch {
	case isInteger(a) && isInteger(b) && size <= 8:
		d := ndarray.DType{Kind: a.Kind, Size: size, Order: ndarray.NativeOrder}
		if size == 1 {
			d.Order = ndarray.NoOrder
		}
		return d
	case isSingle(a) && isSingle(b):
		return ndarray.DTypeOf[float32]()
	}
	return ndarray.DTypeOf[float64]()
}

// isSingle reports whether NumPy converts numbers of type d to floats of 4 bytes.
func isSingle(d ndarray.DType) bool {
	return d.Size <= 2 || d.Kind == ndarray.Float && d.Size == 4
}

// isInteger reports whether numbers of type d are integers.
func isInteger(d ndarray.DType) bool { return d.Kind == ndarray.Int || d.Kind == ndarray.Uint }

// setLimits reads valid_range, or valid_min and valid_max (section 2.5.1). They limit the stored
// elements (section 8.1).
func (p *packing) setLimits(attrs ndarray.Attrs) {
	least, most := p.least, p.most
	if !p.integer() {
		least, most = math.Float64bits(p.low), math.Float64bits(p.high)
	}
	low, high := "the minimum", "the maximum"
	words, text := p.read(attrs, "valid_range", 2)
	attribute := "valid_range"
	if words != nil {
		least, most = words[0], words[1]
		low, high, _ = strings.Cut(text, ", ")
		for _, name := range []string{"valid_min", "valid_max"} {
			if _, ok := attrs.Get(name); ok {
				p.warn(name, "valid_range has priority")
			}
		}
	} else {
		attribute = "valid_min"
		least1, text1 := p.read(attrs, "valid_min", 1)
		most1, text2 := p.read(attrs, "valid_max", 1)
		if least1 != nil {
			least, low = least1[0], text1
		}
		if most1 != nil {
			most, high = most1[0], text2
		}
		words = append(least1, most1...)
	}
	if words == nil {
		return
	}
	if p.integer() {
		p.least, p.most = least, most
		if p.element.Kind == ndarray.Uint && least > most || p.element.Kind == ndarray.Int && int64(least) > int64(most) {
			p.warn(attribute, "%s exceeds the maximum %s: all elements are missing", low, high)
		}
	} else {
		p.low, p.high = number(math.Float64frombits(least), math.Inf(-1)), number(math.Float64frombits(most), math.Inf(1))
		if math.IsInf(p.low, -1) && math.IsInf(p.high, 1) {
			return
		}
		if p.low > p.high {
			p.warn(attribute, "%s exceeds the maximum %s: all elements are missing", low, high)
		}
	}
	p.words = append(p.words, fmt.Sprintf("outside %s to %s is missing (valid range)", low, high))
}

// number returns v, or other for NaN: a limit that is NaN limits nothing.
func number(v, other float64) float64 {
	if math.IsNaN(v) {
		return other
	}
	return v
}

// integer reports whether the elements are integers.
func (p *packing) integer() bool { return isInteger(p.element) }

// integral reports whether the values are integers.
func (p *packing) integral() bool { return p.integer() && p.scale == nil && p.offset == nil }

// word returns the word of the element that equals a number, or false if there is none. The numbers
// of an array that is read as unsigned are those of stored elements.
func (p *packing) word(v numbers.Number) (uint64, bool) {
	bits := 8 * p.element.Size
	switch {
	case p.unsigned:
		n, err := v.Signed(bits, false)
		return uint64(n) << (64 - bits) >> (64 - bits), err == nil
	case p.element.Kind == ndarray.Int:
		n, err := v.Signed(bits, false)
		return uint64(n), err == nil
	case p.element.Kind == ndarray.Uint:
		n, err := v.Unsigned(bits, false)
		return n, err == nil
	}
	f, err := v.Float64(false)
	if err != nil {
		return 0, false
	}
	if math.IsNaN(f) {
		return math.Float64bits(f), true
	}
	b := make([]byte, p.element.Size)
	if ndarray.Convert(b, p.element, binary.NativeEndian.AppendUint64(nil, math.Float64bits(f)), ndarray.DTypeOf[float64](), false) != nil {
		return 0, false
	}
	return math.Float64bits(f), true
}

// wide is the type of words.
func (p *packing) wide() ndarray.DType {
	switch p.element.Kind {
	case ndarray.Int:
		return ndarray.DTypeOf[int64]()
	case ndarray.Uint:
		return ndarray.DTypeOf[uint64]()
	}
	return ndarray.DTypeOf[float64]()
}

// isMissing reports whether an element is a missing value.
func (p *packing) isMissing(word uint64) bool {
	if !p.integer() {
		f := math.Float64frombits(word)
		for _, m := range p.missing {
			if x := math.Float64frombits(m); x == f || math.IsNaN(x) && math.IsNaN(f) {
				return true
			}
		}
		return f < p.low || f > p.high
	}
	if slices.Contains(p.missing, word) {
		return true
	}
	if p.element.Kind == ndarray.Int {
		return int64(word) < int64(p.least) || int64(word) > int64(p.most)
	}
	return word < p.least || word > p.most
}

// loses reports whether an element can be missing.
func (p *packing) loses() bool {
	if !p.integer() {
		return len(p.missing) > 0 || !math.IsInf(p.low, -1) || !math.IsInf(p.high, 1)
	}
	_, ok := p.lost()
	return ok
}

// scaledValue returns the value of an element that is not missing, rounded if it is an integer.
func (p *packing) scaledValue(word uint64) float64 {
	v := math.Float64frombits(word)
	if p.integer() {
		v = p.rounded(word)
	}
	round := func(v float64, f *factor) float64 {
		if f.single {
			return float64(float32(v))
		}
		return v
	}
	if p.scale != nil {
		v = round(v*p.scale.value, p.scale)
	}
	if p.offset != nil {
		v = round(v+p.offset.value, p.offset)
	}
	return v
}

// missingValue is the NaN of NumPy.
var missingValue = math.Float64frombits(0x7ff8 << 48)

// value returns the value of an element, or NaN if it is missing.
func (p *packing) value(word uint64) float64 {
	if p.isMissing(word) {
		return missingValue
	}
	return p.scaledValue(word)
}

// numbersOf returns the numbers of an attribute, or false if it is not numeric.
func numbersOf(attrs ndarray.Attrs, name string) (values []numbers.Number, d ndarray.DType, ok bool) {
	v, ok := attrs.Get(name)
	if !ok || v.Null || !isNumber(v.DType) {
		return nil, d, false
	}
	p := packing{element: v.DType.Native()}
	wide := p.wide()
	raw := make([]byte, 8*(len(v.Data)/v.DType.Size))
	if err := ndarray.Convert(raw, wide, v.Data, p.element, true); err != nil {
		return nil, d, false
	}
	for ; len(raw) > 0; raw = raw[8:] {
		word := binary.NativeEndian.Uint64(raw)
		switch wide.Kind {
		case ndarray.Int:
			values = append(values, numbers.OfInt(int64(word)))
		case ndarray.Uint:
			values = append(values, numbers.OfUint(word))
		default:
			values = append(values, numbers.OfFloat(math.Float64frombits(word)))
		}
	}
	return values, v.DType, true
}

// numberText formats a number of an attribute of a kind: integers exactly, floats with 6 digits.
func numberText(v numbers.Number, kind ndarray.Kind) string {
	f, _ := v.Float64(true)
	if kind == ndarray.Float || kind == ndarray.BFloat || math.IsInf(f, 0) {
		return fmt.Sprintf("%.6g", f+0)
	}
	return v.String()
}
