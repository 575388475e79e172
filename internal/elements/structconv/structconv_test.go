package structconv_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/elements/structconv"
)

// element is an element type of the tests. Its converter is made with this package, and reference
// encodes the same Go values by reflection.
type element struct {
	goType  reflect.Type
	size    int
	kind    reflect.Kind
	part    *element // of an array
	parts   []*element
	offsets []int // of the fields of a struct, in the element
}

// leaves are the Go types without parts. A string has an element of 4 bytes.
var leaves = []reflect.Type{
	reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[int32](), reflect.TypeFor[float64](),
	reflect.TypeFor[complex64](), reflect.TypeFor[bool](), reflect.TypeFor[string](),
}

// random returns a random type. The fields of a struct are in random order in its element, with
// gaps.
func random(t *rapid.T, depth int) *element {
	n := rapid.IntRange(0, len(leaves)+3).Draw(t, "type")
	if depth == 0 || n < len(leaves) {
		leaf := leaves[n%len(leaves)]
		size := int(leaf.Size())
		if leaf.Kind() == reflect.String {
			size = 4
		}
		return &element{goType: leaf, size: size, kind: leaf.Kind()}
	}
	if n == len(leaves) {
		part, length := random(t, depth-1), rapid.IntRange(0, 3).Draw(t, "length")
		return &element{goType: reflect.ArrayOf(length, part.goType), size: length * part.size, kind: reflect.Array, part: part}
	}
	e := &element{kind: reflect.Struct}
	var fields []reflect.StructField
	for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
		e.parts = append(e.parts, random(t, depth-1))
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: e.parts[i].goType})
	}
	e.offsets = make([]int, len(fields))
	order := make([]int, len(fields))
	for i := range order {
		order[i] = i
	}
	if rapid.Bool().Draw(t, "shuffle") {
		order = rapid.Permutation(order).Draw(t, "order")
	}
	for _, i := range order {
		e.offsets[i] = e.size + rapid.SampledFrom([]int{0, 0, 0, 3}).Draw(t, "gap")
		e.size = e.offsets[i] + e.parts[i].size
	}
	e.goType = reflect.StructOf(fields)
	return e
}

// converter returns the converter of e.
func (e *element) converter() structconv.Converter {
	switch e.kind {
	case reflect.Bool:
		return structconv.New(func(_ *structconv.State, src []byte, p unsafe.Pointer) error {
			*(*bool)(p) = src[0] != 0
			return nil
		}, func(s *structconv.State, at int, p unsafe.Pointer) error {
			if *(*bool)(p) {
				s.Block[at] = 1
			}
			return nil
		})
	case reflect.String:
		return structconv.New(func(_ *structconv.State, src []byte, p unsafe.Pointer) error {
			*(*string)(p) = string(src)
			return nil
		}, func(s *structconv.State, at int, p unsafe.Pointer) error {
			copy(s.Block[at:at+4], *(*string)(p))
			return nil
		})
	case reflect.Array:
		items := structconv.Items{Item: e.part.converter(), Size: e.part.size, Step: e.part.goType.Size()}
		return items.Array(e.goType.Len(), nil)
	case reflect.Struct:
		parts := make([]structconv.Part, len(e.parts))
		for i, p := range e.parts {
			f := e.goType.Field(i)
			parts[i] = structconv.Part{Converter: p.converter(), Name: f.Name, Field: f.Offset, At: e.offsets[i], Size: p.size}
		}
		return structconv.Struct(parts, nil, "field %q: %w")
	}
	return structconv.Copy(e.size)
}

// encode stores v in b by reflection.
func (e *element) encode(b []byte, v reflect.Value) error {
	switch e.kind {
	case reflect.String:
		copy(b, v.String())
	case reflect.Array:
		for i := range v.Len() {
			if err := e.part.encode(b[i*e.part.size:][:e.part.size], v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i, p := range e.parts {
			if err := p.encode(b[e.offsets[i]:][:p.size], v.Field(i)); err != nil {
				return err
			}
		}
	default:
		_, err := binary.Encode(b, binary.NativeEndian, v.Interface())
		return err
	}
	return nil
}

// fill sets v to a random value.
func (e *element) fill(t *rapid.T, v reflect.Value) {
	switch e.kind {
	case reflect.String:
		v.SetString(rapid.StringMatching(`[a-z]{4}`).Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int8, reflect.Int32:
		v.SetInt(int64(rapid.Int8().Draw(t, "integer")))
	case reflect.Uint16:
		v.SetUint(uint64(rapid.Uint16().Draw(t, "integer")))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, "float"))
	case reflect.Complex64:
		v.SetComplex(complex(float64(rapid.Float32().Draw(t, "float")), 1))
	case reflect.Array:
		for i := range v.Len() {
			e.part.fill(t, v.Index(i))
		}
	case reflect.Struct:
		for i, p := range e.parts {
			p.fill(t, v.Field(i))
		}
	}
}

// TestItems_random compares the elements of random types with those encoded by reflection.
func TestItems_random(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 3
		e := random(t, 3)
		in := reflect.MakeSlice(reflect.SliceOf(e.goType), n, n)
		want := make([]byte, n*e.size)
		for i := range n {
			e.fill(t, in.Index(i))
			require.NoError(t, e.encode(want[i*e.size:][:e.size], in.Index(i)))
		}
		items := structconv.Items{Item: e.converter(), Size: e.size, Step: e.goType.Size()}
		s := structconv.State{Block: make([]byte, 5+len(want))}
		require.NoError(t, items.Encode(&s, n, 5, in.UnsafePointer()))
		require.Equal(t, want, s.Block[5:])
		out := reflect.MakeSlice(in.Type(), n, n)
		require.NoError(t, items.Decode(&s, n, want, out.UnsafePointer()))
		require.Equal(t, in.Interface(), out.Interface())
	})
}

// failing is a converter that always fails.
func failing(err error) structconv.Converter {
	return structconv.New(
		func(*structconv.State, []byte, unsafe.Pointer) error { return err },
		func(*structconv.State, int, unsafe.Pointer) error { return err })
}

func TestStruct(t *testing.T) {
	type pair struct{ A, B int32 }
	var v pair
	number := structconv.Copy(4)
	parts := func(a, b structconv.Converter, atB int) []structconv.Part {
		return []structconv.Part{
			{Converter: a, Name: "a", At: 0, Size: 4}, {Converter: b, Name: "b", At: atB, Size: 4, Field: unsafe.Offsetof(v.B)},
		}
	}
	t.Run("adjacent copies", func(t *testing.T) {
		c := structconv.Struct(parts(number, number, 4), nil, "")
		require.True(t, c.Copies(8))
	})
	t.Run("gap", func(t *testing.T) {
		c := structconv.Struct(parts(number, number, 5), nil, "")
		require.False(t, c.Copies(8))
		require.NoError(t, c.Decode(nil, []byte{1, 0, 0, 0, 9, 2, 0, 0, 0}, unsafe.Pointer(&v)))
		require.Equal(t, pair{1, 2}, v)
	})
	t.Run("no parts", func(t *testing.T) {
		c := structconv.Struct(nil, nil, "")
		require.NoError(t, c.Decode(nil, nil, unsafe.Pointer(&v)))
		require.NoError(t, c.Encode(&structconv.State{}, 0, unsafe.Pointer(&v)))
	})
	t.Run("errors", func(t *testing.T) {
		bad := errors.New("bad")
		for format, want := range map[string]string{"": "bad", "field %q: %w": `field "b": bad`} {
			c := structconv.Struct(parts(number, failing(bad), 4), nil, format)
			for _, err := range []error{
				c.Decode(nil, make([]byte, 8), unsafe.Pointer(&v)),
				c.Encode(&structconv.State{Block: make([]byte, 8)}, 0, unsafe.Pointer(&v)),
			} {
				require.ErrorIs(t, err, bad)
				require.EqualError(t, err, want)
			}
		}
	})
	t.Run("split", func(t *testing.T) {
		bytes := structconv.New(nil, func(s *structconv.State, _ int, p unsafe.Pointer) error {
			s.Block = append(s.Block, byte(*(*int32)(p)))
			return nil
		})
		split := func(src []byte) ([][]byte, error) {
			if len(src) < 8 {
				return nil, errors.New("short")
			}
			return [][]byte{src[4:8], src[:4]}, nil
		}
		c := structconv.Struct(parts(number, number, 1), split, "")
		require.NoError(t, c.Decode(nil, []byte{3, 0, 0, 0, 4, 0, 0, 0}, unsafe.Pointer(&v)))
		require.Equal(t, pair{4, 3}, v)
		require.EqualError(t, c.Decode(nil, nil, unsafe.Pointer(&v)), "short")
		c = structconv.Struct(parts(bytes, bytes, 1), split, "")
		var s structconv.State
		require.NoError(t, c.Encode(&s, 0, unsafe.Pointer(&v)))
		require.Equal(t, []byte{4, 3}, s.Block)
	})
}

func TestItems(t *testing.T) {
	v := [3]int16{1, 2, 3}
	items := structconv.Items{Item: structconv.Copy(2), Size: 2, Step: 2, InItem: "item %d: %w"}
	t.Run("array of copies", func(t *testing.T) {
		c := items.Array(3, nil)
		require.True(t, c.Copies(6))
		require.Panics(t, func() { _ = c.Decode(nil, make([]byte, 5), unsafe.Pointer(&v)) }, "short element")
	})
	t.Run("distance in the element", func(t *testing.T) {
		wide := structconv.Items{Item: structconv.Copy(2), Size: 3, Step: 2}
		require.False(t, wide.Copies())
		s := structconv.State{Block: make([]byte, 9)}
		require.NoError(t, wide.Encode(&s, 3, 0, unsafe.Pointer(&v)))
		var out [3]int16
		c := wide.Array(3, nil)
		require.NoError(t, c.Decode(&s, s.Block, unsafe.Pointer(&out)))
		require.Equal(t, v, out)
	})
	t.Run("split", func(t *testing.T) {
		c := items.Array(2, func(src []byte) ([][]byte, error) {
			if len(src) != 5 {
				return nil, errors.New("size")
			}
			return [][]byte{src[3:], src[1:3]}, nil
		})
		out := [3]int16{7, 7, 7}
		b := binary.NativeEndian.AppendUint16([]byte{0}, 5)
		require.NoError(t, c.Decode(nil, binary.NativeEndian.AppendUint16(b, 6), unsafe.Pointer(&out)))
		require.Equal(t, [3]int16{6, 5, 7}, out)
		require.EqualError(t, c.Decode(nil, nil, unsafe.Pointer(&out)), "size")
	})
	t.Run("errors", func(t *testing.T) {
		bad := errors.New("bad")
		items := structconv.Items{Item: failing(bad), Size: 2, Step: 2, InItem: "item %d: %w"}
		require.EqualError(t, items.Decode(nil, 1, make([]byte, 2), unsafe.Pointer(&v)), "item 0: bad")
		require.EqualError(t, items.DecodeParts(nil, [][]byte{nil}, unsafe.Pointer(&v)), "item 0: bad")
		require.EqualError(t, items.Encode(&structconv.State{}, 1, 0, unsafe.Pointer(&v)), "item 0: bad")
	})
}

func TestMakeSlice(t *testing.T) {
	var v []string
	first := structconv.MakeSlice(reflect.TypeOf(v), unsafe.Pointer(&v), 2)
	require.Equal(t, []string{"", ""}, v)
	require.Equal(t, unsafe.Pointer(&v[0]), first)
	n, again := structconv.SliceAt(unsafe.Pointer(&v))
	require.Equal(t, 2, n)
	require.Equal(t, first, again)
	structconv.MakeSlice(reflect.TypeOf(v), unsafe.Pointer(&v), 0)
	require.Equal(t, []string{}, v)
	var empty []struct{}
	structconv.MakeSlice(reflect.TypeOf(empty), unsafe.Pointer(&empty), 1000)
	require.Len(t, empty, 1000)
}

func TestFields(t *testing.T) {
	type embedded struct{ X int }
	type record struct {
		A        int
		B        int `key:"b"`
		C        int `key:"c,one,two"`
		D        int `key:",one"`
		E        int `key:"-"`
		F        int `key:"-,"`
		G        int `other:"g"`
		hidden   int
		tagged   int `key:"tagged"`
		embedded `key:"-"`
	}
	var got [][2]string
	for _, f := range structconv.Fields(reflect.TypeFor[record](), "key") {
		got = append(got, [2]string{f.Name, f.Options})
	}
	require.Equal(t, [][2]string{{"A"}, {"b"}, {"c", "one,two"}, {"D", "one"}, {"-"}, {"G"}, {"tagged"}}, got)
	_ = record{hidden: 0, tagged: 0, embedded: embedded{}}
}
