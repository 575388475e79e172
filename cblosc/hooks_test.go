package cblosc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// The registered functions of these tests call mischief if it is set.
var (
	errTest  = errors.New("as the test wants it")
	mischief atomic.Pointer[func() error]
)

func misbehave() error {
	if f := mischief.Load(); f != nil {
		return (*f)()
	}
	return nil
}

// during makes the registered functions call f until the test ends.
func during(t testing.TB, f func() error) {
	mischief.Store(&f)
	t.Cleanup(func() { mischief.Store(nil) })
}

const (
	xorID, runsID = cblosc.FilterID(160), cblosc.Codec(200)
)

// runs is a codec for streams that repeat a single byte.
var runs = cblosc.UserCodec{
	ID: runsID, Name: "runs",
	Encode: func(dst, src []byte, meta uint8) (int, error) {
		if err := misbehave(); err != nil {
			return 0, err
		}
		if len(dst) < 6 || bytes.Count(src, src[:1]) != len(src) {
			return 0, nil
		}
		binary.LittleEndian.PutUint32(dst, uint32(len(src)))
		dst[4], dst[5] = src[0], meta
		return 6, nil
	},
	Decode: func(dst, src []byte, meta uint8) error {
		if err := misbehave(); err != nil {
			return err
		}
		if len(src) != 6 || int(binary.LittleEndian.Uint32(src)) != len(dst) || src[5] != meta {
			return fmt.Errorf("%d bytes of a run for %d", len(src), len(dst))
		}
		for i := range dst {
			dst[i] = src[4]
		}
		return nil
	},
}

func xor(dst, src []byte, meta uint8) error {
	if err := misbehave(); err != nil {
		return err
	}
	for i, v := range src {
		dst[i] = v ^ meta
	}
	return nil
}

var xorFilter = cblosc.UserFilter{ID: xorID, Name: "xor", Forward: xor, Backward: xor}

var register = sync.OnceValue(func() error {
	return errors.Join(cblosc.RegisterCodec(runs), cblosc.RegisterFilter(xorFilter))
})

// userParams returns parameters with the codec and the filter of these tests.
func userParams(t testing.TB, threads int) (*cblosc.CParams, *cblosc.DParams) {
	t.Helper()
	require.NoError(t, register())
	p := cparams(1)
	p.Codec, p.CodecMeta, p.BlockSize, p.Threads = runsID, 9, 1024, threads
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{5: {ID: xorID, Meta: 0x55}}
	return p, &cblosc.DParams{Threads: threads, Allow: cblosc.Allow{
		Codecs: []cblosc.Codec{runsID}, Filters: []cblosc.FilterID{xorID}}}
}

func TestRegister_codecsAndFilters(t *testing.T) {
	for _, threads := range []int{1, 4} {
		p, dp := userParams(t, threads)
		require.Contains(t, p.String(), "runs(9) 5, xor(85)")
		c := newCompressor(t, p)
		d, err := cblosc.NewDecompressor(dp)
		require.NoError(t, err)
		closing(t, d)
		require.Equal(t, *dp, d.DParams())
		src := bytes.Repeat([]byte{7}, 10_000)
		copy(src[5000:], testutil.Noise(2048, 1))
		b := make([]byte, cblosc.MaxCompressedSize(len(src)))
		n, err := c.Compress(b, src)
		require.NoError(t, err)
		b = b[:n]
		require.Less(t, n, 4000)
		h, err := chunk.ParseHeader(b)
		require.NoError(t, err)
		require.Equal(t, chunk.Codec(runsID), h.Codec)
		for range 2 {
			dst := make([]byte, len(src))
			_, err = d.Decompress(dst, b)
			require.NoError(t, err)
			require.Equal(t, src, dst)
		}
		part := make([]byte, 3000)
		_, err = d.Items(part, b, 4500, 3000)
		require.NoError(t, err)
		require.Equal(t, src[4500:7500], part)
		_, err = d.Blocks(make([]byte, len(src)), b, make([]bool, 10))
		require.ErrorIs(t, err, errors.ErrUnsupported)

		// The parameters read from the chunk must produce the same chunk again, on one thread.
		info, err := d.Info(b)
		require.NoError(t, err)
		made := info.CParams()
		require.Equal(t, []any{p.Codec, p.CodecMeta, p.Filters}, []any{made.Codec, made.CodecMeta, made.Filters})
		if threads == 1 {
			require.Equal(t, b, compress(t, made, src))
		}

		// A decompressor that does not allow the codec must reject the chunk.
		_, err = newDecompressor(t).Decompress(make([]byte, len(src)), b)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.NotErrorIs(t, err, cblosc.ErrFormat)
	}
}

// TestRegister_schunksAndArrays checks registered functions in super-chunks and arrays in every
// storage, also after opening them again.
func TestRegister_schunksAndArrays(t *testing.T) {
	for _, threads := range []int{1, 3} {
		p, dp := userParams(t, threads)
		data := bytes.Repeat([]byte{7}, 60_000)
		copy(data[30_000:], testutil.Noise(2048, 1))
		for name, st := range storages(t, p) {
			st.DParams = &cblosc.DParams{Threads: threads}
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err, name)
			for i := range 3 {
				require.NoError(t, s.AppendBuffer(data[20_000*i:][:20_000]), name)
			}
			check := func(s *cblosc.SChunk) {
				t.Helper()
				got := make([]byte, len(data))
				require.NoError(t, s.ReadItems(got, 0), name)
				require.Equal(t, data, got, name)
				require.NoError(t, s.ReadItems(got[:5000], 29_000), name)
				require.Equal(t, data[29_000:34_000], got[:5000], name)
				require.NoError(t, s.WriteItems(data[25_000:45_000], 25_000), name)
				_, err := s.DecompressChunk(got[:20_000], 1)
				require.NoError(t, err, name)
				require.Equal(t, data[20_000:40_000], got[:20_000], name)
			}
			check(s)
			require.Less(t, s.CBytes(), int64(10_000), name)
			b, err := s.Bytes()
			require.NoError(t, err, name)
			c, err := s.Copy(cblosc.Storage{CParams: cparams(1)})
			require.NoError(t, err, name)
			check(c)
			require.NoError(t, c.Close())
			require.NoError(t, s.Close(), name)
			_, err = cblosc.OpenSChunkBytes(b)
			require.ErrorIs(t, err, errors.ErrUnsupported, name)
			if st.Path == "" {
				continue
			}
			s, err = cblosc.OpenSChunkWith(st.Path, cblosc.OpenOptions{Allow: dp.Allow})
			require.NoError(t, err, name)
			check(s)
			require.NoError(t, s.Close(), name)
		}
		p.TypeSize, p.BlockSize = 2, 0
		for name, st := range storages(t, p) {
			a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{100, 300}, ChunkShape: []int32{40, 100}, Blocks: []int32{20, 50}, Storage: st}, data)
			require.NoError(t, err, name)
			requireData(t, data, a)
			require.NoError(t, a.WriteRegion(data[600:1800], []int64{1, 0}, []int64{2, 300}), name)
			require.NoError(t, a.Append(0, data[:600]), name)
			d, err := a.Copy(cblosc.Layout{ChunkShape: []int32{30, 30}, Blocks: []int32{30, 30}})
			require.NoError(t, err, name)
			requireData(t, append(bytes.Clone(data), data[:600]...), d)
			require.NoError(t, d.Close())
			require.NoError(t, a.Close())
			if st.Path != "" {
				a, err = cblosc.OpenArrayWith(st.Path, cblosc.OpenOptions{Allow: dp.Allow})
				require.NoError(t, err, name)
				requireData(t, append(bytes.Clone(data), data[:600]...), a)
				require.NoError(t, a.Close())
			}
		}
	}
}

func TestRegister_schunkErrors(t *testing.T) {
	p, _ := userParams(t, 1)
	for _, threads := range []int{1, 3} {
		p.Threads = threads
		s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: p, DParams: &cblosc.DParams{Threads: threads}})
		require.NoError(t, err)
		b := bytes.Repeat([]byte{7}, 20_000)
		require.NoError(t, s.AppendBuffer(b))
		during(t, func() error { return errTest })
		require.ErrorIs(t, s.ReadItems(b, 0), errTest)
		during(t, func() error { panic(errTest) })
		err = s.ReadItems(b, 0)
		require.ErrorIs(t, err, errTest)
		require.ErrorAs(t, err, new(*cblosc.PanicError))
		require.ErrorIs(t, s.AppendBuffer(b), errTest)
		mischief.Store(nil)
		require.ErrorIs(t, s.ReadItems(b, 0), cblosc.ErrBroken)
		require.NoError(t, s.Close())
	}
}

func TestRegister_errorsAndPanics(t *testing.T) {
	for _, threads := range []int{1, 3} {
		p, dp := userParams(t, threads)
		c := newCompressor(t, p)
		d, err := cblosc.NewDecompressor(dp)
		require.NoError(t, err)
		closing(t, d)
		src := bytes.Repeat([]byte{7}, 10_000)
		good := make([]byte, cblosc.MaxCompressedSize(len(src)))
		n, err := c.Compress(good, src)
		require.NoError(t, err)
		good = good[:n]
		for name, f := range map[string]func() error{
			"error": func() error { return errTest },
			"panic": func() error { panic(errTest) },
			"range": func() error { _ = make([]byte, 1)[threads]; return nil },
		} {
			during(t, f)
			dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
			_, cerr := c.Compress(dst, src)
			_, derr := d.Decompress(dst, good)
			chunks := new(cblosc.Batch)
			berr := c.CompressBatch(chunks, batchOf(src))
			require.ErrorContains(t, berr, "compress item 0 of 1")
			for _, err := range []error{cerr, derr, berr, d.DecompressBatch(chunks, batchOf(good))} {
				var e *cblosc.Error
				require.ErrorAs(t, err, &e, name)
				require.NotZero(t, e.Code)
				require.NotEmpty(t, e.Code.Error())
				var p *cblosc.PanicError
				switch name {
				case "error":
					require.ErrorIs(t, err, errTest)
				case "panic":
					require.ErrorIs(t, err, errTest)
					require.ErrorAs(t, err, &p)
					require.NotEmpty(t, p.Stack)
				default:
					require.ErrorAs(t, err, &p)
					var re runtime.Error
					require.ErrorAs(t, err, &re)
				}
			}
			mischief.Store(nil)
			// The context must remain usable.
			n, err := c.Compress(dst, src)
			require.NoError(t, err)
			_, err = d.Decompress(dst, bytes.Clone(dst[:n]))
			require.NoError(t, err)
			require.Equal(t, src, dst[:len(src)])
		}
	}
}

func TestRegister_invalidArguments(t *testing.T) {
	require.NoError(t, register())
	for name, tt := range map[string]struct {
		edit func(*cblosc.UserCodec)
		want error
	}{
		"again":             {func(*cblosc.UserCodec) {}, cblosc.ErrExists},
		"other name":        {func(c *cblosc.UserCodec) { c.Name = "other" }, cblosc.ErrExists},
		"other id":          {func(c *cblosc.UserCodec) { c.ID++ }, cblosc.ErrExists},
		"name of a library": {func(c *cblosc.UserCodec) { c.ID, c.Name = 201, "zstd" }, cblosc.ErrExists},
		"id of a library":   {func(c *cblosc.UserCodec) { c.ID, c.Name = 36, "grok" }, cblosc.ErrParam},
		"id 159":            {func(c *cblosc.UserCodec) { c.ID = 159 }, cblosc.ErrParam},
		"no name":           {func(c *cblosc.UserCodec) { c.ID, c.Name = 201, "" }, cblosc.ErrParam},
		"zero byte":         {func(c *cblosc.UserCodec) { c.ID, c.Name = 201, "a\x00b" }, cblosc.ErrParam},
		"long name":         {func(c *cblosc.UserCodec) { c.ID, c.Name = 201, "a name of 32 bytes is too long ab" }, cblosc.ErrParam},
		"no encoder":        {func(c *cblosc.UserCodec) { c.ID, c.Name, c.Encode = 201, "x", nil }, cblosc.ErrParam},
		"no decoder":        {func(c *cblosc.UserCodec) { c.ID, c.Name, c.Decode = 201, "x", nil }, cblosc.ErrParam},
	} {
		c := runs
		tt.edit(&c)
		require.ErrorIs(t, cblosc.RegisterCodec(c), tt.want, name)
		f := xorFilter
		f.Name = c.Name
		if c.Name == runs.Name {
			f.Name = xorFilter.Name
		}
		if c.Name == "zstd" {
			f.Name = "shuffle"
		}
		f.ID += cblosc.FilterID(c.ID - runs.ID)
		if c.ID < cblosc.FirstUserID {
			f.ID = cblosc.FilterID(c.ID)
		}
		if c.Encode == nil {
			f.Forward = nil
		}
		if c.Decode == nil {
			f.Backward = nil
		}
		require.ErrorIs(t, cblosc.RegisterFilter(f), tt.want, name)
	}
	p, _ := userParams(t, 1)
	_, err := cblosc.SpecialChunk(p, cblosc.Zeros, 100, nil)
	require.NoError(t, err)
}

func TestContext_PrefiltersPostfilters(t *testing.T) {
	for _, threads := range []int{1, 4} {
		p := cparams(4)
		p.BlockSize, p.Threads = 1024, threads
		seen := make([]atomic.Int32, 10)
		double := func(dst, src []byte, b cblosc.Block) error {
			if b.Offset != 1024*b.Index || b.TypeSize != 4 || b.Thread < 0 || b.Thread >= threads || len(dst) != len(src) {
				return fmt.Errorf("block %+v of %d bytes", b, len(src))
			}
			seen[b.Index].Add(1)
			for i := 0; i+4 <= len(src); i += 4 {
				binary.LittleEndian.PutUint32(dst[i:], 2*binary.LittleEndian.Uint32(src[i:]))
			}
			return nil
		}
		src := testutil.Ramp(10_000, 1)
		doubled := make([]byte, len(src))
		require.NoError(t, double(doubled, src, cblosc.Block{TypeSize: 4}))

		c, err := cblosc.NewPrefiltered(p, double)
		require.NoError(t, err)
		closing(t, c)
		d, err := cblosc.NewPostfiltered(&cblosc.DParams{Threads: threads}, double)
		require.NoError(t, err)
		closing(t, d)
		for _, level := range []int{5, 0} {
			p.Level = level
			for i := range seen {
				seen[i].Store(0)
			}
			b := make([]byte, cblosc.MaxCompressedSize(len(src)))
			n, err := c.Compress(b, src)
			require.NoError(t, err)
			dst := make([]byte, len(src))
			_, err = newDecompressor(t).Decompress(dst, b[:n])
			require.NoError(t, err)
			require.Equal(t, doubled, dst)
			for i := range seen {
				require.Positive(t, seen[i].Load(), "block %d", i)
			}
			_, err = d.Decompress(dst, compress(t, p, src))
			require.NoError(t, err)
			require.Equal(t, doubled, dst)
			part := make([]byte, 1024)
			_, err = d.Items(part, compress(t, p, src), 175, 256)
			require.NoError(t, err)
			require.Equal(t, doubled[700:1724], part)
		}
		special, err := cblosc.SpecialChunk(cparams(4), cblosc.Repeated, 1024, []byte{3, 0, 0, 0})
		require.NoError(t, err)
		dst := make([]byte, 1024)
		_, err = d.Decompress(dst, special)
		require.NoError(t, err)
		require.Equal(t, bytes.Repeat([]byte{6, 0, 0, 0}, 256), dst)
	}
	fails := func([]byte, []byte, cblosc.Block) error { return errTest }
	c, err := cblosc.NewPrefiltered(cparams(4), fails)
	require.NoError(t, err)
	closing(t, c)
	d, err := cblosc.NewPostfiltered(nil, fails)
	require.NoError(t, err)
	closing(t, d)
	_, err = c.Compress(make([]byte, 2000), testutil.Ramp(1000, 1))
	require.ErrorIs(t, err, errTest)
	_, err = d.Decompress(make([]byte, 1000), compress(t, cparams(4), testutil.Ramp(1000, 1)))
	require.ErrorIs(t, err, errTest)

	p := cparams(4)
	p.Filters[0].ID = cblosc.Delta
	_, err = cblosc.NewPrefiltered(p, fails)
	require.ErrorIs(t, err, cblosc.ErrParam)
	_, err = d.Decompress(make([]byte, 1000), compress(t, p, testutil.Ramp(1000, 1)))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	for _, err := range []error{
		func() error { _, err := cblosc.NewPrefiltered(nil, nil); return err }(),
		func() error { _, err := cblosc.NewPostfiltered(nil, nil); return err }(),
	} {
		require.ErrorIs(t, err, cblosc.ErrParam)
	}
}

// TestRegister_goroutines checks contexts with registered functions on many goroutines, and one
// that is never closed, where that is allowed.
func TestRegister_goroutines(t *testing.T) {
	p, dp := userParams(t, 2)
	pool, err := cblosc.NewPool(p, dp)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			src := bytes.Repeat([]byte{byte(g)}, 5000+g)
			b, dst := make([]byte, cblosc.MaxCompressedSize(len(src))), make([]byte, len(src))
			for range 5 {
				n, err := pool.Compress(b, src)
				if err == nil {
					_, err = pool.Decompress(dst, b[:n])
				}
				if err != nil || !bytes.Equal(src, dst) {
					t.Errorf("goroutine %d: %v", g, err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, pool.Close())
}

// This example registers a filter that stores the difference to the previous element.
func ExampleRegisterFilter() {
	err := cblosc.RegisterFilter(cblosc.UserFilter{
		ID: 170, Name: "difference",
		Forward: func(dst, src []byte, _ uint8) error {
			var before byte
			for i, v := range src {
				dst[i], before = v-before, v
			}
			return nil
		},
		Backward: func(dst, src []byte, _ uint8) error {
			var v byte
			for i, d := range src {
				v += d
				dst[i] = v
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := cblosc.DefaultCParams()
	p.TypeSize = 1
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{{ID: 170}}
	c, err := cblosc.NewCompressor(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	data := make([]byte, 10_000)
	for i := range data {
		data[i] = byte(i)
	}
	chunk := make([]byte, cblosc.MaxCompressedSize(len(data)))
	n, err := c.Compress(chunk, data)
	fmt.Println(n < 200, err)
	// Output: true <nil>
}
