package hdf5_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/h5elem"
	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/internal/samples"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// TestAttrs_Structures checks that a structure in an attribute keeps the order and offsets of
// its fields and its bytes, although libhdf5 sorts the fields of attributes that it converts. The
// test reads the attribute after it was written, after others were added, and between such changes.
func TestAttrs_Structures(t *testing.T) {
	dir := need.Scratch(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		var want []ndarray.Attr
		for i := range rapid.IntRange(1, 4).Draw(t, "attributes") {
			d := samples.DrawDType(t)
			v := ndarray.Value{DType: d, Shape: []int64{2}, Data: make([]byte, 2*d.Size)}
			a := ndarray.Attr{Name: fmt.Sprint("a", i), Value: v}
			if hdf5.CheckAttr(a) != nil {
				return // HDF5 cannot store it; TestBackend checks which attributes are supported
			}
			for at := range v.Data {
				// Both values are valid booleans, and enumerations may have any value.
				v.Data[at] = byte(at % 2)
			}
			want = append(want, a)
		}
		n++
		file := filepath.Join(dir, fmt.Sprint(n, ".h5"))
		b, err := hdf5.Create(file, "x", ndarray.Spec{DType: ndarray.DTypeOf[int8](), Attrs: want[:1]}, nil)
		require.NoError(t, err)
		for i := range want {
			require.NoError(t, b.(ndarray.AttrWriter).SetAttr(bg, want[i]))
			for range 2 {
				got, err := b.(ndarray.AttrReader).Attrs(bg)
				require.NoError(t, err)
				require.Empty(t, got.Unsupported)
				requireSameAttrs(t, want[:i+1], got.List)
			}
		}
		require.NoError(t, b.Close())
		c, err := hdf5.Open(file, "x", nil)
		require.NoError(t, err)
		got, err := c.(ndarray.AttrReader).Attrs(bg)
		require.NoError(t, err)
		requireSameAttrs(t, want, got.List)
		require.NoError(t, c.Close())
	})
}

func requireSameAttrs(t *rapid.T, want, got []ndarray.Attr) {
	require.Len(t, got, len(want))
	for i, a := range want {
		require.Equal(t, a.Name, got[i].Name)
		require.True(t, a.Value.DType.Equal(got[i].Value.DType), "%v, want %v", got[i].Value.DType, a.Value.DType)
		require.Equal(t, a.Value.Data, got[i].Value.Data, "%v", a.Value.DType)
	}
}

// TestAttr_structures checks that h5py reads each value under its field name.
func TestAttr_structures(t *testing.T) {
	python := need.Python(t, "h5py")
	d, err := ndarray.ParseDType("{'names': ['x', 'y', 'z'], 'formats': ['i1', '>i4', '<u2'], 'offsets': [9, 4, 0], 'itemsize': 10}")
	require.NoError(t, err)
	v := ndarray.Value{DType: d, Data: []byte{3, 0, 0, 0, 2, 0, 0, 0, 0, 1}}
	file := create(t, func(s *ndarray.Spec) { s.Attrs = []ndarray.Attr{{Name: "a", Value: v}} })
	out, err := exec.Command(python, "-c", "import h5py, sys; a = h5py.File(sys.argv[1])['x'].attrs['a']; print(a['x'], a['y'], a['z'], sorted(a.dtype.names))", file).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "1 2 3 ['x', 'y', 'z']\n", string(out))
}

// TestAttr_unknownType checks that an attribute of an unsupported type is listed with its name.
func TestAttr_unknownType(t *testing.T) {
	file := create(t, nil)
	f, err := h5.Open(file, h5.ReadWrite)
	require.NoError(t, err)
	d, err := f.Root().OpenDataset("x")
	require.NoError(t, err)
	null, err := h5elem.NewBuilder(h5.ReferenceType(h5.ObjectReference), 1)
	require.NoError(t, err)
	require.NoError(t, d.WriteAttribute(h5.Attribute{Name: "odd", Datatype: null.Values().Datatype, Space: h5.ScalarSpace(), Values: null.Values()}))
	require.NoError(t, errors.Join(d.Close(), f.Close()))
	b, err := hdf5.Open(file, "x", nil)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	_, err = a.Attr(bg, "odd")
	require.ErrorIs(t, err, ndarray.ErrType)
	require.ErrorContains(t, err, `attribute "odd" is`)
	require.NoError(t, a.Close())
}
