// Counters of requests.

package remote

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Stats are the counters of an Object or a Client.
type Stats struct {
	Requests int64         // requests that were sent, with retries
	Retries  int64         // requests that repeat a failed one
	Bytes    int64         // received bytes of bodies
	Hits     int64         // blocks that a read found in the cache
	Misses   int64         // blocks that a read waited for
	Waited   time.Duration // time that reads waited for blocks, added over all goroutines
}

// String returns the counters in one line.
func (s Stats) String() string {
	return fmt.Sprintf("%d requests (%d retries), %d bytes, %d cache hits, %d misses, %.3f s waited",
		s.Requests, s.Retries, s.Bytes, s.Hits, s.Misses, s.Waited.Seconds())
}

type counters struct{ requests, retries, bytes, hits, misses, waited atomic.Int64 }

func (c *counters) stats() Stats {
	return Stats{c.requests.Load(), c.retries.Load(), c.bytes.Load(), c.hits.Load(), c.misses.Load(), time.Duration(c.waited.Load())}
}
