package b2nd_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

func CheckEngines(t *testing.T) {
	sparse := false // whether the last random array is sparse
	samples.CheckEngines(t, samples.Engines{
		Create: func(path string, spec ndarray.Spec, library bool) (ndarray.Backend, error) {
			return b2nd.Create(path, spec, &b2nd.CreateOptions{Sparse: sparse, Library: library})
		},
		Open: func(path string, library bool) (ndarray.Backend, error) {
			return b2nd.Open(path, &b2nd.OpenOptions{Write: true, Library: library})
		},
		Draw: func(t *rapid.T, s *ndarray.Spec) {
			sparse = rapid.Bool().Draw(t, "sparse")
			for _, c := range s.ChunkShape {
				s.BlockShape = append(s.BlockShape, rapid.Int64Range(1, c).Draw(t, "block"))
			}
			s.Compression = &ndarray.Compression{
				Codec: rapid.SampledFrom([]string{"lz4", "zstd", "blosclz"}).Draw(t, "codec"), Level: 3,
				Filters: rapid.SampledFrom([][]string{nil, {"shuffle"}, {"bitshuffle"}}).Draw(t, "filters"),
			}
		},
	})
}

// TestStorage_library checks that Storage reports whether C-Blosc2 reads and writes the elements.
func TestStorage_library(t *testing.T) {
	path := create(t, nil)
	s, err := open(t, path, nil).Storage(bg)
	require.NoError(t, err)
	require.Empty(t, s.Library)
	s, err = open(t, path, &b2nd.OpenOptions{Library: true}).Storage(bg)
	require.NoError(t, err)
	require.Equal(t, "asked for", s.Library)
}

// TestCreate_againstLibrary checks that C-Blosc2 and workers write an array with the same bytes,
// and that repeated writes are reproducible.
func TestCreate_againstLibrary(t *testing.T) {
	spec := ndarray.Spec{Shape: []int64{100, 70}, ChunkShape: []int64{10, 30}, BlockShape: []int64{5, 10}, DType: dtype(t, "<i4")}
	src := make([]byte, 4*7000)
	for i := range src {
		src[i] = byte(i * i >> 7)
	}
	var files [][]byte
	for _, library := range []bool{true, false, false} {
		path := filepath.Join(t.TempDir(), "a.b2nd")
		b, err := b2nd.Create(path, spec, &b2nd.CreateOptions{Library: library})
		require.NoError(t, err)
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, src, ndarray.Whole(spec.Shape), 0))
		require.NoError(t, b.Close())
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		files = append(files, file)
	}
	require.Equal(t, files[0], files[1])
	require.Equal(t, files[1], files[2])
}
