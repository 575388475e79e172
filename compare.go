// Compare finds the differences of two arrays or trees in any formats.

package hyperslab

import (
	"context"
	"time"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/treediff"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CompareOptions are the options of Compare. Nil means the zero value. Of the embedded options,
// Progress is called for all arrays together, and Memory and Workers apply to each pair of arrays.
type CompareOptions struct {
	ndarray.CompareOptions

	// ValuesOnly compares the values of arrays, but not attributes, byte orders and the types of
	// numbers: 1 equals 1.0.
	ValuesOnly bool
	Encoding   bool // compare chunks, blocks and compression too

	// Converted is set if the second tree is a conversion of the first. Then the changes that
	// CopyTree reports are no differences: other types of strings with the same values, paths in
	// place of references, and objects and attributes that the format of the second tree cannot
	// store.
	Converted bool

	ExcludeUnsupported bool // leave out attributes with types that ndarray does not have

	// Exclude reports whether the object at a path is left out, with everything below it. Paths
	// begin at the locations. Nil: all objects are compared.
	Exclude func(path string) bool

	// Prepare is called for each pair of arrays before their elements are read. It may lower the
	// number of goroutines for the pair; *workers begins as Workers. An error ends Compare.
	Prepare func(a, b *ndarray.Array, workers *int) error
}

// CompareReport is the result of Compare. In JSON it has keys of hyperslab.difftree/1.
type CompareReport struct {
	Compared    int          `json:"compared"`     // pairs of objects that were compared
	Differences []Difference `json:"different"`    // in the order of paths
	NotCompared []Problem    `json:"not_compared"` // pairs of which one object cannot be read
}

// Difference is a path at which two locations differ.
type Difference struct {
	Path string // from the locations; "/" for the locations themselves
	A, B *Entry // the objects; nil if there is no object at the path

	Array *ndarray.Comparison      // nil unless both objects are arrays
	Attrs []ndarray.AttrDifference // of two groups; those of arrays are in Array

	ExcludedAttrs []string      // attributes of the arrays that were not compared
	Time          time.Duration // duration of the comparison of two arrays
}

// Compare compares the objects of two trees: two arrays, or two groups, ctables, directories of
// arrays or whole files with all objects below them. It compares shapes, element types, values,
// attributes and the targets of links, and ignores the storage unless CompareOptions.Encoding is
// set. Objects are paired by their paths from the locations of the trees. The dimension scales of
// HDF5 equal the same dimension names in another format.
//
// A difference is no error. Compare returns the errors of Tree.Walk and Tree.Open, of
// ndarray.Compare, of CompareOptions.Prepare, or the context's error.
func Compare(ctx context.Context, a, b *Tree, o *CompareOptions) (*CompareReport, error) {
	r, err := treediff.Compare(ctx, a.tree, b.tree, treediff.Options(orZero(o)))
	if err != nil {
		return nil, err
	}
	out := &CompareReport{Compared: r.Compared}
	for _, d := range r.Differences {
		out.Differences = append(out.Differences, Difference{
			Path: d.Path, A: entryAt(d.A), B: entryAt(d.B), Array: d.Array, Attrs: d.Attrs, ExcludedAttrs: d.ExcludedAttrs, Time: d.Time,
		})
	}
	for _, p := range r.NotCompared {
		out.NotCompared = append(out.NotCompared, Problem(p))
	}
	return out, nil
}

// entryAt is entryOf for an entry that may be nil.
func entryAt(e *tree.Entry) *Entry {
	if e == nil {
		return nil
	}
	out := entryOf(*e)
	return &out
}
