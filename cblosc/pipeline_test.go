package cblosc_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// steps returns a pipeline of the filters in order.
func steps(filters ...cblosc.Filter) (p [cblosc.MaxFilters]cblosc.Filter) {
	copy(p[:], filters)
	return p
}

func uses(p *cblosc.CParams, id cblosc.FilterID) bool {
	return slices.ContainsFunc(p.Filters[:], func(f cblosc.Filter) bool { return f.ID == id })
}

// drawPipeline returns valid parameters with up to six filters in any order and at any position.
func drawPipeline(t *rapid.T, typeSize int, user bool) *cblosc.CParams {
	p := cparams(typeSize)
	p.Codec = rapid.SampledFrom(cblosc.Codecs()).Draw(t, "codec")
	p.Level = rapid.SampledFrom([]int{0, 1, 1, 5, 9}).Draw(t, "level")
	p.Threads = rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(t, "threads")
	p.BlockSize = rapid.SampledFrom([]int{0, typeSize, 64 * typeSize, 1000 * typeSize}).Draw(t, "block size")
	p.Split = rapid.SampledFrom([]cblosc.SplitMode{cblosc.SplitAlways, cblosc.SplitNever, cblosc.SplitForwardCompat}).Draw(t, "split")
	kinds := []cblosc.Filter{{}, {}, {ID: cblosc.Shuffle}, {ID: cblosc.Shuffle, Meta: 3}, {ID: cblosc.BitShuffle}, {ID: cblosc.Delta},
		{ID: cblosc.ByteDelta, Meta: uint8(typeSize)}, {ID: cblosc.TruncPrec, Meta: 0xF8}, {ID: cblosc.IntTrunc, Meta: 0xFD}}
	if user {
		kinds = append(kinds, cblosc.Filter{ID: xorID, Meta: 0x55})
	}
	p.Filters = steps(rapid.SliceOfN(rapid.SampledFrom(kinds), 0, cblosc.MaxFilters).Draw(t, "filters")...)
	if p.Validate() != nil {
		t.Skip("invalid parameters")
	}
	return p
}

// drawData returns data that compresses well, partly, or not at all.
func drawData(t *rapid.T, n int) []byte {
	seed := rapid.Uint64Range(0, 99).Draw(t, "seed")
	switch rapid.SampledFrom([]string{"noise", "ramp", "zeros", "ones", "half noise", "same noise", "0x55"}).Draw(t, "data") {
	case "noise":
		return testutil.Noise(n, seed)
	case "ramp":
		return testutil.Ramp(n, seed+1)
	case "zeros":
		return make([]byte, n)
	case "ones":
		return bytes.Repeat([]byte{0xFF}, n)
	case "0x55": // the xor filter makes zeros of it
		return bytes.Repeat([]byte{0x55}, n)
	case "half noise":
		return append(testutil.Noise(n/2, seed), testutil.Ramp(n-n/2, 1)...)
	}
	return bytes.Repeat(testutil.Noise(64, seed), n/64+1)[:n]
}

// truncated returns the values that the lossy filters of p make of src.
func truncated(p *cblosc.CParams, src []byte) []byte {
	out := bytes.Clone(src)
	mask := uint64(math.MaxUint64)
	for _, f := range p.Filters {
		if f.ID == cblosc.TruncPrec || f.ID == cblosc.IntTrunc {
			mask &= math.MaxUint64 << -int8(f.Meta)
		}
	}
	var m [8]byte
	binary.LittleEndian.PutUint64(m[:], mask)
	for i := range out {
		out[i] &= m[i%p.TypeSize%8]
	}
	return out
}

// requireKept checks that each element of got is that of src, or that of src after the lossy
// filters of p: incompressible chunks and chunks at level 0 are stored without filters.
func requireKept(t require.TestingT, p *cblosc.CParams, src, got []byte, msg ...any) {
	require.Len(t, got, len(src))
	cut := truncated(p, src)
	for i := 0; i < len(src); i += p.TypeSize {
		end := min(i+p.TypeSize, len(src))
		if g := got[i:end]; !bytes.Equal(g, src[i:end]) && !bytes.Equal(g, cut[i:end]) {
			require.Equal(t, src[i:end], g, append([]any{p.String(), "element", i / p.TypeSize}, msg...)...)
		}
	}
}

var userAllow = cblosc.Allow{Filters: []cblosc.FilterID{xorID}, Codecs: []cblosc.Codec{runsID}}

func TestCompressor_pipelines(t *testing.T) {
	require.NoError(t, register())
	user, err := cblosc.NewDecompressor(&cblosc.DParams{Threads: 3, Allow: userAllow})
	require.NoError(t, err)
	closing(t, user)
	threaded, err := cblosc.NewDecompressor(&cblosc.DParams{Threads: 3})
	require.NoError(t, err)
	closing(t, threaded)
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 16, 24, 255}).Draw(rt, "type size")
		p := drawPipeline(rt, size, true)
		callsGo := uses(p, xorID)
		if callsGo && uses(p, cblosc.Delta) {
			rt.Skip("delta in a context that calls Go")
		}
		d := threaded
		if callsGo {
			d = user
		}
		src := drawData(rt, size*rapid.SampledFrom([]int{0, 1, 7, 100, 1000, 5000}).Draw(rt, "elements"))
		c, err := cblosc.NewCompressor(p)
		require.NoError(rt, err)
		defer c.Close()
		locked := readOnly(t, src)
		b := make([]byte, cblosc.MaxCompressedSize(len(src)))
		for range 2 { // a context keeps state
			n, err := c.Compress(b, locked)
			require.NoError(rt, err, p)
			got := make([]byte, len(src))
			_, err = d.Decompress(got, b[:n])
			require.NoError(rt, err, p)
			requireKept(rt, p, src, got)
		}
		if len(src) == 0 {
			return
		}
		batch, err := cblosc.NewBatch(locked, max(size, len(src)/3/size*size))
		require.NoError(rt, err)
		var chunks, back cblosc.Batch
		require.NoError(rt, c.CompressBatch(&chunks, batch))
		require.NoError(rt, d.DecompressBatch(&back, &chunks))
		for i, item := range batch.All() {
			requireKept(rt, p, item, back.Item(i), "item", i)
		}
		if vl, err := c.CompressVL(batch); err == nil {
			require.NoError(rt, threaded.DecompressVL(&back, vl))
			for i, item := range batch.All() {
				requireKept(rt, p, item, back.Item(i), "block", i)
			}
		} else {
			require.ErrorIs(rt, err, errors.ErrUnsupported)
		}
	})
}

func TestCompressor_prefilteredPipelines(t *testing.T) {
	require.NoError(t, register())
	d, err := cblosc.NewDecompressor(&cblosc.DParams{Allow: userAllow})
	require.NoError(t, err)
	closing(t, d)
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.SampledFrom([]int{1, 3, 4, 8}).Draw(rt, "type size")
		p := drawPipeline(rt, size, true)
		if uses(p, cblosc.Delta) {
			rt.Skip("delta after a prefilter")
		}
		rest := 0
		if p.Filters == steps(cblosc.Filter{ID: cblosc.BitShuffle}) {
			rest = size - 1
		}
		src := drawData(rt, size*rapid.SampledFrom([]int{1, 7, 1000, 5000}).Draw(rt, "elements")+rest)
		c, err := cblosc.NewPrefiltered(p, func(dst, src []byte, _ cblosc.Block) error {
			for i, v := range src {
				dst[i] = v + 1
			}
			clear(src) // the memory of the caller must not change
			return nil
		})
		require.NoError(rt, err)
		defer c.Close()
		b := make([]byte, cblosc.MaxCompressedSize(len(src)))
		n, err := c.Compress(b, readOnly(t, src))
		require.NoError(rt, err, p)
		got := make([]byte, len(src))
		_, err = d.Decompress(got, b[:n])
		require.NoError(rt, err, p)
		want := bytes.Clone(src)
		for i := range want {
			want[i]++
		}
		requireKept(rt, p, want, got)
	})
}

func TestSChunk_pipelines(t *testing.T) {
	require.NoError(t, register())
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 4, 8, 24}).Draw(rt, "type size")
		p := drawPipeline(rt, size, true)
		chunk := size * rapid.SampledFrom([]int{1, 7, 100, 2000}).Draw(rt, "elements")
		s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: p, Contiguous: rapid.Bool().Draw(rt, "contiguous")})
		require.NoError(rt, err)
		defer s.Close()
		var data []byte
		for range 3 {
			part := drawData(rt, chunk)
			require.NoError(rt, s.AppendBuffer(readOnly(t, part)))
			data = append(data, part...)
		}
		check := func() {
			got := make([]byte, len(data))
			require.NoError(rt, s.ReadItems(got, 0))
			requireKept(rt, p, data, got)
		}
		check()
		from := rapid.IntRange(0, len(data)/size-1).Draw(rt, "from")
		src := drawData(rt, size*rapid.IntRange(1, len(data)/size-from).Draw(rt, "count"))
		require.NoError(rt, s.WriteItems(readOnly(t, src), int64(from)))
		copy(data[from*size:], src)
		check()
		d, err := s.Copy(cblosc.Storage{})
		require.NoError(rt, err)
		require.NoError(rt, d.Close())
	})
}

func TestArray_pipelines(t *testing.T) {
	require.NoError(t, register())
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 4, 8, 24}).Draw(rt, "type size")
		p := drawPipeline(rt, size, true)
		if i := rapid.IntRange(0, 4*cblosc.MaxFilters).Draw(rt, "cells"); i < cblosc.MaxFilters {
			p.Filters[i] = cblosc.Filter{ID: cblosc.NDCell, Meta: 4}
			if p.Validate() != nil {
				rt.Skip("invalid parameters")
			}
		}
		p.BlockSize = 0
		params := &cblosc.ArrayParams{Shape: []int64{45, 70}, ChunkShape: []int32{20, 32}, Blocks: []int32{7, 12},
			Storage: cblosc.Storage{CParams: p, Contiguous: rapid.Bool().Draw(rt, "contiguous"), DParams: &cblosc.DParams{
				Allow: cblosc.Allow{Filters: []cblosc.FilterID{cblosc.NDCell}}}}}
		data := drawData(rt, 45*70*size)
		a, err := cblosc.CreateArrayFrom(params, readOnly(t, data))
		require.NoError(rt, err)
		defer a.Close()
		check := func() {
			got := make([]byte, len(data))
			require.NoError(rt, a.ReadAll(got))
			requireKept(rt, p, data, got)
		}
		check()
		// A region, a selection, and points.
		src := drawData(rt, 30*50*size)
		require.NoError(rt, a.WriteRegion(readOnly(t, src), []int64{3, 11}, []int64{30, 50}))
		for y := range 30 {
			copy(data[((y+3)*70+11)*size:], src[y*50*size:(y+1)*50*size])
		}
		check()
		src = drawData(rt, 2*3*size)
		require.NoError(rt, a.WriteOrthogonal(readOnly(t, src), [][]int64{{44, 2}, {0, 40, 69}}))
		for i, y := range []int{44, 2} {
			for j, x := range []int{0, 40, 69} {
				copy(data[(y*70+x)*size:][:size], src[(i*3+j)*size:])
			}
		}
		check()
		// More rows, which begin inside a chunk.
		src = drawData(rt, 20*70*size)
		require.NoError(rt, a.Append(0, readOnly(t, src)))
		data = append(data, src...)
		check()
		require.NoError(rt, a.Resize([]int64{50, 70}))
		require.NoError(rt, a.Resize([]int64{65, 70}))
		clear(data[50*70*size:])
		check()
		// A copy of the chunks is possible. A pipeline that C-Blosc2 cannot run is refused.
		d, err := a.Copy(cblosc.Layout{})
		require.NoError(rt, err)
		require.NoError(rt, d.Close())
		d, err = a.Slice([]int64{1, 1}, []int64{5, 5}, cblosc.Layout{})
		if err == nil {
			require.NoError(rt, d.Close())
		} else {
			require.ErrorIs(rt, err, errors.ErrUnsupported)
		}
	})
}

// pipelineEntry describes one array of TestPythonPipelines.
type pipelineEntry struct {
	Name    string  `json:"name"`
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Chunks  []int32 `json:"chunks"`
	Blocks  []int32 `json:"blocks"`
	Codec   int     `json:"codec"`
	Filters []int   `json:"filters"`
}

// TestPythonPipelines checks that python-blosc2 reads arrays with up to six filters that this
// package writes. This package must read python-blosc2's arrays as python-blosc2 does.
func TestPythonPipelines(t *testing.T) {
	interpreter := testenv.Python(t, "blosc2")
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	kinds := []cblosc.FilterID{cblosc.Shuffle, cblosc.BitShuffle, cblosc.ByteDelta}
	var entries []pipelineEntry
	for i := range 60 {
		e := pipelineEntry{Name: fmt.Sprint(i), Shape: []int64{45, 70}, Chunks: []int32{20, 32}, Blocks: []int32{7, 12},
			Codec: r.IntN(2), DType: fmt.Sprintf("<u%d", 1<<r.IntN(4))}
		p := cparams(int(e.DType[2] - '0'))
		p.Codec, p.Filters = cblosc.Codec(e.Codec), steps()
		n := 3 + r.IntN(4)
		for j := range n {
			f := cblosc.Filter{ID: kinds[r.IntN(len(kinds))]}
			if j == 0 && r.IntN(2) == 0 {
				f.ID = cblosc.Delta
			}
			if f.ID == cblosc.ByteDelta {
				f.Meta = uint8(p.TypeSize)
			}
			p.Filters[cblosc.MaxFilters-n+j], e.Filters = f, append(e.Filters, int(f.ID))
		}
		data := testutil.Ramp(45*70*p.TypeSize, uint64(i)+1)
		if i%2 == 0 {
			data = testutil.Noise(len(data), uint64(i))
		}
		name := filepath.Join(dir, e.Name)
		a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: e.Shape, ChunkShape: e.Chunks, Blocks: e.Blocks, DType: e.DType,
			Storage: cblosc.Storage{Path: name + ".b2nd", Contiguous: true, CParams: p}}, data)
		require.NoError(t, err, "%+v", e)
		require.NoError(t, a.Close())
		require.NoError(t, os.WriteFile(name+".bin", data, 0o600))
		entries = append(entries, e)
	}
	list, err := json.Marshal(entries)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.json"), list, 0o600))
	out, err := exec.Command(interpreter, "testdata/pipelines.py", dir).CombinedOutput()
	require.NoError(t, err, "pipelines.py:\n%s", out)
	for _, e := range entries {
		name := filepath.Join(dir, e.Name)
		want, err := os.ReadFile(name + ".python.bin")
		require.NoError(t, err)
		a, err := cblosc.OpenArray(name + ".python.b2nd")
		require.NoError(t, err)
		requireData(t, want, a)
		// A change of one element must keep all others.
		one := want[:a.ItemSize()]
		one[0] ^= 0xFF
		require.NoError(t, a.WriteRegion(one, []int64{0, 0}, []int64{1, 1}))
		requireData(t, want, a)
		require.NoError(t, a.Close())
	}
}

// TestDefects_threeFilters checks the cases that C-Blosc2 stores wrong: it writes the output of the
// third filter into the source, which is the reference of Delta and the data of incompressible
// chunks.
func TestDefects_threeFilters(t *testing.T) {
	byteDelta := cblosc.Filter{ID: cblosc.ByteDelta, Meta: 4}
	shuffle, bits, delta := cblosc.Filter{ID: cblosc.Shuffle}, cblosc.Filter{ID: cblosc.BitShuffle}, cblosc.Filter{ID: cblosc.Delta}
	dict := cparams(4)
	dict.Codec, dict.Dict = cblosc.Zstd, true
	for _, tt := range []struct {
		name    string
		params  *cblosc.CParams
		filters []cblosc.Filter
		data    []byte
	}{
		{"incompressible data", cparams(4), []cblosc.Filter{shuffle, bits, byteDelta}, testutil.Noise(400_000, 1)},
		{"delta in several blocks", cparams(4), []cblosc.Filter{delta, shuffle, byteDelta}, testutil.Ramp(400_000, 3)},
		{"dictionary", dict, []cblosc.Filter{shuffle, bits, byteDelta}, testutil.Ramp(400_000, 3)},
		{"six filters", cparams(4), []cblosc.Filter{delta, shuffle, byteDelta, bits, shuffle, byteDelta}, testutil.Ramp(400_000, 3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := *tt.params
			p.Filters, p.BlockSize = steps(tt.filters...), 40_000
			src := readOnly(t, tt.data)
			d := newDecompressor(t)
			got := make([]byte, len(src))
			_, err := d.Decompress(got, compress(t, &p, src))
			require.NoError(t, err)
			require.True(t, bytes.Equal(tt.data, got))
			if p.Dict {
				return
			}
			s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: &p})
			require.NoError(t, err)
			closing(t, s)
			require.NoError(t, s.AppendBuffer(src))
			require.True(t, bytes.Equal(tt.data, dataOf(t, s)))
			_, err = s.Copy(cblosc.Storage{CParams: func() *cblosc.CParams { q := p; q.Level = 1; return &q }()})
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, "bytedelta(4)")
		})
	}
}

// TestCParams_lossyOrder checks that lossy filters are refused after filters that move bytes.
func TestCParams_lossyOrder(t *testing.T) {
	trunc := cblosc.Filter{ID: cblosc.TruncPrec, Meta: 10}
	for _, before := range []cblosc.FilterID{cblosc.Shuffle, cblosc.BitShuffle, cblosc.ByteDelta} {
		p := cparams(4)
		p.Filters = steps(cblosc.Filter{ID: before, Meta: map[bool]uint8{true: 4}[before == cblosc.ByteDelta]}, trunc)
		require.ErrorIs(t, p.Validate(), cblosc.ErrParam)
		require.ErrorIs(t, p.Validate(), errors.ErrUnsupported)
		p.Filters[0], p.Filters[1] = p.Filters[1], p.Filters[0]
		require.NoError(t, p.Validate())
	}
	p := cparams(4)
	p.Filters = steps(cblosc.Filter{ID: cblosc.Delta}, trunc)
	require.NoError(t, p.Validate())
	p.Filters = steps(cblosc.Filter{ID: cblosc.Delta}, cblosc.Filter{ID: cblosc.NDMean, Meta: 4})
	require.ErrorIs(t, p.Validate(), errors.ErrUnsupported)
}

// TestDefects_zerosOfFilter checks data of which a filter makes zeros.
func TestDefects_zerosOfFilter(t *testing.T) {
	require.NoError(t, register())
	src := bytes.Repeat([]byte{0x55}, 10_000)
	p := cparams(1)
	p.Filters = steps(cblosc.Filter{ID: xorID, Meta: 0x55})
	d, err := cblosc.NewDecompressor(&cblosc.DParams{Allow: userAllow})
	require.NoError(t, err)
	closing(t, d)
	got := make([]byte, len(src))
	_, err = d.Decompress(got, compress(t, p, src))
	require.NoError(t, err)
	require.Equal(t, src, got)
	a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{10_000}, ChunkShape: []int32{10_000}, Blocks: []int32{1000},
		Storage: cblosc.Storage{CParams: p}}, src)
	require.NoError(t, err)
	closing(t, a)
	requireData(t, src, a)
	_, err = a.Slice([]int64{0}, []int64{10_000}, cblosc.Layout{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "filter xor makes zeros")
}

func TestDefects_blocksAtLevel0(t *testing.T) {
	p := cparams(1)
	p.Level = 0
	_, err := newCompressor(t, p).CompressVL(batchOf(testutil.Noise(1000, 1)))
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// TestSChunk_invalidOrder checks that data is not added to frames whose filters would lose it.
func TestSChunk_invalidOrder(t *testing.T) {
	p := cparams(4)
	p.Filters = steps(cblosc.Filter{ID: cblosc.Shuffle}, cblosc.Filter{ID: cblosc.BitShuffle})
	a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{1000}, ChunkShape: []int32{1000}, Blocks: []int32{100},
		Storage: cblosc.Storage{CParams: p, Contiguous: true}}, testutil.Ramp(4000, 3))
	require.NoError(t, err)
	frame, err := a.Bytes()
	require.NoError(t, err)
	require.NoError(t, a.Close())
	const filters = 0x47 // in the header of a frame: codes of the six filters, then their parameters
	at := bytes.Index(frame[:0x60], []byte{byte(cblosc.Shuffle), byte(cblosc.BitShuffle), 0, 0, 0, 0})
	require.GreaterOrEqual(t, at, filters)
	for _, second := range []cblosc.FilterID{cblosc.Delta, cblosc.TruncPrec} {
		crafted := bytes.Clone(frame)
		crafted[at+1] = byte(second)
		a, err := cblosc.OpenArrayBytes(crafted)
		require.NoError(t, err)
		for _, err := range []error{
			a.WriteRegion(make([]byte, 4), []int64{0}, []int64{1}), a.Append(0, make([]byte, 4)), a.Resize([]int64{1001}),
			a.WriteOrthogonal(make([]byte, 4), [][]int64{{0}}), a.WritePoints(make([]byte, 4), []int64{0}),
			a.SChunk().WriteItems(make([]byte, 4), 0),
		} {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, second.String()+" after")
		}
		requireData(t, testutil.Ramp(4000, 3), a)
		require.NoError(t, a.Close())
	}
}

// TestArray_meanPipelines checks that NDMean gives the same values alone and before other filters.
func TestArray_meanPipelines(t *testing.T) {
	var data []byte
	for i := range 45 * 70 {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i%70)+float32(i/70)/8))
	}
	read := func(filters ...cblosc.Filter) []byte {
		p := cparams(4)
		p.Filters = steps(filters...)
		allow := cblosc.Allow{Filters: []cblosc.FilterID{cblosc.NDMean, cblosc.NDCell}}
		a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{45, 70}, ChunkShape: []int32{20, 32}, Blocks: []int32{8, 16},
			Storage: cblosc.Storage{CParams: p, DParams: &cblosc.DParams{Allow: allow}}}, readOnly(t, data))
		require.NoError(t, err)
		got := make([]byte, len(data))
		require.NoError(t, a.ReadAll(got))
		require.NoError(t, a.Close())
		return got
	}
	mean, cell := cblosc.Filter{ID: cblosc.NDMean, Meta: 4}, cblosc.Filter{ID: cblosc.NDCell, Meta: 4}
	shuffle, bits := cblosc.Filter{ID: cblosc.Shuffle}, cblosc.Filter{ID: cblosc.BitShuffle}
	want := read(mean)
	require.NotEqual(t, data, want)
	require.Equal(t, want, read(mean, cell, shuffle))
	require.Equal(t, want, read(mean, shuffle, cblosc.Filter{ID: cblosc.ByteDelta, Meta: 4}))
	require.Equal(t, want, read(mean, cell, shuffle, bits, shuffle, bits))
}
