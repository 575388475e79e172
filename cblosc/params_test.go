package cblosc_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
)

func TestCParams_defaults(t *testing.T) {
	require.Equal(t, cblosc.LibraryCParams(), cblosc.DefaultCParams())
	require.Equal(t, cblosc.LibraryDParams(), cblosc.DefaultDParams())
	require.NoError(t, cblosc.DefaultCParams().Validate())
}

func TestCodecNames(t *testing.T) {
	for _, c := range cblosc.Codecs() {
		got, err := cblosc.ParseCodec(c.String())
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
	for _, name := range []string{"", "snappy", "LZ4", "codec 3"} {
		_, err := cblosc.ParseCodec(name)
		require.ErrorIs(t, err, cblosc.ErrParam, "%q", name)
	}
	require.Equal(t, "codec 36", cblosc.Codec(36).String())
	require.Equal(t, "filter 34", cblosc.FilterID(34).String())
}

func TestCParamsValidate(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*cblosc.CParams)
		want string // part of the message; "" for valid
	}{
		{"level 0 stores", func(p *cblosc.CParams) { p.Level = 0 }, ""},
		{"level 9", func(p *cblosc.CParams) { p.Level = 9 }, ""},
		{"level 10", func(p *cblosc.CParams) { p.Level = 10 }, "Level = 10, want 0 to 9"},
		{"level -1", func(p *cblosc.CParams) { p.Level = -1 }, "Level = -1"},
		{"codec of Blosc1 without a decoder", func(p *cblosc.CParams) { p.Codec = 3 }, "Codec = codec 3"},
		{"plug-in codec", func(p *cblosc.CParams) { p.Codec = 36 }, "Codec = codec 36"},
		{"type size 300", func(p *cblosc.CParams) { p.TypeSize = 300 }, ""},
		{"type size 0", func(p *cblosc.CParams) { p.TypeSize = 0 }, ""},
		{"type size -1", func(p *cblosc.CParams) { p.TypeSize = -1 }, "TypeSize = -1"},
		{"type size above the block limit", func(p *cblosc.CParams) { p.TypeSize = 536866817 }, "TypeSize = 536866817"},
		{"block size", func(p *cblosc.CParams) { p.BlockSize = -1 }, "BlockSize = -1"},
		{"block size too great", func(p *cblosc.CParams) { p.BlockSize = math.MaxInt32 }, "BlockSize = 2147483647"},
		{"threads 0", func(p *cblosc.CParams) { p.Threads = 0 }, ""},
		{"threads -1", func(p *cblosc.CParams) { p.Threads = -1 }, "Threads = -1"},
		{"threads 32768", func(p *cblosc.CParams) { p.Threads = 32768 }, "Threads = 32768"},
		{"plug-in filter", func(p *cblosc.CParams) { p.Filters[2].ID = 200 }, "Filters[2] = filter 200"},
		{"split 0", func(p *cblosc.CParams) { p.Split = 0 }, ""},
		{"split 5", func(p *cblosc.CParams) { p.Split = 5 }, "Split = 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := cblosc.DefaultCParams()
			tt.edit(p)
			err := p.Validate()
			c, cerr := cblosc.NewCompressor(p)
			if tt.want == "" {
				require.NoError(t, err)
				require.NoError(t, cerr)
				require.NoError(t, c.Close())
				return
			}
			require.ErrorIs(t, err, cblosc.ErrParam)
			require.ErrorContains(t, err, tt.want)
			require.ErrorIs(t, cerr, cblosc.ErrParam)
			_, err = cblosc.CreateSChunk(cblosc.Storage{CParams: p})
			require.ErrorIs(t, err, cblosc.ErrParam)
			_, err = cblosc.NewPool(p, nil)
			require.ErrorIs(t, err, cblosc.ErrParam)
		})
	}
}

func TestCParams_validateAll(t *testing.T) {
	err := (&cblosc.CParams{Codec: 77, Level: 11, TypeSize: -1, Threads: -1, Split: -1}).Validate()
	for _, field := range []string{"Codec", "Level", "TypeSize", "Threads", "Split"} {
		require.ErrorContains(t, err, field)
	}
}

func TestDParamsValidate(t *testing.T) {
	_, err := cblosc.NewDecompressor(&cblosc.DParams{Threads: -2})
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.NewPool(nil, &cblosc.DParams{Threads: -1})
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.CreateSChunk(cblosc.Storage{DParams: &cblosc.DParams{Threads: 40000}})
	require.ErrorIs(t, err, cblosc.ErrParam)
}

func TestCParamsString(t *testing.T) {
	require.Equal(t, "blosclz 5, shuffle, type size 8", cblosc.DefaultCParams().String())
	p := &cblosc.CParams{Codec: cblosc.Zstd, Level: 3, TypeSize: 4, BlockSize: 64, Threads: 2, Split: cblosc.SplitNever}
	p.Filters[0] = cblosc.Filter{ID: cblosc.TruncPrec, Meta: 10}
	require.Equal(t, "zstd 3, trunc_prec(10), type size 4, block size 64, never split, 2 threads", p.String())
	require.Equal(t, "split mode 9", cblosc.SplitMode(9).String())
	seen := map[string]bool{}
	for m := cblosc.SplitAlways; m <= cblosc.SplitForwardCompat; m++ {
		seen[m.String()] = true
	}
	require.Len(t, seen, 4)
}

func TestVersions(t *testing.T) {
	require.Regexp(t, `^\d+\.\d+\.\d+`, cblosc.Version())
	vs, err := cblosc.CodecVersions()
	require.NoError(t, err)
	require.Len(t, vs, len(cblosc.Codecs()))
	for i, v := range vs {
		require.Equal(t, cblosc.Codecs()[i], v.Codec)
		require.NotEmpty(t, v.Library)
		require.Regexp(t, `^\d+\.\d+`, v.Version, "%v", v.Codec)
	}
}
