// The block cache of a client.

package remote

import (
	"container/list"
	"runtime"
	"sync"
	"weak"

	"github.com/hyperslab/hyperslab/internal/chunked/budget"
)

const (
	blockShift = 16
	blockSize  = 1 << blockShift // bytes of a block, except the last one of an object

	cacheLeast = 16 << 20 // bytes of blocks that a cache may have in any case
)

// key identifies a block of one version of an object.
type key struct {
	version *version
	number  int64
}

// block is a block that is in the cache or that a request fetches.
type block struct {
	key
	ready chan struct{} // closed when data or err is set
	data  []byte
	err   error

	elem *list.Element // in cache.order; nil until it has data, and after it was evicted
	plan *plan         // the plan that fetched it and waits until it is read; nil otherwise
}

// cache holds blocks. Blocks that a request fetches do not count.
type cache struct {
	mu     sync.Mutex
	blocks map[key]*block
	order  list.List // of blocks with data, the least recently used first
	bytes  int64
	most   int64
	grants *budget.Grants
}

// newCache returns a cache of at most the given number of bytes. Blocks beyond cacheLeast count in
// the memory of the process, and leave the cache when a read needs it.
func newCache(most int64) *cache {
	c := &cache{blocks: make(map[key]*block), most: most, grants: &budget.Grants{}}
	self := weak.Make(c)
	remove := budget.OnWait(func(n int64) {
		if c := self.Value(); c != nil {
			c.shrink(n)
		}
	})
	runtime.AddCleanup(c, func(g *budget.Grants) {
		remove()
		g.Resize(0)
	}, c.grants)
	return c
}

// fits takes or releases grants for the bytes of the cache. It returns false if the process has no
// memory for them.
func (c *cache) fits() bool { return c.grants.Resize(max(c.bytes-cacheLeast, 0)) }

// shrink evicts n bytes of blocks that no plan waits for, down to cacheLeast.
func (c *cache) shrink(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	least := max(c.bytes-n, cacheLeast)
	for e := c.order.Front(); e != nil && c.bytes > least; {
		b := e.Value.(*block)
		if e = e.Next(); b.plan == nil {
			c.evict(b)
		}
	}
	c.fits()
}

// claim returns the block, and whether the caller must fetch it.
func (c *cache) claim(k key) (b *block, mine bool) { return c.claimFor(k, nil) }

// claimFor is claim for a plan, which waits until the block is read.
func (c *cache) claimFor(k key, p *plan) (b *block, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.blocks[k]; b != nil {
		if b.elem != nil {
			c.order.MoveToBack(b.elem)
		}
		return b, false
	}
	b = &block{key: k, ready: make(chan struct{}), plan: p}
	c.blocks[k] = b
	return b, true
}

// has reports whether a block is in the cache or is being fetched.
func (c *cache) has(k key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocks[k] != nil
}

// done sets the data of a claimed block, and evicts others. The block is ready afterwards.
func (c *cache) done(b *block, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.data = data
	b.elem = c.order.PushBack(b)
	c.bytes += int64(len(data))
	for (c.bytes > c.most || !c.fits()) && c.order.Len() > 1 {
		c.evict(c.order.Front().Value.(*block))
	}
	close(b.ready)
}

// failed sets the error of a claimed block, which a later read fetches again.
func (c *cache) failed(b *block, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.err = err
	delete(c.blocks, b.key)
	b.consumed()
	close(b.ready)
}

// evict removes a block with data. The caller holds the lock.
func (c *cache) evict(b *block) {
	c.order.Remove(b.elem)
	b.elem = nil
	delete(c.blocks, b.key)
	c.bytes -= int64(len(b.data))
	b.consumed()
}

// used records that a block was read, so that its plan may fetch another one.
func (c *cache) used(b *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.consumed()
}

// consumed is used for a caller that holds the lock.
func (b *block) consumed() {
	if b.plan != nil {
		b.plan.release()
		b.plan = nil
	}
}

// forget removes all blocks of a version.
func (c *cache) forget(v *version) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, b := range c.blocks {
		if k.version == v && b.elem != nil {
			c.evict(b)
		}
	}
}
