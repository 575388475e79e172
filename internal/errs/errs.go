// The sentinels, and Mark, which adds one to an error.

package errs

import (
	"errors"
	"io/fs"
)

// Sentinels. The first four also match the errors of io/fs.
var (
	ErrClosed   = New("already closed", fs.ErrClosed)
	ErrNotFound = New("not found", fs.ErrNotExist)
	ErrExists   = New("already exists", fs.ErrExist)
	ErrReadOnly = New("opened read-only", fs.ErrPermission)

	ErrParam   = New("invalid parameter")
	ErrSize    = New("wrong size")
	ErrRegion  = New("out of range")
	ErrType    = New("wrong type")
	ErrFormat  = New("not a known array format")
	ErrShape   = New("invalid shape")
	ErrCorrupt = New("corrupt")
	ErrLimit   = New("limit exceeded")
	ErrLocked  = New("file is locked")
)

// ErrInvalid is the sentinel of package cblosc for bytes that are not a valid chunk, frame or
// array. ErrInvalidBytes and ErrInvalidKind match it and also the condition of package ndarray:
// corrupt bytes, or a file or frame of another kind.
var (
	ErrInvalid      = New("invalid")
	ErrInvalidBytes = New("invalid", ErrInvalid, ErrCorrupt)
	ErrInvalidKind  = New("invalid", ErrInvalid, ErrFormat)
)

// all are the sentinels in the order in which the packages were initialized, which is the same in
// every process of a program.
var all []error

// New returns a sentinel with a text of its own. It also matches the more general ones in above, so
// that a caller of an outer package finds its condition in the error of an inner one. It must be
// called in the declarations of variables only.
func New(text string, above ...error) error {
	s := &sentinel{text, above}
	all = append(all, s)
	return s
}

// All returns all sentinels of the program. A worker process passes them to its program.
func All() []error { return all }

type sentinel struct {
	text  string
	above []error
}

func (s *sentinel) Error() string   { return s.text }
func (s *sentinel) Unwrap() []error { return s.above }

// Mark returns an error with err's text that also matches sentinel. Packages use it to classify the
// errors of libraries.
func Mark(err, sentinel error) error { return &marked{err, sentinel} }

type marked struct{ err, sentinel error }

func (m *marked) Error() string   { return m.err.Error() }
func (m *marked) Unwrap() []error { return []error{m.sentinel, m.err} }

// Inside returns err. If it is the error of an os.Root for a path that leads out of its directory,
// for example through a symbolic link, the result also matches ErrFormat: a file of a format is
// inside the directory.
func Inside(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Err != nil && e.Err.Error() == "path escapes from parent" && !errors.Is(err, ErrFormat) {
		return Mark(err, ErrFormat)
	}
	return err
}
