// Reader, which checks each read.

package strict

import (
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// Reader is an io.ReaderAt of a known size.
type Reader struct {
	r     io.ReaderAt
	size  int64
	close func() error
}

// ReaderAt returns r, which has size bytes, as a Reader. Close calls close unless it is nil.
//
// It returns errs.ErrParam for a nil reader and for a negative size.
func ReaderAt(r io.ReaderAt, size int64, close func() error) (*Reader, error) {
	if r == nil || size < 0 {
		return nil, fmt.Errorf("%w: a reader: got %T of %d bytes, want one of at least 0 bytes", errs.ErrParam, r, size)
	}
	return &Reader{r, size, close}, nil
}

// Size returns the number of bytes.
func (r *Reader) Size() int64 { return r.size }

// ReadAt is as in io.ReaderAt. It calls the reader again for the bytes that a call does not return.
//
// It returns errs.ErrCorrupt if the reader ends before its size, io.ErrNoProgress for a call with
// neither bytes nor an error, errs.ErrParam for an impossible number of bytes, and the error of the
// reader.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("%w: offset of a read: got %d, want at least 0", errs.ErrParam, off)
	}
	want, end := p, error(nil)
	if left := max(r.size-off, 0); int64(len(p)) > left {
		want, end = p[:left], io.EOF
	}
	for n < len(want) {
		k, err := r.r.ReadAt(want[n:], off+int64(n))
		if k < 0 || k > len(want)-n {
			return n, fmt.Errorf("%w: bytes that the reader returned: got %d, want at most %d", errs.ErrParam, k, len(want)-n)
		}
		switch n += k; {
		case n == len(want): // some readers return io.EOF with the last bytes
		case err == io.EOF:
			return n, fmt.Errorf("%w: the reader ends after %d of %d bytes", errs.ErrCorrupt, off+int64(n), r.size)
		case err != nil:
			return n, fmt.Errorf("read at offset %d: %w", off+int64(n), err)
		case k == 0:
			return n, fmt.Errorf("read at offset %d: %w", off+int64(n), io.ErrNoProgress)
		}
	}
	return n, end
}

// Close closes the reader.
func (r *Reader) Close() error {
	if r.close == nil {
		return nil
	}
	return r.close()
}

// File is an open regular file of an FS.
type File struct {
	*Reader
	raw  fs.File
	info fs.FileInfo

	mu  sync.Mutex
	off int64 // of the next Read
}

// Stat returns the FileInfo of the file.
func (f *File) Stat() (fs.FileInfo, error) { return f.info, nil }

// Read is as in io.Reader.
func (f *File) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.ReadAt(p, f.off)
	if f.off += int64(n); n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}
