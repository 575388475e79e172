package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMan checks that every command has a manual page. If groff is installed, it must accept the
// pages without a warning.
func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	stdout, stderr, code := run("man", "--install", dir)
	require.Zero(t, code, stderr)
	require.Empty(t, stdout)
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(pages), 25)
	for _, page := range []string{"hyperslab.1", "hyperslab-convert.1", "hyperslab-attr-set.1"} {
		b, err := os.ReadFile(filepath.Join(dir, page))
		require.NoError(t, err)
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"} {
			require.Contains(t, string(b), "\n.SH "+section+"\n", page)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "hyperslab-convert.1"))
	require.NoError(t, err)
	require.Contains(t, string(b), ".B \\-f, \\-\\-force\n")
	require.Contains(t, string(b), ".SH EXAMPLES\n")
	for _, line := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(line, ".") {
			require.Regexp(t, `^\.(TH|SH|B|BR|TP|PP|nf|fi)\b`, line)
		}
	}
	stdout, stderr, code = run("man", "convert")
	require.Zero(t, code, stderr)
	require.Equal(t, string(b), stdout)
	groff, err := exec.LookPath("groff")
	if err != nil {
		return // the macros were checked above
	}
	for _, page := range pages {
		out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", page).CombinedOutput()
		require.NoError(t, err, "%s: %s", page, out)
		require.Empty(t, string(out), page)
	}
}

func TestMan_refused(t *testing.T) {
	for name, args := range map[string][]string{
		"an unknown command":           {"man", "conver"},
		"one command with --install":   {"man", "ls", "--install", t.TempDir()},
		"more arguments than commands": {"man", "ls", "x.h5"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, _, code := run(args...)
			require.Equal(t, 2, code)
			require.Empty(t, stdout)
		})
	}
	_, stderr, _ := run("man", "conver")
	require.Contains(t, stderr, "convert")
}
