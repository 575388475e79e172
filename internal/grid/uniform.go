// Uniform boxes of chunks, whose elements are known to be equal without reading them.

package grid

import (
	"iter"
	"slices"
	"sort"
)

// Different is the kind of a chunk whose elements may differ.
const Different = 0

// maxRuns is the maximum number of runs of chunks that are kept, 16 bytes each. If a grid has more,
// the chunks after them count as Different.
const maxRuns = 1 << 20

// Uniform returns the function of an ndarray.UniformTeller for chunks with known kinds: all
// elements of all chunks of one kind are equal, except for the kind Different. kinds yields runs of
// chunks, in row-major order of the grid from the first chunk on. Each run is the number of the
// first chunk after it, and its kind. Chunks after the last run are Different.
func Uniform[R ~struct{ Start, Shape []int64 }](g Grid, kinds iter.Seq2[int64, int]) func(r R) bool {
	u := newRunGrid(g, kinds)
	return func(r R) bool { return u.uniform(Box(r)) }
}

func newRunGrid(g Grid, kinds iter.Seq2[int64, int]) *runGrid {
	var runs []chunkRun
	for end, kind := range kinds {
		last := len(runs) - 1
		switch {
		case last >= 0 && runs[last].kind == kind:
			runs[last].end = end
		case last >= 0 && runs[last].end >= end: // an empty run
		case len(runs) == maxRuns:
			return &runGrid{g, runs}
		default:
			runs = append(runs, chunkRun{end, kind})
		}
	}
	return &runGrid{g, runs}
}

// chunkRun is a run of chunks of one kind.
type chunkRun struct {
	end  int64 // number of the first chunk after the run
	kind int
}

// runGrid is a grid with the known kinds of its chunks.
type runGrid struct {
	grid Grid
	runs []chunkRun // adjacent runs differ in kind
}

// uniform visits the runs of the chunks that r touches.
func (u *runGrid) uniform(r Box) bool {
	g := &u.grid
	low, high := make([]int64, len(r.Start)), make([]int64, len(r.Start))
	for i, c := range g.Chunk {
		low[i], high[i] = r.Start[i]/c, (r.Start[i]+r.Shape[i]-1)/c
	}
	kind, at := Different, slices.Clone(low)
	for ok := true; ok; {
		n := g.number(at)
		k := sort.Search(len(u.runs), func(i int) bool { return u.runs[i].end > n })
		if k == len(u.runs) || u.runs[k].kind == Different || kind != Different && u.runs[k].kind != kind {
			return false
		}
		kind = u.runs[k].kind
		if u.runs[k].end >= g.NumChunks() {
			return true
		}
		g.index(at, u.runs[k].end)
		ok = intoBox(at, low, high)
	}
	return true
}

// intoBox advances an index to the first one, in row-major order, inside the box from low to high
// (both included). ok is false if there is no such index.
func intoBox(at, low, high []int64) (ok bool) {
	for i := range at {
		switch {
		case at[i] < low[i]:
			copy(at[i:], low[i:])
			return true
		case at[i] > high[i]: // the next row, if the box has one
			copy(at[i:], low[i:])
			for i--; i >= 0; i-- {
				if at[i]++; at[i] <= high[i] {
					return true
				}
				at[i] = low[i]
			}
			return false
		}
	}
	return true
}
