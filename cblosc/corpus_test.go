package cblosc_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestCorpusCaterva2 checks that arrays and frames written by python-blosc2 can be read completely.
func TestCorpusCaterva2(t *testing.T) {
	for _, file := range testenv.Files(t, testenv.Corpus, "caterva2/*.b2nd") {
		a, err := cblosc.OpenArray(file)
		require.NoError(t, err, file)
		n := int64(a.ItemSize())
		for _, s := range a.Shape() {
			n *= s
		}
		data := make([]byte, n)
		require.NoError(t, a.ReadRegion(data, make([]int64, len(a.Shape())), a.Shape()), file)
		require.NotEmpty(t, a.DType(), file)
		readSChunk(t, a.SChunk())
		frame, err := a.Bytes()
		require.NoError(t, err)
		b, err := cblosc.OpenArrayBytes(frame)
		require.NoError(t, err, file)
		again := make([]byte, n)
		require.NoError(t, b.ReadRegion(again, make([]int64, len(a.Shape())), a.Shape()))
		require.Equal(t, data, again, file)
		require.NoError(t, b.Close())
		require.NoError(t, a.Close())
		t.Logf("%s: %v %s, %d bytes", filepath.Base(file), a.Shape(), a.DType(), n)
	}
	for _, file := range testenv.Files(t, testenv.Corpus, "caterva2/*.b2frame") {
		s, err := cblosc.OpenSChunk(file)
		require.NoError(t, err, file)
		require.Contains(t, string(readSChunk(t, s)), "Hello", file)
		require.NoError(t, s.Close())
	}
}

// readSChunk reads every chunk and metalayer, and returns the data of the chunks.
func readSChunk(t *testing.T, s *cblosc.SChunk) []byte {
	t.Helper()
	var data []byte
	buf := make([]byte, s.ChunkSize())
	for i := range s.NumChunks() {
		n, err := s.DecompressChunk(buf, i)
		require.NoError(t, err)
		data = append(data, buf[:n]...)
	}
	require.EqualValues(t, s.NBytes(), len(data))
	for _, m := range []*cblosc.Metalayers{s.Meta(), s.VLMeta()} {
		names, err := m.Names()
		require.NoError(t, err)
		for _, name := range names {
			_, err := m.Get(name)
			require.NoError(t, err, name)
		}
	}
	return data
}

// TestCorpusBlosc3 checks that files of C-Blosc2 3.0 can be read, or are rejected with an error
// that names the reason. They must not be opened as frames without chunks.
func TestCorpusBlosc3(t *testing.T) {
	for _, file := range testenv.Files(t, testenv.Corpus, "blosc2/*3.0.0*") {
		if strings.HasSuffix(file, ".cdata") {
			requireArange(t, file)
			continue
		}
		s, err := cblosc.OpenSChunk(file)
		if err != nil {
			require.ErrorIs(t, err, errors.ErrUnsupported, file)
			require.ErrorContains(t, err, "of variable length", file)
			continue
		}
		require.Positive(t, s.NumChunks(), file)
		if strings.Contains(file, "vlblocks") { // see TestVL_frame
			_, err := s.VLBlock(0, 0)
			require.NoError(t, err, file)
		} else {
			readSChunk(t, s)
		}
		require.NoError(t, s.Close())
	}
}

// TestCompatChunks checks that the test data of C-Blosc2, which contains chunks of every release
// since Blosc 1.3, decodes to the integers from 0.
func TestCompatChunks(t *testing.T) {
	for _, file := range testenv.Files(t, testenv.Blosc2Source, "compat/blosc-*.cdata") {
		requireArange(t, file)
	}
}

func requireArange(t *testing.T, file string) {
	t.Helper()
	chunk, err := os.ReadFile(file)
	require.NoError(t, err)
	info, err := cblosc.Info(chunk)
	require.NoError(t, err, file)
	data := make([]byte, info.NBytes)
	n, err := newDecompressor(t).Decompress(data, chunk)
	require.NoError(t, err, file)
	require.GreaterOrEqual(t, n, 4)
	require.Equal(t, info.NBytes, n)
	if strings.Contains(file, "blosc-1.17.1-lz4-bitshuffle8") {
		n -= n % 8 // C-Blosc 1.17.1 wrote zeros after the last whole element
	}
	for i := range n / 4 {
		if got := binary.LittleEndian.Uint32(data[4*i:]); got != uint32(i) {
			require.EqualValues(t, i, got, "%s: number %d", file, i)
		}
	}
}
