package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/crashtest"
	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/ndarray"
)

// The command, killed at any of its changes of files, leaves what was there or what it
// was to write.
func TestKilledCommand(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	command := filepath.Join(t.TempDir(), "hyperslab") // the test binary knows itself by this name
	require.NoError(t, os.Symlink(self, command))
	spec := ndarray.Spec{Shape: []int64{8}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{4}}
	plain := ndarray.Spec{Shape: []int64{8}, ChunkShape: []int64{4}}
	for _, c := range []struct {
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
	} {
		t.Run(c.name, func(t *testing.T) {
			do := func(kill int) (changes int, said string, code int, dir string) {
				dir = t.TempDir()
				create(t, dir+"/a.h5:/x", spec, count(8))
				create(t, dir+"/a.b2nd", plain, count(8))
				create(t, dir+"/a.bcolz", plain, count(8))
				create(t, dir+"/b.b2nd", plain, count(8))
				cmd := exec.Command(command, c.args...)
				cmd.Dir = dir
				out, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
				require.NoError(t, err)
				defer out.Close()
				cmd.Stderr = out
				_, r, err := crashtest.Run(cmd, dir, func(_ int, e crashtest.Event) crashtest.Verdict {
					if e.Kind.Changes() {
						changes++
					}
					return crashtest.Verdict{Kill: e.Kind.Changes() && changes == kill}
				})
				if errors.Is(err, errors.ErrUnsupported) {
					need.Missing(t, "%v", err)
				}
				require.NoError(t, err)
				b, err := os.ReadFile(out.Name())
				require.NoError(t, err)
				return changes, string(b), r.Code, dir
			}
			changes, said, code, dir := do(0)
			require.Zero(t, code, said)
			got, _ := readAll[int32](t, dir+"/"+c.file)
			require.Len(t, got, c.last)
			require.Greater(t, changes, 3)
			for _, kill := range []int{1, changes / 3, changes / 2, changes - 1, changes} {
				reached, said, code, dir := do(kill)
				if reached < kill { // threads met otherwise, and it had fewer changes to make
					require.Greater(t, kill, changes/2, said)
					require.Zero(t, code, said)
					continue
				}
				require.Equal(t, -1, code, said)
				if _, err := os.Stat(dir + "/new.h5"); err != nil && c.file == "new.h5:/x" {
					continue
				}
				got, _ := readAll[int32](t, dir+"/"+c.file)
				require.Contains(t, []int{8, c.last}, len(got))
				require.Equal(t, count(8), got[:8])
				if len(got) == 16 {
					require.Equal(t, count(8), got[8:])
				}
			}
		})
	}
}
