//go:build cgo

// Pool of contexts for many goroutines.

package cblosc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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

// AppendCompressed appends the chunk of src to dst and returns the longer slice. dst keeps its
// length and content after an error. src must not be in the memory between the length and the
// capacity of dst. It returns the errors of Compressor.Compress, except ErrSize for a short dst.
func (p *Pool) AppendCompressed(dst, src []byte) ([]byte, error) {
	c, err := p.compressors.take()
	if err != nil {
		return dst, refused("compress", "", err)
	}
	long, err := c.appendTo("compress", dst, src, alone)
	return long, errors.Join(err, p.compressors.put(c))
}

// AppendDecompressed appends the data of a chunk to dst and returns the longer slice. dst keeps its
// length and content after an error. chunk must not be in the memory between the length and the
// capacity of dst. It returns the errors of Decompressor.Decompress, except ErrSize; memory is
// allocated for at most DParams.MaxBytes.
func (p *Pool) AppendDecompressed(dst, chunk []byte) ([]byte, error) {
	d, err := p.decompressors.take()
	if err != nil {
		return dst, refused("decompress", "", err)
	}
	long, err := d.appendTo("decompress", dst, chunk, alone)
	return long, errors.Join(err, p.decompressors.put(d))
}

// CompressVL is Compressor.CompressVL on a context of the pool. It is for many small records, which
// share a dictionary with CParams.Dict.
func (p *Pool) CompressVL(src *Batch) ([]byte, error) {
	c, err := p.compressors.take()
	if err != nil {
		return nil, refused("compress blocks", "", err)
	}
	b, err := c.CompressVL(src)
	return b, errors.Join(err, p.compressors.put(c))
}

// DecompressVL is Decompressor.DecompressVL on a context of the pool.
func (p *Pool) DecompressVL(dst *Batch, chunk []byte) error {
	d, err := p.decompressors.take()
	if err != nil {
		return refused("decompress blocks", "", err)
	}
	return errors.Join(d.DecompressVL(dst, chunk), p.decompressors.put(d))
}

// VLBlock is Decompressor.VLBlock on a context of the pool.
func (p *Pool) VLBlock(chunk []byte, i int) ([]byte, error) {
	d, err := p.decompressors.take()
	if err != nil {
		return nil, refused("decompress block", "", err)
	}
	b, err := d.VLBlock(chunk, i)
	return b, errors.Join(err, p.decompressors.put(d))
}

// CompressEach appends the chunk of src[i] to dst[i], for each i, on all cores (GOMAXPROCS). It
// copies no item. If items fail, it compresses the others and returns ItemErrors. After the end of
// ctx the error of each item that is not compressed is that of ctx. It returns ErrParam unless dst
// has the length of src.
func (p *Pool) CompressEach(ctx context.Context, dst, src [][]byte) error {
	if len(dst) != len(src) {
		return refused("compress", "", fmt.Errorf("%w: destinations: got %d, want %d, one for each item", ErrParam, len(dst), len(src)))
	}
	return eachItem(ctx, &p.compressors, dst, func(c *Compressor, i int) (err error) {
		dst[i], err = c.appendTo(nameItem("compress", i, len(src)), dst[i], src[i], int64(i))
		return err
	})
}

// DecompressEach appends the data of chunks[i] to dst[i], for each i, on all cores (GOMAXPROCS). If
// items fail, it decompresses the others and returns ItemErrors. DParams.MaxBytes limits the data
// of all items: those that exceed it, in their order, fail with ErrLimit. After the end of ctx the
// error of each item that is not decompressed is that of ctx. It returns ErrParam unless dst has
// the length of chunks.
func (p *Pool) DecompressEach(ctx context.Context, dst, chunks [][]byte) error {
	if len(dst) != len(chunks) {
		return refused("decompress", "", fmt.Errorf("%w: destinations: got %d, want %d, one for each item", ErrParam, len(dst), len(chunks)))
	}
	over := p.dparams.over(chunks)
	return eachItem(ctx, &p.decompressors, dst, func(d *Decompressor, i int) (err error) {
		op := nameItem("decompress", i, len(chunks))
		if err := over[i]; err != nil {
			return refused(op, "", err)
		}
		dst[i], err = d.appendTo(op, dst[i], chunks[i], int64(i))
		return err
	})
}

// over returns the errors of the chunks whose data exceeds MaxBytes together with that of the
// chunks before.
func (p *DParams) over(chunks [][]byte) map[int]error {
	if p.MaxBytes == 0 {
		return nil
	}
	over := make(map[int]error)
	total := 0
	for i, b := range chunks {
		h, err := checkAlone(b, p.Allow)
		if err != nil {
			continue // decompressing it returns the error
		}
		if err := p.checkBytes(total + h.NBytes); err != nil {
			over[i] = err
			continue
		}
		total += h.NBytes
	}
	return over
}

// ItemErrors are the errors of items by their index.
type ItemErrors map[int]error

// Error returns the number of errors and the first one.
func (e ItemErrors) Error() string {
	first := slices.Min(slices.Collect(maps.Keys(e)))
	if len(e) == 1 {
		return e[first].Error()
	}
	return fmt.Sprintf("%d items failed, the first: %v", len(e), e[first])
}

// Unwrap returns the errors in the order of the items.
func (e ItemErrors) Unwrap() []error {
	var list []error
	for _, i := range slices.Sorted(maps.Keys(e)) {
		list = append(list, e[i])
	}
	return list
}

// eachItem calls work for the index of each item of dst, on up to GOMAXPROCS goroutines with a
// context each.
func eachItem[T io.Closer](ctx context.Context, contexts *idleContexts[T], dst [][]byte, work func(c T, i int) error) error {
	var mu sync.Mutex
	failures := make(ItemErrors)
	var next atomic.Int64
	run := func(c T, broken error) {
		for i := int(next.Add(1)) - 1; i < len(dst); i = int(next.Add(1)) - 1 {
			err := cmp.Or(broken, context.Cause(ctx))
			if err == nil {
				err = work(c, i)
			}
			if err != nil {
				mu.Lock()
				failures[i] = err
				mu.Unlock()
			}
		}
	}
	var wg sync.WaitGroup
	var closing error
	for range min(len(dst), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			c, err := contexts.take()
			if err != nil {
				run(c, refused("take context", "", err))
				return
			}
			run(c, nil)
			if err := contexts.put(c); err != nil {
				mu.Lock()
				closing = errors.Join(closing, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	switch {
	case len(failures) == 0:
		return closing
	case closing == nil:
		return failures
	}
	return errors.Join(failures, closing)
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
