// Attributes: small named values of an array.

package ndarray

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// Value is a small array in memory, such as the value of an attribute.
type Value struct {
	DType   DType
	Shape   []int64  // empty for a scalar
	Null    bool     // no elements and no shape
	Data    []byte   // elements in row-major order and native byte order; nil for a variable size
	Strings []string // elements of variable size, as ReadStrings returns them
}

// Attr is a named value of an array.
type Attr struct {
	Name  string
	Value Value

	// Raw is the stored value in MessagePack, or nil: the content of the Blosc2 metalayer that the
	// attribute was read from, or a JSON value of bcolz without a Value. Package b2nd writes it
	// unchanged if it still has the meaning of Value. Packages b2nd and bcolz also write it if
	// Value is the zero Value. The other backends ignore Raw and refuse a zero Value.
	Raw   []byte
	Fixed bool // Raw is a metalayer of fixed length, which only Create writes
}

// UnsupportedAttr is an attribute that exists and has no Value.
type UnsupportedAttr struct {
	Name   string
	Type   string // element type in the notation of its format
	Reason string
	Raw    []byte // as in Attr
	Fixed  bool
}

// Stored returns the attribute without a Value. It reports true if Raw is known, so that a Blosc2
// frame, or a carray if JSON has such values, can store the attribute.
func (u UnsupportedAttr) Stored() (Attr, bool) {
	return Attr{Name: u.Name, Raw: u.Raw, Fixed: u.Fixed}, u.Raw != nil
}

// Attrs are all attributes of an array, in storage order.
type Attrs struct {
	List        []Attr
	Unsupported []UnsupportedAttr
}

// Get returns the value of the attribute with that name.
func (a Attrs) Get(name string) (Value, bool) {
	for _, x := range a.List {
		if x.Name == name {
			return x.Value, true
		}
	}
	return Value{}, false
}

// Text returns a scalar string of variable length in UTF-8.
func Text(s string) Value {
	return Value{DType: DType{Kind: String, Order: NoOrder, CharSet: UTF8}, Strings: []string{s}}
}

// Scalar returns a value of one element.
func Scalar[T Element](v T) Value {
	return Value{DType: DTypeOf[T](), Data: bytes.Clone(bytesOf([]T{v}))}
}

// Vector returns a value of rank 1.
func Vector[T Element](v ...T) Value {
	return Value{DType: DTypeOf[T](), Shape: []int64{int64(len(v))}, Data: append([]byte{}, bytesOf(v)...)}
}

// Validate returns ErrParam for a name that is empty or contains a zero byte, and the errors of
// Value.Validate.
func (a Attr) Validate() error {
	if err := checkName(a.Name); err != nil {
		return err
	}
	if err := a.Value.Validate(); err != nil {
		return fmt.Errorf("attribute %q: %w", a.Name, err)
	}
	return nil
}

func checkName(name string) error {
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return fmt.Errorf("%w: attribute name %q", ErrParam, name)
	}
	return nil
}

// Validate returns ErrType, ErrShape or ErrSize unless the data fits type and
// shape.
func (v Value) Validate() error {
	if err := v.DType.Validate(); err != nil {
		return err
	}
	if err := grid.Check(v.Shape, v.DType.Size); err != nil {
		return err
	}
	if v.Null && len(v.Shape) > 0 {
		return fmt.Errorf("%w: a null value has no shape, not %v", ErrShape, v.Shape)
	}
	n := v.numElems()
	if v.DType.Size == 0 {
		if int64(len(v.Strings)) != n || v.Data != nil {
			return fmt.Errorf("%w: %d strings and %d bytes for %d elements of %v", ErrSize, len(v.Strings), len(v.Data), n, v.DType)
		}
		for i, s := range v.Strings {
			if err := v.DType.checkElement(s); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		return nil
	}
	if int64(len(v.Data)) != n*int64(v.DType.Size) || v.Strings != nil {
		return fmt.Errorf("%w: %d bytes and %d strings, want %d elements of %d bytes",
			ErrSize, len(v.Data), len(v.Strings), n, v.DType.Size)
	}
	return nil
}

// NumElems returns the number of elements: 1 for a scalar, 0 for a null value.
func (v Value) numElems() int64 {
	if v.Null {
		return 0
	}
	n, _ := grid.Product(v.Shape)
	return n
}

// Equal reports whether two values have the same type in memory, shape and
// bits. The byte order in storage does not count.
func (v Value) Equal(o Value) bool {
	return v.DType.EqualValues(o.DType) && v.Null == o.Null && slices.Equal(v.Shape, o.Shape) &&
		bytes.Equal(v.Data, o.Data) && slices.Equal(v.Strings, o.Strings)
}

// Clone returns a copy that shares no memory with v.
func (v Value) Clone() Value {
	v.Shape = slices.Clone(v.Shape)
	v.Data = slices.Clone(v.Data)
	v.Strings = slices.Clone(v.Strings)
	return v
}
