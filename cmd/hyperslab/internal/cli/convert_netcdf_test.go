// Tests of conversions of netCDF-4 files, whose dimensions are HDF5 dimension scales.

package cli_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func TestConvert_netCDF(t *testing.T) {
	python, dir := testenv.Python(t, "netCDF4", "h5netcdf"), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	peer := func(args ...string) {
		t.Helper()
		out, err := exec.Command(python, append([]string{"testdata/netcdf.py"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	peer("write", at("a.nc"))
	lost := func(args ...string) (lost []string) {
		t.Helper()
		var doc struct{ Lost []string }
		require.NoError(t, json.Unmarshal([]byte(done(t, append([]string{"convert", "--json"}, args...)...)), &doc))
		return doc.Lost
	}
	require.Empty(t, lost(at("a.nc"), at("copy.nc")))
	require.Len(t, lost(at("a.nc"), at("untrusted.nc"), "--untrusted"), 0)
	require.Len(t, lost(at("a.nc"), at("tree")), 2, "the type of the strings and the order of links")
	require.Len(t, lost(at("a.nc"), at("store.b2z")), 2)
	require.Len(t, lost(at("tree"), at("tree.nc")), 1, "the type of the strings")
	require.Len(t, lost(at("store.b2z"), at("store.nc")), 1)
	names := []string{at("copy.nc"), at("untrusted.nc"), at("tree.nc"), at("store.nc")}
	for _, name := range names {
		done(t, "diff", at("a.nc"), name)
		done(t, "verify", name)
	}
	peer(append([]string{"check", at("a.nc")}, names...)...)

	t.Run("diff with another format", func(t *testing.T) {
		done(t, "diff", at("a.nc"), at("tree"), "--exclude", "/station")
		stdout, _, code := run("diff", at("a.nc"), at("store.b2z"))
		require.Equal(t, 1, code)
		require.Contains(t, stdout, "/station  dtype")
		require.NotContains(t, stdout, "_LIST")
		done(t, "convert", at("a.nc:/temperature"), at("t.b2nd"))
		done(t, "convert", at("a.nc:/temperature"), at("t.h5:/temperature"))
		done(t, "diff", at("a.nc:/temperature"), at("t.b2nd"))
		done(t, "diff", at("t.h5:/temperature"), at("a.nc:/temperature"))
	})
	t.Run("diff of other scales", func(t *testing.T) {
		// The variable has no dimension names and no scales in the second file.
		done(t, "convert", at("a.nc:/time_bounds"), at("b.npy"), "--exclude-unsupported")
		done(t, "convert", at("b.npy"), at("b.b2nd"))
		stdout, _, code := run("diff", at("a.nc:/time_bounds"), at("b.b2nd"))
		require.Equal(t, 1, code)
		require.Contains(t, stdout, "DIMENSION_LIST")
	})
	t.Run("scale left out", func(t *testing.T) {
		list := lost(at("a.nc"), at("part.nc"), "--exclude", "/lat")
		require.Len(t, list, 3, "of station, temperature and wind")
		require.Contains(t, list[0], "/model/wind: scale of dimension 1 (/lat)")
		require.Contains(t, done(t, "info", "--json", at("part.nc:/temperature")), `"dimension_names": ["time", "lat"]`)
	})
	t.Run("subgroup", func(t *testing.T) {
		require.Len(t, lost(at("a.nc:/model"), at("model.nc")), 1, "the scale /lat is outside")
		require.Contains(t, done(t, "info", "--json", at("model.nc:/wind")), `"dimension_names": ["level", "lat"]`)
	})
}
