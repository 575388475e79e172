// Filter masks of chunks: the filters of the pipeline that were skipped for a chunk.
//
// libhdf5 records the mask of a chunk together with its length, and updates neither if the length
// is unchanged (H5D__chunk_file_alloc). If a chunk was stored with some filters skipped and is
// rewritten with the same length and other filters skipped, it reads wrong. Therefore a write that
// may do this returns errors.ErrUnsupported before it changes the file; see docs/defects.md.

package h5

// #include "shim.h"
import "C"

import "slices"

// pluginsAllowed reports whether libhdf5 may load filters unknown to this package. It is guarded by
// the library lock.
var pluginsAllowed bool

// chunkMasks caches information about the masks of a Dataset's chunks. It is guarded by the library
// lock and valid while lib.masks does not change. lib.masks counts changes of the set of filters,
// and chunks stored by WriteChunk, in any dataset, that a write has to check. Chunks stored by
// libhdf5 itself do not invalidate the cache, unless a filter may skip a chunk that it could have
// processed.
type chunkMasks struct {
	known    uint64 // lib.masks when how was determined; 0 before that
	unneeded uint64 // lib.masks when no chunk needed a check
	how      C.goh5_masks_t
	looks    int // number of writes that had to check their chunks
}

// masksLocked must be called before a write. It returns errors.ErrUnsupported, with the chunk, if
// the write touches a stored chunk whose mask libhdf5 may not update. Chunks in libhdf5's cache are
// written first, which is slow if a chunk is written in many small pieces. Therefore a dataset
// without such chunks is not checked again while it cannot get any.
//
// masksLocked ignores an invalid selection, because the write itself reports it. It also returns
// the errors of checkFiltersLocked and longLocked.
func (d *Dataset) masksLocked(op string, id C.int64_t, words []int64, rank int) error {
	if err := d.checkFiltersLocked(op, id); err != nil {
		return err
	}
	if err := d.longLocked(op, id, words, rank); err != nil {
		return err
	}
	if d.masks.unneeded == lib.masks {
		return nil // does not allocate
	}
	return d.touchedLocked(op, id, words, rank)
}

func (d *Dataset) touchedLocked(op string, id C.int64_t, words []int64, rank int) error {
	m, unneeded, err := d.howLocked(op, id)
	if unneeded || err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dtouched(&cerr, id, &m, cInts(words), C.size_t(len(words)), C.size_t(rank))
	if rc < 0 && rc != C.GOH5_EREGION {
		return d.chunkError(op, nil, rc, &cerr)
	}
	return nil
}

// masksShapeLocked is masksLocked before a change of the shape. libhdf5 rewrites the chunks that a
// smaller shape truncates.
func (d *Dataset) masksShapeLocked(op string, id C.int64_t, dims []int64) error {
	if d.masks.unneeded == lib.masks {
		return nil
	}
	m, unneeded, err := d.howLocked(op, id)
	if unneeded || err != nil {
		return err
	}
	var cerr C.goh5_err_t
	if rc := C.goh5_dtouched_shape(&cerr, id, &m, cInts(dims), C.size_t(len(dims))); rc < 0 {
		return d.chunkError(op, nil, rc, &cerr)
	}
	return nil
}

// howLocked returns how the filters make masks, or unneeded if no chunk needs a check. The first
// writes check only their own chunks, because the index may be long. From the 8th check on, it
// scans the whole index each time the number of checks is a power of two.
func (d *Dataset) howLocked(op string, id C.int64_t) (m C.goh5_masks_t, unneeded bool, err error) {
	if err := d.findMasksLocked(op, id); err != nil || d.masks.unneeded == lib.masks {
		return m, err == nil, err
	}
	m = d.masks.how
	d.masks.looks++
	if n := d.masks.looks; m.how > C.GOH5_ONE_DECLINES || n < 8 || n&(n-1) != 0 {
		return m, false, nil
	}
	var cerr C.goh5_err_t
	var found C.int32_t
	if rc := C.goh5_dmasks(&cerr, id, &m, &found); rc < 0 {
		return m, false, newError(op, d.path, rc, &cerr)
	}
	if found == 0 {
		d.masks.unneeded = lib.masks
	}
	return m, found == 0, nil
}

// findMasksLocked determines how the filters of the dataset make masks.
func (d *Dataset) findMasksLocked(op string, id C.int64_t) error {
	if d.masks.known == lib.masks {
		return nil
	}
	var cerr C.goh5_err_t
	var ids, state [pipeline]C.int32_t
	var chunk C.uint64_t
	n := C.size_t(pipeline)
	if rc := C.goh5_dfilters(&cerr, id, &ids[0], &state[0], &n, &chunk); rc < 0 {
		return newError(op, d.path, rc, &cerr)
	}
	d.masks.known, d.masks.looks = lib.masks, 0
	if n == 0 {
		d.masks.unneeded = lib.masks
		return nil
	}
	how := C.goh5_masks_t{how: C.GOH5_ALL_RUN, full: chunk}
	others := 0 // filters whose output length depends on the content of the chunk
	for i, id := range ids[:n] {
		optional := state[i]&C.GOH5_OPTIONAL != 0
		switch {
		case optional && (state[i]&C.GOH5_IDLE != 0 || state[i]&C.GOH5_HERE == 0):
			how.always |= 1 << i // also of a filter that is not available, which may have run in another program
		case optional && maySkip(id):
			how.how = max(how.how, C.GOH5_ONE_SKIPS)
			how.skipped |= 1 << i
		case optional && id >= firstGoFilter:
			how.how = max(how.how, C.GOH5_ONE_DECLINES)
			how.skipped |= 1 << i
		case id == FilterFletcher32:
			how.full += 4
		case id != FilterShuffle:
			others++
		}
	}
	skippers := how.skipped
	how.skipped |= how.always
	if skippers&(skippers-1) != 0 || skippers != 0 && others > 0 {
		how.how = C.GOH5_ANY_SKIP
	}
	d.masks.how = how
	return nil
}

// pipeline is H5Z_MAX_NFILTERS.
const pipeline = 32

// maySkip reports whether a filter may skip a chunk and may also produce output of the same length.
// Of libhdf5's built-in filters only szip can fail. The filters of h5/filter return false, because
// they skip a chunk if their output has the same length.
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

// storedLocked records that WriteChunk stores a chunk.
func (d *Dataset) storedLocked(mask C.uint32_t, bytes int) {
	lib.stored++
	m := &d.masks.how
	want := m.always
	if m.how == C.GOH5_ONE_DECLINES && C.uint64_t(bytes) == m.full {
		want = m.skipped
	}
	if mask != want && m.how <= C.GOH5_ONE_DECLINES {
		lib.masks++
	}
}
