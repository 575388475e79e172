package frames_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestDurableOpens checks which formats support Durable: b2nd and Caterva. Other formats need
// Update.
func TestDurableOpens(t *testing.T) {
	for name, durable := range map[string]bool{"a.b2nd": true, "a.cat": true, "a.bcolz": false, "a.h5:/x": false} {
		location := filepath.Join(t.TempDir(), name)
		spec := ndarray.Spec{Shape: []int64{4}, ChunkShape: []int64{3}, DType: ndarray.DTypeOf[int32]()}
		var opts *hyperslab.CreateOptions
		if name == "a.cat" {
			opts = &hyperslab.CreateOptions{Format: hyperslab.Caterva}
		}
		d, err := hyperslab.Create(t.Context(), location, spec, opts)
		require.NoError(t, err, name)
		require.NoError(t, errors.Join(d.Commit(t.Context()), d.Close()))
		a, err := hyperslab.Open(t.Context(), location, &hyperslab.OpenOptions{Durable: true})
		if !durable {
			require.ErrorIs(t, err, errors.ErrUnsupported, name)
			continue
		}
		require.NoError(t, err, name)
		require.NoError(t, a.Append(t.Context(), 0, []byte("12345678")), name)
		require.NoError(t, a.Close())
		a, err = hyperslab.Open(t.Context(), location, nil)
		require.NoError(t, err)
		got := make([]byte, 24)
		require.NoError(t, a.Read(t.Context(), got, ndarray.Whole([]int64{6})))
		require.Equal(t, append(make([]byte, 16), "12345678"...), got, name)
		require.NoError(t, a.Close())
	}
}
