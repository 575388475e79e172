package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAgainstReferenceTools checks repack and convert with a file of real measurements. h5diff must
// not find a difference between the results of repack and h5repack. h5py, hdf5plugin and
// python-blosc2 must read the results of convert.
func TestAgainstReferenceTools(t *testing.T) {
	tools, err := filepath.Abs("../../../../third_party/build/bin")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(tools, "h5repack")); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no h5repack (make deps)")
		}
		t.Skip("no h5repack: NOT compared (make deps)")
	}
	python := interpreter(t)
	t.Chdir(field(t))
	ours := func(line string) {
		t.Helper()
		_, stderr, code := run(strings.Fields(line)...)
		require.Zero(t, code, "%s: %s", line, stderr)
	}
	theirs := func(tool string, args ...string) {
		t.Helper()
		out, err := exec.Command(filepath.Join(tools, tool), args...).CombinedOutput()
		require.NoError(t, err, "%s %v: %s", tool, args, out)
		if tool == "h5diff" {
			require.Empty(t, string(out), "%v", args)
		}
	}
	for name, c := range map[string]struct{ flags, filters string }{
		"as it is": {"", ""},
		"deflate":  {"--codec deflate --level 9 --shuffle byte", "SHUF,GZIP=9"},
		"checked":  {"--codec deflate --level 1 --shuffle none --checksum", "GZIP=1,FLET"},
		"plain":    {"--codec none --shuffle none", "NONE"},
		"chunks":   {"--codec deflate --level 5 --chunks 30,60", "SHUF,GZIP=5"},
	} {
		ours("repack etopo.h5 ours.h5 -f -q " + c.flags)
		require.NoError(t, os.RemoveAll("theirs.h5"))
		var args []string
		for _, f := range strings.Split(c.filters, ",") {
			if f != "" {
				args = append(args, "-f", f)
			}
		}
		if name == "chunks" {
			args = append(args, "-l", "ROSE:CHUNK=30x60")
		}
		theirs("h5repack", append(args, "etopo.h5", "theirs.h5")...)
		theirs("h5diff", "etopo.h5", "ours.h5")
		theirs("h5diff", "theirs.h5", "ours.h5")
		ours("diff theirs.h5 ours.h5 -q --exclude-unsupported")
	}

	ours("convert etopo.h5:/ROSE rose.b2nd -q --exclude-unsupported")
	ours("convert rose.b2nd back.h5:/ROSE -q")
	ours("convert etopo.h5 tree -q --exclude-unsupported")
	for _, codec := range []string{"zstd", "lz4", "lzf", "bzip2", "bitshuffle/lz4", "bitshuffle/zstd", "blosc/lz4", "blosc2/zstd"} {
		ours("repack etopo.h5 " + strings.ReplaceAll(codec, "/", "-") + ".codec.h5 -q --codec " + codec)
	}
	out, err := exec.Command(python, "-c", `
import glob, h5py, hdf5plugin, blosc2, numpy as np
with h5py.File("etopo.h5") as f:
    want = {name: f[name][...] for name in ("ROSE", "ETOPO120X", "ETOPO120Y")}
    missing = f["ROSE"].attrs["missing_value"]
def same(a, b): return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
rose = blosc2.open("rose.b2nd")
assert same(rose[...], want["ROSE"])
assert np.array_equal(np.float32(rose.schunk.vlmeta["missing_value"]), missing)
for name, values in want.items():
    assert same(blosc2.open("tree/" + name + ".b2nd")[...], values), name
with h5py.File("back.h5") as f: assert same(f["ROSE"][...], want["ROSE"])
n = 0
for file in glob.glob("*.codec.h5"):
    with h5py.File(file) as f:
        for name, values in want.items(): assert same(f[name][...], values), (file, name)
        assert f["ROSE"].dims[1][0].name == "/ETOPO120X", file
    n += 1
print("same", n)
`).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "same 8\n", string(out))
}
