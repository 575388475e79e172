// Tests of HDF5 datasets whose elements are in other files.

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// peer runs a Python program that has h5py and NumPy imported.
func peer(t *testing.T, program string) string {
	t.Helper()
	out := testutil.Python(t, []string{"h5py"}, "-c", "import h5py, numpy as np\n"+program)
	return strings.TrimSpace(string(out))
}

func TestRun_virtual(t *testing.T) {
	h5dump := testenv.Tool(t, "h5dump") // before the change of directory
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("sub", 0o755))
	here, err := os.Getwd()
	require.NoError(t, err)
	peer(t, `
for i, name in enumerate(("a.h5", "sub/b%1.h5", "sub/c.h5")):
    with h5py.File(name, "w") as f:
        f["g/x"] = np.arange(100 * i, 100 * i + 12, dtype=">f4").reshape(3, 4)
        f["long"] = np.arange(20, dtype=">f4").reshape(5, 4)
        f["other"] = np.arange(12, dtype="<f4").reshape(3, 4)
        f["scalar"] = 1`)
	done(t, "virtual", "a.h5:/g/x", "sub/b%1.h5:/g/x", here+"/sub/c.h5:/long", "sub/v.h5:/rows")
	done(t, "virtual", "a.h5:/g/x", "sub/b%1.h5:/g/x", "sub/v.h5:/deep/columns", "--axis", "1", "--in-place")
	done(t, "virtual", "a.h5:/g/x", "sub/b%1.h5:/g/x", "sub/v.h5:/stack", "--stack", "--axis", "2")
	done(t, "virtual", "a.h5:/g/x", "a.h5:/long", "a.h5:/all")
	require.NoError(t, os.Rename("sub", "moved"), "no name of a source needs sub")
	require.NoError(t, os.Mkdir("sub", 0o755))
	require.NoError(t, os.Rename("moved/c.h5", "sub/c.h5"))
	require.Equal(t, "equal", peer(t, `
a, b, c = (h5py.File(n)["g/x"][:] for n in ("a.h5", "moved/b%1.h5", "sub/c.h5"))
long = h5py.File("sub/c.h5")["long"][:]
f = h5py.File("moved/v.h5")
assert [s.file_name for s in f["rows"].virtual_sources()][0] == "../a.h5"
for name, want in (("rows", np.concatenate((a, b, long))), ("deep/columns", np.concatenate((a, b), 1)), ("stack", np.stack((a, b), 2))):
    assert f[name].dtype == ">f4" and np.array_equal(f[name][:], want), name
assert h5py.File("a.h5")["all"].virtual_sources()[0].file_name == "."
assert np.array_equal(h5py.File("a.h5")["all"][:], np.concatenate((a, long)))
print("equal")`))
	require.Contains(t, done(t, "verify", "moved/v.h5"), "valid")
	out, err := exec.Command(h5dump, "-d", "/deep/columns", "-s", "2,3", "-c", "1,2", "moved/v.h5").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "(2,3): 11, 108")

	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"shape":          {[]string{"a.h5:/g/x", "a.h5:/long", "n.h5:/x", "--axis", "1"}, "length of axis 0 of a.h5:/long: got 5, want 3 as in a.h5:/g/x"},
		"shape of stack": {[]string{"a.h5:/g/x", "a.h5:/long", "n.h5:/x", "--stack"}, "length of axis 0 of a.h5:/long: got 5, want 3"},
		"type":           {[]string{"a.h5:/g/x", "a.h5:/other", "n.h5:/x"}, "datatype of a.h5:/other: got H5T_IEEE_F32LE, want H5T_IEEE_F32BE as in a.h5:/g/x"},
		"scalar":         {[]string{"a.h5:/scalar", "n.h5:/x"}, "got a scalar dataspace, want at least 1 dimension"},
		"axis":           {[]string{"a.h5:/g/x", "n.h5:/x", "--axis", "2"}, "--axis 2: want 0 to 1"},
		"exists":         {[]string{"a.h5:/g/x", "a.h5:/all"}, "already exists"},
		"target":         {[]string{"a.h5:/g/x", "a.h5:/g/x", "-f"}, "a.h5:/g/x is the target"},
		"missing":        {[]string{"none.h5:/x", "n.h5:/x"}, "none.h5"},
		"missing object": {[]string{"a.h5:/none", "n.h5:/x"}, "/none"},
		"selection":      {[]string{"a.h5:/g/x[0:2]", "n.h5:/x"}, "a source is a whole dataset"},
		"format":         {[]string{"a.h5:/g/x", "n.b2nd"}, "n.b2nd"},
	} {
		t.Run(name, func(t *testing.T) {
			before := names(t, ".")
			_, stderr, code := run(append([]string{"virtual"}, tt.args...)...)
			require.NotZero(t, code)
			require.Contains(t, stderr, tt.want)
			require.Equal(t, before, names(t, "."))
		})
	}
	done(t, "virtual", "a.h5:/long", "a.h5:/all", "-f")
	require.Equal(t, "(5, 4)", peer(t, `print(h5py.File("a.h5")["all"].shape)`))
}

func TestRun_convertExternal(t *testing.T) {
	h5dump := testenv.Tool(t, "h5dump") // before the change of directory
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("sub", 0o755))
	peer(t, `
x = np.arange(5000, dtype=">i2").reshape(50, 100)
np.save("x.npy", x)
np.save("empty.npy", x[:0])
with h5py.File("text.h5", "w") as f:
    f["t"] = ["a", "bc"]
    f.create_dataset("packed", data=x, chunks=(7, 30), maxshape=(None, 100), compression=4).attrs["unit"] = 3`)
	equal := func(address string) {
		t.Helper()
		file, object, _ := strings.Cut(address, ":")
		require.Equal(t, "True >i2", peer(t, `d = h5py.File("`+file+`")["`+object+`"]; print(np.array_equal(d[:], np.load("x.npy")), d.dtype)`))
	}
	done(t, "convert", "x.npy", "sub/o.h5:/x", "--external", "sub/raw.bin")
	equal("sub/o.h5:/x")
	require.Equal(t, "[('sub/raw.bin', 0, 10000)]", peer(t, `print(h5py.File("sub/o.h5")["x"].external)`))
	raw, err := os.ReadFile("sub/raw.bin")
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 0, 1, 0, 2}, raw[:6])
	out, err := exec.Command(h5dump, "-d", "/x", "-s", "49,98", "-c", "1,2", "sub/o.h5").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "(49,98): 4998, 4999")
	require.Contains(t, done(t, "verify", "sub/o.h5"), "sub/o.h5")

	done(t, "convert", "text.h5:/packed", "sub/o.h5:/grows", "--external", "sub/grows.bin")
	equal("sub/o.h5:/grows")
	require.Equal(t, "(None, 100) 3", peer(t, `d = h5py.File("sub/o.h5")["grows"]; print(d.maxshape, d.attrs["unit"])`))

	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"exists":          {[]string{"x.npy", "n.h5:/x", "--external", "sub/raw.bin"}, "create sub/raw.bin: already exists"},
		"dataset exists":  {[]string{"x.npy", "sub/o.h5:/x", "--external", "n.bin"}, "already exists"},
		"codec":           {[]string{"x.npy", "n.h5:/x", "--external", "n.bin", "--codec", "deflate"}, "no chunks and no compression"},
		"strings":         {[]string{"text.h5:/t", "n.h5:/x", "--external", "n.bin"}, "elements of one size"},
		"no elements":     {[]string{"empty.npy", "n.h5:/x", "--external", "n.bin"}, "elements of one size: got 0x100"},
		"format":          {[]string{"x.npy", "n.b2nd", "--external", "n.bin"}, "n.b2nd is of format b2nd"},
		"tree":            {[]string{"text.h5", "n.h5", "--external", "n.bin"}, "text.h5 is a tree"},
		"target":          {[]string{"x.npy", "n.h5:/x", "--external", "n.h5"}, "want another file than the target"},
		"no directory":    {[]string{"x.npy", "n.h5:/x", "--external", "none/n.bin"}, "none"},
		"stripes, exists": {[]string{"x.npy", "n.h5:/x", "--stripes", "s.h5,sub/raw.bin", "-f"}, "--stripes sub/raw.bin: the file exists"},
		"stripes, twice":  {[]string{"x.npy", "n.h5:/x", "--stripes", "s.h5,s.h5"}, "s.h5 is named twice"},
	} {
		t.Run(name, func(t *testing.T) {
			before := names(t, ".")
			_, stderr, code := run(append([]string{"convert"}, tt.args...)...)
			require.NotZero(t, code)
			require.Contains(t, stderr, tt.want)
			require.Equal(t, before, names(t, "."))
		})
	}
	require.NoError(t, os.WriteFile("sub/raw.bin", []byte("old"), 0o600))
	done(t, "convert", "x.npy", "sub/o.h5:/x", "--external", "sub/raw.bin", "-f")
	equal("sub/o.h5:/x")
	done(t, "convert", "x.npy", "sub/o.h5:/dry", "--external", "dry.bin", "--dry-run")
	require.NoFileExists(t, "dry.bin")

	done(t, "convert", "x.npy", "sub/s.h5:/x", "--stripes", "one.h5,two.h5", "--chunks", "10,100", "--codec", "zstd")
	require.FileExists(t, filepath.Join("sub", "two.h5"))
	require.Equal(t, "True 5", peer(t, `import hdf5plugin; d = h5py.File("sub/s.h5")["x"]; print(np.array_equal(d[:], np.load("x.npy")), len(d.virtual_sources()))`))
}

// TestRun_convertExternalForeign checks that structures keep the byte orders of their fields.
func TestRun_convertExternalForeign(t *testing.T) {
	t.Chdir(t.TempDir())
	peer(t, `np.save("s.npy", np.array([(1, 2.5), (3, 4.5)], dtype=[("a", ">i4"), ("b", "<f8")]))`)
	done(t, "convert", "s.npy", "s.h5:/s", "--external", "s.bin")
	require.Equal(t, "[(1, 2.5), (3, 4.5)] True", peer(t, `d = h5py.File("s.h5")["s"]; print(d[:].tolist(), d.dtype == np.load("s.npy").dtype)`))
}

// names returns the names of the entries of a directory.
func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
