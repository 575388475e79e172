// Numbers in stored form, with any width, bit position, byte order and float layout. See HDF5 file
// format IV.A.2.d (class bit fields and properties).

package numbers

import (
	"encoding/binary"
	"math"
	"math/big"
)

// Order is the byte order of a stored number.
type Order int

// Byte orders.
const (
	Little Order = iota
	Big
	VAX // little-endian 16-bit words, high word first
)

// Native is the byte order of this machine.
var Native = func() Order {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return Little
	}
	return Big
}()

// Format is the stored form of a number.
type Format struct {
	Float             bool // otherwise an integer of at most 64 significant bits
	Signed            bool // an integer in two's complement
	Order             Order
	Size              int // in bytes, at most MaxSize
	Precision         int // number of significant bits
	Offset            int // of the lowest significant bit
	LowOnes, HighOnes bool
	Layout            Layout // of a float
}

// Layout is the position of the parts of a float, in bits from the lowest one of the element.
type Layout struct {
	SignPos, ExpPos, ExpSize, MantPos, MantSize int
	Bias                                        uint64
	Implied                                     bool // the leading 1 of the mantissa is not stored
	InnerOnes                                   bool // bits between the parts are ones
}

// IEEE32 and IEEE64 are the layouts of Go's floats, and X87 is that of the 80-bit floats in 12 or
// 16 bytes.
var (
	IEEE32 = Layout{SignPos: 31, ExpPos: 23, ExpSize: 8, MantSize: 23, Bias: 127, Implied: true}
	IEEE64 = Layout{SignPos: 63, ExpPos: 52, ExpSize: 11, MantSize: 52, Bias: 1023, Implied: true}
	X87    = Layout{SignPos: 79, ExpPos: 64, ExpSize: 15, MantSize: 64, Bias: 16383}
)

// Load returns the number stored at src, which has t.Size bytes.
func (t *Format) Load(src []byte) Number {
	if t.Float {
		return t.loadFloat(src)
	}
	return t.loadInt(src)
}

// Store is the inverse of Load. It returns an *Error if the format cannot represent n. If lossy, it
// stores the nearest number instead: integers are truncated and clamped, and floats are rounded,
// ties to even, and become infinite above the largest number.
func (t *Format) Store(dst []byte, n Number, lossy bool) error {
	if t.Float {
		return t.storeFloat(dst, n, lossy)
	}
	var v uint64
	var err error
	if t.Signed {
		var i int64
		i, err = n.Signed(t.Precision, lossy)
		v = uint64(i)
	} else {
		v, err = n.Unsigned(t.Precision, lossy)
	}
	if err != nil {
		return err
	}
	t.storeBits(dst, v)
	return nil
}

// MaxSize is the maximum size in bytes of a number for conversions in Go.
const MaxSize = 64

// littleEndian copies the bytes of an element into buf in little-endian order.
func (t *Format) littleEndian(buf *[MaxSize]byte, src []byte) []byte {
	b := buf[:len(src)]
	switch t.Order {
	case Big:
		for i, c := range src {
			b[len(src)-1-i] = c
		}
	case VAX: // pairs of bytes, the highest pair first
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

func (t *Format) wholeBytes() bool {
	return t.Offset == 0 && t.Precision == 8*t.Size && t.Order != VAX
}

// loadInt returns the integer, bit field or time stored at src, which has at most 64 significant
// bits.
func (t *Format) loadInt(src []byte) Number {
	var v uint64
	switch {
	case t.Order == Little && t.Size == 4 && t.wholeBytes():
		v = uint64(binary.LittleEndian.Uint32(src))
	case t.Order == Little && t.Size == 8 && t.wholeBytes():
		v = binary.LittleEndian.Uint64(src)
	default:
		var buf [MaxSize]byte
		v = bitsAt(t.littleEndian(&buf, src), t.Offset, t.Precision)
	}
	if t.Signed && v>>(t.Precision-1)&1 != 0 {
		return Number{neg: true, mag: -(v | ^uint64(0)<<(t.Precision-1))}
	}
	return Number{mag: v}
}

// storeBits stores the bits at their offset and fills the padding around them.
func (t *Format) storeBits(dst []byte, v uint64) {
	var buf, ordered [MaxSize]byte
	b := buf[:len(dst)]
	t.pad(b)
	setBitsAt(b, t.Offset, t.Precision, v)
	copy(dst, t.littleEndian(&ordered, b)) // the conversion is its own inverse
}

func (t *Format) pad(b []byte) {
	fill := func(pos, n int, p bool) {
		for i := range n {
			if p {
				setBitsAt(b, pos+i, 1, 1)
			}
		}
	}
	fill(0, t.Offset, t.LowOnes)
	fill(t.Offset+t.Precision, 8*len(b)-t.Offset-t.Precision, t.HighOnes)
}

// Fits reports whether layout big can represent every float of layout l.
func (l *Layout) Fits(big *Layout) bool {
	if _, noNaN := special(l); noNaN {
		return true
	}
	least := func(l *Layout) int64 { return 1 - int64(l.Bias) - int64(fractionBits(l)) }
	most := func(l *Layout) int64 { return int64(1)<<l.ExpSize - 2 - int64(l.Bias) }
	return l.ExpSize < 32 && fractionBits(l) <= fractionBits(big) && least(l) >= least(big) && most(l) <= most(big)
}

// special reports the small floats of machine learning whose largest exponent encodes ordinary
// numbers. In E4M3 only all ones is NaN; the shorter formats have no NaN (OCP 8-bit Floating Point
// Specification 5.1, OCP Microscaling Formats 5.3).
func special(l *Layout) (noInf, noNaN bool) {
	switch {
	case l.ExpSize == 4 && l.MantSize == 3 && l.Bias == 7 && l.SignPos == 7:
		return true, false
	case l.ExpSize == 3 && l.MantSize == 2 && l.Bias == 3 && l.SignPos == 5,
		l.ExpSize == 2 && l.MantSize == 3 && l.Bias == 1 && l.SignPos == 5,
		l.ExpSize == 2 && l.MantSize == 1 && l.Bias == 1 && l.SignPos == 3:
		return true, true
	}
	return false, false
}

// explicit reports whether the leading one of the mantissa is stored, as in the 80-bit floats of
// x87, which libhdf5 describes as H5T_NORM_NONE.
func explicit(l *Layout) bool { return !l.Implied }

// fractionBits returns the number of bits after the leading one.
func fractionBits(l *Layout) int {
	if explicit(l) {
		return l.MantSize - 1
	}
	return l.MantSize
}

// loadFloat returns the float stored at src.
func (t *Format) loadFloat(src []byte) Number {
	if t.wholeBytes() {
		switch {
		case t.Size == 8 && t.Layout == IEEE64:
			return Number{kind: isFloat, f: math.Float64frombits(word64(t, src))}
		case t.Size == 4 && t.Layout == IEEE32:
			return Number{kind: isFloat, f: float64(math.Float32frombits(word32(t, src)))}
		}
	}
	var buf [MaxSize]byte
	b := t.littleEndian(&buf, src)
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
			return Number{kind: isFloat, f: nan(neg, fraction, fractionBits(l))}
		case !noInf:
			return Number{kind: isFloat, f: math.Inf(sign(neg))}
		}
	}
	scale := exp - int64(l.Bias)
	if exp == 0 {
		scale++
	}
	scale -= int64(fractionBits(l))
	if !explicit(l) && exp != 0 {
		mant.SetBit(mant, l.MantSize, 1)
	}
	return floatOf(neg, mant, scale)
}

// nan returns a NaN with the sign and the highest bits of a fraction of so many bits.
func nan(neg bool, fraction *big.Int, size int) float64 {
	const most = 52
	payload := new(big.Int).Lsh(fraction, uint(max(0, most-size)))
	payload.Rsh(payload, uint(max(0, size-most)))
	bits := payload.Uint64()
	if bits == 0 {
		bits = 1 << (most - 1) // only the lowest bits of the fraction are set
	}
	return math.Copysign(math.Float64frombits(0x7ff<<most|bits), float64(sign(neg)))
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
func floatOf(neg bool, mant *big.Int, scale int64) Number {
	if mant.Sign() == 0 {
		f := 0.0
		if neg {
			f = math.Copysign(0, -1)
		}
		return Number{kind: isFloat, f: f}
	}
	v := new(big.Float).SetInt(mant)
	v.SetMantExp(v, int(scale))
	if neg {
		v.Neg(v)
	}
	if f, acc := v.Float64(); acc == big.Exact {
		return Number{kind: isFloat, f: f}
	}
	return Number{kind: isBig, big: v}
}

func word64(t *Format, b []byte) uint64 {
	if t.Order == Big {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

func word32(t *Format, b []byte) uint32 {
	if t.Order == Big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// storeFloat is the inverse of loadFloat.
func (t *Format) storeFloat(dst []byte, n Number, lossy bool) error {
	if n.kind == isFloat && t.wholeBytes() && t.Size == 8 && t.Layout == IEEE64 {
		putWord64(t, dst, math.Float64bits(n.f))
		return nil
	}
	l := &t.Layout
	neg, exp, mant, err := t.round(n, lossy)
	if err != nil {
		return err
	}
	var buf, ordered [MaxSize]byte
	b := buf[:len(dst)]
	t.pad(b)
	if l.InnerOnes {
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
	copy(dst, t.littleEndian(&ordered, b))
	return nil
}

func putWord64(t *Format, b []byte, v uint64) {
	if t.Order == Big {
		binary.BigEndian.PutUint64(b, v)
		return
	}
	binary.LittleEndian.PutUint64(b, v)
}

// round returns the fields of a float: the sign, the biased exponent and the mantissa as stored.
func (t *Format) round(n Number, lossy bool) (neg bool, exp uint64, mant *big.Int, err error) {
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
		return false, 0, nil, &Error{Overflow: true, Value: n}
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
	least := 1 - int64(l.Bias)
	fraction := int64(fractionBits(l))
	unit := max(e, least) - fraction // the weight of the last bit
	scaled := new(big.Float).SetPrec(v.Prec()).SetMantExp(v, -int(unit))
	mant, exact := nearestEven(scaled)
	if !exact && !lossy {
		if over(e, int64(top), l, noInf) {
			return outside()
		}
		return false, 0, nil, &Error{Value: n}
	}
	if mant.BitLen() > int(fraction)+1 { // rounded up to the next power of two
		mant.Rsh(mant, 1)
		e++
	}
	if mant.BitLen() <= int(fraction) { // denormal
		return neg, 0, mant, nil
	}
	exp = uint64(max(e, least) + int64(l.Bias))
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
func over(e, top int64, l *Layout, noInf bool) bool {
	if noInf {
		top++
	}
	return e+int64(l.Bias) >= top
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
