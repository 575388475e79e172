// Axes: coordinates, their direction, and dates.

package picture

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/elements/indexes"
	"github.com/hyperslab/hyperslab/internal/elements/printable"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// Axis describes one dimension of a picture.
type Axis struct {
	Label       string // name of the dimension
	Units       string
	First, Last float64 // coordinates of the first and of the last index, or these indexes
	Known       bool    // the coordinates come from the file and are not indexes
	Down        bool    // coordinates increase downwards, for example depths
	Up          bool    // rows without coordinates of their own: the first one is the southernmost

	points []float64 // the coordinate of each index, if they are not evenly spaced
	dates  []dated   // of all indexes, or of some in their order and the last one; nil: numbers
}

// dated is the date of an index.
type dated struct {
	index int64
	cf.Date
}

// At returns the coordinate of index i of n. Between indexes it is interpolated.
func (x *Axis) At(i float64, n int64) float64 {
	switch {
	case n < 2:
		return x.First
	case x.points != nil:
		k := min(max(int(i), 0), len(x.points)-2)
		return x.points[k] + (x.points[k+1]-x.points[k])*(i-float64(k))
	}
	return x.First + (x.Last-x.First)*i/float64(n-1)
}

// edges returns the coordinates of the outer edges of the first and the last element: half a step
// beyond their middles.
func (x *Axis) edges(n int64) (first, last float64) {
	if n < 2 {
		return x.First - 0.5, x.First + 0.5
	}
	return x.edge(0, n), x.edge(n, n)
}

// edge returns the coordinate of the edge before index i of n.
func (x *Axis) edge(i, n int64) float64 { return x.At(float64(i)-0.5, n) }

// inverted reports whether the greatest coordinate is at the bottom of a vertical axis: for
// indexes, as in a printed matrix, and for coordinates that increase downwards.
func (x *Axis) inverted() bool {
	if x.Known {
		return x.Down
	}
	return (x.First <= x.Last) != x.Up
}

// fromTop reports whether the first index is at the top of a vertical axis.
func (x *Axis) fromTop() bool {
	if x.First == x.Last {
		return true
	}
	return (x.First < x.Last) == x.inverted()
}

// fromRight reports whether the first index is at the right of a horizontal axis.
func (x *Axis) fromRight() bool { return x.Known && x.First > x.Last }

// title returns the label with the units.
func (x *Axis) title() string {
	if x.Units == "" {
		return x.Label
	}
	return strings.TrimSpace(x.Label + " [" + x.Units + "]")
}

// text describes index i of n: its coordinate with units, or the index.
func (x *Axis) text(i, n int64) string {
	switch {
	case x.dates != nil:
		k, found := slices.BinarySearchFunc(x.dates, i, func(d dated, i int64) int { return cmp.Compare(d.index, i) })
		if found {
			return dateText(x.dates[k].Date)
		}
		return "about " + dateText(x.dates[k].Date)
	case x.Known:
		return strings.TrimSpace(Number(x.At(float64(i), n)) + " " + x.Units)
	case x.Label != "":
		return x.Label + " index " + Number(x.At(float64(i), n))
	}
	return "index " + Number(x.At(float64(i), n))
}

// span is a range of cells.
type span struct{ from, to int }

// spans divides the dimension into pixels from the first to the last edge, or in reverse. It
// returns the cells of each pixel: those whose middle is in it, or the one that contains it.
func (x *Axis) spans(n int64, cells, pixels int, reverse bool) []span {
	out := make([]span, pixels)
	for p := range out {
		var s span
		switch {
		case x.points != nil:
			s = x.unevenSpan(n, cells, float64(p)/float64(pixels), float64(p+1)/float64(pixels))
		case pixels >= cells:
			s.from = cellOf(int64(p), int64(pixels), cells)
			s.to = s.from + 1
		default:
			s = span{int(startOf(p, int64(cells), pixels)), int(startOf(p+1, int64(cells), pixels))}
		}
		if reverse {
			out[pixels-1-p] = s
		} else {
			out[p] = s
		}
	}
	return out
}

// unevenSpan returns the cells between two fractions of the way from the first to the last edge.
func (x *Axis) unevenSpan(n int64, cells int, from, to float64) span {
	first, last := x.edges(n)
	scale := float64(cells) / float64(n)
	a, b := x.index(first+(last-first)*from, n)*scale, x.index(first+(last-first)*to, n)*scale
	s := span{int(math.Ceil(a - 0.5)), int(math.Ceil(b - 0.5))}
	if s.from >= s.to {
		s.from = int((a + b) / 2)
		s.to = s.from + 1
	}
	s.from = min(max(s.from, 0), cells-1)
	s.to = min(max(s.to, s.from+1), cells)
	return s
}

// index returns the number of elements before a coordinate, with the fraction of the last one.
func (x *Axis) index(at float64, n int64) float64 {
	rising := x.Last > x.First
	i := int64(sort.Search(int(n), func(i int) bool {
		edge := x.edge(int64(i)+1, n)
		return rising && edge >= at || !rising && edge <= at
	}))
	if i == n {
		return float64(n)
	}
	from, to := x.edge(i, n), x.edge(i+1, n)
	return float64(i) + min(max((at-from)/(to-from), 0), 1)
}

// axesOf returns the axes of the selected elements, and descriptions of the indexes that the
// selection fixes.
func (d *drawing) axesOf(ctx context.Context) (axes []Axis, fixed []string, err error) {
	v, m := d.in.Whole, d.in.Variable.Array.Meta()
	if v == nil {
		v = d.in.Variable
	}
	list, err := v.Coords(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, err
		}
		if d.Warn != nil {
			d.Warn(v.Path, fmt.Errorf("the axes have indexes: %w", err))
		}
	}
	if v != d.in.Variable || !d.Raw {
		d.warn(v)
	}
	axes = make([]Axis, len(m.Shape))
	for i := range axes {
		axes[i].Last = float64(max(m.Shape[i]-1, 0))
	}
	whole := v.Array.Meta()
	for k := range whole.Shape {
		name := fmt.Sprint("dimension ", k)
		if whole.AxisNames != nil && whole.AxisNames[k] != "" {
			name = printable.Text(whole.AxisNames[k])
		}
		c := &coordinate{v: coordinateOf(list, k, v), name: name, named: whole.AxisNames != nil && whole.AxisNames[k] != ""}
		d.warn(c.v)
		runs, first, err := indexes.Along(ctx, whole.Shape, d.in.Selection, k)
		if err != nil {
			return nil, nil, err
		}
		along := false
		for i := range min(len(runs), len(axes)) {
			if runs[i] == nil {
				continue
			}
			along = true
			if axes[i], err = c.axis(ctx, runs[i]); err != nil {
				return nil, nil, err
			}
		}
		if along || whole.Shape[k] == 1 && c.v == nil {
			continue
		}
		text, err := c.at(ctx, first)
		if err != nil {
			return nil, nil, err
		}
		fixed = append(fixed, text)
	}
	scalars, err := scalarsOf(ctx, list)
	if err == nil {
		err = d.turn(ctx, axes, list)
	}
	return axes, append(fixed, scalars...), err
}

// warn reports the broken attributes of a variable.
func (d *drawing) warn(v *cf.Variable) {
	if v == nil || d.Warn == nil {
		return
	}
	for _, w := range v.Warnings() {
		d.Warn(v.Path, w)
	}
}

// coordinateOf returns the coordinate of a dimension of v, or nil without one.
func coordinateOf(list []cf.Coordinate, dimension int, v *cf.Variable) *cf.Variable {
	for _, c := range list {
		if c.Dimension && c.Dims[0] == dimension && c.Variable != v {
			return c.Variable
		}
	}
	return nil
}

// scalarsOf describes the scalar coordinates in space and time, for example a height.
func scalarsOf(ctx context.Context, list []cf.Coordinate) (out []string, err error) {
	for _, c := range list {
		if len(c.Dims) > 0 || len(c.Array.Shape()) > 0 || c.Axis == "" {
			continue
		}
		x := &coordinate{v: c.Variable, name: printable.Text(nameOf(c.Variable))}
		text, err := x.at(ctx, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

func nameOf(v *cf.Variable) string { return v.Path[strings.LastIndexByte(v.Path, '/')+1:] }

// coordinate is the coordinate of a dimension.
type coordinate struct {
	v     *cf.Variable // nil without one
	name  string
	named bool // name is not a number
}

// axis returns the axis of a run along the dimension.
func (c *coordinate) axis(ctx context.Context, run *indexes.Run) (x Axis, err error) {
	x = Axis{First: float64(run.First), Last: float64(run.Last)}
	if c.named {
		x.Label = c.name
	}
	if c.v == nil || !run.Listed() || c.v.Array.NumElems() > indexes.Longest || !Drawable(c.v.Array.DType()) ||
		c.v.Array.DType().Kind == ndarray.Complex {
		return x, nil
	}
	values, err := c.values(ctx)
	if err != nil {
		return x, err
	}
	points := make([]float64, 0, min(run.N, int64(len(values))))
	if run.N == int64(len(values)) && run.Last-run.First == run.N-1 { // all of them
		points = values
	}
	for i := int64(len(points)); i < run.N; i++ {
		points = append(points, values[run.At(i)])
	}
	if !monotonic(points) {
		return x, nil
	}
	x.First, x.Last, x.Known = points[0], points[len(points)-1], true
	x.Down = c.v.Positive == "down"
	if !even(points) {
		x.points = points
	}
	x.Units = printable.Text(c.v.Units)
	if !c.v.IsTime() {
		return x, nil
	}
	x.dates, err = c.dates(ctx, run)
	if errors.Is(err, ndarray.ErrValue) { // a number out of range: the axis has numbers
		return x, nil
	}
	if err != nil {
		return x, err
	}
	x.Units = ""
	if c := strings.ToLower(c.v.Calendar); c != "" && c != "standard" && c != "gregorian" && c != "proleptic_gregorian" {
		x.Units = printable.Text(c)
	}
	return x, nil
}

// maxDates is the maximum number of indexes of an axis whose dates are read.
const maxDates = 1 << 14

// dates reads the dates of a run: of every n-th index and the last one if there are many.
func (c *coordinate) dates(ctx context.Context, run *indexes.Run) (out []dated, err error) {
	step := grid.DivUp(run.N, maxDates)
	var list []int64
	for i := int64(0); i < run.N; i += step {
		out, list = append(out, dated{index: i}), append(list, run.At(i))
	}
	if last := run.N - 1; out[len(out)-1].index != last {
		out, list = append(out, dated{index: last}), append(list, run.At(last))
	}
	view, err := ndarray.View(c.v.Array, ndarray.Select(ndarray.List(list...)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	v, err := cf.New(ctx, view, nil, c.v.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	dates, err := v.Dates(ctx, ndarray.Whole(view.Shape()))
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Date = dates[i]
	}
	return out, nil
}

// coordinateMemory is the number of bytes of coordinates that are read at a time, in all forms.
const coordinateMemory = 8 << 20

// values reads the coordinates as numbers.
func (c *coordinate) values(ctx context.Context) (values []float64, err error) {
	arr, err := c.v.Values(&cf.ValueOptions{Float: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	r := &reader{nullable: c.v.Array.Meta().Nullable, memory: coordinateMemory}
	values = make([]float64, 0, arr.NumElems())
	err = r.each(ctx, arr, func(region ndarray.Region, v []float64) {
		if len(v) == 1 {
			v = slices.Repeat(v, int(region.NumElems()))
		}
		values = append(values, v...)
	})
	return values, err
}

// at describes an index of the dimension: "depth = 10 m", or "depth index 3" without a coordinate.
func (c *coordinate) at(ctx context.Context, i int64) (string, error) {
	if c.v == nil {
		return c.name + " index " + strconv.FormatInt(i, 10), nil
	}
	text, err := elementText(ctx, c.v, i)
	if err != nil {
		return "", err
	}
	if text == "" {
		return c.name + " index " + strconv.FormatInt(i, 10), nil
	}
	return c.name + " = " + text, nil
}

// turn finds the direction of rows without coordinates from a latitude of two dimensions, which
// must increase upwards.
func (d *drawing) turn(ctx context.Context, axes []Axis, list []cf.Coordinate) error {
	rank := len(axes)
	if d.out.Kind != Heatmap || rank < 2 || axes[rank-2].Known {
		return nil
	}
	for _, c := range list {
		shape := c.Array.Shape()
		if c.Dimension || c.Axis != "Y" || len(shape) != 2 || shape[0] < 2 || shape[1] < 1 || axes[rank-2].Label == "" {
			continue
		}
		if names := c.Array.Meta().AxisNames; names == nil || names[0] != axes[rank-2].Label {
			continue
		}
		first, err := rowMean(ctx, c.Variable, int64(axes[rank-2].First))
		if err != nil {
			return err
		}
		last, err := rowMean(ctx, c.Variable, int64(axes[rank-2].Last))
		if err != nil {
			return err
		}
		axes[rank-2].Up = (last > first) == (axes[rank-2].Last > axes[rank-2].First) && last != first
		return nil
	}
	return nil
}

// rowMean returns the mean of the values of a row of a coordinate of two dimensions.
func rowMean(ctx context.Context, c *cf.Variable, row int64) (mean float64, err error) {
	arr, err := c.Values(&cf.ValueOptions{Float: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	n := c.Array.Shape()[1]
	raw := make([]byte, 8*n)
	if err := arr.Read(ctx, raw, ndarray.Region{Start: []int64{row, 0}, Shape: []int64{1, n}}); err != nil {
		return 0, err
	}
	count := 0.0
	for ; len(raw) > 0; raw = raw[8:] {
		if v := math.Float64frombits(binary.NativeEndian.Uint64(raw)); !math.IsNaN(v) {
			count++
			mean += (v - mean) / count
		}
	}
	return mean, nil
}

// even reports whether values have equal distances.
func even(values []float64) bool {
	first, last := values[0], values[len(values)-1]
	step := (last - first) / float64(len(values)-1)
	for i, v := range values {
		if !(math.Abs(v-(first+step*float64(i))) <= 1e-3*math.Abs(step)) {
			return false
		}
	}
	return step != 0
}

// monotonic reports whether finite values only increase or only decrease.
func monotonic(values []float64) bool {
	if len(values) < 2 || math.IsInf(values[0], 0) {
		return false
	}
	rising := values[1] > values[0]
	for i := 1; i < len(values); i++ {
		if v := values[i]; math.IsInf(v, 0) || rising && !(v > values[i-1]) || !rising && !(v < values[i-1]) {
			return false
		}
	}
	return true
}
