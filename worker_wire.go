// Encoding of values between a program and its worker. The decoder checks every length against the
// remaining bytes.

package hyperslab

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"github.com/hyperslab/hyperslab/internal/worker"
)

// wireDepth is the maximum nesting depth of values. It allows element types of 32 levels with
// several values each.
const wireDepth = 256

// encode encodes a Go value: booleans, numbers, strings, slices, pointers and structs of exported
// fields. It preserves nil slices.
func encode(v any) []byte { return encodeValue(nil, reflect.ValueOf(v)) }

func encodeValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Slice:
		if v.IsNil() {
			return binary.AppendUvarint(b, 0)
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(b, v.Bytes()...)
		}
		for i := range v.Len() {
			b = encodeValue(b, v.Index(i))
		}
		return b
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return encodeValue(append(b, 1), v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				b = encodeValue(b, v.Field(i))
			}
		}
		return b
	}
	panic(fmt.Sprintf("hyperslab: a value of %v cannot be sent to a worker", v.Type()))
}

// decode fills v, a pointer to a value of the encoded type. It returns worker.ErrProtocol for
// invalid bytes.
func decode(b []byte, v any) error {
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
		d.err = fmt.Errorf("%w: %s", worker.ErrProtocol, fmt.Sprintf(format, args...))
	}
	d.b = nil
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail("no number")
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.fail("no number")
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail("%d bytes, want at most %d", n, len(d.b))
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) value(v reflect.Value, depth int) {
	if depth > wireDepth {
		d.fail("deeper than %d", wireDepth)
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
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
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
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				d.value(v.Field(i), depth+1)
			}
		}
	default:
		panic(fmt.Sprintf("hyperslab: a value of %v cannot be sent to a worker", v.Type()))
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
		v.SetBytes(append([]byte{}, d.take(n)...))
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
