package cblosc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

func TestRawShuffles(t *testing.T) {
	type shuffle func(dst, src []byte, typeSize int) error
	pairs := map[string][2]shuffle{
		"bytes": {cblosc.ShuffleBytes, cblosc.UnshuffleBytes},
		"bits":  {cblosc.ShuffleBits, cblosc.UnshuffleBits},
	}
	for name, pair := range pairs {
		for _, size := range []int{1, 2, 3, 4, 8, 16, 17, 255} {
			for _, n := range []int{0, 1, 31, 1000, 4096} {
				src := testutil.Ramp(n, 1)
				shuffled, back := make([]byte, n), make([]byte, n)
				require.NoError(t, pair[0](shuffled, src, size))
				require.NoError(t, pair[1](back, shuffled, size))
				require.Equal(t, src, back, "%s: %d bytes in elements of %d", name, n, size)
				if items := n / size; name == "bytes" {
					for i, v := range src[:items*size] {
						require.Equal(t, v, shuffled[i%size*items+i/size])
					}
				}
			}
		}
		for _, f := range pair {
			require.ErrorIs(t, f(make([]byte, 3), make([]byte, 4), 1), cblosc.ErrSize)
			require.ErrorIs(t, f(nil, nil, 0), cblosc.ErrParam)
			require.ErrorIs(t, f(nil, nil, 256), cblosc.ErrParam)
		}
	}
}
