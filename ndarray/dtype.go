// DType describes the bytes of an element, in storage and in memory.

package ndarray

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// Kind is the family of an element type. The zero Kind is invalid.
type Kind uint8

// The kinds. In memory every element takes DType.Size bytes, in native order.
const (
	Bool      Kind = 1 + iota // one byte, 0 is false
	Int                       // two's complement, 1, 2, 4 or 8 bytes
	Uint                      // unsigned, 1, 2, 4 or 8 bytes
	Float                     // IEEE 754 of 2, 4 or 8 bytes; x87 extended precision in 12 or 16 bytes
	Complex                   // two floats, real part first: 8, 16, 24 or 32 bytes together
	Bytes                     // string or bytes of fixed length (NumPy S)
	Unicode                   // code points of 4 bytes each, fixed count (NumPy U)
	Void                      // opaque bytes of fixed length (NumPy V)
	String                    // string of variable length
	BFloat                    // bfloat16: the upper half of a binary32
	DateTime                  // Unit's ticks since 1970, 8 bytes (NumPy M8)
	TimeDelta                 // a number of Unit's ticks, 8 bytes (NumPy m8)
	Enum                      // an integer, Base, with names for some values: Members
	Struct                    // Fields, each with its own offset
	SubArray                  // Dims elements of Base, in row-major order
	VLen                      // sequences of variable length: any number of elements of Base
	Reference                 // the path of an object in the same file, or of a part of it
)

var kindNames = [...]string{
	"invalid", "bool", "int", "uint", "float", "complex", "bytes", "unicode", "void", "string",
	"bfloat", "datetime", "timedelta", "enum", "struct", "subarray", "sequence", "reference",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Order is the byte order of an element type, in NumPy's notation.
type Order uint8

// The orders.
const (
	NoOrder Order = '|' // elements of one byte, Bytes, Void, String, Enum, Struct, SubArray, VLen, Reference
	Little  Order = '<'
	Big     Order = '>'
)

// NativeOrder is the byte order of the machine.
var NativeOrder = nativeOrder()

func nativeOrder() Order {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return Little
	}
	return Big
}

// CharSet is the encoding of Bytes and String elements.
type CharSet uint8

// The character sets. ASCII is also used for bytes that are not text.
const (
	ASCII CharSet = iota
	UTF8
)

func (c CharSet) String() string {
	switch c {
	case ASCII:
		return "ASCII"
	case UTF8:
		return "UTF-8"
	}
	return "CharSet(" + strconv.Itoa(int(c)) + ")"
}

// Pad defines how the rest of a Bytes element is filled if its string is shorter.
type Pad uint8

// The paddings. They are HDF5's (H5T_str_t); NumPy and Blosc2 have only NullPad.
const (
	NullPad  Pad = iota // zero bytes to the end; a string of full length has no padding
	NullTerm            // ends at the first zero byte, which always exists
	SpacePad            // spaces to the end
)

func (p Pad) String() string {
	switch p {
	case NullPad:
		return "null-padded"
	case NullTerm:
		return "null-terminated"
	case SpacePad:
		return "space-padded"
	}
	return "Pad(" + strconv.Itoa(int(p)) + ")"
}

// maxElementSize is the maximum size of an element in bytes. It is NumPy's limit.
const maxElementSize = math.MaxInt32

// maxDepth is the maximum nesting depth of structured types.
const maxDepth = 32

// DType is an element type. It is a value: callers may copy it freely, must not change the contents
// of its slices and Base, and should compare it with Equal.
//
// The elements of most types have Size bytes. String, VLen, Reference, and every Struct and
// SubArray with a part of such a type have elements of variable size, which have a Size of 0. Their
// elements are Go strings (ReadStrings, Value.Strings) in the form of DType.Join.
type DType struct {
	Kind    Kind
	Size    int      // bytes an element takes; 0 for a variable size
	Order   Order    // byte order in storage; NoOrder for types without one
	CharSet CharSet  // Bytes and String; ASCII otherwise
	Pad     Pad      // Bytes; NullPad otherwise
	Unit    TimeUnit // DateTime and TimeDelta
	// Tag describes the bytes of a Void (HDF5's opaque tag), or the references of a Reference:
	// "object", "region", or "" for both. For numbers and times it describes a storage that is not
	// that of the kind, such as a bit field or an integer of 17 bits in HDF5; see ndarray/hdf5.
	Tag string

	Base    *DType   // Enum: Int or Uint. SubArray and VLen: any type
	Dims    []int64  // SubArray: length of each dimension, ≥ 1
	Members []Member // Enum, at least one, in the order in which they were defined
	Fields  []Field  // Struct, at least one; in any order, must not overlap
	Aligned bool     // Struct: NumPy's align flag, fields laid out as by a C compiler; ignored by Equal
}

// TimeUnit is the length of a tick of DateTime or TimeDelta. The zero value is NumPy's generic
// unit.
type TimeUnit struct {
	Name  string // "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"; "" if generic
	Count int    // units in a tick, ≥ 1; 0 if generic
}

// Member is a name for a value of an Enum.
type Member struct {
	Name  string
	Value int64 // the bits of a uint64 if the base is unsigned
}

// Field is a part of a Struct.
type Field struct {
	Name   string
	Title  string // NumPy's second name; "" if absent
	Offset int    // bytes from the start of the element; 0 in a Struct of variable size
	Type   DType
}

// timeUnits are NumPy's, longest first.
var timeUnits = []string{"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"}

// Validate returns ErrType, with the path of the field, if no such element type
// exists.
func (d DType) Validate() error { return d.validate(0) }

func (d DType) validate(depth int) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrType}, args...)...)
	}
	if depth > maxDepth {
		return bad("nested deeper than %d", maxDepth)
	}
	ok := false
	switch d.Kind {
	case Bool:
		ok = d.Size == 1
	case Int, Uint:
		ok = d.Size == 1 || d.Size == 2 || d.Size == 4 || d.Size == 8
	case Float:
		ok = d.Size == 2 || d.Size == 4 || d.Size == 8 || d.Size == 12 || d.Size == 16
	case BFloat:
		ok = d.Size == 2
	case DateTime, TimeDelta:
		ok = d.Size == 8
	case Complex:
		ok = d.Size == 8 || d.Size == 16 || d.Size == 24 || d.Size == 32
	case Bytes, Void:
		ok = d.Size > 0
	case Unicode:
		ok = d.Size > 0 && d.Size%4 == 0
	case String, VLen, Reference:
		ok = d.Size == 0
	case Enum:
		ok = d.Size > 0
	case Struct, SubArray:
		ok = d.Size >= 0 && (d.Size == 0) == d.variable()
	}
	switch {
	case !ok || d.Size > maxElementSize:
		return bad("%v of %d bytes", d.Kind, d.Size)
	case d.ordered() && d.Order != Little && d.Order != Big:
		return bad("%v of %d bytes without a byte order", d.Kind, d.Size)
	case !d.ordered() && d.Order != NoOrder:
		return bad("%v of %d bytes with byte order %q", d.Kind, d.Size, rune(d.Order))
	case d.CharSet > UTF8 || (d.CharSet != ASCII && d.Kind != Bytes && d.Kind != String):
		return bad("%v with character set %v", d.Kind, d.CharSet)
	case d.Pad > SpacePad || (d.Pad != NullPad && d.Kind != Bytes):
		return bad("%v with padding %v", d.Kind, d.Pad)
	case d.Tag != "" && !d.tagged(), d.Kind == Reference && d.Tag != "" && d.Tag != "object" && d.Tag != "region":
		return bad("%v with the tag %q", d.Kind, d.Tag)
	case d.Unit != (TimeUnit{}) && d.Kind != DateTime && d.Kind != TimeDelta:
		return bad("%v with a unit of time", d.Kind)
	case d.Unit != (TimeUnit{}) && (!slices.Contains(timeUnits, d.Unit.Name) || d.Unit.Count < 1 || d.Unit.Count > math.MaxInt32):
		return bad("unit of time %d %q", d.Unit.Count, d.Unit.Name)
	case d.Base != nil && d.Kind != Enum && d.Kind != SubArray && d.Kind != VLen,
		d.Dims != nil && d.Kind != SubArray, d.Members != nil && d.Kind != Enum, (d.Fields != nil || d.Aligned) && d.Kind != Struct:
		return bad("%v with the parts of another kind", d.Kind)
	}
	switch d.Kind {
	case Enum:
		return d.validateEnum(depth)
	case SubArray:
		return d.validateSubArray(depth)
	case VLen:
		if d.Base == nil {
			return bad("sequence without an element type")
		}
		return d.Base.validate(depth + 1)
	case Struct:
		return d.validateStruct(depth)
	}
	return nil
}

// tagged reports whether a type of d's kind may have a tag.
func (d DType) tagged() bool {
	switch d.Kind {
	case Void, Reference, Int, Uint, Float, DateTime:
		return true
	}
	return false
}

// variable reports whether elements have a variable size.
func (d DType) variable() bool { return d.variableTo(maxDepth) }

func (d DType) variableTo(depth int) bool {
	switch d.Kind {
	case String, VLen, Reference:
		return true
	case SubArray:
		return depth > 0 && d.Base != nil && d.Base.variableTo(depth-1)
	case Struct:
		return depth > 0 && slices.ContainsFunc(d.Fields, func(f Field) bool { return f.Type.variableTo(depth - 1) })
	}
	return false
}

func (d DType) validateEnum(depth int) error {
	if d.Base == nil || (d.Base.Kind != Int && d.Base.Kind != Uint) || d.Base.Size != d.Size {
		return fmt.Errorf("%w: enumeration of %d bytes over %v", ErrType, d.Size, d.Base)
	}
	if err := d.Base.validate(depth + 1); err != nil {
		return err
	}
	if len(d.Members) == 0 {
		return fmt.Errorf("%w: enumeration without members", ErrType)
	}
	names, values := make(map[string]bool), make(map[int64]bool)
	for _, m := range d.Members {
		if m.Name == "" || names[m.Name] || values[m.Value] || !d.Base.holds(m.Value) {
			return fmt.Errorf("%w: enumeration over %v with %q = %d", ErrType, d.Base, m.Name, m.Value)
		}
		names[m.Name], values[m.Value] = true, true
	}
	return nil
}

// holds reports whether the bits of v are a value of the integer type d.
func (d DType) holds(v int64) bool {
	free := 64 - 8*d.Size
	if d.Kind == Int {
		return v<<free>>free == v
	}
	return uint64(v)<<free>>free == uint64(v)
}

func (d DType) validateSubArray(depth int) error {
	if d.Base == nil || len(d.Dims) == 0 || len(d.Dims) > grid.MaxRank {
		return fmt.Errorf("%w: sub-array %v of %v", ErrType, d.Dims, d.Base)
	}
	if err := d.Base.validate(depth + 1); err != nil {
		return err
	}
	n, ok := grid.Product(append([]int64{int64(d.Base.Size)}, d.Dims...))
	if !ok || n != int64(d.Size) || slices.Contains(d.Dims, 0) {
		return fmt.Errorf("%w: sub-array %v of elements of %d bytes in %d bytes", ErrType, d.Dims, d.Base.Size, d.Size)
	}
	return nil
}

func (d DType) validateStruct(depth int) error {
	if len(d.Fields) == 0 {
		return fmt.Errorf("%w: structure without fields", ErrType)
	}
	names := make(map[string]bool)
	for _, f := range d.Fields {
		if f.Name == "" || names[f.Name] || f.Title != "" && names[f.Title] || f.Title == f.Name {
			return fmt.Errorf("%w: field %q, title %q: missing or duplicate name", ErrType, f.Name, f.Title)
		}
		names[f.Name] = true
		if f.Title != "" {
			names[f.Title] = true
		}
		if err := f.Type.validate(depth + 1); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
		if d.Aligned && d.Size > 0 && f.Offset%f.Type.alignment() != 0 {
			return fmt.Errorf("%w: field %q at %d of an aligned structure, a multiple of %d is aligned", ErrType, f.Name, f.Offset, f.Type.alignment())
		}
		if d.Size == 0 {
			if f.Offset != 0 || d.Aligned {
				return fmt.Errorf("%w: field %q at %d of a structure of variable size, which has no offsets", ErrType, f.Name, f.Offset)
			}
			continue
		}
		if f.Offset < 0 || f.Type.Size > d.Size-f.Offset {
			return fmt.Errorf("%w: field %q of %d bytes at %d, structure of %d bytes", ErrType, f.Name, f.Type.Size, f.Offset, d.Size)
		}
	}
	if d.Size == 0 {
		return nil
	}
	if d.Size%d.alignment() != 0 {
		return fmt.Errorf("%w: aligned structure of %d bytes, a multiple of %d is aligned", ErrType, d.Size, d.alignment())
	}
	end := 0
	for _, f := range d.byOffset() {
		if f.Offset < end {
			return fmt.Errorf("%w: field %q at byte %d overlaps the one before it", ErrType, f.Name, f.Offset)
		}
		end = f.Offset + f.Type.Size
	}
	return nil
}

// byOffset returns the fields sorted by offset.
func (d DType) byOffset() []Field {
	sorted := slices.Clone(d.Fields)
	slices.SortStableFunc(sorted, func(a, b Field) int { return a.Offset - b.Offset })
	return sorted
}

// StructOf returns a structured type of the given fields in their order: adjacent, or, if aligned,
// laid out as a C compiler does. StructOf sets the offsets. A structure of variable size has no
// layout, so aligned is ignored for it.
func StructOf(aligned bool, fields ...Field) DType {
	d := DType{Kind: Struct, Order: NoOrder, Fields: slices.Clone(fields), Aligned: aligned}
	if d.variable() {
		d.Aligned = false
		for i := range d.Fields {
			d.Fields[i].Offset = 0
		}
		return d
	}
	most := 1
	for i := range d.Fields {
		if aligned {
			a := d.Fields[i].Type.alignment()
			d.Size, most = roundUp(d.Size, a), max(most, a)
		}
		d.Fields[i].Offset = d.Size
		d.Size += d.Fields[i].Type.Size
	}
	d.Size = roundUp(d.Size, most)
	return d
}

// SubArrayOf returns the type of dims elements of base in row-major order.
func SubArrayOf(base DType, dims ...int64) DType {
	n, ok := grid.Product(append([]int64{int64(base.Size)}, dims...))
	if !ok || n > maxElementSize {
		n = -1 // invalid, so that Validate returns an error
	}
	return DType{Kind: SubArray, Size: int(n), Order: NoOrder, Base: &base, Dims: slices.Clone(dims)}
}

// EnumOf returns an enumeration over an integer type.
func EnumOf(base DType, members ...Member) DType {
	return DType{Kind: Enum, Size: base.Size, Order: NoOrder, Base: &base, Members: slices.Clone(members)}
}

func roundUp(n, step int) int { return grid.RoundUp(n, step, math.MaxInt) }

// alignment returns the alignment of d in bytes that a C compiler uses on x86-64 and arm64.
func (d DType) alignment() int {
	switch d.Kind {
	case SubArray, Enum:
		return d.Base.alignment()
	case Struct:
		most := 1
		if d.Aligned {
			for _, f := range d.Fields {
				most = max(most, f.Type.alignment())
			}
		}
		return most
	}
	if u := d.unit(); u != 12 {
		return u
	}
	return 4
}

// Equal reports whether two element types are also the same in storage: byte order, character set,
// padding, names, offsets and titles must be equal.
func (d DType) Equal(o DType) bool { return d.equal(o, true) }

// EqualValues reports whether elements of the two types have the same bytes in memory and the same
// meaning. Only the byte order in storage and the Tag of numbers may differ.
func (d DType) EqualValues(o DType) bool { return d.equal(o, false) }

func (d DType) equal(o DType, order bool) bool {
	if d.Kind != o.Kind || d.Size != o.Size || d.CharSet != o.CharSet || d.Pad != o.Pad || d.Unit != o.Unit ||
		d.Tag != o.Tag && (order || d.Kind == Void || d.Kind == Reference) || order && d.Order != o.Order || !slices.Equal(d.Dims, o.Dims) || !slices.Equal(d.Members, o.Members) ||
		(d.Base == nil) != (o.Base == nil) || d.Base != nil && !d.Base.equal(*o.Base, order) {
		return false
	}
	return slices.EqualFunc(d.Fields, o.Fields, func(a, b Field) bool {
		return a.Name == b.Name && a.Title == b.Title && a.Offset == b.Offset && a.Type.equal(b.Type, order)
	})
}

// Native returns the type of d's elements in memory, in native byte order.
func (d DType) Native() DType {
	return d.MapParts(func(d DType) DType {
		if d.ordered() {
			d.Order = NativeOrder
		}
		return d
	})
}

// MapParts returns d with f applied to all its parts and then to the whole, innermost parts first
// and fields in their order.
func (d DType) MapParts(f func(DType) DType) DType {
	if d.Base != nil {
		base := d.Base.MapParts(f)
		d.Base = &base
	}
	if d.Fields != nil {
		d.Fields = slices.Clone(d.Fields)
		for i := range d.Fields {
			d.Fields[i].Type = d.Fields[i].Type.MapParts(f)
		}
	}
	return f(d)
}

// IsNative reports whether elements have the same bytes in storage and in memory.
func (d DType) IsNative() bool {
	if d.Base != nil && !d.Base.IsNative() {
		return false
	}
	for _, f := range d.Fields {
		if !f.Type.IsNative() {
			return false
		}
	}
	return !d.ordered() || d.Order == NativeOrder
}

// NumPy returns NumPy's type for elements with d's bytes. An Enum becomes its integer type, BFloat
// and tagged Void become opaque, and character set, padding and tags are removed. If NumPy can
// represent all of d, the result is d itself. Types of variable size stay, because NumPy has no
// type with their bytes.
func (d DType) NumPy() DType {
	return d.MapParts(func(d DType) DType {
		d.CharSet, d.Pad, d.Tag = ASCII, NullPad, ""
		switch d.Kind {
		case Enum:
			return *d.Base
		case BFloat:
			return DType{Kind: Void, Size: 2, Order: NoOrder}
		}
		return d
	})
}

// memSize returns the number of bytes that plans assume for an element. For elements of variable
// size it is 64.
func (d DType) memSize() int64 {
	if d.Size == 0 {
		return 64
	}
	return int64(d.Size)
}

// ordered reports whether the type has a byte order. It is for the kinds without parts.
func (d DType) ordered() bool {
	switch d.Kind {
	case Int, Uint, Float, Complex, Unicode, BFloat, DateTime, TimeDelta:
		return d.Size > 1
	}
	return false
}

// unit returns the number of bytes that are byte-swapped together. It is for the kinds without
// parts.
func (d DType) unit() int {
	switch {
	case !d.ordered():
		return 1
	case d.Kind == Complex:
		return d.Size / 2
	case d.Kind == Unicode:
		return 4
	}
	return d.Size
}
