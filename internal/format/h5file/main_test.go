package h5file_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

func TestMain(m *testing.M) {
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

// findFiles returns the HDF5 files below a directory.
func findFiles(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && (strings.HasSuffix(p, ".h5") || strings.HasSuffix(p, ".he5")) {
			files = append(files, p)
		}
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

func load(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return b
}

func open(b []byte) (*h5file.File, error) { return h5file.Open(bytes.NewReader(b), int64(len(b)), nil) }

func mustOpen(t testing.TB, b []byte) *h5file.File {
	t.Helper()
	f, err := open(b)
	require.NoError(t, err)
	return f
}

func describe(b []byte) format.Field { return h5file.Describe(bytes.NewReader(b), int64(len(b))) }

func writeTemp(t testing.TB, b []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.h5")
	require.NoError(t, os.WriteFile(file, b, 0o600))
	return file
}
