// Datatypes of all classes, versions 1 to 5 (File Format, IV.A.2.d).

package h5file

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Class is the class of a datatype.
type Class uint8

// Classes (H5T_class_t).
const (
	IntegerClass Class = iota
	FloatClass
	TimeClass
	StringClass
	BitfieldClass
	OpaqueClass
	CompoundClass
	ReferenceClass
	EnumClass
	VLenClass
	ArrayClass
	ComplexClass // since version 5, HDF5 2.0
)

// String returns the name of the class.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class %d", uint8(c))
}

var classNames = [...]string{"integer", "float", "time", "string", "bitfield", "opaque", "compound", "reference", "enum", "variable-length", "array", "complex"}

// Order is a byte order.
type Order uint8

// Byte orders.
const (
	LittleEndian Order = iota
	BigEndian
	VAX
)

// RefKind is the kind of a reference.
type RefKind uint8

// Kinds of references (H5R_type_t). The last three were added in version 4, HDF5 1.12.
const (
	ObjectRef RefKind = iota
	RegionRef
	ObjectRef2
	RegionRef2
	AttributeRef
)

// Datatype is the type of elements.
type Datatype struct {
	Class   Class
	Version uint8
	Bits    uint32 // the 24 class bits as stored; the methods decode them
	Size    uint32 // bytes of an element in the file

	BitOffset, Precision uint16 // integer, bitfield, float; Precision also time
	// Location of exponent and mantissa of floats, in bits.
	ExponentAt, ExponentBits, MantissaAt, MantissaBits uint8
	Bias                                               uint32

	Tag     string    // opaque
	Members []Member  // compound and enum
	Base    *Datatype // enum, variable-length, array, and a part of a complex number
	Dims    []uint32  // array
}

// Member is a member of a compound or enum type.
type Member struct {
	Name   string
	Offset uint32    // bytes from the start of the compound
	Type   *Datatype // of a compound's member
	Value  []byte    // of an enum's member, Base.Size bytes in Base's order
}

// Order returns the byte order of a number.
func (t *Datatype) Order() Order {
	switch {
	case t.Class == FloatClass && t.Version >= 3 && t.Bits&0x41 == 0x41:
		return VAX
	case t.Bits&1 != 0:
		return BigEndian
	}
	return LittleEndian
}

// Signed reports whether an integer is signed.
func (t *Datatype) Signed() bool { return t.Bits&8 != 0 }

// SignBit returns the bit position of a float's sign.
func (t *Datatype) SignBit() uint8 { return uint8(t.Bits >> 8) }

// Normalization returns the normalization of a float's mantissa: 0 not normalized, 1 the highest
// bit is always set, 2 the highest bit is implied and not stored.
func (t *Datatype) Normalization() int { return int(t.Bits >> 4 & 3) }

// VariableString reports whether the type is a string of variable length.
func (t *Datatype) VariableString() bool { return t.Class == VLenClass && t.Bits&0xF == 1 }

// StringPad returns the padding of a string: 0 zero-terminated, 1 padded with zeros, 2 padded with
// spaces.
func (t *Datatype) StringPad() int {
	if t.Class == VLenClass {
		return int(t.Bits >> 4 & 0xF)
	}
	return int(t.Bits & 0xF)
}

// CharSet returns 0 for ASCII and 1 for UTF-8.
func (t *Datatype) CharSet() int {
	if t.Class == VLenClass {
		return int(t.Bits >> 8 & 0xF)
	}
	return int(t.Bits >> 4 & 0xF)
}

// RefKind returns the kind of a reference.
func (t *Datatype) RefKind() RefKind { return RefKind(t.Bits & 0xF) }

// InHeap reports whether values of the type refer to global heaps.
func (t *Datatype) InHeap() bool {
	switch t.Class {
	case VLenClass:
		return true
	case ReferenceClass:
		return t.RefKind() != ObjectRef
	case ArrayClass:
		return t.Base != nil && t.Base.InHeap()
	case CompoundClass:
		for _, m := range t.Members {
			if m.Type != nil && m.Type.InHeap() {
				return true
			}
		}
	}
	return false
}

// inMemory returns the size in bytes of an element in the memory of libhdf5 (H5T_set_loc). There,
// heap objects are represented by pointers, and addresses have 8 bytes.
func (t *Datatype) inMemory() uint64 {
	switch t.Class {
	case VLenClass:
		if t.VariableString() {
			return 8 // char *
		}
		return 16 // hvl_t
	case ReferenceClass:
		switch t.RefKind() {
		case ObjectRef:
			return 8 // hobj_ref_t
		case RegionRef:
			return 12 // hdset_reg_ref_t
		default:
			return 64 // H5R_ref_t
		}
	case ArrayClass:
		if t.Base != nil && t.Base.Size > 0 {
			return uint64(t.Size/t.Base.Size) * t.Base.inMemory()
		}
	case CompoundClass:
		n := uint64(t.Size)
		for _, m := range t.Members {
			if m.Type != nil {
				n += m.Type.inMemory() - uint64(m.Type.Size) // the difference may be negative
			}
		}
		return n
	}
	return uint64(t.Size)
}

// String returns a short description of the type.
func (t *Datatype) String() string {
	order := [...]string{"LE", "BE", "VAX"}[t.Order()]
	switch t.Class {
	case IntegerClass:
		sign := "unsigned"
		if t.Signed() {
			sign = "signed"
		}
		return fmt.Sprintf("%s integer, %d bits in %d bytes, %s", sign, t.Precision, t.Size, order)
	case FloatClass:
		return fmt.Sprintf("float, %d bits in %d bytes, %s", t.Precision, t.Size, order)
	case BitfieldClass, TimeClass:
		return fmt.Sprintf("%s, %d bits in %d bytes, %s", t.Class, t.Precision, t.Size, order)
	case StringClass:
		return fmt.Sprintf("string of %d bytes", t.Size)
	case CompoundClass, EnumClass:
		var names []string
		for _, m := range t.Members {
			names = append(names, m.Name)
		}
		if len(names) > 8 {
			names = append(names[:8], "…")
		}
		return fmt.Sprintf("%s of %d bytes {%s}", t.Class, t.Size, strings.Join(names, " "))
	case ArrayClass:
		return fmt.Sprintf("array %v of %v", t.Dims, t.Base)
	case ComplexClass:
		return fmt.Sprintf("complex of two %v", t.Base)
	case VLenClass:
		if t.VariableString() {
			return "variable-length string"
		}
		return fmt.Sprintf("variable-length %v", t.Base)
	}
	return fmt.Sprintf("%s of %d bytes", t.Class, t.Size)
}

func (p *part) datatype() *Datatype { return p.datatypeAt(0) }

// datatypeAt reads a type at a nesting depth.
func (p *part) datatypeAt(depth int) *Datatype {
	t := &Datatype{}
	if depth >= p.r.f.limits.Depth {
		p.last = nil
		p.start = p.pos
		p.complain(format.ErrLimit, "datatype", "types inside one another", fmt.Sprintf("at most %d", p.r.f.limits.Depth))
		p.ended = true
		return t
	}
	head := p.u8("class and version")
	p.hex()
	t.Class, t.Version = Class(head&0xF), head>>4
	p.mean("version %d, %s", t.Version, t.Class)
	if !p.version(t.Version, 1, 5) {
		p.ended = true
		return t
	}
	t.Bits = uint32(p.uint("class bit field", 3))
	p.hex()
	t.Size = p.u32("size")
	p.check(t.Size > 0, t.Size, "at least 1")
	if !p.ok() {
		return t
	}
	switch t.Class {
	case IntegerClass, BitfieldClass:
		p.number(t)
	case FloatClass:
		p.float(t)
	case TimeClass:
		t.Precision = p.u16("bit precision")
	case StringClass:
		p.checkString(t)
	case OpaqueClass:
		n := int(t.Bits & 0xFF)
		p.check(n%8 == 0, n, "a multiple of 8")
		t.Tag = zeroTerminated([]byte(p.text("ASCII tag", n)))
	case CompoundClass:
		p.compound(t, depth)
	case ReferenceClass:
		p.checkReference(t)
	case EnumClass:
		p.enum(t, depth)
	case VLenClass:
		p.vlen(t, depth)
	case ArrayClass:
		p.array(t, depth)
	case ComplexClass:
		p.complex(t, depth)
	default:
		p.bad(fmt.Sprintf("class %d", t.Class), "0 to 11")
		p.ended = true
	}
	return t
}

func (p *part) number(t *Datatype) {
	t.BitOffset = p.u16("bit offset")
	t.Precision = p.u16("bit precision")
	size := 8 * uint64(t.Size)
	if t.Class == IntegerClass {
		p.check(t.Precision > 0, t.Precision, "at least 1")
	}
	p.check(uint64(t.BitOffset)+uint64(t.Precision) <= size, fmt.Sprintf("bits %d to %d", t.BitOffset, int(t.BitOffset)+int(t.Precision)), fmt.Sprintf("at most %d bits", size))
	p.checkUnused(t)
}

// checkUnused reports numbers that leave more than half of their bits unused. libhdf5 treats them
// as corruption if no checksum covers them (H5T_is_numeric_with_unusual_unused_bits).
func (p *part) checkUnused(t *Datatype) {
	size, used := 8*uint64(t.Size), uint64(t.Precision)+uint64(t.BitOffset)
	if !p.summed && t.Size > 1 && uint64(t.Precision) < size && size > 2*used {
		p.bad(fmt.Sprintf("%d bits used of %d", used, size), "at least half")
	}
}

func (p *part) float(t *Datatype) {
	if t.Version >= 3 && t.Bits&0x41 == 0x40 {
		p.badAs(format.ErrUnsupported, "byte order 2", "little-endian, big-endian or VAX")
	}
	p.check(t.Normalization() < 3, "normalization 3", "0 to 2")
	size := 8 * int64(t.Size)
	sign := int64(t.SignBit())
	p.check(sign < size, fmt.Sprintf("sign at bit %d", sign), fmt.Sprintf("below %d", size))
	t.BitOffset = p.u16("bit offset")
	t.Precision = p.u16("bit precision")
	t.ExponentAt = p.u8("exponent location")
	t.ExponentBits = p.u8("exponent size")
	p.check(t.ExponentBits > 0, t.ExponentBits, "at least 1")
	exp, expEnd := int64(t.ExponentAt), int64(t.ExponentAt)+int64(t.ExponentBits)
	p.check(expEnd <= size, fmt.Sprintf("bits %d to %d", exp, expEnd), fmt.Sprintf("at most %d bits", size))
	t.MantissaAt = p.u8("mantissa location")
	t.MantissaBits = p.u8("mantissa size")
	p.check(t.MantissaBits > 0, t.MantissaBits, "at least 1")
	man, manEnd := int64(t.MantissaAt), int64(t.MantissaAt)+int64(t.MantissaBits)
	p.check(manEnd <= size, fmt.Sprintf("bits %d to %d", man, manEnd), fmt.Sprintf("at most %d bits", size))
	switch {
	case exp < manEnd && man < expEnd:
		p.bad("exponent and mantissa overlap", "bits of their own")
	case exp <= sign && sign < expEnd:
		p.bad("the sign inside the exponent", "a bit of its own")
	case man <= sign && sign < manEnd:
		p.bad("the sign inside the mantissa", "a bit of its own")
	}
	t.Bias = p.u32("exponent bias")
	p.checkUnused(t)
}

func (p *part) checkString(t *Datatype) {
	p.check(t.StringPad() <= 2, fmt.Sprintf("padding %d", t.StringPad()), "0 to 2")
	p.check(t.CharSet() <= 1, fmt.Sprintf("character set %d", t.CharSet()), "0 or 1")
}

func (p *part) compound(t *Datatype, depth int) {
	n := int(t.Bits & 0xFFFF)
	p.check(n > 0, "no members", "at least 1")
	names := map[string]bool{}
	offsetSize := encodedSize(uint64(t.Size))
	var spans spanSet
	for i := 0; i < n && p.ok(); i++ {
		closeGroup := p.group("member", i)
		m := Member{}
		if t.Version >= 3 {
			m.Name = p.cstring("name", 1)
		} else {
			m.Name = p.cstring("name", 8)
		}
		p.check(!names[m.Name], fmt.Sprintf("a second %q", m.Name), "one of each name")
		names[m.Name] = true
		if t.Version >= 3 {
			m.Offset = uint32(p.uint("byte offset", offsetSize))
		} else {
			m.Offset = p.u32("byte offset")
		}
		var dims []uint32
		if t.Version == 1 {
			dims = p.memberDims()
		}
		m.Type = p.datatypeAt(depth + 1)
		if len(dims) > 0 {
			m.Type = p.wrapArray(m.Type, dims)
		}
		if p.ok() {
			end := uint64(m.Offset) + uint64(m.Type.Size)
			if p.check(end <= uint64(t.Size), fmt.Sprintf("bytes %d to %d", m.Offset, end), fmt.Sprintf("inside the compound's %d bytes", t.Size)) {
				p.check(spans.add(uint64(m.Offset), end), fmt.Sprintf("bytes %d to %d, where another member is", m.Offset, end), "bytes of its own")
			}
		}
		closeGroup()
		t.Members = append(t.Members, m)
	}
}

// memberDims reads the array dimensions of a member in version 1.
func (p *part) memberDims() []uint32 {
	n := int(p.u8("dimensionality"))
	if !p.check(n <= 4, n, "at most 4") {
		p.ended = true
		return nil
	}
	p.reserved(3)
	p.u32("dimension permutation")
	p.reserved(4)
	var dims []uint32
	for i := range 4 {
		d := p.u32("dimension size")
		if i < n {
			p.check(d > 0, d, "at least 1")
			dims = append(dims, d)
		}
	}
	return dims
}

// wrapArray creates an array type, as libhdf5 does for members of version 1.
func (p *part) wrapArray(base *Datatype, dims []uint32) *Datatype {
	t := &Datatype{Class: ArrayClass, Version: 2, Base: base, Dims: dims}
	t.Size = p.arraySize(base, dims)
	return t
}

func (p *part) arraySize(base *Datatype, dims []uint32) uint32 {
	size := uint64(base.Size)
	for _, d := range dims {
		hi, lo := bits.Mul64(size, uint64(d))
		if hi != 0 || lo > 1<<32-1 {
			p.bad(fmt.Sprintf("%v elements of %d bytes", dims, base.Size), "fewer than 2^32 bytes")
			return 0
		}
		size = lo
	}
	return uint32(size)
}

func (p *part) checkReference(t *Datatype) {
	k := t.RefKind()
	if !p.check(k <= AttributeRef, fmt.Sprintf("reference of kind %d", k), "0 to 4") {
		return
	}
	offset := uint32(p.r.f.super.OffsetSize)
	switch k {
	case ObjectRef:
		p.check(t.Size == offset, fmt.Sprintf("an object reference of %d bytes", t.Size), fmt.Sprintf("%d, those of an address", offset))
	case RegionRef:
		p.check(t.Size == offset+4, fmt.Sprintf("a region reference of %d bytes", t.Size), fmt.Sprintf("%d, those of a heap id", offset+4))
	default:
		p.check(t.Bits>>4&0xF == 1, fmt.Sprintf("reference encoding %d", t.Bits>>4&0xF), "1")
		// H5R_token_size: type, flags, size of the token, token, size and heap ID.
		p.check(t.Size >= offset+4, fmt.Sprintf("a reference of %d bytes", t.Size), fmt.Sprintf("at least %d", offset+4))
	}
}

func (p *part) enum(t *Datatype, depth int) {
	n := int(t.Bits & 0xFFFF)
	closeGroup := p.group("base type", -1)
	t.Base = p.datatypeAt(depth + 1)
	closeGroup()
	if !p.ok() {
		return
	}
	p.check(t.Base.Size == t.Size, fmt.Sprintf("a base type of %d bytes", t.Base.Size), fmt.Sprintf("%d, those of the enum", t.Size))
	for i := 0; i < n && p.ok(); i++ {
		pad := 8
		if t.Version >= 3 {
			pad = 1
		}
		name := p.cstring("name", pad)
		p.check(name != "", `""`, "a name")
		t.Members = append(t.Members, Member{Name: name})
	}
	for i := range t.Members {
		if p.ok() {
			t.Members[i].Value = p.bytes("value", int(t.Base.Size))
		}
	}
}

func (p *part) vlen(t *Datatype, depth int) {
	kind := t.Bits & 0xF
	p.check(kind <= 1, fmt.Sprintf("kind %d", kind), "0, a sequence, or 1, a string")
	if kind == 1 {
		p.checkString(t)
	}
	// A count of elements and a heap ID. libhdf5 does not check this size.
	want := uint32(p.r.f.super.OffsetSize) + 8
	p.check(t.Size == want, fmt.Sprintf("%d bytes", t.Size), fmt.Sprintf("%d, a count and a global heap id", want))
	closeGroup := p.group("base type", -1)
	t.Base = p.datatypeAt(depth + 1)
	closeGroup()
}

func (p *part) array(t *Datatype, depth int) {
	// According to the specification version 1 has no array types. Files with them exist, and
	// libhdf5 reads them as version 2.
	n := int(p.u8("dimensionality"))
	if !p.check(n <= MaxRank, n, "at most 32") {
		p.ended = true
		return
	}
	if t.Version < 3 {
		p.reserved(3)
	}
	for range n {
		d := p.u32("dimension size")
		p.check(d > 0, d, "at least 1")
		t.Dims = append(t.Dims, d)
	}
	if t.Version < 3 {
		for range n {
			p.u32("permutation index")
		}
	}
	closeGroup := p.group("base type", -1)
	t.Base = p.datatypeAt(depth + 1)
	closeGroup()
	if p.ok() {
		want := p.arraySize(t.Base, t.Dims)
		p.check(want == 0 || want == t.Size, fmt.Sprintf("%d bytes", t.Size), fmt.Sprintf("%d, those of the elements", want))
	}
}

// complex reads a complex number: two numbers of one floating-point type. HDF5 2.2 supports only
// the rectangular form with two parts of the same type.
func (p *part) complex(t *Datatype, depth int) {
	if t.Bits != 1 {
		p.badAs(format.ErrUnsupported, fmt.Sprintf("class bits %#x", t.Bits), "0x1, two parts of one type")
	}
	closeGroup := p.group("base type", -1)
	t.Base = p.datatypeAt(depth + 1)
	closeGroup()
	if !p.ok() {
		return
	}
	p.check(t.Base.Class == FloatClass, t.Base.Class, "float")
	p.check(uint64(t.Size) == 2*uint64(t.Base.Size), fmt.Sprintf("%d bytes", t.Size), fmt.Sprintf("%d, those of two parts", 2*uint64(t.Base.Size)))
}

// encodedSize returns the number of bytes that are needed for values up to v (H5VM_limit_enc_size).
func encodedSize(v uint64) int { return (max(bits.Len64(v), 1)-1)/8 + 1 }
