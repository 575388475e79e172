// Tuners, which choose the parameters of each chunk and get the results.

package cblosc

// #include "shim.h"
// #cgo noescape goblosc2_compressor_set
// #cgo nocallback goblosc2_compressor_set
import "C"

import (
	"fmt"
	"sync"
	"time"
)

// Tuner chooses the parameters of each chunk, like next_cparams, next_blocksize and update of a
// blosc2_tuner. The library passes an opaque context to those functions, so a Tuner is not
// registered with the library. Instead a [NewTuned] Compressor calls it and recreates its context
// when the parameters change. A chunk has the same bytes as a chunk of a Compressor with the same
// parameters and data.
//
// The methods are called one at a time, also by the contexts of a Pool. They must not use their
// caller. The compressing call returns an error or a panic of a method as its error.
type Tuner interface {
	// Next returns the parameters for the chunk c. last are the parameters of the previous chunk,
	// or the initial ones of the Compressor. All except TypeSize may change. Parameters that
	// Validate rejects, or another TypeSize, give ErrParam.
	Next(last CParams, c TunerChunk) (CParams, error)

	// Update is called with the parameters from Next and the resulting chunk. It is not called if
	// compression failed.
	Update(p CParams, c TunerChunk) error
}

// TunerChunk describes a chunk to a Tuner.
type TunerChunk struct {
	Index int64         // index in its batch or super-chunk; -1 for a single chunk
	Data  []byte        // uncompressed data; must not be changed or kept
	Chunk []byte        // the chunk, nil for Next; must not be changed or kept
	Time  time.Duration // duration of the compression; 0 for Next
}

// NewTuned returns a Compressor whose parameters t chooses. p are the initial parameters; nil means
// DefaultCParams. The Compressor cannot make Blosc1 chunks or chunks with blocks of variable
// length: errors.ErrUnsupported.
func NewTuned(p *CParams, t Tuner) (*Compressor, error) {
	u, err := newTuning("new compressor", p, t)
	if err != nil {
		return nil, err
	}
	return newCompressor(p, nil, u)
}

// NewTunedPool returns a Pool whose Compressors share the tuner t. The order of their calls is not
// defined, so chunks may differ from run to run if t uses earlier results.
func NewTunedPool(cp *CParams, dp *DParams, t Tuner) (*Pool, error) {
	u, err := newTuning("new pool", cp, t)
	if err != nil {
		return nil, err
	}
	return newPool(cp, dp, u)
}

// tuning is a tuner and the last parameters that it chose.
type tuning struct {
	mu    sync.Mutex // shared by all contexts of a Pool
	tuner Tuner
	last  CParams
}

func newTuning(op string, p *CParams, t Tuner) (*tuning, error) {
	p, err := p.orDefaultOutsideArrays()
	if err == nil && t == nil {
		err = fmt.Errorf("%w: no tuner", ErrParam)
	}
	if err != nil {
		return nil, refused(op, "", err)
	}
	return &tuning{tuner: t, last: *p}, nil
}

// next returns the parameters for c.
func (t *tuning) next(c TunerChunk) (p CParams, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = caught(func() error { p, err = t.tuner.Next(t.last, c); return err })
	p = *p.WithDefaults()
	if err == nil && p.TypeSize != t.last.TypeSize {
		err = fmt.Errorf("%w: TypeSize = %d of a tuner, want %d as before", ErrParam, p.TypeSize, t.last.TypeSize)
	}
	if err == nil {
		_, err = p.orDefaultOutsideArrays()
	}
	if err == nil {
		t.last = p
	}
	return p, err
}

func (t *tuning) update(p CParams, c TunerChunk) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return caught(func() error { return t.tuner.Update(p, c) })
}

// tunedLocked is compressLocked with the parameters from the tuner.
func (c *Compressor) tunedLocked(op string, dst, src []byte, index int64) (int, error) {
	t := TunerChunk{Index: index, Data: src}
	p, err := c.tuning.next(t)
	if err == nil {
		err = p.checkData(len(src))
	}
	if err == nil {
		err = p.checkRoom(len(dst), len(src))
	}
	if err != nil {
		return 0, refused(op, "", err)
	}
	if err := c.setLocked(op, &p); err != nil {
		return 0, err
	}
	start := time.Now()
	n, err := c.compressLocked(op, dst, src, index)
	if err != nil {
		return 0, err
	}
	t.Chunk, t.Time = dst[:n:n], time.Since(start)
	if err := c.tuning.update(p, t); err != nil {
		return 0, refused(op, "", err)
	}
	return n, nil
}

// setLocked sets the parameters of the context to p, which must be valid.
func (c *Compressor) setLocked(op string, p *CParams) error {
	if *p == c.requested {
		return nil
	}
	params := p.toC()
	var cerr C.goblosc2_err_t
	var effective C.goblosc2_cparams_t
	if C.goblosc2_compressor_set(&cerr, c.h.c, &params, &effective) < 0 {
		return failed(op, "", &cerr)
	}
	c.params, c.requested, c.callsGo = *fromC(&effective), *p, p.usesGo()
	return nil
}
