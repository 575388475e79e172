// Copies of objects.

package urlfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Copy returns a file with the content of r that the caller must close. The file has no name,
// unless r is a regular file of this size, which is opened again. An object of more than most bytes
// is an error.
func Copy(ctx context.Context, r io.ReaderAt, size, most int64) (_ *os.File, err error) {
	if f, ok := r.(*os.File); ok {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() && info.Size() == size {
			return os.OpenFile(worker.FilePath(f), os.O_RDONLY, 0)
		}
	}
	if size > most {
		return nil, &format.Error{Format: "reader", What: "size", Got: fmt.Sprintf("%d bytes to copy", size), Want: fmt.Sprintf("at most %d", most), Err: format.ErrLimit}
	}
	f, err := regularfile.Temp("")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if o, ok := r.(Object); ok {
		defer o.Prefetch(ctx, func(yield func(off, n int64) bool) { yield(0, size) })()
	}
	n, err := io.Copy(f, Reader(ctx, io.NewSectionReader(r, 0, size)))
	if err == nil && n != size {
		err = fmt.Errorf("%w: the reader ends after %d of %d bytes", ndarray.ErrCorrupt, n, size)
	}
	return f, err
}

// Reader returns a reader of r that stops when the context ends.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
