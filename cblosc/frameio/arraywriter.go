// Writing whole chunks of an existing array: workers arrange blocks and compress, and header, index
// and trailer are written once at the end.

package frameio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/chunked/ordered"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
)

// ArrayOptions describe how the chunks of an array are written. A nil *ArrayOptions means the zero
// value.
type ArrayOptions struct {
	// Rows is the new length of the first axis; 0 keeps it. It must not be smaller than the current
	// length. New elements that are not written are zero, except in chunks that extended past the
	// old end. Those keep their stored content there, as after b2nd_resize.
	Rows int64

	// Durable works as in AppendOptions: if the program or the machine stops, the array is
	// unchanged or complete. Replaced chunks also stay in the file as dead bytes until Compact
	// removes them: WriteArray does not compact. In a sparse frame the new chunk gets a file with
	// another number. Without Durable nothing is synced.
	Durable bool

	// Lock is the lock of the frame, which the caller holds, and of which the writer keeps a
	// reference until Commit or Close. Nil: the writer takes the lock itself, and waits for other
	// writers: without limit for other processes, 10 seconds for a writer of this process. Then it
	// returns ErrLocked.
	Lock *Lock

	// Checksums adds a checksum of each chunk to a frame that has none, or stale ones. It reads all
	// existing chunks and cannot find errors in them. A frame with current checksums keeps them
	// without it.
	Checksums bool

	// Repeated is a chunk of repeated values (cblosc.SpecialChunk), for example of the fill value
	// of the array. WriteRegion stores it for each chunk whose elements have this value. Nil: such
	// chunks are compressed.
	Repeated []byte
}

// ArrayWriter replaces chunks of a b2nd or Caterva array. Without Durable and Repeated the result
// has the same bytes as if the library wrote the same chunks one by one, with BLOSC_NTHREADS=1 in
// its environment. The order of chunks is that of the calls. Within one WriteRegion, and between
// InOrder and Ordered, it is row-major. It does not depend on the number of workers.
//
// All methods except Commit and Close are safe for concurrent use.
type ArrayWriter struct {
	a       *Array // the array with its new shape; chunks are read from the old frame
	w       *Writer
	durable bool
	lock    *filelock.Lock

	repeated []byte // of ArrayOptions
	value    []byte // the value that it repeats

	order atomic.Pointer[chunkQueue] // nil without InOrder

	mu      sync.Mutex // guards the following fields and w
	idle    []*encoder
	nowhere map[int64]bool  // written chunks that are not stored in the frame, for example zeros
	stale   []cframe.Offset // files of a sparse frame that are unused after Commit
	changed bool            // Commit has something to write
	err     error           // reason why writing is no longer possible
	closed  bool
}

// encoder holds the context and the buffers of one goroutine that makes chunks.
type encoder struct {
	c    *cblosc.Compressor
	data []byte // values, block by block
	out  []byte // the chunk
}

// WriteArray opens an array to replace chunks, and to make it longer along its first axis. Changes
// take effect with Commit. Close without Commit restores the end of the file, but chunks that were
// replaced in place are lost. Other writers of this module wait until then.
//
// It returns the errors of OpenArray and Append, cblosc.ErrRegion for invalid Rows, or
// errors.ErrUnsupported for an array whose chunks this package cannot compress. This is the case
// for a codec that needs the shape of the array, a codec parameter, or a dictionary.
func WriteArray(path string, o *ArrayOptions) (*ArrayWriter, error) {
	const op = "write array"
	path = filepath.Clean(path)
	if o == nil {
		o = &ArrayOptions{}
	}
	lock, err := hold(op, o.Lock, path)
	if err != nil {
		return nil, err
	}
	a, err := OpenArray(path)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	w, err := a.writer(o)
	if err != nil {
		return nil, &Error{op, path, -1, errors.Join(err, a.Close(), lock.Release())}
	}
	w.lock = lock
	return w, nil
}

func (a *Array) writer(o *ArrayOptions) (*ArrayWriter, error) {
	size := int64(a.blockBytes) * a.nblocks
	if size > chunk.MaxNBytes {
		return nil, fmt.Errorf("%w: chunks of %d bytes", cblosc.ErrLimit, size)
	}
	w, err := resume(a.f, &AppendOptions{Durable: o.Durable, ChunkSize: int(size)})
	if err != nil {
		return nil, err
	}
	if err := a.plain(w); err != nil {
		return nil, err
	}
	aw := &ArrayWriter{a: a, w: w, durable: o.Durable, nowhere: map[int64]bool{}, changed: o.Rows != 0}
	if o.Checksums && w.sums == nil {
		if n := len(w.vlmeta) + 1; n > cblosc.MaxVLMetalayers {
			return nil, fmt.Errorf("%w: variable-length metalayers with that of checksums: got %d, want at most %d",
				cblosc.ErrLimit, n, cblosc.MaxVLMetalayers)
		}
		w.sums, aw.changed = new(sums), true
		if err := a.f.sum(w.sums); err != nil {
			return nil, err
		}
	}
	if o.Rows != 0 {
		if err := aw.grow(o.Rows); err != nil {
			return nil, err
		}
	}
	if o.Repeated != nil {
		h, err := aw.judge(o.Repeated)
		if err != nil {
			return nil, err
		}
		if h.Special != chunk.RepeatedValue || h.ItemSize() != a.f.TypeSize() {
			return nil, fmt.Errorf("%w: a chunk that repeats no element", cblosc.ErrParam)
		}
		aw.repeated, aw.value = o.Repeated, o.Repeated[len(o.Repeated)-a.f.TypeSize():]
	}
	path := a.f.path
	if w.params.Sparse {
		d, err := openGrownDirectory(path, o.Durable)
		if err != nil {
			return nil, err
		}
		d.lax = !o.Durable
		w.to = d
		return aw, nil
	}
	g, err := openGrownFile(path, a.f.head, o.Durable)
	if err != nil {
		return nil, err
	}
	g.lax = !o.Durable
	if o.Rows != 0 {
		g.header = make([]byte, a.f.head.HeaderSize) // the header contains the shape
		if _, err := g.f.ReadAt(g.header, 0); err != nil {
			return nil, errors.Join(err, g.f.Close())
		}
	}
	w.to = g
	return aw, nil
}

// plain reports whether a context without the shape of the array can compress chunks of a.
func (a *Array) plain(w *Writer) error {
	cp := &w.cp
	if cp.Codec > cblosc.Zstd {
		return fmt.Errorf("%w: chunks of the codec %v, which needs the metadata of the array", errors.ErrUnsupported, cp.Codec)
	}
	for _, f := range cp.Filters {
		if f.ID > cblosc.TruncPrec {
			return fmt.Errorf("%w: chunks with the filter %v, which needs the metadata of the array", errors.ErrUnsupported, f.ID)
		}
	}
	if cp.BlockSize != a.blockBytes {
		return fmt.Errorf("%w: blocks of %d bytes in the frame, the array has blocks of %d", errors.ErrUnsupported, cp.BlockSize, a.blockBytes)
	}
	return nil
}

// grow sets the length of the first axis to rows.
func (w *ArrayWriter) grow(rows int64) error {
	a := w.a
	if a.rank == 0 || rows < a.meta.Shape[0] {
		return fmt.Errorf("%w: %d elements along the first axis of %v; it can grow", cblosc.ErrRegion, rows, a.meta.Shape)
	}
	m := a.meta
	m.Shape = append([]int64{rows}, m.Shape[1:]...)
	for i, l := range w.w.params.Meta {
		if l.Name == b2ndmeta.Name || l.Name == b2ndmeta.CatervaName {
			x := m
			x.Caterva = l.Name == b2ndmeta.CatervaName
			content := x.Append(nil)
			if len(content) != len(l.Content) {
				return fmt.Errorf("%w: a metalayer %q of %d bytes, want %d", errs.ErrInvalidBytes, l.Name, len(l.Content), len(content))
			}
			w.w.params.Meta[i].Content = content
		}
	}
	if err := m.Check(); err != nil {
		return invalid(err)
	}
	n := m.NumChunks()
	if n > maxChunks {
		return tooMany()
	}
	w.w.totals.chunkSize = int32(w.w.params.ChunkSize)
	a.meta = m
	a.grid = chunked.NewLayout(m.Shape, a.grid.Chunk, a.grid.Item)
	zeros := cframe.Offset(-1)<<63 | cframe.Offset(chunk.Zeros)<<56
	for int64(len(w.w.offsets)) < n {
		w.w.offsets = append(w.w.offsets, zeros)
		w.w.sums.add(w.w.sums.of(nil, zeros))
	}
	w.w.totals.nbytes = n * int64(w.w.params.ChunkSize)
	return nil
}

// WriteRegion replaces the elements from start, shape[i] along axis i, with src, in row-major order
// and in the byte order of storage.
//
// The region must consist of whole chunks: along each axis it must start at a chunk boundary, and
// end at one or at the end of the array. len(src) must be shape[0]×…×shape[n-1]×ItemSize bytes. The
// chunks are divided among the workers; 0 workers means GOMAXPROCS.
//
// It stops at the first error, and before the next chunk when ctx ends; some chunks may then have
// been written. It returns cblosc.ErrRegion, cblosc.ErrSize, cblosc.ErrBroken after a write error,
// cblosc.ErrClosed, or ctx.Err.
func (w *ArrayWriter) WriteRegion(ctx context.Context, src []byte, start, shape []int64, workers int) error {
	const op = "write region"
	a := w.a
	p, err := a.plan(start, shape, len(src))
	if err == nil {
		err = w.state()
	}
	if err != nil {
		return &Error{op, a.f.path, -1, err}
	}
	for d, n := range a.grid.Chunk {
		if stop := start[d] + shape[d]; start[d]%n != 0 || stop%n != 0 && stop != a.meta.Shape[d] {
			return &Error{op, a.f.path, -1, fmt.Errorf("%w: start %v shape %v is not whole chunks of %v", cblosc.ErrRegion, start, shape, a.meta.Chunks)}
		}
	}
	// Chunks are passed on in the order of the region. They wait in memory, because at most
	// 2*workers chunks are ahead.
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	put := func(k int64, c []byte, entry cframe.Offset) error {
		return w.accept(p.Number(k), c, entry)
	}
	queue := ordered.New(math.MaxInt, "", put)
	if w.order.Load() == nil { // otherwise that queue orders the chunks of all regions
		put = queue.Put
	}
	err = chunked.Each(ctx, p.Chunks, workers, 2*int64(workers), w.take, w.put, func(_ context.Context, e *encoder, k int64) error {
		q := p.NewPiece()
		p.At(k, q)
		c, entry, err := w.encode(e, src, p, q)
		if err == nil {
			err = put(k, c, entry)
		}
		if err != nil {
			return &Error{op, a.f.path, q.Number, err}
		}
		return nil
	})
	return a.f.wrap(op, errors.Join(err, queue.Close()))
}

// encode makes the chunk that the piece q covers completely.
func (w *ArrayWriter) encode(e *encoder, src []byte, p *chunked.Plan, q *chunked.Piece) (c []byte, entry cframe.Offset, err error) {
	a := w.a
	values := w.w.params.ChunkSize
	if w.repeated != nil && w.repeats(e, src, p, q) {
		return w.repeated, 0, nil
	}
	var data []byte
	if a.direct(p, q) {
		data = src[q.InBuffer : q.InBuffer+int64(values)]
	}
	if data == nil {
		e.data = budget.Grown(e.data, values)
		clear(e.data)
		data = e.data
		a.gather(data, src, p, q)
	}
	// The buffer has exactly the size that the library uses, because its result may depend on the
	// size.
	e.out = budget.Grown(e.out, cblosc.MaxCompressedSize(values))
	n, err := e.c.Compress(e.out, data)
	if err != nil {
		return nil, 0, err
	}
	h, err := chunk.ParseHeader(e.out[:n])
	if err != nil {
		return nil, 0, invalid(err)
	}
	c, entry = stored(h, e.out[:n])
	return c, entry, nil
}

// repeats reports whether all elements of the piece q have the value of Repeated.
func (w *ArrayWriter) repeats(e *encoder, src []byte, p *chunked.Plan, q *chunked.Piece) bool {
	if !bytes.HasPrefix(src[q.InBuffer:], w.value) {
		return false
	}
	e.data = budget.Grown(e.data, w.w.params.ChunkSize)
	boxes.Repeat(e.data, w.value) // beyond the end of the array
	w.a.gather(e.data, src, p, q)
	return bytes.Equal(e.data[len(w.value):], e.data[:len(e.data)-len(w.value)])
}

// stored returns the bytes of a chunk to store and its index entry. The bytes are nil for a special
// chunk that exists only in the index.
func stored(h chunk.Header, b []byte) ([]byte, cframe.Offset) {
	entry, nowhere := special(h)
	if nowhere {
		return nil, entry
	}
	return b, entry
}

// gather copies the elements of q, a chunk clipped to the array, into data block by block.
func (a *Array) gather(data, src []byte, p *chunked.Plan, q *chunked.Piece) {
	var last vec
	for d, n := range q.Count {
		last[d] = (n - 1) / a.block[d]
	}
	var at, none vec
	for more := true; more; more = next(&at, &none, &last, a.rank) {
		var n vec
		number, from := int64(0), q.InBuffer
		for d := range a.rank {
			number += at[d] * a.blockStep[d]
			origin := at[d] * a.block[d]
			n[d] = min(q.Count[d], origin+a.block[d]) - origin
			from += origin * p.Strides[d]
		}
		l := boxes.New(n[:a.rank], a.blockStride[:a.rank], p.Strides, a.f.TypeSize())
		l.Copy(data[int(number)*a.blockBytes:], src[from:])
	}
}

// WriteChunk replaces chunk i, counted in row-major order, with a compressed chunk unchanged. The
// chunk must come from an array with the same chunks and blocks, or be a special one.
//
// It returns cblosc.ErrRegion, cblosc.ErrSize, cblosc.ErrFormat for an invalid chunk,
// errors.ErrUnsupported for a Blosc1 chunk, a dictionary or a codec that is not linked,
// cblosc.ErrBroken, or cblosc.ErrClosed.
func (w *ArrayWriter) WriteChunk(i int64, b []byte) error {
	const op = "write chunk"
	err := w.state()
	if err == nil && (i < 0 || i >= int64(len(w.w.offsets))) {
		err = fmt.Errorf("%w: chunk %d of %d", cblosc.ErrRegion, i, len(w.w.offsets))
	}
	var h chunk.Header
	if err == nil {
		h, err = w.judge(b)
	}
	if err == nil {
		c, entry := stored(h, b)
		err = w.accept(i, c, entry)
	}
	if err != nil {
		return &Error{op, w.a.f.path, i, err}
	}
	return nil
}

// PlaceChunk records in the index of a sparse frame that chunk i is in the chunk file with the
// given number, of size bytes, which the caller writes before Commit. If special is not
// cblosc.NotSpecial, the chunk exists only in the index, and number and size do not matter. The
// chunk must not be stored yet.
//
// It returns cblosc.ErrRegion, cblosc.ErrParam for a contiguous frame and for a stored chunk,
// cblosc.ErrSize for a size that no chunk of the array has, errors.ErrUnsupported for a frame with
// checksums, cblosc.ErrBroken or cblosc.ErrClosed.
func (w *ArrayWriter) PlaceChunk(i, number, size int64, special cblosc.Special) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.err
	most := int64(cblosc.MaxCompressedSize(w.w.params.ChunkSize))
	switch stored := special == cblosc.NotSpecial; {
	case err != nil:
	case i < 0 || i >= int64(len(w.w.offsets)):
		err = fmt.Errorf("%w: chunk %d of %d", cblosc.ErrRegion, i, len(w.w.offsets))
	case !w.w.params.Sparse:
		err = fmt.Errorf("%w: a chunk file of a contiguous frame", cblosc.ErrParam)
	case w.w.sums != nil:
		err = fmt.Errorf("%w: a chunk file in a frame with checksums", errors.ErrUnsupported)
	case !w.w.offsets[i].IsSpecial():
		err = fmt.Errorf("%w: the chunk is stored already", cblosc.ErrParam)
	case stored && (number < 0 || number > math.MaxUint32):
		err = fmt.Errorf("%w: number of a chunk file: got %d", cblosc.ErrParam, number)
	case stored && (size < chunk.ExtendedHeaderSize || size > most):
		err = fmt.Errorf("%w: got %d bytes, want at least %d and at most %d",
			cblosc.ErrSize, size, chunk.ExtendedHeaderSize, most)
	case stored:
		w.changed = true
		w.w.offsets[i] = cframe.Offset(number)
		w.w.files = max(w.w.files, number+1)
		w.w.totals.cbytes += size
	default:
		w.changed = true
		w.nowhere[i] = true
		w.w.offsets[i] = cframe.Offset(-1)<<63 | cframe.Offset(special)<<56
	}
	if err != nil {
		return &Error{"place chunk", w.a.f.path, i, err}
	}
	return nil
}

// judge checks whether b can be a chunk of the array.
func (w *ArrayWriter) judge(b []byte) (chunk.Header, error) {
	h, err := w.w.judgeChunk(b)
	a := w.a
	switch {
	case err != nil:
		return h, err
	case int(h.NBytes) != w.w.params.ChunkSize:
		return h, fmt.Errorf("%w: a chunk of %d bytes of values, the array has chunks of %d", cblosc.ErrSize, h.NBytes, w.w.params.ChunkSize)
	case h.Special == chunk.NotSpecial && int(h.BlockLen()) != min(a.blockBytes, int(h.NBytes)):
		return h, fmt.Errorf("%w: a chunk of blocks of %d bytes, those of the array have %d", cblosc.ErrSize, h.BlockLen(), a.blockBytes)
	}
	return h, nil
}

// Unwritten calls f in order for each special chunk that exists only in the index and was not
// written. In a new array these are all chunks that were not written.
func (w *ArrayWriter) Unwritten(f func(i int64) error) error {
	w.mu.Lock()
	var all []int64
	for i, o := range w.w.offsets {
		if o.IsSpecial() && !w.nowhere[int64(i)] {
			all = append(all, int64(i))
		}
	}
	w.mu.Unlock()
	for _, i := range all {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// HasChunk reports whether chunk i is stored or was written. It returns false for a special chunk
// that exists only in the index and was not written.
func (w *ArrayWriter) HasChunk(i int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i < 0 || i >= int64(len(w.w.offsets)) {
		return false
	}
	return w.nowhere[i] || !w.w.offsets[i].IsSpecial()
}

func (w *ArrayWriter) state() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// store stores chunk i where the library would store it (frame.c, frame_update_chunk): at the old
// offset if the old chunk was not shorter, otherwise at the end.
func (w *ArrayWriter) store(i int64, b []byte, entry cframe.Offset) error {
	w.changed = true
	w.w.sums.set(i, b, entry)
	old := w.w.offsets[i]
	if b == nil {
		w.w.offsets[i] = entry
		w.nowhere[i] = true
		return w.drop(old)
	}
	o, err := w.offsetFor(old, len(b))
	if err != nil {
		return err
	}
	w.w.offsets[i] = o
	return w.w.to.put(b, o)
}

// drop subtracts a replaced chunk of a sparse frame from the totals and records its file as stale.
func (w *ArrayWriter) drop(old cframe.Offset) error {
	if old.IsSpecial() || !w.w.params.Sparse {
		return nil
	}
	n, err := w.length(old)
	w.w.totals.cbytes -= n
	w.stale = append(w.stale, old)
	return err
}

// offsetFor returns the offset for a chunk of n bytes that replaces the one at old.
func (w *ArrayWriter) offsetFor(old cframe.Offset, n int) (cframe.Offset, error) {
	switch {
	case old.IsSpecial():
		return w.w.place(int64(n)), nil
	case w.durable:
		err := w.drop(old)
		return w.w.place(int64(n)), err
	}
	was, err := w.length(old)
	switch {
	case err != nil:
		return 0, err
	case w.w.params.Sparse:
		w.w.totals.cbytes += int64(n) - was
		return old, nil
	case was >= int64(n):
		return old, nil
	}
	return w.w.place(int64(n)), nil
}

// length returns the size of the chunk at o from its header, in bytes.
func (w *ArrayWriter) length(o cframe.Offset) (int64, error) {
	var b [chunk.ExtendedHeaderSize]byte
	n, err := w.a.f.src.read(b[:], o, 0)
	if err != nil {
		return 0, err
	}
	h, err := chunk.ParseHeader(b[:n])
	return int64(h.CBytes), invalid(err)
}

// Commit writes waiting chunks, the index, the trailer and the header. With Durable it also syncs
// them to disk. It leaves the frame as it is if no chunk was written and Rows is 0, because a new
// index can differ in its bytes. Afterwards the ArrayWriter cannot be used. It returns
// cblosc.ErrBroken after an earlier error, or cblosc.ErrClosed.
func (w *ArrayWriter) Commit() error {
	const op = "commit"
	late := w.Ordered(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	if late != nil {
		return late
	}
	if w.err != nil {
		return &Error{op, w.a.f.path, -1, w.err}
	}
	var err error
	if !w.changed {
		err = w.w.to.discard()
	} else if err = w.w.surround(); err == nil && w.durable {
		err = w.removeStale()
	}
	if err != nil {
		w.err = fmt.Errorf("%w: %w", cblosc.ErrBroken, err)
		return &Error{op, w.a.f.path, -1, err}
	}
	w.err = cblosc.ErrClosed
	return errors.Join(w.free(), w.a.Close(), w.lock.Release())
}

// removeStale removes the files that the frame no longer uses.
func (w *ArrayWriter) removeStale() error {
	var errs []error
	for _, o := range w.stale {
		errs = append(errs, os.Remove(filepath.Join(w.a.f.path, cframe.ChunkFile(o))))
	}
	return errors.Join(errs...)
}

// Close frees the ArrayWriter and undoes uncommitted changes, within the limits described in
// WriteArray. After Commit it does nothing. A second Close returns cblosc.ErrClosed.
func (w *ArrayWriter) Close() error {
	const op = "close"
	dropped := w.Ordered(false)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return &Error{op, w.a.f.path, -1, cblosc.ErrClosed}
	}
	w.closed = true
	if errors.Is(w.err, cblosc.ErrClosed) { // committed
		return nil
	}
	w.err = cblosc.ErrClosed
	if err := errors.Join(dropped, w.w.to.discard(), w.free(), w.a.Close(), w.lock.Release()); err != nil {
		return &Error{op, w.a.f.path, -1, err}
	}
	return nil
}

func (w *ArrayWriter) free() error {
	var errs []error
	for _, e := range w.idle {
		errs = append(errs, e.c.Close())
	}
	w.idle = nil
	return errors.Join(errs...)
}

func (w *ArrayWriter) take() (*encoder, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.idle); n > 0 {
		e := w.idle[n-1]
		w.idle = w.idle[:n-1]
		return e, nil
	}
	// The library's context keeps its choice for the first chunk: type size 1 for elements of more
	// than 255 bytes.
	cp := w.w.cp
	if cp.TypeSize > math.MaxUint8 {
		cp.TypeSize = 1
	}
	c, err := cblosc.NewCompressor(&cp)
	if err != nil {
		return nil, err
	}
	return &encoder{c: c}, nil
}

func (w *ArrayWriter) put(e *encoder) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.err, cblosc.ErrClosed) {
		return e.c.Close()
	}
	w.idle = append(w.idle, e)
	return nil
}
