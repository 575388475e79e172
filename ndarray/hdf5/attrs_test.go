package hdf5_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// TestAttrs_Structures checks that a structure in an attribute keeps the order and offsets of
// its fields and its bytes, although libhdf5 sorts the fields of attributes that it converts. The
// test reads the attribute after it was written, after others were added, and between such changes.
func TestAttrs_Structures(t *testing.T) {
	dir := testenv.Scratch(t)
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
	python := testenv.Python(t, "h5py")
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

// TestAttrs_unreadable checks that an attribute that libhdf5 cannot list or read hides no other.
func TestAttrs_unreadable(t *testing.T) {
	t.Run("value", func(t *testing.T) {
		file := create(t, func(s *ndarray.Spec) {
			for _, name := range []string{"a", "bad", "z"} {
				s.Attrs = append(s.Attrs, ndarray.Attr{Name: name, Value: ndarray.Text("value of " + name)})
			}
		})
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		at := bytes.Index(b, []byte("value of bad"))
		require.Positive(t, at)
		b[at-16] = 0x77 // the index of the object in the global heap
		require.NoError(t, os.WriteFile(file, b, 0o666))
		a := openArray(t, file, "x")
		attrs, err := a.Attrs(bg)
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
		require.Len(t, attrs.List, 2)
		require.Len(t, attrs.Unsupported, 1)
		require.Equal(t, "bad", attrs.Unsupported[0].Name)
		require.NotEmpty(t, attrs.Unsupported[0].Reason)
		v, err := a.Attr(bg, "z")
		require.NoError(t, err)
		require.Equal(t, []string{"value of z"}, v.Strings)
		_, err = a.Attr(bg, "bad")
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
	})
	t.Run("index", func(t *testing.T) { // 10 of its 20 attributes are not found by their hash
		file := testenv.Files(t, "HYPERSLAB_CORPUS", "hdf5-foreign/hdf5-pure-dense-attributes-colliding.h5")[0]
		f, err := h5.Open(file, h5.ReadOnly)
		require.NoError(t, err)
		attrs, err := hdf5.ReadAttrs(bg, f.Root())
		require.Error(t, err)
		require.Len(t, attrs.List, 10)
		require.Len(t, attrs.Unsupported, 10)
		require.NoError(t, f.Close())
	})
}

func openArray(t *testing.T, file, path string) *ndarray.Array {
	b, err := hdf5.Open(file, path, nil)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// TestOpen_unreadableNames checks that a corrupt attribute hides no elements: Attrs returns the
// error.
func TestOpen_unreadableNames(t *testing.T) {
	for _, file := range testenv.Files(t, "HYPERSLAB_CORPUS", "hostile-hdf5/cve-2018-1743[57].h5") {
		b, err := hdf5.Open(file, "/image", nil)
		require.NoError(t, err)
		x, err := ndarray.New(b)
		require.NoError(t, err)
		_, err = ndarray.ReadAll[uint8](context.Background(), x)
		require.NoError(t, err)
		_, err = x.Attrs(context.Background())
		require.ErrorContains(t, err, "ran off end of input buffer")
		require.NoError(t, x.Close())
	}
}
