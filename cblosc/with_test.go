package cblosc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// numbered returns a block function that adds to each element its index in the super-chunk, times
// sign. Chunks have chunkSize bytes.
func numbered(chunkSize int, sign int32) cblosc.BlockFunc {
	return func(dst, src []byte, b cblosc.Block) error {
		if b.Chunk < 0 || b.TypeSize != 4 || b.Offset+len(src) > chunkSize || len(src) != len(dst) {
			return fmt.Errorf("block %+v of %d bytes", b, len(src))
		}
		first := (int(b.Chunk)*chunkSize + b.Offset) / 4
		for i := 0; i < len(src); i += 4 {
			binary.LittleEndian.PutUint32(dst[i:], binary.LittleEndian.Uint32(src[i:])+uint32(sign)*uint32(first+i/4))
		}
		return nil
	}
}

// whole returns the result of numbered for all data.
func whole(t testing.TB, data []byte, sign int32) []byte {
	t.Helper()
	out := make([]byte, len(data))
	require.NoError(t, numbered(len(data), sign)(out, data, cblosc.Block{TypeSize: 4}))
	return out
}

func numberers(t testing.TB, threads, chunkSize int) (*cblosc.CParams, *cblosc.Compressor, *cblosc.Decompressor) {
	t.Helper()
	p := cparams(4)
	p.BlockSize, p.Threads = 1024, threads
	c, err := cblosc.NewPrefiltered(p, numbered(chunkSize, 1))
	require.NoError(t, err)
	closing(t, c)
	d, err := cblosc.NewPostfiltered(&cblosc.DParams{Threads: threads}, numbered(chunkSize, -1))
	require.NoError(t, err)
	closing(t, d)
	return p, c, d
}

// TestWith_preAndPostfilters checks that a super-chunk contains the output of its prefilter and
// that reads return the output of its postfilter. This must hold for all ways to write and read,
// with one thread and with several.
func TestWith_preAndPostfilters(t *testing.T) {
	const size, chunks = 10_000, 4
	for _, threads := range []int{1, 4} {
		p, c, d := numberers(t, threads, size)
		data := testutil.Ramp(size*chunks-600, 1) // the last chunk is short
		stored := whole(t, data, 1)
		for name, st := range storages(t, p) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			require.NoError(t, s.CompressWith(c))
			for i := 0; i < len(data); i += size {
				require.NoError(t, s.AppendBuffer(data[i:min(i+size, len(data))]), name)
			}
			require.Equal(t, stored, dataOf(t, s), name)

			check := func(want []byte) {
				t.Helper()
				got := make([]byte, len(want))
				require.NoError(t, s.ReadItems(got, 0), name)
				require.Equal(t, want, got, name)
				// Read as many bytes as a chunk has, across two chunks.
				require.NoError(t, s.ReadItems(got[:size], 777), name)
				require.Equal(t, want[4*777:][:size], got[:size], name)
				// Read as many bytes as a block has, across two blocks.
				require.NoError(t, s.ReadItems(got[:1024], 100), name)
				require.Equal(t, want[400:1424], got[:1024], name)
				for i := range chunks {
					n, err := s.DecompressChunk(got, int64(i))
					require.NoError(t, err, name)
					require.Equal(t, want[i*size:][:n], got[:n], name)
					require.NoError(t, s.DecompressItems(got[:400], int64(i), 200), name)
					require.Equal(t, want[i*size+800:][:400], got[:400], name)
				}
				require.NoError(t, s.ReadPoints(got[:12], []int64{9000, 1, 2600}), name)
				require.Equal(t, bytes.Join([][]byte{want[36_000:36_004], want[4:8], want[10_400:10_404]}, nil), got[:12], name)
				var all []byte
				for b, err := range s.Buffers(2) {
					require.NoError(t, err, name)
					all = append(all, b...)
				}
				require.Equal(t, want, all, name)
			}
			check(stored)
			require.NoError(t, s.DecompressWith(d))
			check(data)

			// WriteItems is not supported, because other data of a chunk would be filtered again.
			for _, bad := range [][2]int{{0, 4}, {size, 3 * size}, {size - 4, 2 * size}, {0, len(data)}} {
				err := s.WriteItems(data[bad[0]:bad[1]], int64(bad[0]/4))
				require.ErrorIs(t, err, errors.ErrUnsupported, name)
			}
			check(data)

			// Copies contain the stored data.
			k, err := s.Copy(cblosc.Storage{})
			require.NoError(t, err, name)
			require.Equal(t, stored, dataOf(t, k), name)
			require.NoError(t, k.Close())
			b, err := s.Bytes()
			require.NoError(t, err)
			k, err = cblosc.OpenSChunkBytes(b)
			require.NoError(t, err)
			require.Equal(t, stored, dataOf(t, k), name)
			require.NoError(t, k.Close())

			// Without filters, parts of chunks are written unchanged.
			require.NoError(t, s.CompressWith(nil))
			require.NoError(t, s.DecompressWith(nil))
			check(stored)
			require.NoError(t, s.WriteItems(stored[:8], 1000), name)
			copy(stored[4000:], stored[:8])
			check(stored)
			copy(data, whole(t, stored, -1))
			require.NoError(t, s.Close())

			// Open it again with a decompressor that has the functions.
			if st.Path != "" {
				s, err = cblosc.OpenSChunk(st.Path)
				require.NoError(t, err)
				require.NoError(t, s.DecompressWith(d))
				check(data)
				require.NoError(t, s.Close())
			}
			data = testutil.Ramp(size*chunks-600, 1)
			stored = whole(t, data, 1)
		}
	}
}

// TestWith_specialChunks checks that a postfilter is applied to special chunks, which store no
// data. It must see uninitialised values as zeros instead of arbitrary memory.
func TestWith_specialChunks(t *testing.T) {
	const size, chunks = 10_000, 3
	_, _, d := numberers(t, 1, size)
	nan := binary.LittleEndian.AppendUint32(nil, 0x7FC00000)
	for kind, value := range map[cblosc.Special][]byte{cblosc.Zeros: make([]byte, 4), cblosc.NaNs: nan, cblosc.Uninit: make([]byte, 4)} {
		for name, st := range storages(t, cparams(4)) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			require.NoError(t, s.Fill(size*chunks/4, kind, size))
			require.NoError(t, s.DecompressWith(d))
			want := whole(t, bytes.Repeat(value, size*chunks/4), -1)
			got := testutil.Noise(len(want), 1)
			require.NoError(t, s.ReadItems(got, 0), "%v %s", kind, name)
			require.Equal(t, want, got, "%v %s", kind, name)
			require.NoError(t, s.Close())
		}
	}
	// A single chunk, and a decompressor with user functions that the chunk does not use.
	b, err := cblosc.SpecialChunk(cparams(4), cblosc.Uninit, 4000, nil)
	require.NoError(t, err)
	_, dp := userParams(t, 1)
	u, err := cblosc.NewDecompressor(dp)
	require.NoError(t, err)
	closing(t, u)
	dst := testutil.Noise(4000, 1)
	_, err = u.Decompress(dst, b)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 4000), dst)
	copy(dst, testutil.Noise(4000, 1))
	_, err = u.Items(dst[12:32], b, 3, 5)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 20), dst[12:32])
}

// TestWith_failingFilters checks that errors and panics of filters are returned by the call that
// ran the filter, and that the super-chunk remains usable.
func TestWith_failingFilters(t *testing.T) {
	p := cparams(4)
	p.Threads = 3
	f := func(dst, src []byte, _ cblosc.Block) error {
		copy(dst, src)
		return misbehave()
	}
	c, err := cblosc.NewPrefiltered(p, f)
	require.NoError(t, err)
	d, err := cblosc.NewPostfiltered(&cblosc.DParams{Threads: 3}, f)
	require.NoError(t, err)
	data := testutil.Ramp(40_000, 1)
	for name, st := range storages(t, p) {
		s, err := cblosc.CreateSChunk(st)
		require.NoError(t, err)
		require.NoError(t, s.CompressWith(c))
		require.NoError(t, s.DecompressWith(d))
		require.NoError(t, s.AppendBuffer(data))
		got := make([]byte, len(data))
		for _, f := range []func() error{func() error { return errTest }, func() error { panic(errTest) }} {
			during(t, f)
			_, decompress := s.DecompressChunk(got, 0)
			for i, err := range []error{s.AppendBuffer(data), s.ReadItems(got, 0), decompress, s.DecompressItems(got, 0, 0), s.ReadPoints(got[:4], []int64{3})} {
				require.ErrorIs(t, err, errTest, "%s %d", name, i)
				var e *cblosc.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, s.Path(), e.Path)
			}
			mischief.Store(nil)
			require.EqualValues(t, 1, s.NumChunks())
			require.ErrorIs(t, s.WriteItems(data, 0), errors.ErrUnsupported)
			require.NoError(t, s.ReadItems(got, 0))
			require.Equal(t, data, got)
		}
		require.NoError(t, s.Close())
		require.ErrorIs(t, s.CompressWith(c), cblosc.ErrClosed)
		require.ErrorIs(t, s.DecompressWith(d), cblosc.ErrClosed)
	}

	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: p})
	require.NoError(t, err)
	closing(t, s)
	require.NoError(t, s.AppendBuffer(data))
	require.NoError(t, s.CompressWith(c))
	require.NoError(t, s.DecompressWith(d))
	require.NoError(t, c.Close())
	require.NoError(t, d.Close())
	require.ErrorIs(t, s.AppendBuffer(data), cblosc.ErrClosed)
	require.ErrorIs(t, s.ReadItems(data, 0), cblosc.ErrClosed)
	require.NoError(t, s.CompressWith(nil))
	require.NoError(t, s.DecompressWith(nil))
	require.NoError(t, s.AppendBuffer(data))

	require.ErrorIs(t, s.CompressWith(newCompressor(t, cparams(8))), cblosc.ErrParam)
	a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{10}, ChunkShape: []int32{5}, Blocks: []int32{5}, Storage: cblosc.Storage{CParams: cparams(4)}}, data[:40])
	require.NoError(t, err)
	closing(t, a)
	require.ErrorIs(t, a.SChunk().CompressWith(newCompressor(t, cparams(4))), errors.ErrUnsupported)
	require.ErrorIs(t, a.SChunk().DecompressWith(newDecompressor(t)), errors.ErrUnsupported)
}

// TestWith_pythonFilters checks that prefilters and postfilters of python-blosc2 get the same
// elements with the same indexes.
func TestWith_pythonFilters(t *testing.T) {
	interpreter := testenv.Python(t, "blosc2")
	const size, chunks = 20_000, 3
	dir := t.TempDir()
	p, c, d := numberers(t, 1, size)
	var data []byte
	for i := range uint32(chunks) {
		for k := range uint32(size / 4) {
			data = binary.LittleEndian.AppendUint32(data, 7*k+i)
		}
	}
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: filepath.Join(dir, "go"), Contiguous: true, CParams: p})
	require.NoError(t, err)
	require.NoError(t, s.CompressWith(c))
	for i := range chunks {
		require.NoError(t, s.AppendBuffer(data[i*size:][:size]))
	}
	require.NoError(t, s.Close())
	out, err := exec.Command(interpreter, "testdata/hooks.py", dir).CombinedOutput()
	require.NoError(t, err, "hooks.py:\n%s", out)
	theirs, err := os.ReadFile(filepath.Join(dir, "post"))
	require.NoError(t, err)
	require.Equal(t, data, theirs)
	s, err = cblosc.OpenSChunk(filepath.Join(dir, "pre"))
	require.NoError(t, err)
	closing(t, s)
	require.Equal(t, whole(t, data, 1), dataOf(t, s))
	require.NoError(t, s.DecompressWith(d))
	require.Equal(t, data, dataOf(t, s))
}
