package chunked_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/chunked"
)

func TestBlosc2(t *testing.T) {
	f := chunked.Blosc2(4, []int64{64, 64}, "shuffle + zstd 5")
	require.Equal(t, f, chunked.Blosc2(4, []int64{64, 64}, "shuffle + zstd 5"))
	for _, other := range []chunked.Form{
		chunked.Blosc2(8, []int64{64, 64}, "shuffle + zstd 5"),
		chunked.Blosc2(4, []int64{32, 64}, "shuffle + zstd 5"),
		chunked.Blosc2(4, []int64{64, 64}, "shuffle + zstd 6"),
		{Kind: "hdf5", Details: f.Details},
	} {
		require.NotEqual(t, f, other)
	}
	blocks, ok := f.Blocks()
	require.True(t, ok)
	require.Equal(t, []int64{64, 64}, blocks)
	_, ok = chunked.Form{Kind: "hdf5"}.Blocks()
	require.False(t, ok)
}
