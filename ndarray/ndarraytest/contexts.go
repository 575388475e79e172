// Tests of a backend's use of its context: cancellation and the number of goroutines.

package ndarraytest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Size of the array of these tests. A chunk has several rows, and several slabs.
const (
	longRows  = 768
	longChunk = 16      // rows of a chunk
	longRow   = 4 << 12 // bytes of a row: a chunk has 256 KiB, all have 12 MiB
)

// long creates the array and fills it. It returns the Backend, because an Array checks the context
// before it calls the backend.
func (f Factory) long(t *testing.T) (b ndarray.Backend, w ndarray.RegionWriter, data []byte) {
	t.Helper()
	spec := f.adapted(ndarray.Spec{Shape: []int64{longRows, longRow / 4}, ChunkShape: []int64{longChunk, longRow / 4}, DType: int32s().DType})
	b, err := f.Create(t, spec)
	require.NoError(t, err)
	w, ok := ndarray.As[ndarray.RegionWriter](b)
	require.True(t, ok)
	data = make([]byte, longRows*longRow)
	for i := range data {
		data[i] = byte(i >> (i % 4 * 8))
	}
	stamp(data, 1)
	require.NoError(t, w.WriteRegion(bg, data, ndarray.Whole(spec.Shape), 0))
	return b, w, data
}

// stamp marks every chunk's first byte.
func stamp(data []byte, with byte) {
	for at := 0; at < len(data); at += longChunk * longRow {
		data[at] = with
	}
}

// stamped counts the chunks with the mark.
func stamped(data []byte, with byte) (n int) {
	for at := 0; at < len(data); at += longChunk * longRow {
		if data[at] == with {
			n++
		}
	}
	return n
}

// testCancelledMidway checks that a context cancelled before a call stops it. It also checks that a
// context cancelled during the call stops it between two chunks or slabs, so that some of them are
// done and others are not.
func testCancelledMidway(t *testing.T, f Factory) {
	b, w, data := f.long(t)
	defer func() { require.NoError(t, b.Close()) }()
	whole := ndarray.Whole(b.Meta().Shape)
	got := dirty(len(data))

	ended, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, b.ReadRegion(ended, got, whole, 0), context.Canceled)
	require.ErrorIs(t, w.WriteRegion(ended, make([]byte, len(data)), whole, 0), context.Canceled)
	require.NoError(t, b.ReadRegion(bg, got, whole, 0))
	require.Equal(t, len(data)/(longChunk*longRow), stamped(got, 1), "no byte was written")

	// stopsMidway repeats call until it stops with some chunks done and some not.
	stopsMidway := func(what string, call func(ctx context.Context, try byte) error, done func(try byte) int) {
		begin := time.Now()
		require.NoError(t, call(bg, 2))
		took := time.Since(begin)
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			for try := byte(3); try < 100; try++ {
				ctx, cancel := context.WithCancel(bg)
				timer := time.AfterFunc(time.Duration(rand.Int64N(int64(took)+1)), cancel)
				err := call(ctx, try)
				timer.Stop()
				cancel()
				n := done(try)
				if err == nil {
					require.Equal(t, longRows/longChunk, n, "%s: no error, and all is done", what)
					continue
				}
				require.True(t, errors.Is(err, context.Canceled), "%s: %v", what, err)
				if 0 < n && n < longRows/longChunk {
					return
				}
			}
		}
		require.Fail(t, "no call stopped between two chunks", what)
	}
	stopsMidway("write", func(ctx context.Context, try byte) error {
		stamp(data, try)
		return w.WriteRegion(ctx, data, whole, 0)
	}, func(try byte) int {
		require.NoError(t, b.ReadRegion(bg, got, whole, 0))
		return stamped(got, try)
	})
	stamp(data, 1)
	require.NoError(t, w.WriteRegion(bg, data, whole, 0))
	stopsMidway("read", func(ctx context.Context, _ byte) error {
		clear(got)
		return b.ReadRegion(ctx, got, whole, 0)
	}, func(byte) int { return stamped(got, 1) })
}

// testWorkers checks that a call has no more goroutines than it allows, regardless of the
// number of processors. The limit also allows for goroutines that only pass work on or are about to
// end.
func testWorkers(t *testing.T, f Factory) {
	const processors, allowed, others = 32, 2, 8 // others: of the runtime and earlier tests
	before := runtime.GOMAXPROCS(processors)
	defer func() {
		runtime.GC() // see docs/known-issues.md, "Cleanups of Go 1.26"
		runtime.GOMAXPROCS(before)
	}()
	b, w, data := f.long(t)
	defer func() { require.NoError(t, b.Close()) }()
	whole := ndarray.Whole(b.Meta().Shape)
	for what, call := range map[string]func() error{
		"read":  func() error { return b.ReadRegion(bg, data, whole, allowed) },
		"write": func() error { return w.WriteRegion(bg, data, whole, allowed) },
	} {
		var most, stop atomic.Int64
		watched := make(chan struct{})
		running := goroutines() + 1 // the goroutine that counts is included
		go func() {
			defer close(watched)
			for stop.Load() == 0 {
				if n := int64(runtime.NumGoroutine()); n > most.Load() {
					most.Store(max(most.Load(), goroutines()))
				}
				runtime.Gosched()
			}
		}()
		for range 5 {
			require.NoError(t, call(), what)
		}
		stop.Store(1)
		<-watched
		require.LessOrEqual(t, most.Load(), running+allowed+others, what)
	}
}

// goroutines returns the exact number of goroutines. runtime.NumGoroutine sums counters that change
// meanwhile, and can be too high by the number of ended goroutines that move between processors.
func goroutines() int64 {
	n, _ := runtime.GoroutineProfile(make([]runtime.StackRecord, 1)) // it stops all of them
	return int64(n)
}
