// Tests of repack and cp for files in which some objects are unreadable or excluded.

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// unreadable writes a file with the group /g. It contains the datasets good, bad with a corrupt
// header, and chunk with a corrupt chunk, and the group old with the dataset x.
func unreadable(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	for _, name := range []string{"g", "g/old"} {
		g, err := f.Root().CreateGroup(name)
		require.NoError(t, err)
		require.NoError(t, g.Close())
	}
	var header int64
	for _, name := range []string{"g/good", "g/bad", "g/chunk", "g/old/x"} {
		d, err := f.Root().CreateDataset(name, h5.Int(8, h5.NativeOrder), h5.SimpleSpace(4), &h5.DatasetOptions{ChunkShape: []int64{4}, Fletcher32: true})
		require.NoError(t, err)
		value := int64(1)
		if name == "g/chunk" {
			value = 0x1122334455667788
		}
		require.NoError(t, h5value.Write(d, []int64{value, value, value, value}, h5.SimpleSpace(4).All()))
		info, err := d.Stat()
		require.NoError(t, err)
		if name == "g/bad" {
			header = int64(info.Address)
		}
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[header+10] ^= 0x55
	at := bytes.Index(b, []byte{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11})
	require.Positive(t, at)
	b[at] ^= 1
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}

func TestPick(t *testing.T) {
	src := unreadable(t)
	for _, tt := range []struct {
		name string
		args []string
		code int
		want []string // members of /g
	}{
		{"no flag", nil, 2, nil},
		{"excluded", []string{"--exclude", "bad", "--exclude", "/g/old"}, 0, []string{"chunk", "good"}},
		{"skipped", []string{"--skip-unreadable"}, 3, []string{"chunk", "good", "old"}},
	} {
		dir := t.TempDir()
		for to, args := range map[string][]string{
			"r.h5": {"repack", src, filepath.Join(dir, "r.h5")},
			"c.h5": {"cp", src + ":/g", filepath.Join(dir, "c.h5") + ":/g"},
		} {
			t.Run(args[0]+" "+tt.name, func(t *testing.T) {
				_, stderr, code := run(append(args, tt.args...)...)
				require.Equal(t, tt.code, code, stderr)
				if tt.code == 2 {
					require.NoFileExists(t, filepath.Join(dir, to))
					return
				}
				if tt.code == 3 {
					require.Contains(t, stderr, "/g/bad")
				}
				f, err := h5.Open(filepath.Join(dir, to), h5.ReadOnly)
				require.NoError(t, err)
				defer func() { require.NoError(t, f.Close()) }()
				g, err := f.Root().OpenGroup("g")
				require.NoError(t, err)
				defer g.Close()
				var got []string
				for l, err := range g.Links() {
					require.NoError(t, err)
					got = append(got, l.Name)
				}
				require.Equal(t, tt.want, got)
			})
		}
	}
	t.Run("corrupt chunk that is compressed again", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "r.h5")
		args := []string{"repack", src, to, "--codec", "deflate", "--exclude", "bad"}
		_, stderr, code := run(args...)
		require.Equal(t, 2, code, stderr)
		require.NoFileExists(t, to)
		_, stderr, code = run(append(args, "--skip-unreadable")...)
		require.Equal(t, 3, code, stderr)
		require.Contains(t, stderr, "/g/chunk")
		f, err := h5.Open(to, h5.ReadOnly)
		require.NoError(t, err)
		there, err := f.Root().HasLink("g/chunk")
		require.NoError(t, err)
		require.False(t, there)
		require.NoError(t, f.Close())
		_, _, code = run("verify", to)
		require.Zero(t, code)
	})
}

// TestRepack_missingFilter checks that chunks of a dataset with an unavailable filter are copied
// without recompression.
func TestRepack_missingFilter(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a.h5"), filepath.Join(dir, "new.h5")
	f, err := h5.Create(from, nil)
	require.NoError(t, err)
	const missing = 31999
	d, err := f.Root().CreateDataset("x", h5.Int(8, h5.NativeOrder), h5.SimpleSpace(4), &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: []h5.Filter{{ID: missing, Optional: true}}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, []int64{1, 2, 3, 4}, h5.SimpleSpace(4).All()))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	_, stderr, code := run("repack", from, to, "--codec", "deflate")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "filter 31999 is not available")
	f, err = h5.Open(to, h5.ReadOnly)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	d, err = f.Root().OpenDataset("x")
	require.NoError(t, err)
	info, err := d.Info()
	require.NoError(t, err)
	require.Equal(t, missing, info.Filters[0].ID)
	require.NoError(t, d.Close())
}
