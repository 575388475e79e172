// OpenReaderAt: HDF5 files read through an io.ReaderAt, for example in an archive or an object
// store.

package h5

// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"io"
)

// ReaderOptions are the options of OpenReaderAt. Nil means the zero value.
type ReaderOptions struct {
	BlockSize int // size of a cache block in bytes; small reads are served from the cache; 0: 64 KiB
	Blocks    int // number of cached blocks; 0: 64

	// Concurrent states that r may be called by several goroutines at the same time. Package
	// chunkio then reads chunks from r without the library's lock, and their index before them.
	Concurrent bool

	Close func() error // called after the File was closed; it may be nil
}

// filled returns a copy of o with the defaults.
func (o *ReaderOptions) filled() ReaderOptions {
	d := ReaderOptions{BlockSize: 64 << 10, Blocks: 64}
	if o != nil {
		d.BlockSize, d.Blocks = cmp.Or(o.BlockSize, d.BlockSize), cmp.Or(o.Blocks, d.Blocks)
		d.Concurrent, d.Close = o.Concurrent, o.Close
	}
	return d
}

// validate reports an invalid size. The error wraps ErrParam.
func (o ReaderOptions) validate() error {
	o = o.filled()
	if o.BlockSize < 1 || o.BlockSize > 1<<30 || o.Blocks < 1 {
		return fmt.Errorf("%w: %d blocks of %d bytes", ErrParam, o.Blocks, o.BlockSize)
	}
	return nil
}

// readers are the open files of OpenReaderAt, guarded by the library lock.
var readers = map[uint64]*blockReader{}

// OpenReaderAt opens the HDF5 file of size bytes in r for reading. Nil options mean
// the zero value.
//
// r is called during operations, one call at a time unless ReaderOptions.Concurrent is set, and
// must not use this package: such a call returns ErrReentrant. If r returns an error, the operation
// returns that error. Closing the File does not close r, but calls ReaderOptions.Close. r is a
// single file, so operations that need another file return an *OutsideError. For example, this
// applies to external links, to a virtual dataset with elements in another file, and to a dataset
// with elements in external files.
func OpenReaderAt(r io.ReaderAt, size int64, o *ReaderOptions) (*File, error) {
	const op = "open reader"
	opts := o.filled()
	n := images.Add(1)
	path := fmt.Sprintf("reader-%d", n)
	err := opts.validate()
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
	options := OpenOptions{}
	options.Access = &a
	f, err := open(op, path, options, nil)
	if err != nil {
		dropReader(n)
		return nil, err
	}
	f.h.ids.reader = n
	f.after = opts.Close
	return f, nil
}

// Source returns the reader of a File of OpenReaderAt with ReaderOptions.Concurrent, and its size
// in bytes. It returns nil for other files, and after Close.
func (f *File) Source() (r io.ReaderAt, size int64) {
	lock()
	defer unlock()
	if b := readers[f.h.ids.reader]; b != nil && b.opts.Concurrent {
		return b.r, b.size
	}
	return nil, 0
}

// OutsideError identifies the other file that an operation on a file of OpenReaderAt needs. It
// wraps ErrNotFound and errors.ErrUnsupported. libhdf5 itself reads the elements of a virtual
// dataset as fill value if it does not find their source.
type OutsideError struct {
	File string // the path that libhdf5 tried first; a relative name is relative to the working directory
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("%v: elements in the file %q, because a reader is one file", errors.ErrUnsupported, e.File)
}

func (e *OutsideError) Unwrap() []error { return []error{ErrNotFound, errors.ErrUnsupported} }

// outsideLocked returns an error if libhdf5 completed an operation without another file that it
// needed.
func outsideLocked(op, path string) error {
	if lib.outside == "" {
		return nil
	}
	return &Error{Op: op, Path: path, Err: &OutsideError{lib.outside}}
}

// withinLocked must be called before a read. It returns an error if the elements of a reader's
// dataset are in external files, because libhdf5 would look for them in the working directory. It
// also returns the errors of checkFiltersLocked and longLocked.
func (d *Dataset) withinLocked(op string, id C.int64_t, words []int64, rank int) error {
	if err := d.checkFiltersLocked(op, id); err != nil {
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

// A blockReader reads in blocks and caches the most recently used blocks.
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

// ReadAt fills p from offset off. The range must be inside the file. Whole blocks of a long read
// bypass the cache.
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

// full reads all of p, or returns an error with the missing range.
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
