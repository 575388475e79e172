// What is opened is what was looked at.

package regular

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ErrNot means a path that leads to something else than a regular file.
var ErrNot = errors.New("not a regular file")

// Open opens a file for reading, and says what it is: os.Open that never waits.
//
// It returns ErrNot, with what there is instead, or the errors of os.Open, each as an
// *fs.PathError.
func Open(path string) (*os.File, fs.FileInfo, error) {
	// Looked at once it is open, so that nobody can change what is there in between.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket: nobody opens it as a file
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

// OpenRoot is os.OpenRoot that does not wait at a pipe either.
func OpenRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir + "/.") // leads nowhere but in a directory
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = dir
	}
	return root, err
}

// Check returns ErrNot, as an *fs.PathError that says what there is, for what is no
// regular file. It is for those who have to leave the opening to a library.
func Check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: notRegular(info.Mode())}
}

// notRegular is the mode of what is no regular file.
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

func (notRegular) Is(target error) bool { return target == ErrNot }
