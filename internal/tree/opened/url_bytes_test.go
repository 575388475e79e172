package opened_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// TestRead_url_bytes limits the received bytes of a region that is much smaller than its chunks of
// 8 MiB. Only rows of an HDF5 chunk without filters and blocks of a Blosc2 chunk are read.
func TestRead_url_bytes(t *testing.T) {
	dir := t.TempDir()
	shape := []int64{4, 1024, 1024}
	spec := ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{1, 1024, 1024}}
	for name, c := range map[string]struct {
		codec string
		most  int64 // bytes
	}{"/plain.h5:/x": {"none", 1 << 20}, "/plain.b2nd": {"none", 1 << 20}, "/x.b2nd": {"zstd", 1 << 20}, "/x.h5:/x": {"blosc2/zstd", 5 << 18}} {
		t.Run(strings.Trim(name, "/:"), func(t *testing.T) {
			spec.Compression = &ndarray.Compression{Codec: c.codec}
			if c.codec != "none" {
				spec.Compression.Level = 1
			}
			// 5 of 8 bytes of a value are random, so that a chunk is not fetched as a whole.
			value := func(i int) int64 { return int64(uint64(i) * 0x9E3779B97F4A7C15 >> 24) }
			fillValues(t, dir+name, spec, nil, value)
			s := serveDir(t, dir)
			a, err := hyperslab.Open(bg, s.URL+name, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			opened := remote.DefaultClient.Stats()
			r := ndarray.Region{Start: []int64{0, 512, 512}, Shape: []int64{4, 10, 10}}
			values := make([]int64, r.NumElems())
			require.NoError(t, ndarray.Read(bg, a, values, r))
			for i, v := range values {
				at := i/100*1024*1024 + (512+i/10%10)*1024 + 512 + i%10
				require.Equal(t, value(at), v)
			}
			now := remote.DefaultClient.Stats()
			require.LessOrEqual(t, now.Bytes-opened.Bytes, c.most, "of 4 chunks of at least 5 MiB")
			require.LessOrEqual(t, now.Requests-opened.Requests, int64(8), "the head and a block of each chunk")
		})
	}
}
