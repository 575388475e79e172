// Tests of plans of repairs.

package recovery_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// structures writes a file with every structure that has a checksum.
const structures = `
import sys, numpy, h5py
old = sys.argv[2] == "oldest"
with h5py.File(sys.argv[1], "w", libver=("earliest", "latest") if old else ("v110", "latest")) as f:
    x = numpy.arange(4000, dtype="<f8").reshape(40, 100)
    f.create_dataset("fixed", data=x, chunks=(10, 10), compression="gzip")
    f.create_dataset("paged", data=x, chunks=(1, 2))
    f.create_dataset("extensible", data=x, chunks=(1, 100), maxshape=(None, 100), fletcher32=True)
    f.create_dataset("tree", data=x, chunks=(2, 3), maxshape=(None, None), shuffle=True)
    g = f.create_group("many", track_order=not old)
    for i in range(60):
        g.create_group(f"group with a long name {i}").attrs["i"] = i
    for i in range(20):
        f["fixed"].attrs[f"attribute {i}"] = f"value {i} " * 20
`

func structured(t *testing.T, version string) (python, path string) {
	t.Helper()
	python = testenv.Python(t, "h5py", "numpy")
	path = filepath.Join(t.TempDir(), "a.h5")
	out, err := exec.Command(python, "-c", structures, path, version).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return python, path
}

// checksums returns the fields with checksums of a file, by the name of their structure.
func checksums(b []byte) map[string][]format.Field {
	all := map[string][]format.Field{}
	_ = h5file.Structures(bytes.NewReader(b), int64(len(b)), func(f format.Field) {
		for _, x := range f.Fields {
			if x.Name == "checksum" && x.Length == 4 {
				all[f.Name] = append(all[f.Name], x)
			}
		}
	})
	return all
}

// repaired plans and applies a repair of the bytes b, checks that the reversed plan restores them,
// and returns the result.
func repaired(t *testing.T, b []byte) ([]byte, *recovery.Plan) {
	t.Helper()
	src := filepath.Join(t.TempDir(), "damaged.h5")
	require.NoError(t, os.WriteFile(src, b, 0o600))
	p, err := recovery.PlanRepair(bg, src, nil)
	require.NoError(t, err)
	dst, back := src+".repaired", src+".reversed"
	require.NoError(t, p.Apply(bg, dst, src, false, nil))
	require.NoError(t, p.Reverse().Apply(bg, back, dst, false, nil))
	require.Equal(t, b, read(t, back))
	require.Equal(t, b, read(t, src))
	return read(t, dst), p
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// TestPlanRepair_checksums changes the checksum of each kind of structure, and one byte of the
// structure. The repaired file must equal the undamaged one.
func TestPlanRepair_checksums(t *testing.T) {
	_, path := structured(t, "newest")
	whole := read(t, path)
	all := checksums(whole)
	for _, name := range []string{
		"superblock", "object header", "fractal heap header", "fractal heap direct block", "fractal heap indirect block", "v2 B-tree header", "v2 B-tree leaf node",
		"v2 B-tree internal node", "fixed array header", "fixed array data block", "fixed array data block page", "extensible array header",
		"extensible array index block", "extensible array data block",
	} {
		require.Contains(t, all, name)
	}
	for name, list := range all {
		at := list[len(list)/2].Offset
		for kind, tt := range map[string]struct {
			change    func(b []byte)
			certainty recovery.Certainty
		}{
			"one byte of the checksum": {func(b []byte) { b[at+2] ^= 0x5A }, recovery.Certain},
			"the whole checksum":       {func(b []byte) { copy(b[at:], "\x01\x02\x03\x04") }, recovery.Guessed},
			"one bit of the structure": {func(b []byte) { b[at+before(name)] ^= 0x10 }, recovery.Certain},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				b := bytes.Clone(whole)
				tt.change(b)
				got, p := repaired(t, b)
				require.True(t, bytes.Equal(whole, got), "%v", p.Changes)
				require.Len(t, p.Changes, 1)
				require.Equal(t, tt.certainty, p.Changes[0].Certainty)
			})
		}
	}
}

// before returns the distance from the checksum of a structure to a byte that it covers.
func before(name string) int64 {
	if name == "fractal heap direct block" {
		return 8 // the checksum precedes the objects
	}
	return -3
}

// TestPlanRepair_superblock changes fields of the superblock.
func TestPlanRepair_superblock(t *testing.T) {
	for _, version := range []string{"oldest", "newest"} {
		_, path := structured(t, version)
		whole := read(t, path)
		f, err := h5file.Open(bytes.NewReader(whole), int64(len(whole)), nil)
		require.NoError(t, err)
		end := f.Superblock().EndAt
		for name, change := range map[string]func(b []byte){
			"end after the file":         func(b []byte) { b[end+2]++ },
			"end before the structures":  func(b []byte) { binary.LittleEndian.PutUint64(b[end:], 600) },
			"undefined end":              func(b []byte) { copy(b[end:], bytes.Repeat([]byte{0xFF}, 8)) },
			"flags of a writer":          func(b []byte) { b[11] |= 5 },
			"flags and end of the file":  func(b []byte) { b[11] |= 1; b[end+2]++ },
			"no change":                  func([]byte) {},
			"end and checksum not equal": func(b []byte) { b[end+1] ^= 0x21; b[44] ^= 0x11 },
		} {
			if version == "oldest" && slices.Contains([]string{"flags of a writer", "flags and end of the file", "end and checksum not equal"}, name) {
				continue // superblock 0 has no such flags and no checksum
			}
			t.Run(version+"/"+name, func(t *testing.T) {
				b := bytes.Clone(whole)
				if change(b); version == "newest" && name != "end and checksum not equal" {
					relabel(b)
				}
				got, p := repaired(t, b)
				require.True(t, bytes.Equal(whole, got), "%v", p.Changes)
			})
		}
	}
}

// TestPlanRepair_fields changes fields that repeat the size of an element. The repaired file must
// have the values that HDF5 1.14 reads from the damaged one, where it reads it.
func TestPlanRepair_fields(t *testing.T) {
	older := testenv.OldPython(t, "h5py")
	for _, version := range []string{"oldest", "newest"} {
		python, path := structured(t, version)
		whole := read(t, path)
		want := pythonSums(t, python, path)
		for _, name := range []string{"fixed", "paged", "extensible", "tree"} {
			o := hdf5test.Object(t, path, "/"+name)
			at := o.Layout().ElementAt - o.Message(h5file.LayoutType).Offset
			hdf5test.Edit(t, path, "/"+name, h5file.LayoutType, func(b []byte) { b[at] = 4 })
		}
		got, p := repaired(t, read(t, path))
		require.Equal(t, want, pythonSums(t, older, path))
		require.True(t, bytes.Equal(whole, got), "%v", p.Changes)
		require.Equal(t, recovery.ExitWhole, p.ExitCode())
		require.Equal(t, "/fixed", p.Changes[slices.IndexFunc(p.Changes, func(c recovery.Change) bool { return c.Structure == "data layout message" })].Object)
		require.NoError(t, os.WriteFile(path, got, 0o600))
		require.Equal(t, want, pythonSums(t, python, path))
	}
}

// pythonSums returns the sums of the datasets of structures.
func pythonSums(t *testing.T, python, path string) string {
	t.Helper()
	out, err := exec.Command(python, "-c", `
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    print([(n, float((f[n][()] * f["paged"][()][::-1]).sum()), len(f[n].attrs)) for n in ("fixed", "paged", "extensible", "tree")], len(f["many"]))
`, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// TestPlan_Apply_refused applies plans to files that they do not belong to.
func TestPlan_Apply_refused(t *testing.T) {
	_, path := structured(t, "newest")
	b := read(t, path)
	b[11] = 1
	relabel(b)
	require.NoError(t, os.WriteFile(path, b, 0o600))
	p, err := recovery.PlanRepair(bg, path, nil)
	require.NoError(t, err)
	dst := filepath.Join(t.TempDir(), "new.h5")
	for name, tt := range map[string]struct {
		change func(b []byte) []byte
		plan   func(p *recovery.Plan)
		want   string
	}{
		"other size":          {func(b []byte) []byte { return append(b, 0) }, nil, "size of the file"},
		"other byte":          {func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, nil, "SHA-256"},
		"already repaired":    {func(b []byte) []byte { b[11] = 0; return b }, nil, "bytes at offset 11"},
		"offset after end":    {nil, func(p *recovery.Plan) { p.Changes[0].Offset = p.Size }, "offset of change 0"},
		"lengths not equal":   {nil, func(p *recovery.Plan) { p.Changes[0].New = nil }, "change 0"},
		"overlapping changes": {nil, func(p *recovery.Plan) { p.Changes[1].Offset = p.Changes[0].Offset }, "offset of change 1"},
		"digest":              {nil, func(p *recovery.Plan) { p.Digest = "00" }, "digest"},
		"other result":        {nil, func(p *recovery.Plan) { p.Result = p.Digest }, "SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			src, q := path, *p
			q.Changes = slices.Clone(p.Changes)
			if tt.change != nil {
				src = filepath.Join(t.TempDir(), "other.h5")
				require.NoError(t, os.WriteFile(src, tt.change(bytes.Clone(b)), 0o600))
			} else {
				tt.plan(&q)
			}
			err := q.Apply(bg, dst, src, true, nil)
			require.ErrorIs(t, err, ndarray.ErrParam)
			require.ErrorContains(t, err, tt.want)
			require.NoFileExists(t, dst)
		})
	}
	require.ErrorIs(t, p.Apply(bg, path, path, true, nil), ndarray.ErrParam)
	require.NoError(t, os.WriteFile(dst, nil, 0o600))
	require.ErrorIs(t, p.Apply(bg, dst, path, false, nil), ndarray.ErrExists)
	require.NoError(t, p.Apply(bg, dst, path, true, nil))
}

// TestPlanRepair_impossible plans for files that no change of single fields repairs.
func TestPlanRepair_impossible(t *testing.T) {
	_, path := structured(t, "newest")
	change(t, path, func(b []byte) []byte { return b[:len(b)*2/3] })
	_, err := recovery.PlanRepair(bg, path, nil)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
	_, err = recovery.PlanRepair(bg, filepath.Join(t.TempDir(), "missing.h5"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	_, err = recovery.PlanRepair(bg, save(t, "a.b2nd", nil), nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
