// Open, which checks the type of the file that it has opened.

package regularfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// ErrNot means that a path leads to something other than a regular file, which has no array format.
var ErrNot = errs.New("not a regular file", errs.ErrFormat)

// Open opens a file for reading and returns its FileInfo. Unlike os.Open it never waits.
//
// It returns an error that matches ErrNot and names the actual type, or the errors of os.Open. All
// are *fs.PathError.
func Open(path string) (*os.File, fs.FileInfo, error) {
	// The type is checked after opening, so that the file cannot be replaced in between.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket cannot be opened as a file
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNot}
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = Check(path, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// OpenRoot is os.OpenRoot, except that it does not wait at a named pipe.
func OpenRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir + "/.") // the path is valid for a directory only
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = dir
	}
	return root, err
}

// Check returns an *fs.PathError that matches ErrNot and names the actual type if info is not that
// of a regular file. It is for callers whose library opens the file.
func Check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: notRegular(info.Mode())}
}

// notRegular is the mode of a file that is not regular.
type notRegular fs.FileMode

func (m notRegular) Error() string {
	what := "a file of an unknown kind"
	switch mode := fs.FileMode(m); {
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return ErrNot.Error() + " but " + what
}

func (notRegular) Unwrap() error { return ErrNot }

// Exists reports whether a path leads to a file or a directory. It follows symbolic links.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
