package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/need"
)

// TestExplain_otherFiles checks that explain and verify examine the other files of an HDF5 file.
func TestExplain_otherFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	out, err := exec.Command(need.Python(t, "h5py"), "-c", `import h5py, numpy as np
np.arange(5).tofile("p.raw")
with h5py.File("a.h5", "w") as f:
    f["g/x"] = np.arange(5)
with h5py.File("v.h5", "w", libver="v110") as f:
    l = h5py.VirtualLayout((5,), "i8")
    l[:] = h5py.VirtualSource("a.h5", "g/x", (5,))
    f.create_virtual_dataset("v", l)
    f.create_dataset("e", (5,), "i8", external=[("p.raw", 0, 40)])`).CombinedOutput()
	require.NoError(t, err, "%s", out)
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

	t.Run("family", func(t *testing.T) {
		first := filepath.Join(need.Directory(t, need.HDF5Source), "tools/test/misc/testfiles/family_file00000.h5")
		done(t, "explain", first, "--wrong")
		require.Contains(t, done(t, "verify", first), "valid")
	})
}
