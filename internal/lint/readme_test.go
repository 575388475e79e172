// README is true: its programs compile, run, and print what it says.
package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadmeProgramsRun(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	programs := strings.Split(string(b), "```go\n")[1:]
	require.Len(t, programs, 2, "an array, and many small buffers")
	for _, rest := range programs {
		program, _, found := strings.Cut(rest, "```")
		require.True(t, found)
		runProgram(t, program)
	}
}

// runProgram runs a program, which prints what its comments say.
func runProgram(t *testing.T, program string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	run := exec.Command("go", "run", file)
	run.Dir = root
	run.Env = append(os.Environ(), "CGO_ENABLED=1") // it binds C, however this test was built
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)

	// Each comment behind a Println says what is printed.
	for _, line := range strings.Split(program, "\n") {
		if call, want, ok := strings.Cut(line, " // "); ok && strings.Contains(call, "fmt.Println") {
			require.Contains(t, string(out), want)
		}
	}
}
