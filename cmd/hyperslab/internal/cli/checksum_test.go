package cli_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestChecksum writes, keeps and compares the checksums of b2nd.
func TestChecksum(t *testing.T) {
	t.Chdir(t.TempDir())
	spec := ndarray.Spec{Shape: []int64{8}, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{4}, Compression: &ndarray.Compression{Codec: "none"}}
	d, err := hyperslab.Create(t.Context(), "plain.b2nd", spec, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(t.Context(), d.Array, []int64{1, 2, 3, 4, 5, 6, 7, 8}, ndarray.Whole(spec.Shape)))
	require.NoError(t, errors.Join(d.Commit(t.Context()), d.Close()))
	must(t, "convert -q plain.b2nd a.b2nd --checksum")
	require.Contains(t, must(t, "info a.b2nd"), "crc32c")
	require.Contains(t, must(t, "verify a.b2nd"), "valid (1 array, 2 chunks checked")
	must(t, "append -q a.b2nd plain.b2nd")
	must(t, "repack -q a.b2nd packed.b2nd --codec lz4")
	for _, file := range []string{"a.b2nd", "packed.b2nd"} {
		require.Contains(t, must(t, "info "+file), "crc32c")
		require.Contains(t, must(t, "verify "+file), "4 checksums")
	}
	must(t, "convert -q --exclude-unsupported a.b2nd a.h5:/x")
	_, stderr, code := run("convert", "a.b2nd", "a.caterva", "--format", "caterva", "--checksum")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--checksum is for HDF5 and b2nd, not for caterva")
	must(t, "convert -q a.b2nd a.caterva --format caterva --exclude-unsupported")

	b, err := os.ReadFile("a.b2nd")
	require.NoError(t, err)
	b[len(b)/3] ^= 1
	require.NoError(t, os.WriteFile("a.b2nd", b, 0o600))
	_, stderr, code = run("dump", "a.b2nd")
	require.NotZero(t, code)
	require.Contains(t, stderr, "checksum")
}
