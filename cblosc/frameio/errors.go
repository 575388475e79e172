// Error type, which wraps the sentinels of cblosc.

package frameio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/format"
)

// Error describes a failed call. Err wraps a sentinel of package cblosc, so callers can handle
// errors of this package and of the library in the same way.
type Error struct {
	Op    string // "open", "read chunk", "read region", …
	Path  string // file or directory, or ""
	Chunk int64  // index of the chunk, or -1
	Err   error
}

// Error returns the operation, the path, the chunk and the cause.
func (e *Error) Error() string {
	s := "frameio: " + e.Op
	if e.Path != "" {
		s += " " + e.Path
	}
	if e.Chunk >= 0 {
		s += fmt.Sprintf(": chunk %d", e.Chunk)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Lock is the lock of a frame, which excludes its other writers. hyperslab.LockFile returns one.
type Lock = filelock.Lock

// ErrLocked means that another writer holds the lock of the frame.
var ErrLocked = errs.ErrLocked

// hold locks a frame to change it, or returns a reference to the caller's lock.
func hold(op string, lock *filelock.Lock, path string) (*filelock.Lock, error) {
	lock, err := filelock.Hold(lock, path)
	if err == nil {
		return lock, nil
	}
	if f, oerr := Open(path, nil); oerr != nil { // it describes a missing or unsuitable file better
		return nil, oerr
	} else if oerr := f.Close(); oerr != nil {
		return nil, oerr
	}
	return nil, &Error{op, path, -1, err}
}

// invalid adds cblosc.ErrFormat to an error of the format packages. A frame or chunk of the right
// format is corrupt. Errors of the file system and errors.ErrUnsupported are unchanged.
func invalid(err error) error {
	err = errs.Inside(err)
	var file *fs.PathError
	if err == nil || errors.As(err, &file) || errors.Is(err, fs.ErrClosed) || errors.Is(err, cblosc.ErrFormat) || errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if errors.Is(err, format.ErrMagic) {
		return fmt.Errorf("%w: %w", cblosc.ErrFormat, err)
	}
	return fmt.Errorf("%w: %w", errs.ErrInvalidBytes, err)
}

// corrupt returns an error for a field of a chunk that does not match the frame.
func corrupt(what string, offset int64, got, want any) error {
	return invalid(&format.Error{Format: "blosc chunk", What: what, Offset: offset, Got: fmt.Sprint(got), Want: fmt.Sprint(want), Err: format.ErrCorrupt})
}

// closedFile returns ErrClosed for an error of a file that Close has closed.
func closedFile(err error) error {
	if errors.Is(err, os.ErrClosed) && !errors.Is(err, cblosc.ErrClosed) {
		return cblosc.ErrClosed
	}
	return err
}
