// Tests of the drivers that create arrays and of the targets of copies.

package treetest_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/internal/tree/treecopy"
	"github.com/hyperslab/hyperslab/ndarray"
)

// stored returns the name of the driver that opens a file, and the values of the array at a path.
func stored(t *testing.T, file, path string) (format string, values []byte) {
	t.Helper()
	s, f, err := opener.Find(bg, file, false)
	require.NoError(t, err)
	x, err := opener.Open(bg, f, s, &tree.OpenOptions{})
	require.NoError(t, err)
	d := ndarray.DTypeOf[int32]()
	o := &tree.ArrayOptions{}
	if filepath.Ext(file) == ".caterva" {
		o.DType = &d // Caterva stores no dtype
	}
	a, err := tree.NewArray(tree.OpenArray(bg, x, path, o))
	require.NoError(t, err)
	values = make([]byte, a.NBytes())
	require.NoError(t, a.Read(bg, values, ndarray.Whole(a.Shape())))
	require.NoError(t, a.Close())
	return f.Name, values
}

// TestFormat_Create creates an array with each driver that can, and opens it with the driver that
// detects the file.
func TestFormat_Create(t *testing.T) {
	spec := ndarray.Spec{Shape: []int64{rows}, DType: ndarray.DTypeOf[int32]()}
	created := 0
	for _, f := range opener.All() {
		if f.Create == nil {
			require.Nil(t, f.Also, f.Name)
			continue
		}
		for _, name := range append([]string{f.Name}, f.Also...) {
			t.Run(name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "x."+name)
				var good []*tree.CreateOptions // a path is required or not allowed
				for _, path := range []string{"", "/a"} {
					o := &tree.CreateOptions{Format: name, File: file, Path: path, Name: file + path}
					err := f.CheckCreate(spec, o)
					if err == nil {
						good = append(good, o)
					} else if f.Member == nil {
						require.ErrorIs(t, err, ndarray.ErrParam)
					}
				}
				if len(good) == 0 { // a store that is written as a whole
					require.NotNil(t, f.Member)
					return
				}
				require.Len(t, good, 1)
				a, err := tree.NewArray(f.Create(file, spec, good[0]))
				require.NoError(t, err)
				require.NoError(t, a.Write(bg, values(7, rows), ndarray.Whole(spec.Shape)))
				require.NoError(t, a.Close())
				driver, got := stored(t, file, good[0].Path)
				require.Equal(t, f.Name, driver)
				require.Equal(t, values(7, rows), got)
				created++
			})
		}
	}
	require.GreaterOrEqual(t, created, 6)
}

// TestFormat_Target copies a tree to each driver that has a target.
func TestFormat_Target(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source.h5")
	save(t, source+":/a", 7, nil)
	names := map[string]bool{}
	for _, name := range []string{"x.h5", "x.bcolz", "x", "x.b2z", "x.b2d", "x.b2e"} {
		t.Run(name, func(t *testing.T) {
			s, f, err := opener.Find(bg, source, false)
			require.NoError(t, err)
			x, err := opener.Open(bg, f, s, &tree.OpenOptions{})
			require.NoError(t, err)
			src := &opened.Tree{Tree: x, Format: f.Name, Location: locate.Location{File: source}}
			file := filepath.Join(dir, name)
			stats, err := treecopy.Copy(bg, file, src, &treecopy.Options{})
			require.NoError(t, err)
			require.NoError(t, src.Close())
			require.Equal(t, tree.Counts{Groups: 1, Arrays: 1, Bytes: 4 * rows}, stats.Counts)
			driver, got := stored(t, file, "/a")
			require.Equal(t, values(7, rows), got)
			names[driver] = true
		})
	}
	for _, f := range opener.All() {
		require.Equal(t, f.Target != nil, names[f.Name], f.Name)
	}
}
