// Distribution of chunks to workers.

package chunked

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/internal/chunked/ordered"
)

// AnyOrder is the value of ahead for calls that do not wait for each other.
const AnyOrder = math.MaxInt64

// Each calls f for 0 to n-1 on at most the given number of goroutines; 0 means GOMAXPROCS. Each
// goroutine uses a value from take and returns it with put. A call waits while its index exceeds
// that of the first unfinished call by ahead or more. Each stops at the first error and returns it.
// It also stops when ctx ends, which it checks before each call.
//
// One of the goroutines is the caller's, so a small number of chunks is done before another
// goroutine has started.
func Each[W any](ctx context.Context, n int64, workers int, ahead int64, take func() (W, error), put func(W) error, f func(ctx context.Context, w W, k int64) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = int(min(int64(workers), n))
	var next atomic.Int64
	turn, done := func() int64 { return next.Add(1) - 1 }, func(int64) {}
	if workers > 1 && ahead < n {
		gate := &ordered.Gate{Ahead: ahead}
		turn, done = gate.Take, gate.Done
	}
	run := func(ctx context.Context) error {
		w, err := take()
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			k := turn()
			if more = k < n; more {
				if err = ctx.Err(); err == nil {
					err = f(ctx, w, k)
				}
			}
			done(k)
		}
		if perr := put(w); err == nil {
			err = perr
		}
		return err
	}
	if workers <= 1 {
		return run(ctx)
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var first error
	var failed sync.Once
	work := func() {
		if err := run(inner); err != nil {
			failed.Do(func() { first = err; cancel() })
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return first
}
