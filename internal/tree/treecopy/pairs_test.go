// Tests of copies between every pair of backends. What both formats represent must be copied
// without a change, and everything else must be refused before anything is written.
package treecopy_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// inBcolz reports whether bcolz supports the dtype, in a carray or, for one-dimensional arrays of
// structures, in a ctable.
func inBcolz(d ndarray.DType, rank int) bool {
	switch d.Kind {
	case ndarray.Struct:
		return rank == 1 && !slices.ContainsFunc(d.Fields, func(f ndarray.Field) bool {
			base := f.Type
			for base.Kind == ndarray.SubArray {
				base = *base.Base
			}
			return base.Kind == ndarray.Struct || !inBcolz(base, 0)
		})
	case ndarray.Float:
		return d.Size <= 8
	case ndarray.Complex:
		return d.Size <= 16
	}
	return !slices.Contains([]ndarray.Kind{ndarray.String, ndarray.SubArray}, d.Kind)
}

// storage creates and opens arrays of one backend.
type storage struct {
	name   string
	holds  func(d ndarray.DType, rank int) bool
	create func(path string, spec ndarray.Spec) (ndarray.Backend, error)
	open   func(path string, d ndarray.DType) (ndarray.Backend, error)
}

func backendOf[B ndarray.Backend](b B, err error) (ndarray.Backend, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}

func storages() []storage {
	text := func(d ndarray.DType, _ int) bool { return d.Kind != ndarray.String }
	frame := func(name string, o b2nd.CreateOptions) storage {
		return storage{name, text,
			func(path string, spec ndarray.Spec) (ndarray.Backend, error) {
				return backendOf(b2nd.Create(path, spec, &o))
			},
			func(path string, d ndarray.DType) (ndarray.Backend, error) {
				given := &b2nd.OpenOptions{}
				if o.Caterva {
					given.DType = &d
				}
				return backendOf(b2nd.Open(path, given))
			}}
	}
	var kept ndarray.Backend // an array in memory cannot be reopened
	return []storage{
		{"mem", func(ndarray.DType, int) bool { return true },
			func(_ string, spec ndarray.Spec) (_ ndarray.Backend, err error) {
				kept, err = backendOf(mem.New(spec))
				return kept, err
			},
			func(string, ndarray.DType) (ndarray.Backend, error) { return kept, nil }},
		frame("b2nd", b2nd.CreateOptions{}),
		frame("sparse", b2nd.CreateOptions{Sparse: true}),
		frame("caterva", b2nd.CreateOptions{Caterva: true}),
		{"hdf5", func(d ndarray.DType, _ int) bool { return filetest.InHDF5(d) },
			func(path string, spec ndarray.Spec) (ndarray.Backend, error) {
				return backendOf(hdf5.Create(path, "/g/x", spec, nil))
			},
			func(path string, _ ndarray.DType) (ndarray.Backend, error) {
				return backendOf(hdf5.Open(path, "/g/x", nil))
			}},
		{"bcolz", inBcolz,
			func(path string, spec ndarray.Spec) (ndarray.Backend, error) {
				if len(spec.Shape) == 1 && spec.DType.Kind == ndarray.Struct {
					return backendOf(bcolz.CreateRecords(path, spec, nil))
				}
				return backendOf(bcolz.Create(path, spec, nil))
			},
			func(path string, _ ndarray.DType) (ndarray.Backend, error) {
				if b, err := bcolz.OpenRecords(path, nil); err == nil {
					return b, nil
				}
				return backendOf(bcolz.Open(path, nil))
			}},
	}
}

// put creates an array, calls write with it and opens it again. If the storage does not support the
// dtype, put checks that create returns an error and leaves no file, and returns nil.
func (s storage) put(t *testing.T, path string, spec ndarray.Spec, write func(a *ndarray.Array)) *ndarray.Array {
	t.Helper()
	b, err := s.create(path, spec)
	if !s.holds(spec.DType, len(spec.Shape)) {
		require.ErrorIs(t, err, errors.ErrUnsupported, "%v in %s", spec.DType, s.name)
		_, err = os.Lstat(path)
		require.ErrorIs(t, err, os.ErrNotExist, "%v in %s", spec.DType, s.name)
		return nil
	}
	require.NoError(t, err, "%v in %s", spec.DType, s.name)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	write(a)
	if s.name == "mem" {
		return a
	}
	require.NoError(t, a.Close())
	b, err = s.open(path, spec.DType)
	require.NoError(t, err, "%v in %s", spec.DType, s.name)
	a, err = ndarray.New(b)
	require.NoError(t, err)
	return a
}

// write fills an array with random bit patterns, or with strings.
func write(t *testing.T, a *ndarray.Array) {
	t.Helper()
	if a.DType().Kind != ndarray.String {
		require.NoError(t, a.Write(bg, filetest.Noise(a.DType(), a.NumElems()), ndarray.Whole(a.Shape())))
		return
	}
	strs := make([]string, a.NumElems())
	for i := range strs {
		strs[i] = "häuser"[:i%4+3]
	}
	require.NoError(t, a.WriteStrings(bg, strs, ndarray.Whole(a.Shape())))
}

// TestCopy_pairs copies arrays of every dtype between all pairs of backends. The copy must have the
// same values, dtype with byte order and attributes, or create must refuse the dtype.
func TestCopy_pairs(t *testing.T) {
	dir := testenv.Scratch(t)
	attrs := []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}, {Name: "range", Value: ndarray.Vector(1.5, -2)}}
	dtypes := append(samples.DTypes(), ndarray.Text("").DType)
	all := storages()
	copied := 0
	for i, d := range dtypes {
		shape, n := []int64{7}, 0
		if i%2 == 0 {
			shape = []int64{5, 4}
		}
		if d.Kind == ndarray.Struct {
			shape = shape[:1]
		}
		for _, from := range all {
			spec := ndarray.Spec{Shape: shape, DType: d, Attrs: attrs}
			at := filepath.Join(dir, fmt.Sprint(i, from.name))
			a := from.put(t, at, spec, func(a *ndarray.Array) { write(t, a) })
			if a == nil {
				continue
			}
			for _, to := range all {
				name := fmt.Sprintf("%v %v from %s to %s", d, shape, from.name, to.name)
				if to.name == "mem" && from.name == "mem" {
					to = storages()[0] // a second array in memory
				}
				made := a.Meta().Spec()
				made.ChunkShape, made.BlockShape, made.Compression, made.MaxShape = nil, nil, nil, nil // defaults of the target
				found, err := a.Attrs(bg)
				require.NoError(t, err, name)
				made.Attrs = found.List
				other := filepath.Join(dir, fmt.Sprint(i, "copy", n))
				n++
				b := to.put(t, other, made, func(b *ndarray.Array) {
					_, err := ndarray.Copy(bg, b, a, nil)
					require.NoError(t, err, name)
				})
				if b == nil {
					continue
				}
				require.Equal(t, d.String(), b.DType().String(), name)
				c, err := ndarray.Compare(bg, a, b, nil)
				require.NoError(t, err, name)
				require.True(t, c.Equal(), "%s: %+v", name, c)
				require.NoError(t, b.Close())
				require.NoError(t, os.RemoveAll(other))
				copied++
			}
			require.NoError(t, a.Close())
			require.NoError(t, os.RemoveAll(at))
		}
	}
	require.Greater(t, copied, 1000)
}

// TestCopyTree_pairs copies trees with arrays of every dtype between all pairs of tree formats.
// Each array that the target cannot represent must be listed in TreeStats.Refused before anything
// is written. If the problems are accepted, all other arrays must be copied. The elements of U are
// random bits, which are no strings, so HDF5 cannot represent these arrays.
func TestCopyTree_pairs(t *testing.T) {
	dir := testenv.Scratch(t)
	kinds := []struct {
		name  string
		holds func(d ndarray.DType) bool
	}{
		{"tree.h5", filetest.InHDF5},
		{"table.bcolz", func(d ndarray.DType) bool { return inBcolz(d, 0) }},
		{"directory", func(d ndarray.DType) bool { return d.Kind != ndarray.String }},
	}
	// The sources are copies of a directory with every dtype of b2nd, and an HDF5 file with
	// strings.
	dtypes := samples.DTypes()
	require.NoError(t, os.Mkdir(filetest.In(dir, "all"), 0o777))
	for i, d := range dtypes {
		b, err := b2nd.Create(filetest.In(dir, fmt.Sprintf("all/a%02d.b2nd", i)), ndarray.Spec{Shape: []int64{9}, DType: d}, nil)
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		write(t, a)
		require.NoError(t, a.Close())
	}
	accept := &hyperslab.TreeOptions{Accept: func(hyperslab.Problem) bool { return true }}
	for _, k := range kinds {
		_, err := filetest.CopyTree(bg, filetest.In(dir, k.name), filetest.In(dir, "all"), accept)
		require.NoError(t, err)
	}
	strs, err := hdf5.Create(filetest.In(dir, "texts.h5"), "/a99", ndarray.Spec{Shape: []int64{9}, DType: ndarray.Text("").DType}, nil)
	require.NoError(t, err)
	require.NoError(t, strs.Close())

	for _, from := range kinds {
		source := from.name
		for _, to := range kinds {
			name := source + " to " + to.name
			target := filetest.In(dir, "copy-"+source+"-"+to.name)
			var lost []string
			for i, d := range dtypes {
				if from.holds(d) && !to.holds(d) {
					lost = append(lost, fmt.Sprintf("/a%02d", i))
				}
			}
			stats, err := filetest.CopyTree(bg, target, filetest.In(dir, source), nil)
			if len(lost) == 0 {
				require.NoError(t, err, name)
			} else {
				require.ErrorIs(t, err, errors.ErrUnsupported, name)
				var got []string
				for _, p := range stats.Refused {
					got = append(got, p.Path)
				}
				require.Equal(t, lost, got, name)
				_, err = os.Lstat(target)
				require.ErrorIs(t, err, os.ErrNotExist, name)
				_, err = filetest.CopyTree(bg, target, filetest.In(dir, source), accept)
				require.NoError(t, err, name)
			}
			for i, d := range dtypes {
				at := fmt.Sprintf(":/a%02d", i)
				if !from.holds(d) || !to.holds(d) {
					_, err := hyperslab.Open(bg, target+at, nil)
					require.ErrorIs(t, err, ndarray.ErrNotFound, "%s %v", name, d)
					continue
				}
				a, err := hyperslab.Open(bg, filetest.In(dir, source)+at, nil)
				require.NoError(t, err, name)
				b, err := hyperslab.Open(bg, target+at, nil)
				require.NoError(t, err, name)
				c, err := ndarray.Compare(bg, a, b, nil)
				require.NoError(t, err, name)
				require.True(t, c.Equal(), "%s %v: %+v", name, d, c)
				require.NoError(t, errors.Join(a.Close(), b.Close()))
			}
			require.NoError(t, os.RemoveAll(target))
		}
	}
	for _, to := range kinds[1:] {
		_, err := filetest.CopyTree(bg, filetest.In(dir, "t-"+to.name), filetest.In(dir, "texts.h5"), &hyperslab.TreeOptions{Strings: "error"})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.NoFileExists(t, filetest.In(dir, "t-"+to.name))
		_, err = filetest.CopyTree(bg, filetest.In(dir, "t-"+to.name), filetest.In(dir, "texts.h5"), nil)
		require.NoError(t, err)
	}
}

// TestCopy_CatervaToB2nd checks that Caterva files are created on request and listed by Walk, and
// that they can be copied to b2nd if the option DType is set.
func TestCopy_CatervaToB2nd(t *testing.T) {
	dir := t.TempDir()
	for name, sparse := range map[string]bool{"one": false, "sparse": true} {
		file := filetest.In(dir, name)
		filetest.Save(t, file, filetest.Int32s(7, 3), &hyperslab.CreateOptions{Format: hyperslab.Caterva, Sparse: sparse})
		list := filetest.Walk(t, file)
		require.Len(t, list, 1)
		require.Equal(t, "caterva", list[0].Meta.Format)
		a, err := hyperslab.Open(bg, file, &hyperslab.OpenOptions{DType: new(ndarray.DTypeOf[int32]())})
		require.NoError(t, err)
		spec := a.Meta().Spec()
		d, err := hyperslab.Create(bg, file+".b2nd", spec, nil)
		require.NoError(t, err)
		_, err = ndarray.Copy(bg, d.Array, a, nil)
		require.NoError(t, err)
		require.NoError(t, errors.Join(d.Commit(bg), a.Close()))
		filetest.RequireCount(t, file+".b2nd")
	}
	_, err := hyperslab.Create(bg, filetest.In(dir, "x:/y"), filetest.Int32s(2), &hyperslab.CreateOptions{Format: hyperslab.Caterva})
	require.ErrorIs(t, err, ndarray.ErrParam)
}
