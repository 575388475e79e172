package shell

import (
	"fmt"
	"math"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Maximum number of characters of a value or a type on the screen, in its own column and in a
// narrow one.
const (
	Wide   = 72
	Narrow = 32
)

// Ratio returns bytes in memory divided by stored bytes, rounded to three decimals, or nil if one
// of them is unknown or zero.
func Ratio(bytes int64, s *ndarray.Storage) *JSONFloat {
	if s == nil || s.StoredBytes == 0 || bytes == 0 {
		return nil
	}
	r := JSONFloat(math.Round(float64(bytes)/float64(s.StoredBytes)*1000) / 1000)
	return &r
}

// MetaShape formats the shape of an array; a null array has no shape.
func MetaShape(m ndarray.Meta) string {
	if m.Null {
		return "null"
	}
	return term.FormatShape(m.Shape)
}

// DtypeText returns, for example, "<f4 (float, 4 bytes, little-endian)".
func DtypeText(d ndarray.DType) string {
	text := fmt.Sprintf("%v (%v, %s", d, d.Kind, term.Plural(int64(d.Size), "byte"))
	switch d.Order {
	case ndarray.Little:
		text += ", little-endian"
	case ndarray.Big:
		text += ", big-endian"
	}
	if d.Kind == ndarray.Bytes {
		text += ", " + d.CharSet.String() + ", " + d.Pad.String()
	}
	return text + ")"
}

// OrNull returns a string for a document, or nil for "".
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ShapeCell formats a shape for the listing, or returns "" without one.
func ShapeCell(shape []JSONInt) string {
	if shape == nil {
		return ""
	}
	plain := make([]int64, len(shape))
	for i, n := range shape {
		plain[i] = int64(n)
	}
	return term.FormatShape(plain)
}
