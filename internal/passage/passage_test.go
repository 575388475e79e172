package passage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/passage"
)

func TestBlosc2(t *testing.T) {
	f := passage.Blosc2(4, []int64{64, 64}, "shuffle + zstd 5")
	require.Equal(t, f, passage.Blosc2(4, []int64{64, 64}, "shuffle + zstd 5"))
	for _, other := range []passage.Form{
		passage.Blosc2(8, []int64{64, 64}, "shuffle + zstd 5"),
		passage.Blosc2(4, []int64{32, 64}, "shuffle + zstd 5"),
		passage.Blosc2(4, []int64{64, 64}, "shuffle + zstd 6"),
		{Kind: "hdf5", Details: f.Details},
	} {
		require.NotEqual(t, f, other)
	}
	blocks, ok := f.Blocks()
	require.True(t, ok)
	require.Equal(t, []int64{64, 64}, blocks)
	_, ok = passage.Form{Kind: "hdf5"}.Blocks()
	require.False(t, ok)
}
