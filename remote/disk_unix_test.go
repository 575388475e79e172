//go:build unix

package remote

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClient_Open_othersCache(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config) // of macOS
	dir := t.TempDir()
	cached := func(o *Options) { o.CacheDir = dir }
	s := serve(t, content(1<<20))
	open(t, local(t, cached), s.URL)
	data, err := filepath.Glob(dir + "/*" + dataSuffix)
	require.NoError(t, err)
	require.Len(t, data, 1)

	require.NoError(t, os.Chmod(data[0], 0o666))
	_, err = local(t, cached).Open(t.Context(), s.URL)
	require.ErrorIs(t, err, fs.ErrPermission)
	sums := strings.TrimSuffix(data[0], dataSuffix) + sumsSuffix
	require.NoError(t, os.Chmod(sums, 0o666))
	require.NoError(t, newDisk(dir, 1, nil).makeRoom()) // it deletes no file of another user
	require.FileExists(t, data[0])
	require.NoError(t, os.Chmod(sums, 0o600))
	require.NoError(t, os.Chmod(data[0], 0o600))

	target := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.Rename(data[0], target))
	require.NoError(t, os.Symlink(target, data[0]))
	_, err = local(t, cached).Open(t.Context(), s.URL)
	require.Error(t, err)
	require.NoError(t, os.Remove(data[0]))

	key, err := filepath.Glob(config + "/hyperslab/*")
	if len(key) == 0 {
		key, err = filepath.Glob(config + "/Library/Application Support/hyperslab/*")
	}
	require.NoError(t, err)
	require.Len(t, key, 1)
	info, err := os.Stat(key[0])
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	require.NoError(t, os.Truncate(key[0], 5))
	_, err = local(t, cached).Open(t.Context(), s.URL)
	require.ErrorContains(t, err, "got 5 bytes, want 32")

	open(t, local(t, cached, func(o *Options) { o.CacheKey = []byte("mine") }), s.URL)
}
