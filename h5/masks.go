// Filter masks of chunks: the filters of the pipeline that were skipped for a chunk.
//
// libhdf5 records the mask of a chunk together with its length, and updates neither if the length
// is unchanged (H5D__chunk_file_alloc). If a chunk was stored with some filters skipped and is
// rewritten with the same length and other filters skipped, it reads wrong. Therefore the chunks at
// risk are changed before a write, and before a smaller shape truncates chunks. See docs/defects.md for the
// cases that this does not cover.

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
	known   uint64 // lib.masks when how was determined; 0 before that
	settled uint64 // lib.masks when no chunk needed a check
	how     C.goh5_masks_t
	looks   int // number of writes that had to check their chunks
}

// settleLocked must be called before a write. It re-encodes the touched chunks whose mask libhdf5
// would not have produced. If two combinations of skipped filters may give the same length, it
// returns how the filters make masks. The write then goes chunk by chunk (goh5_write) and makes
// libhdf5 record each mask. Chunks in libhdf5's cache are written first, which is slow if a chunk
// is written in many small pieces. Therefore a dataset without such chunks is not checked again
// while it cannot get any.
//
// settleLocked ignores an invalid selection, because the write itself reports it. It also returns
// the errors of soundLocked and longLocked.
func (d *Dataset) settleLocked(op string, id C.int64_t, words []int64, rank int) (*C.goh5_masks_t, error) {
	if err := d.soundLocked(op, id); err != nil {
		return nil, err
	}
	if err := d.longLocked(op, id, words, rank); err != nil {
		return nil, err
	}
	if d.masks.settled == lib.masks {
		return nil, nil // does not allocate
	}
	return d.settleChunksLocked(op, id, words, rank)
}

func (d *Dataset) settleChunksLocked(op string, id C.int64_t, words []int64, rank int) (*C.goh5_masks_t, error) {
	m, settled, err := d.masksLocked(op, id)
	if settled || err != nil {
		return nil, err
	}
	if m.how > C.GOH5_ONE_DECLINES {
		return &m, nil
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dsettle(&cerr, id, &m, cInts(words), C.size_t(len(words)), C.size_t(rank))
	if rc < 0 && rc != C.GOH5_EREGION {
		return nil, newError(op, d.path, rc, &cerr)
	}
	return nil, nil
}

// settleShapeLocked is settleLocked before a change of the shape, which libhdf5 does in one step.
// It lengthens chunks whose length is possible with two combinations of skipped filters, so that
// libhdf5 records the next mask.
func (d *Dataset) settleShapeLocked(op string, id C.int64_t, dims []int64) error {
	if d.masks.settled == lib.masks {
		return nil
	}
	m, settled, err := d.masksLocked(op, id)
	if settled || err != nil {
		return err
	}
	var cerr C.goh5_err_t
	if rc := C.goh5_dsettle_shape(&cerr, id, &m, cInts(dims), C.size_t(len(dims))); rc < 0 {
		return newError(op, d.path, rc, &cerr)
	}
	return nil
}

// masksLocked returns how the filters make masks, or settled if no chunk needs a check. The first
// writes check only their own chunks, because the index may be long. From the 8th check on, it
// scans the whole index each time the number of checks is a power of two.
func (d *Dataset) masksLocked(op string, id C.int64_t) (m C.goh5_masks_t, settled bool, err error) {
	if err := d.findMasksLocked(op, id); err != nil || d.masks.settled == lib.masks {
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
		d.masks.settled = lib.masks
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
		d.masks.settled = lib.masks
		return nil
	}
	how := C.goh5_masks_t{how: C.GOH5_ALL_RUN, full: chunk}
	others := 0 // filters whose output length depends on the content of the chunk
	for i, id := range ids[:n] {
		optional := state[i]&C.GOH5_OPTIONAL != 0
		switch {
		case optional && state[i]&C.GOH5_IDLE != 0:
			how.always |= 1 << i
		case optional && maySkip(id, state[i]&C.GOH5_HERE != 0):
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
// they skip a chunk if their output has the same length. A filter that is not available is skipped
// now, but may have run when another program wrote the chunk.
func maySkip(id C.int32_t, here bool) bool {
	switch {
	case id == FilterSzip || !here:
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
