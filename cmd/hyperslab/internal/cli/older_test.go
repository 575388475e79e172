package cli_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestRun_olderReaders checks that C-Blosc2 2.17, HDF5 1.14 and ncdump open the files that convert,
// repack, cp and append write with default options.
func TestRun_olderReaders(t *testing.T) {
	python, old, dir := testenv.Python(t, "blosc2", "h5py", "netCDF4"), testenv.OldPython(t, "blosc2", "h5py", "netCDF4"), t.TempDir()
	script, err := filepath.Abs("testdata/older.py")
	require.NoError(t, err)
	out, err := exec.Command(python, script, "write", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Chdir(dir)
	ours := func(args ...string) {
		t.Helper()
		_, stderr, code := run(args...)
		require.Zero(t, code, "%v: %s", args, stderr)
	}
	places := make(map[string]string) // names in expected.npz by the location of the array
	tree := func(file string, names ...string) {
		for _, name := range names {
			places[file+":"+name] = filepath.Base(name)
		}
	}
	all := []string{"grid", "group/grid", "real", "complex", "flags", "names", "records"}

	for _, source := range []string{"earliest.h5", "v114.h5", "latest.h5"} {
		ours("convert", source, "converted-"+source)
		tree("converted-"+source, all...)
		if source == "latest.h5" {
			continue // repack keeps the format of the source
		}
		ours("repack", source, "repacked-"+source)
		ours("repack", source, "zstd-"+source, "--codec", "deflate", "--level", "9")
		ours("cp", source+":/group", "cp-"+source+":/group")
		tree("repacked-"+source, all...)
		tree("zstd-"+source, all...)
		tree("cp-"+source, "group/grid")
	}
	places["repacked-earliest.h5:virtual"] = "grid"

	for _, name := range []string{"grid", "words", "real"} {
		ours("convert", name+".b2nd", "converted-"+name+".b2nd")
		ours("convert", name+".b2nd", "sparse-"+name+".b2nd", "--sparse")
		ours("repack", name+".b2nd", "repacked-"+name+".b2nd", "--codec", "lz4")
		for _, kind := range []string{"converted-", "sparse-", "repacked-"} {
			places[kind+name+".b2nd"] = name
		}
	}
	ours("convert", "dictionary.b2nd", "converted-dictionary.b2nd")
	ours("convert", "grid.npy", "npy.b2nd")
	ours("convert", "earliest.h5:/group/grid", "tree.b2nd")
	ours("convert", "grid.b2nd", "b2nd.h5:/a/grid")
	ours("convert", "real.b2nd", "b2nd.h5:/real")
	for _, file := range []string{"converted-dictionary.b2nd", "npy.b2nd", "tree.b2nd"} {
		places[file] = "grid"
	}
	tree("b2nd.h5", "a/grid", "real")

	// Append the second half of an array to the first half.
	ours("convert", "grid.b2nd[30:]", "rest.b2nd")
	for _, target := range []string{"appended.b2nd", "appended.h5:/grid"} {
		ours("convert", "grid.b2nd[:30]", target, "--grow", "0")
		ours("append", target, "rest.b2nd")
		places[strings.Replace(target, ":/", ":", 1)] = "grid"
	}

	ncdump := func(file string) string {
		t.Helper()
		out, err := exec.Command(testenv.Program(t, "ncdump"), "-n", "measured", file).CombinedOutput()
		require.NoError(t, err, "%s: %s", file, out)
		return string(out)
	}
	want := ncdump("measured.nc")
	for file, flags := range map[string][]string{"repacked.nc": nil, "deflate.nc": {"--codec", "deflate", "--level", "9"}} {
		ours(append([]string{"repack", "measured.nc", file}, flags...)...)
		require.Equal(t, want, ncdump(file), file)
		tree(file, "grid")
	}
	files := make(map[string]bool)
	for place := range places {
		if file, _, ok := strings.Cut(place, ":"); ok {
			files[file] = true
		}
	}
	for file := range files {
		if strings.HasSuffix(file, "v114.h5") && !strings.HasPrefix(file, "converted-") {
			continue // ncdump of Debian 12 uses HDF5 1.10
		}
		require.Contains(t, ncdump(file), "netcdf measured {", file)
	}

	list, err := json.Marshal(places)
	require.NoError(t, err)
	check := exec.Command(old, script, "check", dir)
	check.Stdin = strings.NewReader(string(list))
	out, err = check.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
