// Anything that reads at an offset, as a file: bytes in an archive, an object
// store, a file that is already open.

package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"io"
)

// ReaderOptions says how OpenReaderAt reads.
type ReaderOptions struct {
	BlockSize int // bytes read at once; small reads are served from such blocks
	Blocks    int // of them that are kept
}

// DefaultReaderOptions is 64 blocks of 64 KiB.
func DefaultReaderOptions() ReaderOptions { return ReaderOptions{BlockSize: 64 << 10, Blocks: 64} }

// Validate reports a size that cannot be; each error wraps ErrParam.
func (o ReaderOptions) Validate() error {
	if o.BlockSize < 1 || o.BlockSize > 1<<30 || o.Blocks < 1 {
		return fmt.Errorf("%w: %d blocks of %d bytes", ErrParam, o.Blocks, o.BlockSize)
	}
	return nil
}

// readers are the open files of OpenReaderAt. The library's lock guards them.
var readers = map[uint64]*blockReader{}

// OpenReaderAt opens for reading the HDF5 file of size bytes that r reads. nil
// options mean DefaultReaderOptions().
//
// r is called while an operation runs, one call at a time, and must not use this
// package: that is ErrReentrant. What it fails with is the error of the operation.
// It is not closed. It is one file, that no other is beside: following an external
// link, reading elements of a virtual dataset that lie in another file, or of one whose
// elements are in external files, is an *OutsideError.
func OpenReaderAt(r io.ReaderAt, size int64, o *ReaderOptions) (*File, error) {
	const op = "open reader"
	opts := DefaultReaderOptions()
	if o != nil {
		opts = *o
	}
	n := images.Add(1)
	path := fmt.Sprintf("reader-%d", n)
	err := opts.Validate()
	switch {
	case r == nil:
		err = fmt.Errorf("%w: no reader", ErrParam)
	case size < 0:
		err = fmt.Errorf("%w: size of %d bytes", ErrParam, size)
	}
	if err != nil {
		return nil, &Error{Op: op, Path: path, Err: err}
	}
	b := &blockReader{r: r, size: size, opts: opts, blocks: map[int64]*block{}}
	if err := addReader(op, path, n, b); err != nil {
		return nil, err
	}
	a := DefaultFileAccess()
	a.Driver = readerDriver{n, size}
	options := DefaultOpenOptions()
	options.Access = &a
	f, err := open(op, path, options, nil)
	if err != nil {
		dropReader(n)
		return nil, err
	}
	f.h.ids.reader = n
	return f, nil
}

// OutsideError says which other file an operation on a file of OpenReaderAt needs. It
// is ErrNotFound and errors.ErrUnsupported. The library by itself reads the elements of
// a virtual dataset whose source it does not find as fill value.
type OutsideError struct {
	File string // where the library looked first: for a relative name, in the working folder
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("it needs the file %q, and a reader is one file", e.File)
}

func (e *OutsideError) Unwrap() []error { return []error{ErrNotFound, errors.ErrUnsupported} }

// outsideLocked is the failure of an operation that the library finished without
// another file that it wanted.
func outsideLocked(op, path string) error {
	if lib.outside == "" {
		return nil
	}
	return &Error{Op: op, Path: path, Err: &OutsideError{lib.outside}}
}

// withinLocked comes before a read: it reports elements of a reader's dataset that are
// in external files, for which the library would look in the working folder, and what
// soundLocked and longLocked do.
func (d *Dataset) withinLocked(op string, id C.int64_t, words []int64, rank int) error {
	if err := d.soundLocked(op, id); err != nil {
		return err
	}
	if err := d.longLocked(op, id, words, rank); err != nil {
		return err
	}
	if d.h.ids.reader == 0 {
		return nil
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	if rc := C.goh5_dexternal(&cerr, id, &blob); rc < 0 {
		return newError(op, d.path, rc, &cerr)
	}
	if r := takeBlob(&blob); r.word() > 0 {
		return &Error{Op: op, Path: d.path, Err: &OutsideError{r.text()}}
	}
	return nil
}

func addReader(op, path string, id uint64, b *blockReader) error {
	lock()
	defer unlock()
	if err := readyLocked(op, path); err != nil {
		return err
	}
	readers[id] = b
	return nil
}

func dropReader(id uint64) {
	lock()
	defer unlock()
	delete(readers, id)
}

// A blockReader reads in blocks and keeps the latest used.
type blockReader struct {
	r      io.ReaderAt
	size   int64
	opts   ReaderOptions
	clock  int64
	blocks map[int64]*block // by number
}

type block struct {
	used int64
	b    []byte
}

// ReadAt fills p with what is at off; both lie inside the file. Whole blocks of a
// long read go past the cache.
func (r *blockReader) ReadAt(p []byte, off int64) (int, error) {
	wanted := len(p)
	size := int64(r.opts.BlockSize)
	for len(p) > 0 {
		number, skip := off/size, off%size
		if skip == 0 && int64(len(p)) >= 2*size {
			n := int64(len(p)) / size * size
			if err := r.full(p[:n], off); err != nil {
				return wanted - len(p), err
			}
			p, off = p[n:], off+n
			continue
		}
		b, err := r.block(number)
		if err != nil {
			return wanted - len(p), err
		}
		n := copy(p, b[skip:])
		p, off = p[n:], off+int64(n)
	}
	return wanted, nil
}

func (r *blockReader) block(number int64) ([]byte, error) {
	r.clock++
	if b := r.blocks[number]; b != nil {
		b.used = r.clock
		return b.b, nil
	}
	b := &block{used: r.clock}
	if len(r.blocks) >= r.opts.Blocks {
		oldest := int64(-1)
		for n, other := range r.blocks {
			if oldest < 0 || other.used < r.blocks[oldest].used {
				oldest = n
			}
		}
		b.b = r.blocks[oldest].b[:0]
		delete(r.blocks, oldest)
	}
	at := number * int64(r.opts.BlockSize)
	n := int(min(int64(r.opts.BlockSize), r.size-at))
	if cap(b.b) < n {
		b.b = make([]byte, n)
	}
	b.b = b.b[:n]
	if err := r.full(b.b, at); err != nil {
		return nil, err
	}
	r.blocks[number] = b
	return b.b, nil
}

// full reads all of p, or says what was missing.
func (r *blockReader) full(p []byte, off int64) error {
	n, err := r.r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %d of %d bytes at offset %d of a file of %d bytes", ErrTruncated, n, len(p), off, r.size)
	}
	return fmt.Errorf("%d bytes at offset %d: %w", len(p), off, err)
}
