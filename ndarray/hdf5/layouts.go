// Numbers that HDF5 stores in another form than memory: bit fields, times, integers and floats of
// unusual precision, and VAX floats. The tag of the element type contains the stored form.

package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
	"github.com/hyperslab/hyperslab/ndarray"
)

// layoutTag is the prefix of tags of opaque types for numbers without a type in memory, for example
// integers of 128 bits.
const layoutTag = "HDF5:"

// layoutNames are the classes in a tag.
var layoutNames = map[h5.Class]string{h5.Integer: "integer", h5.Bitfield: "bit field", h5.Time: "time", h5.Float: "float"}

// unusual returns the element type of a number that HDF5 stores in another form than memory.
func unusual(t h5.Datatype) ndarray.DType {
	d := ndarray.DType{Order: ndarray.Little, Tag: layoutText(t)}
	if t.Order == h5.BigEndian {
		d.Order = ndarray.Big
	}
	whole := t.Size <= 8 && t.Precision <= 64
	switch {
	case t.Class == h5.Time && whole:
		d.Kind, d.Size, d.Unit = ndarray.DateTime, 8, ndarray.TimeUnit{Name: "s", Count: 1}
		return d
	case (t.Class == h5.Integer || t.Class == h5.Bitfield) && whole:
		d.Kind = ndarray.Uint
		if t.Signed {
			d.Kind = ndarray.Int
		}
		for d.Size = 1; d.Size < t.Size; d.Size *= 2 {
		}
		if d.Size == 1 {
			d.Order = ndarray.NoOrder
		}
		return d
	case t.Class == h5.Float && t.Size <= 16:
		d.Kind, d.Size = ndarray.Float, floatSize(t.Layout)
		if d.Size > 0 {
			return d
		}
	}
	return ndarray.DType{Kind: ndarray.Void, Size: t.Size, Order: ndarray.NoOrder, Tag: layoutTag + orderText(t) + d.Tag}
}

// floatSize returns the size of the smallest float in memory that represents every number of a
// layout, or 0 if there is none.
func floatSize(l h5.FloatLayout) int {
	if l.ExpSize > 30 || l.ExpBias > math.MaxInt32 {
		return 0
	}
	precision := l.MantSize
	if l.Norm == h5.NormImplied {
		precision++
	}
	// The highest exponent counts as well, because FP8 and VAX use it for numbers. The lowest power
	// of two is that of the last bit of a subnormal.
	high, low := 1<<l.ExpSize-2-int(l.ExpBias), 2-int(l.ExpBias)-l.MantSize
	for _, f := range []struct{ size, precision, high, low int }{{4, 24, 127, -149}, {8, 53, 1023, -1074}, {16, 64, 16383, -16445}} {
		if precision <= f.precision && high <= f.high && low >= f.low {
			return f.size
		}
	}
	return 0
}

func orderText(t h5.Datatype) string {
	if t.Order == h5.BigEndian {
		return "big-endian "
	}
	return ""
}

// layoutText returns the form of a number for a tag, without its byte order unless that is VAX's.
func layoutText(t h5.Datatype) string {
	s := fmt.Sprintf("%s size=%d bits=%d offset=%d pad=%d,%d", layoutNames[t.Class], t.Size, t.Precision, t.Offset, t.LowPad, t.HighPad)
	if t.Signed {
		s += " signed=1"
	}
	if t.Order == h5.VAX {
		s += " vax=1"
	}
	if l := t.Layout; t.Class == h5.Float {
		s += fmt.Sprintf(" sign=%d exponent=%d,%d mantissa=%d,%d bias=%d norm=%d inner=%d",
			l.SignPos, l.ExpPos, l.ExpSize, l.MantPos, l.MantSize, l.ExpBias, l.Norm, l.InnerPad)
	}
	return s
}

// numberLayout returns the datatype that a tag describes.
func numberLayout(tag string, order h5.Order) (t h5.Datatype, err error) {
	bad := fmt.Errorf("%w: stored form %q", ndarray.ErrType, tag)
	t.Order, t.Class = order, -1
	rest := ""
	for class, name := range layoutNames {
		if after, ok := strings.CutPrefix(tag, name+" "); ok {
			t.Class, rest = class, after
		}
	}
	if t.Class < 0 {
		return t, bad
	}
	l := &t.Layout
	for _, item := range strings.Fields(rest) {
		key, list, _ := strings.Cut(item, "=")
		var n []uint64
		for _, text := range strings.Split(list, ",") {
			x, err := strconv.ParseUint(text, 10, 64)
			if err != nil || x > math.MaxInt32 && key != "bias" {
				return t, bad
			}
			n = append(n, x)
		}
		n = append(n, 0)
		switch a, b := int(n[0]), int(n[1]); key {
		case "size":
			t.Size = a
		case "bits":
			t.Precision = a
		case "offset":
			t.Offset = a
		case "pad":
			t.LowPad, t.HighPad = h5.Padding(a), h5.Padding(b)
		case "signed":
			t.Signed = true
		case "vax":
			t.Order = h5.VAX
		case "sign":
			l.SignPos = a
		case "exponent":
			l.ExpPos, l.ExpSize = a, b
		case "mantissa":
			l.MantPos, l.MantSize = a, b
		case "bias":
			l.ExpBias = n[0]
		case "norm":
			l.Norm = h5.Norm(a)
		case "inner":
			l.InnerPad = h5.Padding(a)
		default:
			return t, bad
		}
	}
	if layoutText(t) != tag {
		return t, bad
	}
	return t, nil
}

// converted reports whether elements of d have another form in the file than in memory.
func converted(d ndarray.DType) bool {
	found := false
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		found = found || p.Tag != "" && p.Kind != ndarray.Void && p.Kind != ndarray.Reference
		return p
	})
	return found
}

// loadNumber appends a stored number of type t in the form of d, in native byte order.
func loadNumber(dst []byte, d ndarray.DType, t h5.Datatype, src []byte) ([]byte, error) {
	if d.Kind == ndarray.Float {
		return loadFloat(dst, d, t, src)
	}
	v := loadBits(src, t.Order) >> t.Offset
	free := 64 - t.Precision
	if v <<= free; t.Signed || t.Class == h5.Time {
		v = uint64(int64(v) >> free)
	} else {
		v >>= free
	}
	return appendUint(dst, v, d.Size), nil
}

// loadBits returns the bytes of a number of at most 8 bytes.
func loadBits(src []byte, order h5.Order) (v uint64) {
	for i := range src {
		b := src[i]
		if order == h5.LittleEndian {
			b = src[len(src)-1-i]
		}
		v = v<<8 | uint64(b)
	}
	return v
}

// appendUint appends the low size bytes of v in native byte order.
func appendUint(dst []byte, v uint64, size int) []byte {
	switch size {
	case 1:
		return append(dst, byte(v))
	case 2:
		return binary.NativeEndian.AppendUint16(dst, uint16(v))
	case 4:
		return binary.NativeEndian.AppendUint32(dst, uint32(v))
	}
	return binary.NativeEndian.AppendUint64(dst, v)
}

func loadFloat(dst []byte, d ndarray.DType, t h5.Datatype, src []byte) ([]byte, error) {
	f, exact, ok := h5elem.ViewOf(&h5.Values{Datatype: t, N: 1, Block: src}, 0).Float()
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: float of %d bytes", errors.ErrUnsupported, t.Size)
	case d.Size == 16:
		if exact == nil {
			exact = toBig(f)
		}
		b, ok := extended(f, exact)
		if !ok {
			return nil, fmt.Errorf("%w: %v does not fit 64 bits of precision", ndarray.ErrValue, exact.Text('g', -1))
		}
		return append(dst, b...), nil
	case exact != nil || d.Size == 4 && float64(float32(f)) != f && f == f:
		return nil, fmt.Errorf("%w: %v does not fit a float of %d bytes", ndarray.ErrValue, f, d.Size)
	case d.Size == 4:
		return binary.NativeEndian.AppendUint32(dst, math.Float32bits(float32(f))), nil
	}
	return binary.NativeEndian.AppendUint64(dst, math.Float64bits(f)), nil
}

// toBig returns f, or nil for a NaN or an infinity.
func toBig(f float64) *big.Float {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return big.NewFloat(f)
}

// extended returns the x87 extended form of a number in native byte order. exact is nil for NaN and
// infinities. It reports false for a number that the form cannot represent.
func extended(f float64, exact *big.Float) ([]byte, bool) {
	var mantissa uint64
	top := uint16(0x7fff)
	negative := math.Signbit(f)
	switch {
	case exact == nil && math.IsNaN(f):
		mantissa = 3 << 62
	case exact == nil:
		mantissa = 1 << 63
	case exact.Sign() == 0:
		top, negative = 0, exact.Signbit()
	default:
		negative = exact.Signbit()
		m := new(big.Float).Abs(exact)
		e := m.MantExp(m) + 16382 // m is now in [0.5, 1)
		shift := 64
		if e < 1 { // subnormal
			shift, e = 63+e, 0
		}
		whole, accuracy := m.SetMantExp(m, shift).Uint64()
		if e > 0x7ffe || accuracy != big.Exact {
			return nil, false
		}
		mantissa, top = whole, uint16(e)
	}
	if negative {
		top |= 1 << 15
	}
	b := make([]byte, 16)
	if ndarray.NativeOrder == ndarray.Little {
		binary.LittleEndian.PutUint64(b, mantissa)
		binary.LittleEndian.PutUint16(b[8:], top)
	} else {
		binary.BigEndian.PutUint64(b[8:], mantissa)
		binary.BigEndian.PutUint16(b[6:], top)
	}
	return b, true
}

// storeNumber returns the stored form of a number in memory.
func storeNumber(d ndarray.DType, t h5.Datatype, src []byte) ([]byte, error) {
	if d.Kind == ndarray.Float {
		return storeFloat(d, t, src)
	}
	v := loadBits(src, nativeOrder())
	free := 64 - t.Precision
	back := v << free >> free
	if t.Signed || t.Class == h5.Time {
		free := 64 - 8*len(src)
		v = uint64(int64(v) << free >> free) // the value in 64 bits
		free = 64 - t.Precision
		back = uint64(int64(v) << free >> free)
	}
	if back != v {
		return nil, fmt.Errorf("%w: %s is not an integer of %d bits", ndarray.ErrValue, ndarray.FormatElement(ndarray.DType{Kind: d.Kind, Size: d.Size, Unit: d.Unit}, src), t.Precision)
	}
	bits := v << free >> free << t.Offset
	if t.LowPad == h5.PadOne {
		bits |= 1<<t.Offset - 1
	}
	if high := t.Offset + t.Precision; t.HighPad == h5.PadOne && high < 64 {
		bits |= ^uint64(0) << high
	}
	out := make([]byte, t.Size)
	for i := range out {
		at := i
		if t.Order != h5.LittleEndian {
			at = len(out) - 1 - i
		}
		out[at] = byte(bits >> (8 * i))
	}
	return out, nil
}

func storeFloat(d ndarray.DType, t h5.Datatype, src []byte) ([]byte, error) {
	mem := floatType(ndarray.Float, d.Size, nativeOrder())
	f, exact, _ := h5elem.ViewOf(&h5.Values{Datatype: mem, N: 1, Block: src}, 0).Float()
	var v h5.Values
	var err error
	if exact != nil {
		v, err = h5value.Encode(t, []*big.Float{exact})
	} else {
		v, err = h5value.Encode(t, []float64{f})
	}
	if err != nil {
		return nil, errs.Mark(err, ndarray.ErrValue)
	}
	return v.Block[:t.Size], nil
}

func nativeOrder() h5.Order { return h5.NativeOrder }
