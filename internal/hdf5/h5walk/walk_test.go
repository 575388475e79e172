package h5walk_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5walk"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

func TestMain(m *testing.M) {
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	before, err := f.CacheState()
	require.NoError(t, err)
	require.NoError(t, f.Close())

	f, err = h5walk.Open(file, nil)
	require.NoError(t, err)
	after, err := f.CacheState()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	want := before.Config
	want.LowerHitRate = 0.8
	require.Equal(t, want, after.Config, "only the hit rate at which the cache grows may change")

	_, err = h5walk.Open(filepath.Join(t.TempDir(), "missing.h5"), nil)
	require.ErrorIs(t, err, h5.ErrNotFound)
}
