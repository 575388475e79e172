// Codecs convert elements in memory to Go values and back. A codec is computed once for a pair of
// types and then applied to a whole slice.

package ndarray

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/utf32"
)

// codec moves elements of one type to and from Go values of another type.
type codec struct {
	direct bool // the bytes are equal, so that no conversion is needed
	goSize uintptr
	steps  []step
}

// step moves one part of an element.
type step struct {
	kind   stepKind
	inGo   uintptr // offset in the Go value
	inElem int     // offset in the element
	size   int     // size of the part in the element
	pad    Pad
	unit   TimeUnit

	count  int // number of repetitions of a repeatStep
	goStep uintptr
	inner  []step
}

type stepKind uint8

const (
	copyStep stepKind = iota
	boolStep
	bytesStep
	unicodeStep
	repeatStep
	timeStep
)

// DTypeFor returns an element type for T in native byte order. For a struct it has the exported
// fields, laid out as a C compiler does, and for a slice it is a VLen. A string or time.Time field
// needs its stored type in the tag, after the name:
//
//	type record struct {
//		ID   int32      `nd:"id"`
//		Name string     `nd:"name,S16"`
//		When time.Time  `nd:"when,<M8[us]"`
//		At   [3]float64 // "At", ('<f8', (3,))
//		Note string     `nd:"note,string"`
//		Path []float32  // a structure with these two has elements of variable size
//	}
//
// It returns ErrType, with the Go type or field, if there is no such element type.
func DTypeFor[T any]() (DType, error) {
	d, err := dtypeFor(reflect.TypeFor[T](), "")
	if err == nil {
		err = d.Validate()
	}
	return d, err
}

func dtypeFor(t reflect.Type, stored string) (DType, error) {
	if stored != "" {
		d, err := ParseDType(stored)
		if err == nil {
			_, err = mapping{write: true}.of(t, d)
		}
		return d, err
	}
	switch t.Kind() {
	case reflect.Slice:
		base, err := dtypeFor(t.Elem(), "")
		return DType{Kind: VLen, Order: NoOrder, Base: &base}, err
	case reflect.Array:
		var dims []int64
		for ; t.Kind() == reflect.Array; t = t.Elem() {
			dims = append(dims, int64(t.Len()))
		}
		base, err := dtypeFor(t, "")
		if err != nil {
			return DType{}, err
		}
		return SubArrayOf(base, dims...), nil
	case reflect.Struct:
		var fields []Field
		for _, f := range structFields(t) {
			d, err := dtypeFor(f.Type, f.stored)
			if err != nil {
				return DType{}, fmt.Errorf("field %s: %w", f.Name, err)
			}
			fields = append(fields, Field{Name: f.name, Type: d})
		}
		return StructOf(true, fields...), nil
	}
	if d := scalarType(t); d.Kind != 0 {
		return d, nil
	}
	return DType{}, fmt.Errorf("%w: no element type corresponds to Go %v", ErrType, t)
}

// scalarType returns the element type of Go's numbers and bool, in native order.
func scalarType(t reflect.Type) DType {
	d := DType{Size: int(t.Size()), Order: NoOrder}
	switch t.Kind() {
	case reflect.Bool:
		d.Kind = Bool
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.Kind = Int
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.Kind = Uint
	case reflect.Float32, reflect.Float64:
		d.Kind = Float
	case reflect.Complex64, reflect.Complex128:
		d.Kind = Complex
	default:
		return DType{}
	}
	return d.Native()
}

type structField struct {
	reflect.StructField
	name, stored string
}

// structFields lists the exported fields without the tag "-", with their names.
func structFields(t reflect.Type) []structField {
	var out []structField
	for i := range t.NumField() {
		f := t.Field(i)
		name, stored, _ := strings.Cut(f.Tag.Get("nd"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		out = append(out, structField{f, name, stored})
	}
	return out
}

// codecFor returns the codec from elements of type d to T. For writing, every part of the element
// must have a source in T.
func codecFor[T any](d DType, write bool) (*codec, error) {
	t := reflect.TypeFor[T]()
	steps, err := stepsFor(t, d, 0, 0, write)
	if err != nil {
		return nil, fmt.Errorf("%w: array is %v, asked for %v", err, d, t)
	}
	c := &codec{goSize: t.Size(), steps: mergeSteps(steps)}
	if t.Size() == uintptr(d.Size) && len(c.steps) == 1 {
		s := c.steps[0]
		c.direct = s.inGo == 0 && s.inElem == 0 && s.size == d.Size && (s.kind == copyStep || s.kind == boolStep)
		c.direct = c.direct && (s.kind == copyStep || t.Kind() == reflect.Bool)
	}
	return c, nil
}

func stepsFor(t reflect.Type, d DType, inGo uintptr, inElem int, write bool) ([]step, error) {
	part := step{inGo: inGo, inElem: inElem, size: d.Size}
	switch t.Kind() {
	case reflect.String:
		switch d.Kind {
		case Bytes:
			part.kind, part.pad = bytesStep, d.Pad
			return []step{part}, nil
		case Unicode:
			part.kind = unicodeStep
			return []step{part}, nil
		}
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && t.Len() == d.Size && d.Kind != String {
			return []step{part}, nil
		}
		if d.Kind == SubArray && int64(t.Len()) == d.Dims[0] {
			return repeatSteps(t, d, inGo, inElem, write)
		}
	case reflect.Struct:
		if d.Kind == DateTime && t == reflect.TypeFor[time.Time]() {
			part.kind, part.unit = timeStep, d.Unit
			return []step{part}, nil
		}
		if d.Kind == Struct {
			return fieldSteps(t, d, inGo, inElem, write)
		}
	default:
		have := d
		switch d.Kind {
		case Enum:
			have = *d.Base
		case DateTime, TimeDelta:
			have = DType{Kind: Int, Size: d.Size, Order: d.Order}
		}
		if want := scalarType(t); want.Kind != 0 && want.EqualValues(have) {
			if want.Kind == Bool {
				part.kind = boolStep
			}
			return []step{part}, nil
		}
	}
	return nil, fmt.Errorf("%w: %v is not a Go %v", ErrType, d, t)
}

func repeatSteps(t reflect.Type, d DType, inGo uintptr, inElem int, write bool) ([]step, error) {
	inner := *d.Base
	if len(d.Dims) > 1 {
		inner = SubArrayOf(*d.Base, d.Dims[1:]...)
	}
	steps, err := stepsFor(t.Elem(), inner, 0, 0, write)
	if err != nil {
		return nil, err
	}
	steps = mergeSteps(steps)
	if len(steps) == 1 && steps[0].kind == copyStep && steps[0].size == inner.Size && t.Elem().Size() == uintptr(inner.Size) {
		return []step{{inGo: inGo, inElem: inElem, size: d.Size}}, nil
	}
	return []step{{kind: repeatStep, inGo: inGo, inElem: inElem, size: inner.Size, count: t.Len(), goStep: t.Elem().Size(), inner: steps}}, nil
}

func fieldSteps(t reflect.Type, d DType, inGo uintptr, inElem int, write bool) ([]step, error) {
	fields, err := matchFields(t, d, write)
	if err != nil {
		return nil, err
	}
	var steps []step
	for _, f := range fields {
		field := d.Fields[f.field]
		more, err := stepsFor(f.Type, field.Type, inGo+f.Offset, inElem+field.Offset, write)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.name, err)
		}
		steps = append(steps, more...)
	}
	return steps, nil
}

// matchedField is a field of a Go struct with the number of its field in the array.
type matchedField struct {
	structField
	field int
}

// matchFields finds the field of the array for each field of a Go struct. For writing, the struct
// must have all fields.
func matchFields(t reflect.Type, d DType, write bool) (fields []matchedField, err error) {
	used := make([]bool, len(d.Fields))
	for _, f := range structFields(t) {
		i := slices.IndexFunc(d.Fields, func(field Field) bool { return field.Name == f.name })
		if i < 0 || used[i] {
			return nil, fmt.Errorf("%w: Go field %s: the array has no other field %q", ErrType, f.Name, f.name)
		}
		used[i] = true
		fields = append(fields, matchedField{f, i})
	}
	if i := slices.Index(used, false); i >= 0 && write {
		return nil, fmt.Errorf("%w: no Go field for %q, which would be lost", ErrType, d.Fields[i].Name)
	}
	return fields, nil
}

// mergeSteps joins copies that are adjacent both in the Go value and in the element.
func mergeSteps(steps []step) []step {
	var out []step
	for _, s := range steps {
		if n := len(out) - 1; n >= 0 && s.kind == copyStep && out[n].kind == copyStep &&
			out[n].inGo+uintptr(out[n].size) == s.inGo && out[n].inElem+out[n].size == s.inElem {
			out[n].size += s.size
			continue
		}
		out = append(out, s)
	}
	return out
}

// decode fills n Go values at p from elements of size bytes.
func (c *codec) decode(p unsafe.Pointer, n int, b []byte, size int) error {
	for i := range n {
		if err := decodeSteps(c.steps, unsafe.Add(p, uintptr(i)*c.goSize), b[i*size:(i+1)*size]); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func decodeSteps(steps []step, p unsafe.Pointer, b []byte) error {
	for _, s := range steps {
		to := unsafe.Add(p, s.inGo)
		switch s.kind {
		case copyStep, boolStep:
			dst := unsafe.Slice((*byte)(to), s.size)
			copy(dst, b[s.inElem:])
			if s.kind == boolStep {
				normalizeBools(dst)
			}
		case bytesStep:
			*(*string)(to) = decodeBytes(b[s.inElem:s.inElem+s.size], s.pad)
		case unicodeStep:
			text, err := decodeUnicode(b[s.inElem : s.inElem+s.size])
			if err != nil {
				return err
			}
			*(*string)(to) = text
		case timeStep:
			t, err := decodeTime(loadInt(b[s.inElem:s.inElem+s.size]), s.unit)
			if err != nil {
				return err
			}
			*(*time.Time)(to) = t
		case repeatStep:
			for i := range s.count {
				at := s.inElem + i*s.size
				if err := decodeSteps(s.inner, unsafe.Add(to, uintptr(i)*s.goStep), b[at:at+s.size]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// encode fills elements of size bytes from n Go values at p. b must be zero.
func (c *codec) encode(b []byte, size int, p unsafe.Pointer, n int) error {
	for i := range n {
		if err := encodeSteps(c.steps, b[i*size:(i+1)*size], unsafe.Add(p, uintptr(i)*c.goSize)); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func encodeSteps(steps []step, b []byte, p unsafe.Pointer) error {
	for _, s := range steps {
		from := unsafe.Add(p, s.inGo)
		switch s.kind {
		case copyStep, boolStep:
			copy(b[s.inElem:], unsafe.Slice((*byte)(from), s.size))
		case bytesStep:
			if err := encodeBytes(b[s.inElem:s.inElem+s.size], *(*string)(from), s.pad); err != nil {
				return err
			}
		case unicodeStep:
			if err := encodeUnicode(b[s.inElem:s.inElem+s.size], *(*string)(from)); err != nil {
				return err
			}
		case timeStep:
			ticks, err := encodeTime(*(*time.Time)(from), s.unit)
			if err != nil {
				return err
			}
			binary.NativeEndian.PutUint64(b[s.inElem:], uint64(ticks))
		case repeatStep:
			for i := range s.count {
				at := s.inElem + i*s.size
				if err := encodeSteps(s.inner, b[at:at+s.size], unsafe.Add(from, uintptr(i)*s.goStep)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// decodeBytes returns the string in a Bytes element without its padding.
func decodeBytes(b []byte, pad Pad) string {
	switch pad {
	case SpacePad:
		return strings.TrimRight(string(b), " ")
	case NullTerm:
		text, _, _ := strings.Cut(string(b), "\x00")
		return text
	}
	return strings.TrimRight(string(b), "\x00")
}

// encodeBytes stores s in b with its padding. It returns ErrValue if decodeBytes would not return
// s.
func encodeBytes(b []byte, s string, pad Pad) error {
	capacity := len(b)
	if pad == NullTerm {
		capacity--
	}
	if len(s) > capacity {
		return fmt.Errorf("%w: string: got %d bytes, want at most %d", ErrValue, len(s), capacity)
	}
	for i := copy(b, s); i < len(b); i++ {
		b[i] = 0
		if pad == SpacePad {
			b[i] = ' '
		}
	}
	if decodeBytes(b, pad) != s {
		return fmt.Errorf("%w: text %q ends in padding, which %v does not keep", ErrValue, s, pad)
	}
	return nil
}

func decodeUnicode(b []byte) (string, error) {
	s, err := utf32.String(b)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrValue, err)
	}
	return s, nil
}

func encodeUnicode(b []byte, s string) error {
	if err := utf32.Put(b, s); err != nil {
		return fmt.Errorf("%w: %w", ErrValue, err)
	}
	return nil
}
