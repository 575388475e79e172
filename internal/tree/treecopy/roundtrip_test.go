package treecopy_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// inMemory returns the source array of a round trip.
func inMemory(t *testing.T, spec ndarray.Spec) *ndarray.Array {
	t.Helper()
	b, err := mem.New(spec)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	require.NoError(t, a.Write(bg, filetest.Noise(spec.DType, a.NumElems()), ndarray.Whole(spec.Shape)))
	return a
}

// specOf returns a Spec that creates an array like a in any format.
func specOf(t *testing.T, a *ndarray.Array) ndarray.Spec {
	t.Helper()
	spec := a.Meta().Spec()
	spec.Compression, spec.BlockShape = nil, nil // default of each format
	attrs, err := a.Attrs(bg)
	require.NoError(t, err)
	require.Empty(t, attrs.Unsupported)
	spec.Attrs = attrs.List
	return spec
}

// passOn copies a with all its attributes to a file and opens the copy. It creates the file without
// a Draft, because the fsync calls of a Draft would take most of the time.
func passOn(t *testing.T, a *ndarray.Array, file, object string, sparse bool) *ndarray.Array {
	t.Helper()
	require.NoError(t, os.RemoveAll(file))
	var b ndarray.Backend
	var err error
	if object != "" {
		b, err = hdf5.Create(file, object, specOf(t, a), nil)
		object = ":" + object
	} else {
		b, err = b2nd.Create(file, specOf(t, a), &b2nd.CreateOptions{Sparse: sparse})
	}
	require.NoError(t, err)
	to, err := ndarray.New(b)
	require.NoError(t, err)
	_, err = ndarray.Copy(bg, to, a, nil)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	back, err := hyperslab.Open(bg, file+object, nil)
	require.NoError(t, err)
	return back
}

// attributesFor returns the attributes of ndarraytest that HDF5 supports.
func attributesFor() []ndarray.Attr {
	var out []ndarray.Attr
	for _, a := range samples.Attrs() {
		d := a.Value.DType
		ordered := slices.IsSortedFunc(d.Fields, func(a, b ndarray.Field) int { return a.Offset - b.Offset })
		if filetest.InHDF5(d) && ordered && (d.Kind != ndarray.Enum || d.IsNative()) {
			out = append(out, a)
		}
	}
	return out
}

// TestRoundTrip copies arrays from memory to b2nd, to HDF5, to sparse b2nd and back to memory. Each
// copy must have the same elements, dtype with byte order, and attributes.
func TestRoundTrip(t *testing.T) {
	dir := testenv.Scratch(t)
	for i, d := range samples.DTypes() {
		for j, l := range samples.Layouts() {
			if (i+j)%4 != 0 {
				continue // the tests of the backends cover every pair of dtype and layout
			}
			spec := ndarray.Spec{Shape: l.Shape, ChunkShape: l.ChunkShape, DType: d}
			if i%7 == 0 {
				spec.Fill = filetest.Noise(d, 1)
			}
			if len(l.Shape) == 2 && i%8 == 0 {
				spec.Attrs = attributesFor()
			}
			name := fmt.Sprintf("%v %v", d, l)
			first := inMemory(t, spec)
			steps := []*ndarray.Array{first, passOn(t, first, filetest.In(dir, "1.b2nd"), "", false)}
			if !filetest.InHDF5(d) {
				_, err := hyperslab.Create(bg, filetest.In(dir, "u.h5:/x"), spec, nil)
				require.ErrorIs(t, err, errors.ErrUnsupported, name)
			} else {
				steps = append(steps, passOn(t, steps[1], filetest.In(dir, "2.h5"), "/group/x", false))
			}
			steps = append(steps, passOn(t, steps[len(steps)-1], filetest.In(dir, "3.b2nd"), "", true))
			last := inMemory(t, steps[len(steps)-1].Meta().Spec())
			_, err := ndarray.Copy(bg, last, steps[len(steps)-1], nil)
			require.NoError(t, err, name)
			for _, a := range steps[1:] {
				c, err := ndarray.Compare(bg, first, a, nil)
				require.NoError(t, err, name)
				require.True(t, c.Equal(), "%s in %s: %+v", name, a.Meta().Path, c)
				require.Equal(t, spec.Fill, a.Meta().Fill, "%s in %s", name, a.Meta().Path)
			}
			c, err := ndarray.Compare(bg, first, last, &ndarray.CompareOptions{IgnoreAttrs: true})
			require.NoError(t, err, name)
			require.True(t, c.Equal(), "%s: %+v", name, c)
			for _, a := range append(steps, last) {
				require.NoError(t, a.Close())
			}
		}
	}
}

// TestRoundTrip_namesNotUTF8 copies an array of structures whose field name is not UTF-8.
func TestRoundTrip_namesNotUTF8(t *testing.T) {
	d := ndarray.StructOf(false, ndarray.Field{Name: "t\xb6", Type: ndarray.DTypeOf[int32]()}, ndarray.Field{Name: "é", Offset: 4, Type: ndarray.DTypeOf[int32]()})
	first := inMemory(t, ndarray.Spec{Shape: []int64{3}, ChunkShape: []int64{2}, DType: d})
	for _, file := range []string{"a.h5:/d", "a.b2nd", "a.npy"} {
		t.Run(file, func(t *testing.T) {
			location := filetest.In(t.TempDir(), file)
			to, err := hyperslab.Create(bg, location, ndarray.Spec{Shape: []int64{3}, DType: d}, nil)
			require.NoError(t, err)
			_, err = ndarray.Copy(bg, to.Array, first, nil)
			require.NoError(t, err)
			require.NoError(t, to.Commit(bg))
			a, err := hyperslab.Open(bg, location, nil)
			require.NoError(t, err)
			require.Equal(t, "t\xb6", a.DType().Fields[0].Name)
			c, err := ndarray.Compare(bg, first, a, nil)
			require.NoError(t, err)
			require.True(t, c.Equal(), "%+v", c)
			require.NoError(t, a.Close())
		})
	}
	require.NoError(t, first.Close())
	_, err := hyperslab.Create(bg, filetest.In(t.TempDir(), "a.bcolz"), ndarray.Spec{Shape: []int64{3}, DType: d}, nil)
	require.ErrorIs(t, err, errors.ErrUnsupported) // the names of columns are names of directories
}

// TestRoundTrip_shapes checks round trips of null, scalar, empty and resizable arrays.
func TestRoundTrip_shapes(t *testing.T) {
	dir := t.TempDir()
	for _, spec := range []ndarray.Spec{
		{Null: true, DType: ndarray.DTypeOf[float32]()},
		{DType: ndarray.DTypeOf[float32]()},
		{Shape: []int64{0}, DType: ndarray.DTypeOf[float32]()},
		{Shape: []int64{2, 0}, MaxShape: []int64{2, ndarray.Unlimited}, DType: ndarray.DTypeOf[float32]()},
		{Shape: []int64{2, 3}, MaxShape: []int64{5, ndarray.Unlimited}, DType: ndarray.DTypeOf[float32]()},
	} {
		a := passOn(t, inMemoryShape(t, spec), filetest.In(dir, "1.b2nd"), "", false)
		b := passOn(t, a, filetest.In(dir, "2.h5"), "/x", false)
		c := passOn(t, b, filetest.In(dir, "3.b2nd"), "", true)
		for _, x := range []*ndarray.Array{a, b, c} {
			m := x.Meta()
			require.Equal(t, spec.Null, m.Null)
			require.Equal(t, len(spec.Shape), len(m.Shape))
			require.Equal(t, spec.MaxShape, m.MaxShape, "%+v in %s", spec, m.Format)
			require.NoError(t, x.Close())
		}
	}
}

func inMemoryShape(t *testing.T, spec ndarray.Spec) *ndarray.Array {
	t.Helper()
	b, err := mem.New(spec)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	return a
}

// TestCopy_gridMemory checks that copies between column chunks and row chunks stay within a memory
// limit of a few chunks.
func TestCopy_gridMemory(t *testing.T) {
	dir := t.TempDir()
	a := inMemory(t, ndarray.Spec{Shape: []int64{311, 257}, ChunkShape: []int64{311, 1}, DType: ndarray.DTypeOf[float64]()})
	spec := a.Meta().Spec()
	spec.ChunkShape = []int64{1, 257}
	rows, err := hyperslab.Create(bg, filetest.In(dir, "rows.b2nd"), spec, nil)
	require.NoError(t, err)
	stats, err := ndarray.Copy(bg, rows.Array, a, &ndarray.CopyOptions{Memory: 40 << 10, Workers: 2})
	require.NoError(t, err)
	require.LessOrEqual(t, stats.PeakBuffer, int64(40<<10))
	require.NoError(t, rows.Commit(bg))
	r, err := hyperslab.Open(bg, filetest.In(dir, "rows.b2nd"), nil)
	require.NoError(t, err)
	spec.ChunkShape, spec.Compression = []int64{40, 33}, nil
	tiles, err := hyperslab.Create(bg, filetest.In(dir, "tiles.h5:/x"), spec, nil)
	require.NoError(t, err)
	_, err = ndarray.Copy(bg, tiles.Array, r, &ndarray.CopyOptions{Memory: 64 << 10, Workers: 2})
	require.NoError(t, err)
	require.NoError(t, tiles.Commit(bg))
	x, err := hyperslab.Open(bg, filetest.In(dir, "tiles.h5:/x"), nil)
	require.NoError(t, err)
	c, err := ndarray.Compare(bg, a, x, &ndarray.CompareOptions{Memory: 64 << 10})
	require.NoError(t, err)
	require.True(t, c.Equal(), "%+v", c)
	for _, y := range []*ndarray.Array{a, r, x} {
		require.NoError(t, y.Close())
	}
}
