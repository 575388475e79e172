package bcolz_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

func TestTable(t *testing.T) {
	table, err := bcolz.OpenTable(filepath.Join(goldenDir, "table"), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "value", "tag"}, table.Names)
	requireAttr(t, table.Attrs, "title", ndarray.Text("three columns"))
	b, err := table.Column("value")
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	values, err := ndarray.ReadAll[float64](bg, a)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0.5, 1, 1.5, 2, 2.5}, values)
	require.Equal(t, filepath.Join(goldenDir, "table", "value"), a.Meta().Path)
	require.NoError(t, a.Close())
	_, err = table.Column("other")
	require.ErrorIs(t, err, ndarray.ErrNotFound)
}

func TestTableErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := bcolz.OpenTable(filepath.Join(dir, "nothing"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	_, err = bcolz.OpenTable(filepath.Join(goldenDir, "rows"), nil)
	require.ErrorIs(t, err, ndarray.ErrFormat)
	require.ErrorContains(t, err, "carray, want a ctable")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "__rootdirs__"), []byte(`{"names": ["gone", "link", "empty", "file"], "dirs": {"gone": "/x"}}`), 0o666))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o666))
	outside, err := filepath.Abs(filepath.Join(goldenDir, "rows"))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	table, err := bcolz.OpenTable(dir, nil)
	require.NoError(t, err)
	for _, name := range table.Names {
		_, err = table.Column(name)
		require.ErrorIs(t, err, ndarray.ErrCorrupt, name)
		require.ErrorContains(t, err, name)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "__rootdirs__"), []byte(`{"names": ["../x"]}`), 0o666))
	_, err = bcolz.OpenTable(dir, nil)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
}
