// Attributes of every kind.

package samples

import (
	"fmt"
	"math"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Attrs returns the attributes of the tests: every element type as scalar, vector, matrix and empty
// vector, strings of every kind, and null values.
func Attrs() []ndarray.Attr {
	var out []ndarray.Attr
	add := func(name string, v ndarray.Value) { out = append(out, ndarray.Attr{Name: name, Value: v}) }
	for i, d := range DTypes() {
		for _, shape := range [][]int64{nil, {3}, {2, 2}, {0}} {
			n, _ := grid.Product(shape)
			add(fmt.Sprintf("t%d %v %v", i, d, shape), ndarray.Value{DType: d, Shape: shape, Data: Pattern(d, n)})
		}
	}
	add("text", ndarray.Text("Grüße, 世界"))
	add("empty text", ndarray.Text(""))
	add("strings", ndarray.Value{
		DType: ndarray.DType{Kind: ndarray.String, Order: ndarray.NoOrder, CharSet: ndarray.UTF8},
		Shape: []int64{2, 2}, Strings: []string{"a", "", "ccc", "d d"},
	})
	add("ascii", ndarray.Value{
		DType: ndarray.DType{Kind: ndarray.String, Order: ndarray.NoOrder}, Strings: []string{"plain"},
	})
	add("null", ndarray.Value{DType: ndarray.DTypeOf[int32](), Null: true, Data: []byte{}})
	add("limits", ndarray.Vector(int64(math.MinInt64), -1, 0, math.MaxInt64))
	add("unsigned limit", ndarray.Scalar(uint64(math.MaxUint64)))
	add("floats", ndarray.Vector(math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), math.SmallestNonzeroFloat64))
	add("one", ndarray.Scalar(1.0))
	add("true", ndarray.Scalar(true))
	add("naïve name", ndarray.Scalar(int8(-5)))
	return out
}
