package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestExplain_otherFiles checks that explain and verify examine the other files of an HDF5 file.
func TestExplain_otherFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	testutil.Python(t, []string{"h5py"}, "-c", `import h5py, numpy as np
np.arange(5).tofile("p.raw")
with h5py.File("a.h5", "w") as f:
    f["g/x"] = np.arange(5)
with h5py.File("v.h5", "w", libver="v110") as f:
    l = h5py.VirtualLayout((5,), "i8")
    l[:] = h5py.VirtualSource("a.h5", "g/x", (5,))
    f.create_virtual_dataset("v", l)
    f.create_dataset("e", (5,), "i8", external=[("p.raw", 0, 40)])`)
	require.Regexp(t, `virtual source +a.h5:g/x +\(object header at \d+ of a.h5\)`, done(t, "explain", "v.h5:/v"))
	require.Regexp(t, `external file +p.raw +\(40 bytes, elements from offset 0\)`, done(t, "explain", "v.h5:/e"))
	require.Contains(t, done(t, "verify", "v.h5"), "v.h5: valid")
	require.NoError(t, os.Remove("p.raw"))
	require.NoError(t, os.Remove("a.h5"))
	for object, text := range map[string]string{"v": "virtual source: ", "e": "external file: "} {
		stdout, _, code := run("explain", "v.h5:/"+object, "--wrong")
		require.Equal(t, 1, code)
		require.Contains(t, stdout, text)
	}
	stdout, _, code := run("verify", "v.h5")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "/e: external file in p.raw")
	require.Contains(t, stdout, "/v: virtual source g/x in a.h5")

	t.Run("multi and split", func(t *testing.T) {
		tests := filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools/test/h5dump/testfiles")
		for name, other := range map[string]string{"tmulti-s.h5": "tmulti-o.h5", "tsplit_file-m.h5": "tsplit_file-r.h5"} {
			copied := t.TempDir()
			for _, file := range []string{"tmulti-s.h5", "tmulti-b.h5", "tmulti-g.h5", "tmulti-l.h5", "tmulti-o.h5", "tmulti-r.h5", "tsplit_file-m.h5", "tsplit_file-r.h5"} {
				b, err := os.ReadFile(filepath.Join(tests, file))
				require.NoError(t, err)
				put(t, filepath.Join(copied, file), b)
			}
			first := filepath.Join(copied, name)
			require.Empty(t, done(t, "explain", first, "--wrong"))
			require.Contains(t, done(t, "explain", first), other)
			require.Contains(t, done(t, "verify", first), "valid")
			require.Contains(t, done(t, "verify", first, "--untrusted"), "valid")
			require.Contains(t, done(t, "info", first+":/dset1"), "readable since  HDF5 1.6")
			for problem, change := range map[string]func() error{
				"got 100 bytes, want at least 2048": func() error { return os.Truncate(filepath.Join(copied, other), 100) },
				"file does not exist":               func() error { return os.Remove(filepath.Join(copied, other)) },
			} {
				b, err := os.ReadFile(filepath.Join(copied, other))
				require.NoError(t, err)
				require.NoError(t, change())
				for _, command := range [][]string{{"verify"}, {"explain", "--wrong"}, {"verify", "--untrusted"}} {
					stdout, _, code := run(append(command, first)...)
					require.Equal(t, 1, code, "%v %s", command, stdout)
					require.Contains(t, stdout, problem)
					require.Contains(t, stdout, other)
				}
				put(t, filepath.Join(copied, other), b)
			}
		}
	})
	t.Run("family", func(t *testing.T) {
		first := filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools/test/misc/testfiles/family_file00000.h5")
		done(t, "explain", first, "--wrong")
		require.Contains(t, done(t, "info", first+":/dataset"), "readable since")
		require.Contains(t, done(t, "verify", first), "valid")
	})
}
