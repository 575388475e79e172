package formats_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// trees are golden directories written by bcolz-zipline.
const trees = "../../format/bcolz/testdata"

func TestOpensBcolzByContent(t *testing.T) {
	for _, tree := range []string{"type_i4", "type_f8", "rows", "unicode", "bool", "codec_zstd"} {
		dir := filepath.Join(trees, tree)
		f, err := formats.Sniff(dir)
		require.NoError(t, err)
		require.Equal(t, formats.Bcolz, f)
		a, err := formats.Open(bg, dir)
		require.NoError(t, err, tree)
		require.Equal(t, "bcolz", a.Meta().Format)

		entries := walk(t, dir)
		require.Len(t, entries, 1)
		require.Equal(t, "/", entries[0].Path)
		require.Equal(t, a.Meta(), entries[0].Meta)

		// What was read goes into another format and is the same there.
		m, err := mem.New(a.Meta().Spec())
		require.NoError(t, err)
		copied, err := ndarray.New(m)
		require.NoError(t, err)
		_, err = ndarray.Copy(bg, copied, a, nil)
		require.NoError(t, err)
		same, err := ndarray.Compare(bg, a, copied, &ndarray.CompareOptions{IgnoreAttrs: true})
		require.NoError(t, err)
		require.True(t, same.Equal(), tree)
		require.NoError(t, a.Close())
	}
}

func TestBcolzTables(t *testing.T) {
	dir := filepath.Join(trees, "table")
	entries := walk(t, dir)
	require.Equal(t, formats.Group, entries[0].Kind)
	require.Greater(t, len(entries), 1)
	for _, e := range entries[1:] {
		require.NoError(t, e.Err)
		a, err := formats.Open(bg, dir+":"+e.Path)
		require.NoError(t, err)
		require.Equal(t, e.Meta, a.Meta())
		require.NoError(t, a.Close())
		require.Equal(t, []formats.Entry{e}, walk(t, dir+":"+e.Path), "one column by itself")
	}
	_, err := formats.Open(bg, dir)
	require.ErrorIs(t, err, ndarray.ErrParam)
	require.ErrorContains(t, err, "name one as")
	_, err = formats.Open(bg, dir+":/none")
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	_, err = formats.Open(bg, filepath.Join(trees, "type_i4")+":/x")
	require.ErrorIs(t, err, ndarray.ErrParam)
}

// A column that cannot be opened does not hide the others.
func TestWalkGoesOnBehindADamagedColumn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(trees, "table"))))
	before := walk(t, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, before[1].Path, "meta", "sizes")))
	after := walk(t, dir)
	require.Len(t, after, len(before))
	require.Error(t, after[1].Err)
	require.Equal(t, before[2:], after[2:])
}

func TestBcolzIsNotWritten(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x")
	d, err := ndarray.ParseDType("<i4")
	require.NoError(t, err)
	_, err = formats.Create(bg, target, ndarray.Spec{Shape: []int64{2}, DType: d}, formats.WithFormat(formats.Bcolz))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoFileExists(t, target)
	_, err = formats.Open(bg, filepath.Join(trees, "type_i4"), formats.WithDType(d))
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = formats.Sniff(t.TempDir())
	require.ErrorIs(t, err, ndarray.ErrFormat)
}
