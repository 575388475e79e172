// Decoded chunks in memory, from which the next reads of a part of them copy their elements.

package chunkio

import (
	"container/list"
	"sync"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
)

// keptExtra is the number of bytes of an entry without its chunk.
const keptExtra = 256

// keptMost is the maximum number of bytes of all kept chunks, or a quarter of the memory of reads
// if that is less. Tests change it.
var keptMost int64 = 64 << 20

// kept is the cache of the process. It contains chunks of files that cannot change.
var kept = cache{}

// cache contains decoded chunks of any number of datasets, which it finds in dataset.kept.
type cache struct {
	mu     sync.Mutex
	order  list.List // of *keptChunk, the least recently used first
	bytes  int64
	grants budget.Grants
}

// keptChunk is a chunk in the cache, or one that a reader still copies from.
type keptChunk struct {
	set    *dataset
	number int64
	data   []byte
	ready  chan struct{} // closed when the chunk is decoded, or cannot be
	valid  bool          // data is the decoded chunk; set before ready is closed

	uses int           // readers; protected by cache.mu, as is elem
	elem *list.Element // nil after it was evicted
}

func init() { budget.OnWait(kept.shrink) }

// keeps reports whether decoded chunks of the dataset may be kept. They are not if blocks of a
// chunk can be decoded alone, and if libhdf5 would not keep them.
func (s *dataset) keeps() bool {
	return s.why == "" && s.file != nil && s.remote == nil && s.pipeline.Len() > 0 && !s.pipeline.Partial() &&
		int64(s.chunkBytes) <= h5.DefaultChunkCache().Bytes
}

// find returns a decoded chunk, or nil. The caller must release it.
func (c *cache) find(s *dataset, number int64) *keptChunk {
	c.mu.Lock()
	k := s.kept[number]
	if k == nil {
		c.mu.Unlock()
		return nil
	}
	k.uses++
	c.order.MoveToBack(k.elem)
	c.mu.Unlock()
	if <-k.ready; k.valid {
		return k
	}
	c.release(k)
	return nil
}

// add returns a chunk that the caller must decode, set ready, and release. It returns nil if there
// is no memory for it, or if another reader decodes it.
func (c *cache) add(s *dataset, number int64) *keptChunk {
	size := int64(s.chunkBytes) + keptExtra
	most := min(keptMost, budget.Limit()/4)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.kept[number] != nil || size > most {
		return nil
	}
	c.evict(most - size)
	if !c.grants.Resize(c.bytes + size) {
		c.grants.Resize(c.bytes)
		return nil
	}
	c.bytes += size
	k := &keptChunk{set: s, number: number, data: budget.Get(s.chunkBytes), ready: make(chan struct{}), uses: 1}
	k.elem = c.order.PushBack(k)
	if s.kept == nil {
		s.kept = make(map[int64]*keptChunk)
	}
	s.kept[number] = k
	return k
}

// decoded sets ready. A chunk that could not be decoded leaves the cache.
func (c *cache) decoded(k *keptChunk, err error) {
	k.valid = err == nil
	close(k.ready)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.remove(k)
		c.grants.Resize(c.bytes)
	}
}

// release ends a use of a chunk.
func (c *cache) release(k *keptChunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.uses--; k.uses == 0 && k.elem == nil {
		budget.Put(k.data)
	}
}

// evict removes the least recently used chunks until at most the given number of bytes is left. The
// caller holds the lock.
func (c *cache) evict(bytes int64) {
	for e := c.order.Front(); e != nil && c.bytes > bytes; e = c.order.Front() {
		c.remove(e.Value.(*keptChunk))
	}
}

// remove removes a chunk from the cache. The caller holds the lock.
func (c *cache) remove(k *keptChunk) {
	if k.elem == nil {
		return
	}
	delete(k.set.kept, k.number)
	c.order.Remove(k.elem)
	k.elem = nil
	c.bytes -= int64(k.set.chunkBytes) + keptExtra
	if k.uses == 0 {
		budget.Put(k.data)
	}
}

// shrink removes chunks of n bytes, because a read waits for memory.
func (c *cache) shrink(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(max(c.bytes-n, 0))
	c.grants.Resize(c.bytes)
}

// drop removes all chunks of a dataset.
func (c *cache) drop(s *dataset) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range s.kept {
		c.remove(k)
	}
	c.grants.Resize(c.bytes)
}
