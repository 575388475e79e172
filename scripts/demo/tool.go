// Execution of programs.

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// tool runs a program and returns its output and exit status. An error means that the program could
// not be run.
type tool func(args ...string) (output, error)

type output struct {
	args           []string
	stdout, stderr string
	code           int
}

// execTool returns the tool for a program.
func execTool(program string) tool {
	return func(args ...string) (output, error) {
		cmd := exec.Command(program, args...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = nil
		}
		o := output{args: append([]string{filepath.Base(program)}, args...), stdout: stdout.String(), stderr: stderr.String()}
		if err == nil {
			o.code = cmd.ProcessState.ExitCode()
		}
		return o, err
	}
}

// failure returns an error with the command line and the output.
func (o output) failure() error {
	said := strings.TrimSpace(o.stdout + o.stderr)
	return fmt.Errorf("%s: exit %d: %s", strings.Join(o.args, " "), o.code, said)
}

// document runs t and decodes the JSON that it writes.
func document(t tool, doc any, args ...string) error {
	o, err := t(args...)
	if err != nil {
		return err
	}
	if o.code != 0 {
		return o.failure()
	}
	if err := json.Unmarshal([]byte(o.stdout), doc); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(o.args, " "), err)
	}
	return nil
}
