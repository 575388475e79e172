// The peer: gonum's binding of the same library, in the same process, reads what
// this package writes. `make gonum` makes it link the same archive.

//go:build gonum

package h5_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/hdf5"

	"github.com/hyperslab/hyperslab/h5"
)

func init() { peerInProcess = true }

// Both bindings run on one library, the one whose headers this package saw.
func TestGonumSameLibrary(t *testing.T) {
	ours, err := h5.Version()
	require.NoError(t, err)
	h5.WithLock(func() {
		v, err := hdf5.LibVersion()
		require.NoError(t, err)
		require.Equal(t, ours, v.String())
	})
}

func TestGonumReadsWhatWeWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	level := 6
	want := make([]int32, 60)
	for i := range want {
		want[i] = int32(i*i) - 500
	}
	for name, o := range map[string]*h5.DatasetOptions{
		"contiguous": nil,
		"compact":    {Compact: true},
		"chunked":    {Chunks: []int64{4, 4}, Shuffle: true, Deflate: &level, Fletcher32: true},
	} {
		d, err := f.Root().CreateDataset("g/"+name, h5.Int(4, h5.NativeOrder), h5.SimpleSpace(6, 10), o)
		require.NoError(t, err)
		require.NoError(t, h5.Write(d, want, region([]int64{0, 0}, []int64{6, 10})))
	}
	require.NoError(t, f.Close())

	h5.WithLock(func() {
		f, err := hdf5.OpenFile(path, hdf5.F_ACC_RDONLY)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		for _, name := range []string{"contiguous", "compact", "chunked"} {
			d, err := f.OpenDataset("g/" + name)
			require.NoError(t, err)
			dims, _, err := d.Space().SimpleExtentDims()
			require.NoError(t, err)
			require.Equal(t, "[6 10]", fmt.Sprint(dims))
			got := make([]int32, 60)
			require.NoError(t, d.Read(&got))
			require.Equal(t, want, got, name)
			require.NoError(t, d.Close())
		}
	})
}

func TestWeReadWhatGonumWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	want := []float64{1.5, -2, 1e300}
	h5.WithLock(func() {
		f, err := hdf5.CreateFile(path, hdf5.F_ACC_TRUNC)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		space, err := hdf5.CreateSimpleDataspace([]uint{3}, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, space.Close()) }()
		d, err := f.CreateDataset("d", hdf5.T_NATIVE_DOUBLE, space)
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Close()) }()
		require.NoError(t, d.Write(&want))
	})
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	d, err := f.Root().OpenDataset("d")
	require.NoError(t, err)
	got, err := h5.ReadAll[float64](d)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
