// Files: create, open, flush, close.

package h5

/*
#include "shim.h"
#cgo noescape goh5_is_hdf5
#cgo nocallback goh5_is_hdf5
#cgo noescape goh5_fcreate
#cgo nocallback goh5_fcreate
#cgo noescape goh5_fopen
#cgo nocallback goh5_fopen
#cgo noescape goh5_fflush
#cgo nocallback goh5_fflush
#cgo noescape goh5_fsize
#cgo nocallback goh5_fsize
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
)

// Mode says what an opened file is for.
type Mode int

// The modes.
const (
	ReadOnly Mode = iota
	ReadWrite
)

// LibVer is a release of the library whose file format is meant (H5F_libver_t).
type LibVer int

// The releases that changed the format, with the library's numbers; LatestFormat
// is the newest that the linked library writes.
const (
	Earliest LibVer = iota
	V18
	V110
	V112
	V114
	LatestFormat LibVer = -1
)

// CreateOptions says how a file is created. nil means DefaultCreateOptions().
type CreateOptions struct {
	Truncate  bool   // replace an existing file; else it is ErrExists
	Low, High LibVer // formats that objects may use: the oldest that can is taken
}

// DefaultCreateOptions is what the library does by itself, but for the existing
// file, which it would replace: any format that suits, the oldest first.
func DefaultCreateOptions() CreateOptions {
	return CreateOptions{Low: Earliest, High: LatestFormat}
}

// Validate reports bounds that make no sense; each error wraps ErrParam.
func (o CreateOptions) Validate() error {
	if o.Low.number() > o.High.number() || o.Low < LatestFormat || o.High < LatestFormat || o.High == Earliest {
		return fmt.Errorf("%w: formats from %d to %d", ErrParam, o.Low, o.High)
	}
	return nil
}

func (v LibVer) number() C.int32_t {
	if v == LatestFormat {
		return C.H5F_LIBVER_LATEST
	}
	return C.int32_t(v)
}

// File is an open file. Everything opened through it belongs to it.
type File struct {
	h    *handle
	path string
	mode Mode
}

// Create makes a new file and opens it for reading and writing (H5Fcreate).
//
// It returns ErrExists if the file is there and the options do not say Truncate.
// A file that this process has open cannot be truncated.
func Create(path string, o *CreateOptions) (*File, error) {
	const op = "create file"
	opts := DefaultCreateOptions()
	if o != nil {
		opts = *o
	}
	if err := opts.Validate(); err != nil {
		return nil, &Error{Op: op, Path: path, Err: err}
	}
	cPath, err := cString(op, path, path)
	if err != nil {
		return nil, err
	}
	truncate := C.int32_t(0)
	if opts.Truncate {
		truncate = 1
	}
	lock()
	defer unlock()
	if lib.err != nil {
		return nil, lib.err
	}
	var cerr C.goh5_err_t
	var id C.int64_t
	if rc := C.goh5_fcreate(&cerr, cPath, truncate, opts.Low.number(), opts.High.number(), &id); rc < 0 {
		e := newError(op, path, rc, &cerr)
		// Of a file that this process has open the library only says that it cannot.
		if _, err := os.Lstat(path); err == nil && !opts.Truncate {
			e.Err = ErrExists
		}
		return nil, e
	}
	return &File{h: newHandleLocked(newIDSet(id), id), path: path, mode: ReadWrite}, nil
}

// Open opens an existing file (H5Fopen). Objects created in it take any format
// that suits, the oldest first.
//
// It returns ErrNotFound, ErrNotHDF5, ErrTruncated, or ErrLocked if another
// process has the file open in a way that excludes this one.
func Open(path string, mode Mode) (*File, error) {
	const op = "open file"
	if mode != ReadOnly && mode != ReadWrite {
		return nil, &Error{Op: op, Path: path, Err: fmt.Errorf("%w: mode %d", ErrParam, mode)}
	}
	cPath, err := cString(op, path, path)
	if err != nil {
		return nil, err
	}
	lock()
	defer unlock()
	if lib.err != nil {
		return nil, lib.err
	}
	var cerr C.goh5_err_t
	var id C.int64_t
	if rc := C.goh5_fopen(&cerr, cPath, C.int32_t(mode), Earliest.number(), LatestFormat.number(), &id); rc < 0 {
		return nil, newError(op, path, rc, &cerr)
	}
	return &File{h: newHandleLocked(newIDSet(id), id), path: path, mode: mode}, nil
}

// IsHDF5 reports whether the file has HDF5's signature where it may stand
// (H5Fis_accessible). A file that cannot be read is an error.
func IsHDF5(path string) (bool, error) {
	const op = "look at file"
	cPath, err := cString(op, path, path)
	if err != nil {
		return false, err
	}
	lock()
	defer unlock()
	if lib.err != nil {
		return false, lib.err
	}
	var cerr C.goh5_err_t
	var is C.int32_t
	if rc := C.goh5_is_hdf5(&cerr, cPath, &is); rc < 0 {
		return false, newError(op, path, rc, &cerr)
	}
	return is != 0, nil
}

// Path is the path the file was opened by.
func (f *File) Path() string { return f.path }

// Mode says what the file was opened for; a created one for ReadWrite.
func (f *File) Mode() Mode { return f.mode }

// Root is the root group. It lives as long as the file, and closing it does
// nothing.
func (f *File) Root() *Group { return &Group{object{h: f.h, file: f, path: "/"}} }

// Flush hands everything written so far to the operating system (H5Fflush).
func (f *File) Flush() error {
	const op = "flush file"
	lock()
	defer unlock()
	id, err := f.h.idLocked(op, f.path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_fflush(&cerr, id)
	runtime.KeepAlive(f)
	if rc < 0 {
		return newError(op, f.path, rc, &cerr)
	}
	return nil
}

// Size is the number of bytes the file takes (H5Fget_filesize).
func (f *File) Size() (int64, error) {
	const op = "measure file"
	lock()
	defer unlock()
	id, err := f.h.idLocked(op, f.path)
	if err != nil {
		return 0, err
	}
	var cerr C.goh5_err_t
	var size C.uint64_t
	rc := C.goh5_fsize(&cerr, id, &size)
	runtime.KeepAlive(f)
	if rc < 0 {
		return 0, newError(op, f.path, rc, &cerr)
	}
	return int64(size), nil
}

// Close writes what is left and closes the file with all its groups and datasets
// (H5Fclose). A second call is ErrClosed.
func (f *File) Close() error {
	lock()
	defer unlock()
	return f.h.closeLocked("close file", f.path)
}
