// Tests of verify -r and of its help, and of commands on files of unusual forms.

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// writeUnusual is a Python program that writes files of unusual forms.
const writeUnusual = `import os, struct, sys
import h5py, numpy as np
os.chdir(sys.argv[1]); os.makedirs("runs/a")
with h5py.File("runs/x.h5", "w") as f: f["x"] = np.arange(3)
with h5py.File("runs/a/y.h5", "w") as f: f["y"] = np.arange(3000)
os.truncate("runs/a/y.h5", 3000)
open("runs/notes.txt", "w").write("text")
with h5py.File("block.mat", "w", userblock_size=512) as f: f.create_dataset("d", data=np.arange(1000), chunks=(100,))
with h5py.File("50%.h5", "w") as f: f["a"] = np.arange(1, 4)
with h5py.File("v.h5", "w") as f:
    l = h5py.VirtualLayout((3,), "i8"); l[:] = h5py.VirtualSource("50%%.h5", "a", (3,))
    f.create_virtual_dataset("v", l)
with h5py.File("dangling.h5", "w") as f:
    d = f.create_dataset("d", data=np.arange(5)); f["gone"] = 1
    d.attrs["ref"] = f["gone"].ref; d.attrs["n"] = 3
    del f["gone"]
with h5py.File("good.h5", "w", libver=("earliest", "v108")) as f: f.create_dataset("x", data=np.arange(20.), chunks=(5,), compression="gzip", shuffle=True)
b = bytearray(open("good.h5", "rb").read())
i = b.find(struct.pack("<II", 5, 8), b.find(b"\x03\x02\x02")); assert i > 0
b[i + 4:i + 8] = struct.pack("<I", 4)
open("size.h5", "wb").write(b)
`

const readUnusual = `import os, sys
import h5py
os.chdir(sys.argv[1])
with h5py.File("cloud.h5") as f: assert f["d"][3] == 3 and f.userblock_size >= 512
for name in ("repacked.h5", "copied.h5"):
    with h5py.File(name) as f: assert f["v"][:].tolist() == [1, 2, 3]
with h5py.File("saved.h5") as f: assert f["x"][:].tolist() == list(range(20))
`

func TestRun_unusualForms(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	testutil.Python(t, []string{"h5py"}, "-c", writeUnusual, dir)
	t.Run("verify -r", func(t *testing.T) {
		out, stderr, code := run("verify", "-r", at("runs"))
		require.Equal(t, 1, code, stderr)
		require.Contains(t, out, "3 files: 1 valid, 1 corrupt, 1 not or partly checked (")
		out, _, code = run("verify", "-r", "--json", at("runs"))
		require.Equal(t, 1, code)
		var doc struct {
			Files  []struct{ Path, Verdict string }
			Totals map[string]int
		}
		require.NoError(t, json.Unmarshal([]byte(out), &doc))
		verdicts := map[string]string{}
		for _, f := range doc.Files {
			verdicts[filepath.Base(f.Path)] = f.Verdict
		}
		require.Equal(t, map[string]string{"x.h5": "valid", "y.h5": "corrupt", "notes.txt": "not checked"}, verdicts)
		require.Equal(t, 3, doc.Totals["files"])
		out, _, code = run("verify", at("runs"))
		require.Equal(t, 1, code)
		require.Contains(t, out, "not checked: notes.txt: ")
	})
	for name, args := range map[string][]string{
		"user block":                 {"repack", "--cloud", at("block.mat"), at("cloud.h5")},
		"percent sign, repack":       {"repack", at("v.h5"), at("repacked.h5")},
		"percent sign, cp":           {"cp", at("v.h5") + ":/v", at("copied.h5") + ":/v"},
		"element size of the layout": {"recover", at("size.h5"), at("saved.h5")},
	} {
		t.Run(name, func(t *testing.T) {
			out, stderr, code := run(args...)
			require.Contains(t, []int{0, 3}, code, "%s%s", out, stderr)
			if args[0] == "recover" {
				require.Contains(t, out+stderr, "4 certain")
			}
		})
	}
	testutil.Python(t, []string{"h5py"}, "-c", readUnusual, dir)
	t.Run("one error for one cause", func(t *testing.T) {
		out, _, code := run("verify", "--json", at("size.h5"))
		require.Equal(t, 1, code)
		require.Contains(t, out, `"num_findings": 1,`)
	})
	t.Run("broken attribute", func(t *testing.T) {
		_, stderr, code := run("diff", at("dangling.h5"), at("dangling.h5"))
		require.NotEqual(t, 2, code, stderr)
	})
}

// TestRun_verdicts checks that the help and the guide define each verdict in the same words.
func TestRun_verdicts(t *testing.T) {
	help, _, code := run("verify", "--help")
	require.Zero(t, code)
	_, help, found := strings.Cut(help, "The verdicts:\n")
	require.True(t, found)
	help, _, _ = strings.Cut(help, "\n\n")
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "guide", "recovery.md"))
	require.NoError(t, err)
	var rows []string
	for line := range strings.Lines(help) {
		const first, second = "  ", "                       "
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, second):
			rows[len(rows)-1] += " " + text
		case strings.HasPrefix(line, first):
			rows = append(rows, "| "+regexp.MustCompile(` {2,}`).ReplaceAllString(text, " | "))
		}
	}
	require.Len(t, rows, 5)
	for _, row := range rows {
		require.Contains(t, string(guide), row+" |\n")
	}
}
