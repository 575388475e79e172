package draft_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestEdit_invalidCopy checks that Update does not replace the file if its copy cannot be opened.
func TestEdit_invalidCopy(t *testing.T) {
	for _, location := range []string{"a.h5:/x", "a.b2nd"} {
		t.Run(location, func(t *testing.T) {
			dir := t.TempDir()
			l, err := locate.Parse(filepath.Join(dir, location))
			require.NoError(t, err)
			d, err := hyperslab.Create(bg, l.String(), ndarray.Spec{Shape: []int64{4}, DType: ndarray.DTypeOf[int32]()}, nil)
			require.NoError(t, err)
			require.NoError(t, ndarray.Write(bg, d.Array, []int32{1, 2, 3, 4}, ndarray.Whole([]int64{4})))
			require.NoError(t, d.Commit(bg))
			before, err := os.ReadFile(l.File)
			require.NoError(t, err)
			for name, damage := range map[string]func(b []byte) []byte{
				"truncated": func(b []byte) []byte { return b[:len(b)/2] },
				"corrupt metadata": func(b []byte) []byte {
					return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("HEAP"), []byte("XXXX")), []byte("b2nd"), []byte("XXXX"))
				},
			} {
				if name == "corrupt metadata" && location == "a.b2nd" {
					continue // a frame without array metadata is valid
				}
				err := hyperslab.Update(bg, l.File, func(copy string) error {
					b, err := os.ReadFile(copy)
					require.NoError(t, err)
					return os.WriteFile(copy, damage(b), 0o600)
				})
				require.ErrorIs(t, err, ndarray.ErrCorrupt, name)
				require.ErrorContains(t, err, "the old file is unchanged", name)
				after, err := os.ReadFile(l.File)
				require.NoError(t, err)
				require.Equal(t, before, after, name)
				left, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Len(t, left, 1, name)
			}
		})
	}
}
