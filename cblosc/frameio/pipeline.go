// The way of values through a Writer: batches are compressed at the same time, get their
// places one after the other, and are stored at the same time again. The caller fills the
// next one meanwhile.

package frameio

import (
	"math"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/internal/ceil"
)

// pipeline is the part of a Writer that works. Its fields are the caller's of the Writer,
// but for what guard guards.
type pipeline struct {
	idle  chan *part
	parts int             // made so far
	block int             // bytes of a block; 0 until the first chunk is compressed
	last  <-chan struct{} // closed when all batches so far have their places; nil if there are none on their way
	taken int             // chunks, with those on their way

	running sync.WaitGroup
	guard   sync.Mutex
	fault   error // the first
}

// part is what one worker has of a batch.
type part struct {
	c       *cblosc.Compressor
	in      []byte // the values, if they are the Writer's
	chunks  cblosc.Batch
	out     []byte  // those of chunks that are stored, one behind the other
	lengths []int32 // of each chunk in out, 0 for one that is nowhere
	entries []cframe.Offset
	at      cframe.Offset // where out goes
	first   []byte        // the first chunk of a frame, which addPart has compressed
}

// report keeps the first error and returns it.
func (p *pipeline) report(err error) error {
	p.guard.Lock()
	defer p.guard.Unlock()
	if p.fault == nil {
		p.fault = err
	}
	return p.fault
}

// drain waits until nothing is on its way.
func (p *pipeline) drain() error {
	p.running.Wait()
	p.last = nil
	return p.report(nil)
}

// send hands the values that wait to a worker.
func (w *Writer) send() error { return w.submit(w.pending, true) }

// flush compresses and stores the values that wait, and what is on its way.
func (w *Writer) flush() error {
	if len(w.pending) > 0 {
		w.ended = len(w.pending)%w.params.ChunkSize != 0
		if err := w.send(); err != nil {
			return err
		}
	}
	return w.drain()
}

// submit hands values, which end a chunk or the frame, to a worker. They are w.pending,
// which then is another buffer, or the caller's, who has to wait.
func (w *Writer) submit(values []byte, ours bool) error {
	if err := w.report(nil); err != nil {
		return err
	}
	if w.last == nil {
		w.taken = len(w.offsets)
	}
	size := w.params.ChunkSize
	n := ceil.Div(len(values), size)
	if w.taken+n > maxChunks {
		return tooMany()
	}
	p, err := w.part(values)
	if err != nil {
		return err
	}
	if ours {
		p.in, w.pending = values, p.in[:0]
	}
	w.taken += n
	before, placed := w.last, make(chan struct{})
	w.last = placed
	w.running.Go(func() {
		defer func() { w.idle <- p }()
		err := p.compress(values, size)
		if before != nil {
			<-before
		}
		if w.report(err) != nil { // of this batch, or of one before, behind which there is no place
			close(placed)
			return
		}
		w.enter(p, len(values))
		close(placed)
		if err := w.store(p); err != nil {
			w.report(err)
		}
	})
	return nil
}

// part returns an idle worker, for values.
func (w *Writer) part(values []byte) (*part, error) {
	if w.idle == nil {
		w.idle = make(chan *part, w.params.workers())
	}
	select {
	case p := <-w.idle:
		return p, nil
	default:
	}
	if w.parts == cap(w.idle) {
		return <-w.idle, nil
	}
	return w.addPart(values)
}

// addPart makes one more worker. The library's context keeps what it chose for the
// first chunk: the block size, and 1 for elements of more than 255 bytes. A
// Compressor forgets both; so all contexts here are given those of the first chunk.
func (w *Writer) addPart(values []byte) (*part, error) {
	var done []byte
	if w.block == 0 {
		var err error
		if done, err = compressed(&w.cp, values[:min(len(values), w.params.ChunkSize)]); err != nil {
			return nil, err
		}
		h, err := chunk.ParseHeader(done)
		if err != nil {
			return nil, invalid(err)
		}
		w.block = int(h.BlockSize)
	}
	cp := w.cp
	cp.BlockSize = w.block
	if cp.TypeSize > math.MaxUint8 {
		cp.TypeSize = 1
	}
	c, err := cblosc.NewCompressor(&cp)
	if err != nil {
		return nil, err
	}
	w.parts++
	return &part{c: c, first: done}, nil
}

// compress fills p with the chunks of values, size bytes each, the last maybe fewer.
func (p *part) compress(values []byte, size int) error {
	p.lengths, p.entries = p.lengths[:0], p.entries[:0]
	if p.first != nil && len(values) <= size {
		p.chunks.Reset()
		p.chunks.Append(p.first)
	} else if in, err := cblosc.NewBatch(values, size); err != nil {
		return err
	} else if err := p.c.CompressBatch(&p.chunks, in); err != nil {
		return err
	}
	p.first = nil
	p.out = p.chunks.Bytes()
	n := 0
	for _, b := range p.chunks.All() {
		h, err := chunk.ParseHeader(b)
		if err != nil {
			return invalid(err)
		}
		o, nowhere := special(h)
		if nowhere {
			b = nil
		}
		n += copy(p.out[n:], b) // which is there already, unless one before is nowhere
		p.lengths, p.entries = append(p.lengths, int32(len(b))), append(p.entries, o)
	}
	p.out = p.out[:n]
	return nil
}

// enter gives the chunks of p, which hold n bytes of values, their places, and counts them.
func (w *Writer) enter(p *part, n int) {
	if !w.params.Sparse {
		p.at = w.place(int64(len(p.out)))
	}
	next := p.at
	for k, length := range p.lengths {
		o := p.entries[k]
		switch {
		case length == 0:
		case w.params.Sparse:
			o = w.place(int64(length))
			p.entries[k] = o
		default:
			o = next
			next += cframe.Offset(length)
		}
		w.count(o, min(w.params.ChunkSize, n))
		n -= w.params.ChunkSize
	}
}

// store writes the chunks of p, whose places are taken.
func (w *Writer) store(p *part) error {
	if !w.params.Sparse {
		if len(p.out) == 0 {
			return nil
		}
		return w.to.put(p.out, p.at)
	}
	at := 0
	for k, n := range p.lengths {
		if n == 0 {
			continue
		}
		if err := w.to.put(p.out[at:at+int(n)], p.entries[k]); err != nil {
			return err
		}
		at += int(n)
	}
	return nil
}

// free closes the contexts of the workers, which are all idle.
func (p *pipeline) free() error {
	var first error
	for ; p.parts > 0; p.parts-- {
		if err := (<-p.idle).c.Close(); first == nil {
			first = err
		}
	}
	return first
}
