package cblosc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

func TestSpecialChunks(t *testing.T) {
	d := newDecompressor(t)
	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	for _, tt := range []struct {
		kind  cblosc.Special
		size  int
		value []byte
		want  []byte // one element; nil: not checked
	}{
		{cblosc.Zeros, 4, nil, []byte{0, 0, 0, 0}},
		{cblosc.Zeros, 300, nil, make([]byte, 300)},
		{cblosc.NaNs, 4, nil, nan},
		{cblosc.Repeated, 3, []byte{1, 2, 3}, []byte{1, 2, 3}},
		{cblosc.Repeated, 300, bytes.Repeat([]byte{7, 8}, 150), bytes.Repeat([]byte{7, 8}, 150)},
		{cblosc.Uninit, 8, nil, make([]byte, 8)},
	} {
		t.Run(tt.kind.String(), func(t *testing.T) {
			n := 100 * tt.size
			chunk, err := cblosc.SpecialChunk(cparams(tt.size), tt.kind, n, tt.value)
			require.NoError(t, err)
			require.Len(t, chunk, 32+len(tt.value))
			info, err := cblosc.Info(chunk)
			require.NoError(t, err)
			require.Equal(t, tt.kind, info.Special)
			require.Equal(t, n, info.NBytes)
			require.Equal(t, len(chunk), info.CBytes)
			dst := bytes.Repeat([]byte{0xEE}, n)
			got, err := d.Decompress(dst, chunk)
			require.NoError(t, err)
			require.Equal(t, n, got)
			require.Equal(t, bytes.Repeat(tt.want, 100), dst)
		})
	}
}

func TestSpecialChunk_invalidArguments(t *testing.T) {
	for _, tt := range []struct {
		name  string
		p     *cblosc.CParams
		kind  cblosc.Special
		n     int
		value []byte
		want  error
	}{
		{"no kind", nil, cblosc.NotSpecial, 8, nil, cblosc.ErrParam},
		{"unknown kind", nil, cblosc.Uninit + 1, 8, nil, cblosc.ErrParam},
		{"no data", nil, cblosc.Zeros, 0, nil, cblosc.ErrSize},
		{"negative", nil, cblosc.Zeros, -8, nil, cblosc.ErrSize},
		{"half an element", nil, cblosc.Zeros, 12, nil, cblosc.ErrSize},
		{"above 2 GiB", nil, cblosc.Zeros, math.MaxInt32 + 1, nil, cblosc.ErrLimit},
		{"value for zeros", nil, cblosc.Zeros, 8, []byte{1}, cblosc.ErrSize},
		{"short value", nil, cblosc.Repeated, 8, make([]byte, 7), cblosc.ErrSize},
		{"NaN of 2 bytes", cparams(2), cblosc.NaNs, 8, nil, cblosc.ErrParam},
		{"parameters", &cblosc.CParams{Level: -1}, cblosc.Zeros, 8, nil, cblosc.ErrParam},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := cblosc.SpecialChunk(tt.p, tt.kind, tt.n, tt.value)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestInfo(t *testing.T) {
	p := &cblosc.CParams{Codec: cblosc.Zstd, Level: 5, TypeSize: 4, BlockSize: 1024, Threads: 1, Split: cblosc.SplitNever}
	p.Filters[3].ID, p.Filters[5].ID = cblosc.Delta, cblosc.BitShuffle
	chunk := compress(t, p, testutil.Ramp(10000, 1))
	info, err := cblosc.Info(chunk[:32])
	require.NoError(t, err)
	require.Equal(t, cblosc.ChunkInfo{Version: 5, Codec: cblosc.Zstd, Filters: p.Filters, TypeSize: 4, NBytes: 10000,
		CBytes: len(chunk), BlockSize: 1024, HeaderSize: 32, Split: cblosc.SplitNever}, info)

	info, err = cblosc.Info(compress(t, p, testutil.Noise(500, 1)))
	require.NoError(t, err)
	require.True(t, info.Stored)

	for n := range 32 {
		_, err = cblosc.Info(chunk[:n])
		require.ErrorIs(t, err, cblosc.ErrFormat, "%d bytes", n)
		require.ErrorIs(t, err, format.ErrTruncated, "%d bytes", n)
	}
	chunk[0] = 7
	_, err = cblosc.Info(chunk)
	require.ErrorIs(t, err, format.ErrVersion)
}

// TestChunk_params checks that the parameters read from a chunk produce the same chunk again.
func TestChunk_params(t *testing.T) {
	src := testutil.Ramp(20_000, 1)
	for _, codec := range cblosc.Codecs() {
		for _, filter := range []cblosc.Filter{{}, {ID: cblosc.Shuffle}, {ID: cblosc.BitShuffle}, {ID: cblosc.Delta}, {ID: cblosc.TruncPrec, Meta: 9}} {
			for _, split := range []cblosc.SplitMode{cblosc.SplitAlways, cblosc.SplitNever} {
				p := cblosc.DefaultCParams()
				p.Codec, p.TypeSize, p.BlockSize, p.Split, p.Filters = codec, 4, 2048, split, [cblosc.MaxFilters]cblosc.Filter{2: filter}
				p.Dict = (codec == cblosc.Zstd || codec == cblosc.LZ4) && split == cblosc.SplitNever && filter.ID == cblosc.Shuffle
				b := compress(t, p, src)
				info, err := cblosc.Info(b)
				require.NoError(t, err)
				got := info.CParams()
				require.NoError(t, got.Validate())
				if codec == cblosc.LZ4HC {
					require.Equal(t, cblosc.LZ4, got.Codec)
					got.Codec = codec
				}
				require.Equal(t, p, got)
				require.True(t, bytes.Equal(b, compress(t, got, src)), "%v", p)
			}
		}
	}
}

// TestCorruptedChunks checks that any change of the header gives an error or data, and that no
// bytes outside the buffer are written.
func TestCorruptedChunks(t *testing.T) {
	d := newDecompressor(t)
	src := testutil.Ramp(5000, 2)
	for _, codec := range cblosc.Codecs() {
		p := cparams(4)
		p.Codec, p.BlockSize = codec, 512
		chunk := compress(t, p, src)
		refused := 0
		for i := range 32 + 40 { // header and block starts
			for _, x := range []byte{0x01, 0x80, 0xFF} {
				bad := bytes.Clone(chunk)
				bad[i] ^= x
				dst := bytes.Repeat([]byte{0xEE}, 5000+64)
				n, err := d.Decompress(dst[:5000], bad)
				if err != nil {
					refused++
					require.Zero(t, n)
					continue
				}
				require.LessOrEqual(t, n, 5000)
				require.Equal(t, bytes.Repeat([]byte{0xEE}, 64), dst[5000:], "byte %d ^ %#x", i, x)
			}
		}
		require.Greater(t, refused, 50, "%v", codec)
	}
}

func TestUnsupportedChunks(t *testing.T) {
	d := newDecompressor(t)
	good := compress(t, cparams(4), testutil.Ramp(1000, 2))
	for name, edit := range map[string]func([]byte){
		"VL-blocks":    func(b []byte) { b[0], b[0x1E] = 6, 1 },
		"instrumented": func(b []byte) { b[0x1F] |= 0x80 },
	} {
		bad := bytes.Clone(good)
		edit(bad)
		_, err := d.Decompress(make([]byte, 1000), bad)
		require.Truef(t, errors.Is(err, errors.ErrUnsupported) || errors.Is(err, cblosc.ErrFormat), "%s: %v", name, err)
	}
}
