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
)

// worker is what one goroutine needs to read chunks.
type worker struct {
	d    *cblosc.Decompressor
	raw  []byte // the chunk as it is stored
	data []byte // its values, where they cannot go to the caller's buffer at once
}

// grown returns b with length n, and its memory if that suffices. Contents are lost.
func grown(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// stock keeps idle workers. Its mutex is held to take and to put one, never while
// a chunk is read or decoded.
type stock struct {
	mu     sync.Mutex
	idle   []*worker
	closed bool
}

func (s *stock) take() (*worker, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, cblosc.ErrClosed
	}
	if n := len(s.idle); n > 0 {
		w := s.idle[n-1]
		s.idle[n-1] = nil
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return w, nil
	}
	s.mu.Unlock()
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return nil, err
	}
	return &worker{d: d}, nil
}

func (s *stock) put(w *worker) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return w.d.Close()
	}
	s.idle = append(s.idle, w)
	return nil
}

// close frees the idle workers; those in use are freed when they are put back.
func (s *stock) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return cblosc.ErrClosed
	}
	s.closed = true
	var errs []error
	for _, w := range s.idle {
		errs = append(errs, w.d.Close())
	}
	s.idle = nil
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
	return share(ctx, n, workers, s.take, s.put, f)
}

// share calls f for 0 to n-1 on at most that many goroutines, 0 for GOMAXPROCS, each
// with what take gives it and put gets back. It stops at the first error, and at the
// end of ctx, which it looks at before each call.
func share[W any](ctx context.Context, n int64, workers int, take func() (W, error), put func(W) error, f func(W, int64) error) error {
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
	for range workers {
		g.Go(func() error {
			return with(func(w W) error {
				for {
					i := next.Add(1) - 1
					if i >= n {
						return nil
					}
					if err := gctx.Err(); err != nil {
						return err
					}
					if err := f(w, i); err != nil {
						return err
					}
				}
			})
		})
	}
	return g.Wait()
}
