//go:build !race

// Tests of commands that are killed or interrupted, and of commands whose system calls fail, for
// example because the disk is full. The build tag excludes them from race builds because the
// commands run as separate processes, hundreds of times: the race detector would find nothing and
// take minutes.

package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/scripts/crashtest"
)

// writers are commands that write files. The tests inject a fault at each change that they make to
// a file.
var writers = []struct {
	name string
	args []string
	file string // the array to check: before the command it has 8 elements or does not exist
	last int    // number of elements after the command
}{
	{"append to HDF5", []string{"append", "a.h5:/x", "b.b2nd"}, "a.h5:/x", 16},
	{"append to b2nd", []string{"append", "a.b2nd", "b.b2nd"}, "a.b2nd", 16},
	{"convert to HDF5", []string{"convert", "b.b2nd", "new.h5:/x"}, "new.h5:/x", 8},
	{"convert over bcolz", []string{"convert", "--force", "b.b2nd", "a.bcolz"}, "a.bcolz", 8},
	{"repack over itself", []string{"repack", "--force", "b.b2nd", "a.b2nd"}, "a.b2nd", 8},
	{"repack HDF5", []string{"repack", "--replace", "a.h5", "--codec", "zstd"}, "a.h5:/x", 8},
	{"recover", []string{"recover", "a.h5", "new.h5"}, "new.h5:/x", 8},
	{"recover --repair", []string{"recover", "--repair", "a.h5", "new.h5"}, "new.h5:/x", 8},
	{"recover b2nd", []string{"recover", "-f", "b.b2nd", "a.b2nd"}, "a.b2nd", 8},
	{"copy into a file", []string{"cp", "a.h5:/x", "a.h5:/y"}, "a.h5:/x", 8},
	{"attribute", []string{"attr", "set", "a.b2nd", "units", "km"}, "a.b2nd", 8},
	{"virtual", []string{"virtual", "a.h5:/x", "new.h5:/x"}, "new.h5:/x", 8},
}

// pass is a judge that injects no fault.
func pass(int, crashtest.Event) crashtest.Verdict { return crashtest.Verdict{} }

// trace runs a command in a new directory and calls judge before each change of a file.
func trace(t *testing.T, args []string, judge func(change int, e crashtest.Event) crashtest.Verdict) (changes int, output string, code int, dir string) {
	t.Helper()
	output, code, dir = traceAll(t, args, func(_ string, e crashtest.Event) crashtest.Verdict {
		if !e.Kind.Changes() {
			return crashtest.Verdict{}
		}
		changes++
		return judge(changes, e)
	})
	return changes, output, code, dir
}

// traceAll is like trace, but also calls judge at reads and syncs, and passes it the directory.
func traceAll(t *testing.T, args []string, judge func(dir string, e crashtest.Event) crashtest.Verdict) (output string, code int, dir string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := filepath.Join(t.TempDir(), "hyperslab") // the test binary runs as the command if it has this name
	require.NoError(t, os.Symlink(self, command))
	spec := ndarray.Spec{Shape: []int64{8}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{4}}
	plain := ndarray.Spec{Shape: []int64{8}, ChunkShape: []int64{4}}
	dir = t.TempDir()
	create(t, dir+"/a.h5:/x", spec, count(8))
	_, failed, _ := run("cp", dir+"/a.h5:/x", dir+"/a.h5:/old", "--in-place")
	require.Empty(t, failed)
	attr := plain
	attr.Attrs = []ndarray.Attr{{Name: "units", Value: ndarray.Text("m")}}
	create(t, dir+"/a.b2nd", attr, count(8))
	create(t, dir+"/a.bcolz", plain, count(8))
	create(t, dir+"/b.b2nd", plain, count(8))
	cmd := exec.Command(command, args...)
	put(t, dir+"/list", []byte("b.b2nd\n"))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	out, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer out.Close()
	cmd.Stderr = out
	_, r, err := crashtest.Run(cmd, dir, func(_ int, e crashtest.Event) crashtest.Verdict { return judge(dir, e) })
	if errors.Is(err, errors.ErrUnsupported) {
		testenv.Missing(t, "%v", err)
	}
	require.NoError(t, err)
	b, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return string(b), r.Code, dir
}

// requireOldOrNew checks that a command has left either the old content of file or all of the new
// content.
func requireOldOrNew(t *testing.T, dir, file string, last int) {
	t.Helper()
	if _, err := os.Stat(dir + "/new.h5"); err != nil && file == "new.h5:/x" {
		return
	}
	got, _ := readAll[int32](t, dir+"/"+file)
	require.Contains(t, []int{8, last}, len(got))
	require.Equal(t, count(8), got[:8])
	if len(got) == 16 {
		require.Equal(t, count(8), got[8:])
	}
}

// TestKilledCommand checks that a command that is killed at any change of a file leaves either the
// old or the new content.
func TestKilledCommand(t *testing.T) {
	for _, c := range testenv.Sample(writers, 2) {
		t.Run(c.name, func(t *testing.T) {
			changes, output, code, dir := trace(t, c.args, pass)
			require.Zero(t, code, output)
			got, _ := readAll[int32](t, dir+"/"+c.file)
			require.Len(t, got, c.last)
			require.Greater(t, changes, 3)
			for _, kill := range []int{1, changes / 3, changes / 2, changes - 1, changes} {
				reached, output, code, dir := trace(t, c.args, func(n int, _ crashtest.Event) crashtest.Verdict { return crashtest.Verdict{Kill: n == kill} })
				if reached < kill { // threads were scheduled differently, and the command made fewer changes
					require.Greater(t, kill, changes/2, output)
					require.Zero(t, code, output)
					continue
				}
				require.Equal(t, -1, code, output)
				requireOldOrNew(t, dir, c.file, c.last)
			}
		})
	}
}

// TestInterruptedCommand checks commands that receive SIGINT or SIGTERM at any change of a file.
// They must stop or finish, must not leave a temporary file, and must create their output
// completely or not at all. Each existing file must have either its old or its new content.
func TestInterruptedCommand(t *testing.T) {
	stopped := 0
	for i, c := range testenv.Sample(outputs, 2) {
		t.Run(c.name, func(t *testing.T) {
			args := strings.Fields(c.args)
			changes, output, code, dir := trace(t, args, pass)
			require.Zero(t, code, output)
			all := names(t, dir)
			require.Positive(t, changes)
			want := sizes(t, dir)
			for _, at := range slices.Compact([]int{1, (changes + 1) / 2, changes}) {
				signal, status := syscall.SIGINT, 130
				if (i+at)%2 == 1 {
					signal, status = syscall.SIGTERM, 143
				}
				_, output, code, dir := trace(t, args, func(n int, _ crashtest.Event) crashtest.Verdict {
					if n == at {
						return crashtest.Verdict{Signal: signal}
					}
					return crashtest.Verdict{}
				})
				require.Contains(t, []int{0, status}, code, output)
				left := names(t, dir)
				require.Subset(t, all, left, "change %d of %d: %s", at, changes, output)
				if code == status {
					stopped++
					require.Contains(t, output, "no temporary file is left")
				} else {
					require.Equal(t, all, left)
				}
				require.Subset(t, left, []string{"a.b2nd", "a.h5", "b.b2nd"})
				if c.makes != "" && slices.Contains(left, c.makes) && c.name != "bench" { // a plot of measured speeds, which differ
					require.Equal(t, want[c.makes], sizes(t, dir)[c.makes], "%s is whole", c.makes)
				}
				for _, file := range []string{"a.h5:/x", "a.b2nd", "b.b2nd"} {
					got, _ := readAll[int32](t, dir+"/"+file)
					require.Equal(t, count(8), got[:8])
				}
			}
		})
	}
	require.Positive(t, stopped, "the signals came too late, all of them")
}

// everything reports whether each command is tested with all faults (make crash), or only with some
// of them.
func everything() bool { return testenv.All() }

// visible returns the names in dir, except those of temporary files and of the directory that bench
// creates.
func visible(t *testing.T, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(names(t, dir), func(name string) bool { return name[0] == '.' || strings.HasPrefix(name, "hyperslab-bench-") })
}

// requireAllOrNothing checks the files that one of outputs has left: its output exists completely
// or not at all, there are no other new files, and the old elements of the sources are unchanged.
// want contains the file sizes after a complete run.
func requireAllOrNothing(t *testing.T, dir, makes string, want map[string]int64, what string) (made bool) {
	t.Helper()
	left := visible(t, dir)
	for _, name := range left {
		require.Contains(t, want, name, what)
	}
	made = slices.Contains(left, makes)
	if made && !strings.HasSuffix(makes, ".svg") { // a plot of measured speeds, which differ
		require.Equal(t, want[makes], sizes(t, dir)[makes], "%s: %s is whole", what, makes)
	}
	for _, file := range []string{"a.h5:/x", "a.b2nd", "b.b2nd"} {
		got, _ := readAll[int32](t, dir+"/"+file)
		require.Equal(t, count(8), got[:8], what)
	}
	return made
}

// TestKilledOutputs kills every command that creates a file at several of its changes.
func TestKilledOutputs(t *testing.T) {
	for i, c := range testenv.Sample(outputs[1:], 2) {
		t.Run(c.name, func(t *testing.T) {
			args := strings.Fields(c.args)
			changes, output, code, dir := trace(t, args, pass)
			require.Zero(t, code, output)
			want := sizes(t, dir)
			for k, kill := range []int{1, (changes + 1) / 2, changes - 1, changes} {
				if !everything() && (i+k)%4 != 0 {
					continue
				}
				_, output, _, dir := trace(t, args, func(n int, _ crashtest.Event) crashtest.Verdict { return crashtest.Verdict{Kill: n == kill} })
				requireAllOrNothing(t, dir, c.makes, want, fmt.Sprintf("killed before change %d of %d: %s", kill, changes, output))
			}
		})
	}
}

// TestFaults_Outputs injects one fault into every command that creates a file: a full disk, a
// short write, or a failed sync, rename or read. The command must either report the error and leave
// no temporary file, or succeed and create its whole output.
func TestFaults_Outputs(t *testing.T) {
	faults := []struct {
		kind    crashtest.Kind
		first   bool // inject into the first call of this kind, not the last
		verdict crashtest.Verdict
	}{
		{crashtest.Write, true, crashtest.Verdict{Errno: syscall.ENOSPC}},
		{crashtest.Write, false, crashtest.Verdict{Errno: syscall.ENOSPC}},
		{crashtest.Write, false, crashtest.Verdict{Short: 1}},
		{crashtest.Copy, true, crashtest.Verdict{Errno: syscall.ENOSPC}},
		{crashtest.Create, false, crashtest.Verdict{Errno: syscall.ENOSPC}},
		{crashtest.Sync, false, crashtest.Verdict{Errno: syscall.EIO}},
		{crashtest.Rename, false, crashtest.Verdict{Errno: syscall.EIO}},
		{crashtest.Read, true, crashtest.Verdict{Errno: syscall.EIO}},
		{crashtest.Write, false, crashtest.Verdict{Errno: syscall.EDQUOT}},
	}
	hits := map[crashtest.Kind]int{}
	for i, c := range testenv.Sample(outputs, 2) {
		t.Run(c.name, func(t *testing.T) {
			args := strings.Fields(c.args)
			seen := map[crashtest.Kind]int{}
			output, code, dir := traceAll(t, args, func(_ string, e crashtest.Event) crashtest.Verdict {
				seen[e.Kind]++
				return crashtest.Verdict{}
			})
			require.Zero(t, code, output)
			want := sizes(t, dir)
			for k, f := range faults {
				if seen[f.kind] == 0 || !everything() && (i+k)%4 != 0 {
					continue
				}
				at := 1
				if !f.first {
					at = seen[f.kind]
				}
				n, hit := 0, false
				output, code, dir := traceAll(t, args, func(_ string, e crashtest.Event) crashtest.Verdict {
					if e.Kind != f.kind {
						return crashtest.Verdict{}
					}
					if n++; n != at {
						return crashtest.Verdict{}
					}
					hit = true
					hits[f.kind]++
					return f.verdict
				})
				what := fmt.Sprintf("%v %d of %d %v: exit %d, %s", f.kind, at, seen[f.kind], f.verdict.Errno, code, output)
				require.NotContains(t, output, "goroutine", what)
				made := requireAllOrNothing(t, dir, c.makes, want, what)
				if code == 0 {
					require.True(t, made || c.makes == "", what)
					continue
				}
				require.True(t, hit, what)
				if f.kind == crashtest.Read && c.name == "recover" && code == 3 {
					require.Contains(t, output, "1 lost", what) // recover must save the remaining data
					continue
				}
				require.Equal(t, 2, code, what)
				left := slices.DeleteFunc(names(t, dir), func(name string) bool { return name == detect.DoneFile }) // for the next run
				require.Equal(t, visible(t, dir), left, what)
				if f.verdict.Errno != 0 {
					require.Contains(t, strings.ToLower(output), f.verdict.Errno.Error(), what)
				}
				if f.verdict.Errno == syscall.ENOSPC || f.verdict.Errno == syscall.EDQUOT {
					require.Contains(t, output, "\n  free space there", what)
				}
			}
		})
	}
	for _, f := range faults {
		require.Positive(t, hits[f.kind], "%v", f.kind)
	}
}

// sizes returns the size in bytes of each file of a directory. The size of a subdirectory is the
// sum of its files.
func sizes(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	sizes := make(map[string]int64)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		first, _, _ := strings.Cut(rel, "/")
		sizes[first] += info.Size()
		return err
	})
	require.NoError(t, err)
	return sizes
}

// TestFullDisk checks commands on a disk that is full from some change on: every later call that
// needs space fails. The command must report the error, keep the old content, and leave neither a
// temporary file nor an incomplete one.
func TestFullDisk(t *testing.T) {
	for _, c := range testenv.Sample(writers[1:], 2) {
		t.Run(c.name, func(t *testing.T) {
			full := func(from int) (output string, code int, dir string, hit bool) {
				_, output, code, dir = trace(t, c.args, func(n int, e crashtest.Event) crashtest.Verdict {
					if n >= from && (e.Kind == crashtest.Write || e.Kind == crashtest.Copy || e.Kind == crashtest.Create || e.Kind == crashtest.Mkdir) {
						hit = true
						return crashtest.Verdict{Errno: syscall.ENOSPC}
					}
					return crashtest.Verdict{}
				})
				return output, code, dir, hit
			}
			changes, _, _, dir := trace(t, c.args, pass)
			all := names(t, dir)
			hits := 0
			for _, from := range testenv.Sample([]int{1, 2, changes / 3, changes / 2, changes * 3 / 4}, 2) {
				output, code, dir, hit := full(from)
				if !hit {
					continue
				}
				hits++
				require.Equal(t, 2, code, "from change %d on: %s", from, output)
				require.Contains(t, strings.ToLower(output), "no space left", "from change %d on", from)
				require.NotContains(t, output, "goroutine")
				requireOldOrNew(t, dir, c.file, 8)
				require.Subset(t, all, names(t, dir), output)
			}
			require.Positive(t, hits)
		})
	}
}

// TestFaults_Commands makes one call fail, or write less than requested. The command must either
// report the error and leave the old content unchanged, or succeed and write everything.
func TestFaults_Commands(t *testing.T) {
	faults := []struct {
		kind    crashtest.Kind
		verdict crashtest.Verdict
		at      func(n int) []int // indexes of the calls to fail, given the number n of calls of that kind
	}{
		{crashtest.Write, crashtest.Verdict{Short: 1}, func(n int) []int { return []int{1, n} }},
		{crashtest.Write, crashtest.Verdict{Errno: syscall.EIO}, func(n int) []int { return []int{n} }},
		{crashtest.Read, crashtest.Verdict{Errno: syscall.EIO}, func(n int) []int { return []int{1, n/2 + 1, n} }},
		{crashtest.Sync, crashtest.Verdict{Errno: syscall.EIO}, func(n int) []int { return []int{1, n} }},
		{crashtest.Truncate, crashtest.Verdict{Errno: syscall.EIO}, func(n int) []int { return []int{n} }},
		{crashtest.Rename, crashtest.Verdict{Errno: syscall.EIO}, func(n int) []int { return []int{n} }},
	}
	for _, c := range testenv.Sample(writers, 2) {
		t.Run(c.name, func(t *testing.T) {
			seen := map[crashtest.Kind]int{}
			output, code, dir := traceAll(t, c.args, func(_ string, e crashtest.Event) crashtest.Verdict {
				seen[e.Kind]++
				return crashtest.Verdict{}
			})
			require.Zero(t, code, output)
			all := names(t, dir)
			for _, f := range faults {
				for _, at := range f.at(seen[f.kind]) {
					n, hit := 0, false
					output, code, dir := traceAll(t, c.args, func(_ string, e crashtest.Event) crashtest.Verdict {
						if e.Kind != f.kind {
							return crashtest.Verdict{}
						}
						if n++; n != at {
							return crashtest.Verdict{}
						}
						hit = true
						return f.verdict
					})
					what := fmt.Sprintf("%v %d of %d: exit %d, %s", f.kind, at, seen[f.kind], code, output)
					if code == 0 {
						requireNew(t, dir, c.file, c.last, what)
						continue
					}
					require.True(t, hit, what)
					if f.kind == crashtest.Read && c.args[0] == "recover" && code == 3 {
						// recover must either report the unreadable chunk as lost, or lose nothing:
						// if only the read of metadata failed, recover must read the metadata again
						// and write all of it.
						if strings.Contains(output, " 0 lost") {
							require.Contains(t, output, "4 chunks: 4 certain", what)
							requireNew(t, dir, c.file, c.last, what)
							continue
						}
						require.Contains(t, output, "1 lost", what)
						continue
					}
					require.Equal(t, 2, code, what)
					require.Contains(t, strings.ToLower(output), "input/output error", what)
					require.NotContains(t, output, "goroutine", what)
					requireOldOrNew(t, dir, c.file, c.last)
					require.Subset(t, all, names(t, dir), what)
				}
			}
		})
	}
}

// requireNew checks that file has all of the new content.
func requireNew(t *testing.T, dir, file string, last int, what string) {
	t.Helper()
	got, _ := readAll[int32](t, dir+"/"+file)
	require.Len(t, got, last, what)
	requireOldOrNew(t, dir, file, last)
}

// TestFaults_RemovedDirectory deletes files while a command runs: the files that it reads and
// replaces, or its temporary files. The command may fail or succeed, but must not crash, and the
// remaining files must have valid content.
func TestFaults_RemovedDirectory(t *testing.T) {
	for _, c := range testenv.Sample(writers[1:], 2) {
		t.Run(c.name, func(t *testing.T) {
			changes, _, _, _ := trace(t, c.args, pass)
			for _, temporary := range []bool{false, true} {
				for _, at := range testenv.Sample([]int{1, changes / 2, changes}, 2) {
					change := 0
					output, code, dir := traceAll(t, c.args, func(dir string, e crashtest.Event) crashtest.Verdict {
						if !e.Kind.Changes() {
							return crashtest.Verdict{}
						}
						if change++; change == at {
							for _, name := range names(t, dir) {
								if (name[0] == '.') == temporary {
									require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
								}
							}
						}
						return crashtest.Verdict{}
					})
					what := fmt.Sprintf("temporary %v, change %d of %d: exit %d, %s", temporary, at, changes, code, output)
					require.Contains(t, []int{0, 2}, code, what)
					require.NotContains(t, output, "goroutine", what)
					if code != 0 {
						require.NotEmpty(t, output, what)
					}
					if !temporary {
						continue // the output may have been deleted after it was written
					}
					requireOldOrNew(t, dir, c.file, c.last)
					if code == 0 {
						requireNew(t, dir, c.file, c.last, what)
					}
				}
			}
		})
	}
}

// TestFullDisk_into fills the disk in the middle of a run over several files. Each target is
// complete or absent, and the next run does the rest.
func TestFullDisk_into(t *testing.T) {
	args := []string{"convert", "--into", "out", "--format", "npy", "--exclude-unsupported", "a.b2nd", "b.b2nd", "a.h5:/old", "a.h5:/x"}
	changes, _, code, _ := trace(t, args, pass)
	require.Zero(t, code)
	hits := 0
	for _, from := range []int{2, changes / 2, changes * 3 / 4} {
		hit := false
		_, output, code, dir := trace(t, args, func(n int, e crashtest.Event) crashtest.Verdict {
			if n >= from && (e.Kind == crashtest.Write || e.Kind == crashtest.Copy || e.Kind == crashtest.Create || e.Kind == crashtest.Mkdir) {
				hit = true
				return crashtest.Verdict{Errno: syscall.ENOSPC}
			}
			return crashtest.Verdict{}
		})
		if !hit {
			continue
		}
		hits++
		require.Contains(t, []int{2, 3}, code, output)
		require.Contains(t, strings.ToLower(output), "no space left")
		for _, file := range names(t, dir) {
			require.NotContains(t, file, ".tmp-", "from change %d on", from)
			if strings.HasSuffix(file, ".npy") {
				got, _ := readAll[int32](t, dir+"/"+file)
				require.Equal(t, count(8), got, file)
			}
		}
		t.Chdir(dir)
		_, stderr, code := run(args...)
		require.Zero(t, code, "from change %d on: %s", from, stderr)
		require.Len(t, filesBelow(t, "out"), 4)
	}
	require.Positive(t, hits)
}
