package ddl_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/ddl"
)

// TestPieces_ExtremeShape checks that a shape whose number of elements overflows is also read in
// small pieces.
func TestPieces_ExtremeShape(t *testing.T) {
	enough := errors.New("enough")
	for _, dims := range [][]int64{{1 << 60, 16}, {1 << 62, 2}, {3, 1 << 60, 16}, {1<<63 - 1, 1<<63 - 1}} {
		n := 0
		err := ddl.Pieces(dims, func(r h5.Region) error {
			elems := int64(1)
			for i, c := range r.Count {
				require.Positive(t, c, dims)
				require.LessOrEqual(t, c, int64(1<<16), dims)
				require.LessOrEqual(t, c, dims[i]-r.Start[i], dims)
				elems *= c
			}
			require.LessOrEqual(t, elems, int64(1<<16), dims)
			if n++; n == 3 {
				return enough
			}
			return nil
		})
		require.ErrorIs(t, err, enough, dims)
	}
	calls := 0
	require.NoError(t, ddl.Pieces([]int64{1 << 40, 0}, func(h5.Region) error { calls++; return nil }))
	require.Equal(t, 1, calls)
}
