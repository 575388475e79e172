// Chunks in order. Each chunk follows the one before it in the frame, or has the next file number.

package b2nd

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/chunked/ordered"
)

// sequence is the order of the chunks of a new array.
type sequence struct{ e *engine }

// InOrder makes chunks go to the frame in row-major order. It returns errors.ErrUnsupported for an
// array that C-Blosc2 writes, and for an array that was opened, because each write to it is
// complete when it returns.
func (b *backend) InOrder(ctx context.Context, window int64, dir string) (ordered.Sequence, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.engine.mu.RLock()
	fresh := b.engine.fresh
	b.engine.mu.RUnlock()
	if !fresh {
		return nil, fmt.Errorf("%w: writes in order to an existing array", errors.ErrUnsupported)
	}
	err := b.engine.writing(func(w *frameio.ArrayWriter) error { return w.InOrder(int(window), dir) })
	if errors.Is(err, errNoWriter) {
		return nil, fmt.Errorf("%w: chunks in order by the library", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	return &sequence{b.engine}, nil
}

// Skip reports that chunk n will not be written. A chunk of a new array gets the fill value in its
// turn, so that the file is the same as after a write of this value.
func (s *sequence) Skip(n int64) error {
	return s.e.writing(func(w *frameio.ArrayWriter) error {
		if s.e.run != nil && !w.HasChunk(n) {
			return w.WriteChunk(n, s.e.run)
		}
		return w.Skip(n)
	})
}

// End ends the order.
func (s *sequence) End(keep bool) error {
	s.e.mu.RLock()
	defer s.e.mu.RUnlock()
	if s.e.writer == nil {
		return nil // finishWriting has already stored all chunks
	}
	return s.e.writer.Ordered(keep)
}
