// What can go wrong: one struct, and the sentinels of cblosc.

package frameio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format"
)

// Error reports a failed call. Err wraps a sentinel of package cblosc, so that a
// caller handles one set for this path and the library's own.
type Error struct {
	Op    string // "open", "read chunk", "read region", …
	Path  string // file or directory, "" if there is none
	Chunk int64  // the chunk, -1 if the error is about none
	Err   error
}

// Error names the operation, the path, the chunk and the cause.
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

// invalid adds cblosc.ErrFormat to what the format packages found. Faults of the
// file system, and what is only not supported, stay what they are.
func invalid(err error) error {
	var file *fs.PathError
	if err == nil || errors.As(err, &file) || errors.Is(err, fs.ErrClosed) || errors.Is(err, cblosc.ErrFormat) || errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w: %w", cblosc.ErrFormat, err)
}

// corrupt says that a field of a chunk is not what the frame expects.
func corrupt(what string, offset int64, got, want any) error {
	return invalid(&format.Error{Format: "blosc chunk", What: what, Offset: offset, Got: fmt.Sprint(got), Want: fmt.Sprint(want), Err: format.ErrCorrupt})
}

// closedFile turns the error of a file that Close has closed into ErrClosed.
func closedFile(err error) error {
	if errors.Is(err, os.ErrClosed) && !errors.Is(err, cblosc.ErrClosed) {
		return cblosc.ErrClosed
	}
	return err
}
