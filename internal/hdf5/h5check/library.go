// Chunks with filters that only libhdf5 has: whether they can be decoded and are long enough.

package h5check

import (
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/guard"
)

// Decodable reports whether h5 can decode chunks with these filters. Each of them must be in
// package filter, or be libhdf5's n-bit or scale-offset.
func Decodable(filters []h5.Filter) bool {
	return !slices.ContainsFunc(filters, func(f h5.Filter) bool {
		return !filter.Known(f.ID) && f.ID != h5.FilterNbit && f.ID != h5.FilterScaleOffset
	})
}

// LongEnough checks a stored chunk with n-bit or scale-offset, which only libhdf5 has. Their
// decoders read out of bounds if the chunk is too short. LongEnough reverses the filters after
// n-bit or scale-offset, except those whose bit is set in mask. element and chunk are the sizes in
// bytes of an element and of an unfiltered chunk.
//
// It returns format.ErrCorrupt for a chunk that is too short, for invalid parameters, and for a
// chunk of the wrong size on which such a filter has no effect. It returns errors.ErrUnsupported
// for two such filters of one chunk. It also returns the errors of other filters.
func LongEnough(filters []h5.Filter, mask uint32, stored []byte, element, chunk int) error {
	steps := make([]guard.Filter, len(filters))
	for i, f := range filters {
		steps[i] = guard.Filter{ID: int(f.ID), Values: f.Values}
	}
	return guard.LongEnough(steps, mask, stored, element, chunk, filter.Known, func(f guard.Filter, dst, src []byte) (int, error) {
		return filter.Decode(f.ID, f.Values, dst, src)
	})
}
