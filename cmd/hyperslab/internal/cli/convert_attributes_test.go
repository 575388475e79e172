package cli_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConvert_jsonAttributes converts arrays of bcolz with attributes of JSON that ndarray has no
// element type for. bcolz and python-blosc2 compare them with the original values.
func TestConvert_jsonAttributes(t *testing.T) {
	dir := t.TempDir()
	python := func(args ...string) { unusual(t, "attributes.py", []string{"blosc2", "bcolz"}, nil, args...) }
	python("make", dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	check := []string{"check"}
	for _, args := range [][]string{
		{"convert", "a.bcolz", "converted.bcolz", "--level", "1"},
		{"convert", "a.bcolz", "converted.b2nd"},
		{"convert", "converted.b2nd", "back.bcolz"},
		{"repack", "a.bcolz", "repacked.bcolz"},
		{"repack", "a.bcolz", "compressed.bcolz", "--codec", "zstd"},
		{"recover", "a.bcolz", "recovered.bcolz"},
		{"convert", "table.bcolz", "table-converted.bcolz"},
		{"convert", "table.bcolz", "table-compressed.bcolz", "--codec", "zstd", "--level", "3"},
	} {
		t.Run(args[0]+" "+args[2], func(t *testing.T) {
			all := append([]string{args[0], "-q", at(args[1]), at(args[2])}, args[3:]...)
			_, stderr, code := run(all...)
			require.Zero(t, code, stderr)
			check = append(check, at(args[2]))
		})
	}
	python(check...)

	_, stderr, code := run("convert", at("a.bcolz"), at("a.h5")+":/data")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "ragged (a list): lists of different lengths")
	stdout, stderr, code := run("info", "--json", at("a.bcolz"))
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"b": "x"`)
}
