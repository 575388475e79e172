// Tests of the record that this package stores next to bcolz's files. Its content may be untrusted.

package bcolz

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// FuzzRecord checks that any record gives either an error or a valid array with elements of the
// same size and valid attributes.
func FuzzRecord(f *testing.F) {
	for _, text := range []string{
		`{"version": 1}`,
		`{"version": 1, "dtype": "<i4", "fill": "AQAAAA==", "max_shape": [-1, 3], "axis_names": ["x", "y"]}`,
		`{"version": 1, "dtype": "[('a', '<i2'), ('b', '|S2')]", "max_shape": [9, 2]}`,
		`{"version": 1, "attrs": [{"name": "a", "dtype": "<f4", "shape": [2], "data": "AAAAAAAAAAA="}, {"name": "b", "dtype": "str", "strings": ["x"]}]}`,
		`{"version": 1, "attrs": [{"name": "n", "dtype": "<i2", "plain": true}, {"name": "t", "dtype": "<i8", "null": true}]}`,
		`{"version": 2, "dtype": {"text": "|S4", "parts": [{"index": 0, "padding": "space-padded"}]}}`,
		`{"version": 3}`, `{`, `null`,
	} {
		f.Add([]byte(text))
	}
	members, err := bcolztree.ParseAttrs([]byte(`{"n": 7, "s": "text", "l": [1, 2], "o": {"x": null}}`))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := readRecord(fstest.MapFS{bcolztree.RecordFile: {Data: b}}, bcolztree.RecordFile)
		if err != nil {
			require.True(t, errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported), "%v", err)
			return
		}
		m := ndarray.Meta{Shape: []int64{7, 3}, DType: ndarray.DTypeOf[int32]()}
		r.apply(&m)
		require.NoError(t, m.DType.Validate())
		require.Equal(t, 4, m.DType.Size)
		require.Contains(t, []int{0, 4}, len(m.Fill))
		require.Contains(t, []int{0, 2}, len(m.AxisNames))
		for i, n := range m.MaxShape {
			require.True(t, n == ndarray.Unlimited || n >= m.Shape[i], "%v", m.MaxShape)
		}
		for _, a := range attrsWith(members, r).List {
			require.NoError(t, a.Value.Validate(), "%s", a.Name)
		}
	})
}

// TestRecord_schema compares a record that contains every key with a stored text, and checks that
// the package documentation lists these keys. A changed key needs a new version, because files of
// the old one exist.
func TestRecord_schema(t *testing.T) {
	const stored = `{
 "version": 2,
 "dtype": "<i4",
 "fill": "AQAAAA==",
 "attrs": [
  {
   "name": "a",
   "dtype": "<f4",
   "shape": [
    2
   ],
   "data": "AAAAAAAAgD8="
  },
  {
   "name": "b",
   "dtype": "<i2",
   "plain": true
  },
  {
   "name": "c",
   "dtype": "<i8",
   "null": true
  },
  {
   "name": "d",
   "dtype": {
    "text": "string",
    "parts": [
     {
      "index": 0,
      "charset": "UTF-8"
     }
    ]
   },
   "strings": [
    "text"
   ]
  },
  {
   "name": "e",
   "dtype": {
    "text": "[('t', 'V2'), ('s', 'S1')]",
    "parts": [
     {
      "index": 0,
      "tag": "bWFzaw=="
     },
     {
      "index": 1,
      "padding": "space-padded"
     }
    ]
   },
   "data": "AQJ4"
  }
 ],
 "max_shape": [
  -1,
  3
 ],
 "axis_names": [
  "x",
  "y"
 ]
}`
	pair := ndarray.StructOf(false,
		ndarray.Field{Name: "t", Type: ndarray.DType{Kind: ndarray.Void, Size: 2, Order: ndarray.NoOrder, Tag: "mask"}},
		ndarray.Field{Name: "s", Type: ndarray.DType{Kind: ndarray.Bytes, Size: 1, Order: ndarray.NoOrder, Pad: ndarray.SpacePad}})
	r, err := readRecord(fstest.MapFS{bcolztree.RecordFile: {Data: []byte(stored)}}, bcolztree.RecordFile)
	require.NoError(t, err)
	require.Equal(t, &record{
		Version: 2, DType: &recordType{ndarray.DTypeOf[int32]()}, Fill: []byte{1, 0, 0, 0},
		MaxShape: []int64{ndarray.Unlimited, 3}, AxisNames: []string{"x", "y"},
		Attrs: []recordAttr{
			{Name: "a", DType: recordType{ndarray.DTypeOf[float32]()}, Shape: []int64{2}, Data: []byte{0, 0, 0, 0, 0, 0, 0x80, 0x3f}},
			{Name: "b", DType: recordType{ndarray.DTypeOf[int16]()}, Plain: true},
			{Name: "c", DType: recordType{ndarray.DTypeOf[int64]()}, Null: true},
			{Name: "d", DType: recordType{ndarray.Text("").DType}, Strings: []string{"text"}},
			{Name: "e", DType: recordType{pair}, Data: []byte{1, 2, 'x'}},
		},
	}, r)
	text, err := readable(r, " ")
	require.NoError(t, err)
	require.Equal(t, stored+"\n", string(text))

	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for _, schema := range []any{record{}, recordAttr{}, typeText{}, typePart{}} {
		s := reflect.TypeOf(schema)
		for i := range s.NumField() {
			key, _, _ := strings.Cut(s.Field(i).Tag.Get("json"), ",")
			require.Contains(t, string(doc), "//	"+key+" ", "%s.%s", s.Name(), key)
		}
	}
}

// TestRecord_version1 reads a record whose types are objects with the fields of DType.
func TestRecord_version1(t *testing.T) {
	const stored = `{
 "version": 1,
 "dtype": {"Kind": 2, "Size": 4, "Order": 60, "CharSet": 0, "Pad": 0, "Unit": {"Name": "", "Count": 0}, "Tag": "", "Base": null, "Dims": null, "Members": null, "Fields": null, "Aligned": false},
 "attrs": [{"name": "a", "dtype": {"Kind": 9, "Size": 0, "Order": 124, "CharSet": 1, "Pad": 0, "Unit": {"Name": "", "Count": 0}, "Tag": "", "Base": null, "Dims": null, "Members": null, "Fields": null, "Aligned": false}, "strings": ["text"]}]
}`
	r, err := readRecord(fstest.MapFS{bcolztree.RecordFile: {Data: []byte(stored)}}, bcolztree.RecordFile)
	require.NoError(t, err)
	require.Equal(t, ndarray.DTypeOf[int32](), r.DType.DType)
	require.Equal(t, []recordAttr{{Name: "a", DType: recordType{ndarray.Text("").DType}, Strings: []string{"text"}}}, r.Attrs)
}

func TestReadRecord_errors(t *testing.T) {
	for _, tt := range []struct {
		name, json string
		want       error
	}{
		{"later version", `{"version": 3}`, errors.ErrUnsupported},
		{"no version", `{}`, errors.ErrUnsupported},
		{"unknown type", `{"version": 2, "dtype": "<q4"}`, ndarray.ErrCorrupt},
		{"type of version 1", `{"version": 1, "dtype": {"Kind": 2, "Size": 3}}`, ndarray.ErrCorrupt},
		{"character set", `{"version": 2, "dtype": {"text": "string", "parts": [{"index": 0, "charset": "Latin-1"}]}}`, ndarray.ErrCorrupt},
		{"padding", `{"version": 2, "dtype": {"text": "|S4", "parts": [{"index": 0, "padding": "tabs"}]}}`, ndarray.ErrCorrupt},
		{"part", `{"version": 2, "dtype": {"text": "|S4", "parts": [{"index": 1, "charset": "UTF-8"}]}}`, ndarray.ErrCorrupt},
		{"order of parts", `{"version": 2, "dtype": {"text": "|S4", "parts": [{"index": 0}, {"index": 0}]}}`, ndarray.ErrCorrupt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readRecord(fstest.MapFS{bcolztree.RecordFile: {Data: []byte(tt.json)}}, bcolztree.RecordFile)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestRecordType_version1(t *testing.T) {
	const text = `{"Kind": 14, "Size": 12, "Order": 124, "Fields": [
		{"Name": "a", "Title": "first", "Offset": 0, "Type": {"Kind": 2, "Size": 4, "Order": 60}},
		{"Name": "b", "Offset": 4, "Type": {"Kind": 6, "Size": 8, "Order": 124, "Pad": 2, "CharSet": 1}}]}`
	var got recordType
	require.NoError(t, got.UnmarshalJSON([]byte(text)))
	require.Equal(t, ndarray.DType{Kind: ndarray.Struct, Size: 12, Order: ndarray.NoOrder, Fields: []ndarray.Field{
		{Name: "a", Title: "first", Type: ndarray.DType{Kind: ndarray.Int, Size: 4, Order: ndarray.Little}},
		{Name: "b", Offset: 4, Type: ndarray.DType{Kind: ndarray.Bytes, Size: 8, Order: ndarray.NoOrder, Pad: ndarray.SpacePad, CharSet: ndarray.UTF8}},
	}}, got.DType)
}
