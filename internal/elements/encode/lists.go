// JSON: nested lists, and lines of them.

package encode

import (
	"context"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/ndarray"
)

// lists is the form of nested lists. A list without elements ends the axes: if an axis has the
// length 0, the elements are the empty lists at the indexes of the axes before it.
type lists struct {
	form      jsonform.Form
	place     *Place
	depth     int    // of the lists: the number of axes, or one less for lines
	separator string // between elements
	lines     bool   // a line for each index of the first axis
	around    int    // number of JSON values around, for the indentation; 0: all on one line
	text      string // of all elements, or ""
	n         int64  // number of elements that have the text
}

func newLists(m ndarray.Meta, o *Options) *lists {
	shape := m.Shape
	x := &lists{form: o.Form, lines: o.Format == Lines, around: o.Depth, separator: ","}
	if o.Format == Lines || o.Depth > 0 {
		x.separator = ", "
	}
	switch zero := slices.Index(shape, 0); {
	case m.Null && !x.lines:
		shape, x.text, x.n, x.around = nil, "null", 1, 0
	case zero >= 0:
		shape, x.text, x.n, x.around = shape[:zero], "[]", 1, 0
		for _, n := range shape {
			x.n *= n
		}
		if zero == 0 && x.lines {
			x.n = 0
		}
	}
	x.place = NewPlace(shape)
	if x.depth = len(shape); x.lines {
		x.depth = max(x.depth-1, 0)
	}
	return x
}

func (x *lists) head(out []byte) ([]byte, bool) {
	for ; x.n > 0 && len(out) < chunkBytes; x.n-- {
		out, _ = x.element(out, nil, 0)
	}
	return out, x.n == 0
}

func (*lists) block(context.Context, ndarray.Region) error { return nil }

func (x *lists) element(out []byte, e *Batch, i int) ([]byte, error) {
	opened, closed := min(x.place.Begins(), x.depth), min(x.place.Ends(), x.depth)
	for k := opened; k > 0; k-- {
		if k < x.depth {
			out = x.newline(out, k)
		}
		out = append(out, '[')
	}
	if x.text != "" {
		out = append(out, x.text...)
	} else {
		out = e.AppendJSON(out, x.form, i)
	}
	for k := 1; k <= closed; k++ {
		if k > 1 {
			out = x.newline(out, k)
		}
		out = append(out, ']')
	}
	switch {
	case closed < x.depth && closed > 0 && x.around > 0: // a line break follows
		out = append(out, ',')
	case closed < x.depth:
		out = append(out, x.separator...)
	case x.lines:
		out = append(out, '\n')
	}
	x.place.Next()
	return out, nil
}

// newline begins the line of a bracket of a list of k axes.
func (x *lists) newline(out []byte, k int) []byte {
	if x.around == 0 {
		return out
	}
	return append(append(out, '\n'), strings.Repeat("  ", x.depth-k+x.around)...)
}
