package budget

import (
	"container/list"
	"context"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/meter"
)

// Default is the default limit in bytes. It is sufficient for 16 HDF5 chunks of 4 MiB.
const Default = 256 << 20

// Small is the maximum number of bytes that a read or a block of a cache may use without a Grant.
const Small = 64 << 10

// pool is the limit and the bytes in use. A waiting read does not wait for operations and caches,
// because an operation may wait for this read: it gets its bytes when no other read has any.
type pool struct {
	limit int64

	mu      sync.Mutex
	used    int64     // bytes of all grants
	lent    int64     // bytes of operations
	reads   int       // grants of reads
	waiting list.List // of *waiter, in the order of their calls
}

type waiter struct {
	n     int64
	ready chan struct{} // closed when the bytes are granted
}

var (
	current    atomic.Pointer[pool]
	held, peak atomic.Int64 // bytes of all grants
	caches     sync.Map     // from *func(n int64) to nil
)

func init() { current.Store(&pool{limit: Default}) }

// SetLimit sets the limit in bytes and returns the previous one. A value below 1 changes nothing.
// Grants of the previous limit remain valid and are not counted in the new one.
func SetLimit(limit int64) (previous int64) {
	if limit < 1 {
		return Limit()
	}
	return current.Swap(&pool{limit: limit}).limit
}

// Limit returns the limit in bytes.
func Limit() int64 { return current.Load().limit }

// kind is the use of a grant.
type kind int

const (
	read kind = iota
	operation
	cache
)

// Grant is the permission to use some bytes. The zero value permits Small bytes.
type Grant struct {
	from *pool
	n    int64
	kind kind
}

// Bytes returns the number of bytes.
func (g Grant) Bytes() int64 { return max(g.n, Small) }

// Acquire waits until n bytes are available for a read, or until no other read has bytes if n
// exceeds what operations and caches leave. It returns the error of ctx if ctx ends first.
func Acquire(ctx context.Context, n int64) (Grant, error) {
	if n <= Small {
		return Grant{}, nil
	}
	p := current.Load()
	g := Grant{p, min(n, p.limit), read}
	if err := ctx.Err(); err != nil {
		return Grant{}, err
	}
	if !p.try(g.n, read) {
		if err := p.wait(ctx, g.n); err != nil {
			return Grant{}, err
		}
	}
	count(g.n)
	return g, nil
}

// Lend grants bytes to the buffers of an operation, which reads and writes in turns: at most the
// given number, fewer if other grants leave fewer, and least in any case. It does not wait. A
// quarter of the limit is left to reads.
func Lend(most, least int64) Grant {
	if most <= Small {
		return Grant{}
	}
	p := current.Load()
	if p.free() < most {
		shrink(most)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := max(min(most, p.limit-p.limit/4-p.lent, p.limit-p.used), least, Small+1)
	p.used += n
	p.lent += n
	count(n)
	return Grant{p, n, operation}
}

// Keep grants n bytes to a cache if they are free and no read waits.
func Keep(n int64) (g Grant, ok bool) {
	if n <= Small {
		return Grant{}, true
	}
	p := current.Load()
	if !p.try(n, cache) {
		return Grant{}, false
	}
	count(n)
	return Grant{p, n, cache}, true
}

// keepStep is the number of bytes that Grants takes at a time.
const keepStep = 1 << 20

// Grants are the grants of a cache with many small entries. They are not safe for concurrent use.
type Grants struct{ list []Grant }

// Resize takes or releases grants for all bytes of a cache. It returns false if they are not free.
func (g *Grants) Resize(bytes int64) bool {
	want := int(grid.DivUp(bytes, keepStep))
	for len(g.list) < want {
		one, ok := Keep(keepStep)
		if !ok {
			return false
		}
		g.list = append(g.list, one)
	}
	for len(g.list) > want {
		last := len(g.list) - 1
		g.list[last].Release()
		g.list = g.list[:last]
	}
	return true
}

// OnWait registers a function that releases grants of a cache, n bytes or what it has. It is called
// before a read waits, and when an operation begins. remove ends the registration.
func OnWait(shrink func(n int64)) (remove func()) {
	caches.Store(&shrink, nil)
	return func() { caches.Delete(&shrink) }
}

func shrink(n int64) {
	caches.Range(func(f, _ any) bool {
		(*f.(*func(int64)))(n)
		return true
	})
}

// count adds n to the bytes of all grants.
func count(n int64) {
	now := held.Add(n)
	for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
	}
}

func (p *pool) free() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit - p.used
}

// try grants n bytes to a read or a cache if they are free and no read waits.
func (p *pool) try(n int64, k kind) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting.Len() > 0 || n > p.limit-p.used {
		return false
	}
	p.used += n
	if k == read {
		p.reads++
	}
	return true
}

// wait waits until n bytes are granted to a read.
func (p *pool) wait(ctx context.Context, n int64) error {
	defer meter.Memory.Begin(ctx)()
	shrink(n)
	w := &waiter{n, make(chan struct{})}
	p.mu.Lock()
	e := p.waiting.PushBack(w)
	p.wake()
	p.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-w.ready: // meanwhile
		p.release(n, read)
	default:
		p.waiting.Remove(e)
		p.wake()
	}
	return ctx.Err()
}

// wake grants bytes to the reads that wait, in their order. The caller holds the lock.
func (p *pool) wake() {
	for e := p.waiting.Front(); e != nil; e = p.waiting.Front() {
		w := e.Value.(*waiter)
		if w.n > p.limit-p.used && p.reads > 0 {
			return
		}
		p.waiting.Remove(e)
		p.used += w.n
		p.reads++
		close(w.ready)
	}
}

// release returns bytes. The caller holds the lock.
func (p *pool) release(n int64, k kind) {
	p.used -= n
	switch k {
	case read:
		p.reads--
	case operation:
		p.lent -= n
	}
	p.wake()
}

// Release returns the bytes. It must be called once.
func (g Grant) Release() {
	if g.n > 0 {
		held.Add(-g.n)
		g.from.mu.Lock()
		defer g.from.mu.Unlock()
		g.from.release(g.n, g.kind)
	}
}

// Held returns the bytes of all grants now, and the maximum since the last ResetPeak.
func Held() (now, most int64) { return held.Load(), peak.Load() }

// ResetPeak sets the maximum that Held returns to the present value.
func ResetPeak() { peak.Store(held.Load()) }

// idle holds buffers between two reads, because allocating new memory costs as much as reading a
// chunk. The garbage collector frees them. Each class has four sizes for each power of two, so that
// a buffer is at most a quarter too long and small reads do not keep large buffers alive.
var idle [4 * 64]sync.Pool // of *[]byte

// class returns the first class whose buffers have at least n bytes, and their length. It requires
// n > Small.
func class(n int) (c, size int) {
	e := bits.Len(uint(n-1)) - 3 // n-1 has e+3 bits
	quarters := (n-1)>>e + 1     // 5 to 8
	return 4*e + quarters - 5, quarters << e
}

// Get returns a buffer of n bytes with undefined contents. Buffers of more than Small bytes should
// be returned with Put before the Grant is released.
func Get(n int) []byte {
	if n <= Small {
		return make([]byte, n)
	}
	c, size := class(n)
	if b, ok := idle[c].Get().(*[]byte); ok {
		return (*b)[:n]
	}
	return make([]byte, n, size)
}

// Put makes a buffer of Get available to later calls. It ignores buffers of other sizes.
func Put(b []byte) {
	if cap(b) <= Small {
		return
	}
	if c, size := class(cap(b)); size == cap(b) {
		b = b[:cap(b)]
		idle[c].Put(&b)
	}
}

// Grown returns b with length n if its memory is large enough, else a buffer of Get. The contents
// are undefined.
func Grown(b []byte, n int) []byte {
	if cap(b) < n {
		return Get(n)
	}
	return b[:n]
}
