package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/ndarray"
)

// The scripts in testdata/script run the command as a process: exit codes,
// pipes, terminals. Each has a copy of field, and
// two arrays of noise beside it.
func TestScripts(t *testing.T) { script(t, testscript.Params{Dir: "testdata/script"}) }

// Completion is typed into each shell that there is a Debian package of; for PowerShell,
// of which there is none, TestScripts looks that there is a script, and at the answers
// that it asks for.
func TestShells(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				need.Missing(t, "%s is not installed (make peers)", shell)
			}
			script(t, testscript.Params{Files: []string{"testdata/shells/" + shell + ".txtar"}})
		})
	}
}

func script(t *testing.T, p testscript.Params) {
	t.Helper()
	files := field(t)
	noise(t, filepath.Join(files, "noise.b2nd"), 2560)
	noise(t, filepath.Join(files, "big.b2nd"), 8192)
	reference, err := filepath.Abs("../../../../third_party/build/bin/h5diff")
	require.NoError(t, err)
	p.RequireExplicitExec, p.RequireUniqueNames = true, true
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("H5DIFF", reference)
		return os.CopyFS(env.WorkDir, os.DirFS(files))
	}
	p.Cmds = map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status}
	p.Condition = func(name string) (bool, error) {
		if name == "h5diff" { // a build with the system's libraries has none of its own
			_, err := os.Stat(reference)
			return err == nil, nil
		}
		return false, errors.New("no such condition: " + name)
	}
	testscript.Run(t, p)
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

// A signal ends a job with the shell's exit code and leaves neither a target nor a
// temporary file, and of what was there before all as it was.
func TestSignals(t *testing.T) {
	src := t.TempDir()
	at := func(name string) string { return filepath.Join(src, name) }
	noise(t, at("noise.b2nd"), 4096)
	_, stderr, code := run("convert", at("noise.b2nd[:2048]"), at("slow.h5:/x"), "--codec", "bzip2", "--level", "9", "-q")
	require.Zero(t, code, stderr)
	grows := ndarray.Spec{Shape: []int64{16, 1024}, ChunkShape: []int64{16, 1024}, Compression: &ndarray.Compression{Codec: "zstd", Level: 9}}
	create(t, at("target.b2nd"), grows, make([]float32, 16*1024))
	hard := []string{"-j", "1", "--codec", "zstd", "--level", "9"}
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		code   int
		target string // copied from the sources if it is there
		args   []string
	}{
		{"convert", syscall.SIGINT, 130, "out.b2nd", append([]string{"convert", at("noise.b2nd"), "TARGET"}, hard...)},
		{"convert sparse", syscall.SIGTERM, 143, "sparse.b2nd", append([]string{"convert", at("noise.b2nd"), "TARGET", "--sparse"}, hard...)},
		{"convert to HDF5", syscall.SIGTERM, 143, "out.h5", []string{"convert", at("noise.b2nd"), "TARGET:/x", "-j", "1", "--codec", "deflate", "--level", "9"}},
		{"convert hung up", syscall.SIGHUP, 129, "out.b2nd", append([]string{"convert", at("noise.b2nd"), "TARGET"}, hard...)},
		{"repack", syscall.SIGINT, 130, "noise.b2nd", append([]string{"repack", "--replace", "TARGET"}, hard...)},
		{"repack HDF5", syscall.SIGTERM, 143, "slow.h5", append([]string{"repack", "--replace", "TARGET"}, hard...)},
		{"append", syscall.SIGTERM, 143, "target.b2nd", []string{"append", "TARGET", at("noise.b2nd"), "-j", "1"}},
		{"recover", syscall.SIGINT, 130, "saved.h5", []string{"recover", at("slow.h5"), "TARGET"}},
		{"recover untrusted", syscall.SIGINT, 130, "saved.h5", []string{"recover", at("slow.h5"), "TARGET", "--untrusted"}},
		{"recover untrusted", syscall.SIGTERM, 143, "saved.h5", []string{"recover", at("slow.h5"), "TARGET", "--untrusted"}},
		{"convert untrusted", syscall.SIGTERM, 143, "out.b2nd", append([]string{"convert", at("noise.b2nd"), "TARGET", "--untrusted"}, hard...)},
		{"dump untrusted", syscall.SIGINT, 130, "", []string{"dump", at("noise.b2nd"), "--untrusted"}},
		{"bench", syscall.SIGINT, 130, "", []string{"bench", at("noise.b2nd"), "--seconds", "20"}},
		{"verify", syscall.SIGTERM, 143, "", append([]string{"verify"}, slices.Repeat([]string{at("target.b2nd")}, 400)...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			target := filepath.Join(dir, tt.target)
			before := 0
			old, err := os.ReadFile(at(tt.target))
			if err == nil {
				put(t, target, old)
				before = 1
			}
			args := slices.Clone(tt.args)
			for i := range args {
				args[i] = strings.Replace(args[i], "TARGET", target, 1)
			}
			cmd := exec.Command("hyperslab", args...)
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its worker is of its group
			stdout, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
			require.NoError(t, err)
			defer stdout.Close()
			var stderr strings.Builder
			cmd.Stdout, cmd.Stderr = stdout, &stderr
			// Under nohup, for one, a signal is ignored here and would be in the child.
			caught := make(chan os.Signal, 1)
			signal.Notify(caught, tt.signal)
			defer signal.Stop(caught)
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				left, err := os.ReadDir(dir)
				said, _ := stdout.Stat()
				return err == nil && len(left) > before || said.Size() > 0
			}, time.Minute, time.Millisecond, "the work has begun")
			require.NoError(t, cmd.Process.Signal(tt.signal))
			begun := time.Now()
			var exit *exec.ExitError
			require.ErrorAs(t, cmd.Wait(), &exit, "it was done before the signal came: %s", stderr.String())
			require.Equal(t, tt.code, exit.ExitCode(), stderr.String())
			require.Less(t, time.Since(begun), time.Minute, "it stops between two chunks")
			require.Contains(t, stderr.String(), "no temporary file is left")
			require.Eventually(t, func() bool { return errors.Is(syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH) }, time.Minute, time.Millisecond, "its worker is gone")
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, before)
			if before > 0 {
				now, err := os.ReadFile(target)
				require.NoError(t, err)
				require.True(t, bytes.Equal(old, now), "the old file is as it was")
			}
		})
	}
}
