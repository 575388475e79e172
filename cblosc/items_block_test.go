package cblosc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
)

// Items that are as long as a block, wherever they start.
func TestItemsAsLongAsABlock(t *testing.T) {
	p := cparams(4)
	p.BlockSize = 512
	src := ramp(5000, 1) // blocks of 512 bytes, the last one of 392
	both := append(src[:len(src):len(src)], src...)
	for name, st := range storages(t, p) {
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err)
		closing(t, s)
		require.NoError(t, s.AppendBuffer(src))
		require.NoError(t, s.AppendBuffer(src))
		for _, n := range []int{512, 392, 300, 1024} {
			for start := 0; 4*start+n <= len(both); start += 3 {
				dst, want := make([]byte, n), both[4*start:4*start+n]
				require.NoError(t, s.ReadItems(dst, int64(start)))
				require.Equal(t, want, dst, "%s: %d bytes from item %d", name, n, start)
				if 4*start+n <= len(src) {
					clear(dst)
					require.NoError(t, s.DecompressItems(dst, 1, int64(start)))
					require.Equal(t, want, dst, "%s: %d bytes from item %d of a chunk", name, n, start)
				}
			}
		}
	}
}
