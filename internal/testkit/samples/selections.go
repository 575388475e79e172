// Random selections, and the elements that they select from a row-major buffer, computed one
// element at a time.

package samples

import (
	"math"
	"strings"

	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Drawn is a random selection with its expected result.
type Drawn struct {
	Selection ndarray.Selection
	Items     []ndarray.Index // the arguments of Select, for a selection by axis
	Shape     []int64         // shape of the result

	axes  [][]int64 // the indexes selected along each axis of the array
	flat  []int64   // for points and masks: the positions selected
	whole bool      // flat is used instead of axes
}

// DrawSelection returns a random selection by axis for an array of the given shape. If wild, the
// indexes may be out of range, and the expected result is undefined.
func DrawSelection(t *rapid.T, shape []int64, wild bool) Drawn {
	d := Drawn{Shape: []int64{}}
	add := func(axis int) {
		if rapid.IntRange(0, 5).Draw(t, "new axis") == 0 {
			d.Items = append(d.Items, ndarray.NewAxis())
			d.Shape = append(d.Shape, 1)
		}
		item, taken := drawIndex(t, shape[axis], wild)
		d.Items = append(d.Items, item)
		d.axes = append(d.axes, taken)
		if text := ndarray.Select(item).String(); text[1] == '[' || strings.Contains(text, ":") {
			d.Shape = append(d.Shape, int64(len(taken)))
		}
	}
	// The ellipsis stands for the axes from first to last.
	first := rapid.IntRange(0, len(shape)).Draw(t, "axes before the ellipsis")
	last := rapid.IntRange(first, len(shape)).Draw(t, "axes before its end")
	for axis := range first {
		add(axis)
	}
	if last < len(shape) || first < last && rapid.Bool().Draw(t, "written") {
		d.Items = append(d.Items, ndarray.Ellipsis())
	}
	for _, n := range shape[first:last] {
		d.Shape = append(d.Shape, n)
		d.axes = append(d.axes, span(n, 0, n, 1))
	}
	for axis := last; axis < len(shape); axis++ {
		add(axis)
	}
	if wild && rapid.IntRange(0, 9).Draw(t, "one too many") == 0 {
		d.Items = append(d.Items, ndarray.At(0))
	}
	d.Selection = ndarray.Select(d.Items...)
	return d
}

// span lists start, start+step, … up to, but not including, stop, all inside the axis.
func span(n, start, stop, step int64) []int64 {
	out := []int64{}
	for i := start; i >= 0 && i < n && (step > 0 && i < stop || step < 0 && i > stop); i += step {
		out = append(out, i)
		if step > n || step < -n {
			break
		}
	}
	return out
}

// drawIndex returns a random index and the list of indexes that it selects.
func drawIndex(t *rapid.T, n int64, wild bool) (ndarray.Index, []int64) {
	count := func(i int64) int64 { // negative indexes count from the end
		if i < 0 {
			return i + n
		}
		return i
	}
	inside := rapid.Int64Range(-n, max(n-1, -n))
	if wild {
		inside = rapid.Int64Range(-n-1, n)
	}
	kind := rapid.SampledFrom([]string{"all", "span", "at", "list", "mask"}).Draw(t, "index")
	switch {
	case kind == "at" && (n > 0 || wild):
		i := inside.Draw(t, "at")
		return ndarray.At(i), []int64{count(i)}
	case kind == "list" && (n > 0 || wild):
		list := rapid.SliceOfN(inside, 0, 6).Draw(t, "list")
		taken := []int64{}
		for _, i := range list {
			taken = append(taken, count(i))
		}
		return ndarray.List(list...), taken
	case kind == "mask" && n > 0:
		m := int(n)
		if wild && rapid.Bool().Draw(t, "longer mask") {
			m++
		}
		mask := rapid.SliceOfN(rapid.Bool(), m, m).Draw(t, "mask")
		taken := []int64{}
		for i, on := range mask {
			if on {
				taken = append(taken, int64(i))
			}
		}
		return ndarray.Mask(mask...), taken
	case kind == "span":
		return drawSpan(t, n, count)
	}
	return ndarray.All(), span(n, 0, n, 1)
}

func drawSpan(t *rapid.T, n int64, count func(int64) int64) (ndarray.Index, []int64) {
	step := rapid.OneOf(rapid.Int64Range(1, 4), rapid.Int64Range(-4, -1),
		rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})).Draw(t, "step")
	start, stop := int64(0), n
	if step < 0 {
		start, stop = n-1, -1
	}
	x := ndarray.All()
	some := rapid.Int64Range(-n-3, n+3)
	if rapid.Bool().Draw(t, "from") {
		i := some.Draw(t, "start")
		x = ndarray.From(i)
		if start = count(i); step > 0 {
			start = max(start, 0)
		} else {
			start = min(start, n-1)
		}
	}
	if rapid.Bool().Draw(t, "to") {
		i := some.Draw(t, "stop")
		x = x.To(i)
		stop = max(count(i), -1)
	}
	return x.By(step), span(n, start, stop, step)
}

// DrawPoints returns random points or a random mask over the whole array.
func DrawPoints(t *rapid.T, shape []int64) Drawn {
	n, _ := grid.Product(shape)
	d := Drawn{whole: true}
	if rapid.Bool().Draw(t, "mask over all") {
		mask := rapid.SliceOfN(rapid.Bool(), int(n), int(n)).Draw(t, "mask")
		for i, on := range mask {
			if on {
				d.flat = append(d.flat, int64(i))
			}
		}
		d.Selection = ndarray.Where(mask)
	} else {
		var points [][]int64
		for range rapid.IntRange(0, 8).Draw(t, "points") {
			if n == 0 {
				break
			}
			point, at := []int64{}, int64(0)
			for _, n := range shape {
				i := rapid.Int64Range(-n, n-1).Draw(t, "coordinate")
				point = append(point, i)
				at = at*n + (i+n)%n
			}
			points = append(points, point)
			d.flat = append(d.flat, at)
		}
		d.Selection = ndarray.Points(points...)
	}
	d.Shape = []int64{int64(len(d.flat))}
	return d
}

// Places returns the positions of the selected elements in the row-major array.
func (d Drawn) Places(shape []int64) []int64 {
	if d.whole {
		return d.flat
	}
	out := []int64{0}
	for axis, taken := range d.axes {
		var next []int64
		for _, at := range out {
			for _, i := range taken {
				next = append(next, at*shape[axis]+i)
			}
		}
		out = next
	}
	return out
}
