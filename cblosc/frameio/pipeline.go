// Pipeline of a Writer: batches of values are compressed in parallel, get their offsets in
// sequence, and are stored in parallel. The caller fills the next batch at the same time.

package frameio

import (
	"math"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// pipeline runs the workers of a Writer. The caller of the Writer owns its fields, except those
// that guard protects.
type pipeline struct {
	idle  chan *part
	parts int             // number of workers created
	block int             // bytes of a block; 0 until the first chunk is compressed
	last  <-chan struct{} // closed when all earlier batches have their offsets; nil without active batches
	taken int             // number of chunks, including active ones

	running sync.WaitGroup
	guard   sync.Mutex
	fault   error // first error
}

// part holds the context and the buffers of one worker for a batch.
type part struct {
	c       *cblosc.Compressor
	in      []byte // the values, if the Writer owns them
	chunks  cblosc.Batch
	out     []byte  // bytes of the chunks that are stored, in sequence
	lengths []int32 // of each chunk in out; 0 for a chunk that exists only in the index
	entries []cframe.Offset
	sums    []uint32      // checksums of the chunks; 0 without Params.Checksums
	at      cframe.Offset // offset of out in the frame
	first   []byte        // the first chunk of a frame, compressed by addPart
}

// report records the first error and returns it.
func (p *pipeline) report(err error) error {
	p.guard.Lock()
	defer p.guard.Unlock()
	if p.fault == nil {
		p.fault = err
	}
	return p.fault
}

// drain waits until all batches are stored.
func (p *pipeline) drain() error {
	p.running.Wait()
	p.last = nil
	return p.report(nil)
}

// send passes the pending values to a worker.
func (w *Writer) send() error { return w.submit(w.pending, true) }

// flush compresses and stores the pending values and waits for all batches.
func (w *Writer) flush() error {
	if len(w.pending) > 0 {
		w.ended = len(w.pending)%w.params.ChunkSize != 0
		if err := w.send(); err != nil {
			return err
		}
	}
	return w.drain()
}

// submit passes values, which must end at the end of a chunk or of the frame, to a worker. If ours
// is set, values is w.pending, which gets another buffer. Otherwise the values belong to the
// caller, who must wait for the worker.
func (w *Writer) submit(values []byte, ours bool) error {
	if err := w.report(nil); err != nil {
		return err
	}
	if w.last == nil {
		w.taken = len(w.offsets)
	}
	size := w.params.ChunkSize
	n := grid.DivUp(len(values), size)
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
		err := p.compress(values, size, w.sums)
		if before != nil {
			<-before
		}
		if w.report(err) != nil { // an error of this batch or an earlier one: there is no valid offset
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

// part returns an idle worker for values.
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

// addPart creates a worker. The library's context keeps its choices for the first chunk: the block
// size, and type size 1 for elements of more than 255 bytes. A Compressor does not keep them, so
// all contexts here get the choices for the first chunk.
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

// compress fills p with the chunks of values, size bytes each; the last may be shorter. sums are
// those of the Writer.
func (p *part) compress(values []byte, size int, sums *sums) error {
	p.lengths, p.entries, p.sums = p.lengths[:0], p.entries[:0], p.sums[:0]
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
		p.sums = append(p.sums, sums.of(b, o))
		n += copy(p.out[n:], b) // moves b only if an earlier chunk exists only in the index
		p.lengths, p.entries = append(p.lengths, int32(len(b))), append(p.entries, o)
	}
	p.out = p.out[:n]
	return nil
}

// enter assigns offsets to the chunks of p, which hold n bytes of values, and counts them.
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
		w.count(o, p.sums[k], min(w.params.ChunkSize, n))
		n -= w.params.ChunkSize
	}
}

// store writes the chunks of p to their offsets.
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

// free closes the contexts of the workers, which must all be idle.
func (p *pipeline) free() error {
	var first error
	for ; p.parts > 0; p.parts-- {
		if err := (<-p.idle).c.Close(); first == nil {
			first = err
		}
	}
	return first
}
