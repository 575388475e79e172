// Tuners: who chooses the parameters of each chunk, and hears what came of it.

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

// Tuner chooses the parameters of each chunk, as the next_cparams, next_blocksize and
// update of a blosc2_tuner do. The library gives those a context that shows nothing,
// so a Tuner is not registered there: a [NewTuned] Compressor asks it, and makes its
// context anew whenever the parameters change. A chunk is what a Compressor with
// the same parameters makes of the same data.
//
// Its functions are called one at a time, also by the contexts of a Pool. They must not
// use what calls them. An error or a panic in one is the error of the call that led
// there.
type Tuner interface {
	// Next returns the parameters for the chunk. last are those of the one before, at
	// first those the Compressor was made with. Any but TypeSize may change; what
	// Validate refuses, or another TypeSize, is ErrParam.
	Next(last CParams, c TunerChunk) (CParams, error)

	// Update is called with what Next has said and what was made of it. It is not
	// called for a chunk that could not be made.
	Update(p CParams, c TunerChunk) error
}

// TunerChunk is a chunk that a Tuner is asked for, or told of.
type TunerChunk struct {
	Index int64         // its number in its batch or super-chunk, -1 if it is alone
	Data  []byte        // what it holds; not to be changed or kept
	Chunk []byte        // the chunk, not to be changed or kept; nil for Next
	Time  time.Duration // what Compressor took for it; 0 for Next
}

// NewTuned returns a Compressor whose parameters t chooses, beginning with p; nil means
// DefaultCParams. It makes no chunks of Blosc1, and none with blocks of variable length:
// errors.ErrUnsupported.
func NewTuned(p *CParams, t Tuner) (*Compressor, error) {
	u, err := newTuning("new compressor", p, t)
	if err != nil {
		return nil, err
	}
	return newCompressor(p, nil, u)
}

// NewTunedPool returns a Pool whose Compressors share the tuner t. Which of them asks
// first is chance, so chunks may differ from run to run if t answers by what it was
// told before.
func NewTunedPool(cp *CParams, dp *DParams, t Tuner) (*Pool, error) {
	u, err := newTuning("new pool", cp, t)
	if err != nil {
		return nil, err
	}
	return newPool(cp, dp, u)
}

// tuning is a tuner and what it has said last.
type tuning struct {
	mu    sync.Mutex // of one or many contexts
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

// next asks for the parameters of c.
func (t *tuning) next(c TunerChunk) (p CParams, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = caught(func() error { p, err = t.tuner.Next(t.last, c); return err })
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

// tunedLocked is compressLocked with the parameters that the tuner chooses.
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

// setLocked makes p, which is valid, the parameters of the context.
func (c *Compressor) setLocked(op string, p *CParams) error {
	if *p == c.asked {
		return nil
	}
	params := p.toC()
	var cerr C.goblosc2_err_t
	var effective C.goblosc2_cparams_t
	if C.goblosc2_compressor_set(&cerr, c.h.c, &params, &effective) < 0 {
		return failed(op, "", &cerr)
	}
	c.params, c.asked, c.callsGo = *fromC(&effective), *p, p.usesGo()
	return nil
}
