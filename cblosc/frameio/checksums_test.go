package frameio_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// summedFrame writes a frame with checksums: chunks of a ramp, of zeros, of a repeated value, of
// noise, and a short last chunk.
func summedFrame(t testing.TB, path string, sparse bool) (values []byte) {
	t.Helper()
	const size = 4000
	cp := cblosc.DefaultCParams()
	cp.TypeSize, cp.Codec = 4, cblosc.LZ4
	w, err := frameio.Create(path, &frameio.Params{CParams: cp, ChunkSize: size, Sparse: sparse, Checksums: true,
		VLMeta: []cblosc.Metalayer{{Name: "v", Content: testutil.Noise(30, 1)}}})
	require.NoError(t, err)
	values = append(values, testutil.Ramp(2*size, 1)...)
	values = append(values, make([]byte, size)...)
	for range size / 4 {
		values = append(values, 1, 2, 3, 4)
	}
	values = append(values, testutil.Noise(size, 2)...)
	values = append(values, testutil.Ramp(size/2, 3)...)
	_, err = w.Write(values)
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	return values
}

// readSummed reads a frame and compares its checksums.
func readSummed(path string) (has bool, values []byte, err error) {
	f, err := frameio.Open(path, &frameio.Limits{Checksums: true})
	if err != nil {
		return false, nil, err
	}
	values = make([]byte, f.NBytes())
	for i := range values {
		values[i] = 0xAA
	}
	_, err = f.ReadAt(values, 0)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return f.HasChecksums(), values, err
}

func requireSummed(t testing.TB, path string, want []byte) {
	t.Helper()
	has, got, err := readSummed(path)
	require.NoError(t, err)
	require.True(t, has)
	require.Equal(t, want, got)
}

func TestWriter_checksums(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		t.Run(fmt.Sprintf("sparse %v", sparse), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "frame")
			values := summedFrame(t, path, sparse)
			values = values[:len(values)-2000] // Append needs whole chunks
			w, err := frameio.Create(path, &frameio.Params{ChunkSize: 4000, Sparse: sparse, Checksums: true, Overwrite: true, Workers: 2})
			require.NoError(t, err)
			_, err = w.Write(values)
			require.NoError(t, err)
			require.NoError(t, w.Commit())
			require.NoError(t, w.Close())
			requireSummed(t, path, values)

			for _, durable := range []bool{false, true} {
				w, err := frameio.Append(path, &frameio.AppendOptions{Durable: durable})
				require.NoError(t, err)
				more := testutil.Noise(4000, 7)
				_, err = w.Write(more)
				require.NoError(t, err)
				zeros, err := cblosc.SpecialChunk(cblosc.DefaultCParams(), cblosc.Zeros, 4000, nil)
				require.NoError(t, err)
				require.NoError(t, w.WriteChunk(zeros))
				require.NoError(t, w.RepeatLast(2))
				require.NoError(t, w.Commit())
				require.NoError(t, w.Close())
				values = append(append(values, more...), make([]byte, 12000)...)
				requireSummed(t, path, values)
			}
			if !sparse {
				require.NoError(t, frameio.Compact(path))
				requireSummed(t, path, values)
			}
			f := openFrame(t, path)
			like := path + "-like"
			w, err = frameio.CreateLike(like, f)
			require.NoError(t, err)
			for i := range f.NumChunks() {
				b, err := f.Chunk(nil, i)
				require.NoError(t, err)
				require.NoError(t, w.WriteChunk(b))
			}
			require.NoError(t, w.Commit())
			require.NoError(t, w.Close())
			requireSummed(t, like, values)

			// C-Blosc2 reads the values. After it has appended a chunk, the checksums are stale.
			s, err := cblosc.OpenSChunk(path)
			require.NoError(t, err)
			got := make([]byte, len(values))
			for i := range s.NumChunks() {
				_, err := s.DecompressChunk(got[i*4000:(i+1)*4000], i)
				require.NoError(t, err)
			}
			require.Equal(t, values, got)
			require.NoError(t, s.AppendBuffer(testutil.Ramp(4000, 9)))
			require.NoError(t, s.Close())
			has, got, err := readSummed(path)
			require.NoError(t, err)
			require.False(t, has)
			require.Equal(t, append(values, testutil.Ramp(4000, 9)...), got)
		})
	}
}

// TestWriter_staleChecksums changes a chunk in place to one of the same size with C-Blosc2.
func TestWriter_staleChecksums(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	values := summedFrame(t, path, false)
	s, err := cblosc.OpenSChunk(path)
	require.NoError(t, err)
	cp := cblosc.DefaultCParams()
	cp.TypeSize, cp.Codec = 4, cblosc.LZ4
	noise := testutil.Noise(4000, 8)
	require.NoError(t, s.UpdateChunk(4, chunkOf(t, cp, noise)))
	require.NoError(t, s.Close())
	copy(values[4*4000:], noise)
	has, got, err := readSummed(path)
	require.NoError(t, err)
	require.False(t, has)
	require.Equal(t, values, got)
}

// TestFrame_flips flips bits of stored chunks: each is found, with the number of its chunk.
func TestFrame_flips(t *testing.T) {
	flips := 400
	if testenv.All() {
		flips = 10_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, sparse := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "frame")
		values := summedFrame(t, path, sparse)
		type stored struct {
			file        string
			at          int64
			chunk, size int64
		}
		var chunks []stored
		f := openFrame(t, path)
		h := f.Header()
		end := int64(h.HeaderSize)
		for i := range f.NumChunks() {
			n, err := f.StoredBytes(i)
			require.NoError(t, err)
			if n == 0 {
				continue
			}
			s := stored{path, end, i, n}
			if sparse {
				s.file, s.at = filepath.Join(path, f.ChunkFiles()[i]), 0
			}
			chunks = append(chunks, s)
			end += n
		}
		require.Len(t, chunks, 5)
		for range flips / 2 {
			s := chunks[random.IntN(len(chunks))]
			at, bit := s.at+random.Int64N(s.size), byte(1)<<random.IntN(8)
			flip := func() {
				b, err := os.ReadFile(s.file)
				require.NoError(t, err)
				b[at] ^= bit
				require.NoError(t, os.WriteFile(s.file, b, 0o600))
			}
			flip()
			has, _, err := readSummed(path)
			require.True(t, has)
			require.ErrorIs(t, err, cblosc.ErrFormat, "bit %#x of byte %d of chunk %d", bit, at-s.at, s.chunk)
			var e *frameio.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, s.chunk, e.Chunk)
			flip()
		}
		requireSummed(t, path, values)
	}
}

func TestFrame_checksumErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	summedFrame(t, path, false)
	f := openFrame(t, path)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	n, err := f.StoredBytes(0)
	require.NoError(t, err)
	chunk := b[f.Header().HeaderSize:][:n]
	want := cframe.Checksum(chunk)
	chunk[n-1] ^= 1
	got := cframe.Checksum(chunk)
	require.NoError(t, os.WriteFile(path, b, 0o600))
	_, _, err = readSummed(path)
	require.ErrorIs(t, err, format.ErrCorrupt)
	require.ErrorContains(t, err, "chunk 0: ")
	require.ErrorContains(t, err, fmt.Sprintf("%#08x", want))
	require.ErrorContains(t, err, fmt.Sprintf("%#08x", got))

	_, err = frameio.Create(path+"x", &frameio.Params{VLMeta: []cblosc.Metalayer{{Name: cframe.ChecksumLayer}}})
	require.ErrorIs(t, err, cblosc.ErrParam)
	full := make([]cblosc.Metalayer, cblosc.MaxVLMetalayers)
	for i := range full {
		full[i].Name = fmt.Sprint(i)
	}
	_, err = frameio.Create(path+"x", &frameio.Params{VLMeta: full, Checksums: true})
	require.ErrorIs(t, err, cblosc.ErrLimit)
}
