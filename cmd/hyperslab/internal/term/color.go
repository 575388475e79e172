// Colours, and properties of the terminal.

package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Values of --color.
const (
	ColorAuto   = "auto"
	ColorAlways = "always"
	ColorNever  = "never"
)

// Paint writes the colours of the command. Data (names, numbers, JSON) are never coloured, only
// headings, keys and the word before an error.
type Paint bool

// Sequences are the control sequences that a Paint writes.
var Sequences = []string{"\x1b[1m", "\x1b[1;31m", "\x1b[33m", "\x1b[0m"}

func (p Paint) wrap(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p Paint) Heading(s string) string { return p.wrap("1", s) }
func (p Paint) Failure(s string) string { return p.wrap("1;31", s) }
func (p Paint) Notice(s string) string  { return p.wrap("33", s) }

// Colors decides whether w gets colours. The flag has priority, then the conventions of the
// environment: NO_COLOR off, CLICOLOR_FORCE on, TERM=dumb off.
func Colors(flag string, w io.Writer, getenv func(string) string) Paint {
	switch flag {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	if getenv("NO_COLOR") != "" {
		return false
	}
	if force := getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return Paint(IsTerminal(w) && getenv("TERM") != "dumb")
}

// Filter is a writer that passes changed bytes to another one.
type Filter interface {
	io.Writer
	Target() io.Writer
}

// file returns the file that w writes to.
func file(w io.Writer) (f *os.File, ok bool) {
	f, ok = target(w).(*os.File)
	return f, ok
}

// target returns the writer without its filter.
func target(w io.Writer) io.Writer {
	if filter, is := w.(Filter); is {
		return filter.Target()
	}
	return w
}

// Width returns the number of columns of the terminal w, or 0 if it is unknown, as in some
// terminals of containers and editors.
func Width(w io.Writer) int {
	f, ok := file(w)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// IsFile reports whether w is a regular file.
func IsFile(w io.Writer) bool {
	f, ok := file(w)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd()))
}
