package crosscheck_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestAction runs the script of action.yml with a command that records its arguments.
func TestAction(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		testenv.Missing(t, "bash is missing: action.sh is not run")
	}
	script, err := filepath.Abs("action.sh")
	require.NoError(t, err)
	run := func(t *testing.T, env ...string) (calls []string, code int) {
		t.Helper()
		dir := t.TempDir()
		fake := filepath.Join(dir, "hyperslab")
		require.NoError(t, os.WriteFile(fake, []byte("#!/bin/sh\necho \"$@\" >>"+dir+"/calls\n[ \"$2\" = emit ] && exit\necho '{}'\nexit ${CODE:-0}\n"), 0o755))
		cmd := exec.CommandContext(t.Context(), bash, script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append([]string{"HYPERSLAB=" + fake}, env...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "%s", out)
			code = exit.ExitCode()
		}
		b, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err == nil {
			calls = strings.Split(strings.TrimSpace(string(b)), "\n")
			require.FileExists(t, filepath.Join(dir, "crosscheck-results", "result.json"))
		}
		return calls, code
	}
	t.Run("adapter", func(t *testing.T) {
		t.Parallel()
		calls, code := run(t, "ADAPTER=python3 adapter.py", "AREAS=chunk frame", "VECTORS=small")
		require.Zero(t, code)
		require.Len(t, calls, 2)
		require.Regexp(t, `^crosscheck emit /\S+/vectors --small --area chunk --area frame$`, calls[0])
		require.Regexp(t, `^crosscheck run /\S+/vectors --adapter python3 adapter.py --reports crosscheck-results/pages --area chunk --area frame --json --junit crosscheck-results/junit.xml --force$`, calls[1])
	})
	t.Run("read and write", func(t *testing.T) {
		t.Parallel()
		calls, code := run(t, "READ=r {in} {out}", "WRITE=w {spec} {out}", "VECTORS=default")
		require.Zero(t, code)
		require.Regexp(t, `^crosscheck emit /\S+/vectors$`, calls[0])
		require.Contains(t, calls[1], "--read r {in} {out} --write w {spec} {out} --json")
	})
	for name, x := range map[string]struct {
		env  []string
		want int
	}{
		"failed cases":         {[]string{"READ=r", "CODE=1"}, 1},
		"failed cases allowed": {[]string{"READ=r", "CODE=1", "FAIL_ON_ERROR=false"}, 0},
		"error allowed":        {[]string{"READ=r", "CODE=2", "FAIL_ON_ERROR=false"}, 2},
		"no command":           {nil, 2},
		"unknown set":          {[]string{"READ=r", "VECTORS=tiny"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, code := run(t, x.env...)
			require.Equal(t, x.want, code)
		})
	}
}
