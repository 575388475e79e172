// A datatype in h5dump's words, on one line.

package h5

import (
	"fmt"
	"strconv"
	"strings"
)

var classNames = [...]string{
	"H5T_INTEGER", "H5T_FLOAT", "H5T_TIME", "H5T_STRING", "H5T_BITFIELD", "H5T_OPAQUE",
	"H5T_COMPOUND", "H5T_REFERENCE", "H5T_ENUM", "H5T_VLEN", "H5T_ARRAY",
}

// String is the library's name of the class.
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

// String gives the type as h5dump does, on one line: "H5T_STD_I32LE",
// "H5T_ENUM { H5T_STD_I8LE; \"FALSE\" 0; \"TRUE\" 1; }". A number that is none of
// the library's own is described by its bits.
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
		fmt.Fprintf(b, "H5T_STD_B%d%v", 8*t.Size, t.Order)
		t.writeBits(b)
	case Time:
		b.WriteString("H5T_TIME")
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
	sign := "U"
	if t.Signed {
		sign = "I"
	}
	switch {
	case t.Precision == 8*t.Size && t.Offset == 0 && (t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8):
		return fmt.Sprintf("H5T_STD_%s%d%v", sign, 8*t.Size, t.Order)
	default:
		return fmt.Sprintf("%d-bit %s integer %d-bit precision at bit %d, %v", 8*t.Size, sign, t.Precision, t.Offset, t.Order)
	}
}

func (t *Datatype) floatName() string {
	if t.Order != VAX && (t.Size == 2 || t.Size == 4 || t.Size == 8) {
		ieee := IEEEFloat(t.Size, t.Order)
		if t.Layout == ieee.Layout && t.Precision == ieee.Precision && t.Offset == 0 {
			return fmt.Sprintf("H5T_IEEE_F%d%v", 8*t.Size, t.Order)
		}
	}
	return fmt.Sprintf("%d-bit float %d-bit precision, %d-bit exponent, %d-bit mantissa, %v",
		8*t.Size, t.Precision, t.Layout.ExpSize, t.Layout.MantSize, t.Order)
}

func (t *Datatype) writeBits(b *strings.Builder) {
	if t.Precision != 8*t.Size {
		fmt.Fprintf(b, " %d-bit precision at bit %d", t.Precision, t.Offset)
	}
}
