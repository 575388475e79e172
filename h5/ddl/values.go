// Values: rows of elements, formatted as h5dump does.

package ddl

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
)

// width is the maximum length of a line of values.
const width = 80

// A row collects elements into lines that begin with the indexes of their first element, for
// example "(3,0): 1, 2, 3,".
type row struct {
	p      *printer
	length int64                 // of a row in elements; 0: there is only one row
	index  func(n int64) []int64 // of the n-th element
	next   int64                 // number of the next element
	line   strings.Builder
}

// rows returns the rows of the last axis of an array, or the single row of a scalar.
func (p *printer) rows(dims []int64) *row {
	if len(dims) == 0 {
		return &row{p: p, index: func(n int64) []int64 { return []int64{n} }}
	}
	return &row{p: p, length: dims[len(dims)-1], index: func(n int64) []int64 { return indexOf(n, dims) }}
}

// indexOf returns the indexes of the n-th element in row-major order.
func indexOf(n int64, dims []int64) []int64 {
	at := make([]int64, len(dims))
	for i := len(dims) - 1; i >= 0; i-- {
		at[i] = n % max(dims[i], 1)
		n /= max(dims[i], 1)
	}
	return at
}

func (r *row) add(text string, last bool) {
	begin := r.line.Len() == 0
	if r.length > 0 && r.next%r.length == 0 {
		begin = true
	}
	if begin || r.line.Len()+len(text)+3*r.p.indent+2 > width || strings.Contains(text, "\n") {
		r.flush()
		r.line.WriteString(r.place())
	} else {
		r.line.WriteByte(' ')
	}
	r.line.WriteString(text)
	if !last {
		r.line.WriteByte(',')
	}
	r.next++
}

// place returns the prefix of a line.
func (r *row) place() string {
	index := r.index(r.next)
	at := make([]string, len(index))
	for i, n := range index {
		at[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(at, ",") + "): "
}

func (r *row) flush() {
	if r.line.Len() == 0 {
		return
	}
	pad := strings.Repeat("   ", max(r.p.indent-1, 0))
	for text := range strings.SplitSeq(r.line.String(), "\n") {
		_, _ = r.p.w.WriteString(pad)
		_, _ = r.p.w.WriteString(text)
		_ = r.p.w.WriteByte('\n')
	}
	r.line.Reset()
}

// hex formats bytes as h5dump does for opaque and other elements without a text form.
func hex(b []byte) string {
	if len(b) == 1 {
		return fmt.Sprintf("0x%02x", b[0])
	}
	parts := make([]string, len(b))
	for i, c := range b {
		parts[i] = fmt.Sprintf("%02x", c)
	}
	return strings.Join(parts, ":")
}

// quoted returns a quoted string, formatted as h5dump does without -e. Printable characters, \b, \f
// and \t are unchanged, a line break is followed by an indent, and all other bytes are octal.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '\b', '\f', '\t':
			b.WriteByte(c)
		case '\n', '\r':
			b.WriteByte(c)
			b.WriteString("           ")
		default:
			if c < 0x20 || c > 0x7e {
				fmt.Fprintf(&b, `\%03o`, c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// float formats like C's %g: six digits, no trailing zeros, an exponent of at least two digits.
func float(f float64, exact *big.Float) string {
	switch {
	case math.IsNaN(f):
		if math.Signbit(f) {
			return "-nan"
		}
		return "nan"
	case math.IsInf(f, 0) && exact == nil:
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', 6, 64), "+"))
	case exact != nil:
		return exponent(exact.Text('g', 6))
	}
	return exponent(strconv.FormatFloat(f, 'g', 6, 64))
}

// exponent removes trailing zeros of the mantissa. Given a precision, Go switches to an exponent
// where C does, except for numbers from 1e+06 up to 1e+21.
func exponent(s string) string {
	mantissa, exp, has := strings.Cut(s, "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	if !has {
		return mantissa
	}
	return mantissa + "e" + exp
}

// piece is the number of elements read at a time.
const piece = 1 << 16

func (p *printer) datasetValues(d *h5.Dataset, info h5.DatasetInfo) {
	if info.Datatype.Class == h5.Time {
		p.line("DATA{ not yet implemented.}")
		return
	}
	p.line("DATA {")
	p.failed(p.elements(d, info))
	p.line("}")
}

func (p *printer) elements(d *h5.Dataset, info h5.DatasetInfo) error {
	if p.o.Part != nil {
		return p.partElements(d, info.Datatype, *p.o.Part)
	}
	n := info.Space.NumElems()
	if n <= 0 {
		return nil
	}
	r := p.rows(info.Space.Dims)
	defer r.flush()
	for box := range grid.Cut(grid.Whole(info.Space.Dims), nil, piece) {
		if err := p.unwritable(); err != nil {
			return err
		}
		v, err := d.ReadValues(info.Datatype, h5.Region{Start: box.Start, Count: box.Shape}, -1)
		if err != nil {
			return err
		}
		for i := range v.N {
			p.element(r, h5elem.ViewOf(&v, i), r.next == n-1)
		}
	}
	return nil
}

func (p *printer) attributeValues(o h5.Object, a h5.AttributeInfo) {
	value, err := o.ReadAttribute(a.Name)
	if p.failed(err) {
		return
	}
	v, err := h5value.AttributeValues(&value)
	if p.failed(err) {
		return
	}
	r := p.rows(a.Space.Dims)
	defer r.flush()
	for i := range v.N {
		p.element(r, h5elem.ViewOf(&v, i), i == v.N-1)
	}
}

// element writes one element of a dataset or attribute. References are written with their targets,
// all others in rows.
func (p *printer) element(r *row, e h5elem.View, last bool) {
	if e.Class() == h5.Reference {
		p.reference(e.Ref())
		return
	}
	r.add(p.text(e), last)
}

// text formats an element as h5dump does.
func (p *printer) text(e h5elem.View) string {
	switch e.Class() {
	case h5.Integer:
		whole, _ := e.Whole()
		return whole
	case h5.Float:
		f, exact, ok := e.Float()
		if !ok {
			return hex(e.Bytes())
		}
		return float(f, exact)
	case h5.String:
		return stringText(e)
	case h5.Enum:
		if name, ok := e.Name(); ok {
			return escaped(name)
		}
		return hex(native(e))
	case h5.Bitfield, h5.Time:
		return hex(native(e))
	case h5.Opaque:
		return hex(e.Bytes())
	case h5.Compound:
		return "{\n" + p.list(e, ",\n") + "\n}"
	case h5.Array:
		return "[ " + p.list(e, ", ") + " ]"
	case h5.Sequence:
		return "(" + p.list(e, ", ") + ")"
	case h5.Reference:
		return p.referenceText(e.Ref())
	}
	return "invalid datatype"
}

func (p *printer) list(e h5elem.View, between string) string {
	parts := make([]string, e.Len())
	for i := range parts {
		parts[i] = p.text(e.At(i))
	}
	return strings.Join(parts, between)
}

// stringText formats a string as stored. It includes the padding of a string of fixed length,
// unless the string ends at the first zero byte.
func stringText(e h5elem.View) string {
	t := e.Datatype()
	if t.Variable || t.Pad == h5.NullTerm {
		s, ok := e.Text()
		if !ok {
			return "NULL"
		}
		return quoted(s)
	}
	return quoted(string(e.Bytes()))
}

var escapes = strings.NewReplacer(`'`, `\'`, `"`, `\"`, `\`, `\\`, "\b", `\b`, "\f", `\f`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// escaped formats the name of an enumeration's member, which has no quotes.
func escaped(s string) string { return escapes.Replace(s) }

// native returns an integer in the machine's byte order, in the smallest of 1, 2, 4 and 8 bytes
// that hold it.
func native(e h5elem.View) []byte {
	t := e.Datatype()
	if t.Class == h5.Enum {
		t = *t.Base
	}
	whole, ok := e.Whole()
	if !ok {
		return e.Bytes()
	}
	v, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		signed, _ := strconv.ParseInt(whole, 10, 64)
		v = uint64(signed)
	}
	size := 1
	for size < t.Size && size < 8 {
		size *= 2
	}
	return binary.NativeEndian.AppendUint64(nil, v)[:size]
}
