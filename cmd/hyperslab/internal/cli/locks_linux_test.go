package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestRun_refusedLocks checks that on a file system without locks reading continues with a warning
// and writing fails.
func TestRun_refusedLocks(t *testing.T) {
	cc := testenv.Tool(t, "cc")
	dir := t.TempDir()
	path := filepath.Join(dir, "a.h5")
	create[int32](t, path+":/x", ndarray.Spec{Shape: []int64{3}}, []int32{1, 2, 3})
	self, err := os.Executable()
	require.NoError(t, err)
	for _, errno := range []string{"ENOLCK", "EOPNOTSUPP"} {
		source, library := filepath.Join(dir, "lock.c"), filepath.Join(dir, errno+".so")
		require.NoError(t, os.WriteFile(source, []byte("#include <errno.h>\nint flock(int fd, int op) { errno = "+errno+"; return -1; }\n"), 0o666))
		out, err := exec.Command(cc, "-shared", "-fPIC", "-o", library, source).CombinedOutput()
		require.NoError(t, err, "%s", out)
		hyperslab := func(args ...string) (string, error) {
			c := exec.Command(self)
			c.Args = append([]string{"hyperslab"}, args...)
			c.Env = append(os.Environ(), "LD_PRELOAD="+library, "HDF5_USE_FILE_LOCKING=")
			out, err := c.CombinedOutput()
			return string(out), err
		}
		text, err := hyperslab("dump", path+":/x")
		require.NoError(t, err, text)
		require.Contains(t, text, "1 2 3")
		require.Contains(t, text, "warning: "+path+" is read without a file lock")
		for _, command := range [][]string{
			{"dump", "--ddl", path}, {"ls", path}, {"info", path}, {"chunks", path + ":/x"}, {"repack", "--dry-run", path, filepath.Join(dir, "c.h5")},
			{"diff", path, path}, {"verify", "--sandbox=false", path}, {"convert", "--dry-run", path, filepath.Join(dir, "tree")},
		} {
			text, err := hyperslab(command...)
			require.NoError(t, err, text)
			require.Equal(t, 1, strings.Count(text, "is read without a file lock"), "%v: %s", command, text)
		}
		text, err = hyperslab("attr", "set", path+":/x", "a", "1", "--in-place")
		require.Error(t, err, text)
	}
}
