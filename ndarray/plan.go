// Work plans of Copy and Compare. A plan divides an array into units, as large as memory allows
// with one unit per worker at a time.
//
// A unit consists of whole chunks of the destination, so no two workers touch the same chunk. It
// then grows until it covers whole source chunks, so that no source chunk is decoded for several
// units.

package ndarray

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/chunked/ordered"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// defaultMemory is the default size in bytes of all buffers of Copy and Compare.
const defaultMemory = 128 << 20

// smallUnit is the number of bytes below which the overhead of a call is significant. Units grow to
// it even if the source chunks are smaller.
const smallUnit = 1 << 20

// Progress is the progress of Copy or Compare. In a copy in two stages all elements count twice.
type Progress struct {
	DoneBytes, TotalBytes int64 // of elements, in memory
	DoneUnits, TotalUnits int64

	StoredBytes int64 // of the processed units in the file; 0 if unknown
}

// plan is the grid of units and the number of workers.
type plan struct {
	units   grid.Grid
	count   int64 // units
	unit    int64 // bytes of the largest unit
	size    int   // bytes of an element
	total   int64 // bytes of all elements
	workers int
	each    int      // goroutines of each read and write
	decodes float64  // average number of times a source chunk is decoded
	ahead   int64    // number of units that may be begun after the first unfinished one; 0: any number
	sources []*Array // arrays whose regions are read in the order of the units

	// uniform reports, without reading, whether all elements of a region are known to be equal.
	// once then does the work for the whole region. Both are nil if no such information exists.
	uniform func(r Region) bool
	once    func(ctx context.Context, r Region) error
}

// newPlan divides the common elements of dst and src. Each worker holds buffers buffers of one
// unit; all of them together take at most memory bytes.
func newPlan(dst, src Meta, workers int, memory int64, buffers int64) (plan, error) {
	workers, memory, err := limits(workers, memory)
	if err != nil {
		return plan{}, err
	}
	p := plan{size: int(dst.DType.memSize())}
	p.total, _ = grid.Product([]int64{dst.NumElems(), dst.DType.memSize()})
	if p.total == 0 {
		return p, nil
	}
	if memory/buffers < int64(p.size) {
		return plan{}, fmt.Errorf("%w: %d bytes of memory for %d buffers of at least one element of %d bytes",
			ErrParam, memory, buffers, p.size)
	}
	c := cutter{shape: dst.Shape, step: dst.ChunkShape, cover: src.ChunkShape, size: int64(p.size)}
	c.init()

	// The cost model treats reads as sequential, as they are under libhdf5's global lock, and the
	// rest as parallel. Fewer workers with larger units win if that saves repeated decoding of
	// chunks.
	best := math.Inf(1)
	var unit []int64
	for w := workers; w > 0; w /= 2 {
		limit := memory / (int64(w) * buffers)
		if c.bytes(c.step) > limit {
			continue
		}
		u := c.grow(limit, w)
		if cost := c.decodes(u) + 1/float64(w); cost < best {
			best, unit, p.workers = cost, u, w
		}
	}
	if unit == nil { // no destination chunk fits: one worker writes it in parts
		unit, p.workers = c.split(memory/buffers), 1
	}
	if p.units, err = grid.New(dst.Shape, unit); err != nil {
		return plan{}, err
	}
	p.count, p.unit, p.decodes = p.units.NumChunks(), c.bytes(unit), c.decodes(unit)
	p.workers = int(min(int64(p.workers), p.count))
	p.divide(workers)
	return p, nil
}

// divide sets the number of goroutines of each read and write, if all of them together may have the
// given number of goroutines; 0 means GOMAXPROCS.
func (p *plan) divide(goroutines int) {
	p.each = max(1, cmp.Or(goroutines, runtime.GOMAXPROCS(0))/max(p.workers, 1))
}

// limits replaces zeros by the defaults.
func limits(workers int, memory int64) (int, int64, error) {
	if workers < 0 || memory < 0 {
		return 0, 0, fmt.Errorf("%w: %d workers, %d bytes of memory", ErrParam, workers, memory)
	}
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if memory == 0 {
		memory = defaultMemory
	}
	return workers, memory, nil
}

// chunkPlan makes each chunk of dst a unit. A worker may hold one chunk as stored and one decoded.
// There is at least one worker, whatever the memory.
func chunkPlan(dst Meta, o *CopyOptions) (plan, error) {
	workers, memory, err := limits(o.Workers, o.Memory)
	if err != nil {
		return plan{}, err
	}
	p := plan{size: dst.DType.Size}
	p.total, _ = grid.Product([]int64{dst.NumElems(), int64(dst.DType.Size)})
	if p.total == 0 {
		return p, nil
	}
	if p.units, err = grid.New(dst.Shape, dst.ChunkShape); err != nil {
		return plan{}, err
	}
	c := cutter{shape: dst.Shape, step: dst.ChunkShape, size: int64(p.size)}
	c.init()
	p.count, p.unit = p.units.NumChunks(), c.bytes(c.step)
	p.workers = int(max(1, min(int64(workers), memory/(2*p.unit), p.count)))
	p.divide(workers)
	return p, nil
}

// cutter computes the shape of a unit. All shapes are clipped to the array.
type cutter struct {
	shape []int64
	step  []int64 // a destination chunk; units are multiples of it
	cover []int64 // source chunks; nil if the source has none
	size  int64   // bytes of an element
}

func (c *cutter) init() {
	switch {
	case c.step != nil:
	case c.cover != nil:
		c.step = c.cover
	default:
		c.step = slices.Repeat([]int64{1}, len(c.shape))
	}
	c.step = c.clip(c.step)
	if c.cover != nil {
		c.cover = c.clip(c.cover)
	}
}

func (c *cutter) clip(shape []int64) []int64 {
	out := slices.Clone(shape)
	for i := range out {
		out[i] = min(out[i], c.shape[i])
	}
	return out
}

func (c *cutter) bytes(unit []int64) int64 {
	n, _ := grid.Product(unit) // does not overflow: inside the array, whose bytes fit 63 bits
	return n * c.size
}

func (c *cutter) count(unit []int64) int64 {
	n := int64(1)
	for i := range unit {
		n *= grid.DivUp(c.shape[i], unit[i])
	}
	return n
}

// decodes returns the average number of times a source chunk is decoded.
func (c *cutter) decodes(unit []int64) float64 {
	n := 1.0
	if c.cover != nil {
		for i := range unit {
			n *= c.decodesAlong(i, unit[i])
		}
	}
	return n
}

// decodesAlong returns, for one axis, the number of pieces between the borders of units and source
// chunks, divided by the number of source chunks.
func (c *cutter) decodesAlong(axis int, unit int64) float64 {
	n, chunk := c.shape[axis], c.cover[axis]
	borders := func(step int64) int64 { return grid.DivUp(n, step) - 1 }
	shared := int64(0)
	if both, ok := grid.Product([]int64{unit / grid.GCD(unit, chunk), chunk}); ok {
		shared = borders(both)
	}
	pieces := borders(unit) + borders(chunk) - shared + 1
	return float64(pieces) / float64(borders(chunk)+1)
}

// grow enlarges a unit of one step, within limit bytes. It first grows along the axis that saves
// most decoding for its bytes. Small units then grow from the last axis on, as long as w workers
// stay busy.
func (c *cutter) grow(limit int64, w int) []int64 {
	unit := slices.Clone(c.step)
	for c.decodes(unit) > 1 {
		bestGain := 0.0
		var next []int64
		for i := range unit {
			now := c.decodesAlong(i, unit[i])
			for _, n := range c.larger(i, unit[i]) {
				try := slices.Clone(unit)
				try[i] = n
				if n <= unit[i] || c.bytes(try) > limit {
					continue
				}
				gain := math.Log(now/c.decodesAlong(i, n)) / math.Log(float64(n)/float64(unit[i]))
				if gain > bestGain {
					bestGain, next = gain, try
				}
			}
		}
		if next == nil {
			break
		}
		unit = next
	}
	for i := len(unit) - 1; i >= 0; i-- {
		for unit[i] < c.shape[i] && c.bytes(unit) < smallUnit {
			try := slices.Clone(unit)
			try[i] = min(2*unit[i], c.shape[i])
			idle := c.count(try) < 4*int64(w) && c.bytes(unit) >= smallUnit/16
			if c.bytes(try) > limit || idle {
				return unit
			}
			unit = try
		}
	}
	return unit
}

// larger returns candidate lengths after n along an axis: for half as many units, for one unit
// less, the least common multiple with source chunks, and the whole axis.
func (c *cutter) larger(axis int, n int64) []int64 {
	end, step := c.shape[axis], c.step[axis]
	units := grid.DivUp(end, n)
	out := []int64{end}
	for _, fewer := range []int64{grid.DivUp(units, 2), units - 1} {
		if fewer > 0 {
			out = append(out, grid.RoundUp(grid.DivUp(end, fewer), step, end))
		}
	}
	if both, ok := grid.Product([]int64{step / grid.GCD(step, c.cover[axis]), c.cover[axis]}); ok {
		out = append(out, min(both, end))
	}
	return out
}

// split divides one step into parts of at most limit bytes, along the first axes.
func (c *cutter) split(limit int64) []int64 {
	unit := slices.Clone(c.step)
	for i := range unit {
		row := c.bytes(unit) / unit[i]
		unit[i] = min(unit[i], max(limit/row, 1))
		if c.bytes(unit) <= limit {
			break
		}
	}
	return unit
}

// run calls work for every unit, from p.workers goroutines. Each goroutine has its own buffers, as
// large as a unit; there are fewer goroutines if operations that run already have the memory of the
// process. For adjacent units that are known to have equal elements run calls p.once instead. The
// first error or a cancelled context ends all goroutines; run returns when they have ended.
func (p plan) run(ctx context.Context, buffers int, progress func(Progress), work func(ctx context.Context, n int64, r Region, b [][]byte) error) error {
	if p.total == 0 {
		return ctx.Err()
	}
	var (
		mu    sync.Mutex // serializes calls of progress
		state = Progress{TotalBytes: p.total, TotalUnits: p.count}
		gate  = &ordered.Gate{Ahead: math.MaxInt64}
	)
	if p.ahead > 0 {
		gate.Ahead = p.ahead
	}
	for _, a := range p.sources {
		defer a.prefetch(ctx, p.regions())()
	}
	todo := p.tasks()
	need := int64(buffers) * p.unit // bytes of a worker
	grant := budget.Lend(int64(p.workers)*need, need)
	defer grant.Release()
	workers := max(1, min(int64(p.workers), grant.Bytes()/max(need, 1)))
	group, gctx := errgroup.WithContext(ctx)
	worker := func() error {
		own := make([][]byte, buffers)
		for i := range own {
			own[i] = make([]byte, p.unit)
		}
		part := make([][]byte, buffers)
		do := func(n int64, t task) error {
			if t.uniform {
				return p.once(gctx, t.r)
			}
			for i := range part {
				part[i] = own[i][:t.r.NumElems()*int64(p.size)]
			}
			return work(gctx, n, t.r, part)
		}
		one := func(n int64) (more bool, err error) {
			defer gate.Done(n)
			if err := gctx.Err(); err != nil {
				return false, err
			}
			t, ok := todo.next(n)
			if !ok {
				return false, nil
			}
			if err := do(n, t); err != nil {
				return false, err
			}
			if progress != nil {
				mu.Lock()
				state.DoneBytes += t.r.NumElems() * int64(p.size)
				state.DoneUnits += t.units
				progress(state)
				mu.Unlock()
			}
			return true, nil
		}
		for {
			if more, err := one(gate.Take()); !more {
				return err
			}
		}
	}
	for range workers - 1 {
		group.Go(worker)
	}
	if err := worker(); err != nil { // here, so that a small array needs no goroutine
		group.Go(func() error { return err }) // ends the others
	}
	return group.Wait()
}

// prefetcher is implemented by backends that can fetch stored elements before they are read, so
// that the latency of a remote file does not delay every read.
type prefetcher interface {
	// Prefetch begins to fetch the elements of regions in the background, in bounded memory. The
	// caller calls stop when it reads no more. Errors are those of the reads.
	Prefetch(ctx context.Context, regions readahead.Regions) (stop func())
}

// prefetch calls Prefetch of the backend if it has that method.
func (a *Array) prefetch(ctx context.Context, regions readahead.Regions) (stop func()) {
	stop = func() {}
	_ = a.use("read", func() error {
		if b, ok := As[prefetcher](a.backend); ok {
			stop = b.Prefetch(ctx, regions)
		}
		return nil
	})
	return stop
}

// regions yields the units in order.
func (p *plan) regions() readahead.Regions {
	return func(yield func(start, shape []int64) bool) {
		for n := range p.count {
			if r := p.units.Nth(n); !yield(r.Start, r.Shape) {
				return
			}
		}
	}
}

// task is a unit, or several units whose elements are all equal.
type task struct {
	r       Region
	units   int64
	uniform bool
}

// tasks hands out the tasks of a plan in row-major order of the units.
type tasks struct {
	p     *plan
	mu    sync.Mutex
	boxes []Region // boxes of units, the next one last; unused if p.uniform is nil
}

func (p *plan) tasks() *tasks {
	t := &tasks{p: p}
	if p.uniform != nil {
		t.boxes = []Region{Whole(p.units.Counts)}
	}
	return t
}

// next returns the n-th task, or false if there are no more tasks. It halves a box of units along
// its first long axis until the box is uniform or one unit. Therefore sparse arrays need only a
// small number of boxes.
func (t *tasks) next(n int64) (task, bool) {
	if t.p.uniform == nil {
		if n >= t.p.count {
			return task{}, false
		}
		return task{Region(t.p.units.Nth(n)), 1, false}, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.boxes) > 0 {
		last := len(t.boxes) - 1
		box := t.boxes[last]
		t.boxes = t.boxes[:last]
		units, r := box.NumElems(), Region(t.p.units.Elements(grid.Box(box)))
		if t.p.uniform(r) {
			return task{r, units, true}, true
		}
		if units == 1 {
			return task{r, 1, false}, true
		}
		axis := slices.IndexFunc(box.Shape, func(n int64) bool { return n > 1 })
		far := box.clone()
		box.Shape[axis] /= 2
		far.Start[axis] += box.Shape[axis]
		far.Shape[axis] -= box.Shape[axis]
		t.boxes = append(t.boxes, far, box)
	}
	return task{}, false
}
