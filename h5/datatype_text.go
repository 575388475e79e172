//go:build cgo

// DDL of datatypes, on one line.

package h5

import (
	"fmt"
	"strconv"
	"strings"
)

var classNames = [...]string{
	"H5T_INTEGER", "H5T_FLOAT", "H5T_TIME", "H5T_STRING", "H5T_BITFIELD", "H5T_OPAQUE",
	"H5T_COMPOUND", "H5T_REFERENCE", "H5T_ENUM", "H5T_VLEN", "H5T_ARRAY", "H5T_COMPLEX",
}

// String returns libhdf5's name of the class.
func (c Class) String() string {
	if c >= 0 && int(c) < len(classNames) {
		return classNames[c]
	}
	return "H5T_class " + strconv.Itoa(int(c))
}

func (o Order) String() string {
	return pick(int(o), "LE", "BE", "VAX")
}

func (p StringPad) String() string {
	return pick(int(p), "H5T_STR_NULLTERM", "H5T_STR_NULLPAD", "H5T_STR_SPACEPAD")
}

func (c CharSet) String() string {
	return pick(int(c), "H5T_CSET_ASCII", "H5T_CSET_UTF8")
}

func pick(i int, names ...string) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return strconv.Itoa(i)
}

// String returns the DDL of t on one line: "H5T_STD_I32LE", "H5T_ENUM { H5T_STD_I8LE; \"FALSE\" 0;
// \"TRUE\" 1; }".
func (t Datatype) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t *Datatype) write(b *strings.Builder) {
	switch t.Class {
	case Integer:
		b.WriteString(t.integerName())
	case Float:
		b.WriteString(t.floatName())
	case Bitfield:
		b.WriteString(t.bitfieldName())
	case Time:
		b.WriteString("H5T_TIME: not yet implemented")
	case String:
		size := strconv.Itoa(t.Size)
		if t.Variable {
			size = "H5T_VARIABLE"
		}
		fmt.Fprintf(b, "H5T_STRING { STRSIZE %s; STRPAD %v; CSET %v; CTYPE H5T_C_S1; }", size, t.Pad, t.CharSet)
	case Opaque:
		fmt.Fprintf(b, "H5T_OPAQUE { OPAQUE_TAG %q; }", t.Tag)
	case Reference:
		b.WriteString("H5T_REFERENCE { " + pick(int(t.Ref), "", "H5T_STD_REF_OBJECT", "H5T_STD_REF_DSETREG", "H5T_STD_REF") + " }")
	case Compound:
		b.WriteString("H5T_COMPOUND { ")
		for i := range t.Members {
			t.Members[i].Type.write(b)
			fmt.Fprintf(b, " %q; ", t.Members[i].Name)
		}
		b.WriteString("}")
	case Enum:
		b.WriteString("H5T_ENUM { ")
		t.Base.write(b)
		b.WriteString("; ")
		for _, m := range t.Members {
			value := strconv.FormatInt(m.Value, 10)
			if !t.Base.Signed {
				value = strconv.FormatUint(uint64(m.Value), 10)
			}
			fmt.Fprintf(b, "%q %s; ", m.Name, value)
		}
		b.WriteString("}")
	case Complex:
		b.WriteString("H5T_COMPLEX { ")
		t.Base.write(b)
		b.WriteString(" }")
	case Sequence:
		b.WriteString("H5T_VLEN { ")
		t.Base.write(b)
		b.WriteString(" }")
	case Array:
		b.WriteString("H5T_ARRAY { ")
		for _, d := range t.Dims {
			fmt.Fprintf(b, "[%d]", d)
		}
		b.WriteString(" ")
		t.Base.write(b)
		b.WriteString(" }")
	default:
		fmt.Fprintf(b, "%v of %d bytes", t.Class, t.Size)
	}
}

func (t *Datatype) integerName() string {
	if t.Precision == 8*t.Size && t.Offset == 0 && (t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8) {
		sign := "U"
		if t.Signed {
			sign = "I"
		}
		return fmt.Sprintf("H5T_STD_%s%d%v", sign, 8*t.Size, t.Order)
	}
	sign := " unsigned"
	if t.Signed {
		sign = ""
	}
	return fmt.Sprintf("%d-bit%s%s integer %d-bit precision", 8*t.Size, t.orderName(), sign, t.Precision)
}

func (t *Datatype) floatName() string {
	ieee := IEEEFloat(t.Size, t.Order)
	layout := t.Layout
	if t.Order == VAX { // the exponent bias of VAX floats is larger by 2
		layout.ExpBias -= 2
	}
	switch {
	case (t.Size != 2 && t.Size != 4 && t.Size != 8) || layout != ieee.Layout || t.Precision != ieee.Precision || t.Offset != 0:
		return fmt.Sprintf("%d-bit%s floating-point %d-bit precision", 8*t.Size, t.orderName(), t.Precision)
	case t.Order == VAX:
		return fmt.Sprintf("H5T_VAX_F%d", 8*t.Size)
	default:
		return fmt.Sprintf("H5T_IEEE_F%d%v", 8*t.Size, t.Order)
	}
}

func (t *Datatype) bitfieldName() string {
	if t.Precision == 8*t.Size && t.Offset == 0 && (t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8) {
		return fmt.Sprintf("H5T_STD_B%d%v", 8*t.Size, t.Order)
	}
	return "undefined bitfield"
}

func (t *Datatype) orderName() string {
	if t.Size == 1 {
		return ""
	}
	return pick(int(t.Order), " little-endian", " big-endian", " mixed-endian")
}
