package profile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/profile"
)

func TestStart(t *testing.T) {
	t.Setenv(profile.Env, "")
	stop, err := profile.Start()
	require.NoError(t, err)
	require.NoError(t, stop())

	path := filepath.Join(t.TempDir(), "cpu")
	t.Setenv(profile.Env, path)
	stop, err = profile.Start()
	require.NoError(t, err)
	_, err = profile.Start()
	require.ErrorContains(t, err, profile.Env, "one profile at a time")
	require.NoError(t, stop())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, []byte{0x1F, 0x8B}, b[:2], "a profile is compressed by gzip")

	t.Setenv(profile.Env, filepath.Join(path, "below a file"))
	_, err = profile.Start()
	var place *fs.PathError
	require.ErrorAs(t, err, &place)
}
