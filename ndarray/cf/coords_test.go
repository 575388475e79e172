// Comparison with the coordinates of xarray, and tests of searches.

package cf_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// placed is a coordinate with the names of its dimensions.
type placed struct {
	Dims   []string
	Values []float64
}

// TestVariable_Coords_xarray compares the coordinates of a netCDF file, and of the same tree in
// other formats, with those of xarray.
func TestVariable_Coords_xarray(t *testing.T) {
	interpreter := testenv.RemotePython(t, "xarray", "netCDF4")
	dir := t.TempDir()
	file := filepath.Join(dir, "coords.nc")
	python(t, interpreter, "coords.py", "write", file)
	var list []struct {
		Path   string
		Coords map[string]placed
	}
	require.NoError(t, json.Unmarshal(python(t, interpreter, "coords.py", "read", file), &list))
	require.Greater(t, len(list), 15)
	src, err := hyperslab.OpenTree(t.Context(), file, nil)
	require.NoError(t, err)
	files := map[string]string{"netCDF": file}
	for _, name := range []string{"coords", "coords.b2z", "coords.b2d", "coords.h5"} {
		files[name] = filepath.Join(dir, name)
		_, err := hyperslab.CopyTree(t.Context(), files[name], src, &hyperslab.TreeOptions{Accept: func(hyperslab.Problem) bool { return true }})
		require.NoError(t, err)
	}
	require.NoError(t, src.Close())
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			tree, err := hyperslab.OpenTree(t.Context(), file, nil)
			require.NoError(t, err)
			for _, want := range list {
				require.Equal(t, want.Coords, coordsOf(t, tree, want.Path), want.Path)
			}
			require.NoError(t, tree.Close())
		})
	}
	for name, untrusted := range map[string]*hyperslab.Untrusted{"worker process": {}, "untrusted in this process": {InProcess: true}} {
		t.Run(name, func(t *testing.T) {
			tree, err := hyperslab.OpenTree(t.Context(), file, &hyperslab.OpenOptions{Untrusted: untrusted})
			require.NoError(t, err)
			for _, want := range list {
				require.Equal(t, want.Coords, coordsOf(t, tree, want.Path), want.Path)
			}
			require.NoError(t, tree.Close())
		})
	}
}

// coordsOf returns the coordinates of a variable by name.
func coordsOf(t *testing.T, tree cf.Tree, path string) map[string]placed {
	v, err := cf.Open(t.Context(), tree, path)
	require.NoError(t, err)
	defer func() { require.NoError(t, v.Close()) }()
	list, err := v.Coords(t.Context())
	require.NoError(t, err)
	again, err := v.Coords(t.Context())
	require.NoError(t, err)
	require.Equal(t, list, again)
	out := make(map[string]placed)
	for _, c := range list {
		x := placed{Dims: []string{}}
		for _, k := range c.Dims {
			dim := filepath.Base(v.Path)
			if names := v.Array.Meta().AxisNames; names != nil {
				dim = names[k]
			}
			x.Dims = append(x.Dims, dim)
		}
		x.Values = make([]float64, c.Array.NumElems())
		require.NoError(t, ndarray.ReadAs(t.Context(), c.Array, x.Values, ndarray.Whole(c.Array.Shape())))
		out[filepath.Base(c.Path)] = x
	}
	return out
}
