// A tree with many groups and arrays.

package filetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// OddNames are names that file systems reserve or that look like files of the directory layout.
var OddNames = []string{"plain", "a b", "..", ".hidden", "50%", `back\slash`, "co:lon", "x.b2nd", "__group__", "é日", "line\nbreak", "%2E"}

// Grove writes an HDF5 file with groups, arrays of many dtypes, attributes, and names that need
// escaping in a directory.
func Grove(t *testing.T, file string) {
	t.Helper()
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	put := func(path string, spec ndarray.Spec) {
		b, err := hdf5.CreateIn(f, path, spec, nil)
		require.NoError(t, err, path)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		require.NoError(t, a.Write(context.Background(), Noise(spec.DType, a.NumElems()), ndarray.Whole(spec.Shape)))
		require.NoError(t, a.Close())
	}
	text, number := ndarray.Attr{Name: "unit", Value: ndarray.Text("K")}, ndarray.Attr{Name: "n", Value: ndarray.Scalar(int16(3))}
	for i, name := range OddNames {
		put("/"+name+"/"+name, ndarray.Spec{Shape: []int64{int64(i)}, DType: ndarray.DTypeOf[int16](), Attrs: []ndarray.Attr{text}})
	}
	d, err := ndarray.ParseDType("[('a', '<i4'), ('b', '>f8', (2,))]")
	require.NoError(t, err)
	put("/deep/er/records", ndarray.Spec{
		Shape: []int64{7, 5}, MaxShape: []int64{ndarray.Unlimited, 5}, ChunkShape: []int64{3, 5}, AxisNames: []string{"time", ""},
		DType: d, Fill: make([]byte, d.Size), Attrs: []ndarray.Attr{text, number},
	})
	put("/deep/scalar", ndarray.Spec{DType: ndarray.DTypeOf[float64]()})
	g, err := f.Root().OpenGroup("/deep")
	require.NoError(t, err)
	require.NoError(t, hdf5.WriteAttrs(g, []ndarray.Attr{number, text}))
	require.NoError(t, g.Close())
	require.NoError(t, hdf5.WriteAttrs(f.Root(), []ndarray.Attr{text}))
	_, err = f.Root().CreateGroup("/empty")
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
