// Reader and append functions for msgpack values.

package msgpack

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Markers: the first byte of a value. Names follow the specification.
const (
	FixArray0 = 0x90 // plus the number of elements, up to 15
	FixStr0   = 0xA0 // plus the number of bytes, up to 31
	False     = 0xC2
	True      = 0xC3
	Bin32     = 0xC6
	Uint16    = 0xCD
	Uint32    = 0xCE
	Uint64    = 0xCF
	Int16     = 0xD1
	Int32     = 0xD2
	Int64     = 0xD3
	FixExt16  = 0xD8
	Str32     = 0xDB
	Array16   = 0xDC
	Map16     = 0xDE
)

// Reader reads consecutive values from a buffer. After the first error, later reads return zero
// values and Err returns the error. Every read gets the name of the value for the error and for the
// record.
type Reader struct {
	Format string          // name of the format, for errors
	Record *[]format.Field // if not nil, every value is appended here
	b      []byte
	off    int
	err    error
}

// NewReader returns a Reader of b.
func NewReader(formatName string, b []byte) *Reader { return &Reader{Format: formatName, b: b} }

// Err returns the first error, or nil.
func (r *Reader) Err() error { return r.err }

// Offset returns the number of bytes read.
func (r *Reader) Offset() int { return r.off }

// Left returns the number of unread bytes.
func (r *Reader) Left() int { return len(r.b) - r.off }

// Skip skips n bytes.
func (r *Reader) Skip(n int) { r.take("skip", n) }

// Fail records an error at the given offset if it is the first.
func (r *Reader) Fail(what string, offset int, got, want string, err error) {
	if r.err == nil {
		r.err = &format.Error{Format: r.Format, What: what, Offset: int64(offset), Got: got, Want: want, Err: err}
	}
}

// take returns the next n bytes, or nil after an error.
func (r *Reader) take(what string, n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > r.Left() {
		r.Fail(what, r.off, strconv.Itoa(r.Left())+" bytes", strconv.Itoa(n), format.ErrTruncated)
		return nil
	}
	b := r.b[r.off : r.off+n : r.off+n]
	r.off += n
	return b
}

// note records the value that started at offset from. It calls value only if values are recorded.
func (r *Reader) note(what string, from int, value func() string) {
	if r.Record != nil && r.err == nil {
		*r.Record = append(*r.Record, format.Field{Name: what, Offset: int64(from), Length: int64(r.off - from), Value: value()})
	}
}

// Explain sets the meaning of the last recorded value.
func (r *Reader) Explain(meaning string, args ...any) {
	if r.Record != nil && r.err == nil && len(*r.Record) > 0 {
		(*r.Record)[len(*r.Record)-1].Meaning = fmt.Sprintf(meaning, args...)
	}
}

// marker reads one byte that must equal want.
func (r *Reader) marker(what string, want byte) bool {
	b := r.take(what, 1)
	if b == nil {
		return false
	}
	if b[0] != want {
		r.Fail(what, r.off-1, fmt.Sprintf("msgpack marker %#02x", b[0]), fmt.Sprintf("%#02x", want), format.ErrCorrupt)
		return false
	}
	return true
}

// fixed reads a marker and the n bytes after it. It returns nil after an error.
func (r *Reader) fixed(what string, marker byte, n int) []byte {
	if !r.marker(what, marker) {
		return nil
	}
	return r.take(what, n)
}

// FixArray reads the head of an array of exactly n elements. For n = 16 it expects 0xA0 (0x90 +
// 16), because C-Blosc2 writes this byte, although it is an empty string in msgpack.
func (r *Reader) FixArray(what string, n int) {
	from := r.off
	if r.marker(what, byte(FixArray0+n)) {
		r.note(what, from, func() string { return fmt.Sprintf("array of %d", n) })
	}
}

// FixInt reads a number from 0 to 127 in one byte.
func (r *Reader) FixInt(what string) int8 {
	b := r.take(what, 1)
	if b == nil {
		return 0
	}
	if b[0] > 127 {
		r.Fail(what, r.off-1, fmt.Sprintf("%#02x", b[0]), "0 to 127", format.ErrCorrupt)
		return 0
	}
	r.note(what, r.off-1, func() string { return strconv.Itoa(int(b[0])) })
	return int8(b[0])
}

// Bool reads true or false.
func (r *Reader) Bool(what string) bool {
	b := r.take(what, 1)
	if b == nil {
		return false
	}
	if b[0] != False && b[0] != True {
		r.Fail(what, r.off-1, fmt.Sprintf("msgpack marker %#02x", b[0]), "0xc2 or 0xc3", format.ErrCorrupt)
		return false
	}
	r.note(what, r.off-1, func() string { return strconv.FormatBool(b[0] == True) })
	return b[0] == True
}

// Int16 reads a signed 16-bit number.
func (r *Reader) Int16(what string) int16 { return int16(r.signed(what, Int16, 2)) }

// Int32 reads a signed 32-bit number.
func (r *Reader) Int32(what string) int32 { return int32(r.signed(what, Int32, 4)) }

// Int64 reads a signed 64-bit number.
func (r *Reader) Int64(what string) int64 { return r.signed(what, Int64, 8) }

// signed reads a signed number of size bytes after its marker.
func (r *Reader) signed(what string, marker byte, size int) int64 {
	from := r.off
	b := r.fixed(what, marker, size)
	if b == nil {
		return 0
	}
	var bits uint64
	for _, c := range b {
		bits = bits<<8 | uint64(c)
	}
	unused := 64 - 8*size
	v := int64(bits<<unused) >> unused // with the sign
	r.note(what, from, func() string { return strconv.FormatInt(v, 10) })
	return v
}

// Uint16 reads an unsigned 16-bit number.
func (r *Reader) Uint16(what string) uint16 { return r.count(what, Uint16, "") }

// Array16 reads the head of an array and returns its number of elements.
func (r *Reader) Array16(what string) uint16 { return r.count(what, Array16, "array of ") }

// Map16 reads the head of a map and returns its number of pairs.
func (r *Reader) Map16(what string) uint16 { return r.count(what, Map16, "map of ") }

func (r *Reader) count(what string, marker byte, prefix string) uint16 {
	from := r.off
	b := r.fixed(what, marker, 2)
	if b == nil {
		return 0
	}
	v := binary.BigEndian.Uint16(b)
	r.note(what, from, func() string { return prefix + strconv.Itoa(int(v)) })
	return v
}

// Uint32 reads an unsigned 32-bit number.
func (r *Reader) Uint32(what string) uint32 {
	from := r.off
	b := r.fixed(what, Uint32, 4)
	if b == nil {
		return 0
	}
	v := binary.BigEndian.Uint32(b)
	r.note(what, from, func() string { return strconv.FormatUint(uint64(v), 10) })
	return v
}

// Uint64 reads an unsigned 64-bit number.
func (r *Reader) Uint64(what string) uint64 {
	from := r.off
	b := r.fixed(what, Uint64, 8)
	if b == nil {
		return 0
	}
	v := binary.BigEndian.Uint64(b)
	r.note(what, from, func() string { return strconv.FormatUint(v, 10) })
	return v
}

// FixStr reads a string of at most 31 bytes.
func (r *Reader) FixStr(what string) string {
	from := r.off
	m := r.take(what, 1)
	if m == nil {
		return ""
	}
	if m[0]&0xE0 != FixStr0 {
		r.Fail(what, from, fmt.Sprintf("msgpack marker %#02x", m[0]), "a string of at most 31 bytes", format.ErrCorrupt)
		return ""
	}
	s := string(r.take(what, int(m[0]&0x1F)))
	r.note(what, from, func() string { return strconv.Quote(s) })
	return s
}

// FixStrN reads a string of exactly n bytes, at most 31, as bytes.
func (r *Reader) FixStrN(what string, n int) []byte {
	from := r.off
	b := r.fixed(what, byte(FixStr0+n), n)
	r.note(what, from, func() string { return fmt.Sprintf("%q", b) })
	return b
}

// Str32 reads a string with a 32-bit length.
func (r *Reader) Str32(what string) string {
	from := r.off
	s := string(r.long(what, Str32))
	r.note(what, from, func() string { return strconv.Quote(s) })
	return s
}

// Bin32 reads bytes with a 32-bit length. The result points into the buffer.
func (r *Reader) Bin32(what string) []byte {
	from := r.off
	b := r.long(what, Bin32)
	r.note(what, from, func() string { return fmt.Sprintf("%d bytes", len(b)) })
	return b
}

func (r *Reader) long(what string, marker byte) []byte {
	n := r.fixed(what, marker, 4)
	if n == nil {
		return nil
	}
	v := binary.BigEndian.Uint32(n)
	if int64(v) > int64(r.Left()) {
		r.Fail(what, r.off-4, fmt.Sprintf("length %d", v), fmt.Sprintf("at most %d, the bytes left", r.Left()), format.ErrTruncated)
		return nil
	}
	return r.take(what, int(v))
}

// FixExt16 reads 16 bytes of an application-defined type.
func (r *Reader) FixExt16(what string) (typ byte, data []byte) {
	from := r.off
	b := r.fixed(what, FixExt16, 17)
	if b == nil {
		return 0, make([]byte, 16)
	}
	r.note(what, from, func() string { return fmt.Sprintf("type %d, %x", b[0], b[1:]) })
	return b[0], b[1:]
}

// AppendFixArray appends the head of an array of n elements. n must be at most 16; see FixArray.
func AppendFixArray(dst []byte, n int) []byte { return append(dst, byte(FixArray0+n)) }

// AppendInt32 appends a signed 32-bit number.
func AppendInt32(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, Int32), uint32(v))
}

// AppendInt64 appends a signed 64-bit number.
func AppendInt64(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, Int64), uint64(v))
}

// AppendStr32 appends a string with a 32-bit length.
func AppendStr32(dst []byte, s string) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, Str32), uint32(len(s)))
	return append(dst, s...)
}
