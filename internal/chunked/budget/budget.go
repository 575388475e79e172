package budget

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/hyperslab/hyperslab/internal/meter"
)

// Default is the default limit in bytes. It is sufficient for 16 HDF5 chunks of 4 MiB.
const Default = 256 << 20

// Small is the maximum number of bytes that a read may use without a Grant.
const Small = 64 << 10

// budget is the limit and the bytes in use.
type budget struct {
	limit int64
	free  *semaphore.Weighted
}

var (
	current    atomic.Pointer[budget]
	held, peak atomic.Int64 // bytes of all grants
)

func init() { current.Store(newBudget(Default)) }

func newBudget(limit int64) *budget { return &budget{limit, semaphore.NewWeighted(limit)} }

// SetLimit sets the limit in bytes and returns the previous one. A value below 1 changes nothing.
// Grants of the previous limit remain valid and are not counted in the new one.
func SetLimit(limit int64) (previous int64) {
	if limit < 1 {
		return current.Load().limit
	}
	return current.Swap(newBudget(limit)).limit
}

// Grant is the permission to use some bytes. The zero value permits Small bytes.
type Grant struct {
	from *budget
	n    int64
}

// Acquire waits until n bytes are available, or all bytes if n exceeds the limit. It returns the
// error of ctx if ctx ends first.
func Acquire(ctx context.Context, n int64) (Grant, error) {
	if n <= Small {
		return Grant{}, nil
	}
	b := current.Load()
	g := Grant{b, min(n, b.limit)}
	if err := g.wait(ctx); err != nil {
		return Grant{}, err
	}
	now := held.Add(g.n)
	for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
	}
	return g, nil
}

// wait waits until the bytes of the grant are available.
func (g Grant) wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if g.from.free.TryAcquire(g.n) {
		return nil
	}
	defer meter.Memory.Begin(ctx)()
	return g.from.free.Acquire(ctx, g.n)
}

// Release returns the bytes. It must be called once.
func (g Grant) Release() {
	if g.n > 0 {
		held.Add(-g.n)
		g.from.free.Release(g.n)
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
