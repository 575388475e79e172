// Tests of frames whose chunks only C-Blosc2 decodes. C-Blosc2 must read the new frames.

package recovery_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/recovery"
)

// trusting returns options that allow all codecs and filters that this module supports.
func trusting() cblosc.OpenOptions {
	return cblosc.OpenOptions{Allow: cblosc.Allow{Codecs: cblosc.ArrayCodecs(), Filters: []cblosc.FilterID{cblosc.NDCell, cblosc.NDMean}}}
}

// byLibrary reads a region of an array with C-Blosc2.
func byLibrary(t *testing.T, path string, start, count []int64) []byte {
	t.Helper()
	a, err := cblosc.OpenArrayWith(path, trusting())
	require.NoError(t, err)
	b := make([]byte, count[0]*count[1]*int64(a.ItemSize()))
	require.NoError(t, a.ReadRegion(b, start, count))
	require.NoError(t, a.Close())
	return b
}

func TestFrame_otherCodecs(t *testing.T) {
	shuffled := func(f cblosc.Filter) func(p *cblosc.CParams) {
		return func(p *cblosc.CParams) { p.Filters[4], p.Filters[5] = f, cblosc.Filter{ID: cblosc.Shuffle} }
	}
	for name, set := range map[string]func(p *cblosc.CParams){
		"zfp accuracy":  func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPAccuracy, 0xFD },
		"zfp precision": func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPPrecision, 30 },
		"zfp rate":      func(p *cblosc.CParams) { p.Codec, p.CodecMeta = cblosc.ZFPRate, 60 },
		"ndlz":          func(p *cblosc.CParams) { p.TypeSize = 1; p.Codec, p.CodecMeta = cblosc.NDLZ, 4 },
		"ndcell":        shuffled(cblosc.Filter{ID: cblosc.NDCell, Meta: 4}),
		"ndmean":        shuffled(cblosc.Filter{ID: cblosc.NDMean, Meta: 4}),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.b2nd")
			cp := cblosc.DefaultCParams()
			cp.TypeSize, cp.Filters = 8, [cblosc.MaxFilters]cblosc.Filter{}
			set(cp)
			a, err := cblosc.CreateArray(&cblosc.ArrayParams{
				Shape: []int64{32, 64}, ChunkShape: []int32{16, 32}, Blocks: []int32{8, 16},
				Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: cp},
			})
			require.NoError(t, err)
			v := make([]float64, 32*64)
			for i := range v {
				v[i] = float64(i/64) + float64(i%64)/2
			}
			b := bytesOfFloats(v)
			if cp.TypeSize == 1 {
				b = b[:len(v)]
				for i := range b {
					b[i] = byte(i/64/4 + i%64/8)
				}
			}
			require.NoError(t, a.WriteRegion(b, []int64{0, 0}, []int64{32, 64}))
			require.NoError(t, a.Close())
			whole, err := os.ReadFile(path)
			require.NoError(t, err)
			p := partsOf(t, whole)
			want := byLibrary(t, path, []int64{0, 0}, []int64{32, 64})

			for damage, c := range map[string]struct {
				change        func(b []byte) []byte
				guessed, lost int64
			}{
				"none":    {func(b []byte) []byte { return b }, 4, 0},
				"trailer": {func(b []byte) []byte { return b[:p.trailer] }, 4, 0},
				"index":   {func(b []byte) []byte { clear(b[p.index:]); return b }, 4, 0},
				"chunk":   {func(b []byte) []byte { clear(b[p.header+int64(p.offsets[3]):][:32]); return b }, 3, 1},
			} {
				require.NoError(t, os.WriteFile(path, c.change(append([]byte(nil), whole...)), 0o600))
				dst, r := recovered(t, path, nil)
				require.Equal(t, []int64{0, c.guessed, c.lost}, []int64{r.Certain, r.Guessed, r.Lost}, "%s: %v", damage, r.Findings)
				require.Equal(t, recovery.ExitPartly, r.ExitCode())
				if c.lost == 0 {
					require.Equal(t, string(whole[:p.index]), content(t, dst)[dst][:p.index], "%s: header and chunks are the library's", damage)
				}
				n := int64(cp.TypeSize)
				got := byLibrary(t, dst, []int64{0, 0}, []int64{16, 64})
				require.Equal(t, want[:16*64*n], got, damage)
				// A lost chunk contains zeros, also if only a part of it is read.
				part := byLibrary(t, dst, []int64{20, 40}, []int64{1, 3})
				if c.lost > 0 {
					require.Equal(t, make([]byte, 3*n), part, damage)
				} else {
					require.Equal(t, want[(20*64+40)*n:][:3*n], part, damage)
				}
			}
		})
	}
}

func bytesOfFloats(v []float64) []byte {
	u := make([]int64, len(v))
	for i, x := range v {
		u[i] = int64(math.Float64bits(x))
	}
	return bytesOf(u)
}

// TestFrame_partialChunk checks that C-Blosc2 can read a part of a lost chunk, because the new
// chunk has the blocks of the array.
func TestFrame_partialChunk(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		src := save(t, "a.b2nd", nil)
		if sparse {
			src = save(t, "a.b2nd", &hyperslab.CreateOptions{Sparse: true})
			require.NoError(t, os.Remove(filepath.Join(src, "00000000.chunk")))
		} else {
			change(t, src, func(b []byte) []byte {
				p := partsOf(t, b)
				clear(b[p.header+int64(p.offsets[0]):][:32])
				return b
			})
		}
		dst, r := recovered(t, src, nil)
		require.Equal(t, int64(1), r.Lost)
		require.Equal(t, make([]byte, 2*8), byLibrary(t, dst, []int64{1, 1}, []int64{1, 2}))
		requireSound(t, dst)
	}
}
