// Regions whose elements are known to be equal without reading them: chunks that are not
// stored. What adds up or compares takes each such region at once, however large a file of
// a few hundred bytes says it is.

package ndarray

import (
	"context"
	"iter"
	"slices"
	"sort"
)

// UniformTeller is implemented by backends that know of regions, without reading them, that
// all their elements are equal: where nothing is stored, or no more than a note that a chunk
// is all zeros.
type UniformTeller interface {
	// Uniform returns what reports that all elements of a region have the same bytes; false
	// means that they may differ. The region is inside the array and not empty. Any number of
	// goroutines may ask at once, until the array changes. It is nil if nothing is known.
	Uniform(ctx context.Context) (func(r Region) bool, error)
}

// Uniform returns what reports of a region, without reading it, that all its elements are
// equal: one of them, read, is then all of them. false means that they may differ. The region
// must be inside the array and not empty; the answer holds until the array changes. Any number
// of goroutines may ask at once.
//
// It returns nil if the backend knows nothing, ErrClosed, the context's error, or what the
// backend returns.
func (a *Array) Uniform(ctx context.Context) (func(r Region) bool, error) {
	var uniform func(Region) bool
	err := a.use("find what is stored of", func() (err error) {
		u, ok := a.backend.(UniformTeller)
		if !ok || a.m().NumElems() == 0 {
			return ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		uniform, err = u.Uniform(ctx)
		return err
	})
	return uniform, err
}

// Different is the kind of a chunk whose elements may differ.
const Different = 0

// maxRuns is how many runs of chunks are kept, 16 bytes each: with more in a grid, all behind
// them may differ.
const maxRuns = 1 << 20

// Uniform returns what a UniformTeller does, for chunks of which the backend knows their kind:
// all elements of all chunks of one kind are equal, but for the kind Different. kinds yields
// runs of chunks, in row-major order of the grid from the first chunk on: the number behind
// the last chunk of the run, and its kind. Chunks behind the last run are Different.
func (g Grid) Uniform(kinds iter.Seq2[int64, int]) func(r Region) bool {
	var runs []chunkRun
	for end, kind := range kinds {
		last := len(runs) - 1
		switch {
		case last >= 0 && runs[last].kind == kind:
			runs[last].end = end
		case last >= 0 && runs[last].end >= end: // an empty run
		case len(runs) == maxRuns:
			return (&runGrid{g, runs}).uniform
		default:
			runs = append(runs, chunkRun{end, kind})
		}
	}
	return (&runGrid{g, runs}).uniform
}

// chunkRun is a run of chunks of one kind.
type chunkRun struct {
	end  int64 // number of the first chunk behind it
	kind int
}

// runGrid is a grid, and what is known of its chunks.
type runGrid struct {
	grid Grid
	runs []chunkRun // neighbours differ in kind
}

// uniform goes from run to run through the chunks that r touches.
func (u *runGrid) uniform(r Region) bool {
	g := &u.grid
	low, high := make([]int64, len(r.Start)), make([]int64, len(r.Start))
	for i, c := range g.chunk {
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

// intoBox moves an index to the first one inside the box from low to high, both included, that
// does not come before it in row-major order; ok is false if there is none.
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

// uniformIn returns what reports that all elements of a region are equal in each of the arrays;
// nil if one of them knows nothing, or if the work is one unit in any case.
func (p *plan) uniformIn(ctx context.Context, arrays ...*Array) (func(r Region) bool, error) {
	if p.count < 2 {
		return nil, nil
	}
	var all []func(Region) bool
	for _, a := range arrays {
		u, err := a.Uniform(ctx)
		if err != nil || u == nil {
			return nil, err
		}
		all = append(all, u)
	}
	return func(r Region) bool {
		for _, u := range all {
			if !u(r) {
				return false
			}
		}
		return true
	}, nil
}

// first is the first element of a region, as a region.
func (r Region) first() Region {
	return Region{Start: r.Start, Shape: slices.Repeat([]int64{1}, len(r.Start))}
}
