// The one error type of the format readers, and the sentinels it wraps.

package format

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with bytes from outside. Every *Error wraps one of these.
var (
	// ErrTruncated means that the input ends before what it announces.
	ErrTruncated = errors.New("truncated")
	// ErrMagic means that the input is not of this format at all.
	ErrMagic = errors.New("not this format")
	// ErrVersion means that the input is of a version these readers do not know.
	ErrVersion = errors.New("unknown format version")
	// ErrCorrupt means that a field contradicts the format or another field.
	ErrCorrupt = errors.New("corrupt")
	// ErrLimit means that a size is valid but above a limit of the reader.
	ErrLimit = errors.New("limit exceeded")
	// ErrSize means that a buffer of the caller has the wrong length.
	ErrSize = errors.New("wrong buffer length")
	// ErrUnsupported means that the format allows it and these readers, or the C
	// library behind them, do not handle it. It is errors.ErrUnsupported.
	ErrUnsupported = errors.ErrUnsupported
)

// Error reports what is wrong with an input and where.
type Error struct {
	Format string // "blosc chunk", "blosc2 frame", "b2nd metalayer", …
	What   string // the field or part: "cbytes", "block 3"
	Offset int64  // bytes from the start of the parsed input to that part
	Got    string // what was found; "" if Err says it all
	Want   string // what would have been right; "" if there is no one answer
	Err    error  // one of the sentinels, or the cause of a failed read
}

// Error names the format, the part, its offset, both sides and the cause.
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

// Complaint is the text of err for a [Field] that already says where: of an
// *Error it is what was got, wanted and the cause, without format and offset.
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
