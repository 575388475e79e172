package b2nd_test

import (
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// TestBackend_Uniform checks that chunks of one repeated value, as the library writes them for a
// fill value, are not decoded: neither those of an array without writes nor those around a write.
func TestBackend_Uniform(t *testing.T) {
	path := filepath.Join(testenv.Scratch(t), "fill.b2nd")
	spec := ndarray.Spec{Shape: []int64{1 << 18, 1 << 18}, ChunkShape: []int64{1 << 12, 1 << 12}, DType: ndarray.DTypeOf[int32](), Fill: []byte{7, 0, 0, 0}}
	write := func(t *testing.T, r ndarray.Region, b []byte) {
		a, err := b2nd.Open(path, &b2nd.OpenOptions{Write: true})
		require.NoError(t, err)
		x, err := ndarray.New(a)
		require.NoError(t, err)
		require.NoError(t, x.Write(bg, b, r))
		require.NoError(t, x.Close())
	}
	check := func(t *testing.T, want int64, name string, open func() (ndarray.Backend, error)) {
		t.Run(name, func(t *testing.T) {
			b, err := open()
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			s, err := ndarray.Summarize(bg, a, nil)
			require.NoError(t, err)
			require.Zero(t, s.ExactSum.Cmp(big.NewInt(want)), "%v", s.ExactSum)
			require.NoError(t, a.Close())
		})
	}
	every := func(t *testing.T, want int64) {
		check(t, want, "file", func() (ndarray.Backend, error) { return b2nd.Open(path, nil) })
		f, err := os.Open(path)
		require.NoError(t, err)
		info, err := f.Stat()
		require.NoError(t, err)
		check(t, want, "reader", func() (ndarray.Backend, error) { return b2nd.OpenReaderAt(f, info.Size(), path, nil) })
		require.NoError(t, f.Close())
	}
	b, err := b2nd.Create(path, spec, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	every(t, 7<<36)
	write(t, ndarray.Region{Start: []int64{1 << 17, 5}, Shape: []int64{1, 2}}, []byte{9, 0, 0, 0, 4, 0, 0, 0})
	every(t, 7<<36-1)
	write(t, ndarray.Region{Start: []int64{0, 0}, Shape: []int64{1 << 12, 1 << 12}}, make([]byte, 4<<24)) // another value
	every(t, 7<<36-1-7<<24)
}
