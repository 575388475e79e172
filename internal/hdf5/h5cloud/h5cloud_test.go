package h5cloud_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5cloud"
	"github.com/hyperslab/hyperslab/ndarray"
)

// examine examines a file.
func examine(t *testing.T, file string) *h5cloud.Report {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	x, err := h5cloud.Examine(t.Context(), f, info.Size())
	require.NoError(t, err)
	return x
}

func TestChunkShape(t *testing.T) {
	f8 := ndarray.DTypeOf[float64]()
	for name, x := range map[string]struct {
		shape, chunk, access, want []int64
	}{
		"small array without chunks":  {[]int64{100, 100}, nil, nil, nil},
		"large array without chunks":  {[]int64{4096, 4096}, nil, nil, []int64{1024, 2048}},
		"small chunks":                {[]int64{4096, 4096}, []int64{64, 64}, nil, []int64{512, 512}},
		"large chunks":                {[]int64{8192, 8192}, []int64{8192, 8192}, nil, []int64{1024, 2048}},
		"good chunks":                 {[]int64{4096, 4096}, []int64{512, 1024}, nil, []int64{512, 1024}},
		"access of whole rows":        {[]int64{1000, 65536}, []int64{64, 64}, []int64{1, 0}, []int64{4, 65536}},
		"access of another dimension": {[]int64{4096, 4096}, []int64{512, 1024}, []int64{1}, []int64{512, 1024}},
		"chunks beyond the array":     {[]int64{100}, []int64{1 << 40}, nil, []int64{100}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, x.want, h5cloud.ChunkShape(ndarray.Meta{Shape: x.shape, ChunkShape: x.chunk, DType: f8}, x.access))
		})
	}
}

func TestExamine(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "x.h5")
	spec := ndarray.Spec{Shape: []int64{1 << 20}, ChunkShape: []int64{1 << 10}, DType: ndarray.DTypeOf[float64](), Compression: &ndarray.Compression{Codec: "none"}}
	draft, err := hyperslab.Create(ctx, file+":/g/x", spec, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(ctx, draft.Array, make([]float64, 1<<10), ndarray.Region{Start: []int64{0}, Shape: []int64{1 << 10}}))
	require.NoError(t, draft.Commit(ctx))
	require.NoError(t, draft.Close())

	x := examine(t, file)
	require.Zero(t, x.PageSize)
	require.Positive(t, x.Metadata.Bytes)
	require.Equal(t, 1, x.Metadata.Requests)
	require.Equal(t, []h5cloud.Array{{
		Path: "/g/x", Shape: []int64{1 << 20}, Bytes: 8 << 20, StoredBytes: 8 << 10, ChunkShape: []int64{1 << 10}, ChunkBytes: 8 << 10, Chunks: 1,
	}}, x.Arrays)
	require.Equal(t, []h5cloud.Problem{{Object: "/g/x", Got: 8 << 10, Least: h5cloud.LeastChunk, Most: h5cloud.MostChunk}}, x.Problems)

	t.Run("paged file", func(t *testing.T) {
		src, err := h5.Open(file, h5.ReadOnly)
		require.NoError(t, err)
		defer src.Close()
		paged := filepath.Join(t.TempDir(), "paged.h5")
		dst, err := h5cloud.Create(paged, src, x.Metadata, h5cloud.Plan{Kept: 1})
		require.NoError(t, err)
		require.NoError(t, dst.Close())
		made := examine(t, paged)
		require.EqualValues(t, 64<<10, made.PageSize)
		require.Greater(t, made.PageSize, x.Metadata.Bytes)
		require.Empty(t, made.Problems)
	})
	t.Run("other format", func(t *testing.T) {
		_, err := h5cloud.Examine(ctx, bytes.NewReader(make([]byte, 4096)), 4096)
		require.ErrorIs(t, err, ndarray.ErrFormat)
	})
}
