// part: a structure while it is read. A cursor over its bytes also writes the annotated fields,
// because values and descriptions should come from the same code.

package h5file

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/format"
)

// formatName is the Format of every *format.Error of this package.
const formatName = "hdf5"

// A part is a structure of the file that is being read. The first complaint is kept in err. Reads
// after the end of the bytes return zero and end the part. After any other complaint reading
// continues as far as the bytes allow.
type part struct {
	r       *reader
	what    string // the structure's name in the specification
	b       []byte
	pos     int
	at      int64 // bytes from the start of the file to b[0]
	decoded bool  // b was decoded by a filter, so its bytes have no offsets in the file
	summed  bool  // a checksum covers b
	ended   bool  // a read went past the end
	err     error // the first complaint

	field *format.Field   // nil unless the structure is described
	open  []*format.Field // the groups around the next field, outermost first
	last  *format.Field   // the last field that was read
	start int             // position of the last field in b
}

// ok reports whether reading can continue. Loops over counts from the file must check it.
func (p *part) ok() bool { return !p.ended }

// rest returns the number of unread bytes.
func (p *part) rest() int { return len(p.b) - p.pos }

// offset returns the offset in the file of position pos.
func (p *part) offset(pos int) int64 {
	if p.decoded {
		return p.at
	}
	return p.at + int64(pos)
}

// take returns the next n bytes and makes them the last field.
func (p *part) take(name string, n int) []byte {
	p.start = p.pos
	p.last = nil
	if p.ended {
		return nil
	}
	if n < 0 || n > p.rest() {
		p.ended = true
		p.complain(format.ErrTruncated, name, fmt.Sprintf("%d bytes", p.rest()), fmt.Sprintf("%d", n))
		return nil
	}
	b := p.b[p.pos : p.pos+n : p.pos+n]
	p.pos += n
	if p.field != nil {
		length := int64(n)
		if p.decoded {
			length = 0
		}
		p.last = p.add(format.Field{Name: name, Offset: p.offset(p.start), Length: length})
	}
	return b
}

func (p *part) add(f format.Field) *format.Field {
	top := p.open[len(p.open)-1]
	top.Fields = append(top.Fields, f)
	return &top.Fields[len(top.Fields)-1]
}

// group opens a field around the next fields. The returned function closes it. A negative index is
// not shown.
func (p *part) group(name string, index int) func() {
	if p.field == nil {
		return func() {}
	}
	if index >= 0 {
		name += " " + strconv.Itoa(index)
	}
	from := p.pos
	// The group is added to its parent when it is complete, because a pointer into a growing slice
	// would become invalid.
	g := &format.Field{Name: name, Offset: p.offset(from)}
	p.open = append(p.open, g)
	return func() {
		p.open = p.open[:len(p.open)-1]
		if !p.decoded {
			g.Length = int64(p.pos - from)
		}
		p.last = p.add(*g)
	}
}

// uint reads an unsigned little-endian integer of n bytes. Like libhdf5, it keeps only the low 8
// bytes of longer ones.
func (p *part) uint(name string, n int) uint64 {
	v := leUint(p.take(name, n))
	if p.last != nil {
		p.last.Value = strconv.FormatUint(v, 10)
	}
	return v
}

func leUint(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

func (p *part) u8(name string) uint8   { return uint8(p.uint(name, 1)) }
func (p *part) u16(name string) uint16 { return uint16(p.uint(name, 2)) }
func (p *part) u32(name string) uint32 { return uint32(p.uint(name, 4)) }
func (p *part) u64(name string) uint64 { return p.uint(name, 8) }

// hex changes the value of the last field to hexadecimal.
func (p *part) hex() {
	if p.last != nil {
		v, _ := strconv.ParseUint(p.last.Value, 10, 64)
		p.last.Value = fmt.Sprintf("%#02x", v)
	}
}

// mean sets the meaning of the last field.
func (p *part) mean(layout string, args ...any) {
	if p.last != nil {
		p.last.Meaning = fmt.Sprintf(layout, args...)
	}
}

// length reads a number of "size of lengths" bytes.
func (p *part) length(name string) uint64 { return p.uint(name, p.r.f.super.LengthSize) }

// addr reads an address of "size of offsets" bytes. All ones mean Undefined. For wider addresses
// libhdf5 uses only the low 8 bytes and refuses the address unless the others are 0.
func (p *part) addr(name string) Addr {
	b := p.take(name, p.r.f.super.OffsetSize)
	if b == nil {
		return Undefined
	}
	a, high := Undefined, false
	if !allOnes(b) {
		a = Addr(leUint(b))
		high = len(b) > 8 && len(bytes.Trim(b[8:], "\x00")) > 0
	}
	if p.last != nil {
		p.last.Value = a.String()
	}
	if high {
		p.bad("an address of more than 64 bits", "at most 64 bits")
	}
	return a
}

func allOnes(b []byte) bool {
	for _, c := range b {
		if c != 0xFF {
			return false
		}
	}
	return true
}

// bytes reads n bytes.
func (p *part) bytes(name string, n int) []byte {
	b := p.take(name, n)
	if p.last != nil {
		p.last.Value = hexText(b)
	}
	return b
}

// hexText returns at most 32 bytes in hexadecimal.
func hexText(b []byte) string {
	const most = 32
	if len(b) > most {
		return fmt.Sprintf("%x…", b[:most])
	}
	return fmt.Sprintf("%x", b)
}

// text reads a string of n bytes.
func (p *part) text(name string, n int) string {
	s := string(p.take(name, n))
	if p.last != nil {
		p.last.Value = strconv.Quote(s)
	}
	return s
}

// cstring reads a string that must end with a zero byte, and its padding up to a multiple of pad
// bytes.
func (p *part) cstring(name string, pad int) string {
	n := bytes.IndexByte(p.b[p.pos:], 0)
	if p.ended {
		return ""
	}
	if n < 0 {
		p.start, p.last, p.ended = p.pos, nil, true
		p.complain(format.ErrTruncated, name, fmt.Sprintf("%d bytes without a zero", p.rest()), "a terminated text")
		return ""
	}
	b := p.take(name, (n+pad)/pad*pad)
	if len(b) < n {
		return ""
	}
	if p.last != nil {
		p.last.Value = strconv.Quote(string(b[:n]))
	}
	return string(b[:n])
}

// reserved reads n bytes that the format does not use. Neither libhdf5 nor this package checks
// their values.
func (p *part) reserved(n int) {
	b := p.take("reserved", n)
	if p.last != nil && len(bytes.Trim(b, "\x00")) > 0 {
		p.last.Value = hexText(b)
	}
}

// bad complains about the last field. got is the actual value, and want the expected one.
func (p *part) bad(got, want string) { p.badAs(format.ErrCorrupt, got, want) }

// badAs is bad with another sentinel than format.ErrCorrupt.
func (p *part) badAs(kind error, got, want string) {
	if p.ended {
		return // the value does not exist
	}
	name := p.what
	if p.last != nil {
		name = p.last.Name
	}
	p.complain(kind, name, got, want)
}

// check complains unless ok. got and want are as in bad.
func (p *part) check(ok bool, got any, want string) bool {
	if !ok {
		p.bad(fmt.Sprint(got), want)
	}
	return ok
}

// version complains unless v is in the range from low to high.
func (p *part) version(v, low, high uint8) bool {
	if v < low || v > high {
		want := strconv.Itoa(int(low))
		if low != high {
			want += " to " + strconv.Itoa(int(high))
		}
		p.badAs(format.ErrVersion, strconv.Itoa(int(v)), want)
		return false
	}
	return true
}

// flags complains about bits outside of known.
func (p *part) flags(v, known uint8) {
	p.hex()
	p.check(v&^known == 0, fmt.Sprintf("%#02x", v), fmt.Sprintf("no bits but %#02x", known))
}

// signature reads four bytes that must equal want.
func (p *part) signature(want string) bool {
	got := p.text("signature", len(want))
	if p.ended {
		return false
	}
	if got != want {
		p.complain(format.ErrCorrupt, "signature", strconv.Quote(got), strconv.Quote(want))
		p.ended = true
		return false
	}
	return true
}

// checksum reads the checksum of all bytes before it.
func (p *part) checksum() {
	from := p.pos
	got := p.u32("checksum")
	p.hex()
	if p.ended {
		return
	}
	if want := Lookup3(p.b[:from]); got != want {
		p.wrong(WrongChecksum{Length: int64(from), At: p.offset(from), Stored: got, Computed: want})
		p.bad(fmt.Sprintf("%#08x", got), fmt.Sprintf("%#08x", want))
	}
}

// stored returns the offset in the file of position pos, or -1 if a filter decoded the bytes.
func (p *part) stored(pos int) int64 {
	if p.decoded {
		return -1
	}
	return p.offset(pos)
}

// complain keeps the first complaint. It attaches every complaint to the last field, or to the
// structure without a last field.
func (p *part) complain(kind error, name, got, want string) {
	p.fail(&format.Error{Format: formatName, What: p.what + ": " + name, Offset: p.offset(p.start), Got: got, Want: want, Err: kind})
}

// fail is complain for an existing error.
func (p *part) fail(err error) {
	if err == nil {
		return
	}
	if p.err == nil {
		p.err = err
	}
	if p.field == nil {
		return
	}
	target := p.last
	if target == nil {
		target = p.open[len(p.open)-1]
	}
	text := format.Complaint(err)
	if target.Complaint != "" {
		text = target.Complaint + "; " + text
	}
	target.Complaint = text
}

// grow extends the part to n bytes. It reads the additional bytes from the file.
func (p *part) grow(n int64) bool {
	if p.ended || n <= int64(len(p.b)) {
		return !p.ended
	}
	more, err := p.r.bytes(p.what, p.at+int64(len(p.b)), n-int64(len(p.b)), int64(len(p.b)))
	p.b = append(p.b, more...)
	if err != nil {
		p.start, p.last = p.pos, nil
		p.fail(err)
		// The available bytes can still be described.
		return len(more) > 0
	}
	return true
}

// within returns the part for a message or object inside p: n bytes from the cursor. It moves the
// cursor after them.
func (p *part) within(what string, n int) *part {
	b := p.b[p.pos : p.pos+n : p.pos+n]
	q := &part{r: p.r, what: what, b: b, at: p.offset(p.pos), decoded: p.decoded, summed: p.summed}
	if p.field != nil {
		q.describe()
	}
	p.pos += n
	return q
}

// describe makes the part write fields.
func (p *part) describe() {
	p.field = &format.Field{Name: p.what, Offset: p.at, Length: int64(len(p.b))}
	if p.decoded {
		p.field.Length = 0
	}
	p.open = []*format.Field{p.field}
}

// rename changes the name of the structure after its kind has been determined.
func (p *part) rename(what string) {
	p.what = what
	if p.field != nil {
		p.field.Name = what
	}
}

// put adds the fields of a finished part below those of p, and copies its complaint.
func (p *part) put(q *part) *format.Field {
	if p.err == nil {
		p.err = q.err
	}
	if p.field == nil {
		return nil
	}
	p.last = p.add(*q.field)
	return p.last
}

// done ends the part and passes its fields to the reader. It returns the first complaint.
func (p *part) done() error {
	if p.field != nil {
		if !p.decoded {
			p.field.Length = int64(len(p.b))
		}
		p.r.annotated(*p.field)
	}
	return p.err
}
