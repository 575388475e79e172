package cblosc_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestItems_blockLength checks reads of items with the length of a block, from every start.
func TestItems_blockLength(t *testing.T) {
	p := cparams(4)
	p.BlockSize = 512
	src := testutil.Ramp(5000, 1) // blocks of 512 bytes, the last one of 392
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

// counted is a reader that counts the bytes it returns.
type counted struct {
	io.ReaderAt
	n int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += n
	return n, err
}

// TestItems_partialBlocks checks that only the blocks that contain the items are read from a chunk
// in a file.
func TestItems_partialBlocks(t *testing.T) {
	p := cparams(4)
	p.BlockSize = 4096
	src := testutil.Noise(1<<20, 1)
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{}
	for i := range src {
		if i%4 != 0 {
			src[i] = 0 // so that blocks are streams
		}
	}
	m := new(memory)
	s, err := cblosc.CreateSChunk(cblosc.Storage{Medium: m, Contiguous: true, CParams: p})
	require.NoError(t, err)
	require.NoError(t, s.AppendBuffer(src))
	require.NoError(t, s.Close())
	require.Greater(t, len(m.b), 200_000)
	r := &counted{ReaderAt: m}
	s, err = cblosc.OpenSChunkOn(r, int64(len(m.b)), cblosc.OpenOptions{})
	require.NoError(t, err)
	closing(t, s)
	for range 2 { // the first read also checks the chunk
		r.n = 0
		dst := make([]byte, 40)
		require.NoError(t, s.DecompressItems(dst, 0, 100_000))
		require.Equal(t, src[400_000:400_040], dst)
		clear(dst)
		require.NoError(t, s.ReadItems(dst, 200_000))
		require.Equal(t, src[800_000:800_040], dst)
	}
	require.Less(t, r.n, 40_000, "of %d bytes", len(m.b))
}
