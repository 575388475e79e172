// Tests of the documents of commands with many sources.

package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hyperslabProgram returns a program that is the command. The test binary runs as the command if it
// has this name.
func hyperslabProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "hyperslab")
	require.NoError(t, os.Symlink(self, program))
	return program
}

// manyRow is a row of a document of many sources, and the totals of its document.
type manyRow struct {
	Source, Target, Status string
	Error                  *string
	Result                 map[string]any
}

// TestInto_rows checks the rows of commands without a document of their own for many sources.
func TestInto_rows(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "x/b.h5", "x/c.h5")
	put(t, "in/cut.h5", []byte("\x89HDF\r\n\x1a\ncut"))
	for command, failed := range map[string]int{"cp": 0, "recover": 1, "index": 1} {
		for _, form := range []string{"--json", "--json=lines"} {
			out := t.TempDir()
			stdout, stderr, code := run(command, "-r", "in", "--into", out, "--keep-going", form)
			require.Equal(t, map[bool]int{true: 3}[failed > 0], code, "%s: %s", command, stderr)
			var rows []manyRow
			var totals map[string]int
			decoder := json.NewDecoder(strings.NewReader(stdout))
			documents := 0
			for decoder.More() {
				var doc struct {
					Schema, Command string
					Files           []manyRow
					Totals          map[string]int
				}
				require.NoError(t, decoder.Decode(&doc))
				require.Equal(t, "hyperslab.many/1", doc.Schema)
				require.Equal(t, command, doc.Command)
				rows, totals = append(rows, doc.Files...), doc.Totals
				documents++
			}
			require.Equal(t, map[string]int{"--json": 1, "--json=lines": 5}[form], documents)
			require.Len(t, rows, 4)
			require.Equal(t, map[string]int{"sources": 4, "done": 4 - failed, "done_before": 0, "skipped": 0, "failed": failed}, totals, command)
			for _, r := range rows {
				require.Equal(t, r.Status == "failed", r.Error != nil, "%v", r)
				require.Equal(t, command == "recover" && r.Status == "done", r.Result != nil, "%v", r)
			}
		}
	}
}

// TestVerify_killed kills verify --json=lines. Its output consists of complete lines, one for each
// file that was verified.
func TestVerify_killed(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"verify", "--json=lines", "-j", "2"}
	for i := range 40 {
		name := fmt.Sprintf("%02d.h5", i)
		grow(t, ".", name)
		args = append(args, name)
	}
	cmd := exec.Command(hyperslabProgram(t), args...)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(pipe)
	seen := map[string]bool{}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			require.Empty(t, line, "an incomplete line")
			break
		}
		var doc struct {
			Files  []struct{ Path, Verdict string }
			Totals map[string]int
		}
		require.NoError(t, json.Unmarshal(line, &doc))
		require.Len(t, doc.Files, 1)
		require.Nil(t, doc.Totals)
		require.Equal(t, "valid", doc.Files[0].Verdict)
		require.False(t, seen[doc.Files[0].Path])
		seen[doc.Files[0].Path] = true
		if len(seen) == 3 {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait(), "it was killed")
	require.GreaterOrEqual(t, len(seen), 3)
	require.Less(t, len(seen), 40)
	stdout, stderr, code := run(args...)
	require.Zero(t, code, stderr)
	documents := 0
	decoder := json.NewDecoder(strings.NewReader(stdout))
	var last struct {
		Files  []any
		Totals map[string]int
	}
	for ; decoder.More(); documents++ {
		last.Totals = nil
		require.NoError(t, decoder.Decode(&last))
	}
	require.Equal(t, 41, documents)
	require.Empty(t, last.Files)
	require.Equal(t, 40, last.Totals["valid"])
}
