package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestFile_nestedTable checks that a column of a ctable can be a ctable.
func TestFile_nestedTable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "outer.bcolz")
	require.NoError(t, os.Mkdir(dir, 0o777))
	create := func(dtype, name string, rows int64) {
		d, err := ndarray.ParseDType(dtype)
		require.NoError(t, err)
		at := filepath.Join(dir, name)
		made, err := hyperslab.Create(bg, at, ndarray.Spec{Shape: []int64{rows}, DType: d, ChunkShape: []int64{4}}, &hyperslab.CreateOptions{Format: hyperslab.Bcolz})
		require.NoError(t, err)
		require.NoError(t, made.Write(bg, make([]byte, rows*int64(d.Size)), ndarray.Whole([]int64{rows})))
		require.NoError(t, made.Commit(bg))
	}
	create("[('a', '<i4'), ('b', '<f8')]", "inner", 10)
	create("<i8", "x", 10)
	require.NoError(t, os.WriteFile(filepath.Join(dir, bcolztree.AttrsFile), []byte("{}\n"), 0o666))
	root := filepath.Join(dir, bcolztree.RootDirsFile)
	names := func(names ...string) {
		require.NoError(t, os.WriteFile(root, (&bcolztree.RootDirs{Names: names}).Append(nil), 0o666))
	}
	names("inner", "x")
	r, err := verify.File(bg, dir, nil)
	require.NoError(t, err)
	require.Equal(t, verify.ExitValid, r.ExitCode(), "%v %v", r.Damages, r.Unchecked)
	require.EqualValues(t, 3, r.Arrays)
	require.False(t, r.ValuesVerified())

	t.Run("digests", func(t *testing.T) {
		for _, d := range []verify.Digests{verify.WriteDigests, verify.CheckDigests} {
			r, err := verify.File(bg, dir, &verify.Options{Digests: d})
			require.NoError(t, err)
			require.Equal(t, d == verify.CheckDigests, r.ValuesVerified())
		}
	})
	t.Run("rows", func(t *testing.T) {
		create("<i8", "y", 11)
		names("inner", "x", "y")
		r, err := verify.File(bg, dir, nil)
		require.NoError(t, err)
		require.EqualValues(t, 1, r.NumDamages)
		require.Equal(t, "/y", r.Damages[0].Object)
	})
	t.Run("missing chunk", func(t *testing.T) {
		names("inner", "x")
		require.NoError(t, os.Remove(filepath.Join(dir, "inner", "a", "data", "__1.blp")))
		r, err := verify.File(bg, dir, nil)
		require.NoError(t, err)
		require.EqualValues(t, 1, r.NumDamages)
		require.Equal(t, "/inner/a", r.Damages[0].Object)
	})
}

// TestFile_bcolzMetadata checks metadata with which bcolz does not open a tree, although all values
// can be read.
func TestFile_bcolzMetadata(t *testing.T) {
	codec := func(t *testing.T, path string) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(b), `"cname": "`)
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(b), `"cname": "`, `"cname": "x`, 1)), 0o600))
	}
	empty := func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) }
	gone := func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) }
	for _, c := range []struct {
		tree, object, file string
		spoil              func(t *testing.T, path string)
	}{
		{"type_i4", "", "__attrs__", empty},
		{"type_i4", "", "__attrs__", gone},
		{"type_i4", "", "meta/storage", codec},
		{"table", "", "__attrs__", empty},
		{"table", "/id", "__attrs__", gone},
		{"table", "/id", "meta/storage", codec},
	} {
		t.Run(c.tree+c.object+" "+c.file, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a.bcolz")
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "format", "bcolztree", "testdata", c.tree))))
			c.spoil(t, filepath.Join(dir, c.object, filepath.FromSlash(c.file)))
			r, err := verify.File(bg, dir, nil)
			require.NoError(t, err)
			require.EqualValues(t, 1, r.NumDamages, "%v", r.Damages)
			require.Equal(t, c.object, r.Damages[0].Object)
			require.Equal(t, c.file, r.Damages[0].What)
			require.ErrorIs(t, r.Damages[0].Err, ndarray.ErrCorrupt)
		})
	}
}
