package cblosc_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
)

// closing closes c at the end of the test. The test fails if Close fails.
func closing(t testing.TB, c io.Closer) {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, c.Close()) })
}

func newCompressor(t testing.TB, p *cblosc.CParams) *cblosc.Compressor {
	t.Helper()
	c, err := cblosc.NewCompressor(p)
	require.NoError(t, err)
	closing(t, c)
	return c
}

func newDecompressor(t testing.TB) *cblosc.Decompressor {
	t.Helper()
	d, err := cblosc.NewDecompressor(nil)
	require.NoError(t, err)
	closing(t, d)
	return d
}

// tester is the common interface of tests and property tests.
type tester interface {
	require.TestingT
	Helper()
}

// compress returns src as a chunk.
func compress(t tester, p *cblosc.CParams, src []byte) []byte {
	t.Helper()
	c, err := cblosc.NewCompressor(p)
	require.NoError(t, err)
	dst := make([]byte, cblosc.MaxCompressedSize(len(src)))
	n, err := c.Compress(dst, src)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	return dst[:n:n]
}

// cparams returns the default parameters with another type size.
func cparams(typeSize int) *cblosc.CParams {
	p := cblosc.DefaultCParams()
	p.TypeSize = typeSize
	return p
}

// storages returns the four kinds of storage of a super-chunk.
func storages(t testing.TB, p *cblosc.CParams) map[string]cblosc.Storage {
	dir := t.TempDir()
	return map[string]cblosc.Storage{
		"memory sparse":     {CParams: p},
		"memory contiguous": {CParams: p, Contiguous: true},
		"file":              {CParams: p, Contiguous: true, Path: filepath.Join(dir, "file")},
		"directory":         {CParams: p, Path: filepath.Join(dir, "directory")},
	}
}
