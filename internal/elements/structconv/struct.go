// Converters of structs, and the fields of struct types.

package structconv

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// Field is a field of a struct type. Its name is the one in the tag, or else the Go name.
type Field struct {
	reflect.StructField
	Name    string
	Options string // the tag after the first comma
}

// Fields returns the fields of a struct type that are exported or have a tag with the given key,
// except those whose tag is "-".
func Fields(t reflect.Type, key string) []Field {
	fields := make([]Field, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup(key)
		if tag == "-" || !tagged && !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		fields = append(fields, Field{f, name, options})
	}
	return fields
}

// Split returns the parts of an element that has its parts at no fixed offsets. Encoders of such
// parts append to the block and ignore their offset.
type Split func(src []byte) ([][]byte, error)

// Part converts one field of a struct.
type Part struct {
	Converter
	Name     string  // for errors
	Field    uintptr // offset in the struct
	At, Size int     // offset and size in the element; with a Split, At is the index of the part
}

// Struct returns the converter of a struct. If split is nil, the parts have fixed offsets. inPart
// is the format of an error of a part, with the name of the part and the error, for example
// "field %q: %w"; "" for errors without a name.
func Struct(parts []Part, split Split, inPart string) Converter {
	if split == nil {
		parts = merge(parts)
		if len(parts) == 1 && parts[0].decode == nil && parts[0].At == 0 && parts[0].Field == 0 {
			return parts[0].Converter
		}
	}
	return New(func(s *State, src []byte, p unsafe.Pointer) error {
		var found [][]byte
		if split != nil {
			var err error
			if found, err = split(src); err != nil {
				return err
			}
		}
		for i := range parts {
			f := &parts[i]
			var part []byte
			if split == nil {
				part = src[f.At : f.At+f.Size]
			} else {
				part = found[f.At]
			}
			if err := f.Decode(s, part, unsafe.Add(p, f.Field)); err != nil {
				return inContext(inPart, f.Name, err)
			}
		}
		return nil
	}, func(s *State, at int, p unsafe.Pointer) error {
		for i := range parts {
			f := &parts[i]
			if err := f.Encode(s, at+f.At, unsafe.Add(p, f.Field)); err != nil {
				return inContext(inPart, f.Name, err)
			}
		}
		return nil
	})
}

// merge joins copies that are adjacent both in the struct and in the element.
func merge(parts []Part) []Part {
	merged := make([]Part, 0, len(parts))
	for _, f := range parts {
		if n := len(merged) - 1; n >= 0 && f.decode == nil && merged[n].decode == nil &&
			merged[n].Field+uintptr(merged[n].copies) == f.Field && merged[n].At+merged[n].copies == f.At {
			merged[n].copies += f.copies
			merged[n].Size = merged[n].copies
			continue
		}
		merged = append(merged, f)
	}
	return merged
}

// inContext adds the name or index of a part to an error.
func inContext(format string, part any, err error) error {
	if format == "" {
		return err
	}
	return fmt.Errorf(format, part, err)
}
