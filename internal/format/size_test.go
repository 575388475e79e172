package format_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
)

func TestSize(t *testing.T) {
	for n, want := range map[uint64]int64{0: 0, 7: 7, 1<<61 - 1: 1<<61 - 1, 1 << 61: 1 << 61, 1 << 63: 1 << 61, math.MaxUint64: 1 << 61} {
		require.Equal(t, want, format.Size(n), "%d", n)
	}
	require.Positive(t, format.Size(uint64(math.MaxUint64))+format.Size(uint64(math.MaxUint64))+format.Size(uint64(math.MaxUint64)))
	require.EqualValues(t, math.MaxUint32, format.Size(uint32(math.MaxUint32)))
}
