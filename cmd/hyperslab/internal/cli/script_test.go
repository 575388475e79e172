package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// The scripts in testdata/script run the command as a process: exit codes,
// pipes, terminals. Each has a copy of field, and
// two arrays of noise beside it.
func TestScripts(t *testing.T) {
	files := field(t)
	noise(t, filepath.Join(files, "noise.b2nd"), 2560)
	noise(t, filepath.Join(files, "big.b2nd"), 8192)
	reference, err := filepath.Abs("../../../../third_party/build/bin/h5diff")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("H5DIFF", reference)
			return os.CopyFS(env.WorkDir, os.DirFS(files))
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status},
		Condition: func(name string) (bool, error) {
			if name == "h5diff" { // a build with the system's libraries has none of its own
				_, err := os.Stat(reference)
				return err == nil, nil
			}
			return false, errors.New("no such condition: " + name)
		},
	})
}

// status runs a program and compares its exit code: status 4 hyperslab convert …
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE PROGRAM ARGUMENTS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// A signal ends a conversion with the shell's exit code and leaves neither a
// target nor a temporary file.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
		target string
		flags  []string
	}{
		{syscall.SIGINT, 130, "out.b2nd", nil},
		{syscall.SIGTERM, 143, "sparse.b2nd", []string{"--sparse"}},
		{syscall.SIGTERM, 143, "out.h5:/x", []string{"--codec", "deflate", "--level", "9"}},
		{syscall.SIGHUP, 129, "out.b2nd", nil},
	} {
		t.Run(tt.signal.String()+" "+tt.target, func(t *testing.T) {
			dir := t.TempDir()
			source := filepath.Join(t.TempDir(), "noise.b2nd")
			noise(t, source, 4096)
			args := append([]string{"convert", source, filepath.Join(dir, tt.target), "-j", "1", "--codec", "zstd", "--level", "9"}, tt.flags...)
			cmd := exec.Command("hyperslab", args...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			// Under nohup, for one, a signal is ignored here and would be in the child.
			caught := make(chan os.Signal, 1)
			signal.Notify(caught, tt.signal)
			defer signal.Stop(caught)
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				left, err := os.ReadDir(dir)
				return err == nil && len(left) > 0
			}, 20*time.Second, time.Millisecond, "the conversion has begun")
			require.NoError(t, cmd.Process.Signal(tt.signal))
			begun := time.Now()
			var exit *exec.ExitError
			require.ErrorAs(t, cmd.Wait(), &exit, "it was done before the signal came: %s", stderr.String())
			require.Equal(t, tt.code, exit.ExitCode(), stderr.String())
			require.Less(t, time.Since(begun), 10*time.Second, "it stops between two chunks")
			require.Contains(t, stderr.String(), "no temporary file is left")
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
