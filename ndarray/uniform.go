// Uniform regions, whose elements are known to be equal without reading them because their chunks
// are not stored. Sums and comparisons process each such region at once. Therefore a small file
// with a huge shape is still cheap to process.

package ndarray

import (
	"context"
	"iter"
	"slices"
	"sort"

	"github.com/hyperslab/hyperslab/internal/ahead"
)

// UniformTeller is implemented by backends that can find regions of equal elements without reading
// them: chunks that are not stored, or chunks whose index entry marks them as zeros.
type UniformTeller interface {
	// Uniform returns a function that reports whether all elements of a region are known to have
	// the same bytes; false means that they may differ. The region must be inside the array and not
	// empty. Any number of goroutines may call the function at once, until the array changes. It is
	// nil if the backend has no such information. If ctx contains a pass through the array (package
	// internal/ahead), the function may return false for all regions outside it.
	Uniform(ctx context.Context) (func(r Region) bool, error)
}

// Uniform returns a function that reports, without reading, whether all elements of a region are
// known to be equal. If true, the caller needs to read only one of them; false means that they may
// differ. The region must be inside the array and not empty. The results are valid until the array
// changes. Any number of goroutines may call the function at once.
//
// The function is nil if the backend has no such information. Uniform returns ErrClosed, the
// context's error, or the backend's error.
func (a *Array) Uniform(ctx context.Context) (func(r Region) bool, error) {
	var uniform func(Region) bool
	err := a.use("find what is stored of", func() (err error) {
		u, ok := As[UniformTeller](a.backend)
		if !ok || a.m().NumElems() == 0 {
			return ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		uniform, err = u.Uniform(ahead.Enter(ctx, a))
		return err
	})
	return uniform, err
}

// Different is the kind of a chunk whose elements may differ.
const Different = 0

// maxRuns is the maximum number of runs of chunks that are kept, 16 bytes each. If a grid has more,
// the chunks after them count as Different.
const maxRuns = 1 << 20

// Uniform returns the function of a UniformTeller for chunks with known kinds: all elements of all
// chunks of one kind are equal, except for the kind Different. kinds yields runs of chunks, in
// row-major order of the grid from the first chunk on. Each run is the number of the first chunk
// after it, and its kind. Chunks after the last run are Different.
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
	end  int64 // number of the first chunk after the run
	kind int
}

// runGrid is a grid with the known kinds of its chunks.
type runGrid struct {
	grid Grid
	runs []chunkRun // adjacent runs differ in kind
}

// uniform visits the runs of the chunks that r touches.
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

// uniformIn returns a function that reports whether all elements of a region are known to be equal
// in each of the arrays. It is nil if one of the arrays has no such information, or if the plan has
// fewer than 2 units.
func (p *plan) uniformIn(ctx context.Context, arrays ...*Array) (func(r Region) bool, error) {
	if p.count < 2 {
		return nil, nil
	}
	var all []func(Region) bool
	for _, a := range arrays {
		pass, stop := ahead.WithScan(ctx, a, p.regions())
		u, err := a.Uniform(pass)
		stop()
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

// first returns the first element of a region as a region.
func (r Region) first() Region {
	return Region{Start: r.Start, Shape: slices.Repeat([]int64{1}, len(r.Start))}
}
