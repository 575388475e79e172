// Pagers.

package term

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// PagerCommand returns the command line of the pager, or "" if paging is disabled.
func PagerCommand(lookup func(string) (string, bool)) string {
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

// StartPager starts a pager with the outputs stdout and stderr. wait closes in and waits until the
// user leaves the pager.
func StartPager(command string, stdout, stderr io.Writer) (in io.Writer, wait func() error, err error) {
	pager := exec.Command("sh", "-c", command)
	pager.Stdout, pager.Stderr = target(stdout), target(stderr)
	pager.Env = os.Environ()
	if _, ok := os.LookupEnv("LESS"); !ok {
		pager.Env = append(pager.Env, "LESS=FRX") // exit if the output fits, show colours, keep the screen
	}
	pipe, err := pager.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := pager.Start(); err != nil {
		return nil, nil, fmt.Errorf("starting the pager %q: %w", command, err)
	}
	return pipe, func() error { return errors.Join(ignoreClosed(pipe.Close()), pagerLeft(pager.Wait())) }, nil
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
