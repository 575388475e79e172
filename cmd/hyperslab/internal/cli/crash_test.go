//go:build !race

// Commands that are killed and that find the disk full. They run as programs of their own,
// hundreds of times: the race detector would see nothing of it and take minutes.

package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/crashtest"
	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/ndarray"
)

// writers are commands that write, as they are tried at each of their changes of files.
var writers = []struct {
	name string
	args []string
	file string // what is looked at: before it has 8 elements, or is not there
	last int    // elements afterwards
}{
	{"append to HDF5", []string{"append", "a.h5:/x", "b.b2nd"}, "a.h5:/x", 16},
	{"append to b2nd", []string{"append", "a.b2nd", "b.b2nd"}, "a.b2nd", 16},
	{"convert to HDF5", []string{"convert", "b.b2nd", "new.h5:/x"}, "new.h5:/x", 8},
	{"convert over bcolz", []string{"convert", "--force", "b.b2nd", "a.bcolz"}, "a.bcolz", 8},
	{"repack over itself", []string{"repack", "--force", "b.b2nd", "a.b2nd"}, "a.b2nd", 8},
	{"repack HDF5", []string{"repack", "--replace", "a.h5", "--codec", "zstd"}, "a.h5:/x", 8},
	{"recover", []string{"recover", "a.h5", "new.h5"}, "new.h5:/x", 8},
	{"recover b2nd", []string{"recover", "-f", "b.b2nd", "a.b2nd"}, "a.b2nd", 8},
	{"copy into a file", []string{"cp", "a.h5:/x", "a.h5:/y"}, "a.h5:/x", 8},
	{"attribute", []string{"attr", "set", "a.b2nd", "units", "km"}, "a.b2nd", 8},
}

// pass lets everything happen.
func pass(int, crashtest.Event) crashtest.Verdict { return crashtest.Verdict{} }

// trace runs a command in a new folder, and asks the judge at each of its changes.
func trace(t *testing.T, args []string, judge func(change int, e crashtest.Event) crashtest.Verdict) (changes int, said string, code int, dir string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := filepath.Join(t.TempDir(), "hyperslab") // the test binary knows itself by this name
	require.NoError(t, os.Symlink(self, command))
	spec := ndarray.Spec{Shape: []int64{8}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{4}}
	plain := ndarray.Spec{Shape: []int64{8}, ChunkShape: []int64{4}}
	dir = t.TempDir()
	create(t, dir+"/a.h5:/x", spec, count(8))
	_, failed, _ := run("cp", dir+"/a.h5:/x", dir+"/a.h5:/y", "--in-place")
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
	_, r, err := crashtest.Run(cmd, dir, func(_ int, e crashtest.Event) crashtest.Verdict {
		if !e.Kind.Changes() {
			return crashtest.Verdict{}
		}
		changes++
		return judge(changes, e)
	})
	if errors.Is(err, errors.ErrUnsupported) {
		need.Missing(t, "%v", err)
	}
	require.NoError(t, err)
	b, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return changes, string(b), r.Code, dir
}

// requireOldOrNew looks at what a command has left: what was there before, or all that
// it was to write.
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

// The command, killed at any of its changes of files, leaves what was there or what it
// was to write.
func TestKilledCommand(t *testing.T) {
	for _, c := range writers {
		t.Run(c.name, func(t *testing.T) {
			changes, said, code, dir := trace(t, c.args, pass)
			require.Zero(t, code, said)
			got, _ := readAll[int32](t, dir+"/"+c.file)
			require.Len(t, got, c.last)
			require.Greater(t, changes, 3)
			for _, kill := range []int{1, changes / 3, changes / 2, changes - 1, changes} {
				reached, said, code, dir := trace(t, c.args, func(n int, _ crashtest.Event) crashtest.Verdict { return crashtest.Verdict{Kill: n == kill} })
				if reached < kill { // threads met otherwise, and it had fewer changes to make
					require.Greater(t, kill, changes/2, said)
					require.Zero(t, code, said)
					continue
				}
				require.Equal(t, -1, code, said)
				requireOldOrNew(t, dir, c.file, c.last)
			}
		})
	}
}

// outputs are all commands that make something, with what they make.
var outputs = []struct {
	name  string
	args  string
	makes string
}{
	{"append", "append a.b2nd b.b2nd", ""},
	{"append to HDF5", "append a.h5:/x b.b2nd", ""},
	{"attr set", "attr set a.h5:/x units km", ""},
	{"attr rm", "attr rm a.b2nd units", ""},
	{"bench", "bench a.b2nd --codec lz4 --level 1 --seconds 0 --plot new.svg", "new.svg"},
	{"convert to b2nd", "convert a.h5:/x new.b2nd", "new.b2nd"},
	{"convert to a directory", "convert a.h5:/x new.b2nd --sparse", "new.b2nd"},
	{"convert to HDF5", "convert a.b2nd new.h5:/x --exclude-unsupported", "new.h5"},
	{"convert to bcolz", "convert a.h5:/x new.bcolz", "new.bcolz"},
	{"convert to npy", "convert b.b2nd new.npy", "new.npy"},
	{"convert a tree", "convert a.h5 new", "new"},
	{"convert by the list", "convert --into . --format npy --files-from list", "b.npy"},
	{"cp of a file", "cp a.b2nd new.b2nd", "new.b2nd"},
	{"cp of an object", "cp a.h5:/x new.h5:/x", "new.h5"},
	{"crosscheck emit", "crosscheck emit new --area metalayer", "new"},
	{"plot", "plot b.b2nd -o new.svg", "new.svg"},
	{"recover", "recover a.h5 new.h5", "new.h5"},
	{"repack", "repack --replace a.h5 --codec zstd", ""},
	{"repack of an array", "repack a.b2nd new.b2nd --codec zstd", "new.b2nd"},
	{"rm", "rm a.h5:/y", ""},
	{"verify", "verify b.b2nd --digests write --sandbox=false", "b.b2nd.sha256"},
}

// The command, told to stop at any of its changes of files, stops or is just done: it
// leaves no temporary file, and of what it makes all or nothing. What was there is as it
// was, or as it was to become.
func TestInterruptedCommand(t *testing.T) {
	stopped := 0
	for i, c := range outputs {
		t.Run(c.name, func(t *testing.T) {
			args := strings.Fields(c.args)
			changes, said, code, dir := trace(t, args, pass)
			require.Zero(t, code, said)
			all := names(t, dir)
			require.Positive(t, changes)
			want := sizes(t, dir)
			for _, at := range slices.Compact([]int{1, (changes + 1) / 2, changes}) {
				signal, status := syscall.SIGINT, 130
				if (i+at)%2 == 1 {
					signal, status = syscall.SIGTERM, 143
				}
				_, said, code, dir := trace(t, args, func(n int, _ crashtest.Event) crashtest.Verdict {
					if n == at {
						return crashtest.Verdict{Signal: signal}
					}
					return crashtest.Verdict{}
				})
				require.Contains(t, []int{0, status}, code, said)
				left := names(t, dir)
				require.Subset(t, all, left, "change %d of %d: %s", at, changes, said)
				if code == status {
					stopped++
					require.Contains(t, said, "no temporary file is left")
				} else {
					require.Equal(t, all, left)
				}
				require.Subset(t, left, []string{"a.b2nd", "a.h5", "b.b2nd"})
				if c.makes != "" && slices.Contains(left, c.makes) && c.name != "bench" { // a picture of speeds
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

// names lists a folder.
func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// sizes are the bytes of each file of a folder, of a folder in it those of all its files.
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

// A disk that is full from some change on, but for names that go, is an error that says
// so, and what was there before is left alone: no temporary file, no half of one.
func TestFullDisk(t *testing.T) {
	for _, c := range writers {
		t.Run(c.name, func(t *testing.T) {
			full := func(from int) (said string, code int, dir string, hit bool) {
				_, said, code, dir = trace(t, c.args, func(n int, e crashtest.Event) crashtest.Verdict {
					if n >= from && (e.Kind == crashtest.Write || e.Kind == crashtest.Copy || e.Kind == crashtest.Create || e.Kind == crashtest.Mkdir) {
						hit = true
						return crashtest.Verdict{Errno: syscall.ENOSPC}
					}
					return crashtest.Verdict{}
				})
				return said, code, dir, hit
			}
			changes, _, _, dir := trace(t, c.args, pass)
			all := names(t, dir)
			hits := 0
			for _, from := range []int{1, 2, changes / 3, changes / 2, changes * 3 / 4} {
				said, code, dir, hit := full(from)
				if !hit {
					continue
				}
				hits++
				require.Equal(t, 2, code, "from change %d on: %s", from, said)
				require.Contains(t, strings.ToLower(said), "no space left", "from change %d on", from)
				require.NotContains(t, said, "goroutine")
				requireOldOrNew(t, dir, c.file, 8)
				require.Subset(t, all, names(t, dir), said)
			}
			require.Positive(t, hits)
		})
	}
}
