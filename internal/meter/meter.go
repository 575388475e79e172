// Counters.

package meter

import (
	"context"
	"runtime/trace"
	"sync/atomic"
	"time"
)

// The names of regions in traces.
const (
	Open  = "hyperslab.open"
	Read  = "hyperslab.read"
	Write = "hyperslab.write"
)

// Shard contains counters of some arrays and workers. It fills two lines of the processor's cache.
type Shard struct {
	Reads        atomic.Int64 // calls that read elements
	Writes       atomic.Int64 // calls that wrote elements
	BytesRead    atomic.Int64 // bytes of elements in memory
	BytesWritten atomic.Int64
	Chunks       atomic.Int64 // chunks of which a worker read elements

	_ [128 - 5*8]byte
}

var (
	shards [64]Shard
	turn   atomic.Uint32
)

// Next returns the shard of a new array or worker.
func Next() *Shard { return &shards[turn.Add(1)%uint32(len(shards))] }

// Totals are the sums of the counters of all shards.
type Totals struct{ Reads, Writes, BytesRead, BytesWritten, Chunks int64 }

// Sum returns the totals. Calls that run meanwhile may be counted in a part of them.
func Sum() (t Totals) {
	for i := range shards {
		s := &shards[i]
		t.Reads += s.Reads.Load()
		t.Writes += s.Writes.Load()
		t.BytesRead += s.BytesRead.Load()
		t.BytesWritten += s.BytesWritten.Load()
		t.Chunks += s.Chunks.Load()
	}
	return t
}

// Waits counts the waits for one kind of thing. A call that does not wait is not counted.
type Waits struct {
	Count atomic.Int64
	Nanos atomic.Int64 // duration of all waits

	region string
}

// The waits of the process.
var (
	Locks   = Waits{region: "hyperslab.wait.lock"}    // for the lock of a file
	Library = Waits{region: "hyperslab.wait.library"} // for libhdf5
	Memory  = Waits{region: "hyperslab.wait.memory"}  // for the memory of reads
)

// Begin starts a wait. The returned function ends it, in the same goroutine.
func (w *Waits) Begin(ctx context.Context) (end func()) {
	region, began := trace.StartRegion(ctx, w.region), time.Now()
	w.Count.Add(1)
	return func() {
		w.Nanos.Add(int64(time.Since(began)))
		region.End()
	}
}

// Requests of all clients of package remote.
var Requests, RequestBytes, CacheHits, CacheMisses atomic.Int64
