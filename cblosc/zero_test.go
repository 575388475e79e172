package cblosc_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// zeroCParams returns the parameters that CParams{} means.
func zeroCParams() *cblosc.CParams {
	return &cblosc.CParams{Codec: cblosc.BloscLZ, Level: 0, TypeSize: 8, Threads: 1, Split: cblosc.SplitForwardCompat}
}

// zeroTuner returns CParams{} for every chunk.
type zeroTuner struct{}

func (zeroTuner) Next(cblosc.CParams, cblosc.TunerChunk) (cblosc.CParams, error) {
	return cblosc.CParams{}, nil
}
func (zeroTuner) Update(cblosc.CParams, cblosc.TunerChunk) error { return nil }

func TestCParams_zero(t *testing.T) {
	src := testutil.Ramp(8000, 1)
	p := &cblosc.CParams{}
	require.NoError(t, p.Validate())
	require.Equal(t, zeroCParams(), p.WithDefaults())
	require.Equal(t, zeroCParams().String(), p.String())
	require.Equal(t, cblosc.DefaultCParams(), (*cblosc.CParams)(nil).WithDefaults())
	want := compress(t, zeroCParams(), src)
	require.Greater(t, len(want), len(src), "level 0 stores")

	t.Run("compressor", func(t *testing.T) { require.Equal(t, want, compress(t, p, src)) })
	t.Run("pool", func(t *testing.T) {
		pool, err := cblosc.NewPool(p, &cblosc.DParams{})
		require.NoError(t, err)
		closing(t, pool)
		dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
		n, err := pool.Compress(dst, src)
		require.NoError(t, err)
		require.Equal(t, want, dst[:n])
		got := make([]byte, len(src))
		_, err = pool.Decompress(got, dst[:n])
		require.NoError(t, err)
		require.Equal(t, src, got)
	})
	t.Run("tuner", func(t *testing.T) {
		c, err := cblosc.NewTuned(nil, zeroTuner{})
		require.NoError(t, err)
		closing(t, c)
		dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
		n, err := c.Compress(dst, src)
		require.NoError(t, err)
		require.Equal(t, want, dst[:n])
	})
	t.Run("Blosc1", func(t *testing.T) {
		dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
		n, err := cblosc.CompressBlosc1(p, dst, src)
		require.NoError(t, err)
		info, err := cblosc.Info(dst[:n])
		require.NoError(t, err)
		require.Equal(t, 8, info.TypeSize)
		require.True(t, info.Stored)
	})
	t.Run("special chunk", func(t *testing.T) {
		b, err := cblosc.SpecialChunk(p, cblosc.Zeros, 80, nil)
		require.NoError(t, err)
		info, err := cblosc.Info(b)
		require.NoError(t, err)
		require.Equal(t, 8, info.TypeSize)
	})
	require.Equal(t, &cblosc.CParams{}, p, "the caller's parameters are unchanged")
}

func TestDParams_zero(t *testing.T) {
	p := &cblosc.DParams{}
	d, err := cblosc.NewDecompressor(p)
	require.NoError(t, err)
	closing(t, d)
	src := testutil.Ramp(8000, 1)
	got := make([]byte, len(src))
	_, err = d.Decompress(got, compress(t, nil, src))
	require.NoError(t, err)
	require.Equal(t, src, got)
	require.Zero(t, p.Threads)
}

func TestStorage_zero(t *testing.T) {
	src := testutil.Ramp(8000, 1)
	for name, st := range map[string]cblosc.Storage{"storage": {}, "parameters": {CParams: &cblosc.CParams{}, DParams: &cblosc.DParams{}}} {
		t.Run(name, func(t *testing.T) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			closing(t, s)
			require.NoError(t, s.AppendBuffer(src))
			require.Equal(t, 8, s.TypeSize())
			c, err := s.Copy(st)
			require.NoError(t, err)
			closing(t, c)
			got := make([]byte, len(src))
			_, err = c.DecompressChunk(got, 0)
			require.NoError(t, err)
			require.Equal(t, src, got)
		})
	}
}

func TestOpenOptions_zero(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2frame")
	src := testutil.Ramp(8000, 1)
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: true, CParams: &cblosc.CParams{}})
	require.NoError(t, err)
	require.NoError(t, s.AppendBuffer(src))
	require.NoError(t, s.Close())
	s, err = cblosc.OpenSChunkWith(path, cblosc.OpenOptions{})
	require.NoError(t, err)
	closing(t, s)
	got := make([]byte, len(src))
	_, err = s.DecompressChunk(got, 0)
	require.NoError(t, err)
	require.Equal(t, src, got)
}

func TestArrayParams_zero(t *testing.T) {
	for name, p := range map[string]*cblosc.ArrayParams{
		"array": {}, "parameters": {Storage: cblosc.Storage{CParams: &cblosc.CParams{}, DParams: &cblosc.DParams{}}},
	} {
		t.Run(name, func(t *testing.T) {
			value := []byte("8 bytes.")
			a, err := cblosc.CreateArrayFrom(p, value)
			require.NoError(t, err)
			closing(t, a)
			require.Empty(t, a.Shape(), "a scalar")
			require.Equal(t, 8, a.ItemSize())
			got := make([]byte, 8)
			require.NoError(t, a.ReadRegion(got, nil, nil))
			require.Equal(t, value, got)
		})
	}
}

func TestLayout_zero(t *testing.T) {
	src := testutil.Ramp(4*100, 1)
	a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{100}, ChunkShape: []int32{20}, Blocks: []int32{10},
		Storage: cblosc.Storage{CParams: cparams(4)}}, src)
	require.NoError(t, err)
	closing(t, a)
	for name, l := range map[string]cblosc.Layout{
		"layout": {}, "parameters": {Storage: cblosc.Storage{CParams: &cblosc.CParams{}, DParams: &cblosc.DParams{}}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := a.Copy(l)
			require.NoError(t, err)
			closing(t, c)
			got := make([]byte, len(src))
			require.NoError(t, c.ReadRegion(got, []int64{0}, []int64{100}))
			require.Equal(t, src, got)
			part, err := a.Slice([]int64{5}, []int64{30}, l)
			require.NoError(t, err)
			closing(t, part)
			require.Equal(t, 4, part.ItemSize(), "the size of the source's elements")
			require.NoError(t, part.ReadRegion(got[:120], []int64{0}, []int64{30}))
			require.True(t, bytes.Equal(src[20:140], got[:120]))
		})
	}
}
