package cli_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// h5py runs a program of h5py. f is the file at path.
func h5py(t *testing.T, path, mode, program string) {
	t.Helper()
	code := "import sys, numpy as np, h5py\nwith h5py.File(sys.argv[1], sys.argv[2]) as f:\n" + program
	out, err := exec.Command(testenv.Python(t, "h5py"), "-c", code, path, mode).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestCp_set checks that references, dimension scales, hard links and committed datatypes between
// the sources of one run are kept.
func TestCp_set(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.h5"), filepath.Join(dir, "out.h5")
	h5py(t, in, "w", `
    f["lat"] = np.arange(4.0); f["lat"].make_scale("lat")
    f["t"] = np.zeros((4, 5)); f["t"].dims[0].attach_scale(f["lat"])
    f["type"] = np.dtype("i4")
    f.create_dataset("typed", data=np.arange(3), dtype=f["type"])
    f["g/inner"] = f["t"]
    f["g/refs"] = np.array([f["t"].ref, f["lat"].ref], dtype=h5py.ref_dtype)
    f["again"] = f["lat"]
    f["g"].attrs["first"] = f["t"].ref
    f["left"] = np.arange(2)
    f["g/outside"] = np.array([f["left"].ref], dtype=h5py.ref_dtype)
`)
	names := []string{"g", "lat", "t", "typed", "type", "again"}
	check := `
    assert [f[r] for r in f["REFSg/refs"][:]] == [f["REFSt"], f["REFSlat"]]
    assert f["REFSt"] == f["REFSg/inner"] and f["REFSlat"] == f["REFSagain"]
    assert f[f["REFSg"].attrs["first"]] == f["REFSt"]
    assert [s == f["REFSlat"] for s in f["REFSt"].dims[0].values()] == [True]
    assert f["REFSlat"].is_scale
    assert h5py.h5d.open(f.id, b"REFStyped").get_type().committed()
    assert not [n for n in f if n.startswith(".")]
`
	replaced := func(prefix string) string { return strings.ReplaceAll(check, "REFS", prefix) }
	for _, order := range [][]int{{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}} {
		args := []string{"cp", "-f"}
		for _, i := range order {
			args = append(args, in+":/"+names[i])
		}
		_, stderr, code := run(append(args, out+":/")...)
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "/g/outside: values: not found: /left, which is not copied")
		h5py(t, out, "r", replaced("/"))
		_, stderr, code = run(append(append(args, "--references"), out+":/deep/")...)
		require.Zero(t, code, stderr)
		h5py(t, out, "r", replaced("/deep/")+`
    assert f[f["/deep/g/outside"][0]][:].tolist() == [0, 1]
`)
		_, stderr, code = run(append(args, in+":/copy/")...) // within the file
		require.Zero(t, code, stderr)
		h5py(t, in, "r", replaced("/copy/"))
	}
}

// TestCp_itself checks that a copy onto its source, a group above it or a link to it is refused
// before any change.
func TestCp_itself(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.h5")
	h5py(t, file, "w", `
    f["g/x"] = np.arange(3); f["g/y"] = np.arange(4); f["d"] = np.arange(5)
    f["soft"] = h5py.SoftLink("/g/x"); f["g/rel"] = h5py.SoftLink("x"); f["group"] = h5py.SoftLink("g")
    f["other"] = f["g/x"]; f["h"] = f["g"]
`)
	for _, pair := range [][2]string{
		{"/g/x", "/g/x"}, {"/g/x", "/g"}, {"/d", "/"}, {"/soft", "/g/x"}, {"/soft", "/soft"}, {"/soft", "/g"},
		{"/g/rel", "/g/x"}, {"/group/x", "/group"}, {"/group/x", "/g/x"}, {"/h/x", "/g/x"}, {"/g", "/g"}, {"/g", "/g/new"}, {"/group/rel", "/h/x"},
	} {
		for _, flags := range [][]string{{"--in-place"}, {}, {"--dry-run"}} {
			_, stderr, code := run(append(append([]string{"cp", "-f"}, flags...), file+":"+pair[0], file+":"+pair[1])...)
			if pair[1] == "/g/new" && len(flags) > 0 && flags[0] == "--dry-run" {
				continue
			}
			require.NotZero(t, code, "%v: %s", pair, stderr)
			h5py(t, file, "r", `
    assert sorted(f) == ["d", "g", "group", "h", "other", "soft"] and sorted(f["g"]) == ["rel", "x", "y"]
`)
		}
	}
	_, stderr, code := run("cp", "-f", "--in-place", file+":/g/x", file+":/other") // the object stays under the other name
	require.Zero(t, code, stderr)
	_, stderr, code = run("cp", "-f", "--in-place", file+":/d", file+":/soft") // replaces the link
	require.Zero(t, code, stderr)
	h5py(t, file, "r", `
    assert f["other"] != f["g/x"] and f["other"][:].tolist() == [0, 1, 2] and f["soft"].shape == (5,) and f["g/x"].shape == (3,)
`)
	// One of several targets is another source.
	_, _, code = run("cp", "-f", "--in-place", file+":/g/y", file+":/h", file+":/g/")
	require.NotZero(t, code)
	_, _, code = run("cp", "-f", "--in-place", file+":/none", file+":/d", file+":/g/")
	require.NotZero(t, code)
	h5py(t, file, "r", `
    assert sorted(f["g"]) == ["rel", "x", "y"]
`)
}

// TestCp_sizes checks copies between files with other sizes of addresses and lengths.
func TestCp_sizes(t *testing.T) {
	dir := t.TempDir()
	plain, odd := filepath.Join(dir, "plain.h5"), filepath.Join(dir, "odd.h5")
	fill := `
    f["k"] = np.arange(5); f["k"].attrs["s"] = ["a", "bc"]
    f.create_dataset("c", data=np.arange(60).reshape(6, 10), chunks=(2, 3), compression="gzip")
    f["text"] = np.array(["one", "three"], dtype=h5py.string_dtype())
    f["type"] = np.dtype([("a", "i4"), ("s", h5py.string_dtype())])
    f.create_dataset("g/typed", shape=(2,), dtype=f["type"]); f["g/typed"][0] = (7, "seven")
    f["g/refs"] = np.array([f["k"].ref], dtype=h5py.ref_dtype)
`
	check := `
    assert f["k"][:].tolist() == list(range(5)) and f["k"].attrs["s"].tolist() == ["a", "bc"]
    assert f["c"][5, 9] == 59, f["c"][:]
    assert f["c"].compression == "gzip"
    assert f["text"].asstr()[:].tolist() == ["one", "three"]
    assert f["g/typed"][0][1] == b"seven" and f["g/typed"].id.get_type().committed()
    assert f[f["g/refs"][0]] == f["k"]
`
	h5py(t, plain, "w", fill)
	for _, sizes := range []string{"4, 4", "4, 8", "8, 4"} {
		create := `
    pass
p = h5py.h5p.create(h5py.h5p.FILE_CREATE); p.set_sizes(` + sizes + `)
with h5py.File(h5py.h5f.create(sys.argv[1].encode(), h5py.h5f.ACC_TRUNC, p)) as f:
`
		h5py(t, odd, "w", create+fill)
		all := func(from, to string) {
			args := []string{"cp", "-f"}
			for _, name := range []string{"k", "c", "text", "type", "g"} {
				args = append(args, from+":/"+name)
			}
			_, stderr, code := run(append(args, to+":/")...)
			require.Zero(t, code, stderr)
			h5py(t, to, "r", check)
			stdout, stderr, code := run("verify", to)
			require.Zero(t, code, stdout+stderr)
		}
		all(odd, filepath.Join(dir, "new"+sizes[:1]+sizes[3:]+".h5"))
		all(odd, plain)
		all(plain, odd)
		for i, args := range [][]string{{"repack", "--cloud", "-q"}, {"repack", "-q"}, {"convert", "-q"}} {
			to := filepath.Join(dir, "made"+sizes[:1]+sizes[3:]+string(rune('0'+i))+".h5")
			_, stderr, code := run(append(args, odd, to)...)
			require.Zero(t, code, stderr)
			h5py(t, to, "r", check)
		}
	}
}
