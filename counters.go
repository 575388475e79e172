// Counters of the process.

package hyperslab

import (
	"time"

	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/meter"
)

// Counters describe the work of this process since its start. Its JSON has the keys below and
// durations in nanoseconds. The work of worker processes for untrusted files is counted only as
// reads of arrays.
type Counters struct {
	Reads        int64 `json:"reads"`         // calls that read elements of an array
	Writes       int64 `json:"writes"`        // calls that wrote elements to an array
	BytesRead    int64 `json:"bytes_read"`    // bytes of elements in memory
	BytesWritten int64 `json:"bytes_written"` // bytes of elements in memory
	Chunks       int64 `json:"chunks"`        // chunks of which goroutines decoded elements; the C libraries' own reads are not counted

	// Calls that had to wait, and the sum of their waiting times: for the lock of a file, for
	// libhdf5, which runs one call at a time, and for memory (SetReadMemory of package ndarray).
	LockWaits     int64         `json:"lock_waits"`
	LockWaited    time.Duration `json:"lock_waited_ns"`
	LibraryWaits  int64         `json:"library_waits"`
	LibraryWaited time.Duration `json:"library_waited_ns"`
	MemoryWaits   int64         `json:"memory_waits"`
	MemoryWaited  time.Duration `json:"memory_waited_ns"`

	Memory int64 `json:"memory"` // bytes that reads use now for stored and decoded chunks

	// Requests of package remote. Cache hits and misses are blocks of 64 KiB.
	Requests     int64 `json:"requests"`
	RequestBytes int64 `json:"request_bytes"` // received bytes of bodies
	CacheHits    int64 `json:"cache_hits"`
	CacheMisses  int64 `json:"cache_misses"`
}

// ReadCounters returns the counters. All except Memory only grow. A call that runs at the same time
// may be counted in some of them.
func ReadCounters() Counters {
	t := meter.Sum()
	held, _ := budget.Held()
	return Counters{
		Reads: t.Reads, Writes: t.Writes, BytesRead: t.BytesRead, BytesWritten: t.BytesWritten, Chunks: t.Chunks,
		LockWaits: meter.Locks.Count.Load(), LockWaited: time.Duration(meter.Locks.Nanos.Load()),
		LibraryWaits: meter.Library.Count.Load(), LibraryWaited: time.Duration(meter.Library.Nanos.Load()),
		MemoryWaits: meter.Memory.Count.Load(), MemoryWaited: time.Duration(meter.Memory.Nanos.Load()), Memory: held,
		Requests: meter.Requests.Load(), RequestBytes: meter.RequestBytes.Load(), CacheHits: meter.CacheHits.Load(), CacheMisses: meter.CacheMisses.Load(),
	}
}
