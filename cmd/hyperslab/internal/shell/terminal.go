// Standard output as a terminal shows it.

package shell

import (
	"io"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
)

// onTerminal reports whether a terminal shows standard output, directly or through a pager.
func (a *App) onTerminal() bool { return a.width > 0 || term.IsTerminal(a.Stdout) }

// Content returns the writer for the content of files. A terminal gets it without control
// characters, everything else the exact bytes. The caller must call done after the last Write.
func (a *App) Content() (w io.Writer, done func() error) {
	if !a.onTerminal() {
		return a.Stdout, func() error { return nil }
	}
	t := term.NewEscaper(a.Stdout)
	return t, t.Close
}
