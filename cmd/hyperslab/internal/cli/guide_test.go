package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGuide runs the commands of each page of the guide and compares their output with the page,
// except numbers that depend on the machine. With -update it writes the output into the page.
func TestGuide(t *testing.T) {
	pages, err := filepath.Glob("../../../../docs/guide/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		file, err := filepath.Abs(page)
		require.NoError(t, err)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".md"), func(t *testing.T) {
			t.Chdir(field(t))
			unclosed(t)
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			got := withOutput(string(b))
			if *update {
				b = []byte(got)
				require.NoError(t, os.WriteFile(file, b, 0o666))
			}
			require.Equal(t, loose(got), loose(string(b)), "run the test with -update, and read the page")
		})
	}
}

const prompt = "    $ hyperslab "

// withOutput runs the commands of a page in order and returns the page with their output. A command
// is an indented line that begins with the prompt. Its output consists of the indented lines after
// it.
func withOutput(page string) string {
	var b strings.Builder
	output := false
	for line := range strings.Lines(page) {
		command, ok := strings.CutPrefix(line, prompt)
		switch {
		case ok:
			b.WriteString(line)
			writeSession(&b, shellWords(strings.TrimSpace(command)))
			output = true
		case output && strings.HasPrefix(line, "    "):
		default:
			b.WriteString(line)
			output = false
		}
	}
	return b.String()
}

// writeSession runs a command and writes its indented output: standard output, then standard error
// after "2> ", then the exit code unless it is 0.
func writeSession(b *strings.Builder, words []string) {
	args := words
	if words[0] == "bench" && !*update { // speeds are not compared
		args = slices.Concat(words, []string{"--seconds", "0"})
	}
	stdout, stderr, code := run(args...)
	for line := range strings.Lines(stdout) {
		b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
	for line := range strings.Lines(stderr) {
		b.WriteString("    2> " + strings.TrimRight(line, "\n") + "\n")
	}
	if code != 0 {
		fmt.Fprintf(b, "    (exit code %d)\n", code)
	}
}

// TestGolden_reasons checks that no error in the golden files has an empty slot.
func TestGolden_reasons(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.golden"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range strings.Lines(string(b)) {
			is := strings.Contains(line, "> hyperslab ")
			if is || strings.Contains(line, "  error: ") || strings.Contains(line, "not checked: ") {
				require.NotRegexp(t, `:  |: : |: in format|: \(offset|error: :`, line, name)
			}
		}
	}
}
