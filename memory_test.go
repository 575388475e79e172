package hyperslab_test

import (
	"context"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// heapPeak calls f and returns the largest increase of the Go heap that it observed meanwhile.
func heapPeak(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	now := func() int64 { metrics.Read(heap); return int64(heap[0].Value.Uint64()) }
	runtime.GC()
	runtime.GC() // the second one frees the contents of a sync.Pool
	base := now()
	var most int64
	var ended atomic.Bool
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for !ended.Load() {
			most = max(most, now())
			time.Sleep(100 * time.Microsecond)
		}
	})
	f()
	ended.Store(true)
	sampler.Wait()
	return most - base
}

// TestSetReadMemory checks the memory of many goroutines that each read one column of a large
// chunk. Together they must use at most the bytes of SetReadMemory for stored and decoded chunks.
func TestSetReadMemory(t *testing.T) {
	for _, x := range []struct {
		location string
		codec    string
		rows     int64 // of a chunk with rows of 4 KiB
		readers  int
		limit    int64
	}{
		{"a.h5:/x", "deflate", 2304, 200, 96 << 20}, // larger than the chunk cache of libhdf5, because libhdf5 reads smaller chunks itself
		{"a.b2nd", "zlib", 256, 1000, 8 << 20},
		{"a.bcolz", "zlib", 256, 1000, 8 << 20},
	} {
		t.Run(x.location, func(t *testing.T) {
			spec := filetest.Int32s(x.rows, 1024)
			spec.ChunkShape = spec.Shape
			spec.Compression = &ndarray.Compression{Codec: x.codec, Level: 1}
			location := filepath.Join(t.TempDir(), x.location)
			d, err := hyperslab.Create(bg, location, spec, nil)
			require.NoError(t, err)
			values := filetest.Count(d.NumElems())
			for i := range values {
				values[i] *= -0x61c88647 // so that the stored chunk is large too
			}
			require.NoError(t, ndarray.Write(bg, d.Array, values, ndarray.Whole(d.Shape())))
			require.NoError(t, d.Commit(bg))
			require.NoError(t, d.Close())

			before := ndarray.SetReadMemory(x.limit)
			defer ndarray.SetReadMemory(before)
			budget.ResetPeak()
			a, err := hyperslab.Open(bg, location, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			column := func(k int) ndarray.Region {
				return ndarray.Region{Start: []int64{0, int64(k % 1024)}, Shape: []int64{x.rows, 1}}
			}
			check := func(k int) {
				got := make([]int32, x.rows)
				if err := ndarray.Read(bg, a, got, column(k)); err != nil {
					t.Error(err)
					return
				}
				for i, v := range got {
					if v != values[i*1024+k%1024] {
						t.Errorf("element %d of column %d: got %d, want %d", i, k, v, values[i*1024+k%1024])
						return
					}
				}
			}
			check(0)
			_, one := budget.Held()
			decoded := x.rows * 4096
			if x.location == "a.b2nd" {
				decoded = 1 // only some blocks of the chunk are needed
			}
			require.GreaterOrEqual(t, one, x.rows*4096+decoded, "the stored and the decoded chunk are counted")
			require.LessOrEqual(t, one, x.limit/2, "several readers fit")

			peak := heapPeak(func() {
				var all sync.WaitGroup
				for k := range x.readers {
					all.Go(func() { check(k) })
				}
				all.Wait()
			})
			now, most := budget.Held()
			t.Logf("one reader acquires %d bytes, %d readers at most %d; limit %d; heap %d", one, x.readers, most, x.limit, peak)
			require.Zero(t, now)
			require.Greater(t, most, one, "several at a time")
			require.LessOrEqual(t, most, x.limit)
			slack := int64(x.readers) * (16 << 10) // small buffers and the results
			require.LessOrEqual(t, peak, 2*x.limit+slack, "in use, and freed but not yet collected")

			full, err := budget.Acquire(bg, x.limit)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(bg)
			failed := make(chan error)
			go func() { failed <- ndarray.Read(ctx, a, make([]int32, x.rows), column(0)) }()
			cancel()
			require.ErrorIs(t, <-failed, context.Canceled, "a waiting read ends with its context")
			full.Release()

			ndarray.SetReadMemory(budget.Small + 1)
			check(1) // a chunk above the limit
			budget.ResetPeak()
			var all sync.WaitGroup
			for k := range 8 {
				all.Go(func() { check(k) })
			}
			all.Wait()
			_, most = budget.Held()
			require.EqualValues(t, budget.Small+1, most, "one at a time")
		})
	}
}
