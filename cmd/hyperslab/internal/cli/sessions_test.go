package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// walks are the commands of docs/sessions.md: the first tasks of a new user.
var walks = []struct {
	title string
	lines []string
}{
	{"What is in this file?", []string{
		"ls etopo.h5",
		"info etopo.h5:/ROSE",
		"dump etopo.h5:/ROSE[45,100:108]",
		"stats etopo.h5:/ROSE --bins 4",
	}},
	{"Convert and verify", []string{
		"convert etopo.h5:/ROSE rose.b2nd",
		"verify rose.b2nd",
		"diff etopo.h5:/ROSE rose.b2nd",
		"plot rose.b2nd[::3,::3]",
	}},
	{"Which codec is right for my data?", []string{
		"bench etopo.h5:/ROSE --codec lz4,zstd --level 1,5 --for ratio",
		"repack rose.b2nd smaller.b2nd --codec zstd --level 5 --shuffle byte",
		"info smaller.b2nd --storage",
	}},
	{"From NumPy to HDF5", []string{
		"convert etopo.h5:/ROSE[0] row.npy --exclude-unsupported",
		"convert etopo.h5:/ROSE rose.npy --exclude-unsupported",
		"convert rose.npy again.h5:/measured/rose --codec blosc2/zstd --checksum",
		"dump again.h5:/measured/rose[45:47,100:104] --csv",
	}},
	{"A truncated file", []string{
		"verify cut.h5",
		"recover cut.h5 saved.h5",
		"verify saved.h5",
		"ls saved.h5",
	}},
}

const sessionsHead = `# Five sessions

A test runs these commands and compares their output, except speeds and sizes that depend on the machine. ` + "`" + `etopo.h5` + "`" + ` is ` + "`" + `testdata/etopo120.h5` + "`" + `, which contains measurements; ` + "`" + `cut.h5` + "`" + ` is its first half. Lines that begin with ` + "`" + `2>` + "`" + ` are standard error, and the others standard output.
`

// TestSessions runs the commands of docs/sessions.md and compares their output with the page.
func TestSessions(t *testing.T) {
	file, err := filepath.Abs("../../../../docs/sessions.md")
	require.NoError(t, err)
	t.Chdir(field(t))
	var b strings.Builder
	b.WriteString(sessionsHead)
	for _, s := range walks {
		fmt.Fprintf(&b, "\n## %s\n", s.title)
		for _, line := range s.lines {
			words := strings.Fields(line)
			for i, w := range words {
				if strings.ContainsAny(w, "[") {
					words[i] = "'" + w + "'"
				}
			}
			fmt.Fprintf(&b, "\n%s%s\n", prompt, strings.Join(words, " "))
			writeSession(&b, strings.Fields(line))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update and check the difference")
	require.Equal(t, loose(string(want)), loose(b.String()))
}

// TestSessions_readme checks that the README contains commands of each session with their complete
// output.
func TestSessions_readme(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/sessions.md")
	require.NoError(t, err)
	readme, err := os.ReadFile("../../../../README.md")
	require.NoError(t, err)
	shown := strings.Split(string(readme), "\n### ")[1:]
	require.Len(t, shown, len(walks))
	for i, s := range shown {
		s, _, _ = strings.Cut(s, "\n## ")
		title, rest, _ := strings.Cut(s, "\n\n")
		require.Equal(t, walks[i].title, title)
		for _, command := range strings.Split(strings.Trim(rest, "\n"), "\n\n") {
			require.True(t, strings.HasPrefix(command, "    $ hyperslab "), command)
			require.Contains(t, loose(string(page)+"\n"), loose("\n"+command+"\n"))
		}
	}
}

var (
	measured = regexp.MustCompile(`[0-9.e+]+ ?(MB/s|KiB|B|x|%)( |$)`)
	spaces   = regexp.MustCompile(`(?m) +`)
)

// loose removes numbers that depend on the machine or on the version of a codec.
func loose(s string) string {
	s = measured.ReplaceAllString(scrub(s), "N$1$2")
	return spaces.ReplaceAllString(regexp.MustCompile(`(?m)-j N?[0-9]*$`).ReplaceAllString(s, "-j N"), " ")
}
