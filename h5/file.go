// Create, open, flush and close files.

package h5

// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"

	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
)

// Mode is the access mode of an open file.
type Mode int

// The access modes.
const (
	ReadOnly Mode = iota
	ReadWrite
)

// LibVer is a libhdf5 release that identifies a version of the file format (H5F_libver_t).
type LibVer int

// The releases that changed the format, with libhdf5's numbers. LatestFormat is the newest format
// that the linked libhdf5 writes.
const (
	Earliest LibVer = iota
	V18
	V110
	V112
	V114
	LatestFormat LibVer = -1
)

// CreateOptions are the options of Create. Nil means the zero value: libhdf5's defaults, except
// that Create does not replace an existing file.
type CreateOptions struct {
	Truncate  bool          // replace an existing file; if false, an existing file is ErrExists
	Low, High LibVer        // bounds of the format of new objects; libhdf5 uses the oldest format that can represent an object; High 0: LatestFormat
	Access    *FileAccess   // file access properties; nil: DefaultFileAccess()
	Creation  *FileCreation // file creation properties; nil: DefaultFileCreation()
}

// filled returns o with the default of High, and with those of Access and Creation.
func (o CreateOptions) filled() CreateOptions {
	access, creation := o.Access.filled(), o.Creation.filled()
	if d, ok := access.Driver.(Family); ok {
		access.Driver = Family{cmp.Or(d.MemberSize, defaultMemberSize)}
	}
	return CreateOptions{o.Truncate, o.Low, cmp.Or(o.High, LatestFormat), &access, &creation}
}

// validate reports invalid options. Each error wraps ErrParam.
func (o CreateOptions) validate() error {
	o = o.filled()
	return errors.Join(checkBounds(o.Low, o.High), o.Access.validate(), o.Creation.validate())
}

// OpenOptions are the options of OpenWith. Nil means the zero value: read-only, any format.
type OpenOptions struct {
	Mode Mode
	// SWMR lets one process write the file while others read it: ReadWrite opens the writer,
	// ReadOnly a reader. The file must have been created with Low V110 or later, and the writer
	// must set Low to V110 or later again.
	SWMR      bool
	Low, High LibVer      // bounds of the format of new objects; High 0: LatestFormat
	Access    *FileAccess // file access properties; nil: DefaultFileAccess()

	// File is the same file, which the caller has opened for reading, or nil. OpenWith checks it
	// before libhdf5 opens the path, and Descriptor returns it, so that the file is not opened for
	// either. OpenWith takes ownership of it, also if it returns an error. File has no effect if
	// another file is at the path in the meantime.
	File *os.File
}

// filled returns o with the default of High, and with those of Access. A nil Access stays nil.
func (o OpenOptions) filled() OpenOptions {
	o.High = cmp.Or(o.High, LatestFormat)
	if o.Access != nil {
		access := o.Access.filled()
		o.Access = &access
	}
	return o
}

// validate reports invalid options. Each error wraps ErrParam.
func (o OpenOptions) validate() error {
	o = o.filled()
	errs := []error{checkBounds(o.Low, o.High)}
	if o.Mode != ReadOnly && o.Mode != ReadWrite {
		errs = append(errs, fmt.Errorf("%w: mode %d", ErrParam, o.Mode))
	}
	if o.Access != nil {
		errs = append(errs, o.Access.validate())
	}
	return errors.Join(errs...)
}

func checkBounds(low, high LibVer) error {
	if low.number() > high.number() || low < LatestFormat || high < LatestFormat || high == Earliest || high.number() > C.H5F_LIBVER_LATEST {
		return fmt.Errorf("%w: formats from %d to %d", ErrParam, low, high)
	}
	return nil
}

// checkPath returns an error if the driver of a cannot use path.
func checkPath(path string, a *FileAccess) error {
	if a != nil {
		if _, ok := a.Driver.(Family); ok {
			return checkPattern(path, 'd', true)
		}
	}
	return nil
}

// checkFile rejects files that libhdf5 must not open: a named pipe, because libhdf5 would wait for
// a writer while it holds the lock, and a device, because it may have no end. It does not check
// drivers that use several files, because path is then not the name of a file.
func checkFile(path string, a *FileAccess) error {
	if a != nil {
		switch a.Driver.(type) {
		case nil, Sec2, Stdio, Core, Log, Direct:
		default:
			return nil
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil // libhdf5 reports the error
	}
	if err := regularfile.Check(path, info); err != nil {
		return fmt.Errorf("%w: %w", ErrNotHDF5, err)
	}
	return nil
}

// access encodes the file access properties for the shim.
func access(a *FileAccess, low, high LibVer, image []byte) []byte {
	return a.filled().append(nil, low, high, image)
}

func (v LibVer) number() C.int32_t {
	if v == LatestFormat {
		return C.H5F_LIBVER_LATEST
	}
	return C.int32_t(v)
}

// File is an open file. All groups, datasets and other objects opened through it belong to it.
type File struct {
	h    *handle
	path string
	mode Mode

	addressSize int // bytes of an address in a file that is open for writing, or 0

	// Options that libhdf5 does not return for an open file.
	evict bool
	log   *CacheLog

	unlocked error // why the file has no lock, or nil

	raw   *os.File // file of Descriptor; nil before the first call
	given *os.File // OpenOptions.File

	after func() error // ReaderOptions.Close; nil after Close
}

// newFileLocked makes the owner of a file id with the descriptor fd. a are the access properties
// that it was opened or created with.
func newFileLocked(id C.int64_t, fd C.int32_t, path string, mode Mode, a *FileAccess) *File {
	f := &File{h: newHandleLocked(newIDSet(id, fd), id), path: path, mode: mode}
	if a != nil {
		f.evict, f.log = a.EvictOnClose, a.CacheLog
	}
	if mode == ReadWrite {
		writingLocked(f.h.ids, path)
	}
	return f
}

// Create makes a new file and opens it for reading and writing (H5Fcreate).
//
// Create is not atomic: the file has its name at once, and a program that ends before Close can
// leave a file that does not open. Package hyperslab writes files that appear complete or not
// at all.
//
// It returns ErrExists if the file exists and Truncate is false. A file that this process has open
// cannot be truncated.
func Create(path string, o *CreateOptions) (*File, error) {
	const op = "create file"
	opts := CreateOptions{}
	if o != nil {
		opts = *o
	}
	opts = opts.filled()
	if err := errors.Join(opts.validate(), checkPath(path, opts.Access)); err != nil {
		return nil, &Error{Op: op, Path: path, Err: err}
	}
	spec := opts.Creation.append(access(opts.Access, opts.Low, opts.High, nil))
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
	if err := readyLocked(op, path); err != nil {
		return nil, err
	}
	defer delayStartsLocked(opts.Access)()
	_, missing := os.Lstat(path)
	var cerr C.goh5_err_t
	var id C.int64_t
	var fd C.int32_t
	if rc := C.goh5_fcreate(&cerr, cPath, truncate, cBytes(spec), C.size_t(len(spec)), &id, &fd); rc < 0 {
		e := newError(op, path, rc, &cerr)
		switch {
		case missing == nil && e.Err == nil && !opts.Truncate && e.Errno == 0:
			// For a file that this process already has open, libhdf5 reports no specific error.
			e.Err = ErrExists
		case errors.Is(missing, fs.ErrNotExist) && !errors.Is(e.Err, ErrExists):
			os.Remove(path) // libhdf5 leaves the empty file; there may be none
		}
		return nil, e
	}
	f := newFileLocked(id, fd, path, ReadWrite, opts.Access)
	f.addressSize = opts.Creation.OffsetSize
	return f, nil
}

// Open opens an existing file (H5Fopen). New objects use the oldest format that can represent them.
// If path is the first member of a family or of a multi file, Open opens the whole set.
//
// From superblock version 2 on (a lower bound of V18 or more), the first member of a multi file
// does not contain the names of the others. If they differ from the names in the documentation of
// Multi, Open returns ErrParam and errors.ErrUnsupported, and the caller must use OpenWith.
//
// Open returns ErrNotFound, ErrNotHDF5, ErrTruncated, or ErrLocked if another process has opened
// the file in a conflicting mode. It returns errors.ErrUnsupported for a file with addresses of
// more than 16 bytes, because libhdf5 has no space for them. It returns an *UnclosedError if
// opening the file for writing would truncate it.
func Open(path string, mode Mode) (*File, error) {
	o := OpenOptions{}
	o.Mode = mode
	return OpenWith(path, &o)
}

// OpenWith opens an existing file with options (H5Fopen). Like Open, it opens a whole set by its
// first member if o.Access is nil. If a member of a family or of a multi file is missing, it
// returns ErrNotFound with the name of the member. The other errors are those of Open.
func OpenWith(path string, o *OpenOptions) (*File, error) {
	opts := OpenOptions{}
	if o != nil {
		opts = *o
	}
	f, err := openWith(path, opts.filled())
	if err != nil && opts.Access == nil {
		if set, driver, ok := memberSet(path, err); ok {
			access := DefaultFileAccess()
			access.Driver = driver
			opts.Access = &access
			f, err = openWith(set, opts.filled())
		}
	}
	if opts.File == nil {
		return f, err
	}
	if err == nil {
		f.given = opts.File
	} else if closed := opts.File.Close(); closed != nil {
		err = errors.Join(err, closed)
	}
	return f, err
}

func openWith(path string, opts OpenOptions) (*File, error) {
	const op = "open file"
	if err := errors.Join(opts.validate(), checkPath(path, opts.Access), checkFile(path, opts.Access)); err != nil {
		return nil, &Error{Op: op, Path: path, Err: err}
	}
	mayUnlock := opts.Mode == ReadOnly && (opts.Access == nil || opts.Access.Locking == LockIfPossible)
	var f *File
	var err error
	if mayUnlock && filelock.Exclusive(path) { // libhdf5 would wait for this process
		opts.Access = unlocked(opts.Access)
	} else if mayUnlock {
		err = refused(path)
	}
	if err == nil {
		f, err = open(op, path, opts, nil)
	}
	if mayUnlock && refusesLocks(err) {
		why := err
		opts.Access = unlocked(opts.Access)
		if f, err = open(op, path, opts, nil); err == nil {
			lock()
			f.locklessLocked(why)
			unlock()
		}
	}
	if err != nil && opts.Access != nil {
		return nil, explainMembers(err, path, opts.Access.Driver)
	}
	return f, err
}

// unlocked returns a copy of a, or of the default, without locks.
func unlocked(a *FileAccess) *FileAccess {
	access := DefaultFileAccess()
	if a != nil {
		access = *a
	}
	access.Locking = LockNever
	return &access
}

// refusesLocks reports whether opening a file failed because its file system does not support
// locks. libhdf5 itself ignores only ENOSYS.
func refusesLocks(err error) bool {
	return errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS)
}

// images counts files in memory. Each needs a unique name because libhdf5 treats two files with the
// same name as one.
var images atomic.Uint64

// OpenImage opens a file that is in memory (H5Pset_file_image). Writes change a copy of image,
// which Image returns. Its errors are those of Open.
func OpenImage(image []byte, mode Mode) (*File, error) {
	const op = "open image"
	path := fmt.Sprintf("image-%d", images.Add(1))
	if len(image) == 0 {
		return nil, &Error{Op: op, Path: path, Err: ErrNotHDF5}
	}
	o := OpenOptions{}
	o.Mode = mode
	if err := o.validate(); err != nil {
		return nil, &Error{Op: op, Path: path, Err: err}
	}
	a := DefaultFileAccess()
	a.Driver = Core{Increment: 64 << 10}
	o.Access = &a
	return open(op, path, o, image)
}

// CreateImage makes a new file in memory. Image returns its content.
func CreateImage(o *CreateOptions) (*File, error) {
	opts := CreateOptions{}
	if o != nil {
		opts = *o
	}
	a := DefaultFileAccess()
	if opts.Access != nil {
		a = *opts.Access
	}
	a.Driver = Core{Increment: 64 << 10}
	opts.Access = &a
	return Create(fmt.Sprintf("image-%d", images.Add(1)), &opts)
}

// Image flushes the file and returns its content as it would be on disk (H5Fget_file_image).
func (f *File) Image() ([]byte, error) {
	r, err := f.ask("copy file", askImage)
	if err != nil {
		return nil, err
	}
	return r.bytes(), nil
}

func open(op, path string, o OpenOptions, image []byte) (*File, error) {
	cPath, err := cString(op, path, path)
	if err != nil {
		return nil, err
	}
	o = o.filled()
	spec := access(o.Access, o.Low, o.High, image)
	lock()
	defer unlock()
	if err := readyLocked(op, path); err != nil {
		return nil, err
	}
	addressSize, err := fitLocked(path, o, image)
	if err != nil {
		return nil, &Error{Op: op, Path: path, Err: err}
	}
	flags := C.uint32_t(C.H5F_ACC_RDONLY)
	switch {
	case o.Mode == ReadWrite && o.SWMR:
		flags = C.H5F_ACC_RDWR | C.H5F_ACC_SWMR_WRITE
	case o.Mode == ReadWrite:
		flags = C.H5F_ACC_RDWR
	case o.SWMR:
		flags = C.H5F_ACC_RDONLY | C.H5F_ACC_SWMR_READ
	}
	defer delayStartsLocked(o.Access)()
	var cerr C.goh5_err_t
	var id C.int64_t
	var fd C.int32_t
	if rc := C.goh5_fopen(&cerr, cPath, flags, cBytes(spec), C.size_t(len(spec)), &id, &fd); rc < 0 {
		return nil, newError(op, path, rc, &cerr)
	}
	f := newFileLocked(id, fd, path, o.Mode, o.Access)
	if o.Mode == ReadWrite {
		f.addressSize = addressSize
	}
	return f, nil
}

// IsHDF5 reports whether the file has the HDF5 signature at one of the allowed offsets
// (H5Fis_accessible). It returns an error if the file cannot be read.
func IsHDF5(path string) (bool, error) {
	const op = "inspect file"
	cPath, err := cString(op, path, path)
	if err != nil {
		return false, err
	}
	if err := checkFile(path, nil); err != nil {
		return false, &Error{Op: op, Path: path, Err: err}
	}
	lock()
	defer unlock()
	if err := readyLocked(op, path); err != nil {
		return false, err
	}
	defer delayStartsLocked(nil)()
	var cerr C.goh5_err_t
	var is C.int32_t
	if rc := C.goh5_is_hdf5(&cerr, cPath, &is); rc < 0 {
		return false, newError(op, path, rc, &cerr)
	}
	return is != 0, nil
}

// Path returns the path that the file was opened with.
func (f *File) Path() string { return f.path }

// Unlocked returns the error of the file system if the file was opened for reading without a lock
// because its file system refuses locks (LockIfPossible). Another program can then change the file
// while it is read. Otherwise Unlocked returns nil.
func (f *File) Unlocked() error { return f.unlocked }

// Mode returns the access mode of the file. A created file has ReadWrite.
func (f *File) Mode() Mode { return f.mode }

// Root returns the root group. It is valid until the file is closed. Closing the group has no
// effect.
func (f *File) Root() *Group { return &Group{object{h: f.h, file: f, path: "/"}} }

// Flush writes all buffered data to the operating system (H5Fflush).
func (f *File) Flush() error {
	lock()
	defer unlock()
	return f.flushLocked("flush file")
}

// flushLocked flushes the file. It returns an error if the addresses of the file are too small for
// its data, because libhdf5 stores their low bytes then.
func (f *File) flushLocked(op string) error {
	id, err := f.h.idLocked(op, f.path)
	if err != nil {
		return err
	}
	var end C.uint64_t
	var last *C.uint64_t
	if f.shortAddresses() {
		last = &end
	}
	var cerr C.goh5_err_t
	rc := C.goh5_fflush(&cerr, id, last)
	runtime.KeepAlive(f)
	if rc < 0 {
		return newError(op, f.path, rc, &cerr)
	}
	if limit := uint64(1)<<(8*f.addressSize) - 1; f.shortAddresses() && uint64(end) >= limit {
		return &Error{Op: op, Path: f.path, Err: fmt.Errorf("%w: the file is corrupt now: got %d bytes, want at most %d with addresses of %d bytes", errors.ErrUnsupported, end, limit-1, f.addressSize)}
	}
	return nil
}

// shortAddresses reports whether the file is open for writing and may outgrow its addresses.
func (f *File) shortAddresses() bool { return f.addressSize > 0 && f.addressSize < 8 }

// Close flushes and closes the file and all its groups and datasets (H5Fclose). A second call
// returns ErrClosed. Close and Flush return errors.ErrUnsupported if the file was written and has
// become larger than its addresses allow. It is then corrupt. This is detected with the drivers
// Sec2 and Log, because libhdf5 does not return the end of the addresses for others.
func (f *File) Close() error {
	after, err := f.close()
	if after != nil {
		err = errors.Join(err, after())
	}
	return err
}

// close closes the file, and returns a function that must be called without the library's lock.
func (f *File) close() (after func() error, err error) {
	lock()
	defer unlock()
	const op = "close file"
	after, f.after = f.after, nil
	var overflow error
	if f.shortAddresses() {
		if overflow = f.flushLocked(op); errors.Is(overflow, ErrClosed) {
			overflow = nil
		}
	}
	if err = f.h.closeLocked(op, f.path); err != nil {
		return after, errors.Join(overflow, err)
	}
	err = overflow
	if f.raw != nil && f.raw != f.given {
		err = errors.Join(err, f.raw.Close())
	}
	if f.given != nil {
		err = errors.Join(err, f.given.Close())
	}
	return after, err
}
