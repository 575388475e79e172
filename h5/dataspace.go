//go:build cgo

// Dataspaces (scalar, null or a shape) and regions of elements.

package h5

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// MaxRank is the maximum number of dimensions (H5S_MAX_RANK).
const MaxRank = 32

// Unlimited in MaxDims lets a dimension grow without limit (H5S_UNLIMITED).
const Unlimited = -1

// SpaceKind is the kind of a dataspace (H5S_class_t).
type SpaceKind int

// Kinds of dataspace.
const (
	Scalar SpaceKind = iota + 1 // one element
	Null                        // no elements and no shape
	Simple                      // Dims
)

// Dataspace is the shape of a dataset or an attribute.
type Dataspace struct {
	Kind    SpaceKind
	Dims    []int64 // Simple: the shape, slowest-varying dimension first
	MaxDims []int64 // Simple: the maximum of each dimension, or Unlimited; nil means Dims
}

// ScalarSpace returns the dataspace of one element without dimensions.
func ScalarSpace() Dataspace { return Dataspace{Kind: Scalar} }

// NullSpace returns the dataspace without elements.
func NullSpace() Dataspace { return Dataspace{Kind: Null} }

// SimpleSpace returns a dataspace with the given fixed shape.
func SimpleSpace(dims ...int64) Dataspace { return Dataspace{Kind: Simple, Dims: dims} }

// NumElems returns the number of elements, which is 0 for Null.
func (s Dataspace) NumElems() int64 {
	if s.Kind == Null {
		return 0
	}
	return product(s.Dims)
}

// All returns the region of all elements.
func (s Dataspace) All() Region {
	return Region{Start: make([]int64, len(s.Dims)), Count: slices.Clone(s.Dims)}
}

// Equal reports whether s and o have the same kind and dimensions. A nil MaxDims is equal to a copy
// of Dims.
func (s Dataspace) Equal(o Dataspace) bool {
	return s.Kind == o.Kind && slices.Equal(s.Dims, o.Dims) && slices.Equal(s.maxDims(), o.maxDims())
}

func (s Dataspace) maxDims() []int64 {
	if s.MaxDims == nil {
		return s.Dims
	}
	return s.MaxDims
}

// String returns the DDL of s: SCALAR, NULL, SIMPLE { ( 2, 3 ) / ( 2, H5S_UNLIMITED ) }.
func (s Dataspace) String() string {
	switch s.Kind {
	case Scalar:
		return "SCALAR"
	case Null:
		return "NULL"
	}
	list := func(dims []int64) string {
		words := make([]string, len(dims))
		for i, d := range dims {
			words[i] = fmt.Sprint(d)
			if d == Unlimited {
				words[i] = "H5S_UNLIMITED"
			}
		}
		return "( " + strings.Join(words, ", ") + " )"
	}
	return "SIMPLE { " + list(s.Dims) + " / " + list(s.maxDims()) + " }"
}

func (s Dataspace) check() error {
	switch {
	case s.Kind < Scalar || s.Kind > Simple:
		return fmt.Errorf("%w: dataspace kind %d", ErrParam, s.Kind)
	case s.Kind != Simple && (len(s.Dims) > 0 || len(s.MaxDims) > 0):
		return fmt.Errorf("%w: %v dataspace with dimensions", ErrParam, s)
	case s.Kind == Simple && (len(s.Dims) == 0 || len(s.Dims) > MaxRank):
		return fmt.Errorf("%w: %d dimensions, want 1 to %d", ErrParam, len(s.Dims), MaxRank)
	case len(s.maxDims()) != len(s.Dims):
		return fmt.Errorf("%w: %d dimensions, %d maxima", ErrParam, len(s.Dims), len(s.MaxDims))
	}
	for i, d := range s.Dims {
		if top := s.maxDims()[i]; d < 0 || (top != Unlimited && top < d) {
			return fmt.Errorf("%w: dimension %d is %d, its maximum %d", ErrParam, i, d, top)
		}
	}
	if product(s.Dims) < 0 {
		return fmt.Errorf("%w: shape %v has too many elements", ErrParam, s.Dims)
	}
	return nil
}

func (s Dataspace) append(b []byte) []byte {
	b = appendInt(b, int64(s.Kind))
	b = appendInt(b, int64(len(s.Dims)))
	for _, d := range s.Dims {
		b = appendInt(b, d)
	}
	for _, d := range s.maxDims() {
		b = appendInt(b, d)
	}
	return b
}

func (r *reader) dataspace() Dataspace {
	s := Dataspace{Kind: SpaceKind(r.int())}
	rank := r.word()
	if s.Kind == Simple {
		s.Dims, s.MaxDims = r.ints(rank), r.ints(rank)
	}
	return s
}

// Region selects a regular pattern of elements. In each dimension it selects Count blocks of Block
// elements, the first at Start, with a distance of Stride between the starts of blocks. The region
// of a scalar has no dimensions.
type Region struct {
	Start, Count  []int64
	Stride, Block []int64 // nil: ones
}

// NumElems returns the number of selected elements, or -1 if the region is invalid.
func (r Region) NumElems() int64 {
	n := product(r.Count)
	if r.Block != nil && n >= 0 {
		return product([]int64{n, product(r.Block)})
	}
	return n
}

// words appends start, count, stride and block in the order of the shim. It returns ErrRegion for a
// region that is invalid for every dataset.
func (r Region) words(buf []int64) ([]int64, int64, error) {
	rank := len(r.Start)
	if len(r.Count) != rank || (r.Stride != nil && len(r.Stride) != rank) || (r.Block != nil && len(r.Block) != rank) || rank > MaxRank {
		return nil, 0, r.outside("start, count, stride and block differ in length")
	}
	n := int64(1)
	stride, block := int64(1), int64(1)
	all := append(append(buf, r.Start...), r.Count...)
	for i := range rank {
		if r.Stride != nil {
			stride = r.Stride[i]
		}
		all = append(all, stride)
	}
	for i := range rank {
		if r.Block != nil {
			block = r.Block[i]
		}
		all = append(all, block)
	}
	w := all[len(buf):]
	for i := range rank {
		start, count, stride, block := w[i], w[rank+i], w[2*rank+i], w[3*rank+i]
		if start < 0 || count < 0 || block < 1 || stride < block && count > 1 || stride < 1 {
			return nil, 0, r.outside("negative, or blocks that overlap")
		}
		hi, reach := bits.Mul64(uint64(count), uint64(stride))
		if hi != 0 || reach > math.MaxInt64 {
			return nil, 0, r.outside("too far")
		}
		over, next := bits.Mul64(uint64(count), uint64(block))
		if over != 0 || next > math.MaxInt64 {
			return nil, 0, r.outside("too many elements")
		}
		if n = mul(n, int64(next)); n < 0 {
			return nil, 0, r.outside("too many elements")
		}
	}
	return all, n, nil
}

func (r Region) outside(why string) error {
	region := fmt.Sprintf("start %d, count %d", r.Start, r.Count)
	if r.Stride != nil || r.Block != nil {
		region += fmt.Sprintf(", stride %d, block %d", r.Stride, r.Block)
	}
	return fmt.Errorf("%w: %s; %s", ErrRegion, region, why)
}

// mul returns a×b, or -1 if a factor is negative or the product overflows.
func mul(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return -1
	}
	return int64(lo)
}

// product returns the product of v: 1 without factors, 0 if a factor is 0, and otherwise -1 in the
// same cases as mul.
func product(v []int64) int64 {
	n := int64(1)
	for _, d := range v {
		if d == 0 {
			return 0
		}
	}
	for _, d := range v {
		n = mul(n, d)
	}
	return n
}
