// Chunks that an optional filter left as they were. The library notes which
// filters a chunk went through when it notes the chunk's length, and leaves both
// alone if the length is as before: a chunk as long as without the filter, written
// again with the filter or without it, then reads wrong.

package h5

// #include "shim.h"
import "C"

import "slices"

// pluginsAllowed says that filters may be ones nobody here knows; the library's
// lock guards it.
var pluginsAllowed bool

// skips is what a Dataset knows of its filters.
type skips int8

const (
	skipsUnknown skips = iota
	skipsNothing       // no filter leaves a chunk as it is, or none of such a length
	skipsChunks
)

// loosenLocked comes before a write: it makes stored chunks of a length that two
// outcomes of the filters may share a byte longer, so that the library notes the
// next outcome. Chunks that it has in its cache are written first, which costs
// time where a chunk is written in many small pieces.
//
// What is wrong with the selection the write itself will say. It also reports what
// soundLocked does.
func (d *Dataset) loosenLocked(op string, id C.int64_t, words []int64, rank int) error {
	if err := d.soundLocked(op, id); err != nil {
		return err
	}
	if d.skips == skipsNothing {
		return nil // and nothing is allocated
	}
	return d.loosenChunksLocked(op, id, words, rank)
}

func (d *Dataset) loosenChunksLocked(op string, id C.int64_t, words []int64, rank int) error {
	var cerr C.goh5_err_t
	if d.skips == skipsUnknown {
		var ids [32]C.int32_t
		n := C.size_t(len(ids))
		if rc := C.goh5_doptional(&cerr, id, &ids[0], &n); rc < 0 {
			return newError(op, d.path, rc, &cerr)
		}
		d.skips = skipsNothing
		if slices.ContainsFunc(ids[:n], maySkip) {
			d.skips = skipsChunks
		}
	}
	if d.skips == skipsNothing {
		return nil
	}
	rc := C.goh5_dloosen(&cerr, id, cInts(words), C.size_t(len(words)), C.size_t(rank))
	if rc < 0 && rc != C.GOH5_EREGION {
		return newError(op, d.path, rc, &cerr)
	}
	return nil
}

// maySkip reports a filter that may leave a chunk as it is, and else may make one
// of the same length. The library's own never fail, but for szip; those of h5/filter
// decline what would be as long as before.
func maySkip(id C.int32_t) bool {
	switch {
	case id == FilterSzip:
		return true
	case id < firstGoFilter:
		return false
	}
	return pluginsAllowed || slices.ContainsFunc(goFilters[:], func(p filterSlot) bool {
		return p.filter != nil && p.filter.ID == int(id)
	})
}
