package verify_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/internal/verify"
)

// writeOthers is a Python program. It writes v.h5 with a virtual dataset of a.h5 and of itself,
// a.h5 with a virtual dataset of v.h5, and e.h5 with elements in external files.
const writeOthers = `import os, sys
import h5py, numpy as np
os.chdir(sys.argv[1])
with h5py.File("a.h5", "w", libver="v110") as f:
    f.create_dataset("g/x", data=np.arange(1000), chunks=(100,), fletcher32=True)
    l = h5py.VirtualLayout((10,), "i8")
    l[:] = h5py.VirtualSource("v.h5", "own", (10,))
    f.create_virtual_dataset("back", l)
with h5py.File("v.h5", "w", libver="v110") as f:
    f["own"] = np.arange(10)
    l = h5py.VirtualLayout((2, 1000), "i8")
    l[0] = h5py.VirtualSource("a.h5", "g/x", (1000,))
    l[1, :10] = h5py.VirtualSource(".", "own", (10,))
    f.create_virtual_dataset("v", l)
np.arange(5).tofile("p.raw")
np.arange(5).tofile("q.raw")
with h5py.File("e.h5", "w") as f:
    f.create_dataset("e", (10,), "i8", external=[("p.raw", 0, 40), ("q.raw", 0, h5py.h5f.UNLIMITED)])`

func TestFile_others(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	testutil.Python(t, []string{"h5py"}, "-c", writeOthers, dir)
	t.Chdir(dir)
	check := func(name string, o verify.Options) *verify.Report {
		t.Helper()
		r, err := verify.File(bg, name, &o)
		require.NoError(t, err)
		return r
	}
	for _, o := range []verify.Options{{}, {Isolated: true}} {
		r := check("v.h5", o)
		require.Equal(t, verify.ExitValid, r.ExitCode(), "%v %v", r.Damages, r.Unchecked)
		require.EqualValues(t, 11, r.Chunks, "10 of a.h5, and own")
		require.EqualValues(t, 10, r.Checksums)
		require.EqualValues(t, 4, r.Arrays)
		r = check("e.h5", o)
		require.Equal(t, verify.ExitValid, r.ExitCode(), "%v %v", r.Damages, r.Unchecked)
		require.EqualValues(t, 2, r.Chunks)
		require.EqualValues(t, 80, r.DecodedBytes)
	}
	for _, name := range []string{"v.h5", "e.h5"} {
		require.Equal(t, verify.ExitPartly, check(name, verify.Options{Untrusted: true}).ExitCode(), "not opened")
	}
	t.Run("missing external file", func(t *testing.T) {
		require.NoError(t, os.Remove(at("q.raw")))
		r := check("e.h5", verify.Options{})
		require.Equal(t, verify.ExitCorrupt, r.ExitCode())
		require.Contains(t, r.Damages[0].String(), "/e: external file in q.raw: ")
	})
	t.Run("corrupt source", func(t *testing.T) {
		b, err := os.ReadFile(at("a.h5"))
		require.NoError(t, err)
		r := check("a.h5", verify.Options{})
		require.Equal(t, verify.ExitValid, r.ExitCode(), "%v %v", r.Damages, r.Unchecked)
		for i := range b {
			if string(b[i:min(i+8, len(b))]) == "\x07\x00\x00\x00\x00\x00\x00\x00" {
				b[i]++
				break
			}
		}
		require.NoError(t, os.WriteFile(at("a.h5"), b, 0o600))
		r = check("v.h5", verify.Options{})
		require.Equal(t, verify.ExitCorrupt, r.ExitCode())
		require.Equal(t, "a.h5", r.Damages[0].File)
		require.Contains(t, r.Damages[0].String(), "/g/x: chunk 0 at [0] in a.h5")
	})
	t.Run("source without the dataset", func(t *testing.T) {
		testutil.Python(t, []string{"h5py"}, "-c", `import h5py, sys
with h5py.File(sys.argv[1], "w") as f: f["g/other"] = 1`, at("a.h5"))
		r := check("v.h5", verify.Options{})
		require.Equal(t, verify.ExitCorrupt, r.ExitCode())
		require.Contains(t, r.Damages[0].String(), `no dataset "g/x"`)
	})
	t.Run("missing source", func(t *testing.T) {
		require.NoError(t, os.Remove(at("a.h5")))
		r := check("v.h5", verify.Options{Isolated: true})
		require.Equal(t, verify.ExitCorrupt, r.ExitCode())
		require.Contains(t, r.Damages[0].String(), "/v: virtual source g/x in a.h5: ")
	})
}

// TestFile_members checks sets of the family, multi and split drivers. Each member that is missing
// or too short is an error with its name.
func TestFile_members(t *testing.T) {
	multi := h5.Multi{}
	for i := range multi.Addrs {
		multi.Addrs[i] = uint64(i) << 60
	}
	multi.Map[h5.LocalHeaps-1] = h5.BTrees
	multi.Names[h5.RawData-1] = "%s.data"
	for name, set := range map[string]struct {
		path, first string
		driver      h5.Driver
		low         h5.LibVer
	}{
		"family":        {"x%03d.h5", "x000.h5", h5.Family{MemberSize: 2048}, h5.Earliest},
		"new family":    {"x-%d", "x-0", h5.Family{MemberSize: 2048}, h5.V110},
		"multi":         {"x", "x-s.h5", multi, h5.Earliest},
		"usual multi":   {"x", "x-s.h5", h5.Multi{}, h5.Earliest},
		"new multi":     {"x", "x-s.h5", h5.Multi{}, h5.V110},
		"split":         {"x", "x.meta", h5.Split{Meta: ".meta", Raw: ".raw"}, h5.Earliest},
		"new split":     {"x", "x.meta", h5.Split{Meta: ".meta", Raw: ".raw"}, h5.V110},
		"renamed split": {"y.z", "y.z-m.h5", h5.Split{Meta: "%s-m.h5", Raw: "%s-r.h5"}, h5.Earliest},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			access := h5.DefaultFileAccess()
			access.Driver = set.driver
			f, err := h5.Create(filepath.Join(dir, set.path), &h5.CreateOptions{Low: set.low, Access: &access})
			require.NoError(t, err)
			values := make([]int32, 2000)
			for i := range values {
				values[i] = int32(i * i)
			}
			for name, o := range map[string]*h5.DatasetOptions{"plain": nil, "chunked": {ChunkShape: []int64{300}, Fletcher32: true}} {
				d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(2000), o)
				require.NoError(t, err)
				require.NoError(t, h5value.Write(d, values, h5.SimpleSpace(2000).All()))
				require.NoError(t, d.Close())
			}
			g, err := f.Root().CreateGroup("group")
			require.NoError(t, err)
			require.NoError(t, h5value.WriteAttr(g, "text", []string{"in the heap"}))
			require.NoError(t, errors.Join(g.Close(), f.Close()))
			first := filepath.Join(dir, set.first)
			for _, o := range []verify.Options{{}, {Isolated: true}, {Untrusted: true}, {Untrusted: true, Isolated: true}} {
				r, err := verify.File(bg, first, &o)
				require.NoError(t, err)
				require.Equal(t, verify.ExitValid, r.ExitCode(), "%+v: %v %v", o, r.Damages, r.Unchecked)
				require.EqualValues(t, 2, r.Arrays)
				require.Equal(t, int64(8000+7*1200), r.DecodedBytes)
			}
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, e := range entries {
				path := filepath.Join(dir, e.Name())
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				changes := []func() error{func() error { return os.Truncate(path, int64(len(b)-1)) }, func() error { return os.Remove(path) }}
				if path == first {
					changes = nil // its size identifies a family, and a multi set does not open without it
				}
				for i, change := range changes {
					if len(b) == 0 {
						continue
					}
					require.NoError(t, change())
					for _, isolated := range []bool{false, true} {
						r, err := verify.File(bg, first, &verify.Options{Isolated: isolated})
						require.NoError(t, err, e.Name())
						require.Equal(t, verify.ExitCorrupt, r.ExitCode(), "%s: %v", e.Name(), r.Unchecked)
						if name == "new multi" && e.Name() == "x-o.h5" && i == 0 {
							continue // this member contains the sizes
						}
						named := slices.ContainsFunc(r.Damages, func(p verify.Finding) bool { return p.File == e.Name() })
						require.True(t, named, "%s, change %d: %v", e.Name(), i, r.Damages)
					}
					require.NoError(t, os.WriteFile(path, b, 0o600))
				}
			}
		})
	}
}

// TestFile_family checks the members of files of the family driver.
func TestFile_family(t *testing.T) {
	dir := filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools/test/misc/testfiles")
	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
	first := filepath.Join(copied, "family_file00000.h5")
	for _, o := range []verify.Options{{}, {Isolated: true}, {Untrusted: true}} {
		r, err := verify.File(bg, first, &o)
		require.NoError(t, err)
		require.Equal(t, verify.ExitValid, r.ExitCode(), "%v %v", r.Damages, r.Unchecked)
		require.Positive(t, r.Arrays)
		require.Positive(t, r.DecodedBytes)
	}
	require.NoError(t, os.Remove(filepath.Join(copied, "family_file00017.h5")))
	r, err := verify.File(bg, first, &verify.Options{Isolated: true})
	require.NoError(t, err)
	require.Equal(t, verify.ExitCorrupt, r.ExitCode(), "%v", r.Unchecked)
}
