package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestRealFiles checks repack and convert with files that other software wrote. h5diff must not
// find a difference between the results of repack and h5repack. h5py, python-blosc2, bcolz and
// NumPy must read the same bytes from the results as from the sources.
func TestRealFiles(t *testing.T) {
	hdf5Files := testenv.Sample(testenv.Files(t, testenv.Corpus, "hdf5-filters/*.h5", "caterva2/*.h5"), 3)
	blosc2Files := testenv.Files(t, testenv.Corpus, "caterva2/*.b2nd", "caterva2/*.b2frame")
	h5diff, h5repack := testenv.Tool(t, "h5diff"), testenv.Tool(t, "h5repack")
	python := testenv.Python(t, "h5py", "hdf5plugin", "blosc2", "bcolz")
	etopo, err := filepath.Abs("../../../../testdata/etopo120.h5")
	require.NoError(t, err)
	hdf5Files = append(hdf5Files, etopo)
	plugins, err := exec.Command(python, "-c", "import hdf5plugin; print(hdf5plugin.PLUGIN_PATH)").Output()
	require.NoError(t, err)
	t.Chdir(t.TempDir())

	ours := func(args ...string) {
		t.Helper()
		_, stderr, code := run(args...)
		require.Zero(t, code, "%v: %s", args, stderr)
	}
	theirs := func(tool string, args ...string) string {
		t.Helper()
		cmd := exec.Command(tool, args...)
		cmd.Env = append(os.Environ(), "HDF5_PLUGIN_PATH="+strings.TrimSpace(string(plugins)))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", tool, args, out)
		return string(out)
	}
	for _, file := range hdf5Files {
		base := strings.TrimSuffix(filepath.Base(file), ".h5")
		for name, flags := range map[string][]string{
			"same": nil, "deflate": {"--codec", "deflate", "--level", "4"}, "blosc2": {"--codec", "blosc2/zstd"}, "none": {"--codec", "none", "--shuffle", "none"},
		} {
			ours(append([]string{"repack", file, base + "." + name + ".h5", "-q"}, flags...)...)
		}
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		put(t, "twin", content) // the exact copy shows which objects h5diff cannot compare
		twins := theirs(h5diff, file, "twin")
		for _, name := range []string{"same", "deflate", "none"} {
			require.Equal(t, twins, theirs(h5diff, file, base+"."+name+".h5"), "%s %s", base, name)
		}
		theirs(h5repack, "-f", "GZIP=4", file, base+".theirs")
		require.Equal(t, twins, theirs(h5diff, base+".theirs", base+".deflate.h5"), base)
		ours("convert", file, base+"-tree", "-q", "--exclude-unsupported")
		ours("convert", base+"-tree", base+".back.h5", "-q", "--codec", "zstd")
	}

	// Only arrays that a format does not support may be refused, and the error must contain the
	// reason.
	refused := make(map[string]string)
	for _, file := range blosc2Files {
		base := filepath.Base(file)
		change := []string{file, base + ".packed.b2nd", "-q", "--codec", "lz4", "--shuffle", "bit"}
		if strings.HasSuffix(file, ".b2frame") { // repack refuses a plain frame because it is not an array; convert accepts it
			_, stderr, code := run(append([]string{"repack"}, change...)...)
			require.Equal(t, 2, code)
			require.Contains(t, stderr, "is a Blosc2 frame without an array; hyperslab convert writes it as an array")
			ours(append([]string{"convert"}, change...)...)
		} else {
			ours(append([]string{"repack"}, change...)...)
		}
		for _, to := range []string{".b2nd", ".h5:/x", ".npy", ".bcolz"} {
			_, stderr, code := run("convert", file, base+to, "-q", "--exclude-unsupported")
			if code != 0 {
				require.Equal(t, 2, code)
				require.Contains(t, stderr, "unsupported operation", "%s to %s", base, to)
				refused[base+to] = stderr
			}
		}
	}
	var names []string
	for name := range refused {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{"ds-2d-fields.b2nd.bcolz", "ds-sc-attr.b2nd.bcolz"}, names)

	out, err := exec.Command(python, append([]string{"-c", `
import glob, os, sys
import bcolz, blosc2, h5py, hdf5plugin, numpy as np

def check(what, got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (what, got.dtype, want.dtype, got.shape, want.shape)
    assert list(got.flat) == list(want.flat) if want.dtype.hasobject else got.tobytes() == want.tobytes(), what

def whole(a):  # a plain frame has no element type
    return a[()] if isinstance(a, blosc2.NDArray) else np.frombuffer(a[:], "V1")

hdf5 = b2nd = npy = carray = 0
left = []
for file in sys.argv[1:]:
    base = os.path.basename(file)
    if not file.endswith(".h5"):
        want = whole(blosc2.open(file))
        for copy in glob.glob(base + ".*"):
            if copy.endswith(".npy"):
                check(copy, np.load(copy), want); npy += 1
            elif copy.endswith(".bcolz"):
                check(copy, bcolz.open(copy, "r")[:], want); carray += 1
            elif copy.endswith(".h5"):
                with h5py.File(copy) as f:
                    got = f["x"]
                    if np.asarray(want).dtype.kind == "U":  # strings of variable length
                        got = np.asarray(got.asstr()[()]).astype(np.asarray(want).dtype)
                    check(copy, got[()], want); hdf5 += 1
            else:
                check(copy, whole(blosc2.open(copy)), want); b2nd += 1
        continue
    base, names = base[:-3], []
    with h5py.File(file) as f:
        f.visititems(lambda name, o: names.append(name) if isinstance(o, h5py.Dataset) else None)
        for name in names:
            want = f[name][()]
            for copy in glob.glob(base + ".*.h5"):
                with h5py.File(copy) as g:
                    if name not in g:
                        left.append(copy + ":/" + name)
                    elif isinstance(want, h5py.Empty):
                        assert copy.endswith(".back.h5") and g[name].shape == (0,) or g[name][()] == want, (copy, name)
                    else:
                        check((copy, name), g[name][()], want); hdf5 += 1
            array = base + "-tree/" + name + ".b2nd"
            if os.path.exists(array):
                kind = h5py.check_string_dtype(f[name].dtype)
                if kind and kind.length is None:  # strings of variable length become text
                    want = np.asarray(f[name].asstr()[()], "U")
                check(array, blosc2.open(array)[()], np.zeros(0, want.dtype) if isinstance(want, h5py.Empty) else want); b2nd += 1
            else:
                left.append(array)
print(hdf5, b2nd, npy, carray, *sorted(left))
`}, append(hdf5Files, blosc2Files...)...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var hdf5, b2nd, npy, bcolz int
	_, err = fmt.Sscan(string(out), &hdf5, &b2nd, &npy, &bcolz)
	require.NoError(t, err, "%s", out)
	require.Equal(t, len(blosc2Files), npy)
	require.Equal(t, len(blosc2Files)-2, bcolz)
	notConverted := strings.Fields(string(out))[4:]
	unsupported := []string{"root-example.back.h5:/unsupported/too-many-dimensions", "root-example-tree/unsupported/too-many-dimensions.b2nd"}
	if testenv.All() {
		require.Greater(t, hdf5, 500)
		require.Greater(t, b2nd, 140)
		require.ElementsMatch(t, unsupported, notConverted)
	}
	require.Positive(t, hdf5)
	require.Positive(t, b2nd)
	require.Subset(t, unsupported, notConverted)
}
