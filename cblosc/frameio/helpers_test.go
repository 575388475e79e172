package frameio_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// tester is the common interface of tests and property tests.
type tester interface {
	require.TestingT
	Helper()
}

// closing closes c at the end of the test. The test fails if Close fails.
func closing(t testing.TB, c io.Closer) {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, c.Close()) })
}

// notOnWindows skips a test of something that Windows cannot do.
func notOnWindows(t testing.TB, operation string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot " + operation)
	}
}

// drawCParams returns a random pipeline for elements of size bytes.
func drawCParams(t *rapid.T, size int) *cblosc.CParams {
	p := cblosc.DefaultCParams()
	p.TypeSize = size
	p.Codec = rapid.SampledFrom(cblosc.Codecs()).Draw(t, "codec")
	p.Level = rapid.IntRange(0, 9).Draw(t, "level")
	p.Filters = [cblosc.MaxFilters]cblosc.Filter{}
	switch rapid.IntRange(0, 6).Draw(t, "filter") {
	case 1:
		p.Filters[5].ID = cblosc.Shuffle
	case 2:
		p.Filters[5].ID = cblosc.BitShuffle
	case 3:
		p.Filters[0].ID = cblosc.Delta
		p.Filters[5].ID = cblosc.Shuffle
	case 4:
		if size == 4 || size == 8 {
			p.Filters[4] = cblosc.Filter{ID: cblosc.TruncPrec, Meta: 10}
		}
		p.Filters[5].ID = cblosc.Shuffle
	case 5:
		p.Filters[0].ID = cblosc.Delta
		p.Filters[1].ID = cblosc.BitShuffle
		p.Filters[3].ID = cblosc.Shuffle
		p.Filters[5].ID = cblosc.BitShuffle
	case 6:
		p.Filters[0].ID = cblosc.Shuffle
		p.Filters[1].ID = cblosc.BitShuffle
		p.Filters[4].ID = cblosc.Shuffle
	}
	return p
}

var itemSizes = rapid.SampledFrom([]int{1, 2, 3, 4, 7, 8, 16, 300})

// temp returns a directory that exists during one run of a property.
func temp(t *rapid.T) string {
	dir, err := os.MkdirTemp("", "frameio")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// chunkOf compresses src.
func chunkOf(t tester, p *cblosc.CParams, src []byte) []byte {
	t.Helper()
	c, err := cblosc.NewCompressor(p)
	require.NoError(t, err)
	dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
	n, err := c.Compress(dst, src)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	return dst[:n:n]
}

// writeFrame writes the buffers to a new frame with C-Blosc2.
func writeFrame(t tester, path string, contiguous bool, p *cblosc.CParams, buffers ...[]byte) {
	t.Helper()
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: contiguous, CParams: p})
	require.NoError(t, err)
	for _, b := range buffers {
		require.NoError(t, s.AppendBuffer(b))
	}
	require.NoError(t, s.Close())
}

// openFrame opens a frame and closes it at the end of the test.
func openFrame(t testing.TB, path string) *frameio.Frame {
	t.Helper()
	f, err := frameio.Open(path, nil)
	require.NoError(t, err)
	closing(t, f)
	return f
}

// newFrame writes n chunks of size bytes and opens the file.
func newFrame(t testing.TB, n, size int) (*frameio.Frame, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frame")
	all := testutil.Ramp(n*size, 7)
	p := cblosc.DefaultCParams()
	p.TypeSize, p.Codec = 4, cblosc.LZ4
	buffers := make([][]byte, n)
	for i := range buffers {
		buffers[i] = all[i*size : (i+1)*size]
	}
	writeFrame(t, path, true, p, buffers...)
	return openFrame(t, path), all
}
