package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// interpreter returns the path of the Python interpreter with the libraries to compare with.
func interpreter(t *testing.T) string {
	t.Helper()
	python := os.Getenv("HYPERSLAB_PYTHON")
	if python == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("HYPERSLAB_PYTHON is not set: CI needs the Python peers (make peers)")
		}
		t.Skip("HYPERSLAB_PYTHON is not set: NOT compared with NumPy (make peers)")
	}
	return python
}

// TestConvertNPY converts arrays that NumPy saved, in both element orders, both byte orders and
// various shapes, from files and through a pipe. It checks the values of the results, and converts
// them back.
func TestConvertNPY(t *testing.T) {
	python := interpreter(t)
	dir := t.TempDir()
	t.Chdir(dir)
	out, err := exec.Command(python, "-c", `
import numpy as np
r = np.random.default_rng(1)
shapes = [(), (0,), (1,), (7,), (300000,), (5, 9), (3, 0, 2), (40, 700), (700, 40), (2, 3, 4, 5), (300, 10, 400)]
types = ["<f8", ">i2", "<u4", "?", "<c8", "S5", "<U3", "<M8[us]", [("a", "<i4"), ("b", ">f8", (2,))]]
n = 0
for i, shape in enumerate(shapes):
    for order in "CF":
        t = types[n % len(types)] if i != 4 else "<f8"
        size = int(np.prod(shape))
        raw = r.integers(0, 100, size * np.dtype(t).itemsize, dtype="u1")
        if t == "?": raw %= 2
        if t == "<U3": a = np.array([chr(65 + v % 26) * (v % 4) for v in range(size)], "<U3").reshape(shape)
        else: a = np.frombuffer(raw.tobytes(), t).reshape(shape)
        np.save("%02d.npy" % n, np.asarray(a, order=order))
        n += 1
print(n)
`).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var n int
	_, err = fmt.Sscan(string(out), &n)
	require.NoError(t, err)
	for i := range n {
		name := fmt.Sprintf("%02d", i)
		_, stderr, code := run("convert", name+".npy", name+".b2nd", "-q", "-M", "1MiB")
		require.Zero(t, code, stderr)
		_, stderr, code = run("convert", name+".b2nd", name+".back.npy", "-q")
		require.Zero(t, code, stderr)
		b, err := os.Open(name + ".npy")
		require.NoError(t, err)
		cmd := exec.Command("hyperslab", "convert", "-", name+".pipe.b2nd", "-q", "-M", "200KiB")
		cmd.Stdin = b
		text, err := cmd.CombinedOutput()
		require.NoError(t, b.Close())
		if err != nil {
			require.Contains(t, string(text), "Fortran order, which needs a file", name)
			continue
		}
		_, stderr, code = run("diff", name+".b2nd", name+".pipe.b2nd", "-q")
		require.Zero(t, code, "%s: %s", name, stderr)
	}
	out, err = exec.Command(python, "-c", `
import glob, numpy as np, blosc2
n = 0
for name in sorted(glob.glob("??.npy")):
    a, b = np.load(name), np.load(name[:2] + ".back.npy")
    assert a.shape == b.shape and a.dtype == b.dtype.newbyteorder("=") or a.dtype.newbyteorder("=") == b.dtype, (name, a.dtype, b.dtype)
    assert np.array_equal(a, b), name
    c = blosc2.open(name[:2] + ".b2nd")
    assert c.dtype == a.dtype and np.array_equal(c[...], a), (name, c.dtype, a.dtype)
    n += 1
print(n)
`).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, fmt.Sprintln(n), string(out))
}

// TestConvertFlatErrors checks that invalid .npy and raw files are rejected. The error must contain
// the offset and both sizes.
func TestConvertFlatErrors(t *testing.T) {
	t.Chdir(field(t))
	_, stderr, code := run("convert", "waves.b2nd", "w.npy", "-q", "--exclude-unsupported")
	require.Zero(t, code, stderr)
	whole, err := os.ReadFile("w.npy")
	require.NoError(t, err)
	header := func(dict string) []byte {
		dict += strings.Repeat(" ", 117-len(dict)) + "\n"
		return append([]byte("\x93NUMPY\x01\x00\x76\x00"), dict...)
	}
	for name, b := range map[string][]byte{
		"cut.npy": whole[:1000], "head.npy": whole[:40], "version.npy": append([]byte("\x93NUMPY\x09\x00"), whole[8:]...),
		"object.npy": header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
		"nodict.npy": header("[1, 2]"), "shape.npy": header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"),
		"huge.npy":  header("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }"),
		"order.npy": header("{'descr': '<f4', 'fortran_order': 1, 'shape': (1,), }"),
		"long.npy":  append([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), whole...),
		"four.raw":  make([]byte, 16),
	} {
		require.NoError(t, os.WriteFile(name, b, 0o644))
	}
	for _, c := range []struct{ args, want string }{
		{"cut.npy", "872 bytes of elements, want [20 30] of <f4"},
		{"head.npy", "head.npy: corrupt: .npy header: cut short"},
		{"version.npy", "version 9.0, versions 1 to 3 are known"},
		{"object.npy", ".npy of Python objects, which are pickled"},
		{"nodict.npy", "is not a dict of descr, fortran_order and shape"},
		{"shape.npy", `shape "(-1,)"`},
		{"huge.npy", "huge.npy: "},
		{"order.npy", `fortran_order "1"`},
		{"long.npy", "4294967295 bytes, at most 1048576 are read"},
		{"four.raw --shape 5 --dtype <f4", "got 16 bytes after --offset 0, want 20 for 5 elements of <f4"},
		{"four.raw --shape 3 --dtype <f4", "four.raw has 16 bytes after --offset 0, 3 of <f4 are 12"},
		{"four.raw --shape -1,3 --dtype <f4", "16 bytes after --offset 0 are not a multiple of 12 bytes"},
		{"four.raw --shape 4", "raw bytes also need --dtype"},
		{"four.raw --shape 4,x --dtype <f4", "is not a shape"},
		{"four.raw --shape -1,-1 --dtype <f4", "is not a shape"},
		{"four.raw --shape 4 --dtype object", "--dtype object"},
		{"four.raw --shape 4 --dtype <f4 --offset -1", "--offset -1: want 0 or more bytes"},
		{"- --shape -1 --dtype <f4", "the size of a pipe is unknown"},
		{"- --shape 4 --dtype <f4", "standard input ends after 0 bytes of elements, 4 of <f4 are 16"},
		{"-", "standard input is empty"},
	} {
		args := append([]string{"convert", "out.b2nd"}, strings.Fields(c.args)...)
		args[1], args[2] = args[2], args[1]
		_, stderr, code := run(args...)
		require.Equal(t, 2, code, c.args)
		require.Contains(t, stderr, c.want, c.args)
		require.NoFileExists(t, "out.b2nd", c.args)
	}
	left, err := filepath.Glob(".*tmp-*")
	require.NoError(t, err)
	require.Empty(t, left)
}
