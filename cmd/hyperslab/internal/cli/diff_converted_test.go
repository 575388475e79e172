// Tests of diff with attributes that cannot be read, and of conversions.

package cli_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// convertedProgram writes a file whose conversions have other types of strings and references as
// paths, copies of it with one other value, attribute and reference, and a file with references to
// a deleted dataset.
const convertedProgram = `import os, sys
import h5py, numpy as np
os.chdir(sys.argv[1])
def write(name, value=3, unit="m", target="s"):
    with h5py.File(name, "w") as f:
        f["s"] = np.array([b"ab", b"cde"], "S5")
        f["v"] = np.array(["ä", "bc"], dtype=object)
        f["i"] = np.array([1, 2, value])
        f["i"].attrs["unit"], f["i"].attrs["list"] = unit, np.arange(3.)
        f["i"].attrs["texts"] = np.array(["a", "bb"], dtype=object)
        f["i"].attrs["ref"] = f[target].ref
        f["e"] = np.array([0, 1], dtype=h5py.enum_dtype({"A": 0, "B": 1}, basetype="i1"))
        f["l"] = h5py.SoftLink("/i")
        f.create_group("g").attrs["ref"] = f[target].ref
write("a.h5")
write("value.h5", value=4)
write("unit.h5", unit="cm")
write("target.h5", target="v")
for name in "d.h5", "d2.h5":
    with h5py.File(name, "w") as f:
        f["x"], f["z"], f["y"] = np.arange(5), np.arange(2), np.arange(3.) + (name == "d2.h5")
        f.attrs["g"] = f["x"].attrs["r"] = f["z"].ref
        f["y"].attrs["rr"] = f["z"].regionref[0:1]
        del f["z"]`

func TestDiff_converted(t *testing.T) {
	python, dir := testenv.Python(t, "h5py"), t.TempDir()
	out, err := exec.Command(python, "-c", convertedProgram, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	at := func(name string) string { return filepath.Join(dir, name) }
	diff := func(args ...string) (string, int) {
		stdout, _, code := run(append([]string{"diff"}, args...)...)
		return stdout, code
	}
	for _, format := range []string{".b2d", ".b2z", ""} {
		t.Run("tree"+format, func(t *testing.T) {
			copied := at("copy" + format)
			done(t, "convert", at("a.h5"), copied, "--exclude-unsupported")
			stdout, code := diff(at("a.h5"), copied, "--converted")
			require.Equal(t, 0, code, stdout)
			_, code = diff(at("a.h5"), copied)
			require.Equal(t, 1, code)
			for name, want := range map[string]string{"value.h5": "1 of 3", "unit.h5": "unit", "target.h5": "ref"} {
				stdout, code = diff(at(name), copied, "--converted")
				require.Equal(t, 1, code, name)
				require.Contains(t, stdout, want)
				require.Contains(t, stdout, "/i")
			}
		})
	}
	for _, name := range []string{"s", "v", "i", "e"} {
		for _, format := range []string{"b2nd", "bcolz", "npy"} {
			t.Run(name+" "+format, func(t *testing.T) {
				copied := at(name + "." + format)
				done(t, "convert", at("a.h5:/"+name), copied, "--exclude-unsupported")
				stdout, code := diff(at("a.h5:/"+name), copied, "--converted")
				require.Equal(t, 0, code, stdout)
			})
		}
	}
}

// variantsProgram writes a file with arrays of several lengths and attributes of groups, and copies
// of it in which the type or the shape of one attribute, array or string differs.
const variantsProgram = `import os, sys
import h5py, numpy as np
os.chdir(sys.argv[1])
def write(name, change=None):
    with h5py.File(name, "w") as f:
        f.attrs["n"], f.attrs["list"], f.attrs["none"] = np.int32(5), np.arange(4.), h5py.Empty("f4")
        f.attrs["text"], f.attrs["pair"] = "m", np.array((1, 2.5), dtype=[("a", "i4"), ("b", "f8")])
        f["a"], f["b"] = np.arange(6, dtype="i4"), np.arange(6, dtype=">f8")
        f["bytes"] = np.array([b"ab"] * 6, "S4")
        f["short"], f["scalar"], f["table"] = np.arange(3), 1.5, np.zeros(6, dtype=[("x", "i2"), ("y", "f4")])
        f.create_group("g").attrs["k"] = 1
        f["g/d"] = np.arange(6)
        if change: change(f)
def attr(name, value): return lambda f: f.attrs.create(name, value)
def array(name, value):
    def change(f):
        del f[name]
        f[name] = value
    return change
write("a.h5")
for name, change in {
    "attribute type": attr("n", np.int64(5)), "attribute kind": attr("n", 5.0), "attribute shape": attr("n", np.array([5], "i4")),
    "attribute precision": attr("list", np.arange(4, dtype="f4")), "attribute rank": attr("list", np.arange(4.).reshape(2, 2)),
    "attribute null": attr("none", h5py.Empty("f8")), "attribute text": attr("text", np.array(["m"], dtype=h5py.string_dtype())),
    "attribute member": attr("pair", np.array((1, 2.5), dtype=[("a", "i8"), ("b", "f8")])),
    "array type": array("a", np.arange(6, dtype="i8")), "array order": array("a", np.arange(6, dtype=">i4")),
    "string size": array("bytes", np.array([b"ab"] * 6, "S5")), "array shape": array("a", np.arange(6, dtype="i4").reshape(6, 1)),
}.items(): write("variant " + name + ".h5", change)`

// TestDiff_convertedVariants finds no difference in conversions to formats that lack groups, their
// attributes, or columns of several lengths, and each change of a type or of a shape.
func TestDiff_convertedVariants(t *testing.T) {
	python, dir := testenv.Python(t, "h5py"), t.TempDir()
	out, err := exec.Command(python, "-c", variantsProgram, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	variants, err := filepath.Glob(filepath.Join(dir, "variant *.h5"))
	require.NoError(t, err)
	require.Len(t, variants, 12)
	source := filepath.Join(dir, "a.h5")
	for _, format := range []string{".bcolz", ".b2d", ".b2z", ".b2e", ".h5", ""} {
		t.Run("tree"+format, func(t *testing.T) {
			copied := filepath.Join(dir, "copy"+format)
			done(t, "convert", source, copied, "--exclude-unsupported")
			stdout, _, code := run("diff", source, copied, "--converted")
			require.Equal(t, 0, code, stdout)
			for _, variant := range variants {
				name := strings.TrimPrefix(filepath.Base(variant), "variant ")
				ofRoot := strings.HasPrefix(name, "attribute") && format == ".b2e" // groups have none
				// The columns of a CTable are b2nd arrays in the byte order of the machine.
				ofOrder := name == "array order.h5" && format != ".h5" && format != ".bcolz"
				_, _, code := run("diff", variant, copied, "--converted", "-q")
				want := 1
				if ofRoot || ofOrder {
					want = 0
				}
				require.Equal(t, want, code, name)
			}
		})
	}
	t.Run("table", func(t *testing.T) {
		copied := filepath.Join(dir, "table.b2z")
		done(t, "convert", source, copied, "--format", "ctable", "--exclude-unsupported")
		stdout, _, code := run("diff", source, copied, "--converted")
		require.Equal(t, 0, code, stdout)
	})
}

func TestDiff_danglingReferences(t *testing.T) {
	python, dir := testenv.Python(t, "h5py"), t.TempDir()
	out, err := exec.Command(python, "-c", convertedProgram, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	a, b := filepath.Join(dir, "d.h5"), filepath.Join(dir, "d2.h5")
	stdout, stderr, code := run("diff", a, a)
	require.Equal(t, 3, code, stderr)
	require.Contains(t, stdout, "attribute?")
	stdout, _, code = run("diff", a, b)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "3 of 3")
	_, _, code = run("diff", a+":/x", a+":/x")
	require.Equal(t, 3, code)
}

// linksProgram writes a file with external links with relative names, and their targets.
const linksProgram = `import os, sys
import h5py
os.chdir(sys.argv[1])
os.makedirs("in")
for name in "other.h5", "in/o.h5":
    with h5py.File(name, "w") as f: f["q"] = 1
with h5py.File("src.h5", "w") as f:
    f["e"], f["i"] = h5py.ExternalLink("other.h5", "/q"), h5py.ExternalLink("./in/o.h5", "/q")`

func TestDiff_rewrittenLinks(t *testing.T) {
	python, dir := testenv.Python(t, "h5py"), t.TempDir()
	out, err := exec.Command(python, "-c", linksProgram, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	src, dst := filepath.Join(dir, "src.h5"), filepath.Join(dir, "in", "dst.h5")
	done(t, "repack", src, dst)
	require.True(t, strings.Contains(done(t, "ls", dst), "../other.h5"))
	done(t, "diff", src, dst)
}

// brokenProgram writes two files with several attributes, and strings whose heap is corrupt.
const brokenProgram = `import os, sys
import h5py, numpy as np
os.chdir(sys.argv[1])
for name in "a.h5", "b.h5":
    with h5py.File(name, "w") as f:
        f["x"], f["y"] = np.arange(5), np.arange(3) + (name == "b.h5")
        f["x"].attrs["bad"], f["x"].attrs["n"] = "some text", 1
        f.attrs["bad"] = "other text"
    b = open(name, "rb").read()
    open(name, "wb").write(b.replace(b"GCOL", b"GXXX"))`

func TestDiff_brokenAttribute(t *testing.T) {
	python, dir := testenv.Python(t, "h5py"), t.TempDir()
	out, err := exec.Command(python, "-c", brokenProgram, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	a, b := filepath.Join(dir, "a.h5"), filepath.Join(dir, "b.h5")
	for _, address := range []string{a, a + ":/x"} {
		stdout, stderr, code := run("diff", address, address)
		require.Equal(t, 3, code, "%s%s", stdout, stderr)
	}
	stdout, _, code := run("diff", a, b)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "3 of 3")
}
