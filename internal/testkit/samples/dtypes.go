// Element types: a fixed list, and random types of every kind, nested up to 3 levels.

package samples

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

// DTypes returns the element types of the tests: every kind and size, both byte orders.
func DTypes() []ndarray.DType {
	var out []ndarray.DType
	for _, s := range []string{
		"|b1", "|i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "|u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8",
		"<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c8", "<c16", ">c16",
		"|S1", "|S5", "<U3", ">U3", "|V1", "|V3", "|V16", "<f16", ">f12", "<c32", "<bfloat16", ">bfloat16",
		"<M8[ns]", ">M8[25s]", "<M8", "<m8[D]", "enum('>i2', {'RED': -1, 'GREEN': 7})", "enum('u1', {'A': 255})",
		"('>f4', (2, 3))", "[('a', '<i4'), ('b', '>f8', (2,)), ('c', 'S3'), ('d', '?')]",
		"{'names': ['x', 'y', 'in'], 'formats': ['i1', '>c8', [('k', '>u2'), ('l', '<M8[us]')]], 'offsets': [24, 4, 12], 'itemsize': 30}",
		"[(('title', 'n'), '>i4'), ('u', '<U2')]",
	} {
		out = append(out, Parse(s))
	}
	return append(out,
		ndarray.DType{Kind: ndarray.Bytes, Size: 6, Order: ndarray.NoOrder, Pad: ndarray.SpacePad},
		ndarray.DType{Kind: ndarray.Bytes, Size: 4, Order: ndarray.NoOrder, Pad: ndarray.NullTerm, CharSet: ndarray.UTF8},
		ndarray.DType{Kind: ndarray.Void, Size: 3, Order: ndarray.NoOrder, Tag: "a picture"},
		ndarray.StructOf(false,
			ndarray.Field{Name: "text", Type: ndarray.DType{Kind: ndarray.Bytes, Size: 3, Order: ndarray.NoOrder, CharSet: ndarray.UTF8, Pad: ndarray.SpacePad}},
			ndarray.Field{Name: "raw", Type: ndarray.DType{Kind: ndarray.Void, Size: 2, Order: ndarray.NoOrder, Tag: "a tag"}}))
}

// DrawDType returns a random element type of any kind except String.
func DrawDType(t *rapid.T) ndarray.DType { return drawDType(t, 3) }

var simple = []string{
	"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8", "c16", "c32", "bfloat16",
	"S1", "S7", "U1", "U4", "V1", "V6", "M8", "M8[ns]", "M8[25s]", "m8[D]", "m8[Y]", "m8",
}

func drawDType(t *rapid.T, depth int) ndarray.DType {
	kinds := []string{"simple", "text", "enum"}
	if depth > 0 {
		kinds = append(kinds, "struct", "sub-array")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "text":
		return ndarray.DType{
			Kind: ndarray.Bytes, Size: rapid.IntRange(1, 9).Draw(t, "size"), Order: ndarray.NoOrder,
			Pad:     rapid.SampledFrom([]ndarray.Pad{ndarray.NullPad, ndarray.NullTerm, ndarray.SpacePad}).Draw(t, "pad"),
			CharSet: rapid.SampledFrom([]ndarray.CharSet{ndarray.ASCII, ndarray.UTF8}).Draw(t, "character set"),
		}
	case "enum":
		base := Parse(rapid.SampledFrom([]string{"|i1", "<i4", ">i2", "<u8", "|u1"}).Draw(t, "base"))
		var members []ndarray.Member
		values := rapid.SliceOfNDistinct(rapid.Int64Range(0, 127), 1, 4, rapid.ID[int64]).Draw(t, "values")
		for i, v := range values {
			members = append(members, ndarray.Member{Name: fmt.Sprintf("M%d'", i), Value: v})
		}
		if base.Size == 8 && rapid.Bool().Draw(t, "large") {
			members = append(members, ndarray.Member{Name: "large", Value: math.MinInt64}) // 2^63
		}
		return ndarray.EnumOf(base, members...)
	case "sub-array":
		dims := rapid.SliceOfN(rapid.Int64Range(1, 3), 1, 3).Draw(t, "dims")
		return ndarray.SubArrayOf(drawDType(t, depth-1), dims...)
	case "struct":
		return drawStruct(t, depth)
	}
	order := rapid.SampledFrom([]string{"<", ">"}).Draw(t, "order")
	return Parse(order + rapid.SampledFrom(simple).Draw(t, "type"))
}

func drawStruct(t *rapid.T, depth int) ndarray.DType {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "x y", "it's", `"`, "é", "\n", "\\", "0", "日", "\u200b"}),
		1, 4, rapid.ID[string]).Draw(t, "names")
	fields := make([]ndarray.Field, len(names))
	for i, name := range names {
		fields[i] = ndarray.Field{Name: name, Type: drawDType(t, depth-1)}
		if rapid.IntRange(0, 4).Draw(t, "titled") == 0 {
			fields[i].Title = "title of " + name
		}
	}
	d := ndarray.StructOf(rapid.Bool().Draw(t, "aligned"), fields...)
	if !d.Aligned && rapid.Bool().Draw(t, "gaps") {
		at := 0
		for _, i := range rapid.Permutation([]int{0, 1, 2, 3}[:len(fields)]).Draw(t, "places") {
			at += rapid.IntRange(0, 5).Draw(t, "gap")
			d.Fields[i].Offset = at
			at += d.Fields[i].Type.Size
		}
		d.Size = at + rapid.IntRange(0, 5).Draw(t, "end")
	}
	return d
}

// Parse returns the element type with the notation of NumPy in s.
func Parse(s string) ndarray.DType {
	d, err := ndarray.ParseDType(s)
	if err != nil {
		panic("samples: " + err.Error())
	}
	return d
}
