// Pictures, and arrays reduced to the number of values that fit into a picture.

package picture

import (
	"iter"
	"math"
	"math/bits"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Kinds of pictures. Auto is that of the number of dimensions.
const (
	Auto      = "auto"
	Heatmap   = "heatmap"
	Line      = "line"
	Histogram = "histogram"
	Image     = "image"
)

// Kinds are the names of the kinds.
var Kinds = []string{Auto, Heatmap, Line, Histogram, Image}

// Picture contains everything that is drawn, for a file or a terminal.
type Picture struct {
	Kind      string
	Title     string
	Slice     string // the indexes that a selection fixes, for example "time = 2024-01-02"
	Label     string // of the values, with their units
	Colors    string // of a heat map, one of GradientNames; "": the first one
	Axes      []Axis
	Shape     []int64
	Low, High float64 // of the values
	Clipped   bool    // values outside Low and High exist or are expected
	Missing   bool    // some cells of a heat map have no value
	Log       bool    // the values, Low and High are decimal logarithms

	Grid     *Grid              // of a heat map
	Channels []*Grid            // of an image: red, green, blue, opacity; from 0 to 1
	Lines    []Series           // of a line, one or more
	Bins     *ndarray.Histogram // of a histogram

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

// mean returns the mean of the elements of some cells, or NaN without any.
func (g *Grid) mean(rows, columns span) float64 {
	if rows.to == rows.from+1 && columns.to == columns.from+1 {
		return g.Cells[rows.from*g.Columns+columns.from]
	}
	mean, count := math.NaN(), 0.0
	for row := rows.from; row < rows.to; row++ {
		for c := row*g.Columns + columns.from; c < row*g.Columns+columns.to; c++ {
			switch n := g.counts[c]; {
			case n == 0:
			case count == 0:
				mean, count = g.Cells[c], n
			default:
				count += n
				mean += (g.Cells[c] - mean) * (n / count)
			}
		}
	}
	return mean
}

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

// between returns the least and the greatest element of some stretches, or NaN without any.
func (e *Envelope) between(s span) (low, high float64) {
	low, high = math.NaN(), math.NaN()
	for i := s.from; i < s.to; i++ {
		if !math.IsNaN(e.Low[i]) {
			widen(&low, &high, e.Low[i])
			widen(&low, &high, e.High[i])
		}
	}
	return low, high
}
