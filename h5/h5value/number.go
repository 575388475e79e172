// Numbers in stored form, with any width, bit position, byte order and float layout: conversion to
// and from Go's numbers, either exact or with an error.
//
// libhdf5 converts whole datasets. This code converts the numbers inside compounds, sequences and
// arrays, for which libhdf5 does not report changed values. See HDF5 file format IV.A.2.d (class
// bit fields and properties).

package h5value

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/hyperslab/hyperslab/h5"
)

// A number is an integer, a float64, or a float that has no exact float64.
type number struct {
	kind numberKind
	neg  bool   // isInt
	mag  uint64 // isInt: the magnitude
	f    float64
	big  *big.Float // isBig
}

type numberKind int

const (
	isInt numberKind = iota
	isFloat
	isBig
)

func intNumber(v int64) number {
	if v < 0 {
		return number{neg: true, mag: -uint64(v)}
	}
	return number{mag: uint64(v)}
}

// maxNumberSize is the maximum size in bytes of a number for conversions in Go.
const maxNumberSize = 64

// littleEndian copies the bytes of an element into buf in little-endian order.
func littleEndian(t *h5.Datatype, buf *[maxNumberSize]byte, src []byte) []byte {
	b := buf[:len(src)]
	switch t.Order {
	case h5.BigEndian:
		for i, c := range src {
			b[len(src)-1-i] = c
		}
	case h5.VAX: // pairs of bytes, the highest pair first
		for i := 0; i+1 < len(src); i += 2 {
			b[len(src)-2-i], b[len(src)-1-i] = src[i], src[i+1]
		}
	default:
		copy(b, src)
	}
	return b
}

// bitsAt returns n bits of little-endian bytes; n is at most 64.
func bitsAt(b []byte, pos, n int) uint64 {
	var v uint64
	for i := 0; i < n; {
		at := pos + i
		take := min(8-at%8, n-i)
		v |= uint64(b[at/8]>>(at%8)) & (1<<take - 1) << i
		i += take
	}
	return v
}

func setBitsAt(b []byte, pos, n int, v uint64) {
	for i := 0; i < n; {
		at := pos + i
		take := min(8-at%8, n-i)
		mask := byte(1<<take-1) << (at % 8)
		b[at/8] = b[at/8]&^mask | byte(v>>i)<<(at%8)&mask
		i += take
	}
}

func wholeBytes(t *h5.Datatype) bool {
	return t.Offset == 0 && t.Precision == 8*t.Size && t.Order != h5.VAX
}

// loadInt returns the integer, bit field or time stored at src, which has at most 64 significant
// bits.
func loadInt(t *h5.Datatype, src []byte) number {
	var v uint64
	switch {
	case t.Order == h5.LittleEndian && t.Size == 4 && wholeBytes(t):
		v = uint64(binary.LittleEndian.Uint32(src))
	case t.Order == h5.LittleEndian && t.Size == 8 && wholeBytes(t):
		v = binary.LittleEndian.Uint64(src)
	default:
		var buf [maxNumberSize]byte
		v = bitsAt(littleEndian(t, &buf, src), t.Offset, t.Precision)
	}
	if t.Signed && v>>(t.Precision-1)&1 != 0 {
		return number{neg: true, mag: -(v | ^uint64(0)<<(t.Precision-1))}
	}
	return number{mag: v}
}

// storeInt is the inverse of loadInt. A value out of range is ErrOverflow, or the nearest value in
// range if lossy.
func storeInt(t *h5.Datatype, dst []byte, n number, lossy bool) error {
	n, err := n.whole(lossy)
	if err != nil {
		return err
	}
	limit := ^uint64(0) >> (64 - t.Precision)
	switch {
	case t.Signed && n.neg:
		limit = 1 << (t.Precision - 1)
	case t.Signed:
		limit = 1<<(t.Precision-1) - 1
	case n.neg:
		limit = 0
	}
	if n.mag > limit {
		if !lossy {
			return fmt.Errorf("%w: %v in %v", h5.ErrOverflow, n, t)
		}
		n.mag = limit
	}
	v := n.mag
	if n.neg {
		v = -v
	}
	storeBits(t, dst, v)
	return nil
}

// storeBits stores the bits at their offset and fills the padding around them.
func storeBits(t *h5.Datatype, dst []byte, v uint64) {
	var buf, ordered [maxNumberSize]byte
	b := buf[:len(dst)]
	pad(t, b)
	setBitsAt(b, t.Offset, t.Precision, v)
	copy(dst, littleEndian(t, &ordered, b)) // the conversion is its own inverse
}

func pad(t *h5.Datatype, b []byte) {
	fill := func(pos, n int, p h5.Padding) {
		for i := range n {
			if p == h5.PadOne {
				setBitsAt(b, pos+i, 1, 1)
			}
		}
	}
	fill(0, t.Offset, t.LowPad)
	fill(t.Offset+t.Precision, 8*len(b)-t.Offset-t.Precision, t.HighPad)
}

// special reports the small floats of machine learning whose largest exponent encodes ordinary
// numbers. In E4M3 only all ones is NaN; the shorter formats have no NaN (OCP 8-bit Floating Point
// Specification 5.1, OCP Microscaling Formats 5.3).
func special(l *h5.FloatLayout) (noInf, noNaN bool) {
	switch {
	case l.ExpSize == 4 && l.MantSize == 3 && l.ExpBias == 7 && l.SignPos == 7:
		return true, false
	case l.ExpSize == 3 && l.MantSize == 2 && l.ExpBias == 3 && l.SignPos == 5,
		l.ExpSize == 2 && l.MantSize == 3 && l.ExpBias == 1 && l.SignPos == 5,
		l.ExpSize == 2 && l.MantSize == 1 && l.ExpBias == 1 && l.SignPos == 3:
		return true, true
	}
	return false, false
}

// explicit reports whether the leading one of the mantissa is stored, as in the 80-bit floats of
// x87, which libhdf5 describes as H5T_NORM_NONE.
func explicit(l *h5.FloatLayout) bool { return l.Norm != h5.NormImplied }

// fractionBits returns the number of bits after the leading one.
func fractionBits(l *h5.FloatLayout) int {
	if explicit(l) {
		return l.MantSize - 1
	}
	return l.MantSize
}

// loadFloat returns the float stored at src.
func loadFloat(t *h5.Datatype, src []byte) number {
	if wholeBytes(t) {
		switch {
		case t.Size == 8 && t.Layout == ieee64:
			return number{kind: isFloat, f: math.Float64frombits(word64(t, src))}
		case t.Size == 4 && t.Layout == ieee32:
			return number{kind: isFloat, f: float64(math.Float32frombits(word32(t, src)))}
		}
	}
	var buf [maxNumberSize]byte
	b := littleEndian(t, &buf, src)
	l := &t.Layout
	neg := bitsAt(b, l.SignPos, 1) != 0
	exp := int64(bitsAt(b, l.ExpPos, l.ExpSize))
	top := exp == 1<<l.ExpSize-1
	// The mantissa as an integer of l.MantSize bits, plus one bit if the leading one is implied.
	low := min(l.MantSize, 64)
	mant := new(big.Int).SetUint64(bitsAt(b, l.MantPos, low))
	for done := low; done < l.MantSize; {
		n := min(64, l.MantSize-done)
		part := new(big.Int).SetUint64(bitsAt(b, l.MantPos+done, n))
		mant.Or(mant, part.Lsh(part, uint(done)))
		done += n
	}
	fraction := mant
	if explicit(l) {
		fraction = new(big.Int).SetBit(mant, l.MantSize-1, 0)
	}
	noInf, noNaN := special(l)
	if top && !noNaN {
		ones := mant.TrailingZeroBits() == 0 && mant.BitLen() == l.MantSize && allOnes(mant)
		switch {
		case noInf && ones, !noInf && fraction.Sign() != 0:
			return number{kind: isFloat, f: math.NaN()}
		case !noInf:
			return number{kind: isFloat, f: math.Inf(sign(neg))}
		}
	}
	scale := exp - int64(l.ExpBias)
	if exp == 0 {
		scale++
	}
	scale -= int64(fractionBits(l))
	if !explicit(l) && exp != 0 {
		mant.SetBit(mant, l.MantSize, 1)
	}
	return floatOf(neg, mant, scale)
}

func allOnes(v *big.Int) bool {
	return new(big.Int).Add(v, big.NewInt(1)).BitLen() == v.BitLen()+1
}

func sign(neg bool) int {
	if neg {
		return -1
	}
	return 1
}

// floatOf returns ±mant·2^scale, as a float64 if that is exact.
func floatOf(neg bool, mant *big.Int, scale int64) number {
	if mant.Sign() == 0 {
		f := 0.0
		if neg {
			f = math.Copysign(0, -1)
		}
		return number{kind: isFloat, f: f}
	}
	v := new(big.Float).SetInt(mant)
	v.SetMantExp(v, int(scale))
	if neg {
		v.Neg(v)
	}
	if f, acc := v.Float64(); acc == big.Exact {
		return number{kind: isFloat, f: f}
	}
	return number{kind: isBig, big: v}
}

func word64(t *h5.Datatype, b []byte) uint64 {
	if t.Order == h5.BigEndian {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

func word32(t *h5.Datatype, b []byte) uint32 {
	if t.Order == h5.BigEndian {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

var (
	ieee64 = h5.IEEEFloat(8, h5.NativeOrder).Layout
	ieee32 = h5.IEEEFloat(4, h5.NativeOrder).Layout
)

// storeFloat is the inverse of loadFloat. A number that the layout cannot represent is ErrOverflow
// or ErrPrecision. If lossy, it is rounded to the nearest representable number, ties to even, and
// to infinity above the largest.
func storeFloat(t *h5.Datatype, dst []byte, n number, lossy bool) error {
	if n.kind == isFloat && wholeBytes(t) && t.Size == 8 && t.Layout == ieee64 {
		putWord64(t, dst, math.Float64bits(n.f))
		return nil
	}
	l := &t.Layout
	neg, exp, mant, err := round(t, n, lossy)
	if err != nil {
		return err
	}
	var buf, ordered [maxNumberSize]byte
	b := buf[:len(dst)]
	pad(t, b)
	if l.InnerPad == h5.PadOne {
		for i := range t.Precision {
			setBitsAt(b, t.Offset+i, 1, 1)
		}
	}
	if neg {
		setBitsAt(b, l.SignPos, 1, 1)
	} else {
		setBitsAt(b, l.SignPos, 1, 0)
	}
	setBitsAt(b, l.ExpPos, l.ExpSize, exp)
	for done := 0; done < l.MantSize; {
		k := min(64, l.MantSize-done)
		part := new(big.Int).Rsh(mant, uint(done))
		setBitsAt(b, l.MantPos+done, k, new(big.Int).And(part, new(big.Int).SetUint64(^uint64(0))).Uint64())
		done += k
	}
	copy(dst, littleEndian(t, &ordered, b))
	return nil
}

func putWord64(t *h5.Datatype, b []byte, v uint64) {
	if t.Order == h5.BigEndian {
		binary.BigEndian.PutUint64(b, v)
		return
	}
	binary.LittleEndian.PutUint64(b, v)
}

// round returns the fields of a float: the sign, the biased exponent and the mantissa as stored.
func round(t *h5.Datatype, n number, lossy bool) (neg bool, exp uint64, mant *big.Int, err error) {
	l := &t.Layout
	noInf, noNaN := special(l)
	top := uint64(1)<<l.ExpSize - 1
	quiet := new(big.Int).SetBit(new(big.Int), l.MantSize-1, 1) // the highest bit of the fraction
	one := new(big.Int)                                         // the leading one, if it is stored
	if explicit(l) {
		one.SetBit(one, l.MantSize-1, 1)
		quiet = new(big.Int).SetBit(one, l.MantSize-2, 1)
	}
	outside := func() (bool, uint64, *big.Int, error) {
		return false, 0, nil, fmt.Errorf("%w: %v in %v", h5.ErrOverflow, n, t)
	}
	switch {
	case n.kind == isFloat && math.IsNaN(n.f):
		neg = math.Signbit(n.f)
		switch {
		case noNaN:
			return outside()
		case noInf:
			return neg, top, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(l.MantSize)), big.NewInt(1)), nil
		}
		return neg, top, quiet, nil
	case n.kind == isFloat && math.IsInf(n.f, 0):
		if noInf {
			return outside()
		}
		return n.f < 0, top, one, nil
	}
	v := n.bigFloat()
	neg = v.Signbit()
	if v.Sign() == 0 {
		return neg, 0, new(big.Int), nil
	}
	v = new(big.Float).Abs(v)
	// v = m·2^e with 1 ≤ m < 2. Below the smallest normal exponent there are fewer bits.
	e := int64(v.MantExp(nil)) - 1
	least := 1 - int64(l.ExpBias)
	fraction := int64(fractionBits(l))
	unit := max(e, least) - fraction // the weight of the last bit
	scaled := new(big.Float).SetPrec(v.Prec()).SetMantExp(v, -int(unit))
	mant, exact := nearestEven(scaled)
	if !exact && !lossy {
		if over(e, int64(top), l, noInf) {
			return outside()
		}
		return false, 0, nil, fmt.Errorf("%w: %v in %v", h5.ErrPrecision, n, t)
	}
	if mant.BitLen() > int(fraction)+1 { // rounded up to the next power of two
		mant.Rsh(mant, 1)
		e++
	}
	if mant.BitLen() <= int(fraction) { // denormal
		return neg, 0, mant, nil
	}
	exp = uint64(max(e, least) + int64(l.ExpBias))
	if over(max(e, least), int64(top), l, noInf) || noInf && !noNaN && exp == top && allOnesBelow(mant, l.MantSize) {
		if !lossy || noInf {
			return outside()
		}
		return neg, top, one, nil
	}
	if !explicit(l) {
		mant.SetBit(mant, l.MantSize, 0)
	}
	return neg, exp, mant, nil
}

func allOnesBelow(v *big.Int, n int) bool {
	for i := range n {
		if v.Bit(i) == 0 {
			return false
		}
	}
	return true
}

// over reports whether an exponent is too large for the layout.
func over(e, top int64, l *h5.FloatLayout, noInf bool) bool {
	if noInf {
		top++
	}
	return e+int64(l.ExpBias) >= top
}

// nearestEven rounds v ≥ 0 to an integer and reports whether v was one.
func nearestEven(v *big.Float) (*big.Int, bool) {
	whole, acc := v.Int(nil)
	if acc == big.Exact {
		return whole, true
	}
	rest := new(big.Float).SetPrec(v.Prec()+64).Sub(v, new(big.Float).SetInt(whole))
	switch c := rest.Cmp(big.NewFloat(0.5)); {
	case c > 0, c == 0 && whole.Bit(0) == 1:
		whole.Add(whole, big.NewInt(1))
	}
	return whole, false
}

// bigFloat returns n exactly. n must not be infinite or NaN.
func (n number) bigFloat() *big.Float {
	switch n.kind {
	case isInt:
		v := new(big.Float).SetUint64(n.mag)
		if n.neg {
			v.Neg(v)
		}
		return v
	case isFloat:
		return big.NewFloat(n.f)
	default:
		return n.big
	}
}

// whole returns n as an integer of 65 bits including the sign.
func (n number) whole(lossy bool) (number, error) {
	if n.kind == isInt {
		return n, nil
	}
	if n.kind == isFloat && math.IsNaN(n.f) {
		if lossy {
			return number{}, nil
		}
		return number{}, fmt.Errorf("%w: %v as a whole number", h5.ErrOverflow, n)
	}
	if n.kind == isFloat && math.IsInf(n.f, 0) {
		if lossy {
			return number{neg: n.f < 0, mag: math.MaxUint64}, nil
		}
		return number{}, fmt.Errorf("%w: %v as a whole number", h5.ErrOverflow, n)
	}
	v := n.bigFloat()
	mag, _ := new(big.Float).Abs(v).Uint64() // the accuracy is Exact for 1.5 too
	switch {
	case lossy, v.IsInt() && v.MantExp(nil) <= 64:
		return number{neg: v.Sign() < 0 && mag != 0, mag: mag}, nil
	case v.MantExp(nil) > 64:
		return number{}, fmt.Errorf("%w: %v as a whole number", h5.ErrOverflow, n)
	default:
		return number{}, fmt.Errorf("%w: %v as a whole number", h5.ErrPrecision, n)
	}
}

// float64 returns n as a float64.
func (n number) float64(lossy bool) (float64, error) {
	switch n.kind {
	case isInt:
		f := float64(n.mag)
		if !lossy && (bits.Len64(n.mag)-bits.TrailingZeros64(n.mag) > 53) {
			return 0, fmt.Errorf("%w: %v as a float64", h5.ErrPrecision, n)
		}
		if n.neg {
			f = -f
		}
		return f, nil
	case isFloat:
		return n.f, nil
	}
	f, _ := n.big.Float64()
	if lossy {
		return f, nil
	}
	if math.IsInf(f, 0) {
		return 0, fmt.Errorf("%w: %v as a float64", h5.ErrOverflow, n)
	}
	return 0, fmt.Errorf("%w: %v as a float64", h5.ErrPrecision, n)
}

// float32 returns n as a float32.
func (n number) float32(lossy bool) (float32, error) {
	if n.kind == isInt && bits.Len64(n.mag)-bits.TrailingZeros64(n.mag) <= 24 {
		f := float32(n.mag)
		if n.neg {
			f = -f
		}
		return f, nil
	}
	if n.kind == isFloat {
		f := float32(n.f)
		if lossy || float64(f) == n.f || f != f {
			return f, nil
		}
		if math.IsInf(float64(f), 0) {
			return 0, fmt.Errorf("%w: %v as a float32", h5.ErrOverflow, n)
		}
		return 0, fmt.Errorf("%w: %v as a float32", h5.ErrPrecision, n)
	}
	f, _ := n.bigFloat().Float32()
	switch {
	case lossy:
		return f, nil
	case math.IsInf(float64(f), 0):
		return 0, fmt.Errorf("%w: %v as a float32", h5.ErrOverflow, n)
	}
	return 0, fmt.Errorf("%w: %v as a float32", h5.ErrPrecision, n)
}

func (n number) String() string {
	switch n.kind {
	case isInt:
		if n.neg {
			return fmt.Sprintf("-%d", n.mag)
		}
		return fmt.Sprint(n.mag)
	case isFloat:
		return fmt.Sprint(n.f)
	default:
		return n.big.Text('g', 40)
	}
}
