package errs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/errs"
)

func TestInside(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "out")))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	_, err = root.Stat("out")
	require.ErrorIs(t, errs.Inside(err), errs.ErrFormat)
	require.EqualError(t, errs.Inside(err), err.Error())
	_, err = root.Open("out")
	require.ErrorIs(t, errs.Inside(err), errs.ErrFormat)
	_, err = root.Open("missing")
	require.NotErrorIs(t, errs.Inside(err), errs.ErrFormat)
	require.ErrorIs(t, errs.Inside(err), fs.ErrNotExist)
	require.NoError(t, errs.Inside(nil))
	other := errors.New("x")
	require.Equal(t, other, errs.Inside(other))
}
