package cmem_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/cmem"
)

func TestAlloc_zeroed(t *testing.T) {
	blocks, bytes := cmem.Live()
	for _, n := range []int{0, 1, 63, 64, 65, 1 << 20} {
		p, err := cmem.Alloc(n)
		require.NoError(t, err)
		require.Zero(t, uintptr(p)%64, "block of %d bytes is not aligned", n)
		for i, b := range cmem.Bytes(p, n) {
			require.Zero(t, b, "byte %d of %d", i, n)
		}
		b, by := cmem.Live()
		require.Equal(t, blocks+1, b)
		require.Equal(t, bytes+int64(n), by)
		cmem.Free(p)
	}
	b, by := cmem.Live()
	require.Equal(t, blocks, b)
	require.Equal(t, bytes, by)
}

func TestTrim(t *testing.T) {
	p, err := cmem.Alloc(1 << 20)
	require.NoError(t, err)
	cmem.Bytes(p, 1)[0] = 7
	cmem.Trim()
	require.Equal(t, byte(7), cmem.Bytes(p, 1)[0])
	cmem.Free(p)
}

func TestAlloc_invalidSizes(t *testing.T) {
	for _, n := range []int{-1, math.MaxInt, math.MaxInt / 4} {
		_, err := cmem.Alloc(n)
		require.ErrorIs(t, err, cmem.ErrOutOfMemory, "%d bytes", n)
	}
}

func TestString_bytes(t *testing.T) {
	for _, s := range []string{"", "a", "/päth/to", string(make([]byte, 0))} {
		p, err := cmem.String(s)
		require.NoError(t, err)
		require.Equal(t, s+"\x00", string(cmem.Bytes(p, len(s)+1)))
		cmem.Free(p)
	}
	_, err := cmem.String("a\x00b")
	require.ErrorIs(t, err, cmem.ErrNUL)
}

func TestFreeNil(t *testing.T) { cmem.Free(nil) }
