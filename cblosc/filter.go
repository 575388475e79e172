// Filter ids, names and parameters.

package cblosc

// #include "shim.h"
// #include <blosc2/filters-registry.h>
import "C"

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// FilterID is the id of a transformation that runs before the codec.
type FilterID uint8

// The filters of the library.
const (
	NoFilter   FilterID = C.BLOSC_NOFILTER
	Shuffle    FilterID = C.BLOSC_SHUFFLE    // groups bytes of equal significance
	BitShuffle FilterID = C.BLOSC_BITSHUFFLE // groups bits of equal significance
	Delta      FilterID = C.BLOSC_DELTA      // difference to the first block; only as the first filter
	// TruncPrec is lossy, for floats of 4 or 8 bytes. A positive int8(Meta), 1 to 23 or 52, is the
	// number of mantissa bits to keep; a negative one is the number of low bits to zero.
	TruncPrec FilterID = C.BLOSC_TRUNC_PREC
	// ByteDelta is the difference to the preceding byte, used after Shuffle. Meta must be the size
	// of an element, 1 to 255 bytes.
	ByteDelta FilterID = C.BLOSC_FILTER_BYTEDELTA
	// IntTrunc is lossy, for integers of 1, 2, 4 or 8 bytes. A positive int8(Meta) is the number of
	// high bits to keep, at most all; a negative one is the number of low bits to zero.
	IntTrunc FilterID = C.BLOSC_FILTER_INT_TRUNC
)

// Filters for arrays only. They group the elements of small cells, which need the shape of an
// array. Their decoders have no bounds checks, so reading such chunks must be allowed:
// [DParams.Allow]. Meta is the number of elements of a cell in each dimension, 1 to 127.
const (
	NDCell FilterID = C.BLOSC_FILTER_NDCELL
	NDMean FilterID = C.BLOSC_FILTER_NDMEAN // lossy: replaces floats of 4 or 8 bytes by the mean of their cell
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

// Filter is one step of the pipeline.
type Filter struct {
	ID   FilterID
	Meta uint8 // parameter of the filter; 0 if it has none
}

// MaxFilters is the number of steps in a pipeline.
const MaxFilters = C.BLOSC2_MAX_FILTERS

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

// forArrays reports whether f needs the shape of an array.
func (f FilterID) forArrays() bool { return f == NDCell || f == NDMean }

// wholeElements reports whether the library loses the bytes after the last whole element with the
// filter f: it leaves them undefined.
func (f FilterID) wholeElements() bool {
	return f == Delta || f == TruncPrec || f == IntTrunc
}

// lossy reports whether f changes values.
func (f FilterID) lossy() bool { return f == TruncPrec || f == IntTrunc || f == NDMean }

// keepsElements reports whether a lossy filter may run after f, because f keeps each element in its
// bytes, or changes it only by an exclusive or.
func (f FilterID) keepsElements(next FilterID) bool {
	return f == NoFilter || f.lossy() || next != NDMean && (f == Delta || f == NDCell)
}

// checkLossyOrder returns an error for a lossy filter after a filter that moves the bytes of
// elements. It would change arbitrary bits of the elements.
func (p *CParams) checkLossyOrder() error {
	for i, f := range p.Filters {
		for _, before := range p.Filters[:i] {
			if f.ID.lossy() && !before.ID.keepsElements(f.ID) {
				return fmt.Errorf("%w: %w: Filters[%d] = %v after %v, want it before", ErrParam, errors.ErrUnsupported, i, f.ID, before.ID)
			}
		}
	}
	return nil
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
