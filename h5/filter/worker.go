// Workers: codec state kept between calls, one for each goroutine that uses codecs at the same
// time.

package filter

// #include "shim.h"
// #cgo nocallback goh5z_state_new
// #cgo noescape goh5z_state_free
// #cgo nocallback goh5z_state_free
import "C"

import (
	"errors"
	"runtime"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
)

// A worker serves one call at a time. It has one buffer for each use, because no call needs two for
// the same use.
type worker struct {
	*owned
	stages [2][]byte // between the segments of a pipeline, in turn
	block  []byte    // a block, or a chunk with its blocks one after the other
	frame  []byte    // a chunk of a frame that is read in parts
}

// owned contains the C state that must be freed. It must not reference the worker.
type owned struct {
	c           *C.goh5z_state_t // nil if allocation failed
	blosc       *cblosc.Decompressor
	compressors map[cblosc.CParams]*cblosc.Compressor
}

// workers contains the idle workers. The garbage collector removes unused ones, and the cleanup
// frees the state they own.
var workers = sync.Pool{New: func() any {
	w := &worker{owned: &owned{c: C.goh5z_state_new()}}
	runtime.AddCleanup(w, (*owned).close, w.owned)
	return w
}}

func take() *worker { return workers.Get().(*worker) }

func put(w *worker) { workers.Put(w) }

func (o *owned) close() {
	C.goh5z_state_free(o.c)
	var errs []error
	if o.blosc != nil {
		errs = append(errs, o.blosc.Close())
	}
	for _, c := range o.compressors {
		errs = append(errs, c.Close())
	}
	if err := errors.Join(errs...); err != nil {
		panic("filter: a context was closed by another owner: " + err.Error())
	}
}

func (o *owned) decompressor() (*cblosc.Decompressor, error) {
	var err error
	if o.blosc == nil {
		o.blosc, err = cblosc.NewDecompressor(nil)
	}
	return o.blosc, err
}

// maxCompressors is the maximum number of cached contexts, each with its own parameters. A program
// usually writes few datasets at a time, but may write many in sequence.
const maxCompressors = 8

func (o *owned) compressor(p cblosc.CParams) (*cblosc.Compressor, error) {
	if c, ok := o.compressors[p]; ok {
		return c, nil
	}
	c, err := cblosc.NewCompressor(&p)
	if err != nil {
		return nil, err
	}
	if len(o.compressors) >= maxCompressors {
		for q, old := range o.compressors {
			delete(o.compressors, q)
			if err := old.Close(); err != nil {
				return nil, errors.Join(err, c.Close())
			}
			break
		}
	}
	if o.compressors == nil {
		o.compressors = map[cblosc.CParams]*cblosc.Compressor{}
	}
	o.compressors[p] = c
	return c, nil
}

// sized returns n bytes of *buf, which grows to hold them.
func sized(buf *[]byte, n int) []byte {
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	return (*buf)[:n]
}
