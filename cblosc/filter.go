// Filters: their ids, their names, their parameters.

package cblosc

// #include "shim.h"
// #include <blosc2/filters-registry.h>
import "C"

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// FilterID is the id of a transformation that runs before the codec.
type FilterID uint8

// The filters of the library.
const (
	NoFilter   FilterID = C.BLOSC_NOFILTER
	Shuffle    FilterID = C.BLOSC_SHUFFLE          // bytes of equal significance together
	BitShuffle FilterID = C.BLOSC_BITSHUFFLE       // bits of equal significance together
	Delta      FilterID = C.BLOSC_DELTA            // difference to the first block; only as the first filter
	TruncPrec  FilterID = C.BLOSC_TRUNC_PREC       // lossy, of floats; see NewTruncPrec
	ByteDelta  FilterID = C.BLOSC_FILTER_BYTEDELTA // difference to the byte before; see NewByteDelta
	IntTrunc   FilterID = C.BLOSC_FILTER_INT_TRUNC // lossy, of integers; see NewIntTrunc
)

// Filters for arrays only: they put the elements of small cells together, which a
// chunk alone does not know. They trust the bytes, so reading what they made has to
// be allowed: [DParams.Allow].
const (
	NDCell FilterID = C.BLOSC_FILTER_NDCELL // see NewNDCell
	NDMean FilterID = C.BLOSC_FILTER_NDMEAN // lossy; see NewNDMean
)

var filterNames = map[FilterID]string{
	NoFilter: "nofilter", Shuffle: "shuffle", BitShuffle: "bitshuffle", Delta: "delta", TruncPrec: "trunc_prec",
	NDCell: "ndcell", NDMean: "ndmean", ByteDelta: "bytedelta", IntTrunc: "int_trunc",
}

// String is the library's name of the filter, that of RegisterFilter, or "filter 37"
// for one that this package cannot compress with.
func (f FilterID) String() string {
	if s, ok := filterName(f); ok {
		return s
	}
	return "filter " + strconv.Itoa(int(f))
}

// ParseFilterID is the inverse of String.
func ParseFilterID(name string) (FilterID, error) {
	for id := range 256 {
		if s, ok := filterName(FilterID(id)); ok && s == name {
			return FilterID(id), nil
		}
	}
	return 0, fmt.Errorf("%w: filter %q", ErrParam, name)
}

// Filter is one step of the pipeline.
type Filter struct {
	ID   FilterID
	Meta uint8 // the filter's parameter; 0 where it has none
}

// MaxFilters is the number of steps in a pipeline.
const MaxFilters = C.BLOSC2_MAX_FILTERS

// NewTruncPrec returns TruncPrec for floats of 4 or 8 bytes: bits of the mantissa
// stay, 1 to 23 or 52, or as many as -bits at its end become zero.
func NewTruncPrec(bits int) Filter { return Filter{TruncPrec, signed(bits)} }

// NewIntTrunc returns IntTrunc for integers of 1, 2, 4 or 8 bytes: the highest bits
// stay, 1 to all, or as many as -bits at the end become zero.
func NewIntTrunc(bits int) Filter { return Filter{IntTrunc, signed(bits)} }

// NewByteDelta returns ByteDelta, which comes after Shuffle, for elements of that
// many bytes, 1 to 255, the type size.
func NewByteDelta(typeSize int) Filter { return Filter{ByteDelta, small(typeSize)} }

// NewNDCell returns NDCell with cells of edge elements in each dimension, 1 to 127.
func NewNDCell(edge int) Filter { return Filter{NDCell, small(edge)} }

// NewNDMean returns NDMean with cells of edge elements in each dimension, 1 to 127:
// each element becomes the mean of its cell. Elements are floats of 4 or 8 bytes.
func NewNDMean(edge int) Filter { return Filter{NDMean, small(edge)} }

// String is "shuffle", or "trunc_prec(-10)" with a parameter.
func (f Filter) String() string {
	switch {
	case f.Meta == 0:
		return f.ID.String()
	case f.ID == TruncPrec || f.ID == IntTrunc:
		return fmt.Sprintf("%v(%d)", f.ID, int8(f.Meta))
	}
	return fmt.Sprintf("%v(%d)", f.ID, f.Meta)
}

// ParseFilter is the inverse of Filter.String. It does not ask whether the parameter
// makes sense: CParams.Validate does, which knows the type size.
func ParseFilter(s string) (Filter, error) {
	name, rest, found := strings.Cut(s, "(")
	id, err := ParseFilterID(name)
	if err != nil || !found {
		return Filter{ID: id}, err
	}
	digits, ok := strings.CutSuffix(rest, ")")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < math.MinInt8 || n > math.MaxUint8 {
		return Filter{}, fmt.Errorf("%w: filter %q, want a number of -128 to 255 in parentheses", ErrParam, s)
	}
	f := Filter{id, uint8(n)}
	if f.String() != s {
		return Filter{}, fmt.Errorf("%w: filter %q, want %q", ErrParam, s, f)
	}
	return f, nil
}

// forArrays reports whether f needs the shape of an array.
func (f FilterID) forArrays() bool { return f == NDCell || f == NDMean }

// wholeElements reports whether the library loses data behind f that is not whole
// elements: the rest behind the last one is left undefined.
func (f FilterID) wholeElements() bool {
	return f == Delta || f == TruncPrec || f == IntTrunc
}

// mantissa is the bits in the mantissa of a float of that many bytes.
var mantissa = map[int]int{4: 23, 8: 52}

// validate reports what is wrong with step i of the pipeline; first says that no
// other filter comes before it.
func (f Filter) validate(p *CParams, i int, first bool, check func(ok bool, field string, v any, want string)) {
	field := fmt.Sprintf("Filters[%d]", i)
	_, known := filterName(f.ID)
	check(known, field, f.ID, "a filter of this package")
	cells := f.Meta >= 1 && f.Meta <= math.MaxInt8
	switch f.ID {
	case Shuffle: // Meta is the number of bytes of a group, 0 for the type size
	case NoFilter, BitShuffle:
		check(f.Meta == 0, field+".Meta", f.Meta, "0, the filter takes no parameter")
	case Delta:
		// Its reference is the unfiltered data: behind another filter it does not come back.
		check(first, field, f.ID, "it before all other filters")
		check(f.Meta == 0, field+".Meta", f.Meta, "0, the filter takes no parameter")
	case TruncPrec:
		bits, ok := mantissa[p.TypeSize]
		check(ok, field, f.ID, "TypeSize 4 or 8 for it")
		m := int(int8(f.Meta))
		check(!ok || m > 0 && m <= bits || m < 0 && -m < bits, field+".Meta", m, fmt.Sprintf("1 to %d or -%d to -1", bits, bits-1))
	case IntTrunc:
		ok := p.TypeSize == 1 || p.TypeSize == 2 || p.TypeSize == 4 || p.TypeSize == 8
		check(ok, field, f.ID, "TypeSize 1, 2, 4 or 8 for it")
		m, bits := int(int8(f.Meta)), 8*p.TypeSize
		check(!ok || m > 0 && m <= bits || m < 0 && -m < bits, field+".Meta", m, fmt.Sprintf("1 to %d or -%d to -1", bits, bits-1))
	case ByteDelta:
		check(int(f.Meta) == p.TypeSize, field+".Meta", f.Meta, fmt.Sprintf("TypeSize = %d, at most 255", p.TypeSize))
		check(p.BlockSize == 0 || p.BlockSize >= p.TypeSize, "BlockSize", p.BlockSize, "at least one element for bytedelta")
	case NDCell:
		check(cells, field+".Meta", f.Meta, "1 to 127")
	case NDMean:
		check(p.TypeSize == 4 || p.TypeSize == 8, field, f.ID, "TypeSize 4 or 8 for it")
		check(cells, field+".Meta", f.Meta, "1 to 127")
	}
}
