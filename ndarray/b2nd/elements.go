// Moving elements: by workers (package cblosc/frameio), or by the library where they
// cannot.
//
// Package frameio and the library cannot have the same file open for writing. So a
// Backend is at any time in one of two states: idle, with the library's array open and
// perhaps a frameio.Array to read from; or writing, with a frameio.ArrayWriter alone.
// A write of whole chunks begins to write; everything else ends it first.

package b2nd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/internal/regular"
	"github.com/hyperslab/hyperslab/ndarray"
)

// engine is what moves elements. Its lock is held for reading by everything that uses
// what is open, and for writing to change that.
type engine struct {
	mu                 sync.RWMutex
	path               string
	noReader, noWriter string // why the library reads, or writes, all elements; "" if it does not
	allow              chunk.Policy
	index              fs.FileInfo // of the index of a read-only sparse array before it was opened, else nil

	array   *cblosc.Array  // nil while writing
	reader  *frameio.Array // nil while writing, and until the first read after a change
	writer  *frameio.ArrayWriter
	durable bool   // what is written is there whole or not at all
	fresh   bool   // made by Create: nobody else has it, so writing goes on until something else comes
	run     []byte // a chunk of the fill value, for every chunk that is not written; nil if zeros will do
}

func newEngine(path string, a *cblosc.Array, library bool) *engine {
	e := &engine{path: path, array: a}
	if library {
		e.noReader, e.noWriter = "asked for", "asked for"
	}
	return e
}

// idle calls f with the library's array, and with nobody writing. change says that f
// changes the file.
func (e *engine) idle(change bool, f func(a *cblosc.Array) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.settle(); err != nil {
		return err
	}
	if change {
		if err := e.dropReader(); err != nil {
			return err
		}
	}
	return translate(f(e.array))
}

// settle ends writing.
func (e *engine) settle() error {
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
	a, oerr := cblosc.OpenArrayWith(e.path, cblosc.OpenOptions{Allow: e.allow})
	if oerr == nil {
		e.array = a
	}
	return translate(errors.Join(err, oerr))
}

// fill writes the fill value to every chunk that was not written.
func (e *engine) fill() error {
	run := e.run
	e.run = nil
	if e.writer == nil {
		return e.putAll(run, all)
	}
	return translate(e.writer.Unwritten(func(i int64) error { return e.writer.WriteChunk(i, run) }))
}

// all is every chunk.
func all(int64) bool { return true }

// putAll replaces the chunks that is picks.
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
				return translate(err)
			}
		}
	}
	return nil
}

// begin starts writing to an array that becomes that many rows long; 0: that it has. The
// state stays idle if it fails.
func (e *engine) begin(rows int64) error {
	if e.writer != nil {
		return nil
	}
	if e.array == nil {
		return ndarray.ErrClosed // after a failure to open it again
	}
	w, err := frameio.WriteArray(e.path, &frameio.ArrayOptions{Rows: rows, Durable: e.durable})
	if err != nil {
		return translate(err)
	}
	if err := errors.Join(e.dropReader(), e.array.Close()); err != nil {
		return translate(errors.Join(err, w.Close()))
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

// reading calls f with what reads: exactly one of r and a is set.
func (e *engine) reading(f func(r *frameio.Array, a *cblosc.Array) error) error {
	for {
		e.mu.RLock()
		if e.reader != nil || e.noReader != "" && e.run == nil && e.array != nil {
			defer e.mu.RUnlock()
			if e.reader != nil {
				return translate(f(e.reader, nil))
			}
			if err := f(nil, e.array); err != nil {
				return translate(err)
			}
			return e.sameIndex()
		}
		e.mu.RUnlock()
		if err := e.openReader(); err != nil {
			return err
		}
	}
}

// sameIndex returns regular.ErrReplaced if the index of a sparse array was replaced after the library
// read it, because the files that it names may belong to other chunks since.
func (e *engine) sameIndex() error {
	if e.index == nil {
		return nil
	}
	path := filepath.Join(e.path, cframe.IndexFile)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !regular.Same(e.index, info) {
		return &fs.PathError{Op: "read", Path: path, Err: regular.ErrReplaced}
	}
	return nil
}

// openReader opens what reads, and finds out if that can be.
func (e *engine) openReader() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.settle(); err != nil || e.reader != nil || e.noReader != "" {
		return err
	}
	r, err := frameio.OpenArray(e.path)
	if errors.Is(err, errors.ErrUnsupported) {
		e.noReader = err.Error()
		return nil
	}
	e.reader = r
	return translate(err)
}

// write replaces whole chunks by workers; ok is false if that cannot be.
func (e *engine) write(ctx context.Context, src []byte, r ndarray.Region) (ok bool, err error) {
	err = e.writing(func(w *frameio.ArrayWriter) error {
		return w.WriteRegion(ctx, src, r.Start, r.Shape, ndarray.Workers(ctx))
	})
	if errors.Is(err, errNoWriter) {
		return false, nil
	}
	return true, err
}

// errNoWriter says that the library has to write.
var errNoWriter = errors.New("no writer")

// writing calls f with the writer. An array that was opened, not created, is complete
// on disk again when writing returns.
func (e *engine) writing(f func(w *frameio.ArrayWriter) error) error {
	for {
		e.mu.RLock()
		if e.noWriter != "" {
			e.mu.RUnlock()
			return errNoWriter
		}
		if e.writer != nil {
			defer e.mu.RUnlock()
			return translate(f(e.writer))
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
	err = e.begin(0)
	if errors.Is(err, errors.ErrUnsupported) {
		e.noWriter = err.Error()
		return false, nil
	}
	if err != nil || e.fresh {
		return false, err
	}
	err = translate(f(e.writer))
	return true, errors.Join(err, e.settle())
}

// close closes what is open.
func (e *engine) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := errors.Join(e.settle(), e.dropReader())
	if e.array != nil {
		err = errors.Join(err, translate(e.array.Close()))
	}
	return err
}

// ReadRegion reads elements: any number of calls at once, on as many workers as the
// context allows, or one call at a time by the library (b2nd_get_slice_cbuffer).
func (b *Backend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region) error {
	err := b.engine.reading(func(reader *frameio.Array, array *cblosc.Array) error {
		if reader != nil {
			return reader.ReadRegion(ctx, dst, r.Start, r.Shape, ndarray.Workers(ctx))
		}
		part := dst
		for s := range b.meta.Slabs(r) {
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

// WriteRegion writes elements. Whole chunks are compressed by workers; chunks that r
// covers only in part are decompressed, changed and compressed again by the library
// (b2nd_set_slice_cbuffer).
func (b *Backend) WriteRegion(ctx context.Context, src []byte, r ndarray.Region) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole := b.wholeChunks(r)
	if whole && b.meta.DType.IsNative() {
		if ok, err := b.engine.write(ctx, src, r); ok || err != nil {
			return err
		}
		whole = false
	}
	var swapped []byte // one slab in the order of storage
	for s := range b.meta.Slabs(r) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := src[:s.NumElems()*int64(b.meta.DType.Size)]
		src = src[len(part):]
		if !b.meta.DType.IsNative() {
			swapped = append(swapped[:0], part...)
			b.meta.DType.ToNative(swapped) // to the order of storage: swapping is its own inverse
			part = swapped
		}
		if whole {
			var err error
			if whole, err = b.engine.write(ctx, part, s); err != nil {
				return err
			}
			if whole {
				continue
			}
		}
		err := b.engine.idle(true, func(a *cblosc.Array) error { return a.WriteRegion(part, s.Start, s.Shape) })
		if err != nil {
			return err
		}
	}
	return nil
}

// wholeChunks reports a region that begins and ends at borders of chunks, or at the
// end of the array. So do its slabs then.
func (b *Backend) wholeChunks(r ndarray.Region) bool {
	for i, c := range b.meta.ChunkShape {
		end := r.Start[i] + r.Shape[i]
		if r.Start[i]%c != 0 || end%c != 0 && end != b.meta.Shape[i] {
			return false
		}
	}
	return true
}

// Storage reports the compressed bytes of all chunks with their headers.
func (b *Backend) Storage(ctx context.Context) (s ndarray.Storage, err error) {
	err = b.engine.idle(false, func(a *cblosc.Array) error {
		s = ndarray.Storage{StoredBytes: a.SChunk().CBytes(), NumChunks: a.SChunk().NumChunks()}
		return ctx.Err()
	})
	if err != nil {
		return s, err
	}
	// Finding out if workers can read takes no more than opening the file.
	err = b.engine.reading(func(*frameio.Array, *cblosc.Array) error { return nil })
	b.engine.mu.RLock()
	defer b.engine.mu.RUnlock()
	if s.Library = b.engine.noReader; s.Library == "" && !b.meta.ReadOnly {
		s.Library = b.engine.noWriter
	}
	return s, err
}

// ChunkBytes reads a chunk's header; errors.ErrUnsupported where the library reads.
func (b *Backend) ChunkBytes(ctx context.Context, n int64) (bytes int64, err error) {
	err = b.engine.reading(func(r *frameio.Array, _ *cblosc.Array) error {
		if r == nil {
			return fmt.Errorf("%w: single chunks by the library", errors.ErrUnsupported)
		}
		bytes, err = r.Frame().StoredBytes(n)
		return err
	})
	return bytes, errors.Join(err, ctx.Err())
}

// Uniform knows the chunks of which the frame has no more than an entry in its index; none
// where the library reads.
func (b *Backend) Uniform(ctx context.Context) (uniform func(r ndarray.Region) bool, err error) {
	err = b.engine.reading(func(r *frameio.Array, _ *cblosc.Array) error {
		if r != nil {
			uniform, err = uniformIn(r.Frame(), &b.meta)
		}
		return err
	})
	return uniform, errors.Join(err, ctx.Err())
}

// uniformIn looks through the index of a frame. The kinds of chunks are the frame's, of which
// chunk.NotSpecial is ndarray.Different.
func uniformIn(f *frameio.Frame, m *ndarray.Meta) (func(r ndarray.Region) bool, error) {
	g, err := ndarray.NewGrid(m.Shape, m.ChunkShape)
	if err != nil || m.ChunkShape == nil || g.NumChunks() != f.NumChunks() {
		return nil, err
	}
	return g.Uniform(func(yield func(int64, int) bool) {
		for i := range f.NumChunks() {
			if !yield(i+1, int(f.Special(i))) {
				return
			}
		}
	}), nil
}

// Close closes the array; everything is written then.
func (b *Backend) Close() error { return b.engine.close() }
