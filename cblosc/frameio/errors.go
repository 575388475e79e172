// Error type, which wraps the sentinels of cblosc.

package frameio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hyperslab/hyperslab/cblosc"
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

// invalid adds cblosc.ErrFormat to an error of the format packages. Errors of the file system and
// errors.ErrUnsupported are unchanged.
func invalid(err error) error {
	var file *fs.PathError
	if err == nil || errors.As(err, &file) || errors.Is(err, fs.ErrClosed) || errors.Is(err, cblosc.ErrFormat) || errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return fmt.Errorf("%w: %w", cblosc.ErrFormat, err)
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
