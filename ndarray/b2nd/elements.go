// Reads and writes of elements: by workers (package cblosc/frameio), or by C-Blosc2 if workers do
// not support the array.
//
// Package frameio and C-Blosc2 must not have the same file open for writing at the same time.
// Therefore a backend is always in one of two states. In the idle state C-Blosc2's array is open,
// and perhaps a frameio.Array for reading. In the writing state only a frameio.ArrayWriter is open.
// A write of whole chunks enters the writing state; every other operation first returns to the idle
// state.

package b2nd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/ndarray"
)

// engine moves elements. Operations hold its lock for reading while they use the open files, and
// for writing to change the state.
type engine struct {
	mu                 sync.RWMutex
	path               string
	noReader, noWriter string // reason why C-Blosc2 reads, or writes, all elements; "" if workers do
	allow              cblosc.Allow
	index              fs.FileInfo // index of a read-only sparse array when opened, else nil

	array   *cblosc.Array  // nil while writing
	reader  *frameio.Array // nil while writing, and until the first read after a change
	writer  *frameio.ArrayWriter
	durable bool   // changes are atomic
	defined bool   // no chunk has uninitialised values
	summed  bool   // each chunk has a checksum, which writes keep
	compare bool   // reads compare checksums: OpenOptions.Checksums
	fresh   bool   // made by Create: the writing state lasts until another operation
	run     []byte // chunk for every chunk that is not written; nil if the fill value is zero

	lock *filelock.Lock // of an array that was opened for writing
	seen fs.FileInfo    // state of indexed after the last change of this array; nil without a lock

	indexed string // the file with the index: the array itself, or a file of a sparse array; "" before see

	placed atomic.Bool // the chunk files need not exist, so that C-Blosc2 cannot open the array again
}

func newEngine(path string, a *cblosc.Array, library bool) *engine {
	e := &engine{path: path, array: a}
	if library {
		e.noReader, e.noWriter = "asked for", "asked for"
	}
	return e
}

// idle calls f with C-Blosc2's array in the idle state. change means that f changes the file.
func (e *engine) idle(change bool, f func(a *cblosc.Array) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.finishWriting(); err != nil {
		return err
	}
	if e.array == nil {
		return ndarray.ErrClosed // after PlaceChunk, or if opening the array again failed before
	}
	if !change {
		return f(e.array)
	}
	if err := errors.Join(e.unchanged(), e.dropReader()); err != nil {
		return err
	}
	return errors.Join(f(e.array), e.see())
}

// see records the state of the file after a change.
func (e *engine) see() (err error) {
	if e.lock == nil {
		return nil
	}
	if e.indexed == "" {
		e.indexed = e.path
		info, err := os.Stat(e.path)
		if err != nil || !info.IsDir() {
			e.seen = info
			return err
		}
		e.indexed = filepath.Join(e.path, cframe.IndexFile)
	}
	e.seen, err = os.Stat(e.indexed)
	return err
}

// unchanged returns ErrReplaced if another program has replaced or changed the file since see. The
// metadata in memory would then overwrite its changes.
func (e *engine) unchanged() error {
	if e.seen == nil {
		return nil
	}
	info, err := os.Stat(e.indexed)
	if err == nil && regularfile.Same(info, e.seen) {
		if e.indexed == e.path {
			return nil
		}
		return e.lock.Check()
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = &fs.PathError{Op: "write", Path: e.path, Err: regularfile.ErrReplaced}
	}
	return err
}

// current is unchanged for operations that read before they write.
func (e *engine) current() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.unchanged()
}

// unwritten reports whether the array is new and all elements have a fill value other than zero.
// The file does not contain them yet.
func (e *engine) unwritten() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.run != nil && e.writer == nil
}

// finishWriting ends the writing state.
func (e *engine) finishWriting() error {
	if e.run != nil {
		if err := e.fill(); err != nil {
			return err
		}
	}
	if e.writer == nil {
		return nil
	}
	w := e.writer
	e.writer = nil
	err := errors.Join(w.Commit(), w.Close())
	if e.placed.Load() {
		return err
	}
	a, oerr := openArray(e.path, cblosc.OpenOptions{Allow: e.allow})
	if oerr == nil {
		e.array = a
	}
	return errors.Join(err, oerr, e.see())
}

// resizeCaterva changes the shape of a Caterva array, whose file must be closed meanwhile. It
// returns the new shape.
func (e *engine) resizeCaterva(shape []int64) ([]int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := errors.Join(e.finishWriting(), e.unchanged(), e.dropReader()); err != nil {
		return nil, err
	}
	if err := e.array.Close(); err != nil {
		return nil, err
	}
	err := caterva.Resize(e.path, shape, e.allow)
	a, oerr := openArray(e.path, cblosc.OpenOptions{Allow: e.allow})
	if oerr == nil {
		e.array = a
	}
	if err := errors.Join(err, oerr, e.see()); err != nil {
		return nil, err
	}
	return a.Shape(), nil
}

// fill writes the fill value to every chunk that was not written.
func (e *engine) fill() error {
	run := e.run
	e.run = nil
	if e.writer == nil {
		return e.putAll(run, all)
	}
	return e.writer.Unwritten(func(i int64) error { return e.writer.WriteChunk(i, run) })
}

// define replaces chunks of uninitialised values by chunks of zeros, as which they are read. It is
// called in the idle state before C-Blosc2 writes a part of a chunk, because C-Blosc2 would store
// old bytes of the process's memory as the other elements.
func (e *engine) define() error {
	if e.defined {
		return nil
	}
	r, err := frameio.OpenArray(e.path)
	if errors.Is(err, errors.ErrUnsupported) {
		e.defined = true
		return nil
	}
	if err != nil {
		return err
	}
	uninit := map[int64]bool{}
	for i := range r.Frame().NumChunks() {
		if r.Frame().Special(i) == cblosc.Uninit {
			uninit[i] = true
		}
	}
	if err := r.Close(); err != nil {
		return err
	}
	if len(uninit) > 0 {
		zeros, err := e.zeros()
		if err != nil {
			return err
		}
		if err := e.putAll(zeros, func(i int64) bool { return uninit[i] }); err != nil {
			return err
		}
		if err := e.finishWriting(); err != nil {
			return err
		}
	}
	e.defined = true
	return nil
}

// zeros returns a chunk of zeros.
func (e *engine) zeros() ([]byte, error) {
	cp, err := e.array.SChunk().CParams()
	if err != nil {
		return nil, err
	}
	cp.BlockSize = e.array.ItemSize() // in bytes: chunks of an array use the array's blocks
	for _, n := range e.array.Blocks() {
		cp.BlockSize *= int(n)
	}
	chunk, err := cblosc.SpecialChunk(cp, cblosc.Zeros, e.array.SChunk().ChunkSize(), nil)
	return chunk, err
}

// all selects every chunk for putAll.
func all(int64) bool { return true }

// putAll replaces the chunks for which is returns true.
func (e *engine) putAll(chunk []byte, is func(i int64) bool) error {
	n := e.array.SChunk().NumChunks()
	put := e.array.SChunk().UpdateChunk
	err := errNoWriter
	if e.noWriter == "" {
		err = e.begin(0)
	}
	switch {
	case err == nil:
		put = e.writer.WriteChunk
	case !errors.Is(err, errNoWriter) && !errors.Is(err, errors.ErrUnsupported):
		return err
	}
	for i := range n {
		if is(i) {
			if err := put(i, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin enters the writing state and sets the number of rows of the array. rows 0 keeps the number.
// After an error the state stays idle.
func (e *engine) begin(rows int64) error {
	if e.writer != nil {
		return nil
	}
	if e.array == nil {
		return ndarray.ErrClosed // if opening the array again failed before
	}
	w, err := frameio.WriteArray(e.path, &frameio.ArrayOptions{Rows: rows, Durable: e.durable, Lock: e.lock, Repeated: e.run, Checksums: e.summed})
	if err != nil {
		return err
	}
	if err := errors.Join(e.dropReader(), e.array.Close()); err != nil {
		return errors.Join(err, w.Close())
	}
	e.array, e.writer = nil, w
	return nil
}

func (e *engine) dropReader() error {
	r := e.reader
	e.reader = nil
	if r == nil {
		return nil
	}
	return r.Close()
}

// reading calls f with exactly one of r and a set.
func (e *engine) reading(f func(r *frameio.Array, a *cblosc.Array) error) error {
	for {
		e.mu.RLock()
		if e.reader != nil || e.noReader != "" && e.run == nil && e.array != nil {
			defer e.mu.RUnlock()
			if e.reader != nil {
				return f(e.reader, nil)
			}
			if err := f(nil, e.array); err != nil {
				return err
			}
			return e.sameIndex()
		}
		e.mu.RUnlock()
		if err := e.openReader(); err != nil {
			return err
		}
	}
}

// sameIndex returns regularfile.ErrReplaced if the index of a sparse array was replaced after
// C-Blosc2 read it. In that case the chunk files may belong to other chunks.
func (e *engine) sameIndex() error {
	if e.index == nil {
		return nil
	}
	path := filepath.Join(e.path, cframe.IndexFile)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !regularfile.Same(e.index, info) {
		return &fs.PathError{Op: "read", Path: path, Err: regularfile.ErrReplaced}
	}
	return nil
}

// openReader opens a frameio.Array for reading, or sets noReader if that is not supported.
func (e *engine) openReader() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.finishWriting(); err != nil || e.reader != nil || e.noReader != "" {
		return err
	}
	r, err := openChecked(e.path, e.summed || e.compare)
	if errors.Is(err, errors.ErrUnsupported) && !e.compare {
		e.noReader = err.Error()
		return nil
	}
	e.reader = r
	return err
}

// write replaces whole chunks by workers. ok is false if workers cannot write the array.
func (e *engine) write(ctx context.Context, src []byte, r ndarray.Region, workers int) (ok bool, err error) {
	err = e.writing(func(w *frameio.ArrayWriter) error {
		return w.WriteRegion(ctx, src, r.Start, r.Shape, workers)
	})
	if errors.Is(err, errNoWriter) {
		return false, nil
	}
	return true, err
}

// errNoWriter means that C-Blosc2 has to write.
var errNoWriter = errors.New("no writer")

// writing calls f with the writer. The file of an array that was opened, not created, is complete
// again when writing returns.
func (e *engine) writing(f func(w *frameio.ArrayWriter) error) error {
	for {
		e.mu.RLock()
		if e.noWriter != "" {
			e.mu.RUnlock()
			return errNoWriter
		}
		if e.writer != nil {
			defer e.mu.RUnlock()
			return f(e.writer)
		}
		e.mu.RUnlock()
		if done, err := e.startWriting(f); done || err != nil {
			return err
		}
	}
}

func (e *engine) startWriting(f func(w *frameio.ArrayWriter) error) (done bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err = e.unchanged(); err == nil {
		err = e.begin(0)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		e.noWriter = err.Error()
		return false, nil
	}
	if err != nil || e.fresh {
		return false, err
	}
	err = f(e.writer)
	return true, errors.Join(err, e.finishWriting())
}

// close closes all open files.
func (e *engine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := errors.Join(e.finishWriting(), e.dropReader())
	if e.fresh && err == nil {
		err = e.restore()
	}
	if e.array != nil {
		err = errors.Join(err, e.array.Close())
	}
	return errors.Join(err, e.lock.Release())
}

// ReadRegion reads elements. With workers, any number of calls run at once, each with at most the
// given number of workers. Otherwise C-Blosc2 reads, one call at a time (b2nd_get_slice_cbuffer).
func (b *backend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	if b.engine.unwritten() {
		boxes.Repeat(dst, b.meta.Fill)
		return ctx.Err()
	}
	err := b.engine.reading(func(reader *frameio.Array, array *cblosc.Array) error {
		if reader != nil {
			return reader.ReadRegion(ctx, dst, r.Start, r.Shape, workers)
		}
		part := dst
		for box := range grid.Slabs(b.meta.ChunkShape, b.meta.DType.Size, grid.Box(r)) {
			s := ndarray.Region(box)
			if err := ctx.Err(); err != nil {
				return err
			}
			n := s.NumElems() * int64(b.meta.DType.Size)
			if err := array.ReadRegion(part[:n], s.Start, s.Shape); err != nil {
				return err
			}
			part = part[n:]
		}
		return nil
	})
	if err == nil {
		b.meta.DType.ToNative(dst)
	}
	return err
}

// WriteRegion writes elements. Workers compress whole chunks. C-Blosc2 decompresses, changes and
// compresses chunks that r covers only partly (b2nd_set_slice_cbuffer).
func (b *backend) WriteRegion(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole := b.wholeChunks(r)
	if whole && b.meta.DType.IsNative() {
		if ok, err := b.engine.write(ctx, src, r, workers); ok || err != nil {
			return err
		}
		whole = false
	}
	var swapped []byte // one slab in storage order
	for box := range grid.Slabs(b.meta.ChunkShape, b.meta.DType.Size, grid.Box(r)) {
		s := ndarray.Region(box)
		if err := ctx.Err(); err != nil {
			return err
		}
		part := src[:s.NumElems()*int64(b.meta.DType.Size)]
		src = src[len(part):]
		if !whole && b.engine.summed { // C-Blosc2 writes no checksums
			if err := b.rewrite(ctx, part, s, workers); err != nil {
				return err
			}
			continue
		}
		if !b.meta.DType.IsNative() {
			swapped = append(swapped[:0], part...)
			b.meta.DType.ToNative(swapped) // to storage order; ToNative is its own inverse
			part = swapped
		}
		if whole {
			var err error
			if whole, err = b.engine.write(ctx, part, s, workers); err != nil {
				return err
			}
			if whole {
				continue
			}
		}
		err := b.engine.idle(true, func(*cblosc.Array) error {
			if err := b.engine.define(); err != nil {
				return err
			}
			return b.engine.array.WriteRegion(part, s.Start, s.Shape)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wholeChunks reports whether a region begins and ends at borders of chunks, or at the end of the
// array. If so, the same is true of its slabs.
func (b *backend) wholeChunks(r ndarray.Region) bool {
	for i, c := range b.meta.ChunkShape {
		end := r.Start[i] + r.Shape[i]
		if r.Start[i]%c != 0 || end%c != 0 && end != b.meta.Shape[i] {
			return false
		}
	}
	return true
}

// Storage reports the compressed bytes of all chunks with their headers.
func (b *backend) Storage(ctx context.Context) (s ndarray.Storage, err error) {
	err = b.engine.idle(false, func(a *cblosc.Array) error {
		s = ndarray.Storage{StoredBytes: a.SChunk().CBytes(), NumChunks: a.SChunk().NumChunks()}
		return ctx.Err()
	})
	if err != nil {
		return s, err
	}
	// Only opens the file, to find out whether workers can read it.
	err = b.engine.reading(func(*frameio.Array, *cblosc.Array) error { return nil })
	b.engine.mu.RLock()
	defer b.engine.mu.RUnlock()
	if s.Library = b.engine.noReader; s.Library == "" && !b.meta.ReadOnly {
		s.Library = b.engine.noWriter
	}
	return s, err
}

// ChunkBytes reads a chunk's header. It returns errors.ErrUnsupported if C-Blosc2 reads the array.
func (b *backend) ChunkBytes(ctx context.Context, n int64) (bytes int64, err error) {
	err = b.engine.reading(func(r *frameio.Array, _ *cblosc.Array) error {
		if r == nil {
			return fmt.Errorf("%w: single chunks by the library", errors.ErrUnsupported)
		}
		bytes, err = r.Frame().StoredBytes(n)
		return err
	})
	return bytes, errors.Join(err, ctx.Err())
}

// Uniform uses chunks that the frame stores only as an entry in its index or as one repeated value,
// and an array that is not written yet. It has no other information if C-Blosc2 reads the array.
func (b *backend) Uniform(ctx context.Context, _ ndarray.Region) (uniform func(r ndarray.Region) bool, err error) {
	if b.engine.unwritten() {
		return func(ndarray.Region) bool { return true }, ctx.Err()
	}
	err = b.engine.reading(func(r *frameio.Array, _ *cblosc.Array) error {
		if r != nil {
			uniform, err = uniformIn(r.Frame(), &b.meta)
		}
		return err
	})
	return uniform, errors.Join(err, ctx.Err())
}

// mostValues is the maximum number of different repeated values that uniformIn distinguishes. The
// chunks of other values are read.
const mostValues = 1 << 10

// uniformIn uses the index of a frame and its chunks of one repeated value. The kinds of chunks are
// the frame's; cblosc.NotSpecial is grid.Different. Each repeated value has a negative kind.
func uniformIn(f *frameio.Frame, m *ndarray.Meta) (func(r ndarray.Region) bool, error) {
	g, err := grid.New(m.Shape, m.ChunkShape)
	if err != nil || m.ChunkShape == nil || g.NumChunks() != f.NumChunks() {
		return nil, err
	}
	values := make(map[string]int)
	return grid.Uniform[ndarray.Region](g, func(yield func(int64, int) bool) {
		for i := range f.NumChunks() {
			kind := int(f.Special(i))
			if value := f.Repeated(i); value != nil {
				if kind = values[string(value)]; kind == 0 && len(values) < mostValues {
					kind = -1 - len(values)
					values[string(value)] = kind
				}
			}
			if !yield(i+1, kind) {
				return
			}
		}
	}), nil
}

// Close completes all writes and closes the array.
func (b *backend) Close() error { return b.engine.close() }
