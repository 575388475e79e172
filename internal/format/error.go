// Error type of the format readers, and its sentinels.

package format

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// Errors of untrusted input. Every *Error wraps one of these, or the cause of a failed read.
var (
	// ErrTruncated means that the input is shorter than its sizes require.
	ErrTruncated = errs.New("truncated", ErrCorrupt)
	// ErrMagic means that the input has another format.
	ErrMagic = errs.New("not this format")
	// ErrVersion means that the readers do not support the version of the input.
	ErrVersion = errs.New("unknown format version")
	// ErrCorrupt means that a field contradicts the format or another field.
	ErrCorrupt = errs.ErrCorrupt
	// ErrLimit means that a size is valid but above a limit of the reader.
	ErrLimit = errs.ErrLimit
	// ErrSize means that a buffer of the caller has the wrong length.
	ErrSize = errs.ErrSize
	// ErrUnsupported means that the format allows the input, but these readers or the C library do
	// not support it. It is errors.ErrUnsupported.
	ErrUnsupported = errors.ErrUnsupported
)

// Part returns the error of a file or structure whose format is known from its name, from its
// container or from a check before: a missing one and one of another format are corrupt, and an
// unknown version is unsupported.
func Part(err error) error {
	is := func(sentinels ...error) bool {
		return slices.ContainsFunc(sentinels, func(s error) bool { return errors.Is(err, s) })
	}
	switch {
	case is(ErrVersion):
		return errs.Mark(err, ErrUnsupported)
	case is(ErrUnsupported, ErrLimit, errs.ErrFormat):
		return err
	case is(ErrMagic, fs.ErrNotExist):
		return errs.Mark(err, ErrCorrupt)
	}
	return err
}

// Error is an error in an input, with its location.
type Error struct {
	Format string // "blosc chunk", "blosc2 frame", "b2nd metalayer", …
	What   string // the field or part: "cbytes", "block 3"
	Offset int64  // bytes from the start of the parsed input to that part
	Got    string // the actual value; "" if Err is sufficient
	Want   string // the expected value; "" if there is no single one
	Err    error  // one of the sentinels, or the cause of a failed read
}

// Error returns the format, the part, its offset, both values and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s at byte %d", e.Format, e.What, e.Offset)
	if e.Got != "" {
		fmt.Fprintf(&b, ": got %s", e.Got)
	}
	if e.Want != "" {
		fmt.Fprintf(&b, ", want %s", e.Want)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the sentinel or the cause.
func (e *Error) Unwrap() error { return e.Err }

// Complaint returns the text of err for a [Field] that has an offset already. For an *Error it
// contains the actual and expected value and the cause, without format and offset.
func Complaint(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	parts := make([]string, 0, 3)
	if e.Got != "" {
		parts = append(parts, "got "+e.Got)
	}
	if e.Want != "" {
		parts = append(parts, "want "+e.Want)
	}
	s := strings.Join(parts, ", ")
	if e.Err == nil {
		return s
	}
	if s == "" {
		return e.Err.Error()
	}
	return s + ": " + e.Err.Error()
}

// CheckLayer returns ErrLimit for a metalayer whose content is more than 64 MiB and more than 4096
// times as long as its stored form. The check is needed because a chunk of 32 bytes can expand to
// 2 GiB of zeros.
func CheckLayer(name string, content, stored int64) error {
	if content > 64<<20 && content>>12 > stored {
		return fmt.Errorf("%w: metalayer %q of %d bytes, of which %d are stored", ErrLimit, name, content, stored)
	}
	return nil
}
