// What the linked C libraries must not do to the process they are in.
package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/need"
)

// The C libraries start no processes and leave signals alone: they do not call what does
// such things. What is listed here is called, and never reached.
func TestLibrariesForkNothingAndCatchNoSignals(t *testing.T) {
	known := map[string][]string{
		"libgoblosc2.a": {"popen"}, // of plug-ins: their ids are refused before the library sees them
		"libgohdf5.a":   nil,
		"libgocodec.a":  nil,
	}
	forbidden := strings.Fields(`fork vfork clone popen system posix_spawn posix_spawnp execv execve execvp execl execle execlp
		signal sigaction sigprocmask pthread_sigmask sigaltstack sigwait sigsuspend bsd_signal sigset signalfd
		raise kill pthread_kill tgkill alarm setitimer timer_create pthread_atfork`)
	for name, allowed := range known {
		path := filepath.Join("..", "..", "third_party", "build", "lib", name)
		if _, err := os.Stat(path); err != nil {
			need.Missing(t, "%v (make deps)", err)
		}
		out, err := exec.Command("nm", "-u", path).Output()
		require.NoError(t, err)
		var got []string
		calls := 0
		for line := range strings.Lines(string(out)) {
			if word := strings.Fields(line); len(word) == 2 && word[0] == "U" {
				calls++
				symbol, _, _ := strings.Cut(word[1], "@")
				if slices.Contains(forbidden, symbol) {
					got = append(got, symbol)
				}
			}
		}
		require.Greater(t, calls, 10, name)
		require.Equal(t, allowed, got, name)
	}
}
