package draft_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestEdit(t *testing.T) {
	for _, location := range []string{"a.b2nd", "a.bcolz", "a.h5:/x"} {
		dir := t.TempDir()
		spec := filetest.Int32s(10)
		spec.ChunkShape = []int64{4}
		if location == "a.h5:/x" {
			spec.MaxShape = []int64{ndarray.Unlimited}
		}
		filetest.Save(t, filetest.In(dir, location), spec, nil)
		l, err := locate.Parse(filetest.In(dir, location))
		require.NoError(t, err)
		longer := func(file string) (err error) {
			a, err := hyperslab.Open(bg, locate.Location{File: file, Object: l.Object}.String(), &hyperslab.OpenOptions{Write: true})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, a.Close()) }()
			return ndarray.Append(bg, a, 0, filetest.Count(13)[10:])
		}

		// A failed update must not change the file or leave a temporary file.
		before := filetest.Entries(t, dir)
		why := errors.New("no")
		require.ErrorIs(t, hyperslab.Update(bg, l.File, func(file string) error { return errors.Join(longer(file), why) }), why)
		ctx, cancel := context.WithCancel(bg)
		require.ErrorIs(t, hyperslab.Update(ctx, l.File, func(file string) error { cancel(); return longer(file) }), context.Canceled)
		require.Equal(t, before, filetest.Entries(t, dir))
		filetest.RequireCount(t, filetest.In(dir, location))

		// A symbolic link must remain a link.
		link := filepath.Join(dir, "link"+filepath.Ext(l.File))
		require.NoError(t, os.Symlink(l.File, link))
		require.NoError(t, hyperslab.Update(bg, link, longer))
		info, err := os.Lstat(link)
		require.NoError(t, err)
		require.Equal(t, os.ModeSymlink, info.Mode().Type())
		require.NoError(t, os.Remove(link))
		require.Equal(t, before, filetest.Entries(t, dir))
		a, err := hyperslab.Open(bg, filetest.In(dir, location), nil)
		require.NoError(t, err)
		require.Equal(t, []int64{13}, a.Shape())
		require.NoError(t, a.Close())
		filetest.RequireCount(t, filetest.In(dir, location))
	}
	require.ErrorIs(t, hyperslab.Update(bg, filepath.Join(t.TempDir(), "none"), func(string) error { return nil }), ndarray.ErrNotFound)
}
