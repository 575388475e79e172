package cblosc_test

import (
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// waves returns n float64 values of a smooth function.
func waves(n int) []byte {
	var b []byte
	for i := range n {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(math.Sin(float64(i)/50)+3))
	}
	return b
}

func floats(b []byte) []float64 {
	var fs []float64
	for len(b) > 0 {
		fs = append(fs, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		b = b[8:]
	}
	return fs
}

// TestArray_Codecs checks the codecs and filters for arrays. Data must be restored exactly or
// within the tolerance, the file must be smaller, and only readers that allow the codec may read
// it.
func TestArray_Codecs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		edit  func(*cblosc.CParams)
		error float64 // maximum absolute error
	}{
		{"ndlz(4)", func(p *cblosc.CParams) { p.TypeSize = 1; p.Codec, p.CodecMeta = cblosc.NDLZ, 4 }, 0},
		{"ndlz(8)", func(p *cblosc.CParams) { p.TypeSize = 1; p.Codec, p.CodecMeta = cblosc.NDLZ, 8 }, 0},
		{"zfp_acc(-3)", func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPAccuracy, 0xFD }, 1e-3},
		{"zfp_prec(20)", func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPPrecision, 20 }, 1e-3},
		{"zfp_rate(50)", func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPRate, 50 }, 1e-3},
		{"ndcell(4)", func(p *cblosc.CParams) {
			p.Filters[4], p.Filters[5] = cblosc.Filter{ID: cblosc.NDCell, Meta: 4}, cblosc.Filter{ID: cblosc.Shuffle}
		}, 0},
		{"ndmean(4)", func(p *cblosc.CParams) {
			p.Filters[4], p.Filters[5] = cblosc.Filter{ID: cblosc.NDMean, Meta: 4}, cblosc.Filter{ID: cblosc.Shuffle}
		}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := cblosc.DefaultCParams()
			p.Filters = [cblosc.MaxFilters]cblosc.Filter{}
			tt.edit(p)
			require.NoError(t, p.Validate())
			require.Contains(t, p.String(), tt.name)
			_, err := cblosc.NewCompressor(p)
			require.ErrorIs(t, err, cblosc.ErrParam)
			require.ErrorContains(t, err, "only for arrays")
			_, err = cblosc.NewPool(p, nil)
			require.ErrorIs(t, err, cblosc.ErrParam)
			_, err = cblosc.CreateSChunk(cblosc.Storage{CParams: p})
			require.ErrorIs(t, err, cblosc.ErrParam)

			allow := cblosc.Allow{}
			if p.Codec >= cblosc.NDLZ {
				allow.Codecs = []cblosc.Codec{p.Codec}
			}
			for _, f := range p.Filters {
				allow.Filters = append(allow.Filters, f.ID)
			}
			path := filepath.Join(t.TempDir(), "a.b2nd")
			dtype, src, size := "<f8", waves(64*64), 8
			if p.TypeSize == 1 {
				dtype, src, size = "|u1", testutil.Ramp(64*64, 1), 1
			}
			numbers := func(b []byte) (ns []float64) {
				for _, v := range b {
					ns = append(ns, float64(v))
				}
				return ns
			}
			if size == 8 {
				numbers = floats
			}
			a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{64, 64}, ChunkShape: []int32{32, 32}, Blocks: []int32{16, 16}, DType: dtype,
				Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: p, DParams: &cblosc.DParams{Threads: 1, Allow: allow}}})
			require.NoError(t, err)
			require.NoError(t, a.WriteRegion(src, []int64{0, 0}, []int64{64, 64}))
			read := func(a *cblosc.Array) {
				t.Helper()
				dst := make([]byte, len(src))
				require.NoError(t, a.ReadRegion(dst, []int64{0, 0}, []int64{64, 64}))
				if tt.error == 0 {
					require.Equal(t, src, dst)
				}
				want := numbers(src)
				for i, got := range numbers(dst) {
					require.InDelta(t, want[i], got, tt.error)
				}
				part := make([]byte, size*3*5)
				require.NoError(t, a.ReadRegion(part, []int64{30, 11}, []int64{3, 5}))
				for i, got := range numbers(part) {
					require.InDelta(t, want[(30+i/5)*64+11+i%5], got, tt.error)
				}
			}
			read(a)
			b, err := a.SChunk().Chunk(0)
			require.NoError(t, err)
			require.NoError(t, a.Close())

			a, err = cblosc.OpenArray(path)
			if err == nil {
				err = a.ReadRegion(make([]byte, len(src)), []int64{0, 0}, []int64{64, 64})
				require.NoError(t, a.Close())
			}
			require.ErrorIs(t, err, errors.ErrUnsupported, "not allowed")
			require.NotErrorIs(t, err, cblosc.ErrFormat)
			_, err = cblosc.Info(b)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			d, err := cblosc.NewDecompressor(&cblosc.DParams{Threads: 1, Allow: allow})
			require.NoError(t, err)
			closing(t, d)
			info, err := d.Info(b)
			require.NoError(t, err)
			made := info.CParams()
			require.NoError(t, made.Validate())
			require.Equal(t, []any{p.Codec, p.CodecMeta, p.Filters, p.TypeSize, 16 * 16 * size},
				[]any{made.Codec, made.CodecMeta, made.Filters, made.TypeSize, made.BlockSize})
			a, err = cblosc.OpenArrayWith(path, cblosc.OpenOptions{Allow: allow})
			require.NoError(t, err)
			closing(t, a)
			read(a)
			got, err := a.SChunk().CParams()
			require.NoError(t, err)
			require.Equal(t, p.Codec, got.Codec)
			require.Equal(t, p.CodecMeta, got.CodecMeta)
			require.Equal(t, p.Filters, got.Filters)
		})
	}
}

func TestAllow_linkedCodecs(t *testing.T) {
	for _, allow := range []cblosc.Allow{
		{Codecs: []cblosc.Codec{cblosc.Codec(chunk.Grok)}}, {Codecs: []cblosc.Codec{cblosc.Codec(chunk.OpenHTJ2K)}}, {Codecs: []cblosc.Codec{cblosc.Codec(chunk.Snappy)}},
		{Codecs: []cblosc.Codec{255}}, {Filters: []cblosc.FilterID{37}}, {Filters: []cblosc.FilterID{255}},
	} {
		_, err := cblosc.NewDecompressor(&cblosc.DParams{Threads: 1, Allow: allow})
		require.ErrorIs(t, err, cblosc.ErrParam, "%v", allow)
		_, err = cblosc.OpenSChunkWith("x", cblosc.OpenOptions{Allow: allow})
		require.ErrorIs(t, err, cblosc.ErrParam, "%v", allow)
	}
}

// TestCodec_arrayCodecs checks that a context without an array rejects chunks of the codecs for
// arrays, whether or not they are allowed.
func TestCodec_arrayCodecs(t *testing.T) {
	d, err := cblosc.NewDecompressor(&cblosc.DParams{Threads: 1, Allow: cblosc.Allow{
		Codecs: []cblosc.Codec{cblosc.NDLZ, cblosc.ZFPRate}, Filters: []cblosc.FilterID{cblosc.NDCell}}})
	require.NoError(t, err)
	closing(t, d)
	good := compress(t, cparams(4), testutil.Ramp(4096, 1))
	for name, edit := range map[string]func(b []byte){
		"ndlz":   func(b []byte) { b[2], b[0x16], b[0x17] = b[2]&0x1F|6<<5, 32, 4 },
		"zfp":    func(b []byte) { b[2], b[0x16], b[0x17] = b[2]&0x1F|6<<5, 35, 4 },
		"ndcell": func(b []byte) { b[0x14], b[0x1C] = 32, 4 },
	} {
		b := append([]byte(nil), good...)
		edit(b)
		_, err := d.Decompress(make([]byte, 4096), b)
		require.ErrorIs(t, err, cblosc.ErrParam, name)
		require.ErrorContains(t, err, "read only in an array", name)
	}
}
