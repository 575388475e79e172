// Tests of arrays with a dimension of length 0, whose chunk length python-blosc2 stores as 0.
package b2nd_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

func TestOpen_zeroLengthChunks(t *testing.T) {
	// Shape (20, 0) in chunks of (7, 0) and blocks of (3, 0).
	frame, err := os.ReadFile("../../internal/format/testdata/frame/zero-extent.b2nd")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "a.b2nd")
	require.NoError(t, os.WriteFile(path, frame, 0o600))
	b, err := b2nd.Open(path, &b2nd.OpenOptions{Write: true})
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()

	t.Run("metadata", func(t *testing.T) {
		require.Equal(t, []int64{20, 0}, a.Shape())
		require.Equal(t, []int64{7, 0}, a.Meta().ChunkShape)
		require.Equal(t, []int64{3, 0}, a.Meta().BlockShape)
		for range a.ChunkRegions() {
			t.Error("a chunk of an empty array")
		}
	})
	t.Run("region", func(t *testing.T) {
		r := ndarray.Region{Start: []int64{3, 0}, Shape: []int64{5, 0}}
		require.NoError(t, a.Read(bg, nil, r))
		require.NoError(t, a.Write(bg, nil, r))
	})
	t.Run("view", func(t *testing.T) {
		for _, text := range []string{"[...]", "[3:8]", "[19]", "[::2, :]", "[[1, 2]]"} {
			s, err := ndarray.ParseSelection(text)
			require.NoError(t, err)
			v, err := ndarray.View(a, s)
			require.NoError(t, err, text)
			require.Zero(t, v.NumElems(), text)
			require.NoError(t, v.Read(bg, nil, ndarray.Region{Start: make([]int64, len(v.Shape())), Shape: v.Shape()}), text)
			to, err := b2nd.Create(filepath.Join(t.TempDir(), "part.b2nd"), v.Meta().Spec(), nil)
			require.NoError(t, err, text)
			dst, err := ndarray.New(to)
			require.NoError(t, err)
			_, err = ndarray.Copy(bg, dst, v, nil)
			require.NoError(t, err, text)
			require.NoError(t, dst.Close())
		}
	})
	t.Run("resize", func(t *testing.T) {
		require.ErrorIs(t, a.Resize(bg, []int64{20, 5}), ndarray.ErrShape)
		require.Error(t, a.Resize(bg, []int64{30, 0}))
		require.Equal(t, []int64{20, 0}, a.Shape())
	})
	t.Run("copy", func(t *testing.T) {
		spec := a.Meta().Spec()
		require.Equal(t, []int64{7, 1}, spec.ChunkShape)
		require.Equal(t, []int64{3, 1}, spec.BlockShape)
		to := filepath.Join(t.TempDir(), "copy.b2nd")
		b, err := b2nd.Create(to, spec, nil)
		require.NoError(t, err)
		dst, err := ndarray.New(b)
		require.NoError(t, err)
		defer func() { require.NoError(t, dst.Close()) }()
		_, err = ndarray.Copy(bg, dst, a, nil)
		require.NoError(t, err)
		require.NoError(t, dst.Resize(bg, []int64{20, 5}), "a copy can grow")
	})
	t.Run("create", func(t *testing.T) {
		spec := ndarray.Spec{Shape: []int64{0}, ChunkShape: []int64{0}, DType: dtype(t, "<i4")}
		_, err := b2nd.Create(filepath.Join(t.TempDir(), "b.b2nd"), spec, nil)
		require.ErrorIs(t, err, ndarray.ErrShape)
	})
}
