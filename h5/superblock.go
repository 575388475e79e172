//go:build cgo

// What is looked at before the library opens a file: addresses that it has no room for,
// and an end that it would cut the file at.

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
	"syscall"

	"github.com/hyperslab/hyperslab/format/hdf5"
	"github.com/hyperslab/hyperslab/internal/regular"
)

// maxToken is the bytes of the library's token of an object (H5O_MAX_TOKEN_SIZE), into
// which it writes addresses of as many bytes as the file says
// (H5VL_native_addr_to_token).
const maxToken = 16

// UnclosedError says that a file which stores its free space was never closed by who
// wrote it, and is longer than its superblock says. Opened for writing it would be cut
// there: reading is not refused. It is ErrCorrupt.
type UnclosedError struct {
	End  int64 // bytes of the file as its superblock has them
	Size int64 // bytes it has
}

func (e *UnclosedError) Error() string {
	return fmt.Sprintf("%v: it was not closed by its writer, who stored that it ends after %d of its %d bytes, where writing would cut it: "+
		"hyperslab recover saves what it holds, and h5clear --increment of a copy keeps all its bytes", ErrCorrupt, e.End, e.Size)
}

func (e *UnclosedError) Unwrap() error { return ErrCorrupt }

// writers are the files that are open for writing by a path, which are in motion: what
// is stored of them need not fit. The library's lock guards it.
var writers = map[*idSet]fs.FileInfo{}

// writingLocked notes that a file is open for writing.
func writingLocked(s *idSet, path string) {
	if info, err := os.Stat(path); err == nil {
		writers[s] = info
	}
}

// fitLocked reports a file that the library must not open as o says. Of what is not
// there or no HDF5 file it says nothing: the library does.
func fitLocked(path string, o OpenOptions, image []byte) error {
	write := o.Mode == ReadWrite
	if image != nil {
		return fit(bytes.NewReader(image), int64(len(image)), write)
	}
	var d Driver
	if o.Access != nil {
		d = o.Access.Driver
	}
	if d, ok := d.(readerDriver); ok {
		return fitReaderLocked(d)
	}
	name, whole := superblockFile(path, d)
	f, info, err := regular.Open(name)
	if err != nil {
		return nil //nolint:nilerr // the library says what is wrong
	}
	defer f.Close()
	for _, other := range writers {
		write = write && !os.SameFile(info, other)
	}
	err = fit(f, info.Size(), write && whole)
	if _, unclosed := errors.AsType[*UnclosedError](err); unclosed && inMotion(f) {
		return fmt.Errorf("%w, which has not closed it yet", ErrLocked)
	}
	return err
}

// inMotion reports a file that another process has locked to write to it, as the library
// does (H5FD__sec2_lock).
func inMotion(f *os.File) bool {
	rc := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	return errors.Is(rc, syscall.EWOULDBLOCK)
}

// fitReaderLocked is fitLocked of what OpenReaderAt was given.
func fitReaderLocked(d readerDriver) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if run(func() error { return fit(readers[d.id], d.size, false) }) == 0 {
		return nil
	}
	err := lib.cause
	lib.cause = nil
	return err
}

// superblockFile is the file that has the superblock, and whether it is all there is.
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

// fit finds the superblock where the library looks for it (H5FD_locate_signature).
func fit(r io.ReaderAt, size int64, write bool) error {
	var b [16]byte
	for base := int64(0); base >= 0 && base <= size-int64(len(b)); base = max(512, 2*base) {
		if n, err := r.ReadAt(b[:], base); n < len(b) {
			return err
		}
		if string(b[:8]) != hdf5.Signature {
			continue
		}
		version, width := b[8], b[9]
		if version < 2 {
			width = b[13]
		}
		if width > maxToken {
			return fmt.Errorf("%w: addresses of %d bytes, of which the library holds %d", errors.ErrUnsupported, width, maxToken)
		}
		if write && version >= 2 {
			return closed(r, size)
		}
		return nil
	}
	return nil
}

// watched is a reader that keeps its first error: a file that cannot be read has not been
// looked at, whatever its reader makes of it.
type watched struct {
	io.ReaderAt
	err error
}

func (w *watched) ReadAt(b []byte, at int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(b, at)
	if n < len(b) && w.err == nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}

// closed returns an *UnclosedError, what went wrong with the reading, or nil.
func closed(r io.ReaderAt, size int64) error {
	w := watched{ReaderAt: r}
	f, err := hdf5.Open(&w, size, nil)
	if w.err != nil {
		return w.err
	}
	if err != nil {
		return nil //nolint:nilerr // the library says what is wrong
	}
	if super := f.Superblock(); super.Version >= 3 && super.Flags&(hdf5.WriteAccess|hdf5.SWMRWrite) != 0 {
		return nil // the library heeds the flags of who writes it, and refuses it itself (H5F_open)
	}
	if end, unclosed := f.Unclosed(); unclosed {
		return &UnclosedError{End: end, Size: size}
	}
	return nil
}
