package frameio_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// limits returns limits that prevent an invalid frame from using all memory of the machine.
func limits() *frameio.Limits { return &frameio.Limits{Chunk: 1 << 20, Index: 1 << 20} }

// FuzzFrame checks that no input makes a reader panic, crash or use much memory, and that every
// error has a type.
func FuzzFrame(f *testing.F) {
	dir := f.TempDir()
	add := func(name string) {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(b)
	}
	p := cblosc.DefaultCParams()
	p.TypeSize, p.BlockSize = 4, 256
	writeFrame(f, filepath.Join(dir, "frame"), true, p, testutil.Ramp(1000, 1), make([]byte, 1000), testutil.Noise(500, 2))
	add(filepath.Join(dir, "frame"))
	for _, codec := range cblosc.Codecs() {
		p.Codec = codec
		name := filepath.Join(dir, codec.String())
		a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{30, 20}, ChunkShape: []int32{12, 9}, Blocks: []int32{5, 3},
			Storage: cblosc.Storage{Path: name, Contiguous: true, CParams: p}})
		require.NoError(f, err)
		require.NoError(f, a.WriteRegion(testutil.Ramp(20*20*4, 3), []int64{5, 0}, []int64{20, 20}))
		require.NoError(f, a.SChunk().VLMeta().Add("vl", []byte("content")))
		require.NoError(f, a.Close())
		add(name)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := frameio.OpenReaderAt(bytes.NewReader(b), int64(len(b)), limits())
		if err != nil {
			typed(t, err)
			return
		}
		defer func() { require.NoError(t, frame.Close()) }()
		dst := make([]byte, 1<<16)
		for i := range min(frame.NumChunks(), 8) {
			_, err := frame.Chunk(dst, i)
			typed(t, err)
			_, err = frame.Decompress(dst, i)
			typed(t, err)
			_, err = frame.Items(dst[:min(frame.TypeSize(), len(dst))], i, 1, 1)
			typed(t, err)
		}
		for _, name := range frame.VLMetalayers() {
			_, err := frame.VLMetalayer(name)
			typed(t, err)
		}
		a, err := frame.Array()
		if err != nil {
			typed(t, err)
			return
		}
		shape, start := a.Shape(), make([]int64, len(a.Shape()))
		n := int64(a.ItemSize())
		for d := range shape {
			start[d] = shape[d] / 3
			shape[d] = min(shape[d]-start[d], 3)
			n *= shape[d]
		}
		if n <= int64(len(dst)) {
			typed(t, a.ReadRegion(t.Context(), dst[:n], start, shape, 1))
		}
	})
}

// TestLimits checks that a small frame with many values is rejected if the reader must allocate
// memory for the values, and only then.
func TestLimits(t *testing.T) {
	p := cblosc.DefaultCParams()
	p.Filters[0].ID = cblosc.Delta // so that chunks are decoded as a whole
	path := filepath.Join(t.TempDir(), "frame")
	data := testutil.Ramp(2<<20, 1)
	writeFrame(t, path, true, p, data)
	f, err := frameio.Open(path, limits())
	require.NoError(t, err)
	closing(t, f)
	_, err = f.Items(make([]byte, 8), 0, 5, 1)
	limited(t, err, "2097152", "at most 1048576")
	_, err = f.ReadAt(make([]byte, 8), 5)
	limited(t, err, "2097152", "at most 1048576")
	got := make([]byte, len(data))
	_, err = f.Decompress(got, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))

	a, _ := newArray(t, true, []int64{1 << 20}, []int32{1 << 20}, []int32{1 << 19})
	b, err := frameio.Open(a.Path(), limits())
	require.NoError(t, err)
	closing(t, b)
	limitedArray, err := b.Array()
	require.NoError(t, err)
	err = limitedArray.ReadRegion(t.Context(), make([]byte, 40), []int64{5}, []int64{10}, 1)
	limited(t, err, "2097152", "at most 1048576")
}

// limited checks that err wraps ErrLimit and contains both sizes.
func limited(t *testing.T, err error, got, want string) {
	t.Helper()
	require.ErrorIs(t, err, format.ErrLimit)
	require.ErrorContains(t, err, got)
	require.ErrorContains(t, err, want)
}
