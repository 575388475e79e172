//go:build !windows

package cli_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestRun_crash lists a file that makes libhdf5 crash, in trusted mode and in a sandbox.
func TestRun_crash(t *testing.T) {
	testenv.NoASan(t, "the sanitizer handles the signal")
	file := testenv.Files(t, "HYPERSLAB_CORPUS", "hostile-hdf5/cve-2024-32609.h5")[0]
	for _, args := range [][]string{{"ls", "-r", file}, {"dump", "--ddl", file}} {
		cmd := exec.Command("hyperslab", args...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		_ = cmd.Run() // the exit code is compared
		require.Equal(t, 5, cmd.ProcessState.ExitCode(), "%v: %s", args, stderr.String())
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "%s", stderr.String())
		require.Contains(t, stderr.String(), "hyperslab "+args[0]+": libhdf5 crashed (SIGSEGV) while it read "+file)
	}
	_, stderr, code := run("ls", "-r", "--untrusted", file)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "corrupt")
}
