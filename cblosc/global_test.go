package cblosc_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestGlobalContext checks that the global functions of C-Blosc2 read the same data as contexts.
func TestGlobalContext(t *testing.T) {
	src := testutil.Ramp(40_000, 3)
	data := make([]byte, len(src))
	for _, codec := range cblosc.Codecs() {
		for _, filter := range []cblosc.FilterID{cblosc.NoFilter, cblosc.Shuffle, cblosc.BitShuffle, cblosc.Delta} {
			p := cparams(4)
			p.Codec, p.BlockSize, p.Filters = codec, 4096, [cblosc.MaxFilters]cblosc.Filter{5: {ID: filter}}
			chunks := [][]byte{compress(t, p, src)}
			if filter != cblosc.Delta {
				chunks = append(chunks, compressBlosc1(t, p, src))
				require.Equal(t, cblosc.GlobalState{Codec: codec.String(), BlockSize: 4096, Threads: 1}, cblosc.ReadGlobalState())
			}
			for _, b := range chunks {
				clear(data)
				m, err := cblosc.GlobalDecompress(data, b)
				require.NoError(t, err)
				require.Equal(t, src, data[:m])
				items := make([]byte, 400)
				_, err = cblosc.GlobalItems(items, b, 1000, 100)
				if filter == cblosc.Delta {
					require.ErrorIs(t, err, errors.ErrUnsupported)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, src[4000:4400], items)
				_, err = cblosc.GlobalItems(make([]byte, 4096), b, 1, 1024)
				require.ErrorIs(t, err, errors.ErrUnsupported, "as long as a block, inside two")
			}
		}
	}
	require.NoError(t, cblosc.FreeGlobal())
	_, err := cblosc.GlobalDecompress(data, compress(t, cparams(4), src))
	require.NoError(t, err, "after FreeGlobal")
	require.Equal(t, src, data)
}

func TestGlobal_invalidArguments(t *testing.T) {
	src := testutil.Ramp(4000, 1)
	dst := make([]byte, len(src))
	b := compress(t, cparams(4), src)
	_, err := cblosc.GlobalDecompress(dst[:3999], b)
	require.ErrorIs(t, err, cblosc.ErrSize)
	_, err = cblosc.GlobalDecompress(dst, b[:20])
	require.ErrorIs(t, err, cblosc.ErrFormat)
	_, err = cblosc.GlobalItems(dst[:4], b, 1000, 1)
	require.ErrorIs(t, err, cblosc.ErrRegion)
	_, err = cblosc.GlobalItems(dst[:5], b, 0, 1)
	require.ErrorIs(t, err, cblosc.ErrSize)
	n, err := cblosc.GlobalItems(nil, b, 0, 0)
	require.NoError(t, err)
	require.Zero(t, n)

	// A Blosc1 chunk with a block that starts after its end. The Blosc1 functions do not check
	// this.
	one := compressBlosc1(t, cparams1(cblosc.LZ4, 5, 4, cblosc.Shuffle), src)
	one[16], one[17], one[18] = 0xFF, 0xFF, 0x7F
	_, err = cblosc.GlobalDecompress(dst, one)
	require.ErrorIs(t, err, cblosc.ErrFormat)
}
