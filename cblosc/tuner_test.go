package cblosc_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// byContent is a tuner that chooses parameters by the first byte of the data and records its calls.
type byContent struct {
	choices []cblosc.CParams
	next    func() error // called at the start of Next, if not nil
	update  func() error

	mu       sync.Mutex // guards last and recorded, which the test reads concurrently
	last     []cblosc.CParams
	recorded []cblosc.TunerChunk
}

func (c *byContent) choice(data []byte) cblosc.CParams {
	if len(data) == 0 {
		return c.choices[0]
	}
	return c.choices[int(data[0])%len(c.choices)]
}

func (c *byContent) Next(last cblosc.CParams, k cblosc.TunerChunk) (cblosc.CParams, error) {
	if c.next != nil {
		if err := c.next(); err != nil {
			return last, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = append(c.last, last)
	if k.Chunk != nil || k.Time != 0 {
		return last, fmt.Errorf("a chunk before it is made: %+v", k)
	}
	return c.choice(k.Data), nil
}

func (c *byContent) Update(p cblosc.CParams, k cblosc.TunerChunk) error {
	if c.update != nil {
		if err := c.update(); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p != c.choice(k.Data) {
		return fmt.Errorf("parameters %v, chosen were others", &p)
	}
	k.Chunk, k.Data = bytes.Clone(k.Chunk), nil
	c.recorded = append(c.recorded, k)
	return nil
}

func drawCParams(t *rapid.T, typeSize int) cblosc.CParams {
	p := *cparams(typeSize)
	p.Codec = rapid.SampledFrom([]cblosc.Codec{cblosc.BloscLZ, cblosc.LZ4, cblosc.LZ4HC, cblosc.Zlib, cblosc.Zstd}).Draw(t, "codec")
	p.Level = rapid.IntRange(0, 9).Draw(t, "level")
	p.BlockSize = typeSize * rapid.SampledFrom([]int{0, 64, 256, 1000}).Draw(t, "elements in a block")
	p.Split = rapid.SampledFrom([]cblosc.SplitMode{cblosc.SplitAlways, cblosc.SplitNever, cblosc.SplitAuto, cblosc.SplitForwardCompat}).Draw(t, "split")
	p.Filters[5].ID = rapid.SampledFrom([]cblosc.FilterID{cblosc.NoFilter, cblosc.Shuffle, cblosc.BitShuffle}).Draw(t, "filter")
	return p
}

// TestTuner_chunks checks that a chunk with tuned parameters has the same bytes as one from a
// context with these parameters. This must hold for single chunks, batches, pools and super-chunks.
func TestTuner_chunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const typeSize = 4
		tuner := new(byContent)
		for range rapid.IntRange(1, 5).Draw(t, "choices") {
			tuner.choices = append(tuner.choices, drawCParams(t, typeSize))
		}
		first := *cparams(typeSize)
		size := typeSize * rapid.IntRange(1, 3000).Draw(t, "elements")
		src := new(cblosc.Batch)
		var want [][]byte
		for i := range rapid.IntRange(1, 8).Draw(t, "chunks") {
			data := testutil.Ramp(size, uint64(i))
			if rapid.Bool().Draw(t, "noise") {
				data = testutil.Noise(size, uint64(i))
			}
			src.Append(data)
			p := tuner.choice(data)
			want = append(want, compress(t, &p, data))
		}
		c, err := cblosc.NewTuned(&first, tuner)
		require.NoError(t, err)
		require.Equal(t, first, c.CParams())
		pool, err := cblosc.NewTunedPool(&first, nil, tuner)
		require.NoError(t, err)

		dst := make([]byte, cblosc.MaxCompressedSize(size))
		for i, data := range src.All() {
			for _, f := range []func(dst, src []byte) (int, error){c.Compress, pool.Compress} {
				n, err := f(dst, data)
				require.NoError(t, err)
				require.Equal(t, want[i], dst[:n])
				recorded := tuner.recorded[len(tuner.recorded)-1]
				require.EqualValues(t, -1, recorded.Index)
				require.Equal(t, want[i], recorded.Chunk)
				require.GreaterOrEqual(t, recorded.Time, time.Duration(0))
			}
			require.Equal(t, tuner.choice(data), c.CParams())
		}
		require.Equal(t, first, tuner.last[0])

		for _, f := range []func(dst, src *cblosc.Batch) error{c.CompressBatch, pool.CompressBatch} {
			tuner.recorded = nil
			chunks := new(cblosc.Batch)
			require.NoError(t, f(chunks, src))
			require.Equal(t, len(want), chunks.Len())
			for i, b := range chunks.All() {
				require.Equal(t, want[i], b)
			}
			seen := make([]bool, len(want))
			for _, k := range tuner.recorded {
				require.Equal(t, want[k.Index], k.Chunk)
				require.False(t, seen[k.Index])
				seen[k.Index] = true
			}
			require.NotContains(t, seen, false)
		}

		s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: &first, Contiguous: rapid.Bool().Draw(t, "contiguous")})
		require.NoError(t, err)
		require.NoError(t, s.CompressWith(c))
		for i, data := range src.All() {
			require.NoError(t, s.AppendBuffer(data))
			require.EqualValues(t, i, tuner.recorded[len(tuner.recorded)-1].Index)
		}
		for i, b := range want {
			got, err := s.Chunk(int64(i))
			require.NoError(t, err)
			require.Equal(t, b, got)
		}
		all := bytes.Clone(src.Bytes())
		require.Equal(t, all, dataOf(t, s))
		require.ErrorIs(t, s.WriteItems(testutil.Noise(typeSize, 9), 0), errors.ErrUnsupported)
		i := rapid.IntRange(0, len(want)-1).Draw(t, "updated chunk")
		copy(all[size*i:], testutil.Noise(size, 9))
		updated := make([]byte, cblosc.MaxCompressedSize(size))
		length, err := c.Compress(updated, all[size*i:][:size])
		require.NoError(t, err)
		require.NoError(t, s.UpdateChunk(int64(i), updated[:length]))
		require.Equal(t, all, dataOf(t, s))
		for i := range want {
			data := all[size*i:][:size]
			got, err := s.Chunk(int64(i))
			require.NoError(t, err)
			p := tuner.choice(data)
			require.Equal(t, compress(t, &p, data), got)
		}
		require.NoError(t, s.Close())
		require.NoError(t, c.Close())
		require.NoError(t, pool.Close())
	})
}

// TestTuner_Failure checks that errors and panics of a tuner are returned by the call and identify
// the item of a batch. Context, pool and super-chunk must remain usable.
func TestTuner_Failure(t *testing.T) {
	const size = 4000
	p := cparams(4)
	bad := func(edit func(*cblosc.CParams)) func(*byContent) {
		return func(b *byContent) { edit(&b.choices[0]) }
	}
	for name, tt := range map[string]struct {
		edit  func(*byContent)
		want  error
		panic bool
	}{
		"error of Next":      {func(b *byContent) { b.next = func() error { return errTest } }, errTest, false},
		"error of Update":    {func(b *byContent) { b.update = func() error { return errTest } }, errTest, false},
		"panic of Next":      {func(b *byContent) { b.next = func() error { panic(errTest) } }, errTest, true},
		"panic of Update":    {func(b *byContent) { b.update = func() error { panic(errTest) } }, errTest, true},
		"level":              {bad(func(p *cblosc.CParams) { p.Level = 10 }), cblosc.ErrParam, false},
		"type size":          {bad(func(p *cblosc.CParams) { p.TypeSize = 8 }), cblosc.ErrParam, false},
		"codec of arrays":    {bad(func(p *cblosc.CParams) { p.Codec = cblosc.ZFPAccuracy; p.Filters = [6]cblosc.Filter{} }), cblosc.ErrParam, false},
		"dictionary":         {bad(func(p *cblosc.CParams) { p.Codec, p.Dict = cblosc.Zstd, true }), cblosc.ErrSize, false},
		"not whole elements": {bad(func(p *cblosc.CParams) { p.Filters[4] = cblosc.Filter{ID: cblosc.Delta} }), nil, false},
	} {
		tuner := &byContent{choices: []cblosc.CParams{*p}}
		c, err := cblosc.NewTuned(p, tuner)
		require.NoError(t, err)
		pool, err := cblosc.NewTunedPool(p, nil, tuner)
		require.NoError(t, err)
		s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: p})
		require.NoError(t, err)
		require.NoError(t, s.CompressWith(c))
		tt.edit(tuner)
		data := testutil.Ramp(size, 1)
		dst, chunks := make([]byte, cblosc.MaxCompressedSize(size)), new(cblosc.Batch)
		_, one := c.Compress(dst, data)
		_, other := pool.Compress(dst, data)
		inBatch := c.CompressBatch(chunks, batchOf(data))
		inPool := pool.CompressBatch(chunks, batchOf(data))
		appended := s.AppendBuffer(data)
		for i, err := range []error{one, other, inBatch, inPool, appended} {
			if tt.want == nil {
				require.NoError(t, err, name)
				continue
			}
			require.ErrorIs(t, err, tt.want, "%s %d", name, i)
			require.ErrorAs(t, err, new(*cblosc.Error), name)
			require.Equal(t, tt.panic, errors.As(err, new(*cblosc.PanicError)), name)
		}
		if tt.want != nil {
			require.ErrorContains(t, inBatch, "compress item 0 of 1", name)
			require.ErrorContains(t, inPool, "compress item 0 of 1", name)
			require.Zero(t, chunks.Len(), name)
			require.Zero(t, s.NumChunks(), name)
		}
		tuner.choices[0], tuner.next, tuner.update = *p, nil, nil
		n, err := c.Compress(dst, data)
		require.NoError(t, err, name)
		require.Equal(t, compress(t, p, data), dst[:n], name)
		require.NoError(t, pool.CompressBatch(chunks, batchOf(data, data)), name)
		require.NoError(t, s.AppendBuffer(data), name)
		require.NoError(t, s.Close())
		require.NoError(t, c.Close())
		require.NoError(t, pool.Close())
		_, err = c.Compress(dst, data)
		require.ErrorIs(t, err, cblosc.ErrClosed, name)
	}

	tuner := &byContent{choices: []cblosc.CParams{*p}}
	_, err := cblosc.NewTuned(p, nil)
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.NewTunedPool(p, nil, nil)
	require.ErrorIs(t, err, cblosc.ErrParam)
	wrong := *p
	wrong.Level = -1
	_, err = cblosc.NewTuned(&wrong, tuner)
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.NewTunedPool(&wrong, nil, tuner)
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = cblosc.NewTunedPool(p, &cblosc.DParams{Threads: -1}, tuner)
	require.ErrorIs(t, err, cblosc.ErrParam)
	c, err := cblosc.NewTuned(nil, tuner)
	require.NoError(t, err)
	closing(t, c)
	_, err = c.CompressVL(batchOf(make([]byte, 8)))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = c.Compress(make([]byte, 20), testutil.Noise(80, 1))
	require.ErrorIs(t, err, cblosc.ErrParam, "the tuner changes the type size from 8 to 4")
}

// TestTuner_userCode checks that a tuner can choose a codec and a filter written in Go, and then a
// built-in codec again.
func TestTuner_userCode(t *testing.T) {
	user, dp := userParams(t, 1)
	plain := *cparams(1)
	tuner := &byContent{choices: []cblosc.CParams{plain, *user}}
	c, err := cblosc.NewTuned(&plain, tuner)
	require.NoError(t, err)
	closing(t, c)
	d, err := cblosc.NewDecompressor(dp)
	require.NoError(t, err)
	closing(t, d)
	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: &plain, DParams: dp})
	require.NoError(t, err)
	closing(t, s)
	strict, err := cblosc.CreateSChunk(cblosc.Storage{CParams: &plain})
	require.NoError(t, err)
	closing(t, strict)
	require.NoError(t, s.CompressWith(c))
	require.NoError(t, strict.CompressWith(c))
	dst := make([]byte, cblosc.MaxCompressedSize(5000))
	for _, b := range []byte{0, 1, 1, 0, 1, 0} {
		data := bytes.Repeat([]byte{b}, 5000)
		n, err := c.Compress(dst, data)
		require.NoError(t, err)
		require.Equal(t, compress(t, &tuner.choices[b], data), dst[:n])
		back := make([]byte, len(data))
		_, err = d.Decompress(back, dst[:n])
		require.NoError(t, err)
		require.Equal(t, data, back)
		// Info supports only chunks with built-in codecs and filters; package chunk supports all.
		_, err = cblosc.Info(dst[:n])
		h, herr := chunk.ParseHeader(dst[:n])
		require.NoError(t, herr)
		require.Equal(t, b == 1, h.Codec == chunk.Codec(runsID))
		if b == 1 {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.NotErrorIs(t, err, cblosc.ErrFormat)
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, s.AppendBuffer(data))
		if err := strict.AppendBuffer(data); b == 1 {
			require.ErrorIs(t, err, errors.ErrUnsupported, "it would not be read back")
		} else {
			require.NoError(t, err)
		}
	}
	require.EqualValues(t, 6, s.NumChunks())
	require.EqualValues(t, 3, strict.NumChunks())
	for i, b := range []byte{0, 1, 1, 0, 1, 0} {
		_, err := s.DecompressChunk(dst, int64(i))
		require.NoError(t, err)
		require.Equal(t, bytes.Repeat([]byte{b}, 5000), dst[:5000])
	}

	// The chunk after an error of the codec must return its own error.
	during(t, func() error { return errTest })
	_, err = c.Compress(dst, bytes.Repeat([]byte{1}, 5000))
	require.ErrorIs(t, err, errTest)
	_, err = c.Compress(dst[:10], testutil.Noise(5000, 2))
	require.Error(t, err)
	mischief.Store(nil)
}

// TestTuner_pool checks a tuner with 64 goroutines. Its methods must be called one at a time, so
// the tuner has no lock.
func TestTuner_pool(t *testing.T) {
	tuner := new(cycling)
	pool, err := cblosc.NewTunedPool(cparams(4), nil, tuner)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			src := testutil.Ramp(4000+4*g, uint64(g))
			b, dst := make([]byte, cblosc.MaxCompressedSize(len(src))), make([]byte, len(src))
			chunks, back := new(cblosc.Batch), new(cblosc.Batch)
			for range 5 {
				n, err := pool.Compress(b, src)
				if err == nil {
					_, err = pool.Decompress(dst, b[:n])
				}
				if err == nil {
					err = errors.Join(pool.CompressBatch(chunks, batchOf(src, src)), pool.DecompressBatch(back, chunks))
				}
				if err != nil || !bytes.Equal(src, dst) || !bytes.Equal(src, back.Item(1)) {
					t.Errorf("goroutine %d: %v", g, err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, pool.Close())
	require.Equal(t, 64*5*3, tuner.requested)
	require.Equal(t, tuner.requested, tuner.recorded)
}

// cycling increments the level with every chunk.
type cycling struct{ requested, recorded int }

func (c *cycling) Next(last cblosc.CParams, _ cblosc.TunerChunk) (cblosc.CParams, error) {
	c.requested++
	last.Level = (last.Level + 1) % 10
	return last, nil
}

func (c *cycling) Update(cblosc.CParams, cblosc.TunerChunk) error {
	c.recorded++
	return nil
}

// smallest tries each codec once, then uses the one that made the smallest chunk.
type smallest struct {
	codecs []cblosc.Codec
	sizes  []int
}

func (s *smallest) Next(p cblosc.CParams, _ cblosc.TunerChunk) (cblosc.CParams, error) {
	best := 0
	for i, n := range s.sizes {
		if n < s.sizes[best] {
			best = i
		}
	}
	p.Codec = s.codecs[best]
	if len(s.sizes) < len(s.codecs) {
		p.Codec = s.codecs[len(s.sizes)]
	}
	return p, nil
}

func (s *smallest) Update(_ cblosc.CParams, c cblosc.TunerChunk) error {
	if len(s.sizes) < len(s.codecs) {
		s.sizes = append(s.sizes, len(c.Chunk))
	}
	return nil
}

// This tuner tries each codec once, then uses the one that made the smallest chunk.
func ExampleNewTuned() {
	p := cblosc.DefaultCParams()
	c, err := cblosc.NewTuned(p, &smallest{codecs: []cblosc.Codec{cblosc.LZ4, cblosc.Zstd, cblosc.BloscLZ}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: p})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	if err := s.CompressWith(c); err != nil {
		fmt.Println(err)
		return
	}
	data := make([]byte, 80_000)
	for i := range data {
		data[i] = byte(i * i / 100)
	}
	for i := range int64(5) {
		if err := s.AppendBuffer(data); err != nil {
			fmt.Println(err)
			return
		}
		b, err := s.Chunk(i)
		if err != nil {
			fmt.Println(err)
			return
		}
		info, err := cblosc.Info(b)
		fmt.Println(info.Codec, err)
	}
	// Output:
	// lz4 <nil>
	// zstd <nil>
	// blosclz <nil>
	// zstd <nil>
	// zstd <nil>
}
