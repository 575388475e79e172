package cblosc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContext_YieldLimit checks that a context counts the processed bytes, yields without the lock
// at the limit, and then resets the count.
func TestContext_YieldLimit(t *testing.T) {
	h := new(handle)
	for _, tt := range []struct{ n, want int }{{restAfter - 1, restAfter - 1}, {1, 0}, {5, 5}, {3 * restAfter, 0}, {0, 0}} {
		h.mu.Lock()
		h.unlockAfter(tt.n)
		require.Equal(t, tt.want, h.worked)
		require.True(t, h.mu.TryLock(), "the lock is still held")
		h.mu.Unlock()
	}
}

// TestContext_ByteCount checks that both compression and decompression are counted.
func TestContext_ByteCount(t *testing.T) {
	c, err := NewCompressor(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	d, err := NewDecompressor(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	data := make([]byte, 4096)
	b := make([]byte, MaxCompressedSize(len(data)))
	n, err := c.Compress(b, data)
	require.NoError(t, err)
	require.Equal(t, compressing*len(data), c.h.worked)
	_, err = d.Decompress(data, b[:n])
	require.NoError(t, err)
	require.Equal(t, len(data), d.h.worked)
}
