package verify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// writeDirectory is a Python program that writes a directory with files of several formats.
const writeDirectory = `import os, sys
import blosc2, h5py, numpy as np
os.chdir(sys.argv[1])
os.makedirs("sub/deep"); os.makedirs("many.b2d"); os.makedirs("unknown")
blosc2.asarray(np.arange(10), urlpath="a.b2nd")
with h5py.File("sub/x.h5", "w") as f: f.create_dataset("g/x", data=np.arange(1000), chunks=(100,), fletcher32=True)
np.save("sub/deep/n.npy", np.arange(3))
np.arange(5).tofile("sub/p.raw")
with h5py.File("sub/e.h5", "w") as f: f.create_dataset("e", (5,), "i8", external=[(os.path.abspath("sub/p.raw"), 0, 40)])
with h5py.File("f-%d.h5", "w", driver="family", memb_size=4096) as f: f["x"] = np.arange(2000)
with blosc2.DictStore("many.b2d", mode="w", threshold=0) as s:
    for i in range(100): s[f"/x{i}"] = blosc2.asarray(np.arange(1000))
open("unknown/notes.txt", "w").write("text")
`

func TestFile_directory(t *testing.T) {
	dir := t.TempDir()
	testutil.Python(t, []string{"h5py", "blosc2"}, "-c", writeDirectory, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	check := func(t *testing.T, path string, o verify.Options) *verify.Report {
		t.Helper()
		r, err := verify.File(bg, path, &o)
		require.NoError(t, err)
		return r
	}
	t.Run("all formats", func(t *testing.T) {
		for _, isolated := range []bool{false, true} {
			var members []string
			r := check(t, dir, verify.Options{Isolated: isolated, Member: func(r *verify.Report) error {
				rel, err := filepath.Rel(dir, r.Path)
				members = append(members, filepath.ToSlash(rel))
				return err
			}})
			require.Equal(t, verify.ExitPartly, r.ExitCode(), "%v", r.Damages)
			require.ElementsMatch(t, []string{"a.b2nd", "f-0.h5", "many.b2d", "sub/deep/n.npy", "sub/e.h5", "sub/x.h5", "unknown/notes.txt"}, members)
			require.Len(t, r.Unchecked, 1, "external files and members of families belong to other files: %v", r.Unchecked)
			require.Equal(t, "unknown/notes.txt", r.Unchecked[0].Object)
			require.EqualValues(t, 105, r.Arrays)
			require.Equal(t, isolated, r.Isolated)
		}
	})
	require.NoError(t, os.RemoveAll(at("unknown")))
	require.Equal(t, verify.ExitValid, check(t, dir, verify.Options{}).ExitCode())
	t.Run("unknown formats only", func(t *testing.T) {
		empty := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(empty, "notes.txt"), []byte("text"), 0o600))
		_, err := verify.File(bg, empty, nil)
		require.ErrorIs(t, err, ndarray.ErrFormat)
	})
	t.Run("digests", func(t *testing.T) {
		require.NoError(t, os.WriteFile(at("sub/x.h5.sha256"), nil, 0o600)) // a sidecar is no member
		require.Equal(t, verify.ExitValid, check(t, dir, verify.Options{}).ExitCode())
		require.NoError(t, os.Remove(at("sub/x.h5.sha256")))
	})
	t.Run("more arrays than descriptors", func(t *testing.T) {
		many := t.TempDir()
		b, err := os.ReadFile(at("a.b2nd"))
		require.NoError(t, err)
		for i := range 150 {
			require.NoError(t, os.WriteFile(filepath.Join(many, fmt.Sprintf("%03d.b2nd", i)), b, 0o600))
		}
		r := check(t, many, verify.Options{Isolated: true})
		require.Equal(t, verify.ExitValid, r.ExitCode(), "%v %v", r.Damages, r.Unchecked)
		require.EqualValues(t, 150, r.Arrays)
	})
	t.Run("corrupt members", func(t *testing.T) {
		require.NoError(t, os.Truncate(at("sub/x.h5"), 5000))
		require.NoError(t, os.WriteFile(at("zeros.h5"), make([]byte, 100), 0o600))
		require.NoError(t, os.WriteFile(at("old.nc"), []byte("CDF\x01"), 0o600))
		require.NoError(t, os.Symlink("a.b2nd", at("link.b2nd")))
		r := check(t, dir, verify.Options{Isolated: true})
		require.Equal(t, verify.ExitCorrupt, r.ExitCode())
		var objects []string
		for _, p := range r.Damages {
			name, _, _ := strings.Cut(p.Object, ":/")
			objects = append(objects, name)
		}
		require.Contains(t, objects, "sub/x.h5")
		require.Contains(t, objects, "zeros.h5")
		require.Len(t, r.Unchecked, 2)
		require.Equal(t, []string{"link.b2nd", "old.nc"}, []string{r.Unchecked[0].Object, r.Unchecked[1].Object})
	})
}
