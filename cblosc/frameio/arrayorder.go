// The order of chunks in a frame: each lies behind the one before it, so those that are
// ready too early wait.

package frameio

import (
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/internal/inorder"
)

// chunkQueue brings chunks into their order: nil and the entry of the index for one that
// is nowhere.
type chunkQueue = inorder.Queue[cframe.Offset]

// InOrder makes the chunks that are written from now on, each once, go to the file in
// row-major order: one waits until all before it were written or skipped. Those that wait
// take at most window bytes of memory, and otherwise a temporary file in the folder dir, ""
// for os.TempDir. Ordered ends it, and Commit and Close do.
//
// It returns cblosc.ErrParam if that has begun already, cblosc.ErrBroken or cblosc.ErrClosed.
func (w *ArrayWriter) InOrder(window int, dir string) error {
	const op = "write in order"
	err := w.state()
	if err == nil && !w.order.CompareAndSwap(nil, inorder.New(window, dir, w.storeOne)) {
		err = fmt.Errorf("%w: chunks are put in order already", cblosc.ErrParam)
	}
	if err != nil {
		return &Error{op, w.a.f.path, -1, err}
	}
	return nil
}

// Skip says that chunk i will not be written before Ordered. It returns the errors of
// writing the chunks that have waited for it.
func (w *ArrayWriter) Skip(i int64) error {
	if q := w.order.Load(); q != nil {
		if err := q.Skip(i); err != nil {
			return &Error{"skip chunk", w.a.f.path, i, err}
		}
	}
	return nil
}

// Ordered ends what InOrder has begun: what still waits is stored, or forgotten if keep is
// not set. It returns the errors of writing.
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

// accept puts chunk i in the file, now or in its turn.
func (w *ArrayWriter) accept(i int64, b []byte, entry cframe.Offset) error {
	if q := w.order.Load(); q != nil {
		return q.Put(i, b, entry)
	}
	return w.storeOne(i, b, entry)
}

// storeOne puts chunk i in the file.
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
