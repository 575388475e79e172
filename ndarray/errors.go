// The Error type with operation and path, and sentinels for errors that callers can handle.

package ndarray

import (
	"errors"
	"fmt"
	"io/fs"
)

// Sentinels of the package; match them with errors.Is. A missing ability of a backend is the
// standard library's errors.ErrUnsupported.
var (
	ErrClosed   = errors.New("array is closed")
	ErrSize     = errors.New("wrong buffer size")
	ErrRegion   = errors.New("region outside the array")
	ErrType     = errors.New("wrong element type")
	ErrShape    = errors.New("invalid shape")
	ErrParam    = errors.New("invalid parameter")
	ErrReadOnly = errors.New("opened read-only")
	ErrFormat   = errors.New("not a known array format")
	ErrCorrupt  = errors.New("corrupt array")
	ErrValue    = errors.New("value does not fit")

	ErrNotFound error = &kindOf{"not found", fs.ErrNotExist} // errors.Is(ErrNotFound, fs.ErrNotExist) is true
	ErrExists   error = &kindOf{"exists already", fs.ErrExist}
)

// kindOf is a sentinel that wraps a sentinel of the standard library.
type kindOf struct {
	text string
	std  error
}

func (k *kindOf) Error() string { return k.text }
func (k *kindOf) Unwrap() error { return k.std }

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

// Wrap returns err as an *Error with op and path. It is for backends. A nil err stays nil, and an
// error that contains an *Error with a path is returned unchanged.
func Wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) && e.Path != "" {
		return err
	}
	return &Error{Op: op, Path: path, Err: err}
}

// Mark returns an error with err's text that also matches sentinel. It is for backends, to classify
// errors of their libraries.
func Mark(err, sentinel error) error { return &marked{err, sentinel} }

type marked struct{ err, sentinel error }

func (m *marked) Error() string   { return m.err.Error() }
func (m *marked) Unwrap() []error { return []error{m.sentinel, m.err} }
