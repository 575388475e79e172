package verify_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/internal/testutil"
	"github.com/hyperslab/hyperslab/internal/verify"
)

// judge is a program that reads files with h5py and python-blosc2.
var judge, _ = filepath.Abs(filepath.Join("testdata", "judge.py"))

// judged returns the answers of the judge about files.
func judged(t *testing.T, list []string) []string {
	t.Helper()
	cmd := exec.Command(need.Python(t, "h5py", "blosc2"), judge)
	cmd.Stdin = strings.NewReader(strings.Join(list, "\n") + "\n")
	var diagnostics bytes.Buffer
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	require.NoError(t, err, diagnostics.String())
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, answers, len(list), diagnostics.String())
	return answers
}

// writeForms is a Python program that writes files of unusual forms: valid ones, and ones with an
// error that the reader of the values does not notice.
const writeForms = `import os, sys, struct
import blosc2, h5py, numpy as np
os.chdir(sys.argv[1])
blosc2.asarray(np.arange(100, dtype="i4"), urlpath="emptied.b2nd", chunks=(10,), blocks=(5,)).resize((0,))
o = blosc2.ObjectArray(urlpath="popped.b2frame", mode="w"); o.append(1); o.pop()
s = blosc2.SChunk(chunksize=400, data=np.arange(200, dtype="i4"), urlpath="deleted.b2frame", cparams=dict(typesize=4))
s.delete_chunk(0); s.delete_chunk(0)
with h5py.File("source.h5", "w") as f: f["a"] = np.arange(6).reshape(2, 3)
for name, shape, sel in (("more", (3, 3), np.s_[:]), ("fewer", (1, 3), np.s_[:]), ("equal", (2, 3), np.s_[:]), ("beyond", (3, 3), np.s_[0:3, 0:2])):
    with h5py.File("virtual-" + name + ".h5", "w") as f:
        source = h5py.VirtualSource("source.h5", "a", shape)
        if name == "beyond": source = source[sel]
        l = h5py.VirtualLayout(source.shape, dtype="i8"); l[:] = source
        f.create_virtual_dataset("v", l)
with h5py.File("scaled.h5", "w") as f:
    f.create_dataset("x", data=np.arange(64.), chunks=(16,), scaleoffset=2)
b = bytearray(open("scaled.h5", "rb").read())
i = b.find(struct.pack("<5I", 0, 2, 16, 1, 8)); assert i > 0
b[i + 20:i + 24] = struct.pack("<I", 148433160)
open("scaled-sign.h5", "wb").write(b)
with h5py.File("freespace.h5", "w", libver="latest") as f:
    for i in range(200): f.create_group(f"g{i:03}_{'n' * (i % 30)}")
    for i in range(0, 200, 3): del f[f"g{i:03}_{'n' * (i % 30)}"]
b = bytearray(open("freespace.h5", "rb").read())
i = b.find(b"FSHD"); assert i > 0
b[i + 8] ^= 1
open("freespace-sum.h5", "wb").write(b)
with h5py.File("old.h5", "w", libver=("earliest", "v108")) as f:
    f.create_group("g"); f.attrs["a"] = 1
b = bytearray(open("old.h5", "rb").read())
i = b.rfind(b"TREE\0\0\0\0"); assert i > 0
b[i + 5] = 4
open("old-level.h5", "wb").write(b)
b = bytearray(open("old.h5", "rb").read())
root = struct.unpack("<Q", b[64:72])[0]
i = b.find(b"\x11\0\x10\0", root); assert i > 0
b[i] = 0
open("old-root.h5", "wb").write(b)
`

// differs compares a verdict with the answer of the judge. It returns "" if they agree.
func differs(r *verify.Report, err error, answer string) string {
	code := 2
	if err == nil {
		code = r.ExitCode()
	}
	switch {
	case answer != "reads" && code == verify.ExitValid:
		return "valid, but the reference library " + answer
	case answer == "reads" && code == verify.ExitCorrupt:
		return "corrupt, but the reference library reads everything: " + r.Damages[0].String()
	case answer == "reads" && code == 2:
		return "an error, but the reference library reads everything: " + err.Error()
	}
	return ""
}

// TestFile_judge compares verdicts with the reference libraries: a file of which they cannot read
// something is not valid, and a file that they read is not corrupt.
func TestFile_judge(t *testing.T) {
	dir := t.TempDir()
	testutil.Python(t, []string{"h5py", "blosc2"}, "-c", writeForms, dir)
	t.Chdir(dir)
	t.Run("unusual forms", func(t *testing.T) { compareAll(t, files(t, dir, ".h5", ".b2nd", ".b2frame"), nil) })
}

// compareAll compares the verdicts of files. known are the parts of names of files for which a
// difference is right, with the reason.
func compareAll(t *testing.T, list []string, known map[string]string) {
	t.Helper()
	answers := judged(t, list)
	wrong := 0
	for i, file := range list {
		r, err := verify.File(bg, file, &verify.Options{Isolated: true})
		text := differs(r, err, answers[i])
		if _, is := known[filepath.Base(file)]; text != "" && !is {
			wrong++
			t.Errorf("%s: %s", filepath.Base(file), text)
		}
	}
	t.Logf("%d files, %d differences", len(list), wrong)
}

// TestFile_judgeForeign compares the files of other projects.
func TestFile_judgeForeign(t *testing.T) {
	compareAll(t, files(t, filepath.Join(need.Directory(t, need.Corpus), "hdf5-foreign"), ".h5", ".nc", ".fast5"), map[string]string{
		// HDF5 before 2.2 reads the partial chunk, which has fewer bytes than a chunk.
		"ont-rle_example.fast5": "HDF5 2.2 refuses the file",
	})
}

// TestFile_judgeMutations compares mutations of files: flipped bits, cut ends and swapped blocks.
func TestFile_judgeMutations(t *testing.T) {
	dir := t.TempDir()
	testutil.Python(t, []string{"h5py", "blosc2"}, "-c", writeForms, dir)
	sources := files(t, dir, "scaled.h5", "freespace.h5", "old.h5", "source.h5")
	random := rand.New(rand.NewPCG(1, 2))
	n := 40
	if need.All() {
		n = 2000
	}
	mutants := t.TempDir()
	for i := range n {
		from := sources[i%len(sources)]
		b, err := os.ReadFile(from)
		require.NoError(t, err)
		name := fmt.Sprintf("%04d-%s", i, filepath.Base(from))
		require.NoError(t, os.WriteFile(filepath.Join(mutants, name), mutant(random, b), 0o600))
	}
	compareAll(t, files(t, mutants, ".h5"), nil)
}

// mutant changes bytes: it flips a bit, cuts the end, or swaps two blocks.
func mutant(random *rand.Rand, b []byte) []byte {
	const block = 16
	switch random.IntN(4) {
	case 0:
		return b[:random.IntN(len(b))]
	case 1:
		i, k := random.IntN(len(b)-block), random.IntN(len(b)-block)
		first := bytes.Clone(b[i : i+block])
		copy(b[i:i+block], b[k:k+block])
		copy(b[k:k+block], first)
	default:
		b[random.IntN(len(b))] ^= 1 << random.IntN(8)
	}
	return b
}
