// Colours, and properties of the terminal.

package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// paint writes the colours of the command. Data (names, numbers, JSON) are never coloured, only
// headings, keys and the word before an error.
type paint bool

// paints are the control sequences that a paint writes.
var paints = []string{"\x1b[1m", "\x1b[1;31m", "\x1b[33m", "\x1b[0m"}

func (p paint) wrap(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) heading(s string) string { return p.wrap("1", s) }
func (p paint) failure(s string) string { return p.wrap("1;31", s) }
func (p paint) notice(s string) string  { return p.wrap("33", s) }

// colourful decides whether w gets colours. The flag has priority, then the conventions of the
// environment: NO_COLOR off, CLICOLOR_FORCE on, TERM=dumb off.
func colourful(flag string, w io.Writer, getenv func(string) string) paint {
	switch flag {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	if getenv("NO_COLOR") != "" {
		return false
	}
	if force := getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return paint(isTerminal(w) && getenv("TERM") != "dumb")
}

// terminalWidth returns the number of columns of the terminal w, or 0 if it is unknown, as in some
// terminals of containers and editors.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// isFile reports whether w is a regular file.
func isFile(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
