// Elements in text: JSON, CSV and .npy, parsed back to bytes.

package ways

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ElementType returns the type of the elements of an array. Only the first call opens the array.
func (a *Array) ElementType(ctx context.Context) (ndarray.DType, error) {
	if d := a.elements.Load(); d != nil {
		return *d, nil
	}
	x, err := hyperslab.Open(ctx, a.Location(), nil)
	if err != nil {
		return ndarray.DType{}, err
	}
	d := x.DType()
	a.elements.Store(&d)
	return d, x.Close()
}

// ErrForm means that a form of text does not contain the bits of the elements, for example of
// times.
var ErrForm = errors.New("this form is not compared")

// FillNPY fills dst with the elements of a .npy document.
func FillNPY(dst, document []byte) error {
	if !bytes.HasPrefix(document, []byte("\x93NUMPY")) || len(document) < 12 {
		return errors.New("no .npy document")
	}
	header, start := int(binary.LittleEndian.Uint16(document[8:])), 10
	if document[6] > 1 {
		header, start = int(binary.LittleEndian.Uint32(document[8:])), 12
	}
	data := document[start+header:]
	if len(data) != len(dst) {
		return fmt.Errorf("elements of %d bytes, want %d", len(data), len(dst))
	}
	copy(dst, data)
	text := string(document[start : start+header])
	_, descr, _ := strings.Cut(text, "'descr': ")
	descr, _, _ = strings.Cut(descr, ", 'fortran_order'")
	if strings.Contains(text, "'fortran_order': True") {
		return errors.New("column-major order")
	}
	d, err := ndarray.ParseDType(strings.Trim(descr, "'"))
	if err != nil {
		return fmt.Errorf("descr %s: %w", descr, err)
	}
	_, shape, _ := strings.Cut(text, "'shape': (")
	shape, _, _ = strings.Cut(shape, ")")
	size := d.Size
	for axis := range strings.SplitSeq(shape, ",") {
		if axis = strings.TrimSpace(axis); axis == "" {
			continue
		}
		n, err := strconv.Atoi(axis)
		if err != nil {
			return err
		}
		size *= n
	}
	if size != len(dst) {
		return fmt.Errorf("shape (%s) of %s: got %d bytes, want %d", shape, descr, size, len(dst))
	}
	d.ToNative(dst)
	return nil
}

// FillJSON fills dst with the elements of a region, which are nested arrays of JSON.
func FillJSON(a *Array, r ndarray.Region, d ndarray.DType, dst, document []byte, key string) error {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return err
	}
	if object, ok := v.(map[string]any); ok && key != "" {
		v = object[key]
	}
	f := &filler{a: a, d: d, dst: dst, nulls: a.nullsIn(r)}
	if err := f.nested(v, len(a.Shape)); err != nil {
		return err
	}
	if f.at != len(dst) {
		return fmt.Errorf("elements of %d bytes, want %d", f.at, len(dst))
	}
	return nil
}

// filler stores the elements of a document one after the other.
type filler struct {
	a     *Array
	d     ndarray.DType
	dst   []byte
	at    int
	count int64
	nulls []bool // of the elements of dst
}

func (f *filler) nested(v any, depth int) error {
	if depth > 0 {
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("got %T, want a list", v)
		}
		for _, x := range list {
			if err := f.nested(x, depth-1); err != nil {
				return err
			}
		}
		return nil
	}
	if f.at+f.a.Size > len(f.dst) {
		return errors.New("too many elements")
	}
	cell := f.dst[f.at : f.at+f.a.Size]
	f.at += f.a.Size
	f.count++
	clear(cell)
	if f.nulls != nil && f.nulls[f.count-1] {
		if v != nil && v != "" {
			return fmt.Errorf("element %d: got the value %v, want null", f.count-1, v)
		}
		return nil
	}
	if f.a.Cells() {
		return fillCell(cell, f.d, v)
	}
	return element(cell, f.d, v)
}

// fillCell stores an element of variable size: a string, or a list of numbers.
func fillCell(cell []byte, d ndarray.DType, v any) error {
	var content []byte
	switch v := v.(type) {
	case nil:
	case string:
		b, err := unescape(v)
		if err != nil {
			return err
		}
		content = b
	case map[string]any:
		b, err := unpackBase64(v)
		if err != nil {
			return err
		}
		content = b
	case []any:
		for _, x := range v {
			part := make([]byte, d.Base.Size)
			if err := element(part, *d.Base, x); err != nil {
				return err
			}
			content = append(content, part...)
		}
	default:
		return fmt.Errorf("got %T, want a string or a list", v)
	}
	binary.LittleEndian.PutUint16(cell, uint16(len(content)))
	copy(cell[2:], content)
	return nil
}

// unescape returns the bytes of a string, which serve escapes if they are not UTF-8. No generated
// string begins with the escape.
func unescape(s string) ([]byte, error) {
	if escaped, ok := strings.CutPrefix(s, "base64:"); ok {
		return base64.StdEncoding.DecodeString(escaped)
	}
	return []byte(s), nil
}

func unpackBase64(v map[string]any) ([]byte, error) {
	text, ok := v["base64"].(string)
	if !ok || len(v) != 1 {
		return nil, fmt.Errorf("got %v, want base64", v)
	}
	return base64.StdEncoding.DecodeString(text)
}

// element stores the value of an element of fixed size in JSON, as docs/json.md describes it.
func element(dst []byte, d ndarray.DType, v any) error {
	switch d.Kind {
	case ndarray.Bool:
		return boolean(dst, v)
	case ndarray.Int, ndarray.Uint, ndarray.Float:
		return number(dst, d, v)
	case ndarray.Enum:
		if name, ok := v.(string); ok {
			for _, m := range d.Members {
				if m.Name == name {
					return number(dst, *d.Base, json.Number(strconv.FormatInt(m.Value, 10)))
				}
			}
		}
		return number(dst, *d.Base, v)
	case ndarray.Complex:
		list, ok := v.([]any)
		if !ok || len(list) != 2 {
			return fmt.Errorf("got %v, want two numbers", v)
		}
		part := ndarray.DType{Kind: ndarray.Float, Size: d.Size / 2}
		return errors.Join(number(dst[:d.Size/2], part, list[0]), number(dst[d.Size/2:], part, list[1]))
	case ndarray.Bytes, ndarray.Unicode, ndarray.Void:
		return text(dst, d, v)
	case ndarray.Struct:
		object, ok := v.(map[string]any)
		list, also := v.([]any) // of /data
		if !ok && (!also || len(list) != len(d.Fields)) {
			return fmt.Errorf("got %v, want an object or a list of the fields", v)
		}
		for i, field := range d.Fields {
			x := object[field.Name]
			if also {
				x = list[i]
			}
			if err := element(dst[field.Offset:field.Offset+field.Type.Size], field.Type, x); err != nil {
				return err
			}
		}
		return nil
	case ndarray.SubArray:
		return subArray(dst, d, v)
	}
	return ErrForm
}

func subArray(dst []byte, d ndarray.DType, v any) error {
	flat := []any{v}
	for range d.Dims {
		var next []any
		for _, x := range flat {
			list, ok := x.([]any)
			if !ok {
				return fmt.Errorf("got %T, want a list", x)
			}
			next = append(next, list...)
		}
		flat = next
	}
	if len(flat)*d.Base.Size != len(dst) {
		return fmt.Errorf("sub-array of %d elements", len(flat))
	}
	for i, x := range flat {
		if err := element(dst[i*d.Base.Size:(i+1)*d.Base.Size], *d.Base, x); err != nil {
			return err
		}
	}
	return nil
}

func boolean(dst []byte, v any) error {
	switch v {
	case true, "true", "True", json.Number("1"):
		dst[0] = 1
	case false, "false", "False", json.Number("0"):
		dst[0] = 0
	default:
		return fmt.Errorf("got %v, want true or false", v)
	}
	return nil
}

// number stores a number, which is a string beyond 2^53 and if it is not finite. Without a value,
// as in documents of /data, it is NaN.
func number(dst []byte, d ndarray.DType, v any) error {
	word := fmt.Sprint(v)
	if v == nil {
		word = "NaN"
	}
	var bits uint64
	switch {
	case d.Kind == ndarray.Int:
		i, err := strconv.ParseInt(word, 10, 8*d.Size)
		if err != nil {
			return err
		}
		bits = uint64(i)
	case d.Kind == ndarray.Uint:
		u, err := strconv.ParseUint(word, 0, 8*d.Size)
		if err != nil {
			return err
		}
		bits = u
	default:
		return float(dst, d, word)
	}
	switch d.Size {
	case 1:
		dst[0] = byte(bits)
	case 2:
		binary.NativeEndian.PutUint16(dst, uint16(bits))
	case 4:
		binary.NativeEndian.PutUint32(dst, uint32(bits))
	case 8:
		binary.NativeEndian.PutUint64(dst, bits)
	}
	return nil
}

func float(dst []byte, d ndarray.DType, word string) error {
	if strings.HasPrefix(strings.ToLower(strings.TrimLeft(word, "+-")), "nan") {
		word = "NaN" // with or without its bits
	}
	x, err := strconv.ParseFloat(word, 8*max(d.Size, 4))
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return err
	}
	switch d.Size {
	case 8:
		binary.NativeEndian.PutUint64(dst, math.Float64bits(x))
	case 4:
		binary.NativeEndian.PutUint32(dst, math.Float32bits(float32(x)))
	case 2:
		bits, ok := halves()[math.Float64bits(x)]
		switch {
		case math.IsNaN(x):
			bits = 0x7E00
		case !ok:
			return fmt.Errorf("got %s, want a binary16 number", word)
		}
		binary.NativeEndian.PutUint16(dst, bits)
	default:
		return ErrForm
	}
	return nil
}

// halves returns the bits of each binary16 number by the bits of its value.
var halves = sync.OnceValue(func() map[uint64]uint16 {
	out := make(map[uint64]uint16, 1<<16)
	for bits := range 1 << 16 {
		out[math.Float64bits(halfValue(uint16(bits)))] = uint16(bits)
	}
	return out
})

func halfValue(bits uint16) float64 {
	sign, exponent, fraction := 1.0, int(bits>>10&31), float64(bits&1023)
	if bits>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction == 0:
		return math.Inf(int(sign))
	case exponent == 31:
		return math.NaN()
	case exponent == 0:
		return math.Copysign(math.Ldexp(fraction, -24), sign)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

func text(dst []byte, d ndarray.DType, v any) error {
	var content []byte
	switch v := v.(type) {
	case map[string]any:
		b, err := unpackBase64(v)
		if err != nil {
			return err
		}
		content = b
	case string:
		b, err := unescape(v)
		if err != nil {
			return err
		}
		switch content = b; {
		case d.Kind == ndarray.Void && string(b) == v:
			return ErrForm // hexadecimal
		case d.Kind == ndarray.Unicode && string(b) == v:
			content = codePoints(v)
		}
	default:
		return fmt.Errorf("got %T, want a string", v)
	}
	if len(content) > len(dst) {
		return fmt.Errorf("string of %d bytes, want at most %d", len(content), len(dst))
	}
	copy(dst, content)
	return nil
}

func codePoints(s string) (out []byte) {
	for len(s) > 0 {
		c, n := utf8.DecodeRuneInString(s)
		out = binary.NativeEndian.AppendUint32(out, uint32(c))
		s = s[n:]
	}
	return out
}

// Canonical replaces each NaN by the default NaN, because text shows it without its bits. With
// finite it also replaces infinities.
func Canonical(d ndarray.DType, b []byte, finite bool) []byte {
	out := bytes.Clone(b)
	if d.Size > 0 {
		for i := 0; i+d.Size <= len(out); i += d.Size {
			canonical(d, out[i:i+d.Size], finite)
		}
	}
	return out
}

func canonical(d ndarray.DType, b []byte, finite bool) {
	switch d.Kind {
	case ndarray.Float:
		switch d.Size {
		case 8:
			if x := math.Float64frombits(binary.NativeEndian.Uint64(b)); math.IsNaN(x) || finite && math.IsInf(x, 0) {
				binary.NativeEndian.PutUint64(b, math.Float64bits(math.NaN()))
			}
		case 4:
			if x := binary.NativeEndian.Uint32(b); x<<1 > 0xFF000000 || finite && x<<1 == 0xFF000000 {
				binary.NativeEndian.PutUint32(b, 0x7FC00000)
			}
		case 2:
			if x := binary.NativeEndian.Uint16(b); x<<1 > 0xF800 || finite && x<<1 == 0xF800 {
				binary.NativeEndian.PutUint16(b, 0x7E00)
			}
		}
	case ndarray.Complex:
		part := ndarray.DType{Kind: ndarray.Float, Size: d.Size / 2}
		canonical(part, b[:d.Size/2], finite)
		canonical(part, b[d.Size/2:], finite)
	case ndarray.Struct:
		for _, f := range d.Fields {
			canonical(f.Type, b[f.Offset:f.Offset+f.Type.Size], finite)
		}
	case ndarray.SubArray:
		for i := 0; i+d.Base.Size <= len(b); i += d.Base.Size {
			canonical(*d.Base, b[i:i+d.Base.Size], finite)
		}
	}
}

// FillCSV fills dst with the elements of a region, which are lines of comma-separated values after
// a header line. The fields of a line are the elements of a row of the last dimension.
func FillCSV(a *Array, r ndarray.Region, d ndarray.DType, dst, document []byte) error {
	switch d.Kind {
	case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.Float, ndarray.Bytes, ndarray.Unicode, ndarray.String:
	default:
		return ErrForm
	}
	if len(dst) == 0 {
		return nil
	}
	in := csv.NewReader(bytes.NewReader(document))
	in.FieldsPerRecord = -1
	lines, err := in.ReadAll()
	if err != nil || len(lines) == 0 {
		return fmt.Errorf("lines: %d: %w", len(lines), err)
	}
	f := &filler{a: a, d: d, dst: dst, nulls: a.nullsIn(r)}
	for _, line := range lines[1:] {
		for _, field := range line {
			var v any = field
			if strings.HasPrefix(field, `{"base64"`) { // bytes that are not text
				if err := json.Unmarshal([]byte(field), &v); err != nil {
					return err
				}
			}
			if err := f.nested(v, 0); err != nil {
				return fmt.Errorf("element %d: %w", f.count, err)
			}
		}
	}
	if f.at != len(dst) {
		return fmt.Errorf("elements of %d bytes, want %d", f.at, len(dst))
	}
	return nil
}
