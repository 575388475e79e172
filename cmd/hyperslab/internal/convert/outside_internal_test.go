package convert

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestConvertJob_writeExternal checks that the external file is unchanged if the dataset cannot
// be committed.
func TestConvertJob_writeExternal(t *testing.T) {
	for name, old := range map[string]string{"new file": "", "replaced file": "old"} {
		t.Run(name, func(t *testing.T) {
			dir, ctx := t.TempDir(), t.Context()
			raw := filepath.Join(dir, "x.raw")
			if old != "" {
				require.NoError(t, os.WriteFile(raw, []byte(old), 0o600))
			}
			spec := ndarray.Spec{Shape: []int64{3}, DType: ndarray.DTypeOf[int32](), Compression: &ndarray.Compression{Codec: "none"}}
			src, err := hyperslab.Create(ctx, filepath.Join(dir, "x.npy"), spec, nil)
			require.NoError(t, err)
			require.NoError(t, ndarray.Write(ctx, src.Array, []int32{1, 2, 3}, ndarray.Whole(spec.Shape)))
			require.NoError(t, src.Commit(ctx))
			array, err := hyperslab.Open(ctx, filepath.Join(dir, "x.npy"), nil)
			require.NoError(t, err)
			defer array.Close()
			draft, err := hyperslab.Create(ctx, filepath.Join(dir, "x.h5")+":/x", spec, &hyperslab.CreateOptions{External: []h5.ExternalFile{{Name: raw, Size: 12}}})
			require.NoError(t, err)
			require.NoError(t, draft.Close())

			o := &ConvertJob{force: true, outside: outsideFlags{external: raw}, Job: shell.JobFlags{Limit: 1 << 20}}
			err = o.writeExternal(ctx, draft, array, spec.DType, func(int64) {})
			require.ErrorIs(t, err, ndarray.ErrClosed)
			if old == "" {
				require.NoFileExists(t, raw)
			} else {
				b, err := os.ReadFile(raw)
				require.NoError(t, err)
				require.Equal(t, old, string(b))
			}
			left, err := filepath.Glob(filepath.Join(dir, ".*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
