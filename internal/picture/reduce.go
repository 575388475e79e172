// Pictures, and arrays reduced to the number of values that fit into a picture.

package picture

import (
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

// Add adds the elements of a region. Values that are not finite are missing.
func (g *Grid) Add(r ndarray.Region, values []float64) {
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

// Add adds the elements of a region. Values that are not finite are missing.
func (e *Envelope) Add(r ndarray.Region, values []float64) {
	for i, v := range values {
		at := r.Start[0] + int64(i)
		c := cellOf(at, e.length, len(e.Low))
		if e.StretchStarts[c] < 0 {
			e.StretchStarts[c] = at
		}
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			widen(&e.Low[c], &e.High[c], v)
			widen(&e.Least, &e.Most, v)
		}
	}
}
