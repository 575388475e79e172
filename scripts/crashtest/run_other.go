//go:build !linux || !amd64

package crashtest

import (
	"errors"
	"fmt"
	"os/exec"
)

// Run returns errors.ErrUnsupported on this system.
func Run(*exec.Cmd, string, Judge) ([]Event, *Result, error) {
	return nil, nil, fmt.Errorf("%w: tracing of system calls is for Linux on amd64", errors.ErrUnsupported)
}

// Result describes how a program ended.
type Result struct {
	Killed bool
	Code   int
}
