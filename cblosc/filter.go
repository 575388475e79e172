// Filter ids, names and parameters.

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
	Shuffle    FilterID = C.BLOSC_SHUFFLE          // groups bytes of equal significance
	BitShuffle FilterID = C.BLOSC_BITSHUFFLE       // groups bits of equal significance
	Delta      FilterID = C.BLOSC_DELTA            // difference to the first block; only as the first filter
	TruncPrec  FilterID = C.BLOSC_TRUNC_PREC       // lossy, of floats; see NewTruncPrec
	ByteDelta  FilterID = C.BLOSC_FILTER_BYTEDELTA // difference to the preceding byte; see NewByteDelta
	IntTrunc   FilterID = C.BLOSC_FILTER_INT_TRUNC // lossy, of integers; see NewIntTrunc
)

// Filters for arrays only. They group the elements of small cells, which need the shape of an
// array. Their decoders have no bounds checks, so reading such chunks must be allowed:
// [DParams.Allow].
const (
	NDCell FilterID = C.BLOSC_FILTER_NDCELL // see NewNDCell
	NDMean FilterID = C.BLOSC_FILTER_NDMEAN // lossy; see NewNDMean
)

var filterNames = map[FilterID]string{
	NoFilter: "nofilter", Shuffle: "shuffle", BitShuffle: "bitshuffle", Delta: "delta", TruncPrec: "trunc_prec",
	NDCell: "ndcell", NDMean: "ndmean", ByteDelta: "bytedelta", IntTrunc: "int_trunc",
}

// String returns the library's name of the filter, the name given to RegisterFilter, or for example
// "filter 37" for a filter that this package cannot compress with.
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
	Meta uint8 // parameter of the filter; 0 if it has none
}

// MaxFilters is the number of steps in a pipeline.
const MaxFilters = C.BLOSC2_MAX_FILTERS

// NewTruncPrec returns TruncPrec for floats of 4 or 8 bytes. A positive bits, 1 to 23 or 52, is the
// number of mantissa bits to keep; a negative one is the number of low bits to zero.
func NewTruncPrec(bits int) Filter { return Filter{TruncPrec, signed(bits)} }

// NewIntTrunc returns IntTrunc for integers of 1, 2, 4 or 8 bytes. A positive bits is the number of
// high bits to keep, at most all; a negative one is the number of low bits to zero.
func NewIntTrunc(bits int) Filter { return Filter{IntTrunc, signed(bits)} }

// NewByteDelta returns ByteDelta, which is used after Shuffle. typeSize must be the size of an
// element, 1 to 255 bytes.
func NewByteDelta(typeSize int) Filter { return Filter{ByteDelta, small(typeSize)} }

// NewNDCell returns NDCell with cells of edge elements in each dimension. edge must be 1 to 127.
func NewNDCell(edge int) Filter { return Filter{NDCell, small(edge)} }

// NewNDMean returns NDMean with cells of edge elements in each dimension, which replaces each
// element by the mean of its cell. edge must be 1 to 127, and elements must be floats of 4 or 8
// bytes.
func NewNDMean(edge int) Filter { return Filter{NDMean, small(edge)} }

// String returns the filter with its parameter, if any, for example "shuffle" or "trunc_prec(-10)".
func (f Filter) String() string {
	switch {
	case f.Meta == 0:
		return f.ID.String()
	case f.ID == TruncPrec || f.ID == IntTrunc:
		return fmt.Sprintf("%v(%d)", f.ID, int8(f.Meta))
	}
	return fmt.Sprintf("%v(%d)", f.ID, f.Meta)
}

// ParseFilter is the inverse of Filter.String. It does not check the parameter, because that needs
// the type size: see CParams.Validate.
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

// wholeElements reports whether the library loses the bytes after the last whole element with the
// filter f: it leaves them undefined.
func (f FilterID) wholeElements() bool {
	return f == Delta || f == TruncPrec || f == IntTrunc
}

// mantissa maps the size of a float in bytes to the number of its mantissa bits.
var mantissa = map[int]int{4: 23, 8: 52}

// validate reports errors in step i of the pipeline. first means that all steps before it are
// empty.
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
		// Delta uses unfiltered data as the reference, so it cannot be undone after another filter.
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
