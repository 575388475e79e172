package treecopy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// partlyReadable writes an HDF5 file with four arrays: two can be read, one is compressed with a
// filter that is not available, and one has a wrong checksum.
func partlyReadable(t *testing.T, file string) {
	t.Helper()
	same := func(b []byte, _ []uint32) ([]byte, error) { return b, nil }
	require.NoError(t, h5.RegisterFilter(h5.GoFilter{ID: 32098, Name: "rare", Decode: same, Encode: same}))
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	for path, o := range map[string]*h5.DatasetOptions{
		"/fine": nil, "/g/deep/fine": nil,
		"/g/rare": {ChunkShape: []int64{4}, Filters: []h5.Filter{{ID: 32098}}},
		"/g/sum":  {ChunkShape: []int64{8}, Fletcher32: true},
	} {
		d, err := f.Root().CreateDataset(path, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(8), o)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, []int32{7, 7, 7, 7, 1, 2, 3, 77777777}, h5.SimpleSpace(8).All()))
		if path == "/g/sum" {
			require.NoError(t, h5value.Write(d, []int32{7, 7, 7, 7, 1, 2, 3, 88888888}, h5.SimpleSpace(8).All()))
		}
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Root().LinkHard("/hard", "/g/rare"))
	require.NoError(t, f.Close())
	require.NoError(t, h5.UnregisterFilter(32098))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	at := strings.Index(string(b), "\x38\x56\x4c\x05") // the number 88888888 in little-endian order
	require.Positive(t, at)
	b[at]++
	require.NoError(t, os.WriteFile(file, b, 0o644))
}

func paths(t *testing.T, location string) (out []string) {
	t.Helper()
	for e, err := range hyperslab.Walk(bg, location, nil) {
		require.NoError(t, err)
		out = append(out, e.Path)
	}
	return out
}

func TestCopyTree_Exclude(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "src.h5")
	partlyReadable(t, src)
	without := func(paths ...string) func(string) bool {
		return func(p string) bool {
			for _, x := range paths {
				if p == x {
					return true
				}
			}
			return false
		}
	}
	t.Run("missing filter", func(t *testing.T) {
		stats, err := filetest.CopyTree(bg, filepath.Join(dir, "a"), src, &hyperslab.TreeOptions{DryRun: true})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorIs(t, stats.Refused[0].Err, h5.ErrNoFilter)
		require.Equal(t, "/g/rare", stats.Refused[0].Path)
	})
	t.Run("objects", func(t *testing.T) {
		to := filepath.Join(dir, "objects")
		_, err := filetest.CopyTree(bg, to, src, &hyperslab.TreeOptions{Exclude: without("/g/rare", "/g/sum", "/hard")})
		require.NoError(t, err)
		require.Equal(t, []string{"/", "/fine", "/g", "/g/deep", "/g/deep/fine"}, paths(t, to))
	})
	t.Run("group", func(t *testing.T) {
		to := filepath.Join(dir, "group.h5")
		_, err := filetest.CopyTree(bg, to, src, &hyperslab.TreeOptions{Exclude: without("/g", "/hard")})
		require.NoError(t, err)
		require.Equal(t, []string{"/", "/fine"}, paths(t, to))
	})
	t.Run("target of a hard link", func(t *testing.T) {
		stats, err := filetest.CopyTree(bg, filepath.Join(dir, "h.h5"), src, &hyperslab.TreeOptions{Exclude: without("/g")})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.Equal(t, "/hard", stats.Refused[0].Path)
	})
}

func TestCopyTree_SkipUnreadable(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "src.h5")
	partlyReadable(t, src)
	for _, to := range []string{"dir", "new.h5"} {
		t.Run(to, func(t *testing.T) {
			stats, err := filetest.CopyTree(bg, filepath.Join(dir, to), src, &hyperslab.TreeOptions{
				SkipUnreadable: true,
				Accept:         func(p hyperslab.Problem) bool { return p.What == "link" },
				Adjust: func(_ string, _ ndarray.Meta, spec *ndarray.Spec, _ *int) error {
					spec.Compression = nil // each chunk is decoded
					return nil
				},
			})
			require.NoError(t, err)
			require.Equal(t, []string{"/", "/fine", "/g", "/g/deep", "/g/deep/fine"}, paths(t, filepath.Join(dir, to)))
			var left []string
			for _, p := range stats.Unreadable {
				left = append(left, p.Path)
			}
			require.Equal(t, []string{"/g/rare", "/g/sum"}, left)
			require.ErrorIs(t, stats.Unreadable[0].Err, h5.ErrNoFilter)
			require.ErrorIs(t, stats.Unreadable[1].Err, ndarray.ErrCorrupt)
			require.Equal(t, 2, stats.Arrays)
		})
	}
}

// TestCopyTreeAdjust checks that Adjust can change the Spec of each array and that an error of
// Adjust stops the copy before anything is written.
func TestCopyTreeAdjust(t *testing.T) {
	dir := t.TempDir()
	filetest.Grove(t, filetest.In(dir, "g.h5"))
	none := &hyperslab.TreeOptions{Adjust: func(path string, m ndarray.Meta, spec *ndarray.Spec, _ *int) error {
		if len(m.Shape) == 2 {
			spec.ChunkShape, spec.Compression = []int64{2, 2}, &ndarray.Compression{Codec: "deflate", Level: 1}
		}
		return nil
	}}
	_, err := filetest.CopyTree(bg, filetest.In(dir, "o.h5"), filetest.In(dir, "g.h5"), none)
	require.NoError(t, err)
	requireSameTree(t, filetest.In(dir, "g.h5"), filetest.In(dir, "o.h5"))
	a, err := hyperslab.Open(bg, filetest.In(dir, "o.h5:/deep/er/records"), nil)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 2}, a.Meta().ChunkShape)
	require.Equal(t, 1, a.Meta().Compression.Level)
	require.NoError(t, a.Close())
	stop := errors.New("stop")
	_, err = filetest.CopyTree(bg, filetest.In(dir, "p.h5"), filetest.In(dir, "g.h5"), &hyperslab.TreeOptions{
		Adjust: func(string, ndarray.Meta, *ndarray.Spec, *int) error { return stop },
	})
	require.ErrorIs(t, err, stop)
	require.NoFileExists(t, filetest.In(dir, "p.h5"))
}
