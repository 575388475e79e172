package hdf5_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/testkit/samples"
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

// TestRead_contiguous compares reads of a contiguous dataset without libhdf5 with those of libhdf5,
// for regions of one row, of long rows, and of short rows.
func TestRead_contiguous(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SampledFrom([][]int64{{5000}, {7, 1500}, {3, 4, 900}, {40, 30}}).Draw(t, "shape")
		d, err := ndarray.ParseDType(rapid.SampledFrom([]string{"<i4", ">f8"}).Draw(t, "dtype"))
		require.NoError(t, err)
		file := filepath.Join(dir, "x.h5")
		require.NoError(t, os.RemoveAll(file))
		b, err := hdf5.Create(file, "x", ndarray.Spec{Shape: shape, DType: d, Compression: &ndarray.Compression{Codec: "none"}}, nil)
		require.NoError(t, err)
		whole := ndarray.Whole(shape)
		values := make([]byte, whole.NumElems()*int64(d.Size))
		rand.NewChaCha8([32]byte{1}).Read(values)
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(ctx, values, whole, 0))
		require.NoError(t, b.Close())
		ours, err := hdf5.Open(file, "x", nil)
		require.NoError(t, err)
		library, err := hdf5.Open(file, "x", &hdf5.OpenOptions{Library: true})
		require.NoError(t, err)
		for range 4 { // the first read of a dataset is libhdf5's
			r := ndarray.Region{}
			for _, n := range shape {
				start := rapid.Int64Range(0, n-1).Draw(t, "start")
				length := rapid.SampledFrom([]int64{1, n - start, (n - start + 1) / 2}).Draw(t, "length")
				r.Start, r.Shape = append(r.Start, start), append(r.Shape, length)
			}
			got := make([]byte, r.NumElems()*int64(d.Size))
			want := bytes.Clone(got)
			require.NoError(t, ours.ReadRegion(ctx, got, r, 0))
			require.NoError(t, library.ReadRegion(ctx, want, r, 0))
			require.Equal(t, want, got, "%v", r)
		}
		require.NoError(t, ours.Close())
		require.NoError(t, library.Close())
	})
}
