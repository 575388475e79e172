// Tests of metalayers whose decompressed size is much larger than their stored size.

package frames_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestMetalayer_Empty checks that a metalayer of less than 100 stored bytes and 65 MiB of
// content is listed as unsupported and never decompressed. Open of an untrusted file returns
// format.ErrLimit.
func TestMetalayer_Empty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2nd")
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{4}, ChunkShape: []int32{4}, Blocks: []int32{4}, DType: "|u1", Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: &cblosc.CParams{Codec: cblosc.LZ4, Level: 1, TypeSize: 1, Threads: 1, Split: cblosc.DefaultCParams().Split}}})
	require.NoError(t, err)
	vl := a.SChunk().VLMeta()
	require.NoError(t, vl.Add("big", make([]byte, 65<<20)))
	require.NoError(t, vl.Add("small", []byte{0xA1, 'x'}))
	content, stored, err := vl.Size("big")
	require.NoError(t, err)
	require.Equal(t, int64(65<<20), content)
	require.Less(t, stored, int64(100))
	require.ErrorIs(t, format.CheckLayer("big", content, stored), format.ErrLimit)
	_, _, err = vl.Size("none")
	require.ErrorIs(t, err, cblosc.ErrNotFound)
	require.NoError(t, a.Close())
	_, _, err = vl.Size("big")
	require.ErrorIs(t, err, cblosc.ErrClosed)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(1000))

	_, err = hyperslab.Open(context.Background(), path, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: true}})
	require.ErrorIs(t, err, format.ErrLimit)
	for _, untrusted := range []bool{false, true} {
		var array *ndarray.Array
		if untrusted {
			g, err := hyperslab.Open(context.Background(), path, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: true, MaxMetadata: 1 << 30}})
			require.NoError(t, err)
			defer func() { require.NoError(t, g.Close()) }()
			array = g
		} else {
			array, err = hyperslab.Open(context.Background(), path, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, array.Close()) }()
		}
		attrs, err := array.Attrs(context.Background())
		require.NoError(t, err)
		require.Len(t, attrs.List, 1)
		require.Equal(t, "small", attrs.List[0].Name)
		require.Len(t, attrs.Unsupported, 1)
		require.Equal(t, "big", attrs.Unsupported[0].Name)
		require.Contains(t, attrs.Unsupported[0].Reason, "68157440 bytes")
	}
}
