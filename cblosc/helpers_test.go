package cblosc_test

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
)

// closing closes c when the test is over, and the test fails if that does.
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

// tester is what a test and a property test have in common.
type tester interface {
	require.TestingT
	Helper()
}

// compress returns the chunk of src.
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

// cparams is the default with another type size.
func cparams(typeSize int) *cblosc.CParams {
	p := cblosc.DefaultCParams()
	p.TypeSize = typeSize
	return p
}

// ramp returns n bytes of slowly rising 32-bit numbers, with some noise: neither
// trivial nor incompressible.
func ramp(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, 0, n+4)
	for v := uint32(seed); len(b) < n; v += r.Uint32N(5) {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b[:n:n]
}

func noise(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// virtual returns n bytes that are not there: who touches them crashes.
func virtual(t testing.TB, n int) []byte {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(b)) })
	return b
}

// storages are the four places a super-chunk can be in.
func storages(t testing.TB, p *cblosc.CParams) map[string]cblosc.Storage {
	dir := t.TempDir()
	return map[string]cblosc.Storage{
		"memory sparse":     {CParams: p},
		"memory contiguous": {CParams: p, Contiguous: true},
		"file":              {CParams: p, Contiguous: true, Path: filepath.Join(dir, "file")},
		"directory":         {CParams: p, Path: filepath.Join(dir, "directory")},
	}
}
