package hdf5_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/samples"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

func CheckEngines(t *testing.T) {
	samples.CheckEngines(t, samples.Engines{
		Create: func(path string, spec ndarray.Spec, library bool) (ndarray.Backend, error) {
			return hdf5.Create(path, "x", spec, &hdf5.CreateOptions{Library: library})
		},
		Open: func(path string, library bool) (ndarray.Backend, error) {
			return hdf5.Open(path, "x", &hdf5.OpenOptions{Write: true, Library: library})
		},
		Draw: func(t *rapid.T, s *ndarray.Spec) {
			s.Compression = &ndarray.Compression{
				Codec:   rapid.SampledFrom([]string{"none", "deflate"}).Draw(t, "codec"),
				Filters: rapid.SampledFrom([][]string{nil, {"shuffle"}, {"shuffle", "fletcher32"}}).Draw(t, "filters"),
			}
		},
	})
}

// TestStorage_library checks that Storage reports whether libhdf5 reads and writes the elements,
// and the reason.
func TestStorage_library(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		codec   string
		library bool
		want    string
	}{
		{"deflate", false, ""},
		{"deflate", true, "asked for"},
		{"none", false, "the dataset is contiguous"},
	} {
		file := create(t, func(s *ndarray.Spec) { s.Compression = &ndarray.Compression{Codec: c.codec} })
		b, err := hdf5.Open(file, "x", &hdf5.OpenOptions{Library: c.library})
		require.NoError(t, err)
		s, err := b.(ndarray.StorageReporter).Storage(ctx)
		require.NoError(t, err)
		require.Equal(t, c.want, s.Library)
		require.NoError(t, b.Close())
	}
}
