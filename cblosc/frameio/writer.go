// Writing frames of many chunks: chunks are compressed in parallel, and everything
// around them is written once, at the end.

package frameio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/internal/atomicfile"
)

// Writer writes a new frame, or the new end of one. Its bytes are those that the library writes when it
// is given the same chunks one by one, with BLOSC_NTHREADS=1 in its environment
// (without it the library compresses its index of more than about 2,000 chunks
// with four threads, and differently on every run); of a sparse frame, the bytes
// of every file.
//
// Its methods are safe for concurrent use; each waits for the one before.
type Writer struct {
	mu     sync.Mutex
	path   string
	params Params
	cp     cblosc.CParams
	vlmeta []cblosc.Metalayer // contents compressed
	to     target
	state  error // why nothing more can be written: committed, closed, or an earlier failure
	closed bool

	pipeline
	pending []byte // values that wait for a batch to be full
	batch   int    // bytes of values that one worker compresses at a time: whole chunks

	offsets []cframe.Offset
	totals  totals
	files   int64                  // of a sparse frame: 1 more than the greatest number of a file
	used    map[cframe.Offset]bool // numbers of files in use; nil if only greater numbers are given
	ended   bool                   // the last chunk was shorter than the others
	resumed bool                   // by Append
	had     int                    // chunks before
}

// batchBytes is how many bytes of values each worker gets at a time, if a chunk is
// not longer: enough that handing them out costs nothing.
const batchBytes = 1 << 20

// maxChunks is the number of entries an index can have.
const maxChunks = chunk.MaxNBytes / 8

// Create starts a frame that becomes path when it is committed: a file, or a
// directory if p.Sparse. Until then everything is under a temporary name beside it.
//
// It returns cblosc.ErrParam, cblosc.ErrLimit, cblosc.ErrExists if path is there
// and p.Overwrite is not set, or fs.ErrNotExist if the directory above is missing.
func Create(path string, p *Params) (*Writer, error) {
	const op = "create"
	path = filepath.Clean(path)
	w, header, err := newWriter(path, p)
	if err != nil {
		return nil, &Error{op, path, -1, err}
	}
	out, err := atomicfile.Create(path, atomicfile.Options{Overwrite: p.Overwrite})
	if err != nil {
		return nil, &Error{op, path, -1, exists(err)}
	}
	if p.Sparse {
		var d *directory
		if d, err = createDirectory(out); err == nil {
			w.to = d
		}
	} else {
		var f *file
		if f, err = createFile(out, header); err == nil {
			w.to = f
		}
	}
	if err != nil {
		return nil, &Error{op, path, -1, errors.Join(err, out.Abort())}
	}
	return w, nil
}

// NewWriter starts a contiguous frame at offset 0 of dst, which must be empty there:
// bytes behind the frame stay. Nothing of it is valid before Commit. p.Overwrite
// has no meaning.
//
// It returns cblosc.ErrParam, also for p.Sparse, or cblosc.ErrLimit.
func NewWriter(dst io.WriterAt, p *Params) (*Writer, error) {
	const op = "create"
	w, header, err := newWriter("", p)
	if err == nil && p.Sparse {
		err = fmt.Errorf("%w: Sparse = true without a directory", cblosc.ErrParam)
	}
	if err != nil {
		return nil, &Error{op, "", -1, err}
	}
	w.to = &writerAt{dst, int64(header)}
	return w, nil
}

// newWriter returns a Writer without its target, and the bytes of the header.
func newWriter(path string, p *Params) (*Writer, int, error) {
	if err := p.Validate(); err != nil {
		return nil, 0, err
	}
	w := &Writer{path: path, params: *p, cp: *p.cparams(), totals: totals{chunkSize: -1}}
	for _, l := range p.VLMeta {
		b, err := compressed(cblosc.DefaultCParams(), l.Content)
		if err != nil {
			return nil, 0, err
		}
		w.vlmeta = append(w.vlmeta, cblosc.Metalayer{Name: l.Name, Content: b})
	}
	header := len(w.header())
	if header > math.MaxInt32 {
		return nil, 0, fmt.Errorf("%w: metalayers of %d bytes", cblosc.ErrLimit, header)
	}
	each := max(1, batchBytes/p.ChunkSize)
	w.batch = each * p.ChunkSize
	return w, header, nil
}

func (w *Writer) header() []byte {
	return appendHeader(nil, &w.cp, w.params.Sparse, len(w.vlmeta) > 0, w.totals, w.params.Meta)
}

// exists adds cblosc.ErrExists to the error of a target that is there.
func exists(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %w", cblosc.ErrExists, err)
	}
	return err
}

// Write appends values: every ChunkSize bytes of what is written become a chunk, the
// rest at the end a shorter one. p may be of any length; large ones are compressed
// where they are. What was written may still be compressed and stored when Write has
// returned; an error of that comes with the next call.
//
// It returns cblosc.ErrSize after a chunk that was shorter, cblosc.ErrLimit,
// cblosc.ErrBroken after an error of writing, or cblosc.ErrClosed.
func (w *Writer) Write(p []byte) (int, error) {
	const op = "write"
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != nil {
		return 0, w.fail(op, w.state, false)
	}
	if w.ended && len(p) > 0 {
		return 0, w.fail(op, fmt.Errorf("%w: %d bytes after a last chunk of fewer than %d", cblosc.ErrSize, len(p), w.params.ChunkSize), false)
	}
	n, lent := 0, false
	for n < len(p) {
		rest := p[n:]
		if len(w.pending) == 0 && len(rest) >= w.batch*w.params.workers() {
			if err := w.submit(rest[:w.batch], false); err != nil {
				return n, w.fail(op, errors.Join(err, w.drain()), true)
			}
			lent = true
			n += w.batch
			continue
		}
		k := min(len(rest), w.batch-len(w.pending))
		w.pending = append(w.pending, rest[:k]...)
		n += k
		if len(w.pending) == w.batch {
			if err := w.send(); err != nil {
				return n, w.fail(op, errors.Join(err, w.drain()), true)
			}
		}
	}
	if lent { // the caller's memory is the caller's again
		if err := w.drain(); err != nil {
			return n, w.fail(op, err, true)
		}
	}
	return n, nil
}

// WriteChunk appends a compressed chunk as it is: one that was read elsewhere, or a
// special one. It must hold ChunkSize bytes of values, or be the last. The values
// written before must be whole chunks.
//
// It returns cblosc.ErrSize, cblosc.ErrFormat for a chunk that is not valid,
// errors.ErrUnsupported for one of Blosc1, with a dictionary, or of a codec or
// filter that is neither safe on any bytes nor in Params.Allow, cblosc.ErrLimit, cblosc.ErrBroken, or cblosc.ErrClosed.
func (w *Writer) WriteChunk(b []byte) error {
	const op = "write chunk"
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != nil {
		return w.fail(op, w.state, false)
	}
	h, err := w.judge(b)
	if err != nil {
		return w.fail(op, err, false)
	}
	if err := w.flush(); err != nil {
		return w.fail(op, err, true)
	}
	if len(w.offsets) >= maxChunks {
		return w.fail(op, tooMany(), false)
	}
	o, nowhere := special(h)
	if !nowhere {
		o = w.place(int64(len(b)))
		if err := w.to.put(b, o); err != nil {
			return w.fail(op, err, true)
		}
	}
	w.count(o, int(h.NBytes))
	w.ended = int(h.NBytes) < w.params.ChunkSize
	return nil
}

// RepeatLast appends the last chunk n times more. It must be a whole one of zeros, NaNs or
// values that were never set, of which a frame has an entry of 8 bytes in its index and no
// more: so n chunks cost as little as they take.
//
// It returns cblosc.ErrParam for n < 0 and for any other last chunk or none, cblosc.ErrLimit,
// cblosc.ErrBroken, or cblosc.ErrClosed.
func (w *Writer) RepeatLast(n int) error {
	const op = "repeat"
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != nil {
		return w.fail(op, w.state, false)
	}
	if n < 0 {
		return w.fail(op, fmt.Errorf("%w: %d chunks", cblosc.ErrParam, n), false)
	}
	if len(w.pending) == 0 {
		if err := w.drain(); err != nil {
			return w.fail(op, err, true)
		}
	}
	k := len(w.offsets)
	if len(w.pending) > 0 || w.ended || k == 0 || !w.offsets[k-1].IsSpecial() {
		return w.fail(op, fmt.Errorf("%w: the last chunk is no whole one of special values", cblosc.ErrParam), false)
	}
	if n > maxChunks-k {
		return w.fail(op, tooMany(), false)
	}
	w.offsets = slices.Grow(w.offsets, n)
	for range n {
		w.count(w.offsets[k-1], w.params.ChunkSize)
	}
	return nil
}

// judge says whether b may be the next chunk.
func (w *Writer) judge(b []byte) (chunk.Header, error) {
	h, err := w.judgeChunk(b)
	size, n := w.params.ChunkSize, int(h.NBytes)
	switch {
	case err != nil:
		return h, err
	case len(w.pending)%size != 0:
		return h, fmt.Errorf("%w: a chunk after %d bytes of the one before, which has %d", cblosc.ErrSize, len(w.pending)%size, size)
	case w.ended:
		return h, fmt.Errorf("%w: a chunk after a last one of fewer than %d bytes", cblosc.ErrSize, size)
	case n < 1 || n > size || n%w.cp.TypeSize != 0:
		return h, fmt.Errorf("%w: a chunk of %d bytes of values, want %d, or a multiple of the type size %d for the last", cblosc.ErrSize, n, size, w.cp.TypeSize)
	}
	return h, nil
}

// judgeChunk says whether b is a chunk that a frame like this can hold.
func (w *Writer) judgeChunk(b []byte) (chunk.Header, error) {
	h, err := chunk.ParseHeader(b)
	if err == nil {
		err = w.params.Allow.Check(b)
	}
	switch {
	case err != nil:
		return h, invalid(err)
	case !h.Extended || h.VLBlocks() || h.Blosc2Flags&(chunk.Flag2Dict|chunk.Flag2Instrumented) != 0:
		return h, fmt.Errorf("%w: a chunk of Blosc1, with a dictionary, with blocks of variable length, or of measurements", errors.ErrUnsupported)
	case (h.Special == chunk.RepeatedValue || h.Special == chunk.NaNs) && h.ItemSize() != w.cp.TypeSize:
		return h, fmt.Errorf("%w: a repeated value of %d bytes, elements have %d", cblosc.ErrSize, h.ItemSize(), w.cp.TypeSize)
	}
	return h, nil
}

// fail returns err as an *Error; if it left the frame half-written, nothing more can
// be written.
func (w *Writer) fail(op string, err error, broken bool) error {
	if broken && w.state == nil {
		w.state = fmt.Errorf("%w: %w", cblosc.ErrBroken, err)
	}
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{op, w.path, -1, err}
}

func tooMany() error { return fmt.Errorf("%w: more than %d chunks", cblosc.ErrLimit, maxChunks) }

// place returns where a chunk, or in a contiguous frame several, of n bytes goes,
// and takes the room.
func (w *Writer) place(n int64) cframe.Offset {
	o := cframe.Offset(w.totals.cbytes)
	if w.params.Sparse {
		o = w.number(w.totals.cbytes + n)
	}
	w.totals.cbytes += n
	return o
}

// number returns the number of a new file of a sparse frame that has cbytes bytes of chunks.
//
// C-Blosc2 3.3 does not open a frame with a number above cbytes-32, because it compares the numbers of
// files with the bound of offsets. A frame of a few small chunks gets there after some durable writes,
// each of which needs a number that the index in use does not have: then the least free number is taken.
func (w *Writer) number(cbytes int64) cframe.Offset {
	o := cframe.Offset(w.files)
	if w.used != nil && int64(o) > cbytes-chunk.ExtendedHeaderSize {
		for o = 0; w.used[o]; o++ {
		}
	}
	w.files = max(w.files, int64(o)+1)
	if w.used != nil {
		w.used[o] = true
	}
	return o
}

// count enters a chunk of n bytes of values in the index.
func (w *Writer) count(o cframe.Offset, n int) {
	if w.totals.chunkSize < 0 {
		w.totals.chunkSize = int32(n)
	}
	w.offsets = append(w.offsets, o)
	w.totals.nbytes += int64(n)
}

// Commit writes what is missing: values that wait, the index, the trailer, the
// header. The frame of Create is then synced and moved to its path, and is there
// whole or not at all; that of Append is synced where it is. Afterwards the Writer
// takes nothing more.
//
// After an error Close removes what was written, and puts the end of the frame back
// that Append has overwritten. It returns cblosc.ErrExists if something has come up at the
// path meanwhile, cblosc.ErrBroken after an earlier error, or cblosc.ErrClosed.
func (w *Writer) Commit() error {
	const op = "commit"
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != nil {
		return w.fail(op, w.state, false)
	}
	if err := w.finish(); err != nil {
		return w.fail(op, exists(err), true)
	}
	w.state = cblosc.ErrClosed
	return w.free()
}

func (w *Writer) finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	if w.resumed && len(w.offsets) == w.had {
		return w.to.discard() // nothing to add
	}
	return w.surround()
}

// surround writes what is around the chunks, and commits.
func (w *Writer) surround() error {
	rest, err := indexChunk(w.offsets)
	if err != nil {
		return err
	}
	rest = appendTrailer(rest, w.vlmeta)
	w.totals.frameSize = int64(len(w.header()) + len(rest))
	if !w.params.Sparse {
		w.totals.frameSize += w.totals.cbytes
	}
	if err := w.to.finish(w.header(), rest, w.totals.cbytes); err != nil {
		return err
	}
	return w.to.commit()
}

// Close ends the Writer; what was not committed is undone. After Commit it does
// nothing. A second Close returns cblosc.ErrClosed.
func (w *Writer) Close() error {
	const op = "close"
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.fail(op, cblosc.ErrClosed, false)
	}
	w.closed = true
	if errors.Is(w.state, cblosc.ErrClosed) { // committed
		return nil
	}
	w.state = cblosc.ErrClosed
	_ = w.drain() // an error of what is undone here is of no matter
	if err := errors.Join(w.to.discard(), w.free()); err != nil {
		return w.fail(op, err, false)
	}
	return nil
}
