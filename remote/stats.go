// Counters of requests.

package remote

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hyperslab/hyperslab/internal/meter"
)

// Stats are the counters of a Client.
type Stats struct {
	Requests   int64         // requests that were sent, with retries
	Retries    int64         // requests that repeat a failed one
	Bytes      int64         // received bytes of bodies
	Hits       int64         // blocks that a read found in the cache
	Misses     int64         // blocks that a read waited for
	DiskHits   int64         // blocks that were read from the disk cache
	DiskErrors int64         // blocks that could not be stored in the disk cache
	Unverified int64         // objects whose changes cannot be detected; see Options.OnUnverified
	Waited     time.Duration // time that reads waited for blocks, added over all goroutines
}

// String returns the counters in one line.
func (s Stats) String() string {
	text := fmt.Sprintf("%d requests (%d retries), %d bytes, %d cache hits, %d misses, %.3f s waited",
		s.Requests, s.Retries, s.Bytes, s.Hits, s.Misses, s.Waited.Seconds())
	if s.DiskHits+s.DiskErrors > 0 {
		text += fmt.Sprintf(", %d blocks from disk, %d not stored", s.DiskHits, s.DiskErrors)
	}
	if s.Unverified > 0 {
		text += fmt.Sprintf(", %d objects whose changes cannot be detected", s.Unverified)
	}
	return text
}

// requested counts a request.
func (c *Client) requested() {
	c.count.requests.Add(1)
	meter.Requests.Add(1)
}

type counters struct{ requests, retries, bytes, hits, misses, diskHits, diskErrors, unverified, waited atomic.Int64 }

func (c *counters) stats() Stats {
	return Stats{c.requests.Load(), c.retries.Load(), c.bytes.Load(), c.hits.Load(), c.misses.Load(), c.diskHits.Load(), c.diskErrors.Load(), c.unverified.Load(), time.Duration(c.waited.Load())}
}
