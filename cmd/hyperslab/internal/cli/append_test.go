package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

func readAll[T ndarray.Element](t *testing.T, location string) ([]T, ndarray.Meta) {
	t.Helper()
	ctx := context.Background()
	a, err := hyperslab.Open(ctx, location, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	v, err := ndarray.ReadAll[T](ctx, a)
	require.NoError(t, err)
	return v, a.Meta()
}

func count(n int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(i)
	}
	return v
}

// TestAppendValues checks that append keeps the existing elements and adds the new ones after them,
// for every axis, format and piece size.
func TestAppendValues(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	create(t, at("more.b2nd"), ndarray.Spec{Shape: []int64{24, 15}, ChunkShape: []int64{3, 2}}, count(360))
	for _, target := range []string{"a.b2nd", "a.h5:/x", "a.bcolz"} {
		for axis := range 2 {
			if target == "a.bcolz" && axis == 1 {
				continue // bcolz arrays only grow along the first axis
			}
			spec := ndarray.Spec{Shape: []int64{24, 15}, MaxShape: []int64{ndarray.Unlimited, ndarray.Unlimited}, ChunkShape: []int64{2, 3}}
			if target == "a.bcolz" {
				spec.ChunkShape, spec.MaxShape = []int64{3, 15}, nil
			}
			create(t, at(target), spec, count(360))
			_, stderr, code := run("append", at(target), at("more.b2nd"), at("more.b2nd"), "--axis", string(rune('0'+axis)), "-M", "1080", "-q")
			require.Zero(t, code, "%s axis %d: %s", target, axis, stderr)
			got, m := readAll[int32](t, at(target))
			want := []int64{24, 15}
			want[axis] *= 3
			require.Equal(t, want, m.Shape)
			for i, v := range got {
				row, column := int64(i)/want[1], int64(i)%want[1]
				require.Equal(t, int32(row%24*15+column%15), v, "%s axis %d element %d", target, axis, i)
			}
			loc, err := locate.Parse(at(target))
			require.NoError(t, err)
			require.NoError(t, os.RemoveAll(loc.File))
		}
	}
}

// TestAppend_modeAndLink checks that a change keeps the permissions of the file, and a symbolic
// link to it.
func TestAppend_modeAndLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.b2nd"), filepath.Join(dir, "link.b2nd")
	create(t, file, ndarray.Spec{Shape: []int64{3}}, count(3))
	require.NoError(t, os.Chmod(file, 0o640))
	require.NoError(t, os.Symlink("a.b2nd", link))
	_, stderr, code := run("attr", "set", link, "k", "v")
	require.Zero(t, code, stderr)
	info, err := os.Lstat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
	to, err := os.Readlink(link)
	require.NoError(t, err)
	require.Equal(t, "a.b2nd", to)
	stdout, _, _ := run("attr", "get", file, "k")
	require.Equal(t, "v\n", stdout)
}
