package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCp_shards divides a sparse array by chunks and a ctable by chunks and columns. It checks that
// the joined directories have the same files.
func TestCp_shards(t *testing.T) {
	table, err := filepath.Abs("../../../../internal/format/bcolztree/testdata/table")
	require.NoError(t, err)
	t.Chdir(field(t))
	require.NoError(t, os.CopyFS("table.bcolz", os.DirFS(table)))
	must(t, "convert -q --sparse waves.b2nd sparse.b2nd")
	for _, c := range []struct{ source, first, second string }{
		{"sparse.b2nd", ":1", "1:"},
		{"sparse.b2nd", "0:0", ":"},
		{"table.bcolz", ":1", "1:"},
		{"table.bcolz", ":=id,tag", ":=value"},
	} {
		p, q, joined := c.source+".p", c.source+".q", "joined"+filepath.Ext(c.source)
		must(t, "cp --split "+c.first+" --split "+c.second+" "+c.source+" "+p+" "+q)
		must(t, "cp --join "+c.first+" --join "+c.second+" "+p+" "+q+" "+joined)
		must(t, "diff -q "+c.source+" "+joined)
		requireSameDirectory(t, c.source, joined)
		for _, dir := range []string{p, q, joined} {
			require.NoError(t, os.RemoveAll(dir))
		}
	}
}

// requireSameDirectory requires that two directories have the same files with the same bytes.
func requireSameDirectory(t *testing.T, a, b string) {
	t.Helper()
	contents := func(dir string) map[string]string {
		files := map[string]string{}
		require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := os.ReadFile(filepath.Join(dir, path))
			files[path] = string(b)
			return err
		}))
		return files
	}
	want := contents(a)
	require.NotEmpty(t, want)
	require.Equal(t, want, contents(b))
}
