// Reads of the parts at URLs before their elements are needed.

package plan

import (
	"context"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// mostAhead is the maximum size in bytes of elements that are fetched from all parts at the same
// time: a quarter of the cache of a client with default options.
const mostAhead = 64 << 20

// prefetcher is implemented by backends of parts that can fetch elements before they are read.
type prefetcher interface {
	Prefetch(ctx context.Context, regions readahead.Regions) (stop func())
}

// pass is one pass over a box of the joined array. The box of each part is fetched from the first
// use of the part on.
type pass struct {
	ctx context.Context
	box grid.Box

	mu    sync.Mutex
	begun map[int64]func() // stop of each part
}

// Prefetch fetches the elements of regions in the background and in bounded memory, so that reads
// of parts at URLs are merged into few requests. It fetches nothing if the regions lead to the same
// part again and again and do not fit into the cache.
func (j *joined) Prefetch(ctx context.Context, regions readahead.Regions) (stop func()) {
	start, end := readahead.Bounds(regions)
	if start == nil {
		return func() {}
	}
	shape := slices.Clone(end)
	for i := range shape {
		shape[i] -= start[i]
	}
	p := &pass{ctx: ctx, box: grid.Box{Start: start, Shape: shape}, begun: make(map[int64]func())}
	n, ok := grid.Product(append([]int64{int64(j.meta.DType.Size)}, shape...))
	if small := ok && n <= mostAhead; !small && !j.inOrder(regions) {
		return func() {}
	}
	if !j.pass.CompareAndSwap(nil, p) {
		return func() {} // another pass
	}
	return func() {
		j.pass.Store(nil)
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, stop := range p.begun {
			stop()
		}
		p.begun = nil
	}
}

// inOrder reports whether regions in row-major order read one part after the other: each region
// lies in one shard, and before the last axis with several shards a shard is one region thick.
func (j *joined) inOrder(regions readahead.Regions) bool {
	for start, shape := range regions {
		last := -1
		for i, n := range j.stage.Shard {
			if start[i]/n != (start[i]+shape[i]-1)/n {
				return false
			}
			if grid.DivUp(j.meta.Shape[i], n) > 1 {
				last = i
			}
		}
		for i := range max(last, 0) {
			if shape[i] < min(j.stage.Shard[i], j.meta.Shape[i]) {
				return false
			}
		}
		break // the other regions have the same shape, except at the edges
	}
	return true
}

// begin begins to fetch the elements of a part that the current pass needs.
func (j *joined) begin(shard int64, b *openedPart) {
	p := j.pass.Load()
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.begun[shard]; ok || p.begun == nil {
		return
	}
	p.begun[shard] = func() {}
	to, ok := ndarray.As[prefetcher](b.Backend)
	if !ok {
		return
	}
	at := grid.Box(j.stage.region(j.meta.Shape, shard))
	own, ok := at.Intersect(p.box)
	if !ok {
		return
	}
	own = own.Clone()
	for i := range own.Start {
		own.Start[i] -= at.Start[i]
	}
	p.begun[shard] = to.Prefetch(p.ctx, func(yield func(start, shape []int64) bool) { yield(own.Start, own.Shape) })
}
