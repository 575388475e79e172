// Tests of conversions between strings of variable length and of a fixed size.

package cli_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func TestConvert_strings(t *testing.T) {
	python, dir := testenv.Python(t, "blosc2", "h5py", "netCDF4", "bcolz"), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	peers := func(verb string) {
		t.Helper()
		out, err := exec.Command(python, "testdata/strings.py", verb, dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	peers("write")
	convert := func(from, to string, flags ...string) string {
		t.Helper()
		_, stderr, code := run(append([]string{"convert", at(from), at(to)}, flags...)...)
		require.Zero(t, code, stderr)
		return stderr
	}
	require.Contains(t, convert("s.h5:/utf8", "utf8.b2nd"), "type (string): b2nd stores the same strings as <U15")
	convert("s.h5:/ascii", "ascii.b2nd", "--strings", "fixed")
	convert("s.h5:/square", "square.b2nd", "--untrusted")
	convert("s.h5:/utf8", "utf8.bcolz")
	convert("s.h5:/ascii", "ascii.bcolz")
	convert("s.h5:/utf8", "utf8.npy", "--exclude-unsupported")
	require.Contains(t, convert("s.nc", "tree.b2z"), "/names: type (string): b2nd stores the same strings as <U15")
	require.Contains(t, convert("u.b2nd", "b2nd.h5:/x"), "type (<U15): hdf5 stores the same strings as string")
	convert("u.bcolz", "bcolz.h5:/x")
	convert("utf8.b2nd", "back.h5:/x")
	convert("u.b2nd", "fixed.h5:/x", "--strings", "fixed")
	convert("tree.b2z", "back.nc")
	peers("check")

	t.Run("diff", func(t *testing.T) {
		for _, pair := range [][2]string{{"s.h5:/utf8", "utf8.b2nd"}, {"s.h5:/ascii", "ascii.bcolz"}, {"u.b2nd", "b2nd.h5:/x"}, {"fixed.h5:/x", "u.bcolz"}} {
			done(t, "diff", "--values-only", at(pair[0]), at(pair[1]))
			stdout, _, code := run("diff", at(pair[0]), at(pair[1]))
			require.Equal(t, 1, code)
			require.Contains(t, stdout, "dtype")
		}
		stdout, _, code := run("diff", "--values-only", at("s.h5:/utf8[0:3]"), at("s.h5:/ascii"))
		require.Equal(t, 1, code)
		require.Contains(t, stdout, `"a"`)
		require.Contains(t, stdout, `"abc"`)
	})
	t.Run("error", func(t *testing.T) {
		for _, c := range [][2]string{{"s.h5:/utf8", "x.b2nd"}, {"s.h5:/ascii", "x.bcolz"}, {"u.b2nd", "x.h5:/x"}, {"s.nc", "x.b2d"}, {"tree.b2z", "x.h5"}} {
			_, stderr, code := run("convert", at(c[0]), at(c[1]), "--strings", "error")
			require.Equal(t, 2, code, stderr)
			require.Contains(t, stderr, "strings of")
			require.NoFileExists(t, at("x.b2nd"))
		}
		_, stderr, code := run("convert", at("u.b2nd"), at("x.h5:/x"), "--strings", "short")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "--strings")
	})
	t.Run("dry run", func(t *testing.T) {
		var doc struct {
			DType string
			Bytes int64
			Lost  []string
		}
		require.NoError(t, json.Unmarshal([]byte(done(t, "convert", "--dry-run", "--json", at("s.h5:/utf8"), at("x.b2nd"))), &doc))
		require.Equal(t, "<U15", doc.DType)
		require.EqualValues(t, 300*60, doc.Bytes)
		require.Len(t, doc.Lost, 1)
	})
}
