// Which filters a chunk went through. The library notes that when it notes the
// chunk's length, and leaves both alone if the length is as before
// (H5D__chunk_file_alloc): a chunk that was stored with other filters left out, and
// is written again with the same length, then reads wrong. So before a write, and
// before a smaller shape cuts chunks, those that this can happen to are changed so
// that it cannot.

package h5

// #include "shim.h"
import "C"

import "slices"

// pluginsAllowed says that filters may be ones nobody here knows; the library's
// lock guards it.
var pluginsAllowed bool

// chunkMasks is what a Dataset knows of the masks of its chunks; the library's lock
// guards it. What it knows holds as long as lib.masks does not change: that counts
// the chunks stored by WriteChunk, in any dataset, that a write has to look at, and
// the changes of the filters there are. What the library itself stores changes
// nothing about it, unless a filter may leave out what it could have kept.
type chunkMasks struct {
	known   uint64 // lib.masks when how was found, 0 if never
	settled uint64 // lib.masks when no chunk had to be looked at
	how     C.goh5_masks_t
	looks   int // writes that had to look at their chunks
}

// settleLocked comes before a write: of the chunks that it touches it has those
// encoded anew that hold a mask the library would not have made. Where two outcomes of the
// filters may share a length it returns how they make masks: the write then goes chunk by
// chunk (goh5_write), and has the library note each outcome. Chunks that the library has in its cache are
// written first, which costs time where a chunk is written in many small pieces;
// so a dataset that has no such chunk, and gets none, is not looked at again.
//
// What is wrong with the selection the write itself will say. It also reports what
// soundLocked and longLocked do.
func (d *Dataset) settleLocked(op string, id C.int64_t, words []int64, rank int) (*C.goh5_masks_t, error) {
	if err := d.soundLocked(op, id); err != nil {
		return nil, err
	}
	if err := d.longLocked(op, id, words, rank); err != nil {
		return nil, err
	}
	if d.masks.settled == lib.masks {
		return nil, nil // and nothing is allocated
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

// settleShapeLocked is settleLocked before the shape changes, which the library does in one
// go: chunks of a length that two outcomes of the filters may share are made longer, so
// that the library notes the next outcome.
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

// masksLocked tells how the filters make masks, or that no chunk has to be looked
// at. The first writes look at their own chunks alone, for the index may be long;
// then it goes through the whole index now and then, ever more rarely.
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

// findMasksLocked finds out how the filters of the dataset make masks.
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
	others := 0 // filters that change the length of a chunk by what is in it
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

// maySkip reports a filter that may leave a chunk as it is, and else may make one
// of the same length. The library's own never fail, but for szip; those of h5/filter
// decline what would be as long as before. One that is not there is skipped now,
// and was not when others wrote.
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

// storedLocked notes that WriteChunk stores a chunk.
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
