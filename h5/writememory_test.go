package h5_test

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/cmem"
)

// TestWrite_conversionMemory checks that the memory of a write that converts numbers does not
// depend on their number, and that the write changes nothing if the last number is out of range. A
// filter measures the memory while libhdf5 writes.
func TestWrite_conversionMemory(t *testing.T) {
	var most, calls int64
	look := h5.GoFilter{ID: testFilter, Name: "look",
		Encode: func(src []byte, _ []uint32) ([]byte, error) {
			_, bytes := cmem.Live()
			most, calls = max(most, bytes), calls+1
			return src, nil
		},
		Decode: func(src []byte, _ []uint32) ([]byte, error) { return src, nil },
	}
	require.NoError(t, h5.RegisterFilter(look))
	defer func() { require.NoError(t, h5.UnregisterFilter(look.ID)) }()
	const n = 1 << 19
	i4, f8 := h5.Int(4, h5.LittleEndian), h5.IEEEFloat(8, h5.NativeOrder)
	o, access := h5.CreateOptions{}, h5.DefaultFileAccess()
	access.ChunkCache.Bytes = 0 // so that chunks are stored during the write
	o.Access = &access
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &o)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(n), &h5.DatasetOptions{Chunks: []int64{n / 16}, Filters: []h5.Filter{{ID: testFilter}}})
	require.NoError(t, err)
	whole := h5.Region{Start: []int64{0}, Count: []int64{n}}
	everySecond := h5.Window{Shape: []int64{n, 2}, Selection: h5.Region{Start: []int64{0, 1}, Count: []int64{n, 1}}}
	dense, wide := make([]byte, 8*n), make([]byte, 16*n)
	put := func(at int, v float64) {
		binary.NativeEndian.PutUint64(dense[8*at:], math.Float64bits(v))
		binary.NativeEndian.PutUint64(wide[16*at:], math.Float64bits(0.5)) // outside the window
		binary.NativeEndian.PutUint64(wide[16*at+8:], math.Float64bits(v))
	}
	want := make([]int32, n)
	fill := func(factor int) {
		for i := range want {
			want[i] = int32(i * factor)
			put(i, float64(i*factor))
		}
	}
	writes := []func() error{
		func() error { return d.WriteRegion(dense, f8, whole) },
		func() error { return d.WriteWindow(wide, f8, everySecond, whole) },
	}
	for k, write := range writes {
		fill(k + 2)
		_, before := cmem.Live()
		most, calls = 0, 0
		require.NoError(t, write())
		require.Positive(t, calls)
		require.Less(t, most-before, int64(1<<18), "of 2 MiB that are stored")
		got, err := h5value.ReadAll[int32](d)
		require.NoError(t, err)
		require.True(t, slices.Equal(want, got))

		fill(-1)
		put(n/2, 0.25)
		put(n/2+1, 0.25)
		calls = 0
		err = write()
		require.ErrorIs(t, err, h5.ErrPrecision)
		require.ErrorContains(t, err, "2 of 524288 values")
		for i := range 3 {
			put(n-1-i*n/3, 0x1p40)
		}
		err = write()
		require.ErrorIs(t, err, h5.ErrOverflow)
		require.ErrorContains(t, err, "3 of 524288 values")
		require.Zero(t, calls)
		after, err := h5value.ReadAll[int32](d)
		require.NoError(t, err)
		require.True(t, slices.Equal(got, after), "no byte was written")
	}
}
