// Tests of plans of many files.

package cli_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// sameFiles checks that two directories have the same files with the same bytes.
func sameFiles(t *testing.T, want, got string) {
	t.Helper()
	names := filesBelow(t, want)
	require.Equal(t, names, filesBelow(t, got))
	for _, name := range names {
		a, err := os.ReadFile(filepath.Join(want, name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(got, name))
		require.NoError(t, err)
		require.True(t, string(a) == string(b), "%s differs", name)
	}
}

func TestPlan_files(t *testing.T) {
	t.Chdir(t.TempDir())
	grow(t, "in", "a.h5", "x/a.h5", "x/y/b.h5", "z/b.h5")
	must(t, "convert --into want --format b2z -r in")
	t.Run("plan, work, commit", func(t *testing.T) {
		stdout := must(t, "plan convert in/ out/ --format b2z --shard-bytes 1 -o p.json")
		require.Contains(t, stdout, "4 of at most 1 files")
		require.NoDirExists(t, "out")
		_, stderr, code := run("commit", "p.json")
		require.Equal(t, 3, code, stderr)
		require.Equal(t, "1 0\n1 1\n1 2\n1 3\n", must(t, "work p.json --missing"))
		must(t, "work p.json --shard 2")
		must(t, "work p.json --all -q")
		require.NoDirExists(t, "out")
		must(t, "commit p.json")
		sameFiles(t, "want", "out")
		require.NoDirExists(t, "out.parts")
		must(t, "commit p.json") // as a cluster repeats one that was stopped at its end
		_, stderr, code = run("convert", "--into", "out", "--format", "b2z", "-r", "in")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "0 sources done, 4 done before")
		_, stderr, code = run("plan", "convert", "in", "out", "--format", "b2z", "-o", "again.json")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "0 sources to process, 4 done before")
		require.NoFileExists(t, "again.json.files")
	})
	t.Run("other commands", func(t *testing.T) {
		for operation, ext := range map[string]string{"repack": ".h5", "copy": ".h5", "recover": ".h5", "index": ".h5.index"} {
			must(t, "plan "+operation+" -r in --into by-"+operation+" -o "+operation+".json")
			must(t, "work "+operation+".json --all -q")
			must(t, "commit "+operation+".json -q")
			require.Len(t, filesBelow(t, "by-"+operation), 4)
			require.FileExists(t, "by-"+operation+"/x/a"+ext)
		}
	})
	t.Run("conflicts", func(t *testing.T) {
		_, stderr, code := run("plan", "convert", "-r", "in", "--into", "flat", "--flatten", "--format", "b2z", "-o", "c.json")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "in/a.h5 and in/x/a.h5 have the same target flat/a.b2z")
		require.Contains(t, stderr, "in/x/y/b.h5 and in/z/b.h5 have the same target flat/b.b2z")
		require.NoFileExists(t, "c.json")
		require.NoFileExists(t, "c.json.files")
		grow(t, "deep", "a.h5", "a/b.h5")
		_, stderr, code = run("plan", "convert", "-r", "deep", "--into", "nested", "--format", "b2nd", "-o", "c.json")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "is inside of another target")
		must(t, "plan convert in/a.h5 in/x/a.h5 ./in/a.h5 ./in/x/a.h5 --into twice --format b2z -o twice.json")
		must(t, "work twice.json --all -q")
	})
	t.Run("failures and changed sources", func(t *testing.T) {
		grow(t, "bad", "a.h5", "b.h5", "c.h5", "d.h5")
		put(t, "bad/cut.h5", []byte("\x89HDF\r\n\x1a\ncut"))
		must(t, "plan convert bad failed --format b2z -o f.json")
		_, stderr, code := run("work", "f.json", "--all", "-q")
		require.Equal(t, 2, code, stderr)
		require.Contains(t, stderr, "bad/cut.h5")
		must(t, "plan convert bad kept --format b2z --keep-going -o k.json")
		require.NoError(t, os.Chtimes("bad/b.h5", time.Time{}, time.Now().Add(time.Hour)))
		require.NoError(t, os.Remove("bad/c.h5"))
		must(t, "work k.json --all -q")
		require.NoError(t, os.Mkdir("kept", 0o777))
		put(t, "kept/d.b2z", []byte("of another program"))
		_, stderr, code = run("commit", "k.json")
		require.Equal(t, 3, code, stderr)
		require.Contains(t, stderr, "4 of 5 sources failed")
		for name, text := range map[string]string{"bad/cut.h5": "", "bad/b.h5": plan.ErrSource.Error(), "bad/c.h5": "no such file", "kept/d.b2z": "written after the plan"} {
			require.Equal(t, 1, lines(stderr, name), stderr)
			require.Contains(t, stderr, text)
		}
		require.Equal(t, []string{"a.b2z", "d.b2z"}, filesBelow(t, "kept"))
	})
	t.Run("unreadable objects", func(t *testing.T) {
		b, err := os.ReadFile(unreadable(t))
		require.NoError(t, err)
		require.NoError(t, os.Mkdir("partly", 0o777))
		put(t, "partly/a.h5", b)
		for operation, flags := range map[string][]string{
			"repack": {"--skip-unreadable"}, "convert": {"--skip-unreadable", "--format", "hdf5", "--exclude", "old"},
		} {
			args := append([]string{operation, "-r", "partly", "--into", "whole-" + operation}, flags...)
			_, stderr, code := run(args...)
			require.Equal(t, 3, code, stderr)
			args[4] = "by-plan-" + operation
			must(t, strings.Join(append(append([]string{"plan"}, args...), "-o", operation+"-partly.json"), " "))
			_, stderr, code = run("work", operation+"-partly.json", "--all", "-j", "1")
			require.Zero(t, code, stderr)
			require.Contains(t, stderr, "/g/bad")
			_, stderr, code = run("commit", operation+"-partly.json")
			require.Equal(t, 3, code, stderr)
			require.Contains(t, stderr, "1 source written to by-plan-"+operation+", objects of 1 left out")
			require.Equal(t, filesBelow(t, args[4]), filesBelow(t, "whole-"+operation))
		}
	})
	t.Run("changed list", func(t *testing.T) {
		must(t, "plan convert in other --format b2z -o l.json")
		b, err := os.ReadFile("l.json.files")
		require.NoError(t, err)
		put(t, "l.json.files", []byte(strings.Replace(string(b), "in/a.h5", "in/b.h5", 1)))
		_, stderr, code := run("work", "l.json", "--all")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, plan.ErrSource.Error())
	})
	t.Run("stopped commit", func(t *testing.T) {
		must(t, "plan convert in half --format b2z --shard-bytes 1 -o h.json")
		must(t, "work h.json --all -q")
		parts, err := filepath.Glob("half.parts/1-000000000-*")
		require.NoError(t, err)
		require.Len(t, parts, 1)
		require.NoError(t, os.Mkdir("half", 0o777))
		require.NoError(t, os.Rename(parts[0]+"/a.b2z", "half/a.b2z")) // the next action would be a line of the record
		must(t, "commit h.json -q")
		sameFiles(t, "want", "half")
	})
	t.Run("replaced target", func(t *testing.T) {
		must(t, "attr set in/a.h5:/t n 1")
		_, stderr, code := run("plan", "convert", "in", "out", "--format", "b2z", "-o", "r.json")
		require.Equal(t, 4, code)
		require.Contains(t, stderr, "its source has changed")
		must(t, "plan convert in out --format b2z --existing update -o r.json")
		must(t, "work r.json --all -q")
		must(t, "commit r.json -q")
		require.Contains(t, must(t, "attr list out/a.b2z:/t"), "n")
		_, stderr, code = run("convert", "--into", "out", "--format", "b2z", "-r", "in")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "4 done before")
	})
}

// TestPlan_filesMemory plans for generated lists of empty frames and compares the memory of n and
// 4n files.
func TestPlan_filesMemory(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "a.b2nd")
	create(t, source, ndarray.Spec{Shape: []int64{4}}, count(4))
	frame, err := os.ReadFile(source)
	require.NoError(t, err)
	n := 500
	if testenv.All() {
		n = 25_000
	}
	peak := func(files int) int64 {
		root, first := filepath.Join(dir, strconv.Itoa(files)), ""
		for i := range files {
			d := filepath.Join(root, strconv.Itoa(i/250))
			name := filepath.Join(d, fmt.Sprintf("%d.b2nd", i))
			if i%250 == 0 { // file systems limit the links of a file
				require.NoError(t, os.MkdirAll(d, 0o777))
				require.NoError(t, os.WriteFile(name, frame, 0o666))
				first = name
				continue
			}
			require.NoError(t, os.Link(first, name))
		}
		begun := time.Now()
		out, err := exec.Command("peak", "plan", "convert", root, filepath.Join(dir, "out"), "--format", "npy", "-o", root+".json").CombinedOutput()
		require.NoError(t, err, string(out))
		m := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`).FindSubmatch(out)
		require.NotNil(t, m, string(out))
		kB, err := strconv.ParseInt(string(m[1]), 10, 64)
		require.NoError(t, err)
		t.Logf("%d files: %d kB, %v", files, kB, time.Since(begun))
		return kB
	}
	small, large := peak(n), peak(4*n)
	require.Less(t, large-small, int64(32<<10), "kB")
	require.Less(t, large, int64(200<<10), "kB")
}

// TestPlan_filesKilled does the shards of a plan in 8 processes that are killed at any time. The
// targets have the same bytes as those of one process.
func TestPlan_filesKilled(t *testing.T) {
	t.Chdir(t.TempDir())
	program := hyperslabProgram(t)
	directories, each := 6, 5
	if testenv.All() {
		directories, each = 40, 12
	}
	var names []string
	for i := range directories * each {
		names = append(names, fmt.Sprintf("%02d/%03d.h5", i%directories, i))
	}
	grow(t, "in", names...)
	b, err := os.ReadFile("in/" + names[0])
	require.NoError(t, err)
	put(t, "in/cut.h5", b[:len(b)/2])
	require.Equal(t, 3, code3(run("convert", "--into", "want", "--format", "b2z", "-r", "in", "--keep-going")))
	must(t, "plan convert in out --format b2z --keep-going --shard-bytes 6KiB -o p.json")
	var p plan.Plan
	text, err := os.ReadFile("p.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &p))
	require.Greater(t, p.Stages[0].Shards, int64(8))
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for range 3 {
		var wait sync.WaitGroup
		for range 8 {
			cmd := exec.Command(program, "work", "p.json", "--all", "-q")
			require.NoError(t, cmd.Start())
			after := time.Duration(random.IntN(300)) * time.Millisecond
			wait.Go(func() {
				time.Sleep(after)
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
		}
		wait.Wait()
	}
	must(t, "work p.json --all -q")
	_, stderr, code := run("commit", "p.json")
	require.Equal(t, 3, code, stderr)
	require.Equal(t, 1, lines(stderr, "in/cut.h5"), stderr)
	sameFiles(t, "want", "out")
	require.NoDirExists(t, "out.parts")
}
