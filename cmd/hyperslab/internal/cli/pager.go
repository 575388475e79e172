// Output through a pager.

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"
)

// paged makes a command write through a pager if standard output is a terminal. The pager is the
// command in HYPERSLAB_PAGER or else PAGER, or else less, which exits if the output fits the
// screen. An empty variable, "cat", --no-pager and TERM=dumb disable it.
func (a *app) paged(cmd *cobra.Command) {
	off := false
	cmd.Flags().BoolVar(&off, "no-pager", false, "do not use a pager")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		command := pagerCommand(os.LookupEnv)
		if off || command == "" || !isTerminal(a.stdout) {
			return run(cmd, args)
		}
		return a.throughPager(command, func() error { return run(cmd, args) })
	}
}

// pagerCommand returns the command line of the pager, or "" if paging is disabled.
func pagerCommand(lookup func(string) (string, bool)) string {
	if kind, _ := lookup("TERM"); kind == "dumb" {
		return ""
	}
	for _, name := range []string{"HYPERSLAB_PAGER", "PAGER"} {
		if command, ok := lookup(name); ok {
			if command == "cat" {
				return ""
			}
			return command
		}
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less"
}

// throughPager runs f with standard output connected to the pager, and waits until the user leaves
// it.
func (a *app) throughPager(command string, f func() error) error {
	pager := exec.Command("sh", "-c", command)
	pager.Stdout, pager.Stderr = a.stdout, a.stderr
	pager.Env = os.Environ()
	if _, ok := os.LookupEnv("LESS"); !ok {
		pager.Env = append(pager.Env, "LESS=FRX") // exit if the output fits, show colours, keep the screen
	}
	in, err := pager.StdinPipe()
	if err != nil {
		return err
	}
	if err := pager.Start(); err != nil {
		return fmt.Errorf("starting the pager %q: %w", command, err)
	}
	a.width = terminalWidth(a.stdout)
	terminal := a.stdout
	a.stdout = pagerInput{in}
	defer func() { a.stdout = terminal }()
	err = f()
	return errors.Join(err, ignoreClosed(in.Close()), pagerLeft(pager.Wait()))
}

// pagerInput is the pipe to the pager. A user who leaves the pager early ends the command as a
// closed standard output does.
type pagerInput struct{ io.Writer }

func (p pagerInput) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = &signalError{syscall.SIGPIPE}
	}
	return n, err
}

// ignoreClosed drops the error of a pipe whose reader has ended first.
func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// pagerLeft drops the exit code of the pager, which is unrelated to the data. A shell that does not
// find the pager reports that itself.
func pagerLeft(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// columns returns the width of text for users: that of the terminal, otherwise 80 columns, so that
// files do not depend on the terminal.
func (a *app) columns() int {
	if a.width > 0 {
		return a.width
	}
	if width := terminalWidth(a.stdout); width > 0 {
		return width
	}
	return 80
}
