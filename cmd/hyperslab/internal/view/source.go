// The interface to the shown file.

package view

import (
	"context"
	"slices"

	"github.com/hyperslab/hyperslab/internal/picture"
)

// Item is an object in the tree.
type Item struct {
	Path  string // in the file
	Name  string // for display
	Label string // element type and shape, or the target of a link
	Kind  Kind
	Shape []int64     // of an array
	Plot  bool        // the elements are numbers that can be drawn
	Image bool        // the last dimension has the channels of pixels
	Facts [][2]string // of an object of kind Other
}

// Kind is the kind of an Item.
type Kind int

// The kinds of Item.
const (
	Other Kind = iota // links, datatypes, and arrays that cannot be read
	Group
	Array
)

// Slice selects the displayed plane of an array.
type Slice struct {
	At          []int64 // index along each dimension; those of Row and Column are the cursor
	Row, Column int     // displayed dimensions, -1 without one
}

// newSlice returns the slice that is displayed first: the last two dimensions at index 0.
func newSlice(shape []int64) Slice {
	s := Slice{At: make([]int64, len(shape)), Row: -1, Column: -1}
	switch rank := len(shape); rank {
	case 0:
	case 1:
		s.Row = 0
	default:
		s.Row, s.Column = rank-2, rank-1
	}
	return s
}

func (s Slice) clone() Slice {
	s.At = slices.Clone(s.At)
	return s
}

// Mode is how an object is displayed.
type Mode int

// The modes.
const (
	Values Mode = iota
	Picture
	Info
	modes
)

// Look is how values are displayed and drawn.
type Look struct {
	Colors string // name of the colours
	Log    bool   // logarithmic
	Clip   bool   // end the colours or the axis at percentiles
	Raw    bool   // stored elements, without the attributes of the CF conventions
}

// Request describes the displayed part of an object.
type Request struct {
	Item    Item
	Mode    Mode
	Slice   Slice
	Look    Look
	Top     int64 // first row of the table
	Left    int64 // first column of the table
	Rows    int   // of the table, or cells of the picture
	Columns int
}

// Content is the displayed part of an object.
type Content struct {
	Cells   [][]string       // of the table, by row
	Picture *picture.Picture // in mode Picture
	Facts   [][2]string      // in mode Info

	Warnings []string // attributes without effect
}

// Source is a file. Its methods may be called at the same time, except Content.
type Source interface {
	// List calls found with the members of the group at a path in batches.
	List(ctx context.Context, path string, found func([]Item)) error

	// Find calls found with all objects in batches.
	Find(ctx context.Context, found func([]Item)) error

	// Content reads a part of an object.
	Content(ctx context.Context, q *Request) (*Content, error)

	// Command returns the command line that prints the same part.
	Command(q *Request) string
}
