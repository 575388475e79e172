//go:build cgo

// Pool of contexts for many goroutines.

package cblosc

import (
	"errors"
	"io"
	"sync"
)

// Pool compresses and decompresses on any number of goroutines concurrently. It creates as many
// contexts as are in use at the same time, and keeps them until Close.
type Pool struct {
	cparams       CParams
	dparams       DParams
	tuned         bool // cparams are the initial parameters of the tuner
	compressors   idleContexts[*Compressor]
	decompressors idleContexts[*Decompressor]
}

// NewPool returns a Pool. Nil parameters mean the defaults. It returns ErrParam.
func NewPool(cp *CParams, dp *DParams) (*Pool, error) { return newPool(cp, dp, nil) }

func newPool(cp *CParams, dp *DParams, t *tuning) (*Pool, error) {
	cp, err := cp.orDefaultOutsideArrays()
	if err != nil {
		return nil, refused("new pool", "", err)
	}
	dp, err = dp.orDefault()
	if err != nil {
		return nil, refused("new pool", "", err)
	}
	c, d := *cp, *dp
	p := &Pool{cparams: c, dparams: d, tuned: t != nil}
	p.compressors.create = func() (*Compressor, error) { return newCompressor(&c, nil, t) }
	p.decompressors.create = func() (*Decompressor, error) { return NewDecompressor(&d) }
	return p, nil
}

// Compress is Compressor.Compress on a context of the pool.
func (p *Pool) Compress(dst, src []byte) (int, error) {
	c, err := p.compressors.take()
	if err != nil {
		return 0, refused("compress", "", err)
	}
	n, err := c.Compress(dst, src)
	return n, errors.Join(err, p.compressors.put(c))
}

// Decompress is Decompressor.Decompress on a context of the pool.
func (p *Pool) Decompress(dst, chunk []byte) (int, error) {
	d, err := p.decompressors.take()
	if err != nil {
		return 0, refused("decompress", "", err)
	}
	n, err := d.Decompress(dst, chunk)
	return n, errors.Join(err, p.decompressors.put(d))
}

// Close frees the contexts. Contexts in use are freed when their call ends. A second Close and
// calls that start after Close return ErrClosed.
func (p *Pool) Close() error {
	if err := errors.Join(p.compressors.close(), p.decompressors.close()); err != nil {
		return refused("close", "", err)
	}
	return nil
}

// idleContexts holds idle contexts of one kind.
type idleContexts[T io.Closer] struct {
	mu     sync.Mutex
	idle   []T
	closed bool
	create func() (T, error)
}

func (s *idleContexts[T]) take() (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	if s.closed {
		return none, ErrClosed
	}
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle[n-1] = none
		s.idle = s.idle[:n-1]
		return c, nil
	}
	return s.create()
}

func (s *idleContexts[T]) put(c T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return c.Close()
	}
	s.idle = append(s.idle, c)
	return nil
}

func (s *idleContexts[T]) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.closed = true
	var errs []error
	for _, c := range s.idle {
		errs = append(errs, c.Close())
	}
	s.idle = nil
	return errors.Join(errs...)
}
