// Exit codes, and the errors that carry them.

package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/location/locate"
)

// Exit codes; 0, 1 and 2 mean what they mean for h5diff and diff.
const (
	ExitOK       = 0
	ExitDiffers  = 1
	exitCannot   = 2
	ExitPartly   = 3
	exitRefused  = 4
	ExitCrashed  = 5
	exitOnSignal = 128 // plus the signal's number
)

// NameFiles sets the message for a crash of a C library during a command. untrusted reports whether
// the command has the flag --untrusted.
func NameFiles(command string, args []string, untrusted bool) {
	var files []string
	for _, arg := range args {
		if loc, err := locate.Parse(arg); err == nil {
			if _, err := os.Stat(loc.File); err == nil {
				if name := term.Safe(loc.File); !slices.Contains(files, name) {
					files = append(files, name)
				}
			}
		}
	}
	way := "hyperslab verify checks it"
	if untrusted {
		way = "--untrusted reads it"
	}
	end := "; the file is corrupt or triggers a defect of the library, and " + way + " in a sandbox"
	if len(files) == 0 {
		files = []string{"its input"}
	}
	cmem.CrashText(command+": ", strings.Join(files, ", ")+end)
}

// ExitError carries an exit code up to Run. A nil err means that all messages have been written.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// onlyCode reports whether err contains only an exit code.
func onlyCode(err error) bool {
	var exit *ExitError
	return errors.As(err, &exit) && exit.Err == nil
}

// usageError is a mistake in the command line itself.
type usageError struct {
	err  error
	hint string // "": see the help of the command
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Usagef returns the error for a mistake in the command line (exit code 2).
func Usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// Hintf is Usagef with a hint, which the command writes in the line after the error.
func Hintf(hint, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), hint}
}

// exitCode returns the exit code for err.
func exitCode(err error) int {
	var exit *ExitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit):
		return exit.Code
	case errors.Is(err, fs.ErrExist):
		return exitRefused
	default:
		return exitCannot
	}
}
