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
