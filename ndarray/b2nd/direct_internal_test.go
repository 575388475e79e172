package b2nd

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestOpen_direct checks that C-Blosc2 opens an array only for writing and on request.
func TestOpen_direct(t *testing.T) {
	dir := t.TempDir()
	for _, filter := range []string{"shuffle", "delta"} {
		b, err := Create(filepath.Join(dir, filter), ndarray.Spec{
			Shape: []int64{100}, DType: ndarray.DTypeOf[int32](), Compression: &ndarray.Compression{Codec: "zstd", Level: 1, Filters: []string{filter}},
		}, nil)
		require.NoError(t, err)
		require.NoError(t, b.Close())
	}
	for _, tt := range []struct {
		name, file string
		options    *OpenOptions
		direct     bool
	}{
		{"read-only", "shuffle", nil, true},
		{"delta", "delta", nil, true},
		{"for writing", "shuffle", &OpenOptions{Write: true}, false},
		{"by the library", "shuffle", &OpenOptions{Library: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := Open(filepath.Join(dir, tt.file), tt.options)
			require.NoError(t, err)
			_, direct := b.(*reader)
			require.Equal(t, tt.direct, direct)
			require.NoError(t, b.Close())
		})
	}
}
