package h5value_test

import (
	"bytes"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// written creates a dataset that contains v, with the type that T is stored as.
func written[T any](t testing.TB, f *h5.File, name string, v []T) *h5.Dataset {
	t.Helper()
	dt, err := h5value.DatatypeFor[T]()
	require.NoError(t, err)
	return writtenAs(t, f, name, dt, v)
}

func writtenAs[T any](t testing.TB, f *h5.File, name string, dt h5.Datatype, v []T) *h5.Dataset {
	t.Helper()
	d, err := f.Root().CreateDataset(name, dt, h5.SimpleSpace(int64(len(v))), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, v, h5.All))
	return d
}

type point struct {
	X, Y float64
}

type station struct {
	ID      int32      `h5:"id"`
	Name    string     `h5:"name"`
	Code    string     `h5:"code,size=4"`
	At      point      `h5:"at"`
	Grid    [2][3]int8 `h5:"grid"`
	Series  []float32  `h5:"series"`
	Notes   []string   `h5:"notes"`
	Track   []point    `h5:"track"`
	Deep    [][]uint16 `h5:"deep"`
	Phase   complex128 `h5:"phase"`
	Active  bool       `h5:"active"`
	Ignored int        `h5:"-"`
}

func someStations() []station {
	return []station{
		{ID: 1, Name: "Zürich", Code: "ZRH", At: point{1.5, -2}, Grid: [2][3]int8{{1, 2, 3}, {-4, 5, -6}}, Series: []float32{1, 2.5},
			Notes: []string{"", "two words", "é"}, Track: []point{{1, 2}, {3, 4}}, Deep: [][]uint16{{1}, {}, {2, 3}}, Phase: 1 + 2i, Active: true},
		{ID: math.MinInt32, Series: []float32{}, Notes: []string{}, Track: []point{}, Deep: [][]uint16{}},
	}
}

// TestStructs checks that a struct with fields of every kind is equal after a write and a read, as
// a whole and in part.
func TestStructs(t *testing.T) {
	want := someStations()
	d := written(t, newFile(t), "d", want)
	got, err := h5value.ReadAll[station](d)
	require.NoError(t, err)
	require.Equal(t, want, got)

	type some struct { // fewer fields, in another order and with other sizes
		Notes []string `h5:"notes"`
		At    struct{ Y float32 }
		ID    float64 `h5:"id"`
		None  string  `h5:"none,optional"`
		Track []struct{ Y int }
	}
	_, err = h5value.ReadAll[some](d)
	require.ErrorIs(t, err, h5.ErrType)
	require.ErrorContains(t, err, `has no member "At"`)
	type part struct {
		Notes []string `h5:"notes"`
		At    struct {
			Y float32
		} `h5:"at"`
		ID    float64 `h5:"id"`
		None  string  `h5:"none,optional"`
		Track []struct {
			Y int
		} `h5:"track"`
	}
	parts := make([]part, 1)
	require.NoError(t, h5value.Read(d, parts, region([]int64{0}, []int64{1})))
	require.Equal(t, want[0].Notes, parts[0].Notes)
	require.Equal(t, float32(-2), parts[0].At.Y)
	require.Equal(t, 1.0, parts[0].ID)
	require.Equal(t, 4, parts[0].Track[1].Y)

	// Writing some members must not change the others.
	type id struct {
		ID   int64  `h5:"id"`
		Name string `h5:"name"`
	}
	require.NoError(t, h5value.Write(d, []id{{7, "seven"}}, region([]int64{1}, []int64{1})))
	got, err = h5value.ReadAll[station](d)
	require.NoError(t, err)
	want[1].ID, want[1].Name = 7, "seven"
	require.Equal(t, want, got)
	require.ErrorIs(t, h5value.Write(d, []id{{math.MaxInt64, ""}}, region([]int64{1}, []int64{1})), h5.ErrOverflow)
	require.NoError(t, h5value.WriteLossy(d, []id{{math.MaxInt64, ""}}, region([]int64{1}, []int64{1})))
	got, err = h5value.ReadAll[station](d)
	require.NoError(t, err)
	require.Equal(t, int32(math.MaxInt32), got[1].ID)
}

// TestStructs_Enumerations checks enumerations in structs, alone and in sequences and arrays.
// They are read as names, as numbers, and as values of a defined type.
func TestStructs_Enumerations(t *testing.T) {
	type shade int16
	color := h5.EnumOf(h5.Int(2, h5.BigEndian), h5.Member{Name: "red", Value: -1}, h5.Member{Name: "blue", Value: 300})
	dt := h5.CompoundOf(
		h5.Member{Name: "name", Type: &color}, h5.Member{Name: "value", Type: &color}, h5.Member{Name: "number", Type: &color},
		h5.Member{Name: "many", Type: ptr(h5.SequenceOf(color))}, h5.Member{Name: "pair", Type: ptr(h5.ArrayOf(color, 2))}, h5.Member{Name: "yes", Type: ptr(h5value.Bool())})
	type row struct {
		Name   string            `h5:"name"`
		Value  h5value.EnumValue `h5:"value"`
		Number shade             `h5:"number"`
		Many   []string          `h5:"many"`
		Pair   [2]shade          `h5:"pair"`
		Yes    bool              `h5:"yes"`
	}
	rows := []row{
		{"red", h5value.EnumValue{Name: "blue", Value: 300}, -1, []string{"red", "blue"}, [2]shade{300, -1}, true},
		{"blue", h5value.EnumValue{Name: "red", Value: -1}, 300, []string{}, [2]shade{-1, -1}, false},
	}
	d := writtenAs(t, newFile(t), "d", dt, rows)
	got, err := h5value.ReadAll[row](d)
	require.NoError(t, err)
	require.Equal(t, rows, got)
	bad := rows[0]
	bad.Name = "green"
	require.ErrorIs(t, h5value.Write(d, []row{rows[1], bad}, h5.All), h5.ErrParam)
	bad = rows[0]
	bad.Pair[1] = 7
	require.ErrorIs(t, h5value.Write(d, []row{rows[1], bad}, h5.All), h5.ErrOverflow)
	got, err = h5value.ReadAll[row](d)
	require.NoError(t, err)
	require.Equal(t, rows, got, "no byte was written")
}

// TestRecords checks that compounds can be read without a struct, as names and natural values, and
// that the values can be written again.
func TestRecords(t *testing.T) {
	f := newFile(t)
	want := someStations()
	d := written(t, f, "d", want)
	records, err := h5value.ReadAll[h5value.Record](d)
	require.NoError(t, err)
	require.Equal(t, h5value.Record{
		{"id", int32(1)}, {"name", "Zürich"}, {"code", "ZRH"}, {"at", h5value.Record{{"X", 1.5}, {"Y", -2.0}}},
		{"grid", [][]int8{{1, 2, 3}, {-4, 5, -6}}}, {"series", []float32{1, 2.5}}, {"notes", []string{"", "two words", "é"}},
		{"track", []h5value.Record{{{"X", 1.0}, {"Y", 2.0}}, {{"X", 3.0}, {"Y", 4.0}}}}, {"deep", [][]uint16{{1}, {}, {2, 3}}},
		{"phase", 1 + 2i}, {"active", true},
	}, records[0])
	v, ok := records[0].Get("name")
	require.True(t, ok)
	require.Equal(t, "Zürich", v)
	_, ok = records[0].Get("Name")
	require.False(t, ok)

	dt, err := d.Datatype()
	require.NoError(t, err)
	again := writtenAs(t, f, "again", dt, records)
	got, err := h5value.ReadAll[station](again)
	require.NoError(t, err)
	require.Equal(t, want, got)

	anything, err := h5value.ReadAll[any](d)
	require.NoError(t, err)
	require.Equal(t, records[0], anything[0])
	anything = []any{records[1], want[0]} // of different types
	require.NoError(t, h5value.Write(again, anything, h5.All))
	got, err = h5value.ReadAll[station](again)
	require.NoError(t, err)
	require.Equal(t, []station{want[1], want[0]}, got)

	for name, tt := range map[string]struct {
		v    any
		want error
	}{
		"nil": {nil, h5.ErrType}, "another type": {3, h5.ErrType}, "too few members": {records[0][1:], h5.ErrSize},
		"some members": {struct {
			ID int `h5:"id"`
		}{3}, h5.ErrType},
		"another member": {append(append(h5value.Record{}, records[0][1:]...), h5value.Field{Name: "no", Value: 1}), h5.ErrType},
		"a bad member":   {append(h5value.Record{{"id", "text"}}, records[0][1:]...), h5.ErrType},
	} {
		require.ErrorIs(t, h5value.Write(again, []any{tt.v, records[1]}, h5.All), tt.want, name)
	}
}

func TestValues_invalidTags(t *testing.T) {
	for name, err := range map[string]error{
		"map":        second(h5value.DatatypeFor[map[string]int]()),
		"interface":  second(h5value.DatatypeFor[any]()),
		"pointer":    second(h5value.DatatypeFor[*int]()),
		"no field":   second(h5value.DatatypeFor[struct{ a int }]()),
		"no element": second(h5value.DatatypeFor[[0]int]()),
		"option": second(h5value.DatatypeFor[struct {
			A string `h5:"a,long"`
		}]()),
		"size": second(h5value.DatatypeFor[struct {
			A string `h5:"a,size=0"`
		}]()),
		"reference": second(h5value.DatatypeFor[struct {
			A h5.Ref `h5:"a,ref=weak"`
		}]()),
		"twice": second(h5value.DatatypeFor[struct {
			A int `h5:"x"`
			B int `h5:"x"`
		}]()),
		"hidden": second(h5value.DatatypeFor[struct {
			a int `h5:"x"` //nolint:govet // what is tested
			B int
		}]()),
		"recursive": second(h5value.DatatypeFor[recursive]()),
	} {
		require.ErrorIs(t, err, h5.ErrType, name)
	}
}

type recursive struct{ R []recursive }

func second[T any](_ T, err error) error { return err }

// TestValues_goTypes checks each kind of element with every Go type that supports it.
func TestValues_goTypes(t *testing.T) {
	color := h5.EnumOf(h5.Int(2, h5.BigEndian), h5.Member{Name: "red", Value: -1}, h5.Member{Name: "blue", Value: 300})
	bits := h5.Datatype{Class: h5.Bitfield, Size: 2, Order: h5.BigEndian, Precision: 12, Offset: 3}
	at := h5.Datatype{Class: h5.Time, Size: 4, Precision: 32, Order: h5.BigEndian}
	wide := h5.Uint(16, h5.BigEndian)
	i17 := h5.Int(4, h5.BigEndian)
	i17.Precision, i17.Offset, i17.HighPad, i17.LowPad = 17, 3, h5.PadOne, h5.PadOne
	raw := bytes.Repeat([]byte{1, 2}, 8)
	for name, tt := range map[string]struct {
		dt      h5.Datatype
		write   any // []T
		read    []any
		natural any
	}{
		"enumeration": {color, []string{"red", "blue"}, []any{
			[]int16{-1, 300}, []int{-1, 300}, []float64{-1, 300}, []h5value.EnumValue{{"red", -1}, {"blue", 300}}}, []any{h5value.EnumValue{"red", -1}, h5value.EnumValue{"blue", 300}}},
		"bit field":       {bits, []uint16{0xabc, 5}, []any{[]uint64{0xabc, 5}, []int32{0xabc, 5}, []float32{0xabc, 5}}, []any{uint16(0xabc), uint16(5)}},
		"time":            {at, []uint32{1 << 31, 9}, []any{[]uint64{1 << 31, 9}, []int64{1 << 31, 9}}, []any{uint32(1 << 31), uint32(9)}},
		"wide":            {wide, [][]byte{raw, raw}, []any{[][16]byte{[16]byte(raw), [16]byte(raw)}}, []any{raw, raw}},
		"17 bits":         {i17, []int64{-65536, 65535}, []any{[]int32{-65536, 65535}, []float64{-65536, 65535}}, []any{int32(-65536), int32(65535)}},
		"opaque":          {h5.OpaqueOf(3, "tag"), [][]byte{{1, 2, 3}, {4, 5, 6}}, []any{[][3]byte{{1, 2, 3}, {4, 5, 6}}}, []any{[]byte{1, 2, 3}, []byte{4, 5, 6}}},
		"fixed":           {h5.FixedString(5, h5.SpacePad, h5.ASCII), []string{"ab", "hello"}, nil, []any{"ab", "hello"}},
		"null terminated": {h5.FixedString(5, h5.NullTerm, h5.ASCII), []string{"", "hell"}, nil, []any{"", "hell"}},
		"variable":        {h5.VariableString(h5.ASCII), []string{"", "hello"}, nil, []any{"", "hello"}},
		"characters":      {h5.SequenceOf(h5.FixedString(1, h5.NullTerm, h5.ASCII)), []string{"", "hello"}, nil, nil},
		"bytes":           {h5.SequenceOf(h5.Uint(1, h5.LittleEndian)), []string{"", "hello"}, []any{[][]byte{{}, []byte("hello")}}, []any{[]byte{}, []byte("hello")}},
		"complex":         {h5value.ComplexCompound(h5.IEEEFloat(4, h5.BigEndian)), []complex64{1 + 2i, -1i}, []any{[]complex128{1 + 2i, -1i}}, []any{complex64(1 + 2i), complex64(-1i)}},
		"array":           {h5.ArrayOf(h5.Int(2, h5.BigEndian), 2, 3), [][2][3]int{{{1, 2, 3}, {4, 5, 6}}, {}}, []any{[][][]int8{{{1, 2, 3}, {4, 5, 6}}, {{0, 0, 0}, {0, 0, 0}}}}, nil},
		"strings in arrays": {h5.ArrayOf(h5.VariableString(h5.UTF8), 2), [][2]string{{"a", "bc"}, {"", "é"}}, []any{[][]string{{"a", "bc"}, {"", "é"}}},
			[]any{[]string{"a", "bc"}, []string{"", "é"}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, tt.dt.Validate())
			f := newFile(t)
			d, err := f.Root().CreateDataset("d", tt.dt, h5.SimpleSpace(2), nil)
			require.NoError(t, err)
			require.NoError(t, writeReflect(d, tt.write))
			for _, want := range append(tt.read, tt.write) {
				got, err := readReflect(d, want)
				require.NoError(t, err, "%T", want)
				require.Equal(t, want, got)
				require.NoError(t, writeReflect(d, want), "%T", want)
			}
			if tt.natural == nil {
				return
			}
			got, err := h5value.ReadAll[any](d)
			require.NoError(t, err)
			require.Equal(t, tt.natural, any(got))
			natural, err := h5value.NaturalType(tt.dt)
			require.NoError(t, err)
			require.Equal(t, reflect.TypeOf(got[0]), natural)
			require.NoError(t, h5value.Write(d, got, h5.All))
			_, err = h5value.ReadAll[func()](d)
			require.ErrorIs(t, err, h5.ErrType)
		})
	}
}

// readReflect and writeReflect call Read and Write with the element type of a slice, which is known
// only at run time.
func readReflect(d *h5.Dataset, like any) (any, error) {
	switch like.(type) {
	case []int16:
		return anySlice(h5value.ReadAll[int16](d))
	case []int32:
		return anySlice(h5value.ReadAll[int32](d))
	case []int64:
		return anySlice(h5value.ReadAll[int64](d))
	case []int:
		return anySlice(h5value.ReadAll[int](d))
	case []uint16:
		return anySlice(h5value.ReadAll[uint16](d))
	case []uint32:
		return anySlice(h5value.ReadAll[uint32](d))
	case []uint64:
		return anySlice(h5value.ReadAll[uint64](d))
	case []float32:
		return anySlice(h5value.ReadAll[float32](d))
	case []float64:
		return anySlice(h5value.ReadAll[float64](d))
	case []string:
		return anySlice(h5value.ReadAll[string](d))
	case [][]byte:
		return anySlice(h5value.ReadAll[[]byte](d))
	case [][16]byte:
		return anySlice(h5value.ReadAll[[16]byte](d))
	case [][3]byte:
		return anySlice(h5value.ReadAll[[3]byte](d))
	case []complex64:
		return anySlice(h5value.ReadAll[complex64](d))
	case []complex128:
		return anySlice(h5value.ReadAll[complex128](d))
	case [][2][3]int:
		return anySlice(h5value.ReadAll[[2][3]int](d))
	case [][][]int8:
		return anySlice(h5value.ReadAll[[][]int8](d))
	case [][2]string:
		return anySlice(h5value.ReadAll[[2]string](d))
	case [][]string:
		return anySlice(h5value.ReadAll[[]string](d))
	case []h5value.EnumValue:
		return anySlice(h5value.ReadAll[h5value.EnumValue](d))
	}
	panic(reflect.TypeOf(like))
}

func anySlice[T any](v []T, err error) (any, error) { return v, err }

func writeReflect(d *h5.Dataset, v any) error {
	s := reflect.ValueOf(v)
	anything := make([]any, s.Len())
	for i := range anything {
		anything[i] = s.Index(i).Interface()
	}
	return h5value.Write(d, anything, h5.All)
}

// TestValues_unrepresentable checks that an error for a value names the element and the member, and
// that the write changes nothing.
func TestValues_unrepresentable(t *testing.T) {
	f := newFile(t)
	type row struct {
		A int8   `h5:"a"`
		S string `h5:"s,size=3"`
		B []byte `h5:"b"`
	}
	d := written(t, f, "d", []row{{1, "abc", nil}, {2, "d", []byte{1}}})
	before, err := h5value.ReadAll[row](d)
	require.NoError(t, err)
	type wide struct {
		A float64 `h5:"a"`
		S string  `h5:"s"`
		B []int   `h5:"b"`
	}
	for name, tt := range map[string]struct {
		v    wide
		want error
		text string
	}{
		"too large":      {wide{A: 128}, h5.ErrOverflow, `element 1: member "a": value out of range: 128 in H5T_STD_I8LE`},
		"no number":      {wide{A: math.NaN()}, h5.ErrOverflow, "NaN"},
		"broken":         {wide{A: 1.5}, h5.ErrPrecision, "1.5"},
		"too long":       {wide{S: "abcd"}, h5.ErrSize, "string: got 4 bytes, want at most 3"},
		"zero inside":    {wide{S: "a\x00"}, h5.ErrParam, "zero byte at 1"},
		"in a sequence":  {wide{B: []int{1, 256}}, h5.ErrOverflow, `member "b"`},
		"in a sequence ": {wide{B: []int{-1}}, h5.ErrOverflow, `-1`},
	} {
		err := h5value.Write(d, []wide{{}, tt.v}, h5.All)
		require.ErrorIs(t, err, tt.want, name)
		require.ErrorContains(t, err, tt.text, name)
	}
	require.ErrorIs(t, h5value.Write(d, []wide{{}}, h5.All), h5.ErrSize)
	require.ErrorIs(t, h5value.Write(d, []wide{{}}, region([]int64{0}, []int64{2})), h5.ErrSize)
	require.ErrorIs(t, h5value.Read(d, make([]wide, 3), h5.All), h5.ErrSize)
	require.ErrorIs(t, h5value.Read(d, make([]wide, 3), nil), h5.ErrParam)
	require.ErrorIs(t, h5value.Read(d, make([]wide, 3), region([]int64{0}, []int64{3})), h5.ErrRegion)
	after, err := h5value.ReadAll[row](d)
	require.NoError(t, err)
	require.Equal(t, before, after)

	color := writtenAs(t, f, "enum", h5.EnumOf(h5.Int(1, 0), h5.Member{Name: "red", Value: 1}), []h5value.EnumValue{{Name: "red"}, {Value: 9}})
	_, err = h5value.ReadAll[string](color)
	require.ErrorIs(t, err, h5.ErrOverflow)
	values, err := h5value.ReadAll[h5value.EnumValue](color)
	require.NoError(t, err)
	require.Equal(t, []h5value.EnumValue{{"red", 1}, {"", 9}}, values)
	require.ErrorIs(t, h5value.Write(color, []string{"red", "green"}, h5.All), h5.ErrParam)
	require.ErrorIs(t, h5value.Write(writtenAs(t, f, "opaque", h5.OpaqueOf(2, ""), [][]byte{{1, 2}}), [][]byte{{1}}, h5.All), h5.ErrSize)
	wide128 := writtenAs(t, f, "wide", h5.Int(16, h5.LittleEndian), [][]byte{make([]byte, 16)})
	_, err = h5value.ReadAll[*big.Float](wide128)
	require.ErrorIs(t, err, h5.ErrType)
	require.ErrorContains(t, err, "integers of 128 bits come as bytes only")
	require.NoError(t, f.Close())
	_, err = h5value.ReadAll[row](d)
	require.ErrorIs(t, err, h5.ErrClosed)
	require.ErrorIs(t, h5value.Write(d, []row{{}, {}}, h5.All), h5.ErrClosed)
}

// TestValues_unconverted checks that values can be read without a conversion, decoded to several
// types and written to another dataset.
func TestValues_unconverted(t *testing.T) {
	f := newFile(t)
	want := someStations()
	d := written(t, f, "d", want)
	v, err := d.ReadValues(must(d.Datatype())(t), h5.All, -1)
	require.NoError(t, err)
	require.Equal(t, 2, v.N)
	got, err := h5value.Decode[station](v)
	require.NoError(t, err)
	require.Equal(t, want, got)
	type part struct {
		Track []struct {
			X float32
		} `h5:"track"`
		Grid [2][]int `h5:"grid"`
	}
	parts, err := h5value.Decode[part](v)
	require.NoError(t, err)
	require.Equal(t, float32(3), parts[0].Track[1].X)
	require.Equal(t, []int{-4, 5, -6}, parts[0].Grid[1])
	got, err = h5value.Decode[station](v)
	require.NoError(t, err)
	require.Equal(t, want, got, "decoding does not change the input")

	e, err := h5value.Encode(v.Datatype, want[:1])
	require.NoError(t, err)
	require.NoError(t, d.WriteValues(e, h5.Points{{1}}))
	got, err = h5value.ReadAll[station](d)
	require.NoError(t, err)
	require.Equal(t, []station{want[0], want[0]}, got)
	other := written(t, f, "other", []point{{1, 2}})
	require.ErrorIs(t, other.WriteValues(e, h5.All), h5.ErrType)
	require.ErrorIs(t, d.WriteValues(e, h5.All), h5.ErrSize)
	_, err = h5value.Encode(v.Datatype, []int{1})
	require.ErrorIs(t, err, h5.ErrType)
	_, err = h5value.Decode[int](v)
	require.ErrorIs(t, err, h5.ErrType)
}

// TestStructs_Random writes nested structs with random values and reads them again.
func TestStructs_Random(t *testing.T) {
	f := newFile(t)
	n := 0
	text := rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "\x00") })
	rapid.Check(t, func(t *rapid.T) {
		s := station{
			ID: rapid.Int32().Draw(t, "id"), Name: text.Draw(t, "name"), Code: rapid.StringMatching("[a-z]{0,4}").Draw(t, "code"),
			At:     point{rapid.Float64().Draw(t, "x"), rapid.Float64().Draw(t, "y")},
			Series: rapid.SliceOf(rapid.Float32()).Draw(t, "series"), Notes: rapid.SliceOf(text).Draw(t, "notes"),
			Track: rapid.SliceOf(rapid.Custom(func(t *rapid.T) point { return point{rapid.Float64().Draw(t, "x"), 0} })).Draw(t, "track"),
			Deep:  rapid.SliceOf(rapid.SliceOf(rapid.Uint16())).Draw(t, "deep"), Phase: complex(rapid.Float64().Draw(t, "re"), 1), Active: rapid.Bool().Draw(t, "active"),
		}
		v := make([]station, rapid.IntRange(0, 4).Draw(t, "n"))
		for i := range v {
			v[i] = s
			v[i].ID += int32(i)
		}
		n++
		dt, err := h5value.DatatypeFor[station]()
		require.NoError(t, err)
		d, err := f.Root().CreateDataset("d", dt, h5.SimpleSpace(int64(len(v))), nil)
		require.NoError(t, err)
		defer func() {
			require.NoError(t, d.Close())
			require.NoError(t, f.Root().Unlink("d"))
		}()
		require.NoError(t, h5value.Write(d, v, h5.All))
		got, err := h5value.ReadAll[station](d)
		require.NoError(t, err)
		require.Equal(t, v, got)
	})
}

// TestDamagedHeap checks that reading strings and sequences from a corrupt global heap returns an
// error. The package must not free bytes that are not pointers.
func TestDamagedHeap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	written(t, f, "d", someStations())
	written(t, f, "text", []string{"some", "words"})
	written(t, f, "seq", [][]int32{{1}, {2, 3}})
	require.NoError(t, h5value.WriteAttr(f.Root(), "a", someStations()))
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(b), "GCOL")
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(b, []byte("GCOL"), []byte("COLG")), 0o600))
	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	open := func(name string) *h5.Dataset {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err)
		return d
	}
	for name, err := range map[string]error{
		"structs":   second(h5value.ReadAll[station](open("d"))),
		"records":   second(h5value.ReadAll[any](open("d"))),
		"strings":   second(readStrings(open("text"), region([]int64{0}, []int64{2}))),
		"texts":     second(h5value.ReadAll[string](open("text"))),
		"sequences": second(h5value.ReadAll[[]int32](open("seq"))),
		"attribute": second(f.Root().ReadAttribute("a")),
	} {
		require.ErrorIs(t, err, h5.ErrCorrupt, name)
	}
}
