// Random element types of every kind, nested up to 3 levels.

package ndarraytest

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
)

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
		base := parse(rapid.SampledFrom([]string{"|i1", "<i4", ">i2", "<u8", "|u1"}).Draw(t, "base"))
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
	return parse(order + rapid.SampledFrom(simple).Draw(t, "type"))
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

func parse(s string) ndarray.DType {
	d, err := ndarray.ParseDType(s)
	if err != nil {
		panic("ndarraytest: " + err.Error())
	}
	return d
}
