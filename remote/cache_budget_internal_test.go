package remote

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/chunked/budget"
)

// fill puts n blocks into a cache.
func fill(c *cache, n int) {
	for i := range n {
		b, mine := c.claim(key{number: int64(i)})
		if mine {
			c.done(b, make([]byte, blockSize))
		}
	}
}

// TestCache_budget checks that the blocks of a cache count in the memory of the process, leave it
// for reads, and are released with the cache.
func TestCache_budget(t *testing.T) {
	const mib = 1 << 20
	for range 20 { // clients of other tests
		runtime.GC()
	}
	previous := budget.SetLimit(32 * mib)
	defer budget.SetLimit(previous)
	before, _ := budget.Held()
	c := newCache(256 * mib)
	fill(c, 1000)
	require.EqualValues(t, 48*mib, c.bytes, "the least size and the limit")
	now, _ := budget.Held()
	require.EqualValues(t, 32*mib, now-before)
	read, err := budget.Acquire(t.Context(), 20*mib)
	require.NoError(t, err)
	require.EqualValues(t, 28*mib, c.bytes)
	fill(c, 1000)
	require.EqualValues(t, 28*mib, c.bytes)
	c.shrink(1 << 40)
	require.EqualValues(t, cacheLeast, c.bytes)
	read.Release()
	fill(c, 400)
	runtime.KeepAlive(c)
	c = nil
	require.Eventually(t, func() bool {
		runtime.GC()
		now, _ := budget.Held()
		return now <= before
	}, 10*time.Second, time.Millisecond)
}
