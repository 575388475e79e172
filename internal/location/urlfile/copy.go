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
	"github.com/hyperslab/hyperslab/ndarray"
)

// CheckSize returns an error for an object of size bytes that is copied if it has more than most.
func CheckSize(size, most int64) error {
	if size <= most {
		return nil
	}
	return &format.Error{Format: "reader", What: "size", Got: fmt.Sprintf("%d bytes to copy", size), Want: fmt.Sprintf("at most %d", most), Err: format.ErrLimit}
}

// Copy returns a file with the content of an object that the caller must close. The file has no
// name. An object of more than most bytes is an error.
func Copy(ctx context.Context, o Object, most int64) (_ *os.File, err error) {
	size := o.Size()
	if err := CheckSize(size, most); err != nil {
		return nil, err
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
	defer o.Prefetch(ctx, func(yield func(off, n int64) bool) { yield(0, size) })()
	n, err := io.Copy(f, Reader(ctx, io.NewSectionReader(o, 0, size)))
	if err == nil && n != size {
		err = fmt.Errorf("%w: the object ends after %d of %d bytes", ndarray.ErrCorrupt, n, size)
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
