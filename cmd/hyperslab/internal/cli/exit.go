// Exit codes, and the errors that carry them.

package cli

import (
	"errors"
	"fmt"
	"io/fs"
)

// Exit codes; 0, 1 and 2 mean what they mean for h5diff and diff.
const (
	exitOK       = 0
	exitDiffers  = 1
	exitCannot   = 2
	exitPartly   = 3
	exitRefused  = 4
	exitOnSignal = 128 // plus the signal's number
)

// exitError carries an exit code up to Run. A nil err means that all messages have been written.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// onlyCode reports whether err contains only an exit code.
func onlyCode(err error) bool {
	var exit *exitError
	return errors.As(err, &exit) && exit.err == nil
}

// usageError is a mistake in the command line itself.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// exitCode returns the exit code for err.
func exitCode(err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, fs.ErrExist):
		return exitRefused
	default:
		return exitCannot
	}
}
