package hdf5_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// Workers and the library write and read the same: each what the other has written.
func TestWorkersAndLibraryAgree(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		var spec ndarray.Spec
		for range rapid.IntRange(1, 3).Draw(t, "rank") {
			n := rapid.Int64Range(1, 16).Draw(t, "length")
			spec.Shape = append(spec.Shape, n)
			spec.ChunkShape = append(spec.ChunkShape, rapid.Int64Range(max(1, n/4), n).Draw(t, "chunk"))
		}
		var err error
		spec.DType, err = ndarray.ParseDType(rapid.SampledFrom([]string{"<i4", ">f8", "|u1", "|S5", "<c16"}).Draw(t, "dtype"))
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "fill") {
			spec.Fill = bytes.Repeat([]byte{7}, spec.DType.Size)
		}
		spec.Compression = &ndarray.Compression{
			Codec:   rapid.SampledFrom([]string{"none", "deflate"}).Draw(t, "codec"),
			Filters: rapid.SampledFrom([][]string{nil, {"shuffle"}, {"shuffle", "fletcher32"}}).Draw(t, "filters"),
		}
		dir, err := os.MkdirTemp("", "hdf5")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		var paths [2]string
		var arrays [2]*ndarray.Array
		for k, library := range []bool{false, true} {
			paths[k] = filepath.Join(dir, []string{"workers", "library"}[k])
			b, err := hdf5.Create(paths[k], "x", spec, &hdf5.CreateOptions{Library: library})
			require.NoError(t, err)
			arrays[k], err = ndarray.New(b)
			require.NoError(t, err)
		}
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			r := ndarray.Whole(spec.Shape)
			for i, n := range spec.Shape {
				r.Start[i] = rapid.Int64Range(0, n-1).Draw(t, "from")
				r.Shape[i] = rapid.Int64Range(1, n-r.Start[i]).Draw(t, "length")
			}
			b := make([]byte, int(r.NumElems())*spec.DType.Size)
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0: // compare
				other := make([]byte, len(b))
				require.NoError(t, arrays[0].Read(ctx, b, r))
				require.NoError(t, arrays[1].Read(ctx, other, r))
				require.Equal(t, other, b)
			case 1: // open again, the other way round
				for k, a := range arrays {
					require.NoError(t, a.Close())
					x, err := hdf5.Open(paths[k], "x", &hdf5.OpenOptions{Write: true, Library: rapid.Bool().Draw(t, "library")})
					require.NoError(t, err)
					arrays[k], err = ndarray.New(x)
					require.NoError(t, err)
				}
			default:
				for i := range b {
					b[i] = byte(i*i) & 0x3f
				}
				for _, a := range arrays {
					require.NoError(t, a.Write(ctx, b, r))
				}
			}
		}
		for _, a := range arrays {
			require.NoError(t, a.Close())
		}
		var all [2][]byte
		for k := range all {
			x, err := hdf5.Open(paths[1-k], "x", &hdf5.OpenOptions{Library: k == 0})
			require.NoError(t, err)
			a, err := ndarray.New(x)
			require.NoError(t, err)
			all[k] = make([]byte, a.NBytes())
			require.NoError(t, a.Read(ctx, all[k], ndarray.Whole(spec.Shape)))
			require.NoError(t, a.Close())
		}
		require.Equal(t, all[0], all[1])
	})
}

// Storage says who moves the elements, and why.
func TestStorageNamesTheLibrary(t *testing.T) {
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
		s, err := b.Storage(ctx)
		require.NoError(t, err)
		require.Equal(t, c.want, s.Library)
		require.NoError(t, b.Close())
	}
}
