package cli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/location/locate"
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

// TestAppend_lossyFilter checks that a target with a lossy filter is refused before it grows, and
// that --allow-lossy reports the changed elements.
func TestAppend_lossyFilter(t *testing.T) {
	file, more := filepath.Join(t.TempDir(), "a.h5"), filepath.Join(t.TempDir(), "more.b2nd")
	create(t, more, ndarray.Spec{Shape: []int64{2}, ChunkShape: []int64{2}}, []int32{1000, 7})
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	space := h5.SimpleSpace(3)
	space.MaxDims = []int64{h5.Unlimited}
	d, err := f.Root().CreateDataset("x", h5.Int(4, h5.LittleEndian), space, &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: []h5.Filter{h5.ScaleOffsetInt(4)}})
	require.NoError(t, err)
	err = d.WriteRegion([]byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, h5.Int(4, h5.LittleEndian), h5.Region{Start: []int64{0}, Count: []int64{3}})
	require.NoError(t, errors.Join(err, d.Close(), f.Close()))
	for _, args := range [][]string{nil, {"--in-place"}, {"--dry-run"}} {
		_, stderr, code := run(append([]string{"append", file + ":/x", more}, args...)...)
		require.Equal(t, 2, code, args)
		require.Contains(t, stderr, "scaleoffset(4 bits)")
		require.Contains(t, stderr, "--allow-lossy")
		got, _ := readAll[int32](t, file+":/x")
		require.Len(t, got, 3)
	}
	stdout, stderr, code := run("append", file+":/x", more, "--allow-lossy", "--json")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "elements that the lossy filter changed: 1")
	require.Contains(t, stdout, `"lossy_changes": 1`)
	got, _ := readAll[int32](t, file+":/x")
	require.Equal(t, []int32{1, 2, 3, 8, 7}, got)
}
