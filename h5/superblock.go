//go:build cgo

// Checks before libhdf5 opens a file: the size of addresses, and whether opening for writing would
// truncate the file.

package h5

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/guard"
)

// maxToken is the size of libhdf5's token of an object (H5O_MAX_TOKEN_SIZE) in bytes. libhdf5
// writes addresses of the file's address size into it (H5VL_native_addr_to_token).
const maxToken = 16

// UnclosedError is the error for opening a file for writing that stores its free space, was not
// closed by its writer, and is longer than the size in its superblock. libhdf5 would truncate the
// file to that size. Such a file can still be opened for reading. UnclosedError wraps ErrCorrupt.
type UnclosedError struct {
	End  int64 // size of the file in bytes according to its superblock
	Size int64 // actual size in bytes
}

func (e *UnclosedError) Error() string {
	return fmt.Sprintf("%v: it was not closed by its writer, who stored that it ends after %d of its %d bytes, where writing would cut it: "+
		"hyperslab recover saves what it holds, and h5clear --increment of a copy keeps all its bytes", ErrCorrupt, e.End, e.Size)
}

func (e *UnclosedError) Unwrap() error { return ErrCorrupt }

// writers are the files that are open for writing by a path. Their stored state may be inconsistent
// while they are open. It is guarded by the library lock.
var writers = map[*idSet]fs.FileInfo{}

// lockless are the open files that were opened without a lock because their file system refuses
// locks. libhdf5 refuses to open a file with and without locks at the same time. It is guarded by
// the library lock.
var lockless = map[*idSet]locklessFile{}

type locklessFile struct {
	info fs.FileInfo
	why  error
}

// locklessLocked records that a file is open without a lock because of why.
func (f *File) locklessLocked(why error) {
	f.unlocked = why
	if info, err := os.Stat(f.path); err == nil {
		lockless[f.h.ids] = locklessFile{info, why}
	}
}

// refused returns the error that made this process open the file at path without a lock, or nil if
// it has not opened it so.
func refused(path string) error {
	lock()
	defer unlock()
	if len(lockless) == 0 {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // libhdf5 reports the error
	}
	for _, file := range lockless {
		if os.SameFile(info, file.info) {
			return file.why
		}
	}
	return nil
}

// writingLocked records that a file is open for writing.
func writingLocked(s *idSet, path string) {
	if info, err := os.Stat(path); err == nil {
		writers[s] = info
	}
}

// fitLocked returns an error for a file that libhdf5 must not open with these options, and the size
// of its addresses. It returns nil for a missing file or a file that is not HDF5, because libhdf5
// reports those errors.
func fitLocked(path string, o OpenOptions, image []byte) (addressSize int, err error) {
	write := o.Mode == ReadWrite
	if image != nil {
		return fit(bytes.NewReader(image), int64(len(image)), write)
	}
	var d Driver
	if o.Access != nil {
		d = o.Access.Driver
	}
	if d, ok := d.(readerDriver); ok {
		return 0, fitReaderLocked(d)
	}
	name, whole := superblockFile(path, d)
	f, info, err := toCheck(name, o.File)
	if err != nil {
		return 0, nil //nolint:nilerr // libhdf5 reports the error
	}
	if f != o.File {
		defer f.Close()
	}
	for _, other := range writers {
		write = write && !os.SameFile(info, other)
	}
	addressSize, err = fit(f, info.Size(), write && whole)
	if _, unclosed := errors.AsType[*UnclosedError](err); unclosed && inMotion(f) {
		return 0, fmt.Errorf("%w, which has not closed it yet", ErrLocked)
	}
	return addressSize, err
}

// toCheck returns the file with a name. It is the given file if that is the same one and not nil.
func toCheck(name string, given *os.File) (*os.File, fs.FileInfo, error) {
	if given != nil {
		is, err := given.Stat()
		if at, atErr := os.Stat(name); err == nil && atErr == nil && os.SameFile(is, at) {
			return given, is, nil
		}
	}
	return regularfile.Open(name)
}

// fitReaderLocked is fitLocked for a file of OpenReaderAt.
func fitReaderLocked(d readerDriver) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	check := func() error {
		_, err := fit(readers[d.id], d.size, false)
		return err
	}
	if run(check) == 0 {
		return nil
	}
	err := lib.cause
	lib.cause = nil
	return err
}

// superblockFile returns the file that contains the superblock, and whether it is the whole HDF5
// file.
func superblockFile(path string, d Driver) (name string, whole bool) {
	switch d := d.(type) {
	case Family:
		return memberName(path, 0), false
	case Multi:
		return strings.Replace(d.Names[d.member(int(Superblock)-1)], "%s", path, 1), false
	case Split:
		return d.files(path)[0], false
	}
	return path, true
}

// fit checks the superblock of a file and returns the size of its addresses.
func fit(r io.ReaderAt, size int64, write bool) (addressSize int, err error) {
	s, ok, err := guard.FindSuperblock(r, size)
	addressSize = int(s.AddressSize)
	switch {
	case err != nil || !ok:
		return 0, err
	case s.AddressSize > maxToken:
		return 0, fmt.Errorf("%w: addresses of %d bytes, of which the library holds %d", errors.ErrUnsupported, s.AddressSize, maxToken)
	case !write || s.Version < 2:
		return addressSize, nil
	}
	end, unclosed, err := guard.Unclosed(r, size)
	if err == nil && unclosed {
		err = &UnclosedError{End: end, Size: size}
	}
	return addressSize, err
}
