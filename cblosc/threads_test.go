package cblosc_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestThreads_longIndex checks that a long index has reproducible bytes. C-Blosc2 compresses the
// index with four threads, so an index of two blocks can already differ between runs, unless its
// jobs are executed in order.
func TestThreads_longIndex(t *testing.T) {
	const chunks = 41000 // an index of 21 blocks
	var want []byte
	for run := range 24 { // with threads, some runs give the same order
		s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true})
		require.NoError(t, err)
		require.NoError(t, s.Fill(chunks, cblosc.Zeros, 8))
		for i := range int64(60) { // some chunks that are not zero
			require.NoError(t, s.UpdateChunk(i*chunks/60, compress(t, nil, testutil.Ramp(8, uint64(i)))))
		}
		b, err := s.Bytes()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		if run == 0 {
			want = b
		}
		require.Equal(t, want, b)
	}
}

// TestContext_Threads checks that a context with several threads really uses them, by letting two
// blocks wait for each other, and that several such contexts do not affect each other.
func TestContext_Threads(t *testing.T) {
	const blocks, size = 8, 4096
	p := cparams(4)
	p.BlockSize, p.Threads = size, 2
	src := testutil.Ramp(blocks*size, 1)
	together := func(calls *atomic.Int32, met chan struct{}) cblosc.BlockFunc {
		return func(dst, src []byte, _ cblosc.Block) error {
			copy(dst, src)
			switch calls.Add(1) {
			case 1:
				select {
				case <-met:
				case <-time.After(20 * time.Second):
				}
			case 2:
				close(met)
			}
			return nil
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var calls atomic.Int32
			met := make(chan struct{})
			c, err := cblosc.NewPrefiltered(p, together(&calls, met))
			if err != nil {
				t.Error(err)
				return
			}
			dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
			n, err := c.Compress(dst, src)
			if err != nil {
				t.Error(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			select {
			case <-met:
			default:
				t.Error("one thread compresses all blocks")
			}
			d, err := cblosc.NewDecompressor(&cblosc.DParams{Threads: 2})
			if err != nil {
				t.Error(err)
				return
			}
			out := make([]byte, len(src))
			if _, err := d.Decompress(out, dst[:n]); err != nil || string(out) != string(src) {
				t.Error("other data", err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var calls atomic.Int32
	met := make(chan struct{})
	d, err := cblosc.NewPostfiltered(&cblosc.DParams{Threads: 2}, together(&calls, met))
	require.NoError(t, err)
	closing(t, d)
	p.Threads = 1
	out := make([]byte, len(src))
	_, err = d.Decompress(out, compress(t, p, src))
	require.NoError(t, err)
	require.Equal(t, src, out)
	select {
	case <-met:
	default:
		require.Fail(t, "one thread decompresses all blocks")
	}
}

// TestThreads_schunk checks that a super-chunk with threads reads and writes the same data as one
// without.
func TestThreads_schunk(t *testing.T) {
	p := cparams(4)
	p.Threads, p.BlockSize = 3, 1024
	for name, st := range storages(t, p) {
		st.DParams = &cblosc.DParams{Threads: 2}
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err, name)
		for i := range 5 {
			require.NoError(t, s.AppendBuffer(testutil.Ramp(8192, uint64(i))), name)
		}
		got := make([]byte, 5*8192)
		require.NoError(t, s.ReadItems(got, 0), name)
		for i := range 5 {
			require.Equal(t, testutil.Ramp(8192, uint64(i)), got[8192*i:][:8192], name)
		}
		require.NoError(t, s.Close(), name)
	}
}
