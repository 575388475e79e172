package format_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
)

func TestLimits_Filled(t *testing.T) {
	l, err := format.Limits{Chunk: 7}.Filled()
	require.NoError(t, err)
	require.Equal(t, format.Limits{Array: 1 << 40, Chunk: 7, Metadata: 64 << 20, Copy: 1 << 30, Memory: 2 << 30}, l)
	for _, l := range []format.Limits{{Array: -1}, {Chunk: -1}, {Metadata: -1}, {Copy: -1}, {Memory: -1}} {
		_, err := l.Filled()
		require.ErrorIs(t, err, errs.ErrParam)
	}
}
