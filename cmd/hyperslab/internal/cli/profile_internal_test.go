package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStartProfile(t *testing.T) {
	t.Setenv(profileVariable, "")
	stop, err := startProfile()
	require.NoError(t, err)
	require.NoError(t, stop())

	path := filepath.Join(t.TempDir(), "cpu")
	t.Setenv(profileVariable, path)
	stop, err = startProfile()
	require.NoError(t, err)
	_, err = startProfile()
	require.ErrorContains(t, err, profileVariable, "one profile at a time")
	require.NoError(t, stop())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, []byte{0x1F, 0x8B}, b[:2], "a profile is compressed by gzip")

	t.Setenv(profileVariable, filepath.Join(path, "below a file"))
	_, err = startProfile()
	var place *fs.PathError
	require.ErrorAs(t, err, &place)
}
