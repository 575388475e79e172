package formats_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// Durable changes in place are b2nd's; for the others there is Edit.
func TestDurableOpens(t *testing.T) {
	for name, durable := range map[string]bool{"a.b2nd": true, "a.cat": true, "a.bcolz": false, "a.h5:/x": false} {
		location := filepath.Join(t.TempDir(), name)
		spec := ndarray.Spec{Shape: []int64{4}, ChunkShape: []int64{3}, DType: ndarray.DTypeOf[int32]()}
		var opts []formats.Option
		if name == "a.cat" {
			opts = append(opts, formats.WithFormat(formats.Caterva))
		}
		d, err := formats.Create(t.Context(), location, spec, opts...)
		require.NoError(t, err, name)
		require.NoError(t, errors.Join(d.Commit(t.Context()), d.Close()))
		a, err := formats.Open(t.Context(), location, formats.WithDurable())
		if !durable {
			require.ErrorIs(t, err, errors.ErrUnsupported, name)
			continue
		}
		require.NoError(t, err, name)
		require.NoError(t, a.Append(t.Context(), 0, []byte("12345678")), name)
		require.NoError(t, a.Close())
		a, err = formats.Open(t.Context(), location)
		require.NoError(t, err)
		got := make([]byte, 24)
		require.NoError(t, a.Read(t.Context(), got, ndarray.Whole([]int64{6})))
		require.Equal(t, append(make([]byte, 16), "12345678"...), got, name)
		require.NoError(t, a.Close())
	}
	_, err := formats.Create(t.Context(), filepath.Join(t.TempDir(), "b.b2nd"), ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int32]()}, formats.WithDurable())
	require.ErrorIs(t, err, ndarray.ErrParam)
}
