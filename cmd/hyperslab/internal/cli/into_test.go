// Tests of commands that write many sources to a directory.

package cli_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// grow writes a tree of HDF5 files with the array /t, and returns their relative names.
func grow(t *testing.T, root string, names ...string) {
	t.Helper()
	for i, name := range names {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o777))
		values := count(12)
		values[0] = int32(i)
		create(t, filepath.Join(root, name)+":/t", ndarray.Spec{Shape: []int64{4, 3}, ChunkShape: []int64{2, 3}}, values)
	}
}

// filesBelow returns the relative names of the files of a directory, without the record of finished
// sources.
func filesBelow(t *testing.T, root string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if rel, _ := filepath.Rel(root, path); !d.IsDir() && rel != ".hyperslab-done" {
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	}))
	return names
}

// lines returns the number of messages, without lines of advice, that contain a name.
func lines(stderr, name string) (n int) {
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "  ") && strings.Contains(line, name) {
			n++
		}
	}
	return n
}

// intoRow is a row of a document of --into.
type intoRow struct {
	Source string   `json:"source"`
	Target string   `json:"target"`
	Status string   `json:"status"`
	Lost   []string `json:"lost"`
	Error  *string  `json:"error"`
}

// intoLines parses the lines of --json=lines. totals is empty if the last line is missing.
func intoLines(t *testing.T, stdout string) (rows []intoRow, totals map[string]int) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		var doc struct {
			Files  []intoRow
			Totals map[string]int
		}
		require.NoError(t, json.Unmarshal([]byte(line), &doc), line)
		rows, totals = append(rows, doc.Files...), doc.Totals
	}
	return rows, totals
}

func TestInto_tree(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "x/a.h5", "x/y/b.h5", "z/b.h5")
	put(t, "in/notes.txt", []byte("no array"))
	all := []string{"a.b2z", "x/a.b2z", "x/y/b.b2z", "z/b.b2z"}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"directory":         {[]string{"-r", "in"}, all},
		"pattern":           {[]string{"in/**/*.h5"}, all},
		"directory pattern": {[]string{"in/*/*.h5"}, []string{"x/a.b2z", "z/b.b2z"}},
		"nested pattern":    {[]string{"in/x/**/b.h5"}, []string{"y/b.b2z"}},
		"named files":       {[]string{"in/x/a.h5", "in/z/b.h5"}, []string{"x/a.b2z", "z/b.b2z"}},
		"one file":          {[]string{"in/x/y/b.h5"}, []string{"b.b2z"}},
		"flat":              {[]string{"--flatten", "in/a.h5", "in/z/b.h5"}, []string{"a.b2z", "b.b2z"}},
		"path and name":     {[]string{"in/**/b.h5:/t[0]", "--format", "npy"}, []string{"x/y/b-t[0].npy", "z/b-t[0].npy"}},
		"named twice":       {[]string{"in/a.h5", "./in/a.h5", "in/x/a.h5"}, []string{"a.b2z", "x/a.b2z"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			_, stderr, code := run(append([]string{"convert", "--format", "b2z", "--into", out}, c.args...)...)
			require.Zero(t, code, stderr)
			require.Equal(t, c.want, filesBelow(t, out))
		})
	}
	t.Run("repack, cp, recover, index", func(t *testing.T) {
		for command, ext := range map[string]string{"repack": ".h5", "cp": ".h5", "recover": ".h5", "index": ".h5.index"} {
			out := t.TempDir()
			_, stderr, code := run(command, "-r", "in", "--into", out)
			require.Zero(t, code, "%s: %s", command, stderr)
			want := slices.Clone(all)
			for i := range want {
				want[i] = strings.TrimSuffix(want[i], ".b2z") + ext
			}
			require.Equal(t, want, filesBelow(t, out), command)
			_, stderr, code = run(command, "-r", "in", "--into", out)
			require.Zero(t, code, "%s: %s", command, stderr)
			require.Contains(t, stderr, "0 sources done, 4 done before", command)
		}
	})
	t.Run("one object of many files", func(t *testing.T) {
		out := t.TempDir()
		_, stderr, code := run("cp", "in/**/b.h5:/t", "--into", out)
		require.Zero(t, code, stderr)
		got, _ := readAll[int32](t, out+"/x/y/b.h5:/t")
		require.Equal(t, int32(2), got[0])
	})
	t.Run("verify accepts the directory of targets", func(t *testing.T) {
		out := t.TempDir()
		require.Zero(t, code3(run("convert", "--format", "b2z", "--into", out, "-r", "in")))
		_, stderr, code := run("verify", "-r", out)
		require.Zero(t, code, stderr)
	})
}

// code3 returns the exit code of run.
func code3(_, _ string, code int) int { return code }

func TestInto_conflicts(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "x/a.h5", "z/a.h5", "z/c.h5")
	_, stderr, code := run("convert", "--format", "b2z", "--flatten", "--into", "out", "-r", "in")
	require.Equal(t, 2, code, stderr)
	require.Contains(t, stderr, "in/x/a.h5 and in/z/a.h5 have the same target out/a.b2z")
	require.Empty(t, filesBelow(t, "out"), "nothing is written")

	_, stderr, code = run("convert", "--format", "b2z", "--flatten", "--into", "out", "-r", "in", "--keep-going")
	require.Equal(t, 3, code, stderr)
	require.Equal(t, []string{"a.b2z", "c.b2z"}, filesBelow(t, "out"))

	t.Run("target inside of another one", func(t *testing.T) {
		grow(t, "deep", "a.h5", "a/b.h5")
		_, stderr, code := run("convert", "--format", "b2nd", "--into", "nested", "-r", "deep")
		require.Equal(t, 2, code, stderr)
		require.Contains(t, stderr, "is inside of that of deep/a.h5")
		require.Empty(t, filesBelow(t, "nested"))
	})
	t.Run("targets inside of the sources", func(t *testing.T) {
		for range 2 { // the second run does not read the targets of the first
			_, stderr, code := run("convert", "--format", "hdf5", "--into", "in/out", "-r", "in")
			require.Zero(t, code, stderr)
			require.Equal(t, []string{"x/a.h5", "z/a.h5", "z/c.h5"}, filesBelow(t, "in/out"))
		}
		_, stderr, code := run("convert", "--format", "hdf5", "--into", "in", "-r", "in")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "in is also the directory of the targets")
	})
	t.Run("source that is a directory", func(t *testing.T) {
		create(t, "s.bcolz", ndarray.Spec{Shape: []int64{4}}, count(4))
		_, stderr, code := run("convert", "--format", "b2nd", "--into", "s.bcolz/out", "s.bcolz")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "is inside of its source s.bcolz")
	})
}

func TestInto_existing(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "b.h5", "c.h5")
	convert := func(more ...string) (stderr string, code int) {
		_, stderr, code = run(append([]string{"convert", "--format", "b2z", "--into", "out", "-r", "in"}, more...)...)
		return stderr, code
	}
	written := func(name string) time.Time {
		info, err := os.Stat(name)
		require.NoError(t, err)
		return info.ModTime()
	}
	stderr, code := convert()
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "3 sources done\n")
	first := written("out/a.b2z")

	t.Run("unchanged", func(t *testing.T) {
		for _, existing := range []string{"error", "skip", "update"} {
			stderr, code := convert("--existing", existing)
			require.Zero(t, code, stderr)
			require.Contains(t, stderr, "0 sources done, 3 done before\n", existing)
		}
		require.Equal(t, first, written("out/a.b2z"))
	})
	t.Run("missing target", func(t *testing.T) {
		require.NoError(t, os.Remove("out/b.b2z"))
		stderr, code := convert()
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "1 source done, 2 done before\n")
	})
	t.Run("changed source", func(t *testing.T) {
		must(t, "attr set in/a.h5:/t n 1")
		stderr, code := convert()
		require.Equal(t, 4, code)
		require.Contains(t, stderr, "out/a.b2z: already exists, and its source has changed")
		stderr, code = convert("--existing", "skip")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "0 sources done, 2 done before, 1 skipped\n")
		stderr, code = convert("--existing", "update", "--dry-run")
		require.Zero(t, code, stderr)
		require.Equal(t, first, written("out/a.b2z"))
		require.Contains(t, stderr, "would convert in/a.h5 to out/a.b2z")
		require.NotContains(t, stderr, "in/b.h5")
		stderr, code = convert("--existing", "update")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "1 source done, 2 done before\n")
		require.NotEqual(t, first, written("out/a.b2z"))
	})
	t.Run("time alone", func(t *testing.T) {
		require.NoError(t, os.Chtimes("in/b.h5", time.Time{}, time.Now().Add(time.Hour)))
		stderr, code := convert("--existing", "update")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "1 source done, 2 done before\n")
		_, stderr, code = run("convert", "--format", "b2z", "--into", "sums", "-r", "in", "--by-checksum")
		require.Zero(t, code, stderr)
		require.NoError(t, os.Chtimes("in/b.h5", time.Time{}, time.Now()))
		_, stderr, code = run("convert", "--format", "b2z", "--into", "sums", "-r", "in", "--by-checksum", "--existing", "update")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "0 sources done, 3 done before\n")
	})
	t.Run("record without a digest", func(t *testing.T) {
		before, err := os.Stat("in/c.h5")
		require.NoError(t, err)
		_, stderr, code := run("convert", "--format", "b2z", "--into", "plain", "-r", "in")
		require.Zero(t, code, stderr)
		values := count(12)
		values[0] = 77
		require.NoError(t, os.Remove("in/c.h5"))
		create(t, "in/c.h5:/t", ndarray.Spec{Shape: []int64{4, 3}, ChunkShape: []int64{2, 3}}, values)
		after, err := os.Stat("in/c.h5")
		require.NoError(t, err)
		require.Equal(t, before.Size(), after.Size())
		require.NoError(t, os.Chtimes("in/c.h5", time.Time{}, before.ModTime()))
		_, stderr, code = run("convert", "--format", "b2z", "--into", "plain", "-r", "in", "--by-checksum")
		require.Equal(t, 4, code, stderr)
		require.Contains(t, stderr, "its record has no SHA-256 of the source")
		for _, want := range []string{"3 sources done\n", "0 sources done, 3 done before\n"} {
			_, stderr, code = run("convert", "--format", "b2z", "--into", "plain", "-r", "in", "--by-checksum", "--existing", "update")
			require.Zero(t, code, stderr)
			require.Contains(t, stderr, want)
		}
		got, _ := readAll[int32](t, "plain/c.b2z:/t")
		require.Equal(t, values, got)
	})
	t.Run("other options", func(t *testing.T) {
		stderr, code := convert("--codec", "lz4")
		require.Equal(t, 4, code)
		require.Contains(t, stderr, "an earlier run wrote it with other options")
	})
	t.Run("foreign target", func(t *testing.T) {
		require.NoError(t, os.Remove("out/.hyperslab-done"))
		stderr, code := convert()
		require.Equal(t, 4, code)
		require.Contains(t, stderr, "it is not the target of an earlier run")
		stderr, code = convert("--keep-going")
		require.Equal(t, 4, code, "all sources failed")
		require.Contains(t, stderr, "3 of 3 sources failed")
		stderr, code = convert("-f")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "3 sources done\n")
	})
	t.Run("flags", func(t *testing.T) {
		for _, args := range [][]string{
			{"convert", "in/a.h5", "x.b2z", "--existing", "skip"}, {"repack", "in/a.h5", "x.h5", "--flatten"}, {"cp", "-r", "in", "x.h5:/a"},
			{"convert", "--into", "out", "--format", "b2z", "in/a.h5", "--existing", "never"},
		} {
			_, stderr, code := run(args...)
			require.Equal(t, 2, code, "%q: %s", args, stderr)
		}
	})
}

// TestInto_altered checks that --existing update keeps what another program wrote to a target.
func TestInto_altered(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5")
	args := []string{"convert", "--format", "hdf5", "--into", "out", "-r", "in", "--existing", "update"}
	_, stderr, code := run(args...)
	require.Zero(t, code, stderr)
	must(t, "attr set out/a.h5:/t mine 1")
	for range 2 {
		_, stderr, code = run(args...)
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "0 sources done, 1 skipped\n")
	}
	require.Contains(t, must(t, "attr list out/a.h5:/t"), "mine")
	_, stderr, code = run(args[:len(args)-2]...)
	require.Equal(t, 4, code)
	require.Contains(t, stderr, "it has changed since an earlier run wrote it")
	must(t, "attr set in/a.h5:/t n 1")
	_, stderr, code = run(args...)
	require.Zero(t, code, stderr)
	require.NotContains(t, must(t, "attr list out/a.h5:/t"), "mine")
}

// TestInto_failed checks that a target that appears after a failure is not taken for the result.
func TestInto_failed(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "b.h5")
	good, err := os.ReadFile("in/b.h5")
	require.NoError(t, err)
	args := []string{"convert", "--format", "b2z", "--into", "out", "-r", "in", "--keep-going"}
	update := append(slices.Clone(args), "--existing", "update")
	t.Run("foreign target", func(t *testing.T) {
		put(t, "in/b.h5", good[:len(good)/2])
		require.Equal(t, 3, code3(run(args...)))
		require.NoError(t, os.Link("out/a.b2z", "out/b.b2z"))
		_, stderr, code := run(args...)
		require.Equal(t, 3, code, stderr)
		require.Contains(t, stderr, "it is not the target of an earlier run")
		require.NoError(t, os.Remove("out/b.b2z"))
	})
	t.Run("restored target", func(t *testing.T) {
		put(t, "in/b.h5", good)
		_, stderr, code := run(args...)
		require.Zero(t, code, stderr)
		old, err := os.ReadFile("out/b.b2z")
		require.NoError(t, err)
		put(t, "in/b.h5", good[:len(good)/2])
		require.Equal(t, 3, code3(run(update...)))
		put(t, "out/b.b2z", old)
		for range 2 {
			_, stderr, code = run(update...)
			require.Equal(t, 3, code, stderr)
		}
		values := count(12)
		values[0] = 99
		require.NoError(t, os.Remove("in/b.h5"))
		create(t, "in/b.h5:/t", ndarray.Spec{Shape: []int64{4, 3}}, values)
		_, stderr, code = run(update...)
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "1 source done, 1 done before\n")
		got, _ := readAll[int32](t, "out/b.b2z:/t")
		require.Equal(t, values, got)
	})
}

// TestInto_names checks files that cannot be read, loops of links and names that are not UTF-8:
// each is reported by name, and the rest is done.
func TestInto_names(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "sub/\xff\xfe.h5", "sub/new\nline.h5")
	require.NoError(t, os.Symlink("loop.h5", "in/loop.h5"))
	require.NoError(t, os.Symlink("missing.h5", "in/dangling.h5"))
	require.NoError(t, os.Symlink("..", "in/sub/up"))
	require.NoError(t, os.Symlink("a.h5", "in/link.h5"))
	require.NoError(t, syscall.Mkfifo("in/pipe.h5", 0o666))
	put(t, "in/cut.h5", []byte("\x89HDF\r\n\x1a\ncut"))
	for range 2 {
		stdout, stderr, code := run("convert", "--format", "b2z", "--into", "out", "-r", "in", "--keep-going", "--json=lines")
		require.Equal(t, 3, code, stderr)
		require.Equal(t, []string{"a.b2z", "link.b2z", "sub/new\nline.b2z", "sub/\xff\xfe.b2z"}, filesBelow(t, "out"))
		for _, name := range []string{"in/loop.h5", "in/dangling.h5", "in/cut.h5", "in/sub/up"} {
			require.Equal(t, 1, lines(stderr, name), "%s in %s", name, stderr)
		}
		rows, totals := intoLines(t, stdout)
		require.Len(t, rows, 7)
		require.Equal(t, 3, totals["failed"])
		require.Equal(t, 4, totals["done"]+totals["done_before"])
	}
	if os.Geteuid() != 0 {
		require.NoError(t, os.Chmod("in/a.h5", 0))
		require.NoError(t, os.Chmod("in/sub", 0))
		_, stderr, code := run("convert", "--format", "b2z", "--into", "new", "-r", "in", "--keep-going")
		require.Equal(t, 3, code)
		require.Contains(t, stderr, "in/a.h5")
		require.Contains(t, stderr, "in/sub")
		require.NoError(t, os.Chmod("in/sub", 0o777))
	}
}

// TestPatterns checks patterns with paths and selections in commands that print, and documents of
// one line.
func TestPatterns(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "x/b[1].h5", "x/y/c.h5")
	for _, pattern := range []string{"in/**/*.h5:/t[0]", "in/**/*.h?:/t[0]"} {
		stdout, stderr, code := run("stats", pattern, "--bins", "0", "--json=lines")
		require.Zero(t, code, stderr)
		var addresses []string
		for line := range strings.Lines(stdout) { // in the order in which they are finished
			var doc struct {
				Address string
				Shape   []int
			}
			require.NoError(t, json.Unmarshal([]byte(line), &doc))
			addresses = append(addresses, doc.Address)
			require.Equal(t, []int{3}, doc.Shape)
		}
		require.ElementsMatch(t, []string{"in/a.h5:/t[0]", "in/x/b[1].h5:/t[0]", "in/x/y/c.h5:/t[0]"}, addresses)
	}
	stdout, stderr, code := run("info", "-r", "in")
	require.Zero(t, code, stderr)
	require.Equal(t, 3, strings.Count(stdout, "==> in/"))
	stdout, _, code = run("verify", "in/x/**/*.h5", "--json")
	require.Zero(t, code)
	require.Contains(t, stdout, `"in/x/y/c.h5"`)
	for _, bad := range []string{"in/*.nc:/t[0]", "in/**/*.nc", "nothere*[0]"} {
		_, stderr, code := run("stats", bad)
		require.Equal(t, 2, code, bad)
		require.Contains(t, stderr, "matches no file", bad)
	}
}

// TestPatterns_guide checks the table of the guide of the sources that each command takes.
func TestPatterns_guide(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/guide/many-files.md")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "x/b.h5")
	for _, name := range []string{"arrays/a.b2nd", "arrays/x/b.b2nd"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		create(t, name, ndarray.Spec{Shape: []int64{4, 3}}, count(12))
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z ]+)` \\| (yes|no|arrays|levels) \\| (yes|no) \\| (yes|no) \\|$").FindAllStringSubmatch(string(page), -1)
	require.Len(t, rows, 9)
	for _, row := range rows {
		command := strings.Fields(row[1])
		code := func(args ...string) int { return code3(run(append(slices.Clone(command), args...)...)) }
		for i, args := range [][]string{{"-r", "in"}, {"in/**/*.h5:/t"}, {"in/**/*.h5:/t[0]"}} {
			want := 2
			if row[i+2] == "yes" {
				want = 0
			}
			require.Equal(t, want, code(args...), "%s %v", row[1], args)
		}
		if row[2] != "yes" {
			require.Equal(t, row[2] != "no", code("-r", "arrays") == 0, row[1])
		}
		require.Zero(t, code("arrays/**/*.b2nd"), row[1])
		put(t, "list", []byte("arrays/a.b2nd\narrays/x/b.b2nd\n"))
		require.Zero(t, code("--files-from", "list"), row[1])
	}
}

// readStores is a program that prints the elements of the array /t of each store in a directory, as
// python-blosc2 reads them.
const readStores = `
import json, os, sys, blosc2
out = {}
for root, _, files in os.walk(sys.argv[1]):
    for name in files:
        if name.endswith(".b2z"):
            path = os.path.join(root, name)
            out[os.path.relpath(path, sys.argv[1])] = blosc2.TreeStore(path, mode="r")["/t"][:].reshape(-1).tolist()
print(json.dumps(out))
`

// TestInto_killed converts HDF5 files, half of which have dimension scales as those of netCDF, in a
// process that is killed at random times and started again. Some files are corrupt, and some lose
// information.
func TestInto_killed(t *testing.T) {
	dir := t.TempDir()
	command := hyperslabProgram(t)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	files, directories, damaged, lossy := 45, 4, 2, 3
	if testenv.All() {
		files, directories, damaged, lossy = 485, 40, 9, 6
	}
	var names, bad, comments []string
	want := map[string][]int32{} // by target
	for i := range files {
		names = append(names, fmt.Sprintf("%d/%03d.%s", i%directories, i, []string{"h5", "nc"}[i%2]))
	}
	grow(t, in, names...)
	for i, name := range names {
		if i%2 == 1 {
			create(t, filepath.Join(in, name)+":/y", ndarray.Spec{Shape: []int64{4}, AxisNames: []string{"y"}}, count(4))
		}
		values := count(12)
		values[0] = int32(i)
		want[strings.TrimSuffix(name, filepath.Ext(name))+".b2z"] = values
	}
	whole, err := os.ReadFile(filepath.Join(in, names[0]))
	require.NoError(t, err)
	for i := range max(damaged, lossy) {
		if i < damaged {
			bad = append(bad, filepath.Join(in, fmt.Sprintf("%d/bad%d.h5", i%directories, i)))
			put(t, bad[i], whole[:len(whole)*(i+1)/(damaged+1)])
		}
		if i < lossy {
			name := fmt.Sprintf("%d/lossy%d.h5", i%directories, i)
			comments = append(comments, filepath.Join(in, name))
			create(t, comments[i]+":/t", ndarray.Spec{Shape: []int64{4, 3}, Comment: "a note"}, count(12))
			want[strings.TrimSuffix(name, ".h5")+".b2z"] = count(12)
		}
	}
	args := []string{"convert", "--format", "b2z", "--into", out, "-r", in, "--keep-going", "--json=lines"}
	seen, reported := map[string]bool{}, ""
	for kill := range 4 {
		cmd := exec.Command(command, args...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.NoError(t, cmd.Start())
		time.AfterFunc(time.Duration(20+rand.IntN(files*4))*time.Millisecond, func() {
			signal := syscall.SIGKILL
			if kill == 3 {
				signal = syscall.SIGTERM
			}
			_ = cmd.Process.Signal(signal)
		})
		_ = cmd.Wait() // it may have ended before
		text := stdout.String()
		rows, _ := intoLines(t, text[:strings.LastIndex(text, "\n")+1])
		for _, r := range rows {
			if r.Status == "done" {
				require.False(t, seen[r.Source], "%s is converted twice", r.Source)
				seen[r.Source] = true
			}
		}
		reported += stderr.String()
	}
	stdout, stderr, code := run(args...)
	require.Equal(t, 3, code, stderr)
	rows, totals := intoLines(t, stdout)
	require.Len(t, rows, files+damaged+lossy)
	require.Equal(t, damaged, totals["failed"])
	require.Equal(t, files+lossy, totals["done"]+totals["done_before"])
	for _, name := range bad {
		require.Equal(t, 1, lines(stderr, name), stderr)
	}
	for _, name := range comments {
		require.Regexp(t, regexp.QuoteMeta(name)+`: .*not kept: .*comment|not kept: .*comment`, reported+stderr)
	}
	read, err := exec.Command(testenv.Python(t, "blosc2"), "-c", readStores, out).Output()
	require.NoError(t, err)
	got := map[string][]int32{}
	require.NoError(t, json.Unmarshal(read, &got))
	require.Equal(t, want, got)
}

// TestInto_together runs two processes on the same target: each file is converted once.
func TestInto_together(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "b.h5", "c.h5", "d.h5")
	self, err := os.Executable()
	require.NoError(t, err)
	command := filepath.Join(t.TempDir(), "hyperslab")
	require.NoError(t, os.Symlink(self, command))
	var outputs [2]strings.Builder
	var commands [2]*exec.Cmd
	for i := range commands {
		commands[i] = exec.Command(command, "convert", "--format", "b2z", "--into", "out", "-r", "in", "--json=lines", "--wait", "1m")
		commands[i].Stdout = &outputs[i]
		require.NoError(t, commands[i].Start())
	}
	done := 0
	for i, cmd := range commands {
		require.NoError(t, cmd.Wait())
		_, totals := intoLines(t, outputs[i].String())
		done += totals["done"]
		require.Equal(t, 4, totals["done"]+totals["done_before"])
	}
	require.Equal(t, 4, done)
}

// TestInto_interrupted checks a target without a complete record: it is the result of the run that
// was killed only if it has the bytes of that result.
func TestInto_interrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "b.h5")
	for _, command := range [][]string{{"convert", "--format", "b2z"}, {"convert", "--format", "bcolz", "in/a.h5:/t"}, {"cp"}, {"index", "--url", "https://host/"}, {"repack"}, {"recover"}} {
		out := t.TempDir()
		args := append(command, "--into", out)
		if len(command) < 4 {
			args = append(args, "in/a.h5")
		}
		_, stderr, code := run(args...)
		require.Zero(t, code, "%v: %s", command, stderr)
		record, err := os.ReadFile(out + "/.hyperslab-done")
		require.NoError(t, err)
		intent, _, _ := strings.Cut(string(record), "\n")
		killed := func() { put(t, out+"/.hyperslab-done", []byte(intent+"\n")) }
		killed()
		for range 2 {
			_, stderr, code = run(args...)
			require.Zero(t, code, "%v: %s", command, stderr)
			require.Contains(t, stderr, "0 sources done, 1 done before", "%v", command)
		}
		files := filesBelow(t, out)
		target := filepath.Join(out, files[0])
		killed()
		put(t, target, []byte("of another program"))
		for range 2 {
			_, stderr, code = run(args...)
			require.Equal(t, 4, code, "%v: %s", command, stderr)
			require.Contains(t, stderr, "not the target of the run that was interrupted")
		}
		foreign, err := os.ReadFile(target)
		require.NoError(t, err)
		require.Equal(t, "of another program", string(foreign))
		require.Equal(t, files, filesBelow(t, out), "no other file is left")
	}
}

// TestInto_urls checks that a source at a URL that has changed is noticed.
func TestInto_urls(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "b.h5")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := os.ReadFile("in" + r.URL.Path)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(b))))
		http.ServeContent(w, r, "a.h5", time.Time{}, bytes.NewReader(b))
	}))
	t.Cleanup(site.Close)
	args := []string{"convert", "--allow-private", "--format", "b2z", "--into", "out", site.URL + "/a.h5?token=secret"}
	for _, want := range []string{"b2z: ", "0 sources done, 1 done before"} {
		_, stderr, code := run(args...)
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, want)
	}
	record, err := os.ReadFile("out/.hyperslab-done")
	require.NoError(t, err)
	require.NotContains(t, string(record), "secret")
	must(t, "attr set in/a.h5:/t note longer-than-before")
	_, stderr, code := run(args...)
	require.Equal(t, 4, code, stderr)
	require.Contains(t, stderr, "its source has changed")
	_, stderr, code = run(append(args, "--existing", "update")...)
	require.Zero(t, code, stderr)
}

// TestConvert_foreignDirectory checks the advice for a target that -f does not replace.
func TestConvert_foreignDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, ".", "t.h5")
	require.NoError(t, os.Mkdir("mine", 0o777))
	put(t, "mine/notes.txt", []byte("notes"))
	for _, flags := range [][]string{nil, {"-f"}} {
		_, stderr, code := run(append([]string{"convert", "t.h5", "mine"}, flags...)...)
		require.Equal(t, 4, code, stderr)
		require.Contains(t, stderr, "name another target")
		require.NotContains(t, stderr, "-f replaces it")
	}
}
