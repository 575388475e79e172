// Pictures, and arrays reduced to the number of values that fit into a picture.

package picture

import (
	"iter"
	"math"
	"math/bits"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Kinds of pictures.
const (
	Heatmap   = "heatmap"
	Line      = "line"
	Histogram = "histogram"
)

// Picture contains everything that is drawn, for a file or a terminal.
type Picture struct {
	Kind      string
	Title     string
	Label     string // of the values, with their units
	Axes      []Axis
	Shape     []int64
	Low, High float64 // of the values
	Clipped   bool    // values outside Low and High exist or are expected
	Log       bool    // the values, Low and High are decimal logarithms

	Grid  *Grid              // of a heat map
	Lines []Series           // of a line, one or more
	Bins  *ndarray.Histogram // of a histogram

	// Panels are small multiples: pictures of the same kind with their own titles and data. They
	// share everything else with this picture, which has no data then.
	Panels []*Picture
}

// Series is one curve of a picture. All curves have the same axis.
type Series struct {
	Name string
	*Envelope
}

// MaxSeries is the maximum number of curves in a picture, and MaxPanels that of small multiples.
const (
	MaxSeries = 7
	MaxPanels = 64
)

// Axis describes one axis of a picture.
type Axis struct {
	Label       string
	First, Last float64 // coordinates of the first and of the last index
	Known       bool    // the coordinates come from the file and are not indexes
}

// At returns the coordinate of the middle of index i of n.
func (x *Axis) At(i float64, n int64) float64 {
	if n < 2 {
		return x.First
	}
	return x.First + (x.Last-x.First)*i/float64(n-1)
}

// Bounds returns a range that is not empty for the least and the greatest value.
func Bounds(low, high float64) (float64, float64) {
	if low == high {
		half := math.Max(math.Abs(low)/2, 0.5)
		return low - half, high + half
	}
	return low, high
}

// Grid is an array of two axes as cells, each the mean of its elements. Cells with only missing
// elements are NaN.
type Grid struct {
	Rows, Columns int
	Cells         []float64 // row-major
	Low, High     float64   // of the finite cells, after Finish; NaN without any

	shape  []int64
	counts []float64
}

// NewGrid returns a grid of at most rows × columns cells for an array of two axes.
func NewGrid(shape []int64, rows, columns int) *Grid {
	g := &Grid{Rows: int(min(shape[0], int64(rows))), Columns: int(min(shape[1], int64(columns))), shape: shape}
	g.Cells = make([]float64, g.Rows*g.Columns)
	g.counts = make([]float64, len(g.Cells))
	return g
}

// At returns the value of a cell.
func (g *Grid) At(row, column int) float64 { return g.Cells[row*g.Columns+column] }

// Add adds the elements of a region. One value means that all elements have it. Values that are not
// finite are missing.
func (g *Grid) Add(r ndarray.Region, values []float64) {
	if len(values) == 1 {
		g.addEqual(r, values[0])
		return
	}
	for i := range r.Shape[0] {
		row := cellOf(r.Start[0]+i, g.shape[0], g.Rows)
		for k := range r.Shape[1] {
			v := values[i*r.Shape[1]+k]
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			c := row*g.Columns + cellOf(r.Start[1]+k, g.shape[1], g.Columns)
			g.counts[c]++
			g.Cells[c] += (v - g.Cells[c]) / g.counts[c] // a mean that cannot overflow
		}
	}
}

// addEqual adds a region whose elements are all equal.
func (g *Grid) addEqual(r ndarray.Region, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	for row, height := range overlaps(r.Start[0], r.Shape[0], g.shape[0], g.Rows) {
		for column, width := range overlaps(r.Start[1], r.Shape[1], g.shape[1], g.Columns) {
			c, n := row*g.Columns+column, float64(height)*float64(width)
			g.counts[c] += n
			g.Cells[c] += (v - g.Cells[c]) * (n / g.counts[c])
		}
	}
}

// Finish sets the range of the cells after the last element.
func (g *Grid) Finish() {
	g.Low, g.High = math.NaN(), math.NaN()
	for c, n := range g.counts {
		if n == 0 {
			g.Cells[c] = math.NaN()
			continue
		}
		widen(&g.Low, &g.High, g.Cells[c])
	}
}

// cellOf returns the cell, of n cells, that contains index i of an axis: ⌊i×n/length⌋.
func cellOf(i, length int64, n int) int {
	high, low := bits.Mul64(uint64(i), uint64(n))
	cell, _ := bits.Div64(high, low, uint64(length))
	return int(cell)
}

// startOf returns the first index of a cell, of n cells: ⌈cell×length/n⌉.
func startOf(cell int, length int64, n int) int64 {
	high, low := bits.Mul64(uint64(cell), uint64(length))
	at, rest := bits.Div64(high, low, uint64(n))
	if rest > 0 {
		at++
	}
	return int64(at)
}

// overlaps yields the cells, of n cells of an axis, that contain count indexes from start, and how
// many of these indexes each cell contains.
func overlaps(start, count, length int64, n int) iter.Seq2[int, int64] {
	return func(yield func(int, int64) bool) {
		for end := start + count; start < end; {
			c := cellOf(start, length, n)
			next := min(end, startOf(c+1, length, n))
			if !yield(c, next-start) {
				return
			}
			start = next
		}
	}
}

// widen extends the range from low to high to contain v. NaN means an empty range.
func widen(low, high *float64, v float64) {
	if !(*low <= v) {
		*low = v
	}
	if !(*high >= v) {
		*high = v
	}
}

// Envelope is an array of one axis as the least and greatest element of each stretch.
type Envelope struct {
	Low, High     []float64 // NaN if all elements are missing
	Least, Most   float64   // of all finite ones; NaN without any
	PerStretch    float64   // elements
	StretchStarts []int64

	length int64
}

// NewEnvelope returns an envelope of at most n stretches for an array of one axis.
func NewEnvelope(length int64, n int) *Envelope {
	n = int(min(length, int64(n)))
	e := &Envelope{
		Low: make([]float64, n), High: make([]float64, n), StretchStarts: make([]int64, n),
		Least: math.NaN(), Most: math.NaN(), PerStretch: float64(length) / float64(max(n, 1)), length: length,
	}
	for i := range n {
		e.Low[i], e.High[i] = math.NaN(), math.NaN()
		e.StretchStarts[i] = -1
	}
	return e
}

// Add adds the elements of a region. One value means that all elements have it. Values that are not
// finite are missing.
func (e *Envelope) Add(r ndarray.Region, values []float64) {
	if len(values) == 1 {
		at := r.Start[0]
		for c, n := range overlaps(at, r.Shape[0], e.length, len(e.Low)) {
			e.add(c, at, values[0])
			at += n
		}
		return
	}
	for i, v := range values {
		at := r.Start[0] + int64(i)
		e.add(cellOf(at, e.length, len(e.Low)), at, v)
	}
}

// add adds the value at an index to a stretch.
func (e *Envelope) add(stretch int, at int64, v float64) {
	if e.StretchStarts[stretch] < 0 {
		e.StretchStarts[stretch] = at
	}
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		widen(&e.Low[stretch], &e.High[stretch], v)
		widen(&e.Least, &e.Most, v)
	}
}
