package b2nd_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// drawSpec draws an array of at most a few thousand elements.
func drawSpec(t *rapid.T) ndarray.Spec {
	var s ndarray.Spec
	for range rapid.IntRange(0, 3).Draw(t, "rank") {
		n := rapid.Int64Range(1, 16).Draw(t, "length")
		s.Shape = append(s.Shape, n)
		s.ChunkShape = append(s.ChunkShape, rapid.Int64Range(max(1, n/4), n).Draw(t, "chunk"))
		s.BlockShape = append(s.BlockShape, rapid.Int64Range(1, s.ChunkShape[len(s.Shape)-1]).Draw(t, "block"))
	}
	d, err := ndarray.ParseDType(rapid.SampledFrom([]string{"<i4", ">f8", "|u1", "|S5", "<c16"}).Draw(t, "dtype"))
	require.NoError(t, err)
	s.DType = d
	if rapid.Bool().Draw(t, "fill") {
		s.Fill = bytes.Repeat([]byte{7}, d.Size)
	}
	s.Compression = &ndarray.Compression{
		Codec: rapid.SampledFrom([]string{"lz4", "zstd", "blosclz"}).Draw(t, "codec"), Level: 3,
		Filters: rapid.SampledFrom([][]string{nil, {"shuffle"}, {"bitshuffle"}}).Draw(t, "filters"),
	}
	return s
}

func drawRegion(t *rapid.T, s ndarray.Spec) ndarray.Region {
	r := ndarray.Whole(s.Shape)
	aligned := rapid.Bool().Draw(t, "aligned")
	for i, n := range s.Shape {
		from := rapid.Int64Range(0, n-1).Draw(t, "from")
		to := rapid.Int64Range(from, n-1).Draw(t, "to") + 1
		if c := s.ChunkShape[i]; aligned {
			from, to = from/c*c, min((to+c-1)/c*c, n)
		}
		r.Start[i], r.Shape[i] = from, to-from
	}
	return r
}

// Workers and the library write and read the same: each what the other has written,
// in new and in open files.
func TestWorkersAndLibraryAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		sparse := rapid.Bool().Draw(t, "sparse")
		dir, err := os.MkdirTemp("", "b2nd")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		var paths [2]string
		var arrays [2]*ndarray.Array
		for k, library := range []bool{false, true} {
			paths[k] = filepath.Join(dir, []string{"workers", "library"}[k])
			b, err := b2nd.Create(paths[k], spec, &b2nd.CreateOptions{Sparse: sparse, Library: library})
			require.NoError(t, err)
			arrays[k], err = ndarray.New(b)
			require.NoError(t, err)
		}
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			r := drawRegion(t, spec)
			b := make([]byte, int(r.NumElems())*spec.DType.Size)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0: // compare
				other := make([]byte, len(b))
				require.NoError(t, arrays[0].Read(bg, b, r))
				require.NoError(t, arrays[1].Read(bg, other, r))
				require.Equal(t, other, b)
			case 1: // open again, the other way round
				for k, a := range arrays {
					require.NoError(t, a.Close())
					x, err := b2nd.Open(paths[k], &b2nd.OpenOptions{Write: true, Library: rapid.Bool().Draw(t, "library")})
					require.NoError(t, err)
					arrays[k], err = ndarray.New(x)
					require.NoError(t, err)
				}
			case 2: // an attribute in between
				for _, a := range arrays {
					require.NoError(t, a.SetAttr(bg, ndarray.Attr{Name: "n", Value: ndarray.Scalar(int64(len(b)))}))
				}
			default:
				for i := range b {
					b[i] = byte(i*i) & 0x3f
				}
				for _, a := range arrays {
					require.NoError(t, a.Write(bg, b, r))
				}
			}
		}
		for _, a := range arrays {
			require.NoError(t, a.Close())
		}
		var all [2][]byte
		for k := range all {
			x, err := b2nd.Open(paths[1-k], &b2nd.OpenOptions{Library: k == 0})
			require.NoError(t, err)
			a, err := ndarray.New(x)
			require.NoError(t, err)
			all[k] = make([]byte, a.NBytes())
			require.NoError(t, a.Read(bg, all[k], ndarray.Whole(spec.Shape)))
			require.NoError(t, a.Close())
		}
		require.Equal(t, all[0], all[1])
	})
}

// Storage says who moves the elements.
func TestStorageNamesTheLibrary(t *testing.T) {
	path := create(t, nil)
	s, err := open(t, path, nil).Storage(bg)
	require.NoError(t, err)
	require.Empty(t, s.Library)
	s, err = open(t, path, &b2nd.OpenOptions{Library: true}).Storage(bg)
	require.NoError(t, err)
	require.Equal(t, "asked for", s.Library)
}

// A whole array is byte for byte the same whoever wrote it, and however often.
func TestNewArraysAreTheLibrarys(t *testing.T) {
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
		require.NoError(t, b.WriteRegion(bg, src, ndarray.Whole(spec.Shape)))
		require.NoError(t, b.Close())
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		files = append(files, file)
	}
	require.Equal(t, files[0], files[1])
	require.Equal(t, files[1], files[2])
}
