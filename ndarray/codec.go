// Codecs convert elements in memory to Go values and back. A codec is computed once for a pair of
// types and then applied to a whole slice.

package ndarray

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/internal/elements/numbers"
	"github.com/hyperslab/hyperslab/internal/elements/structconv"
)

// DTypeFor returns an element type for T in native byte order. For a struct it has the exported
// fields, laid out as a C compiler does, and for a slice it is a VLen. A string or time.Time field
// needs its stored type in the tag, after the name:
//
//	type record struct {
//		ID   int32      `nd:"id"`
//		Name string     `nd:"name,S16"`
//		When time.Time  `nd:"when,<M8[us]"`
//		Seen time.Time  `nd:"seen,unix[us]"` // '<i8', in s, ms, us or ns since 1970-01-01 00:00 UTC
//		At   [3]float64 // "At", ('<f8', (3,))
//		Note string     `nd:"note,string"`
//		Path []float32  // a structure with these two has elements of variable size
//	}
//
// With unix[…], which PyTables and pandas read, the tag contains the unit for reads and writes, and
// AttrsFor has it for other programs; the zero Time is the smallest integer, the NaT of pandas. In
// HDF5, "<M8[us]" is an opaque type, which h5py reads and PyTables does not.
//
// It returns ErrType, with the Go type or field and a tag that helps, if there is no such element
// type.
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
		if t == reflect.TypeFor[time.Time]() {
			return DType{}, fmt.Errorf("%w: a time.Time needs its stored type in the tag of a field, for example %s or %s", ErrType,
				"`nd:\"NAME,unix[us]\"`", "`nd:\"NAME,<M8[us]\"`")
		}
		var fields []Field
		for _, f := range structFields(t) {
			if _, ok, err := unixUnit(f); ok || err != nil {
				if err != nil {
					return DType{}, err
				}
				fields = append(fields, Field{Name: f.Name, Type: DTypeOf[int64]()})
				continue
			}
			d, err := dtypeFor(f.Type, f.Options)
			if err != nil {
				return DType{}, fmt.Errorf("field %s: %w", f.StructField.Name, err)
			}
			fields = append(fields, Field{Name: f.Name, Type: d})
		}
		return StructOf(true, fields...), nil
	}
	if d := scalarType(t); d.Kind != 0 {
		return d, nil
	}
	switch t.Kind() {
	case reflect.String:
		return DType{}, fmt.Errorf("%w: a string needs its stored type in the tag of a field, for example %s for at most 16 bytes or %s",
			ErrType, "`nd:\"NAME,S16\"`", "`nd:\"NAME,string\"`")
	case reflect.Int, reflect.Uint:
		return DType{}, fmt.Errorf("%w: Go %v has no fixed size: want %v32 or %v64", ErrType, t, t.Kind(), t.Kind())
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

// structFields lists the exported fields without the tag "-".
func structFields(t reflect.Type) []structconv.Field {
	return slices.DeleteFunc(structconv.Fields(t, "nd"), func(f structconv.Field) bool { return !f.IsExported() || f.Name == "-" })
}

// codec moves elements of one type to and from Go values of another type.
type codec struct {
	structconv.Items
	direct bool // the bytes are equal, so that no conversion is needed
}

// codecFor returns the codec from elements of type d to T.
func codecFor[T any](d DType, m mapping) (*codec, error) {
	t := reflect.TypeFor[T]()
	c, err := m.of(t, d)
	if err != nil {
		return nil, fmt.Errorf("%w: array is %v, asked for %v", err, d, t)
	}
	items := structconv.Items{Item: c, Size: d.Size, Step: t.Size(), InItem: "element %d: %w"}
	return &codec{items, items.Copies() || d.Kind == Bool && t.Kind() == reflect.Bool}, nil
}

// matchedField is a field of a Go struct with the number of its field in the array.
type matchedField struct {
	structconv.Field
	field int
}

// matchFields finds the field of the array for each field of a Go struct. For writing, the struct
// must have all fields.
func matchFields(t reflect.Type, d DType, write bool) (fields []matchedField, err error) {
	used := make([]bool, len(d.Fields))
	for _, f := range structFields(t) {
		i := slices.IndexFunc(d.Fields, func(field Field) bool { return field.Name == f.Name })
		if i < 0 || used[i] {
			return nil, fmt.Errorf("%w: Go field %s: the array has no other field %q", ErrType, f.StructField.Name, f.Name)
		}
		used[i] = true
		fields = append(fields, matchedField{f, i})
	}
	if i := slices.Index(used, false); i >= 0 && write {
		return nil, fmt.Errorf("%w: no Go field for %q, which would be lost", ErrType, d.Fields[i].Name)
	}
	return fields, nil
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
	s, err := numbers.UTF32String(b)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrValue, err)
	}
	return s, nil
}

func encodeUnicode(b []byte, s string) error {
	if err := numbers.PutUTF32(b, s); err != nil {
		return fmt.Errorf("%w: %w", ErrValue, err)
	}
	return nil
}
