// Workers for reading: a context and its buffers for each goroutine.

package frameio

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/meter"
)

// worker holds the context and the buffers of one goroutine that reads chunks. While it is idle,
// its buffers have at most budget.Small bytes each.
type worker struct {
	d    *cblosc.Decompressor
	raw  []byte   // the chunk as stored
	data []byte   // its values, if they cannot be decoded into the caller's buffer
	src  source   // source of the frame, or a twin of it
	twin bool     // src is a twin and must be closed with the worker
	hint *hint    // slot to return to; nil while idle
	held *mapping // mapping in use; nil while idle

	count *meter.Shard
}

// workerPool holds idle workers in slots, which goroutines take and fill without a lock. A
// processor returns to its previous slot, so that two readers do not contend for a cache line and
// the tables of a context stay in the cache of one core.
type workerPool struct {
	src    source // source of the frame
	made   atomic.Uint32
	slots  [64]slot
	hints  sync.Pool // of *hint: one per processor, until the garbage collector frees it
	next   atomic.Uint32
	closed atomic.Bool
}

// slot fills a cache line.
type slot struct {
	idle atomic.Pointer[worker]
	_    [56]byte
}

// hint is the slot that a processor tries first.
type hint struct{ slot uint32 }

func (s *workerPool) take() (*worker, error) {
	if s.closed.Load() {
		return nil, cblosc.ErrClosed
	}
	h, ok := s.hints.Get().(*hint)
	if !ok {
		h = &hint{s.next.Add(1)}
	}
	for i := range uint32(len(s.slots)) {
		slot := &s.slots[(h.slot+i)%uint32(len(s.slots))]
		if slot.idle.Load() == nil {
			continue
		}
		if w := slot.idle.Swap(nil); w != nil {
			w.hint = h
			return w, nil
		}
	}
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return nil, err
	}
	w := &worker{d: d, src: s.src, hint: h, count: meter.Next()}
	if file, ok := s.src.(*fileSource); ok && s.made.Add(1) > 1 { // the first worker uses the frame's file
		if again := file.again(); again != file {
			w.src, w.twin = again, true
		}
	}
	return w, nil
}

// free closes a worker.
func (s *workerPool) free(w *worker) error {
	err := w.d.Close()
	if w.twin {
		err = errors.Join(err, w.src.Close())
	}
	return err
}

// put returns a worker to the pool. It frees the worker if all slots are full.
func (s *workerPool) put(w *worker) error {
	h := w.hint
	w.hint, w.held = nil, nil
	w.raw, w.data = returned(w.raw), returned(w.data)
	defer s.hints.Put(h)
	for i := range uint32(len(s.slots)) {
		slot := &s.slots[(h.slot+i)%uint32(len(s.slots))]
		if !slot.idle.CompareAndSwap(nil, w) {
			continue
		}
		// The pool may have been closed in the meantime: either close has found w, or it is freed
		// here.
		if s.closed.Load() {
			if left := slot.idle.Swap(nil); left != nil {
				return s.free(left)
			}
		}
		return nil
	}
	return s.free(w)
}

// close frees the idle workers. Workers in use are freed when they are put back.
func (s *workerPool) close() error {
	if s.closed.Swap(true) {
		return cblosc.ErrClosed
	}
	var errs []error
	for i := range s.slots {
		if w := s.slots[i].idle.Swap(nil); w != nil {
			errs = append(errs, s.free(w))
		}
	}
	return errors.Join(errs...)
}

// with calls f with a worker from the pool.
func (s *workerPool) with(f func(*worker) error) error {
	w, err := s.take()
	if err != nil {
		return err
	}
	err = f(w)
	if perr := s.put(w); err == nil {
		err = perr
	}
	return err
}

// reading calls f with a worker that may use need bytes for buffers and the context. It waits until
// the process has so many bytes free. It takes the worker afterwards, so that waiting goroutines do
// not hold contexts.
func (s *workerPool) reading(ctx context.Context, need int64, f func(*worker) error) error {
	grant, err := budget.Acquire(ctx, need)
	if err != nil {
		return err
	}
	defer grant.Release()
	return s.with(func(w *worker) error {
		w.count.Chunks.Add(1)
		return f(w)
	})
}

// returned returns b if an idle worker may keep it. Otherwise it makes b available to other readers
// and returns nil.
func returned(b []byte) []byte {
	if cap(b) <= budget.Small {
		return b
	}
	budget.Put(b)
	return nil
}

// each calls f for 0 to n-1 on at most the given number of goroutines. Each goroutine passes the
// same state to all its calls.
func each[S any](ctx context.Context, s *workerPool, n int64, workers int, state func() S, f func(S, int64) error) error {
	take := func() (S, error) {
		if s.closed.Load() {
			var none S
			return none, cblosc.ErrClosed
		}
		return state(), nil
	}
	return chunked.Each(ctx, n, workers, chunked.AnyOrder, take, func(S) error { return nil },
		func(_ context.Context, x S, k int64) error { return f(x, k) })
}
