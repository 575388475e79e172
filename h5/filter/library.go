//go:build cgo

// Chunks with filters that only libhdf5 has: whether they can be decoded and are long enough.

package filter

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// Decodable reports whether h5 can decode chunks with these filters. Each of them must be in this
// package, or be libhdf5's n-bit or scale-offset.
func Decodable(filters []h5.Filter) bool {
	return !slices.ContainsFunc(filters, func(f h5.Filter) bool {
		return !Known(f.ID) && f.ID != h5.FilterNbit && f.ID != h5.FilterScaleOffset
	})
}

// LongEnough checks a stored chunk with n-bit or scale-offset, which only libhdf5 has. Their
// decoders read out of bounds if the chunk is too short ([h5file.Filter.Needs]). LongEnough reverses
// the filters after n-bit or scale-offset, except those whose bit is set in mask. element and chunk
// are the sizes in bytes of an element and of an unfiltered chunk.
//
// It returns format.ErrCorrupt for a chunk that is too short, for invalid parameters, and for a
// chunk of the wrong size on which such a filter has no effect. It returns errors.ErrUnsupported
// for two such filters of one chunk. It also returns the errors of other filters.
func LongEnough(filters []h5.Filter, mask uint32, stored []byte, element, chunk int) error {
	inside := false // stored is the output of n-bit or scale-offset
	for i := len(filters) - 1; i >= 0; i-- {
		f := filters[i]
		if mask>>i&1 != 0 {
			continue
		}
		if Known(f.ID) {
			if inside {
				continue
			}
			dst := make([]byte, chunk+chunk/8+64) // for output that is longer than the chunk
			n, err := Decode(f.ID, f.Values, dst, stored)
			if err != nil {
				return err
			}
			stored = dst[:n]
			continue
		}
		step := h5file.Filter{ID: h5file.FilterID(f.ID), Values: f.Values}
		need, err := step.Needs(stored, uint64(element), uint64(chunk))
		switch {
		case err != nil:
			return err
		case inside && need > 0:
			return fmt.Errorf("%w: %s after another filter that only libhdf5 has", errors.ErrUnsupported, step.ID)
		case uint64(len(stored)) < need:
			return &format.Error{Format: "hdf5", What: "chunk", Got: fmt.Sprintf("%d bytes for %s", len(stored), step.ID), Want: fmt.Sprintf("at least %d", need), Err: format.ErrCorrupt}
		}
		inside = inside || need > 0
	}
	if !inside && len(stored) != chunk { // all filters are reversed, and libhdf5 uses the result as the chunk
		return &format.Error{Format: "hdf5", What: "chunk", Got: fmt.Sprintf("%d bytes without its filters", len(stored)), Want: fmt.Sprint(chunk), Err: format.ErrCorrupt}
	}
	return nil
}
