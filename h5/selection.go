// Selections of elements: regions, points, boxes, their combinations, and libhdf5's queries about
// them. The C side is shim_select.c.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"iter"
	"slices"
)

// Selection is an ordered set of elements of a dataset or a buffer: a Region, Points, Boxes, All,
// or a combination of others by Union, Intersection, Exclusive and Without.
//
// Elements of Points are in the order of the points. All other elements are in row-major order,
// each once. A Selection has no shape. An operation returns ErrRegion if the selection does not
// fit.
type Selection interface {
	// encode appends the selection in words. inside is true for an operand of a combination.
	encode(words []int64, inside bool) ([]int64, error)
	// axes returns the number of dimensions, -1 for any.
	axes() int
}

// The kinds of node in words, as in shim_select.c.
const (
	selNone = iota
	selAll
	selBlocks
	selPoints
	selBoxes
	selOr
	selAnd
	selXor
	selWithout
)

type (
	all  struct{}
	none struct{}
)

// All selects every element (H5Sselect_all).
var All Selection = all{}

// Nothing selects no element (H5Sselect_none).
var Nothing Selection = none{}

func (all) encode(words []int64, _ bool) ([]int64, error)  { return append(words, selAll), nil }
func (all) axes() int                                      { return -1 }
func (none) encode(words []int64, _ bool) ([]int64, error) { return append(words, selNone), nil }
func (none) axes() int                                     { return -1 }

func (r Region) encode(words []int64, _ bool) ([]int64, error) {
	w, _, err := r.words(nil)
	if err != nil {
		return nil, err
	}
	return append(append(words, selBlocks), w...), nil
}

func (r Region) axes() int { return len(r.Start) }

// Points are single elements by their coordinates, in any order and with repetitions
// (H5Sselect_elements). They cannot be combined with others.
type Points [][]int64

func (p Points) encode(words []int64, inside bool) ([]int64, error) {
	if inside {
		return nil, fmt.Errorf("%w: points in a combination: only blocks can be combined", ErrParam)
	}
	words = append(words, selPoints, int64(len(p)))
	for i, at := range p {
		if len(at) != len(p[0]) || len(at) == 0 || len(at) > MaxRank {
			return nil, fmt.Errorf("%w: point %d has %d coordinates, the first %d", ErrRegion, i, len(at), len(p[0]))
		}
		if slices.ContainsFunc(at, func(c int64) bool { return c < 0 }) {
			return nil, fmt.Errorf("%w: point %d at %d", ErrRegion, i, at)
		}
		words = append(words, at...)
	}
	return words, nil
}

func (p Points) axes() int {
	if len(p) == 0 {
		return -1
	}
	return len(p[0])
}

// Box selects all elements between two corners, including the corners.
type Box struct{ First, Last []int64 }

// Region returns the box as a region.
func (b Box) Region() Region {
	r := Region{Start: slices.Clone(b.First), Count: make([]int64, len(b.First))}
	for i := range r.Count {
		r.Count[i] = b.Last[i] - b.First[i] + 1
	}
	return r
}

// Boxes is the union of boxes, the form in which libhdf5 returns an irregular selection
// (H5Sget_select_hyper_blocklist).
type Boxes []Box

func (s Boxes) encode(words []int64, _ bool) ([]int64, error) {
	words = append(words, selBoxes, int64(len(s)))
	for i, b := range s {
		if len(b.First) != len(s[0].First) || len(b.Last) != len(b.First) || len(b.First) == 0 || len(b.First) > MaxRank {
			return nil, fmt.Errorf("%w: box %d from %d to %d", ErrRegion, i, b.First, b.Last)
		}
		for axis := range b.First {
			if b.First[axis] < 0 || b.Last[axis] < b.First[axis] {
				return nil, fmt.Errorf("%w: box %d from %d to %d", ErrRegion, i, b.First, b.Last)
			}
		}
		words = append(append(words, b.First...), b.Last...)
	}
	return words, nil
}

func (s Boxes) axes() int {
	if len(s) == 0 {
		return -1
	}
	return len(s[0].First)
}

type combination struct {
	kind     int64
	operands []Selection
}

// Union selects the elements in at least one operand (H5S_SELECT_OR).
func Union(s ...Selection) Selection { return combination{selOr, s} }

// Intersection selects the elements in all operands (H5S_SELECT_AND).
func Intersection(s ...Selection) Selection { return combination{selAnd, s} }

// Exclusive selects the elements in an odd number of operands (H5S_SELECT_XOR).
func Exclusive(s ...Selection) Selection { return combination{selXor, s} }

// Without selects the elements of s that are in no other operand (H5S_SELECT_NOTB).
func Without(s Selection, others ...Selection) Selection {
	return combination{selWithout, append([]Selection{s}, others...)}
}

// maxNesting is the maximum nesting depth of combinations.
const maxNesting = 60

func (c combination) encode(words []int64, _ bool) ([]int64, error) {
	if len(c.operands) == 0 {
		return nil, fmt.Errorf("%w: a combination of no selections", ErrParam)
	}
	if c.depth() > maxNesting {
		return nil, fmt.Errorf("%w: combinations nested deeper than %d", ErrParam, maxNesting)
	}
	words = append(words, c.kind, int64(len(c.operands)))
	rank := c.axes()
	for _, s := range c.operands {
		if n := s.axes(); n >= 0 && n != rank {
			return nil, fmt.Errorf("%w: selections of %d and of %d dimensions in one combination", ErrParam, rank, n)
		}
		var err error
		if words, err = s.encode(words, true); err != nil {
			return nil, err
		}
	}
	return words, nil
}

func (c combination) depth() int {
	d := 0
	for _, s := range c.operands {
		if inner, ok := s.(combination); ok {
			d = max(d, inner.depth())
		}
	}
	return d + 1
}

func (c combination) axes() int {
	for _, s := range c.operands {
		if n := s.axes(); n >= 0 {
			return n
		}
	}
	return -1
}

// encoded is a selection encoded for the shim.
type encoded struct {
	words []int64
	rank  int // -1: any, which is GOH5_ANY_RANK in C
}

func encodeSelection(s Selection) (encoded, error) {
	if s == nil {
		return encoded{}, fmt.Errorf("%w: nil selection", ErrParam)
	}
	w, err := s.encode(nil, false)
	if err != nil {
		return encoded{}, err
	}
	return encoded{words: w, rank: s.axes()}, nil
}

// SelectionInfo describes a selection in one dataspace.
type SelectionInfo struct {
	NumElems    int64     // -1 for an unlimited selection, whose Region has a Count of -1
	First, Last []int64   // the corners of the bounding box; nil if there is no bounding box
	Selection   Selection // the same selection in its simplest form: All, Nothing, a Region, Points or Boxes
}

// Selected describes s in the dataspace (H5Sget_select_npoints, H5Sget_select_bounds,
// H5Sget_regular_hyperslab, H5Sget_select_hyper_blocklist, H5Sget_select_elem_pointlist). It
// returns ErrRegion if s does not fit.
func (s Dataspace) Selected(sel Selection) (SelectionInfo, error) {
	const op = "select"
	space, e, err := s.with(op, sel)
	if err != nil {
		return SelectionInfo{}, err
	}
	var blob C.goh5_blob_t
	err = runAlone(op, func(cerr *C.goh5_err_t) error {
		rc := C.goh5_selected(cerr, cBytes(space), C.size_t(len(space)), cInts(e.words), C.size_t(len(e.words)), C.size_t(e.rank), &blob)
		if rc < 0 {
			return transferError(op, "", sel, rc, cerr)
		}
		return nil
	})
	if err != nil {
		return SelectionInfo{}, err
	}
	return takeBlob(&blob).selection(len(s.Dims)), nil
}

// with encodes the dataspace and a selection in it.
func (s Dataspace) with(op string, sel Selection) ([]byte, encoded, error) {
	if err := s.check(); err != nil {
		return nil, encoded{}, &Error{Op: op, Err: err}
	}
	e, err := encodeSelection(sel)
	if err != nil {
		return nil, encoded{}, &Error{Op: op, Err: err}
	}
	return s.append(nil), e, nil
}

// runAlone makes one call of the shim that needs no open object.
func runAlone(op string, call func(cerr *C.goh5_err_t) error) error {
	lock()
	defer unlock()
	if err := readyLocked(op, ""); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	return call(&cerr)
}

// selection decodes a selection encoded by goh5_select_put.
func (r *reader) selection(rank int) SelectionInfo {
	info := SelectionInfo{NumElems: r.int()}
	if n := r.word(); n > 0 {
		info.First, info.Last = r.ints(n), r.ints(n)
	}
	n := uint64(rank)
	switch r.word() {
	case selAll:
		info.Selection = All
	case selBlocks:
		region := Region{Start: r.ints(n), Count: r.ints(n), Stride: r.ints(n), Block: r.ints(n)}
		info.Selection = region
	case selPoints:
		points := make(Points, r.word())
		for i := range points {
			points[i] = r.ints(n)
		}
		info.Selection = points
	case selBoxes:
		boxes := make(Boxes, r.word())
		for i := range boxes {
			boxes[i] = Box{r.ints(n), r.ints(n)}
		}
		info.Selection = boxes
	default:
		info.Selection = Nothing
	}
	return info
}

// SameShape reports whether two selections have the same number of elements in the same
// arrangement, so that a transfer between them can keep it (H5Sselect_shape_same).
func SameShape(a Dataspace, in Selection, b Dataspace, other Selection) (bool, error) {
	const op = "compare selections"
	sa, ea, err := a.with(op, in)
	if err != nil {
		return false, err
	}
	sb, eb, err := b.with(op, other)
	if err != nil {
		return false, err
	}
	var same C.int32_t
	err = runAlone(op, func(cerr *C.goh5_err_t) error {
		rc := C.goh5_select_same(cerr, cBytes(sa), C.size_t(len(sa)), cInts(ea.words), C.size_t(len(ea.words)), C.size_t(ea.rank),
			cBytes(sb), C.size_t(len(sb)), cInts(eb.words), C.size_t(len(eb.words)), C.size_t(eb.rank), &same)
		if rc < 0 {
			return transferError(op, "", in, rc, cerr)
		}
		return nil
	})
	return same != 0, err
}

// Intersects reports whether the selection has an element in the box (H5Sselect_intersect_block).
func (s Dataspace) Intersects(sel Selection, box Box) (bool, error) {
	const op = "intersect"
	space, e, err := s.with(op, sel)
	if err == nil {
		_, err = Boxes{box}.encode(nil, false)
		if err == nil && len(box.First) != len(s.Dims) {
			err = fmt.Errorf("%w: box of %d dimensions, dataspace of %d", ErrParam, len(box.First), len(s.Dims))
		}
		if err != nil {
			err = &Error{Op: op, Err: err}
		}
	}
	if err != nil {
		return false, err
	}
	corners := slices.Concat(box.First, box.Last)
	var meet C.int32_t
	err = runAlone(op, func(cerr *C.goh5_err_t) error {
		rc := C.goh5_select_intersects(cerr, cBytes(space), C.size_t(len(space)), cInts(e.words), C.size_t(len(e.words)), C.size_t(e.rank),
			cInts(corners), &meet)
		if rc < 0 {
			return transferError(op, "", sel, rc, cerr)
		}
		return nil
	})
	return meet != 0, err
}

// Project maps a part of a selection to another dataspace (H5Sselect_project_intersection). The
// elements of `from` in s correspond one to one to those of `onto` in other. Project returns the
// elements of other that correspond to the elements of `from` that are also in `part`.
func (s Dataspace) Project(from Selection, other Dataspace, onto, part Selection) (SelectionInfo, error) {
	const op = "project"
	sa, ea, err := s.with(op, from)
	if err != nil {
		return SelectionInfo{}, err
	}
	sb, eb, err := other.with(op, onto)
	if err != nil {
		return SelectionInfo{}, err
	}
	ep, err := encodeSelection(part)
	if err != nil {
		return SelectionInfo{}, &Error{Op: op, Err: err}
	}
	if ep.rank >= 0 && ep.rank != len(s.Dims) {
		return SelectionInfo{}, &Error{Op: op, Err: fmt.Errorf("%w: selection of %d dimensions in %v", ErrRegion, ep.rank, s)}
	}
	var blob C.goh5_blob_t
	err = runAlone(op, func(cerr *C.goh5_err_t) error {
		rc := C.goh5_select_project(cerr, cBytes(sa), C.size_t(len(sa)), cInts(ea.words), C.size_t(len(ea.words)), C.size_t(ea.rank),
			cBytes(sb), C.size_t(len(sb)), cInts(eb.words), C.size_t(len(eb.words)), C.size_t(eb.rank),
			cInts(ep.words), C.size_t(len(ep.words)), &blob)
		if rc < 0 {
			return transferError(op, "", from, rc, cerr)
		}
		return nil
	})
	if err != nil {
		return SelectionInfo{}, err
	}
	return takeBlob(&blob).selection(len(other.Dims)), nil
}

// Boxes yields the blocks of the selection in its order; each point is a block. libhdf5 describes
// the selection (Selected) before the first block is yielded. The blocks of a Region are computed
// one at a time. An error is yielded once, without a block.
func (s Dataspace) Boxes(sel Selection) iter.Seq2[Box, error] {
	return func(yield func(Box, error) bool) {
		info, err := s.Selected(sel)
		if err != nil {
			yield(Box{}, err)
			return
		}
		switch v := info.Selection.(type) {
		case all:
			if len(s.Dims) > 0 {
				yield(Box{info.First, info.Last}, nil)
			}
		case Boxes:
			for _, b := range v {
				if !yield(b, nil) {
					return
				}
			}
		case Points:
			for _, p := range v {
				if !yield(Box{p, p}, nil) {
					return
				}
			}
		case Region:
			for b := range v.blocks() {
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

// blocks yields the blocks of a valid region.
func (r Region) blocks() iter.Seq[Box] {
	return func(yield func(Box) bool) {
		if slices.Contains(r.Count, 0) || len(r.Count) == 0 {
			return
		}
		at := make([]int64, len(r.Start)) // block number along each axis
		for {
			b := Box{make([]int64, len(at)), make([]int64, len(at))}
			for i := range at {
				b.First[i] = r.Start[i] + at[i]*r.Stride[i]
				b.Last[i] = b.First[i] + r.Block[i] - 1
			}
			if !yield(b) {
				return
			}
			axis := len(at) - 1
			for ; axis >= 0; axis-- {
				if at[axis]++; at[axis] < r.Count[axis] {
					break
				}
				at[axis] = 0
			}
			if axis < 0 {
				return
			}
		}
	}
}
