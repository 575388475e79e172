// Chunks as stored: Blosc2 chunks, whose elements are stored block by block.

package b2nd

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/ndarray"
)

// form returns the form of the array's chunks. ok is false if Compression does not describe them
// completely.
func (b *backend) form() (f chunked.Form, ok bool) { return formOf(&b.meta, b.special) }

// form is that of backend.
func (r *reader) form() (f chunked.Form, ok bool) {
	if r.array == nil || r.unreadable != nil {
		return f, false
	}
	return formOf(&r.meta, hasParameters(&r.frame.Header().CParams))
}

func formOf(m *ndarray.Meta, special bool) (f chunked.Form, ok bool) {
	if m.BlockShape == nil || special {
		return f, false
	}
	return chunked.Blosc2(m.DType.Size, m.BlockShape, withoutChecksum(m.Compression).String()), true
}

// hasParameters reports whether a codec or filter has parameters that its name does not imply.
func hasParameters(p *cblosc.CParams) bool {
	more := p.CodecMeta != 0 || p.Codec > cblosc.Zstd
	for _, f := range p.Filters {
		more = more || f.Meta != 0
	}
	return more
}

// ChunkForms returns the one form of the array's chunks.
func (b *backend) ChunkForms(ctx context.Context) ([]chunked.Form, error) {
	f, ok := b.form()
	if !ok {
		return nil, ctx.Err()
	}
	return []chunked.Form{f}, ctx.Err()
}

// ReadChunk returns a chunk as stored. It returns nil for a chunk of zeros if the fill value is
// zero.
func (b *backend) ReadChunk(ctx context.Context, dst []byte, f chunked.Form, n int64) (c []byte, err error) {
	if own, ok := b.form(); !ok || own != f {
		return nil, fmt.Errorf("%w: a chunk as %v", errors.ErrUnsupported, f)
	}
	err = b.engine.reading(func(r *frameio.Array, _ *cblosc.Array) error {
		if r == nil {
			return fmt.Errorf("%w: chunks by the library", errors.ErrUnsupported)
		}
		c, err = storedChunk(r.Frame(), b.record, dst, n)
		return err
	})
	return c, errors.Join(err, ctx.Err())
}

// storedChunk returns a chunk of a frame as ReadChunk does.
func storedChunk(f *frameio.Frame, r *record, dst []byte, n int64) (c []byte, err error) {
	special := f.Special(n) // from the index, without building a chunk
	if special != cblosc.Zeros || r.fill != nil {
		if c, err = f.Chunk(dst, n); err != nil {
			return nil, err
		}
		h, err := chunk.ParseHeader(c)
		if err != nil {
			return nil, err
		}
		special = cblosc.Special(h.Special)
	}
	switch {
	case special == cblosc.Uninit: // reads as zeros here, but other readers may return anything
		return nil, fmt.Errorf("%w: a chunk of no values", errors.ErrUnsupported)
	case special == cblosc.Zeros && r.fill == nil:
		return nil, nil
	}
	return c, nil
}

// ChunkForms returns the one form of the array's chunks.
func (r *reader) ChunkForms(ctx context.Context) ([]chunked.Form, error) {
	f, ok := r.form()
	if !ok {
		return nil, ctx.Err()
	}
	return []chunked.Form{f}, ctx.Err()
}

// ReadChunk returns a chunk as stored. It returns nil for a chunk of zeros if the fill value is
// zero.
func (r *reader) ReadChunk(ctx context.Context, dst []byte, f chunked.Form, n int64) ([]byte, error) {
	if own, ok := r.form(); !ok || own != f {
		return nil, fmt.Errorf("%w: a chunk as %v", errors.ErrUnsupported, f)
	}
	c, err := storedChunk(r.frame, r.record, dst, n)
	return c, errors.Join(err, ctx.Err())
}

// TakesChunks reports whether f is the form of the array's own chunks and the array was made by
// Create. In an opened array each chunk would write a new index.
func (b *backend) TakesChunks(ctx context.Context, f chunked.Form) (bool, error) {
	own, ok := b.form()
	b.engine.mu.RLock()
	defer b.engine.mu.RUnlock()
	return ok && own == f && b.engine.fresh && b.engine.noWriter == "", ctx.Err()
}

// HasChunk reports whether a chunk is stored, or will be.
func (b *backend) HasChunk(ctx context.Context, n int64) (has bool, err error) {
	err = b.engine.writing(func(w *frameio.ArrayWriter) error {
		has = w.HasChunk(n)
		return nil
	})
	return has || errors.Is(err, errNoWriter), errors.Join(skip(err), ctx.Err())
}

// WriteChunk stores a chunk without recompression.
func (b *backend) WriteChunk(ctx context.Context, c []byte, f chunked.Form, n int64) error {
	if own, ok := b.form(); !ok || own != f {
		return fmt.Errorf("%w: a chunk as %v", errors.ErrUnsupported, f)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := b.engine.writing(func(w *frameio.ArrayWriter) error { return w.WriteChunk(n, c) })
	if errors.Is(err, errNoWriter) {
		return fmt.Errorf("%w: chunks by the library", errors.ErrUnsupported)
	}
	return err
}

// PlaceChunk records in the index of a new sparse array that a chunk is in the chunk file with the
// given number, which the caller writes to Directory or to another copy of the array. If special is
// not cblosc.NotSpecial, the chunk exists only in the index. Only PlaceChunk and Close may follow.
func (b *backend) PlaceChunk(ctx context.Context, n, number, size int64, special cblosc.Special) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := b.engine.writing(func(w *frameio.ArrayWriter) error { return w.PlaceChunk(n, number, size, special) })
	b.engine.placed.Store(true)
	if errors.Is(err, errNoWriter) {
		return fmt.Errorf("%w: chunks by the library", errors.ErrUnsupported)
	}
	return err
}

// Directory returns the path of the file, or of the directory of a sparse array.
func (b *backend) Directory() string { return b.engine.path }

// skip returns nil for errNoWriter, and any other error unchanged.
func skip(err error) error {
	if errors.Is(err, errNoWriter) {
		return nil
	}
	return err
}
