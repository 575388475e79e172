// README is true: its program compiles, runs, and prints what it says.
package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadmeProgramRuns(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(b), "```go\n")
	require.True(t, found, "README has no Go program")
	program, _, found := strings.Cut(rest, "```")
	require.True(t, found)

	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	run := exec.Command("go", "run", file)
	run.Dir = root
	run.Env = append(os.Environ(), "CGO_ENABLED=1") // it binds C, however this test was built
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)

	// Each comment behind a Println that says what is printed.
	for _, line := range strings.Split(program, "\n") {
		if call, want, ok := strings.Cut(line, " // ["); ok && strings.Contains(call, "fmt.Println") {
			require.Contains(t, string(out), "["+want)
		}
	}
}
