//go:build !windows

package cmem_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/cmem"
)

// crashVariable makes this test binary crash in a way.
const crashVariable = "HYPERSLAB_TEST_CRASH"

func TestCatchCrashes(t *testing.T) {
	switch os.Getenv(crashVariable) {
	case "":
	case "C":
		cmem.CatchCrashes(5)
		cmem.CrashText("command: ", "file.h5")
		cmem.EnterHDF5()
		cmem.Free(cmem.Invalid)
	case "Go":
		cmem.CatchCrashes(5)
		defer func() {
			if recover() == nil {
				os.Exit(1)
			}
			os.Exit(0)
		}()
		var p *int
		*p = 1
	case "signal":
		cmem.CatchCrashes(5)
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	}
	for way, want := range map[string]int{"C": 5, "Go": 0, "signal": 2} {
		t.Run(way, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestCatchCrashes$")
			cmd.Env = append(os.Environ(), crashVariable+"="+way)
			out, _ := cmd.CombinedOutput() // the exit code is compared
			require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s", out)
			if way == "C" {
				require.Equal(t, "command: libhdf5 crashed (SIGSEGV) while it read file.h5\n", string(out))
			}
		})
	}
}
