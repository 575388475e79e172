package crosscheck_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/crosscheck"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// archived writes an archive of some areas to a directory and returns it with the archive.
func archived(t *testing.T, areas ...string) (dir string, whole []byte) {
	t.Helper()
	var b bytes.Buffer
	_, err := crosscheck.Archive(t.Context(), &b, &crosscheck.Options{Small: true, Areas: areas})
	require.NoError(t, err)
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	dir = t.TempDir()
	for _, f := range z.File {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, text, 0o644))
	}
	return filepath.Join(dir, "hyperslab-crosscheck-1"), b.Bytes()
}

// TestArchive checks that two archives are identical, that the judges accept a right reader, and
// that they report changed files, a judge of another version, NaN as text, a program that hangs,
// and one that prints without end.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir, first := archived(t, "metalayer", "caterva")
	_, second := archived(t, "metalayer", "caterva")
	require.True(t, bytes.Equal(first, second))
	judges := map[string]string{"python": testenv.Python(t) + " " + filepath.Join(dir, "judge.py")}
	if node, err := exec.LookPath("node"); err == nil {
		judges["javascript"] = node + " " + filepath.Join(dir, "judge.mjs")
	}
	program := filepath.Join(t.TempDir(), "reader.py")
	require.NoError(t, os.WriteFile(program, []byte(`import json, sys
here, mode, path, name = sys.argv[1:]
for c in json.load(open(here + "/archive.json"))["cases"]:
    if here + "/" + c["path"] == path and c.get("object", "") == name:
        if c["must"] == "refuse":
            sys.exit(mode == "accepts" and "numbers" not in c and 0 or 3)
        if "numbers" in c and mode == "numbers":
            print(json.dumps(c["numbers"]))
        elif "base64" in c:
            print(json.dumps({"base64": c["base64"]}))
        else:
            sys.exit(77)
        sys.exit(0)
sys.exit(5)
`), 0o644))
	judge := func(name, command string, areas ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", judges[name]+" \"$0\" "+strings.Join(areas, " "), command)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	reader := testenv.Python(t) + " " + program + " " + dir + " "
	for name := range judges {
		t.Run(name, func(t *testing.T) {
			for _, mode := range []string{"base64", "numbers"} {
				area := map[string]string{"base64": "metalayer", "numbers": "caterva"}[mode]
				out, err := judge(name, reader+mode+" {path} {object}", area)
				require.NoError(t, err, out)
				require.Contains(t, out, area+" ")
				require.Contains(t, out, " pass")
			}
			out, err := judge(name, "echo '[1, NaN]'", "metalayer")
			require.Error(t, err)
			require.Contains(t, out, "wrong")
			require.Contains(t, out, "wrongly accepted: ")
			require.Contains(t, out, "NaN", "the message names the token")
			out, err = judge(name, "echo '[1, 2]'", "metalayer")
			require.Error(t, err)
			require.Contains(t, out, "wrong: metalayer/", out)
			out, err = judge(name, "exit 4", "caterva")
			require.Error(t, err)
			require.Contains(t, out, "refused: caterva/")
			out, err = judge(name, "kill -9 $$", "metalayer")
			require.Error(t, err)
			require.Contains(t, out, "crash: ")
		})
	}
	t.Run("without end", func(t *testing.T) {
		one := filepath.Join(t.TempDir(), "one")
		require.NoError(t, os.MkdirAll(one, 0o755))
		for name := range judges {
			out, err := judge(name, "case {object} in b2nd) case {path} in *rank00*) yes;; *) exit 77;; esac;; *) exit 77;; esac", "metalayer")
			require.Error(t, err)
			require.Contains(t, out, "more than 64 MiB of output", name)
		}
	})
	t.Run("changed", func(t *testing.T) {
		for name := range judges {
			for _, file := range []string{"archive.json", "metalayer/b2nd-rank00.msgpack"} {
				path := filepath.Join(dir, file)
				before, err := os.ReadFile(path)
				if file != "archive.json" && err != nil {
					matches, gerr := filepath.Glob(filepath.Join(dir, "metalayer", "b2nd-rank00*"))
					require.NoError(t, gerr)
					require.NotEmpty(t, matches)
					path = matches[0]
					before, err = os.ReadFile(path)
				}
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, append(bytes.Clone(before), ' '), 0o644))
				out, err := judge(name, "exit 77")
				require.NoError(t, os.WriteFile(path, before, 0o644))
				require.Error(t, err)
				require.Contains(t, out, "has changed")
			}
		}
	})
}

// TestRun_cli checks that Run judges a program that prints JSON or .npy, and what it reports for a
// program that prints NaN as text, hangs, or prints without end.
func TestRun_cli(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "v")
	m := crosscheck.Part(t, dir, func(c crosscheck.Case) bool {
		return strings.HasPrefix(c.ID, "hdf5/type/v114/int") || strings.HasPrefix(c.ID, "hdf5/type/v114/uint") || strings.HasPrefix(c.ID, "hdf5/type/v114/float")
	})
	python := testenv.Python(t, "h5py", "numpy")
	run := func(command string) map[crosscheck.Verdict]int {
		r, err := crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{CLI: command, Timeout: 20 * time.Second})
		require.NoError(t, err)
		counts := make(map[crosscheck.Verdict]int)
		for _, x := range r.Results {
			counts[x.Verdict]++
			if strings.Contains(command, "NaN") {
				require.Contains(t, x.Detail, "JSON, where NaN and Infinity are strings")
			}
		}
		counts["skipped"] = r.Skipped["hdf5"]
		return counts
	}
	program := filepath.Join(t.TempDir(), "p.py")
	require.NoError(t, os.WriteFile(program, []byte(`import sys, json, h5py, numpy
mode, path, name = sys.argv[1:]
try:
    v = h5py.File(path)[name][()]
except Exception:
    sys.exit(77)
if v.dtype.kind not in "iuf" or v.dtype.itemsize > 8:
    sys.exit(77)
if mode == "json":
    print(json.dumps(v.tolist()))
elif mode == "npy":
    numpy.save(sys.stdout.buffer, v.astype(v.dtype.newbyteorder("<")))
elif mode == "wide":
    numpy.save(sys.stdout.buffer, v.astype("f8"))
else:
    numpy.save(sys.stdout.buffer, v[:-1])
`), 0o644))
	for _, mode := range []string{"json", "npy", "wide"} {
		got := run(python + " " + program + " " + mode + " {path} {object}")
		require.Greater(t, got[crosscheck.Pass], 10, "%s: %v", mode, got)
		require.Equal(t, len(m.Cases), got[crosscheck.Pass]+got["skipped"], "%s: %v", mode, got)
	}
	require.Greater(t, run(python + " " + program + " short {path} {object}")[crosscheck.Wrong], 10)
	require.Len(t, m.Cases, run("echo '[1, NaN, 2, 3]' # {path}")[crosscheck.Wrong])
	require.Len(t, m.Cases, run("exit 77 # {path}")["skipped"])
	require.Len(t, m.Cases, run("exit 3 # {path}")[crosscheck.Refused])
	one := crosscheck.RunOptions{CLI: "yes # {path}", Only: m.Cases[0].ID, Timeout: 60 * time.Second}
	r, err := crosscheck.Run(t.Context(), dir, one)
	require.NoError(t, err)
	require.Equal(t, "more than 64 MiB of output", r.Results[0].Detail)
	one.CLI, one.Timeout = "sleep 30 # {path}", 100*time.Millisecond
	r, err = crosscheck.Run(t.Context(), dir, one)
	require.NoError(t, err)
	require.Equal(t, crosscheck.Hang, r.Results[0].Verdict)
	_, err = crosscheck.Run(t.Context(), dir, crosscheck.RunOptions{CLI: "cat"})
	require.ErrorContains(t, err, "must contain {path}")
}

// TestArchive_agrees checks that the judges of the archive and Run give each case the same verdict,
// for readers that print .npy, numbers of another type and JSON, and for a wrong one.
func TestArchive_agrees(t *testing.T) {
	t.Parallel()
	dir, _ := archived(t, "hdf5")
	vectors := filepath.Join(t.TempDir(), "v")
	_, err := crosscheck.Emit(t.Context(), vectors, &crosscheck.Options{Small: true, Areas: []string{"hdf5"}})
	require.NoError(t, err)
	python := testenv.Python(t, "h5py", "numpy")
	judges := []string{testenv.Python(t) + " " + filepath.Join(dir, "judge.py")}
	if node, err := exec.LookPath("node"); err == nil {
		judges = append(judges, node+" "+filepath.Join(dir, "judge.mjs"))
	}
	// One process reads all objects: starting h5py for each case takes minutes.
	outputs := t.TempDir()
	program := filepath.Join(outputs, "all.py")
	require.NoError(t, os.WriteFile(program, []byte(`import hashlib, json, sys, h5py, numpy
here, out = sys.argv[1:]
for c in json.load(open(here + "/archive.json"))["cases"]:
    if c["must"] == "refuse" or "@" in c["object"]:
        continue
    try:
        v = numpy.asarray(h5py.File(here + "/" + c["path"])[c["object"]][()])
    except Exception:
        continue
    if v.dtype.kind == "O":
        continue
    base = out + "/" + hashlib.sha256((c["path"].split("/")[-1] + c["object"]).encode()).hexdigest()
    numpy.save(base + ".right.npy", v)
    if not v.dtype.fields:  # astype loses the bytes between the members
        numpy.save(base + ".native.npy", v.astype(v.dtype.newbyteorder("=")))
    numpy.save(base + ".wrong.npy", numpy.frombuffer(bytes(255 - b for b in v.tobytes()), v.dtype.str if not v.dtype.fields else v.dtype).reshape(v.shape))
    if v.dtype.kind in "iub":
        json.dump({"values": v.tolist()}, open(base + ".json.npy", "w"))
    elif v.dtype.kind == "f":
        json.dump([float(repr(float(str(x)))) if numpy.isfinite(x) else str(x) for x in v.ravel()], open(base + ".json.npy", "w"))
`), 0o644))
	text, err := exec.CommandContext(t.Context(), python, program, dir, outputs).CombinedOutput()
	require.NoError(t, err, string(text))
	modes := []string{"right", "wrong"}
	if testenv.All() {
		modes = append(modes, "native", "json")
	}
	for _, mode := range modes {
		command := `p={path} o={object}; f=` + outputs + `/$(printf %s "${p##*/}$o" | sha256sum | cut -c1-64).` + mode + `.npy; test -e $f || exit 77; cat $f`
		r, err := crosscheck.Run(t.Context(), vectors, crosscheck.RunOptions{CLI: command, Timeout: 20 * time.Second})
		require.NoError(t, err)
		counts, failed := make(map[crosscheck.Verdict]int), []string{}
		for _, x := range r.Results {
			counts[x.Verdict]++
			if x.Verdict != crosscheck.Pass {
				failed = append(failed, string(x.Verdict)+" "+x.Case)
			}
		}
		if mode == "wrong" {
			require.Greater(t, counts[crosscheck.Wrong], 100)
		} else {
			require.Greater(t, counts[crosscheck.Pass], 100, mode)
			require.Empty(t, failed, mode)
		}
		for _, judge := range judges {
			out, _ := exec.CommandContext(t.Context(), "/bin/sh", "-c", judge+" \"$0\" hdf5", command).CombinedOutput()
			got := []string{}
			for line := range strings.Lines(string(out)) {
				if verdict, id, is := strings.Cut(line, ": hdf5/"); is {
					verdict, _, _ = strings.Cut(verdict, ":")
					id, _, _ = strings.Cut(id, "  (")
					got = append(got, verdict+" hdf5/"+id)
				}
			}
			require.ElementsMatch(t, failed, got, "%s: %s\n%s", mode, judge, out)
		}
	}
}
