// Encoding of values between a program and its worker. The decoder checks every length against the
// remaining bytes.

package worker

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
)

// codecDepth is the maximum nesting depth of values. It allows element types of 32 levels with
// several values each.
const codecDepth = 256

// Encode encodes a Go value: booleans, integers, strings, slices, pointers, structs of exported
// fields, times, and errors. It preserves nil slices and omits functions. If names is not nil, it
// replaces parts of the strings in errors.
func Encode(v any, names *strings.Replacer) []byte {
	e := encoder{names: names}
	e.value(reflect.ValueOf(v))
	return e.b
}

type encoder struct {
	b       []byte
	names   *strings.Replacer // of files in errors; nil: none
	inError bool
}

func (e *encoder) uvarint(n uint64) { e.b = binary.AppendUvarint(e.b, n) }

func (e *encoder) string(s string) {
	if e.inError {
		s = shownText(s, e.names)
	}
	e.uvarint(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		e.uvarint(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.b = binary.AppendVarint(e.b, v.Int())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Uintptr:
		e.uvarint(v.Uint())
	case reflect.String:
		e.string(v.String())
	case reflect.Slice:
		if v.IsNil() {
			e.uvarint(0)
			return
		}
		e.uvarint(uint64(v.Len()) + 1)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			e.b = append(e.b, v.Bytes()...)
			return
		}
		for i := range v.Len() {
			e.value(v.Index(i))
		}
	case reflect.Pointer:
		if v.IsNil() {
			e.uvarint(0)
			return
		}
		e.uvarint(1)
		e.value(v.Elem())
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			e.b = binary.AppendVarint(e.b, t.Unix())
			e.uvarint(uint64(t.Nanosecond()))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				e.value(v.Field(i))
			}
		}
	case reflect.Func:
	case reflect.Interface:
		if v.Type() != errorType {
			panic(fmt.Sprintf("worker: a value of %v cannot be sent", v.Type()))
		}
		err, _ := v.Interface().(error)
		e.error(err)
	default:
		panic(fmt.Sprintf("worker: a value of %v cannot be sent", v.Type()))
	}
}

// Decode fills v, a pointer to a value of the encoded type. It returns ErrProtocol for invalid
// bytes. Slices of bytes in v share memory with b.
func Decode(b []byte, v any) error {
	d := decoder{b: b}
	d.value(reflect.ValueOf(v).Elem(), 0)
	if d.err == nil && len(d.b) > 0 {
		d.fail("%d bytes too many", len(d.b))
	}
	return d.err
}

type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
	}
	d.b = nil
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.b)
	d.number(size)
	return n
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.b)
	d.number(size)
	return n
}

// number skips a number of size bytes, which is below 1 if the bytes are invalid.
func (d *decoder) number(size int) {
	if size <= 0 {
		d.fail("got %d bytes, want a number", len(d.b))
		return
	}
	d.b = d.b[size:]
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail("got %d bytes, want at most %d", n, len(d.b))
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) value(v reflect.Value, depth int) {
	if depth > codecDepth {
		d.fail("deeper than %d", codecDepth)
	}
	if d.err != nil {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		switch n := d.uvarint(); n {
		case 0, 1:
			v.SetBool(n == 1)
		default:
			d.fail("truth value %d", n)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := d.varint()
		if v.OverflowInt(n) {
			d.fail("%d is not a valid %v", n, v.Type())
			return
		}
		v.SetInt(n)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Uintptr:
		n := d.uvarint()
		if v.OverflowUint(n) {
			d.fail("%d is not a valid %v", n, v.Type())
			return
		}
		v.SetUint(n)
	case reflect.String:
		v.SetString(string(d.take(d.uvarint())))
	case reflect.Slice:
		d.slice(v, depth)
	case reflect.Pointer:
		switch n := d.uvarint(); n {
		case 0:
		case 1:
			v.Set(reflect.New(v.Type().Elem()))
			d.value(v.Elem(), depth+1)
		default:
			d.fail("pointer %d", n)
		}
	case reflect.Struct:
		if _, ok := v.Interface().(time.Time); ok {
			if t := time.Unix(d.varint(), int64(d.uvarint()%1e9)); !t.IsZero() {
				v.Set(reflect.ValueOf(t))
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				d.value(v.Field(i), depth+1)
			}
		}
	case reflect.Func:
	case reflect.Interface:
		if v.Type() != errorType {
			panic(fmt.Sprintf("worker: a value of %v cannot be received", v.Type()))
		}
		if err := d.error(depth); err != nil {
			v.Set(reflect.ValueOf(err))
		}
	default:
		panic(fmt.Sprintf("worker: a value of %v cannot be received", v.Type()))
	}
}

// slice grows with the decoded elements, because an element of one byte may take more in memory.
func (d *decoder) slice(v reflect.Value, depth int) {
	n := d.uvarint()
	if n == 0 || d.err != nil {
		return
	}
	if n--; n > uint64(len(d.b)) || n > math.MaxInt32 {
		d.fail("%d elements in %d bytes", n, len(d.b))
		return
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		b := d.take(n)
		v.SetBytes(b[:len(b):len(b)])
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, int(min(n, 64))))
	for range n {
		x := reflect.New(v.Type().Elem()).Elem()
		if d.value(x, depth+1); d.err != nil {
			return
		}
		v.Set(reflect.Append(v, x))
	}
}
