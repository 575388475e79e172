// Output through a pager.

package shell

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
)

// Paged makes a command write through a pager if standard output is a terminal. The pager is the
// command in HYPERSLAB_PAGER or else PAGER, or else less, which exits if the output fits the
// screen. An empty variable, "cat", --no-pager and TERM=dumb disable it.
func (a *App) Paged(cmd *cobra.Command) {
	off := false
	cmd.Flags().BoolVar(&off, "no-pager", false, "do not use a pager")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		command := term.PagerCommand(os.LookupEnv)
		if off || command == "" || !term.IsTerminal(a.Stdout) {
			return run(cmd, args)
		}
		return a.throughPager(command, func() error { return run(cmd, args) })
	}
}

// throughPager runs f with standard output connected to the pager, and waits until the user leaves
// it.
func (a *App) throughPager(command string, f func() error) error {
	in, wait, err := term.StartPager(command, a.Stdout, a.Stderr)
	if err != nil {
		return err
	}
	a.width = term.Width(a.Stdout)
	terminal := a.Stdout
	input := a.Secrets.Writer(pagerInput{in})
	a.Stdout = input
	defer func() { a.Stdout = terminal }()
	return errors.Join(f(), input.Flush(), wait())
}

// pagerInput is the pipe to the pager. A user who leaves the pager early ends the command as a
// closed standard output does.
type pagerInput struct{ io.Writer }

func (p pagerInput) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = &SignalError{syscall.SIGPIPE}
	}
	return n, err
}

// Columns returns the width of text for users: that of the terminal, otherwise 80 columns, so that
// files do not depend on the terminal.
func (a *App) Columns() int {
	if a.width > 0 {
		return a.width
	}
	if width := term.Width(a.Stdout); width > 0 {
		return width
	}
	return 80
}
