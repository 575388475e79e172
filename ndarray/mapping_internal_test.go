package ndarray

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/elements/structconv"
)

// TestMapping_types encodes random Go values of random types, and compares them after they were
// decoded, with and without a conversion of the numbers.
func TestMapping_types(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := nested(t, 3)
		require.NoError(t, d.Validate())
		exact, err := mapping{write: true}.of(goType(d, false), d)
		require.NoError(t, err, d)
		v := reflect.New(goType(d, false)).Elem()
		fillGo(t, v, d)
		stored, err := encodeOne(exact, d, v)
		require.NoError(t, err)
		if d.Size > 0 {
			require.Len(t, stored, d.Size)
		} else {
			require.NoError(t, d.checkElement(string(stored)))
		}
		for _, wide := range []bool{false, true} {
			in, err := mapping{exact: wide}.of(goType(d, wide), d)
			require.NoError(t, err, d)
			out, err := mapping{write: true, exact: wide}.of(goType(d, wide), d)
			require.NoError(t, err, d)
			got := reflect.New(goType(d, wide)).Elem()
			require.NoError(t, in.Decode(nil, stored, got.Addr().UnsafePointer()))
			again, err := encodeOne(out, d, got)
			require.NoError(t, err)
			require.Equal(t, string(stored), string(again))
			if !wide {
				require.Equal(t, v.Interface(), got.Interface())
			}
		}
	})
}

// encodeOne returns the element of a Go value.
func encodeOne(c structconv.Converter, d DType, v reflect.Value) ([]byte, error) {
	s := structconv.State{Block: make([]byte, d.Size)}
	err := c.Encode(&s, 0, v.Addr().UnsafePointer())
	return s.Block, err
}

// goType returns a Go type that Read accepts for elements of type d, with numbers of the largest
// size if wide is set.
func goType(d DType, wide bool) reflect.Type {
	switch d.Kind {
	case Bool:
		return reflect.TypeFor[bool]()
	case Int:
		if wide {
			return reflect.TypeFor[int64]()
		}
		return map[int]reflect.Type{1: reflect.TypeFor[int8](), 2: reflect.TypeFor[int16](), 4: reflect.TypeFor[int32](), 8: reflect.TypeFor[int64]()}[d.Size]
	case Float:
		if wide || d.Size == 8 {
			return reflect.TypeFor[float64]()
		}
		return reflect.TypeFor[float32]()
	case String, Bytes, Unicode, Reference:
		return reflect.TypeFor[string]()
	case VLen:
		return reflect.SliceOf(goType(*d.Base, wide))
	case SubArray:
		t := goType(*d.Base, wide)
		for i := len(d.Dims) - 1; i >= 0; i-- {
			t = reflect.ArrayOf(int(d.Dims[i]), t)
		}
		return t
	}
	var fields []reflect.StructField
	for i, f := range d.Fields {
		fields = append(fields, reflect.StructField{Name: string(rune('A' + i)), Type: goType(f.Type, wide), Tag: reflect.StructTag(`nd:"` + f.Name + `"`)})
	}
	return reflect.StructOf(fields)
}

// nested returns a random element type.
func nested(t *rapid.T, depth int) DType {
	kinds := []string{"?", "i1", ">i2", "<i4", "i8", ">f4", "f8", "S3", ">U2", "string"}
	n := rapid.IntRange(0, len(kinds)+3).Draw(t, "kind")
	if depth == 0 || n < len(kinds) {
		d, err := ParseDType(kinds[n%len(kinds)])
		require.NoError(t, err)
		return d
	}
	switch n - len(kinds) {
	case 0, 1:
		base := nested(t, depth-1)
		return DType{Kind: VLen, Order: NoOrder, Base: &base}
	case 2:
		return SubArrayOf(nested(t, depth-1), rapid.SliceOfN(rapid.Int64Range(1, 3), 1, 2).Draw(t, "dims")...)
	}
	var fields []Field
	for i := range rapid.IntRange(1, 4).Draw(t, "fields") {
		fields = append(fields, Field{Name: string(rune('a' + i)), Type: nested(t, depth-1)})
	}
	return StructOf(rapid.Bool().Draw(t, "aligned"), fields...)
}

// fillGo sets a Go value of goType to random content that elements of type d can store.
func fillGo(t *rapid.T, v reflect.Value, d DType) {
	switch d.Kind {
	case Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case Int:
		v.SetInt(rapid.Int64().Draw(t, "int") >> (64 - 8*d.Size))
	case Float:
		v.SetFloat(float64(rapid.Float32().Draw(t, "float")))
	case String, Bytes, Unicode:
		v.SetString(rapid.StringMatching(`[a-z]{0,2}`).Draw(t, "text"))
	case VLen:
		if n := rapid.IntRange(0, 3).Draw(t, "length"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			fillGo(t, v.Index(i), *d.Base)
		}
	case SubArray:
		for i := range v.Len() {
			inner := *d.Base
			if len(d.Dims) > 1 {
				inner = SubArrayOf(*d.Base, d.Dims[1:]...)
			}
			fillGo(t, v.Index(i), inner)
		}
	case Struct:
		for i, f := range d.Fields {
			fillGo(t, v.Field(i), f.Type)
		}
	}
}
