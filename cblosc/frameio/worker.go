// Workers: a context and its buffers, one for each goroutine that reads.

package frameio

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/inorder"
)

// worker is what one goroutine needs to read chunks.
type worker struct {
	d    *cblosc.Decompressor
	raw  []byte   // the chunk as it is stored
	data []byte   // its values, where they cannot go to the caller's buffer at once
	src  source   // the frame's, or a twin of it
	twin bool     // src is a twin, to be closed with the worker
	hint *hint    // where it is put back, while it is in use
	held *mapping // what it reads from, while it is in use
}

// grown returns b with length n, and its memory if that suffices. Contents are lost.
func grown(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// stock keeps idle workers, in slots that goroutines take and fill without a lock. A
// processor comes back to the slot it had before, so that two readers do not take turns
// at one cache line, nor a context its tables from one core to another.
type stock struct {
	src    source // the frame's
	made   atomic.Uint32
	slots  [64]slot
	hints  sync.Pool // of *hint: one for each processor, as long as the garbage collector leaves it
	next   atomic.Uint32
	closed atomic.Bool
}

// slot has a cache line of its own.
type slot struct {
	idle atomic.Pointer[worker]
	_    [56]byte
}

// hint is where a processor looks first.
type hint struct{ slot uint32 }

func (s *stock) take() (*worker, error) {
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
	w := &worker{d: d, src: s.src, hint: h}
	if file, ok := s.src.(*fileSource); ok && s.made.Add(1) > 1 { // one reader has nobody to share with
		if again := file.again(); again != file {
			w.src, w.twin = again, true
		}
	}
	return w, nil
}

// free ends a worker that nobody will use again.
func (s *stock) free(w *worker) error {
	err := w.d.Close()
	if w.twin {
		err = errors.Join(err, w.src.Close())
	}
	return err
}

// put gives a worker back. More than there are slots for are freed.
func (s *stock) put(w *worker) error {
	h := w.hint
	w.hint, w.held = nil, nil
	defer s.hints.Put(h)
	for i := range uint32(len(s.slots)) {
		slot := &s.slots[(h.slot+i)%uint32(len(s.slots))]
		if !slot.idle.CompareAndSwap(nil, w) {
			continue
		}
		// Closed in the meantime: either close has seen w, or it is seen here.
		if s.closed.Load() {
			if left := slot.idle.Swap(nil); left != nil {
				return s.free(left)
			}
		}
		return nil
	}
	return s.free(w)
}

// close frees the idle workers; those in use are freed when they are put back.
func (s *stock) close() error {
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

// with calls f with a worker of its own.
func (s *stock) with(f func(*worker) error) error {
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

// each calls f for 0 to n-1 on at most that many workers of the stock.
func (s *stock) each(ctx context.Context, n int64, workers int, f func(*worker, int64) error) error {
	return share(ctx, n, workers, n, s.take, s.put, f)
}

// share calls f for 0 to n-1 on at most that many goroutines, 0 for GOMAXPROCS, each
// with what take gives it and put gets back. No call begins that many, ahead, behind the
// first that has not ended. It stops at the first error, and at the end of ctx, which it
// looks at before each call.
func share[W any](ctx context.Context, n int64, workers int, ahead int64, take func() (W, error), put func(W) error, f func(W, int64) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = int(min(int64(workers), n))
	with := func(f func(W) error) error {
		w, err := take()
		if err != nil {
			return err
		}
		err = f(w)
		if perr := put(w); err == nil {
			err = perr
		}
		return err
	}
	if workers <= 1 {
		return with(func(w W) error {
			for i := range n {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := f(w, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g, gctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	turn, done := func() int64 { return next.Add(1) - 1 }, func(int64) {}
	if ahead < n {
		gate := &inorder.Gate{Ahead: ahead}
		turn, done = gate.Take, gate.Done
	}
	for range workers {
		g.Go(func() error {
			return with(func(w W) error {
				for {
					i := turn()
					err := gctx.Err()
					if err == nil && i < n {
						err = f(w, i)
					}
					done(i)
					if err != nil || i >= n {
						return err
					}
				}
			})
		})
	}
	return g.Wait()
}
