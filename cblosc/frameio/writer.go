// Writing frames of many chunks: chunks are compressed in parallel, and header, index and trailer
// are written once at the end.

package frameio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/guard"
)

// Writer writes a new frame, or the new end of one. The result has the same bytes as if the library
// wrote the same chunks one by one, with BLOSC_NTHREADS=1 in its environment. Without that variable
// the library compresses an index of more than about 2,000 chunks with four threads, and its bytes
// differ in every run. In a sparse frame the bytes of every file are the same.
//
// Its methods are safe for concurrent use; each waits for the one before.
type Writer struct {
	mu     sync.Mutex
	path   string
	params Params
	cp     cblosc.CParams
	vlmeta []cblosc.Metalayer // contents compressed
	to     target
	state  error // reason why writing is no longer possible: committed, closed, or an earlier failure
	closed bool

	pipeline
	pending []byte // values that wait until a batch is full
	batch   int    // bytes of values that one worker compresses at a time: whole chunks

	offsets []cframe.Offset
	sums    *sums // checksums of the chunks; nil without Params.Checksums
	totals  totals
	files   int64                  // for a sparse frame: largest file number plus 1
	used    map[cframe.Offset]bool // file numbers in use; nil if only larger numbers are assigned
	ended   bool                   // the last chunk was shorter than the others
	resumed bool                   // the Writer continues an existing frame (Append)
	had     int                    // number of chunks before Append
	lock    *filelock.Lock         // of Append
}

// batchBytes is the number of bytes of values that each worker gets at a time, if a chunk is not
// longer. At this size the cost of passing batches to workers is negligible.
const batchBytes = 1 << 20

// maxChunks is the maximum number of entries of an index.
const maxChunks = chunk.MaxNBytes / 8

// Create starts a frame that Commit moves to path: a file, or a directory if p.Sparse. Before
// Commit all data has a temporary name in the same directory.
//
// It returns cblosc.ErrParam, cblosc.ErrLimit, cblosc.ErrExists if path exists and p.Overwrite is
// not set, or fs.ErrNotExist if the parent directory is missing.
func Create(path string, p *Params) (*Writer, error) {
	const op = "create"
	path, p = filepath.Clean(path), p.filled()
	w, header, err := newWriter(path, p)
	if err != nil {
		return nil, &Error{op, path, -1, err}
	}
	out, err := atomicfile.Create(context.Background(), path, atomicfile.Options{Overwrite: p.Overwrite})
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

// NewWriter starts a contiguous frame at offset 0 of dst, which should be empty: bytes after the
// frame stay. The frame is not valid before Commit. p.Overwrite is ignored.
//
// It returns cblosc.ErrParam, also for p.Sparse, or cblosc.ErrLimit.
func NewWriter(dst io.WriterAt, p *Params) (*Writer, error) {
	const op = "create"
	p = p.filled()
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

// newWriter returns a Writer without its target, and the size of the header in bytes. p is filled.
func newWriter(path string, p *Params) (*Writer, int, error) {
	if err := p.validate(); err != nil {
		return nil, 0, err
	}
	w := &Writer{path: path, params: *p, cp: *p.CParams, totals: totals{chunkSize: -1}}
	if p.Checksums {
		w.sums = new(sums)
	}
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
	return appendHeader(nil, &w.cp, w.params.Sparse, len(w.vlmeta) > 0 || w.sums != nil, w.totals, w.params.Meta)
}

// exists adds cblosc.ErrExists to the error for a path that exists.
func exists(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %w", cblosc.ErrExists, err)
	}
	return err
}

// Write appends values. Every ChunkSize bytes become a chunk, and the rest at the end a shorter
// one. p may have any length; large slices are compressed without a copy. Values may still be
// compressed and stored after Write has returned; the next call returns an error of that.
//
// It returns cblosc.ErrSize after a shorter chunk, cblosc.ErrLimit, cblosc.ErrBroken after a write
// error, or cblosc.ErrClosed.
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
	if lent { // workers must not use the caller's memory after Write returns
		if err := w.drain(); err != nil {
			return n, w.fail(op, err, true)
		}
	}
	return n, nil
}

// WriteChunk appends a compressed chunk unchanged, for example one read from another frame, an item
// of cblosc.Compressor.CompressBatch, or a special chunk. It must hold ChunkSize bytes of values,
// or be the last. The values written before must be whole chunks. The last chunk must hold at least
// one element, and whole elements of the frame's type size.
//
// It returns cblosc.ErrSize, cblosc.ErrFormat for an invalid chunk, cblosc.ErrLimit,
// cblosc.ErrBroken, cblosc.ErrClosed, or errors.ErrUnsupported. errors.ErrUnsupported means a
// Blosc1 chunk, a dictionary, or a codec or filter that is neither safe for any bytes nor in
// Params.Allow. Dictionaries are refused because C-Blosc2 and python-blosc2 cannot read a part of
// such a chunk from a frame; cblosc.SChunk.AppendChunk accepts them.
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
	w.count(o, w.sums.of(b, o), int(h.NBytes))
	w.ended = int(h.NBytes) < w.params.ChunkSize
	return nil
}

// RepeatLast appends the last chunk n more times. It must be a full chunk of zeros, NaNs or
// uninitialized values. Such a chunk takes 8 bytes in the index and no other space, so repeating it
// is cheap.
//
// It returns cblosc.ErrParam for n < 0, for any other last chunk and for a frame without chunks,
// cblosc.ErrLimit, cblosc.ErrBroken, or cblosc.ErrClosed.
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
		return w.fail(op, fmt.Errorf("%w: the last chunk is a partial chunk of special values", cblosc.ErrParam), false)
	}
	if n > maxChunks-k {
		return w.fail(op, tooMany(), false)
	}
	w.offsets = slices.Grow(w.offsets, n)
	sum := w.sums.of(nil, w.offsets[k-1])
	for range n {
		w.count(w.offsets[k-1], sum, w.params.ChunkSize)
	}
	return nil
}

// judge checks whether b can be the next chunk.
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

// judgeChunk checks whether a frame with these parameters can hold the chunk b.
func (w *Writer) judgeChunk(b []byte) (chunk.Header, error) {
	h, err := chunk.ParseHeader(b)
	if err == nil {
		err = guard.Streams(b, guard.Allow(w.params.Allow.Codecs, w.params.Allow.Filters))
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

// fail returns err as an *Error. If broken is set, the frame is half-written and the Writer accepts
// no more data.
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

// place returns the offset for n bytes of one chunk, or of several chunks in a contiguous frame,
// and reserves the space.
func (w *Writer) place(n int64) cframe.Offset {
	o := cframe.Offset(w.totals.cbytes)
	if w.params.Sparse {
		o = w.number(w.totals.cbytes + n)
	}
	w.totals.cbytes += n
	return o
}

// number returns the number of a new file in a sparse frame with cbytes bytes of chunks.
//
// C-Blosc2 3.3 cannot open a frame with a file number above cbytes-32, because it compares file
// numbers with the bound of offsets. A frame of a few small chunks can exceed that after several
// durable writes, because each needs a number that the current index does not use. In that case
// number returns the smallest free number.
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

// count adds a chunk of n bytes of values to the index. sum is its checksum.
func (w *Writer) count(o cframe.Offset, sum uint32, n int) {
	if w.totals.chunkSize < 0 {
		w.totals.chunkSize = int32(n)
	}
	w.offsets = append(w.offsets, o)
	w.sums.add(sum)
	w.totals.nbytes += int64(n)
}

// Commit writes pending values, the index, the trailer and the header. The frame of Create is then
// synced and moved to its path in one step. The frame of Append is synced in place. Afterwards the
// Writer cannot be used.
//
// After an error Close removes the written data, and restores the end of the frame that Append has
// overwritten. It returns cblosc.ErrExists if the path was created in the meantime,
// cblosc.ErrBroken after an earlier error, or cblosc.ErrClosed.
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
	return errors.Join(w.free(), w.lock.Release())
}

func (w *Writer) finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	if w.resumed && len(w.offsets) == w.had {
		return w.to.discard() // no chunks were added
	}
	return w.surround()
}

// surround writes header, index and trailer, and commits.
func (w *Writer) surround() error {
	rest, err := indexChunk(w.offsets, w.sums != nil)
	if err != nil {
		return err
	}
	vlmeta := w.vlmeta
	if w.sums != nil {
		layer, err := w.sums.layer(w.offsets)
		if err != nil {
			return err
		}
		vlmeta = append(slices.Clip(vlmeta), layer)
	}
	rest = appendTrailer(rest, vlmeta)
	w.totals.frameSize = int64(len(w.header()) + len(rest))
	if !w.params.Sparse {
		w.totals.frameSize += w.totals.cbytes
	}
	if err := w.to.finish(w.header(), rest, w.totals.cbytes); err != nil {
		return err
	}
	return w.to.commit()
}

// Close frees the Writer and undoes uncommitted changes. After Commit it does nothing. A second
// Close returns cblosc.ErrClosed.
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
	_ = w.drain() // errors do not matter because the data is discarded
	if err := errors.Join(w.to.discard(), w.free(), w.lock.Release()); err != nil {
		return w.fail(op, err, false)
	}
	return nil
}
