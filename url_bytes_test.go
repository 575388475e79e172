package hyperslab_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// TestRead_url_bytes limits the received bytes of a region that is much smaller than its chunks of
// 8 MiB. Only rows of an HDF5 chunk without filters and blocks of a b2nd chunk are read.
func TestRead_url_bytes(t *testing.T) {
	dir := t.TempDir()
	shape := []int64{4, 1024, 1024}
	spec := ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{1, 1024, 1024}}
	for name, codec := range map[string]string{"/plain.h5:/x": "none", "/plain.b2nd": "none", "/x.b2nd": "zstd"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			spec.Compression = &ndarray.Compression{Codec: codec}
			if codec != "none" {
				spec.Compression.Level = 1
			}
			fillArray(t, dir+name, spec, nil)
			s := serveDir(t, dir)
			a, err := hyperslab.Open(bg, s.URL+name, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			opened := remote.DefaultClient.Stats()
			r := ndarray.Region{Start: []int64{0, 512, 512}, Shape: []int64{4, 10, 10}}
			values := make([]int64, r.NumElems())
			require.NoError(t, ndarray.Read(bg, a, values, r))
			for i, v := range values {
				at := int64(i)/100*1024*1024 + (512+int64(i)/10%10)*1024 + 512 + int64(i)%10
				require.Equal(t, at*7919%10007, v)
			}
			now := remote.DefaultClient.Stats()
			require.LessOrEqual(t, now.Bytes-opened.Bytes, int64(1<<20), "of 4 chunks of 8 MiB")
			require.LessOrEqual(t, now.Requests-opened.Requests, int64(8), "the head and a block of each chunk")
		})
	}
}
