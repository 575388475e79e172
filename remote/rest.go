// The rest of a small object, which the first request also reads.

package remote

import (
	"context"
	"io"
)

// rest is the response to the first request for an object, of which the first firstRead bytes were
// read. A nil rest is one without further bytes.
type rest struct {
	body   io.Reader
	done   func()
	cancel context.CancelFunc
}

// end ends the response.
func (r *rest) end() {
	if r != nil {
		r.cancel()
		r.done()
	}
}

// receive reads the rest of the object in the background. If that fails, the rest is requested
// again.
func (o *Object) receive(r *rest) {
	var run []*block
	for n := int64(firstRead / blockSize); n < o.blocks(); n++ {
		b, mine := o.c.cache.claim(key{o.v, n})
		if !mine {
			break // another handle fetches the object
		}
		run = append(run, b)
	}
	stop := context.AfterFunc(o.ctx, r.cancel)
	if o.background(func() {
		missing, err := o.blocksOf(run, r.body)
		stop()
		r.end()
		if err != nil {
			o.fetch(missing) // it returns the error
		}
	}) {
		return
	}
	stop()
	r.end()
	for _, b := range run {
		o.c.cache.failed(b, ErrClosed)
	}
}
