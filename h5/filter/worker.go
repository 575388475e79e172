// What codecs keep between calls, one for each goroutine that uses them at the
// same time.

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

// A worker serves one call at a time. Its buffers are by use; nobody needs two of
// one at a time.
type worker struct {
	*owned
	stages [2][]byte // between the segments of a pipeline, in turn
	block  []byte    // a block, or a chunk with its blocks one after the other
	frame  []byte    // a chunk on its way into a frame
}

// owned is what has to be given back. It does not reach the worker.
type owned struct {
	c           *C.goh5z_state_t // nil if there was no memory
	blosc       *cblosc.Decompressor
	compressors map[cblosc.CParams]*cblosc.Compressor
}

// workers keeps the idle ones. The garbage collector takes what nobody uses, and
// the cleanup gives back what it owned.
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
		panic("filter: a context was closed by somebody else: " + err.Error())
	}
}

func (o *owned) decompressor() (*cblosc.Decompressor, error) {
	var err error
	if o.blosc == nil {
		o.blosc, err = cblosc.NewDecompressor(nil)
	}
	return o.blosc, err
}

// A context has its tables of one set of parameters; a program has few datasets
// at a time, but may have many one after the other.
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

// room returns n bytes of *buf, which grows to hold them.
func room(buf *[]byte, n int) []byte {
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	return (*buf)[:n]
}
