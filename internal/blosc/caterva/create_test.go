package caterva_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
)

// params describes an array of n dimensions of length 1 in memory.
func params(n int) *cblosc.ArrayParams {
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 4
	return &cblosc.ArrayParams{Shape: slices.Repeat([]int64{1}, n), ChunkShape: slices.Repeat([]int32{1}, n), Blocks: slices.Repeat([]int32{1}, n),
		Storage: cblosc.Storage{CParams: cp}}
}

// TestCreate_dimensions checks that Caterva arrays have at most 8 dimensions, whatever the limit of
// C-Blosc2.
func TestCreate_dimensions(t *testing.T) {
	for n := range 10 {
		a, err := caterva.Create(params(n))
		if n <= 8 {
			require.NoError(t, err)
			require.Len(t, a.Shape(), n)
			require.NoError(t, a.Close())
			continue
		}
		require.ErrorIs(t, err, cblosc.ErrLimit)
		require.ErrorContains(t, err, "got 9, want at most 8")
	}
}

type medium struct{}

func (medium) ReadAt([]byte, int64) (int, error)      { return 0, errors.ErrUnsupported }
func (medium) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

func TestCreate_invalidArguments(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(p *cblosc.ArrayParams)
		want   error
	}{
		"dtype":            {func(p *cblosc.ArrayParams) { p.DType = "<f4" }, cblosc.ErrParam},
		"negative shape":   {func(p *cblosc.ArrayParams) { p.Shape[0] = -1 }, cblosc.ErrParam},
		"other rank":       {func(p *cblosc.ArrayParams) { p.ChunkShape = p.ChunkShape[:1] }, cblosc.ErrParam},
		"block above":      {func(p *cblosc.ArrayParams) { p.Blocks[1] = 2 }, cblosc.ErrParam},
		"chunk of 0":       {func(p *cblosc.ArrayParams) { p.Shape[0], p.ChunkShape[0], p.Blocks[0] = 0, 0, 0 }, cblosc.ErrParam},
		"chunk above 2GiB": {func(p *cblosc.ArrayParams) { p.ChunkShape[0] = 1 << 29; p.Blocks[0] = 1 << 29 }, cblosc.ErrLimit},
		"overflow":         {func(p *cblosc.ArrayParams) { p.ChunkShape = []int32{1 << 30, 1 << 30}; p.Blocks = p.ChunkShape }, cblosc.ErrParam},
		"medium": {func(p *cblosc.ArrayParams) {
			p.Storage.Medium, p.Storage.Contiguous = medium{}, true
		}, errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			p := params(2)
			tt.change(p)
			_, err := caterva.Create(p)
			require.ErrorIs(t, err, tt.want)
		})
	}
}
