// The Error type with operation and path, and sentinels for errors that callers can handle.

package ndarray

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
)

// Sentinels of the package; match them with errors.Is. A missing ability of a backend is the
// standard library's errors.ErrUnsupported.
var (
	ErrClosed   = errs.ErrClosed
	ErrSize     = errs.ErrSize
	ErrRegion   = errs.ErrRegion
	ErrType     = errs.ErrType
	ErrShape    = errs.ErrShape
	ErrParam    = errs.ErrParam
	ErrReadOnly = errs.ErrReadOnly
	ErrFormat   = errs.ErrFormat
	ErrCorrupt  = errs.ErrCorrupt
	ErrValue    = errs.New("value does not fit")

	ErrNotFound = errs.ErrNotFound // errors.Is(ErrNotFound, fs.ErrNotExist) is true
	ErrExists   = errs.ErrExists

	ErrLocked   = errs.ErrLocked          // another writer holds the lock of the file for longer than the context allows to wait
	ErrReplaced = regularfile.ErrReplaced // another program replaced or changed the file of an open array
)

// Lock is the lock of a file or directory, which excludes its other writers. hyperslab.LockFile
// returns one.
type Lock = filelock.Lock

// Error reports a failed operation on an array.
type Error struct {
	Op   string // for example "read", "write", "open", "copy"
	Path string // file, or FILE:/object; "" if the array has none
	Err  error  // the cause, never nil
}

func (e *Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("ndarray: %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("ndarray: %s %s: %v", e.Op, e.Path, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// descriptors is the directory of the open files of the process. A path in it is no name of a file
// for users.
const descriptors = "/proc/self/fd/"

// Wrap returns err as an *Error with op and path. It is for backends. A nil err stays nil, and an
// error that contains an *Error with a path is returned unchanged, unless that path is one of a
// descriptor. A missing file (fs.ErrNotExist) also matches ErrNotFound, and an existing one
// (fs.ErrExist) ErrExists. A file of a directory that is a link out of it matches ErrFormat.
func Wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) && e.Path != "" {
		if !strings.HasPrefix(e.Path, descriptors) {
			return err
		}
		err = e.Err
	}
	for _, t := range []struct{ is, mark error }{{fs.ErrNotExist, ErrNotFound}, {fs.ErrExist, ErrExists}} {
		if errors.Is(err, t.is) && !errors.Is(err, t.mark) {
			err = errs.Mark(err, t.mark)
		}
	}
	return &Error{Op: op, Path: path, Err: errs.Inside(err)}
}
