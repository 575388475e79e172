// Arrays in files.

package filetest

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Save creates and commits an array with the values 0, 1, 2, ….
func Save(t *testing.T, location string, spec ndarray.Spec, opts *hyperslab.CreateOptions) {
	t.Helper()
	d, err := hyperslab.Create(context.Background(), location, spec, opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, ndarray.Write(context.Background(), d.Array, Count(d.NumElems()), ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(context.Background()))
}

// Count returns the values 0, 1, 2, ….
func Count(n int64) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(i)
	}
	return v
}

// Int32s returns the Spec of an array of int32.
func Int32s(shape ...int64) ndarray.Spec {
	return ndarray.Spec{Shape: shape, DType: ndarray.DTypeOf[int32]()}
}

// Entries returns the names in a directory, including temporary files.
func Entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// RequireCount checks that an array has the values 0, 1, 2, ….
func RequireCount(t *testing.T, location string) {
	t.Helper()
	a, err := hyperslab.Open(context.Background(), location, nil)
	require.NoError(t, err)
	got, err := ndarray.ReadAll[int32](context.Background(), a)
	require.NoError(t, err)
	require.Equal(t, Count(a.NumElems()), got)
	require.NoError(t, a.Close())
}

// In returns the path or location name in a directory. Unlike filepath.Join it keeps ":/" at the
// end.
func In(dir, name string) string { return dir + "/" + name }

// Noise returns n elements with random bit patterns that are valid for the dtype.
func Noise(d ndarray.DType, n int64) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n*int64(d.Size))
	for i := range b {
		b[i] = byte(r.Uint32())
		if d.Kind == ndarray.Bool {
			b[i] &= 1
		}
		if d.Pad == ndarray.NullTerm && i%d.Size == d.Size-1 {
			b[i] = 0
		}
	}
	return b
}

// InHDF5 reports whether HDF5 supports the dtype, that is, without Unicode code points and titles.
func InHDF5(d ndarray.DType) bool {
	has := true
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		has = has && p.Kind != ndarray.Unicode && !slices.ContainsFunc(p.Fields, func(f ndarray.Field) bool { return f.Title != "" })
		return p
	})
	return has
}
