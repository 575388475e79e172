// Tests of sources of virtual datasets and of external files that are missing or in another
// directory.

package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// elsewhere writes a file with a virtual dataset /v, whose source is source.h5:/x, and a dataset /e
// with the external file "data/e.bin". Both contain 1, 2, 3. The fill value is 7.
func elsewhere(t *testing.T, dir string) string {
	t.Helper()
	create[int32](t, filepath.Join(dir, "source.h5")+":/x", ndarray.Spec{Shape: []int64{3}}, []int32{1, 2, 3})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "e.bin"), []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, 0o666))
	path := filepath.Join(dir, "a.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	all := h5.SimpleSpace(3)
	fill := []byte{7, 0, 0, 0}
	for name, o := range map[string]*h5.DatasetOptions{
		"v": {Fill: fill, Mappings: []h5.Mapping{{Region: all.All(), File: "source.h5", Dataset: "/x", Source: all, SourceRegion: all.All()}}},
		"e": {Fill: fill, External: []h5.ExternalFile{{Name: "e.bin", Size: 12}}},
	} {
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), all, o)
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	return path
}

func TestRun_otherFiles(t *testing.T) {
	dir := t.TempDir()
	path := elsewhere(t, dir)
	external := "--external-dir=" + filepath.Join(dir, "data")
	out := filepath.Join(dir, "out.b2nd")
	commands := func(object string) [][]string {
		address := path + ":" + object
		return [][]string{
			{"dump", address}, {"dump", address, "--ddl"}, {"stats", address, "--bins=0"}, {"convert", address, out, "-f"}, {"diff", address, address}, {"plot", address},
		}
	}
	values := map[string]string{"dump": "2", "stats": "6"} // dump: an element; stats: the sum
	requireRun := func(t *testing.T, args []string, want int, more ...string) string {
		stdout, stderr, code := run(append(args, more...)...)
		require.Equal(t, want, code, "%v: %s%s", args, stdout, stderr)
		if want == 0 {
			require.Contains(t, stdout, values[args[0]], "%v", args)
		}
		return stderr
	}
	for _, args := range commands("/v") {
		requireRun(t, args, 0)
	}
	for _, args := range commands("/e") {
		if len(args) > 2 && args[2] == "--ddl" {
			requireRun(t, args, 2, external) // a usage error
			continue
		}
		requireRun(t, args, 0, external)
	}
	tree := []string{"convert", path, filepath.Join(dir, "tree"), "-f"}
	requireRun(t, tree, 0, external)

	require.NoError(t, os.Remove(filepath.Join(dir, "source.h5")))
	values = map[string]string{"dump": "7", "stats": "21"}
	for _, object := range []string{"/v", "/e"} {
		for _, args := range append(commands(object), tree) {
			t.Run(args[0]+" "+object, func(t *testing.T) {
				require.NoError(t, os.RemoveAll(out))
				stderr := requireRun(t, args, 2)
				require.NoFileExists(t, out)
				if len(args) > 2 && args[2] == "--ddl" && object == "/e" {
					return // libhdf5 reads no element of a dataset with a missing external file
				}
				require.Contains(t, stderr, "missing")
				require.Contains(t, stderr, "--allow-missing")
				stderr = requireRun(t, args, 0, "--allow-missing")
				require.Contains(t, stderr, "warning")
			})
		}
	}
	for _, args := range [][]string{{"ls", path}, {"info", path + ":/v"}} { // these commands read no elements
		_, stderr, code := run(args...)
		require.Zero(t, code, stderr)
	}
}

func TestCopy_externalDir(t *testing.T) {
	dir := t.TempDir()
	path := elsewhere(t, dir)
	sub := filepath.Join(dir, "sub")
	require.NoError(t, os.Mkdir(sub, 0o777))
	external := "--external-dir=" + filepath.Join(dir, "data")
	for to, args := range map[string][]string{"r.h5": {"repack", path, filepath.Join(sub, "r.h5")}, "c.h5": {"cp", path + ":/e", filepath.Join(sub, "c.h5") + ":/e"}} {
		_, stderr, code := run(args...)
		require.Equal(t, 2, code, stderr)
		_, stderr, code = run(append(args, external)...)
		require.Zero(t, code, stderr)
		stdout, stderr, code := run("dump", filepath.Join(sub, to)+":/e", external)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "2")
	}
}
