//go:build cgo

// Chunks with a filter that only the library has: whether it reads them, and whether they
// are long enough for it.

package filter

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/format/hdf5"
	"github.com/hyperslab/hyperslab/h5"
)

// Decodable reports whether each of the filters is one of this package or the library's own
// n-bit or scale-offset, so that h5 reads a chunk with them.
func Decodable(filters []h5.Filter) bool {
	return !slices.ContainsFunc(filters, func(f h5.Filter) bool {
		return !Known(f.ID) && f.ID != h5.FilterNbit && f.ID != h5.FilterScaleOffset
	})
}

// LongEnough undoes the filters of a stored chunk, but those whose bit is set in mask, down
// to n-bit or scale-offset, which only the library has and whose decoders read on behind a
// chunk that is too short ([hdf5.Filter.Needs]). element and chunk are the bytes of an
// element and of a chunk without its filters.
//
// A chunk that is too short, one that such a filter does nothing for and that is not as long
// as the chunk, and parameters that cannot be, are format.ErrCorrupt; two such
// filters of one chunk are errors.ErrUnsupported. What another filter reports is returned.
func LongEnough(filters []h5.Filter, mask uint32, stored []byte, element, chunk int) error {
	inside := false // stored is what such a decoder makes
	for i := len(filters) - 1; i >= 0; i-- {
		f := filters[i]
		if mask>>i&1 != 0 {
			continue
		}
		if Known(f.ID) {
			if inside {
				continue
			}
			dst := make([]byte, chunk+chunk/8+64) // of what does not shrink
			n, err := Decode(f.ID, f.Values, dst, stored)
			if err != nil {
				return err
			}
			stored = dst[:n]
			continue
		}
		step := hdf5.Filter{ID: hdf5.FilterID(f.ID), Values: f.Values}
		need, err := step.Needs(stored, uint64(element), uint64(chunk))
		switch {
		case err != nil:
			return err
		case inside && need > 0:
			return fmt.Errorf("%w: %s behind another filter that only the library has", errors.ErrUnsupported, step.ID)
		case uint64(len(stored)) < need:
			return &format.Error{Format: "hdf5", What: "chunk", Got: fmt.Sprintf("%d bytes for %s", len(stored), step.ID), Want: fmt.Sprintf("at least %d", need), Err: format.ErrCorrupt}
		}
		inside = inside || need > 0
	}
	if !inside && len(stored) != chunk { // all is undone, and the library takes it for the chunk
		return &format.Error{Format: "hdf5", What: "chunk", Got: fmt.Sprintf("%d bytes without its filters", len(stored)), Want: fmt.Sprint(chunk), Err: format.ErrCorrupt}
	}
	return nil
}
