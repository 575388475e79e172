// Tests of README.md and SECURITY.md: programs must run, and figures must be those of
// scripts/bench/results.md.
package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadme_Programs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	programs := strings.Split(string(b), "```go\n")[1:]
	require.Len(t, programs, 1)
	for _, rest := range programs {
		program, _, found := strings.Cut(rest, "```")
		require.True(t, found)
		runProgram(t, program)
	}
}

// speeds matches numbers with a unit of speed or time.
var speeds = regexp.MustCompile(`[0-9][0-9.,]*\s?(×|x\b|%|[KMG]i?B/s|ns\b|µs\b|ms\b|s\b|seconds?\b|minutes?\b|times\b)`)

// sessions matches the output of commands. The tests of each command check that output.
var sessions = regexp.MustCompile(`(?m)^    .*$`)

// TestFigures_readme checks that `make bench` printed each figure of speed in README.md.
func TestFigures_readme(t *testing.T) {
	require.Equal(t, []string{"5.6×", "12 ms", "1,598 MB/s", "3 times", "40%"},
		speeds.FindAllString("5.6× of h5repack, 12 ms, 1,598 MB/s, 3 times, 40% of 16 cores and 2.17.1", -1))
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	results, err := os.ReadFile(filepath.Join(root, "scripts", "bench", "results.md"))
	require.NoError(t, err)
	require.NotEmpty(t, speeds.FindAllString(string(results), -1))
	for _, figure := range speeds.FindAllString(sessions.ReplaceAllString(string(readme), ""), -1) {
		require.Contains(t, string(results), figure)
	}
}

// TestFigures_security checks that SECURITY.md contains the cost of a worker from the last run of
// `make bench`.
func TestFigures_security(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	require.NoError(t, err)
	results, err := os.ReadFile(filepath.Join(root, "scripts", "bench", "results.md"))
	require.NoError(t, err)
	_, part, found := strings.Cut(string(page), "### Cost of a worker\n")
	require.True(t, found)
	part, _, _ = strings.Cut(part, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `(isolated/[a-z0-9-]+)` \\|.*$").FindAllStringSubmatch(part, -1)
	require.Len(t, rows, 3)
	for _, row := range rows {
		printed := regexp.MustCompile(`(?m)^\| ` + row[1] + ` \| .* \| (met|\*\*below\*\*) \|$`).FindString(string(results))
		figures := speeds.FindAllString(row[0], -1)
		require.Len(t, figures, 2, row[0])
		for _, figure := range figures {
			require.Contains(t, printed, figure, "copy the figures of scripts/bench/results.md to SECURITY.md")
		}
	}
}

// runProgram runs a program and compares its output with its comments.
func runProgram(t *testing.T, program string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	run := exec.Command("go", "run", file)
	run.Dir = root
	run.Env = append(os.Environ(), "CGO_ENABLED=1") // the program binds C even if this test was built without cgo
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)

	// A comment after a Println contains the printed text.
	for _, line := range strings.Split(program, "\n") {
		if call, want, ok := strings.Cut(line, " // "); ok && strings.Contains(call, "fmt.Println") {
			require.Contains(t, string(out), want)
		}
	}
}
