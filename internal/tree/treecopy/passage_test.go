package treecopy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/ndarray"
)

func parsed(t require.TestingT, s string) ndarray.DType {
	d, err := ndarray.ParseDType(s)
	require.NoError(t, err)
	return d
}

// passages are pairs of arrays between which chunks can be copied without recompression.
var passages = []struct {
	name, src, dst string
	codec          [2]string
	filters        []string
	edges          bool // chunks at the edge are copied without recompression too
}{
	{"b2nd to b2nd", "a.b2nd", "b.b2nd", [2]string{"zstd", "zstd"}, []string{"shuffle"}, true},
	{"hdf5 to hdf5", "a.h5:/x", "b.h5:/x", [2]string{"deflate", "deflate"}, []string{"shuffle", "fletcher32"}, true},
	{"blosc2 hdf5 to hdf5", "a.h5:/x", "b.h5:/x", [2]string{"blosc2/lz4", "blosc2/lz4"}, []string{"bitshuffle"}, true},
	{"b2nd to hdf5", "a.b2nd", "b.h5:/x", [2]string{"zstd", "blosc2/zstd"}, []string{"shuffle"}, false},
	{"hdf5 to b2nd", "a.h5:/x", "b.b2nd", [2]string{"blosc2/zstd", "zstd"}, []string{"shuffle"}, true},
}

// TestChunksPass checks that chunks are copied without recompression and that the copy has the same
// elements as the source.
func TestChunksPass(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := rapid.SampledFrom(passages).Draw(rt, "passage")
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(rt, err)
		shape := []int64{rapid.Int64Range(1, 60).Draw(rt, "rows"), rapid.Int64Range(1, 60).Draw(rt, "columns")}
		spec := ndarray.Spec{Shape: shape, ChunkShape: []int64{20, 30}, BlockShape: []int64{10, 15}, DType: parsed(rt, rapid.SampledFrom([]string{"<i4", ">f8", "|S3"}).Draw(rt, "dtype"))}
		for i := range shape {
			spec.ChunkShape[i] = min(spec.ChunkShape[i], shape[i])
			spec.BlockShape[i] = min(spec.BlockShape[i], shape[i])
		}
		if rapid.Bool().Draw(rt, "fill") {
			spec.Fill = make([]byte, spec.DType.Size)
			spec.Fill[0] = 5
		}
		spec.Compression = &ndarray.Compression{Codec: c.codec[0], Level: 4, Filters: c.filters}
		s, err := hyperslab.Create(bg, filepath.Join(dir, c.src), spec, nil)
		require.NoError(rt, err)
		total := int64(0)
		inside, written, stored := int64(0), int64(0), int64(0)
		for r := range s.ChunkRegions() {
			total++
			if rapid.Bool().Draw(rt, "empty") {
				continue
			}
			b := make([]byte, r.NumElems()*int64(spec.DType.Size))
			for i := range b {
				b[i] = byte(i / 3)
			}
			require.NoError(rt, s.Write(bg, b, r))
			stored++
			if r.Shape[0] == spec.ChunkShape[0] && r.Shape[1] == spec.ChunkShape[1] {
				inside++
			} else {
				written++
			}
		}
		require.NoError(rt, s.Commit(bg))
		src, err := hyperslab.Open(bg, filepath.Join(dir, c.src), nil)
		require.NoError(rt, err)
		want := make([]byte, src.NBytes())
		require.NoError(rt, src.Read(bg, want, ndarray.Whole(shape)))

		spec.Compression = &ndarray.Compression{Codec: c.codec[1], Level: 4, Filters: c.filters}
		if src.Meta().BlockShape == nil {
			spec.BlockShape = spec.ChunkShape // the filter's default for chunks of less than 64 KiB
		}
		d, err := hyperslab.Create(bg, filepath.Join(dir, c.dst), spec, nil)
		require.NoError(rt, err)
		stats, err := ndarray.Copy(bg, d.Array, src, &ndarray.CopyOptions{Workers: 2})
		require.NoError(rt, err)
		switch {
		case stored == 0 && c.name == "hdf5 to b2nd":
			require.Zero(rt, stats.Passed, "no chunk says in which blocks they are")
		case c.edges: // Copy skips chunks that neither array stores
			require.GreaterOrEqual(rt, stats.Passed, stored)
			require.LessOrEqual(rt, stats.Passed, total)
		default:
			require.GreaterOrEqual(rt, stats.Passed, inside, "whole chunks")
			require.LessOrEqual(rt, stats.Passed, total-written, "chunks at the edge are written as elements")
		}
		require.NoError(rt, d.Commit(bg))
		require.NoError(rt, src.Close())
		for _, library := range []bool{false, true} {
			dst, err := hyperslab.Open(bg, filepath.Join(dir, c.dst), &hyperslab.OpenOptions{Library: library})
			require.NoError(rt, err)
			got := make([]byte, len(want))
			require.NoError(rt, dst.Read(bg, got, ndarray.Whole(shape)))
			require.Equal(rt, want, got)
			require.NoError(rt, dst.Close())
		}
	})
}

// TestCopy_recompressedChunks checks that chunks are recompressed if the target has another level,
// codec, chunk shape or byte order.
func TestCopy_recompressedChunks(t *testing.T) {
	spec := func(edit func(*ndarray.Spec)) ndarray.Spec {
		s := ndarray.Spec{
			Shape: []int64{40, 40}, ChunkShape: []int64{20, 20}, BlockShape: []int64{10, 20}, DType: parsed(t, "<i4"),
			Compression: &ndarray.Compression{Codec: "zstd", Level: 4, Filters: []string{"shuffle"}},
		}
		if edit != nil {
			edit(&s)
		}
		return s
	}
	dir := t.TempDir()
	src := filepath.Join(dir, "src.b2nd")
	d, err := hyperslab.Create(bg, src, spec(nil), nil)
	require.NoError(t, err)
	want := make([]byte, 4*1600)
	for i := range want {
		want[i] = byte(i >> 4)
	}
	require.NoError(t, d.Write(bg, want, ndarray.Whole([]int64{40, 40})))
	require.NoError(t, d.Commit(bg))
	a, err := hyperslab.Open(bg, src, nil)
	require.NoError(t, err)
	for i, c := range []struct {
		edit   func(*ndarray.Spec)
		decode bool
		passed int64
	}{
		{nil, false, 4},
		{nil, true, 0},
		{func(s *ndarray.Spec) { s.Compression.Level = 5 }, false, 0},
		{func(s *ndarray.Spec) { s.Compression.Codec = "lz4" }, false, 0},
		{func(s *ndarray.Spec) { s.Compression.Filters = nil }, false, 0},
		{func(s *ndarray.Spec) { s.ChunkShape = []int64{20, 40} }, false, 0},
		{func(s *ndarray.Spec) { s.BlockShape = []int64{20, 10} }, false, 0},
		{func(s *ndarray.Spec) { s.DType = parsed(t, ">i4") }, false, 0},
	} {
		d, err := hyperslab.Create(bg, filepath.Join(dir, fmt.Sprint(i, ".b2nd")), spec(c.edit), nil)
		require.NoError(t, err)
		stats, err := ndarray.Copy(bg, d.Array, a, &ndarray.CopyOptions{Decode: c.decode})
		require.NoError(t, err)
		require.Equal(t, c.passed, stats.Passed, i)
		got := make([]byte, len(want))
		require.NoError(t, d.Read(bg, got, ndarray.Whole([]int64{40, 40})))
		require.Equal(t, want, got)
		require.NoError(t, d.Close())
	}
	require.NoError(t, a.Close())
}

// TestCopy_pluginChunks checks that hdf5plugin reads Blosc2 chunks of an HDF5 file: chunks that
// were copied from a frame without recompression, whose block shape is not the filter's default,
// and chunks that our filter has written.
func TestCopy_pluginChunks(t *testing.T) {
	dir := t.TempDir()
	shape := []int64{90, 50}
	spec := ndarray.Spec{
		Shape: shape, ChunkShape: []int64{40, 20}, BlockShape: []int64{16, 7}, DType: parsed(t, "<i4"),
		Compression: &ndarray.Compression{Codec: "zstd", Level: 4, Filters: []string{"shuffle"}},
	}
	want := make([]byte, 4*90*50)
	for i := range want {
		want[i] = byte(i * i >> 9)
	}
	s, err := hyperslab.Create(bg, filepath.Join(dir, "a.b2nd"), spec, nil)
	require.NoError(t, err)
	require.NoError(t, s.Write(bg, want, ndarray.Whole(shape)))
	require.NoError(t, s.Commit(bg))
	src, err := hyperslab.Open(bg, filepath.Join(dir, "a.b2nd"), nil)
	require.NoError(t, err)
	spec.Compression.Codec, spec.BlockShape = "blosc2/zstd", nil
	d, err := hyperslab.Create(bg, filepath.Join(dir, "a.h5")+":/x", spec, nil)
	require.NoError(t, err)
	stats, err := ndarray.Copy(bg, d.Array, src, nil)
	require.NoError(t, err)
	require.Equal(t, int64(4), stats.Passed, "of 9, those inside the array")
	require.NoError(t, d.Commit(bg))
	require.NoError(t, src.Close())
	sum := sha256.Sum256(want)
	pythonRun(t, `
import sys, hashlib, h5py, hdf5plugin
a = h5py.File(sys.argv[1])["x"][()]
assert hashlib.sha256(a.tobytes()).hexdigest() == sys.argv[2]
`, filepath.Join(dir, "a.h5"), hex.EncodeToString(sum[:]))
}

// pythonRun runs a Python program.
func pythonRun(t *testing.T, code string, args ...string) {
	t.Helper()
	testutil.Python(t, []string{"h5py", "hdf5plugin"}, append([]string{"-c", code}, args...)...)
}

// TestCopy_maskedChunk copies chunks whose filter was skipped when they were written: a chunk in
// the stored form of Blosc2 would be read from them.
func TestCopy_maskedChunk(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "a.h5")
	spec := ndarray.Spec{
		Shape: []int64{40, 4}, ChunkShape: []int64{10, 4}, BlockShape: []int64{5, 4}, DType: ndarray.DTypeOf[int8](),
		Compression: &ndarray.Compression{Codec: "blosc2/lz4", Level: 4, Filters: []string{"shuffle"}},
	}
	d, err := hyperslab.Create(bg, source+":/x", spec, nil)
	require.NoError(t, err)
	want := make([]byte, 160)
	for i := range want {
		want[i] = byte(i)
	}
	require.NoError(t, errors.Join(d.Write(bg, want, ndarray.Whole(spec.Shape)), d.Commit(bg), d.Close()))
	for n, rows := range [][]int64{{0}, {0, 20}, {0, 10, 20, 30}} {
		f, err := h5.Open(source, h5.ReadWrite)
		require.NoError(t, err)
		x, err := f.Root().OpenDataset("x")
		require.NoError(t, err)
		for _, row := range rows {
			require.NoError(t, x.WriteChunk(want[4*row:4*row+40], 1, row, 0))
		}
		require.NoError(t, f.Close())
		for _, target := range []string{"b.b2nd", "b.h5:/x"} {
			to := filepath.Join(dir, fmt.Sprint(n)+target)
			src, err := hyperslab.Open(bg, source+":/x", nil)
			require.NoError(t, err)
			c := src.Meta().Spec()
			if target == "b.b2nd" {
				c.Compression = &ndarray.Compression{Codec: "lz4", Level: 4, Filters: []string{"shuffle"}}
			}
			dst, err := hyperslab.Create(bg, to, c, nil)
			require.NoError(t, err)
			_, err = ndarray.Copy(bg, dst.Array, src, nil)
			require.NoError(t, err)
			require.NoError(t, errors.Join(dst.Commit(bg), dst.Close(), src.Close()))
			a, err := hyperslab.Open(bg, to, nil)
			require.NoError(t, err)
			got := make([]byte, 160)
			require.NoError(t, a.Read(bg, got, ndarray.Whole(spec.Shape)))
			require.Equal(t, want, got, "%s %v", target, rows)
			require.NoError(t, a.Close())
		}
	}
}
