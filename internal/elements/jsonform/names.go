// Names in documents. JSON has no strings that are not UTF-8, and encoding/json replaces their
// bytes without an error.

package jsonform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Name returns a name with each byte that is not part of a UTF-8 character as \x and two digits.
func Name(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&out, `\x%02x`, s[0])
		} else {
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

// Named returns a document with each string in the form of Name: in exported fields, pointers,
// slices and maps, but not in a json.Marshaler.
func Named(doc any) any {
	v := reflect.ValueOf(doc)
	if !v.IsValid() {
		return doc
	}
	return named(v).Interface()
}

// Marshal is json.Marshal of the Named document, without the escapes for HTML.
func Marshal(doc any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(Named(doc))
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func named(v reflect.Value) reflect.Value {
	t := v.Type()
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return v
	}
	switch t.Kind() {
	case reflect.String:
		if s := v.String(); !utf8.ValidString(s) {
			return reflect.ValueOf(Name(s)).Convert(t)
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(t).Elem()
		if t.Kind() == reflect.Pointer {
			out.Set(reflect.New(t.Elem()))
			out.Elem().Set(named(v.Elem()))
		} else {
			out.Set(named(v.Elem()))
		}
		return out
	case reflect.Struct:
		out := reflect.New(t).Elem()
		out.Set(v)
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				out.Field(i).Set(named(v.Field(i)))
			}
		}
		return out
	case reflect.Slice, reflect.Array:
		return namedList(v)
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(t, v.Len())
		for key, x := range v.Seq2() {
			out.SetMapIndex(named(key), named(x))
		}
		return out
	}
	return v
}

func namedList(v reflect.Value) reflect.Value {
	t := v.Type()
	switch t.Elem().Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
	default:
		return v
	}
	if t.Kind() == reflect.Slice && v.IsNil() {
		return v
	}
	out := reflect.New(t).Elem()
	if t.Kind() == reflect.Slice {
		out.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
	}
	for i := range v.Len() {
		out.Index(i).Set(named(v.Index(i)))
	}
	return out
}
