// Order of chunks in a file: chunks that are written too early wait for the chunks before them.

package frameio

import (
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/chunked/ordered"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
)

// chunkQueue puts chunks in order. A special chunk that is not stored has nil bytes and an index
// entry.
type chunkQueue = ordered.Queue[cframe.Offset]

// InOrder makes all chunks that are written from now on go to the file in row-major order. A chunk
// waits until all chunks before it were written or skipped. Each chunk must be written at most
// once. Waiting chunks use at most window bytes of memory, and then a temporary file in the
// directory dir; "" means os.TempDir. Ordered, Commit and Close end the ordering.
//
// It returns cblosc.ErrParam if ordering is already active, cblosc.ErrBroken or cblosc.ErrClosed.
func (w *ArrayWriter) InOrder(window int, dir string) error {
	const op = "write in order"
	err := w.state()
	if err == nil && !w.order.CompareAndSwap(nil, ordered.New(window, dir, w.storeOne)) {
		err = fmt.Errorf("%w: chunks are put in order already", cblosc.ErrParam)
	}
	if err != nil {
		return &Error{op, w.a.f.path, -1, err}
	}
	return nil
}

// Skip declares that chunk i will not be written before Ordered. It returns errors of writing the
// chunks that waited for it.
func (w *ArrayWriter) Skip(i int64) error {
	if q := w.order.Load(); q != nil {
		if err := q.Skip(i); err != nil {
			return &Error{"skip chunk", w.a.f.path, i, err}
		}
	}
	return nil
}

// Ordered ends the ordering of InOrder. Waiting chunks are stored if keep is set and dropped
// otherwise. It returns the errors of writing.
func (w *ArrayWriter) Ordered(keep bool) error {
	q := w.order.Swap(nil)
	if q == nil {
		return nil
	}
	var err error
	if keep {
		err = q.Flush()
	}
	if err = errors.Join(err, q.Close()); err == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = fmt.Errorf("%w: %w", cblosc.ErrBroken, err)
	}
	return &Error{"write in order", w.a.f.path, -1, err}
}

// accept stores chunk i, immediately or in its turn.
func (w *ArrayWriter) accept(i int64, b []byte, entry cframe.Offset) error {
	if q := w.order.Load(); q != nil {
		return q.Put(i, b, entry)
	}
	return w.storeOne(i, b, entry)
}

// storeOne stores chunk i in the file.
func (w *ArrayWriter) storeOne(i int64, b []byte, entry cframe.Offset) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if err := w.store(i, b, entry); err != nil {
		w.err = fmt.Errorf("%w: %w", cblosc.ErrBroken, err)
		return w.err
	}
	return nil
}
