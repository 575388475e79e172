// Exit codes, and the errors that carry them.

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/location/locate"
)

// Exit codes; 0, 1 and 2 mean what they mean for h5diff and diff.
const (
	exitOK       = 0
	exitDiffers  = 1
	exitCannot   = 2
	exitPartly   = 3
	exitRefused  = 4
	exitCrashed  = 5
	exitOnSignal = 128 // plus the signal's number
)

// CatchCrashes ends the process with its own exit code and one line if a C library crashes.
func CatchCrashes() { cmem.CatchCrashes(exitCrashed) }

// nameFiles sets the message for a crash of a C library during a command.
func nameFiles(command string, args []string) {
	var files []string
	for _, arg := range args {
		if loc, err := locate.Parse(arg); err == nil {
			if _, err := os.Stat(loc.File); err == nil {
				files = append(files, term.Safe(loc.File))
			}
		}
	}
	end := "; the file is corrupt or triggers a defect of the library, and --untrusted reads it in a sandbox"
	if len(files) == 0 {
		files = []string{"its input"}
	}
	cmem.CrashText(command+": ", strings.Join(files, ", ")+end)
}

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
