// Packed numbers and missing values.

package cf

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/ndarray"
)

// packing contains the attributes of an array that define the values of its elements (CF
// conventions, sections 2.5 and 8.1; NUG for _Unsigned). The value is element × scale + offset.
//
// Elements are words of 64 bits: an int64, a uint64 or the bits of a float64.
type packing struct {
	element       ndarray.DType // in native order; Uint if signed elements are read as unsigned
	unsigned      bool          // the stored elements are signed
	scaled        bool
	times, plus   uint64        // words of the factors that NumPy applies in integers; 1 and 0 without them
	whole         ndarray.DType // of element × times + plus in NumPy, for integers
	scale, offset *factor       // applied in floats after them; nil without one
	missing       []uint64      // words of elements that mark missing values
	least, most   uint64        // words of the valid integers; all of them without limits
	none          bool          // no integer is valid
	low, high     float64       // of valid floats or, with limitsOfValue, of values; -Inf and +Inf without limits
	limitsOfValue bool
	words         []string // description of the attributes that apply
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
func packingOf(attrs ndarray.Attrs, d ndarray.DType) *packing {
	p := &packing{element: d.Native(), low: math.Inf(-1), high: math.Inf(1)}
	p.element.Tag = ""
	if d.Kind == ndarray.Int && strings.EqualFold(Text(attrs, "_Unsigned"), "true") {
		p.unsigned, p.element.Kind = true, ndarray.Uint
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
		values, d := numbersOf(attrs, name)
		var list []string
		for _, v := range values {
			if word, ok := p.word(v); ok {
				p.missing = append(p.missing, word)
			}
			list = append(list, numberText(v, d.Kind))
		}
		if len(values) > 0 {
			p.words = append(p.words, name+" "+strings.Join(list, ", ")+" is missing")
		}
	}
	p.setLimits(attrs)
	return p
}

// setScale reads scale_factor and add_offset. The factor 1 and the offset 0 do not scale.
func (p *packing) setScale(attrs ndarray.Attrs) {
	text := "element"
	read := func(name, operator string) *factor {
		v, d := numbersOf(attrs, name)
		if len(v) != 1 {
			return nil
		}
		text += " " + operator + " " + numberText(v[0], d.Kind) + " (" + name + ")"
		value, _ := v[0].Float64(true)
		return &factor{number: v[0], dtype: d, value: value}
	}
	scale, offset := read("scale_factor", "×"), read("add_offset", "+")
	if scale != nil || offset != nil {
		p.words = append(p.words, text)
	}
	p.times, p.whole = 1, p.element
	p.scaled = scale != nil && scale.value != 1 || offset != nil && offset.value != 0
	if !p.scaled {
		return
	}
	of := p.element
	p.scale = p.apply(scale, &of, &p.times)
	p.offset = p.apply(offset, &of, &p.plus)
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

// setLimits reads valid_range, or valid_min and valid_max. They limit the elements, but floats
// limit the values of scaled integers.
func (p *packing) setLimits(attrs ndarray.Attrs) {
	low, high := numbers.OfFloat(math.Inf(-1)), numbers.OfFloat(math.Inf(1))
	given, d := numbersOf(attrs, "valid_range")
	if len(given) == 2 {
		low, high = given[0], given[1]
	} else {
		if v, of := numbersOf(attrs, "valid_min"); len(v) == 1 {
			low, d = v[0], of
		}
		if v, of := numbersOf(attrs, "valid_max"); len(v) == 1 {
			high, d = v[0], of
		}
	}
	if low.IsNaN() || high.IsNaN() || low.Big().Cmp(big.NewFloat(math.Inf(-1))) == 0 && high.Big().Cmp(big.NewFloat(math.Inf(1))) == 0 {
		return
	}
	p.words = append(p.words, fmt.Sprintf("outside %s to %s is missing (valid range)", numberText(low, d.Kind), numberText(high, d.Kind)))
	ofValue := p.integer() && p.scaled && d.Kind == ndarray.Float
	switch {
	case ofValue && p.integral():
		p.limitIntegers(p.elements(low.Big(), high.Big()))
	case ofValue:
		p.limitsOfValue = true
		p.low, _ = low.Float64(true)
		p.high, _ = high.Float64(true)
	case p.integer():
		p.limitIntegers(p.read(low).Big(), p.read(high).Big())
	default:
		p.low, _ = low.Float64(true)
		p.high, _ = high.Float64(true)
	}
}

// limitIntegers sets the least and the greatest valid integer.
func (p *packing) limitIntegers(least, most *big.Float) {
	p.none = least.IsInf() && !least.Signbit() || most.IsInf() && most.Signbit()
	if !least.IsInf() {
		n, exact := least.Int(nil)
		if exact == big.Below { // truncated towards zero
			n.Add(n, big.NewInt(1))
		}
		switch {
		case p.compare(n) > 0:
			p.none = true
		case p.compare(n) == 0:
			p.least = bitsOf(n)
		}
	}
	if !most.IsInf() {
		n, exact := most.Int(nil)
		if exact == big.Above {
			n.Sub(n, big.NewInt(1))
		}
		switch {
		case p.compare(n) < 0:
			p.none = true
		case p.compare(n) == 0:
			p.most = bitsOf(n)
		}
	}
}

// compare reports whether n is below (-1), in (0) or above (1) the range of words.
func (p *packing) compare(n *big.Int) int {
	fits := n.IsInt64()
	if p.element.Kind == ndarray.Uint {
		fits = n.IsUint64()
	}
	if fits {
		return 0
	}
	return n.Sign()
}

// bitsOf returns an integer of 64 bits in two's complement.
func bitsOf(n *big.Int) uint64 {
	if n.Sign() < 0 {
		return uint64(n.Int64())
	}
	return n.Uint64()
}

// elements returns the limits of elements whose values, which are integers, are between low and
// high.
func (p *packing) elements(low, high *big.Float) (least, most *big.Float) {
	times, plus := new(big.Rat).SetInt(p.big(p.times)), new(big.Rat).SetInt(p.big(p.plus))
	switch times.Sign() {
	case -1:
		low, high = high, low
	case 0:
		v := new(big.Float).SetInt(p.big(p.plus))
		none := v.Cmp(low) < 0 || v.Cmp(high) > 0
		return new(big.Float).SetInf(!none), new(big.Float).SetInf(none)
	}
	bound := func(limit *big.Float, more int64) *big.Float {
		if limit.IsInf() {
			return new(big.Float).SetInf(limit.Signbit() != (times.Sign() < 0))
		}
		r, _ := limit.Rat(nil)
		r.Quo(r.Sub(r, plus), times)
		n := new(big.Int).Div(r.Num(), r.Denom()) // the next integer below
		if !r.IsInt() {
			n.Add(n, big.NewInt(more))
		}
		return new(big.Float).SetInt(n)
	}
	return bound(low, 1), bound(high, 0)
}

// integer reports whether the elements are integers.
func (p *packing) integer() bool { return isInteger(p.element) }

// integral reports whether the values are integers.
func (p *packing) integral() bool { return p.integer() && p.scale == nil && p.offset == nil }

// read returns the number of an attribute. A negative number of an array that is read as unsigned
// is that of a stored element.
func (p *packing) read(v numbers.Number) numbers.Number {
	if n, err := v.Signed(8*p.element.Size, false); err == nil && n < 0 && p.unsigned {
		return numbers.OfUint(uint64(n) << (64 - 8*p.element.Size) >> (64 - 8*p.element.Size))
	}
	return v
}

// word returns the word of the element that equals a number, or false if there is none. As in NumPy
// and xarray, 1e20 in 8 bytes is no float of 4 bytes.
func (p *packing) word(v numbers.Number) (uint64, bool) {
	switch p.element.Kind {
	case ndarray.Int:
		n, err := v.Signed(64, false)
		return uint64(n), err == nil
	case ndarray.Uint:
		n, err := p.read(v).Unsigned(64, false)
		return n, err == nil
	}
	f, err := v.Float64(false)
	return math.Float64bits(f), err == nil
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
	if p.element.Kind != ndarray.Int && p.element.Kind != ndarray.Uint {
		f := math.Float64frombits(word)
		for _, m := range p.missing {
			if x := math.Float64frombits(m); x == f || math.IsNaN(x) && math.IsNaN(f) {
				return true
			}
		}
		return f < p.low || f > p.high
	}
	if p.none || slices.Contains(p.missing, word) {
		return true
	}
	if p.element.Kind == ndarray.Int {
		if int64(word) < int64(p.least) || int64(word) > int64(p.most) {
			return true
		}
	} else if word < p.least || word > p.most {
		return true
	}
	if p.limitsOfValue {
		v := p.scaledValue(word)
		return v < p.low || v > p.high
	}
	return false
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

// numbersOf returns the numbers of an attribute, or nil if it is not numeric.
func numbersOf(attrs ndarray.Attrs, name string) (values []numbers.Number, d ndarray.DType) {
	v, ok := attrs.Get(name)
	if !ok || v.Null || !isNumber(v.DType) {
		return nil, d
	}
	p := packing{element: v.DType.Native()}
	wide := p.wide()
	raw := make([]byte, 8*(len(v.Data)/v.DType.Size))
	if err := ndarray.Convert(raw, wide, v.Data, p.element, true); err != nil {
		return nil, d
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
	return values, v.DType
}

// Text returns the text of an attribute with one string, or "" without one.
func Text(attrs ndarray.Attrs, name string) string {
	v, ok := attrs.Get(name)
	if !ok || v.Null || slices.ContainsFunc(v.Shape, func(n int64) bool { return n != 1 }) {
		return ""
	}
	switch v.DType.Kind {
	case ndarray.String:
		return v.Strings[0]
	case ndarray.Bytes, ndarray.Unicode:
		quoted := ndarray.FormatElement(v.DType, v.Data)
		if text, err := strconv.Unquote(quoted); err == nil {
			return text
		}
		return strings.Trim(quoted, `"`)
	}
	return ""
}

// numberText formats a number of an attribute of a kind: integers exactly, floats with 6 digits.
func numberText(v numbers.Number, kind ndarray.Kind) string {
	f, _ := v.Float64(true)
	if kind == ndarray.Float || kind == ndarray.BFloat || math.IsInf(f, 0) {
		return fmt.Sprintf("%.6g", f+0)
	}
	return v.String()
}
