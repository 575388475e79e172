// Parse and Append for any MessagePack value. The parser is strict. The output has the shortest
// form, as written by Python's msgpack.
//
// Values are nil, bool, int64, uint64 (only above the largest int64), float32, float64, string,
// []byte, []any, Map and Ext.

package msgpack

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Map is a map in its stored order.
type Map []Pair

// Pair is a key of a Map and its value.
type Pair struct{ Key, Value any }

// Get returns the value of the first key that equals the given string.
func (m Map) Get(key string) (any, bool) {
	for _, p := range m {
		if p.Key == any(key) {
			return p.Value, true
		}
	}
	return nil, false
}

// Ext is an extension type: its number and its bytes.
type Ext struct {
	Kind int8
	Data []byte
}

// MaxDepth is the maximum nesting depth of lists and maps. It allows an attribute of rank
// ndarray.MaxRank in the record.
const MaxDepth = 40

// Append appends v. It panics for any other type, which would be a bug in this package.
func Append(dst []byte, v any) []byte {
	be := binary.BigEndian
	switch v := v.(type) {
	case nil:
		return append(dst, 0xc0)
	case bool:
		if v {
			return append(dst, 0xc3)
		}
		return append(dst, 0xc2)
	case int64:
		switch {
		case v >= 0:
			return Append(dst, uint64(v))
		case v >= -32:
			return append(dst, byte(v))
		case v >= math.MinInt8:
			return append(dst, 0xd0, byte(v))
		case v >= math.MinInt16:
			return be.AppendUint16(append(dst, 0xd1), uint16(v))
		case v >= math.MinInt32:
			return be.AppendUint32(append(dst, 0xd2), uint32(v))
		}
		return be.AppendUint64(append(dst, 0xd3), uint64(v))
	case uint64:
		switch {
		case v < 128:
			return append(dst, byte(v))
		case v <= math.MaxUint8:
			return append(dst, 0xcc, byte(v))
		case v <= math.MaxUint16:
			return be.AppendUint16(append(dst, 0xcd), uint16(v))
		case v <= math.MaxUint32:
			return be.AppendUint32(append(dst, 0xce), uint32(v))
		}
		return be.AppendUint64(append(dst, 0xcf), v)
	case float64:
		return be.AppendUint64(append(dst, 0xcb), math.Float64bits(v))
	case string:
		return append(appendLength(dst, len(v), 0xa0, 32, 0xd9, 0xda, 0xdb), v...)
	case []byte:
		return append(appendLength(dst, len(v), 0, 0, 0xc4, 0xc5, 0xc6), v...)
	case []any:
		dst = appendLength(dst, len(v), 0x90, 16, 0, 0xdc, 0xdd)
		for _, x := range v {
			dst = Append(dst, x)
		}
		return dst
	case Map:
		dst = appendLength(dst, len(v), 0x80, 16, 0, 0xde, 0xdf)
		for _, p := range v {
			dst = Append(Append(dst, p.Key), p.Value)
		}
		return dst
	}
	panic(fmt.Sprintf("msgpack: no encoding of %T", v))
}

// appendLength appends a type with a length. The length is in the first byte if it is below fix,
// otherwise in 1, 2 or 4 bytes. A type of 0 does not exist.
func appendLength(dst []byte, n int, short byte, fix int, b8, b16, b32 byte) []byte {
	switch {
	case n < fix:
		return append(dst, short|byte(n))
	case n <= math.MaxUint8 && b8 != 0:
		return append(dst, b8, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, b16), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, b32), uint32(n))
}

// Parse parses b, which must be exactly one value. The size of all allocations is bounded by
// the length of b. The error is a *format.Error with format.ErrTruncated, format.ErrCorrupt, or
// format.ErrLimit for a value that is nested deeper than MaxDepth.
func Parse(b []byte) (any, error) {
	d := decoder{all: b, rest: b}
	v, err := d.value(0)
	if err == nil && len(d.rest) > 0 {
		err = d.fail("end", fmt.Sprintf("%d bytes after the value", len(d.rest)), "none", format.ErrCorrupt)
	}
	return v, err
}

type decoder struct{ all, rest []byte }

func (d *decoder) fail(what, got, want string, err error) error {
	return &format.Error{Format: "MessagePack", What: what, Offset: int64(len(d.all) - len(d.rest)), Got: got, Want: want, Err: err}
}

// take returns the next n bytes.
func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.rest)) {
		return nil, d.fail("value", fmt.Sprintf("%d bytes", len(d.rest)), strconv.FormatUint(n, 10), format.ErrTruncated)
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b, nil
}

// number reads n bytes, big-endian.
func (d *decoder) number(n uint64) (uint64, error) {
	b, err := d.take(n)
	var x uint64
	for _, c := range b {
		x = x<<8 | uint64(c)
	}
	return x, err
}

func (d *decoder) value(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, d.fail("nesting", "deeper", fmt.Sprintf("at most %d levels", MaxDepth), format.ErrLimit)
	}
	c, err := d.number(1)
	if err != nil {
		return nil, err
	}
	switch {
	case c <= 0x7f:
		return int64(c), nil
	case c <= 0x8f:
		return d.pairs(c&0x0f, depth)
	case c <= 0x9f:
		return d.list(c&0x0f, depth)
	case c <= 0xbf:
		return d.text(c & 0x1f)
	case c >= 0xe0:
		return int64(int8(c)), nil
	}
	switch c {
	case 0xc0:
		return nil, nil
	case 0xc2, 0xc3:
		return c == 0xc3, nil
	case 0xca:
		x, err := d.number(4)
		return math.Float32frombits(uint32(x)), err
	case 0xcb:
		x, err := d.number(8)
		return math.Float64frombits(x), err
	case 0xcc, 0xcd, 0xce, 0xcf:
		x, err := d.number(1 << (c - 0xcc))
		if x > math.MaxInt64 {
			return x, err
		}
		return int64(x), err
	case 0xd0, 0xd1, 0xd2, 0xd3:
		n := uint64(1) << (c - 0xd0)
		x, err := d.number(n)
		return int64(x<<(64-8*n)) >> (64 - 8*n), err
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return d.ext(1 << (c - 0xd4))
	}
	var width uint64 // bytes of the length that follows
	switch c {
	case 0xc4, 0xc7, 0xd9:
		width = 1
	case 0xc5, 0xc8, 0xda, 0xdc, 0xde:
		width = 2
	case 0xc6, 0xc9, 0xdb, 0xdd, 0xdf:
		width = 4
	default:
		return nil, d.fail("type", fmt.Sprintf("%#02x", c), "a known type", format.ErrCorrupt)
	}
	n, err := d.number(width)
	if err != nil {
		return nil, err
	}
	switch c {
	case 0xc4, 0xc5, 0xc6:
		b, err := d.take(n)
		return append([]byte{}, b...), err
	case 0xc7, 0xc8, 0xc9:
		return d.ext(n)
	case 0xd9, 0xda, 0xdb:
		return d.text(n)
	case 0xdc, 0xdd:
		return d.list(n, depth)
	}
	return d.pairs(n, depth)
}

func (d *decoder) text(n uint64) (any, error) {
	b, err := d.take(n)
	if err == nil && !utf8.Valid(b) {
		err = d.fail("string", fmt.Sprintf("%d bytes that are not UTF-8", n), "UTF-8", format.ErrCorrupt)
	}
	return string(b), err
}

func (d *decoder) ext(n uint64) (any, error) {
	kind, err := d.number(1)
	if err != nil {
		return nil, err
	}
	b, err := d.take(n)
	return Ext{int8(kind), append([]byte{}, b...)}, err
}

// list reads n values. It checks n before it allocates, because each value takes at least one byte.
func (d *decoder) list(n uint64, depth int) (any, error) {
	if n > uint64(len(d.rest)) {
		return nil, d.fail("list", fmt.Sprintf("%d values", n), fmt.Sprintf("at most %d, one per byte", len(d.rest)), format.ErrTruncated)
	}
	out := make([]any, 0, n)
	for range n {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (d *decoder) pairs(n uint64, depth int) (any, error) {
	if 2*n > uint64(len(d.rest)) {
		return nil, d.fail("map", fmt.Sprintf("%d pairs", n), fmt.Sprintf("at most %d, two bytes each", len(d.rest)/2), format.ErrTruncated)
	}
	out := make(Map, 0, n)
	for range n {
		k, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, Pair{k, v})
	}
	return out, nil
}
