// Chunks as they are stored: Blosc2 chunks, whose elements lie block by block.

package b2nd

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/ndarray"
)

// form returns the form of the array's chunks; ok is false if its Compression does not
// say all about them.
func (b *Backend) form() (f ndarray.ChunkForm, ok bool) {
	if b.meta.BlockShape == nil || b.special {
		return f, false
	}
	return ndarray.Blosc2Form(b.meta.DType.Size, b.meta.BlockShape, b.meta.Compression), true
}

// hasParameters reports codecs and filters that say more than their names do.
func hasParameters(p *cblosc.CParams) bool {
	more := p.CodecMeta != 0 || p.Codec > cblosc.Zstd
	for _, f := range p.Filters {
		more = more || f.Meta != 0
	}
	return more
}

// ChunkForms returns the one form of the array's chunks.
func (b *Backend) ChunkForms(ctx context.Context) ([]ndarray.ChunkForm, error) {
	f, ok := b.form()
	if !ok {
		return nil, ctx.Err()
	}
	return []ndarray.ChunkForm{f}, ctx.Err()
}

// ReadChunk returns a chunk as it is stored; nil for one of zeros if they are the fill
// value.
func (b *Backend) ReadChunk(ctx context.Context, dst []byte, f ndarray.ChunkForm, n int64) (c []byte, err error) {
	if own, ok := b.form(); !ok || own != f {
		return nil, fmt.Errorf("%w: a chunk as %v", errors.ErrUnsupported, f)
	}
	err = b.engine.reading(func(r *frameio.Array, _ *cblosc.Array) error {
		if r == nil {
			return fmt.Errorf("%w: chunks by the library", errors.ErrUnsupported)
		}
		special := r.Frame().Special(n) // without a chunk made of it, of which there may be millions
		if special != chunk.Zeros || b.record.fill != nil {
			if c, err = r.Frame().Chunk(dst, n); err != nil {
				return err
			}
			h, err := chunk.ParseHeader(c)
			if err != nil {
				return err
			}
			special = h.Special
		}
		switch {
		case special == chunk.Uninitialized: // zeros here, anything elsewhere
			return fmt.Errorf("%w: a chunk of no values", errors.ErrUnsupported)
		case special == chunk.Zeros && b.record.fill == nil:
			c = nil
		}
		return nil
	})
	return c, errors.Join(err, ctx.Err())
}

// TakesChunks reports the form of the array's own chunks, for an array that Create has
// made: in another one each would cost a new index.
func (b *Backend) TakesChunks(ctx context.Context, f ndarray.ChunkForm) (bool, error) {
	own, ok := b.form()
	b.engine.mu.RLock()
	defer b.engine.mu.RUnlock()
	return ok && own == f && b.engine.fresh && b.engine.noWriter == "", ctx.Err()
}

// HasChunk reports whether a chunk is stored, or will be.
func (b *Backend) HasChunk(ctx context.Context, n int64) (has bool, err error) {
	err = b.engine.writing(func(w *frameio.ArrayWriter) error {
		has = w.HasChunk(n)
		return nil
	})
	return has || errors.Is(err, errNoWriter), errors.Join(skip(err), ctx.Err())
}

// WriteChunk stores a chunk as it is.
func (b *Backend) WriteChunk(ctx context.Context, c []byte, f ndarray.ChunkForm, n int64) error {
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

// skip makes the lack of a writer no error.
func skip(err error) error {
	if errors.Is(err, errNoWriter) {
		return nil
	}
	return err
}
