// Standard output as a terminal shows it.

package cli

import (
	"io"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
)

// onTerminal reports whether a terminal shows standard output, directly or through a pager.
func (a *app) onTerminal() bool { return a.width > 0 || term.IsTerminal(a.stdout) }

// content returns the writer for the content of files. A terminal gets it without control
// characters, everything else the exact bytes. The caller must call done after the last Write.
func (a *app) content() (w io.Writer, done func() error) {
	if !a.onTerminal() {
		return a.stdout, func() error { return nil }
	}
	t := term.NewEscaper(a.stdout)
	return t, t.Close
}
