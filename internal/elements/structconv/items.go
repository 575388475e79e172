// Converters of arrays and slices.

package structconv

import (
	"reflect"
	"unsafe"
)

// Items converts consecutive items of an array or slice.
type Items struct {
	Item   Converter
	Size   int     // distance between items in the element
	Step   uintptr // distance between items in Go
	InItem string  // format of an error of an item, with the index and the error; "" adds no text
}

// Copies reports whether items are only copied, all together.
func (t *Items) Copies() bool { return t.Item.Copies(t.Size) && uintptr(t.Size) == t.Step }

// Decode stores n items at p. The first one begins at src[0].
func (t *Items) Decode(s *State, n int, src []byte, p unsafe.Pointer) error {
	if t.Copies() {
		all := Copy(n * t.Size)
		return all.Decode(s, src, p)
	}
	for i := range n {
		if err := t.Item.Decode(s, src[i*t.Size:(i+1)*t.Size], unsafe.Add(p, uintptr(i)*t.Step)); err != nil {
			return inContext(t.InItem, i, err)
		}
	}
	return nil
}

// DecodeParts stores the items in parts at p. They may have different sizes.
func (t *Items) DecodeParts(s *State, parts [][]byte, p unsafe.Pointer) error {
	for i, src := range parts {
		if err := t.Item.Decode(s, src, unsafe.Add(p, uintptr(i)*t.Step)); err != nil {
			return inContext(t.InItem, i, err)
		}
	}
	return nil
}

// Encode stores n items from p at an offset of the block.
func (t *Items) Encode(s *State, n, at int, p unsafe.Pointer) error {
	if t.Copies() {
		all := Copy(n * t.Size)
		return all.Encode(s, at, p)
	}
	for i := range n {
		if err := t.Item.Encode(s, at+i*t.Size, unsafe.Add(p, uintptr(i)*t.Step)); err != nil {
			return inContext(t.InItem, i, err)
		}
	}
	return nil
}

// Array returns the converter of an array of n items. If split is nil, they have fixed offsets.
func (t *Items) Array(n int, split Split) Converter {
	if split == nil && t.Copies() {
		return Copy(n * t.Size)
	}
	items := *t
	return New(func(s *State, src []byte, p unsafe.Pointer) error {
		if split == nil {
			return items.Decode(s, n, src, p)
		}
		parts, err := split(src)
		if err != nil {
			return err
		}
		return items.DecodeParts(s, parts, p)
	}, func(s *State, at int, p unsafe.Pointer) error { return items.Encode(s, n, at, p) })
}

// header is a slice of any type. Only its length and address are used.
type header = []struct{}

// MakeSlice stores a new slice of type t at p, and returns the address of its n items.
func MakeSlice(t reflect.Type, p unsafe.Pointer, n int) unsafe.Pointer {
	items := reflect.MakeSlice(t, n, n).UnsafePointer()
	*(*header)(p) = unsafe.Slice((*struct{})(items), n)
	return items
}

// SliceAt returns the number and the address of the items of the slice at p.
func SliceAt(p unsafe.Pointer) (n int, items unsafe.Pointer) {
	s := *(*header)(p)
	return len(s), unsafe.Pointer(unsafe.SliceData(s))
}
