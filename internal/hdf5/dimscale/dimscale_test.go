package dimscale_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestMain(m *testing.M) {
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

func TestAttach(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	for name, dims := range map[string][]int64{"/a": {2, 3}, "/x": {2}, "/y": {3}} {
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.NativeOrder), h5.SimpleSpace(dims...), nil)
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	want := []dimscale.Axis{{Scales: []string{"/x"}}, {Scales: []string{"/y", "/x"}}}
	require.NoError(t, dimscale.Attach(f.Root(), "/a", want))
	got, err := dimscale.Read(f.Root(), "/a", 2)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, dimscale.Attach(f.Root(), "/missing", make([]dimscale.Axis, 2)), "nothing to attach")
	require.ErrorIs(t, dimscale.Attach(f.Root(), "/missing", want), h5.ErrNotFound)
	require.ErrorIs(t, dimscale.Attach(f.Root(), "/a", []dimscale.Axis{{Scales: []string{"/missing"}}}), h5.ErrNotFound)
	require.Error(t, dimscale.Attach(f.Root(), "/x", []dimscale.Axis{{Scales: []string{"/y"}}}), "a scale has no scales")
}

func TestIsScale(t *testing.T) {
	fixed := ndarray.Value{DType: ndarray.DType{Kind: ndarray.Bytes, Size: 16, Order: ndarray.NoOrder, Pad: ndarray.NullTerm}, Data: []byte("DIMENSION_SCALE\x00")}
	for name, c := range map[string]struct {
		attrs []ndarray.Attr
		want  bool
	}{
		"fixed":    {[]ndarray.Attr{{Name: "CLASS", Value: fixed}}, true},
		"variable": {[]ndarray.Attr{{Name: "x"}, {Name: "CLASS", Value: ndarray.Text("DIMENSION_SCALE")}}, true},
		"image":    {[]ndarray.Attr{{Name: "CLASS", Value: ndarray.Text("IMAGE")}}, false},
		"number":   {[]ndarray.Attr{{Name: "CLASS", Value: ndarray.Scalar[int32](1)}}, false},
		"absent":   {nil, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, dimscale.IsScale(c.attrs)) })
	}
}

func TestIsPlaceholder(t *testing.T) {
	attrs := func(class, name string) []ndarray.Attr {
		return []ndarray.Attr{{Name: "CLASS", Value: ndarray.Text(class)}, {Name: "NAME", Value: ndarray.Text(name)}}
	}
	const text = "This is a netCDF dimension but not a netCDF variable.         3"
	require.True(t, dimscale.IsPlaceholder(attrs("DIMENSION_SCALE", text)))
	require.False(t, dimscale.IsPlaceholder(attrs("DIMENSION_SCALE", "time")))
	require.False(t, dimscale.IsPlaceholder(attrs("DIMENSION_SCALE", "This is a netCDF dimension")))
	require.False(t, dimscale.IsPlaceholder(attrs("IMAGE", text)))
	require.False(t, dimscale.IsPlaceholder(nil))
}

func TestCompare(t *testing.T) {
	list := func(names ...ndarray.AttrDifference) []ndarray.AttrDifference { return names }
	const refs = "H5T_VLEN { H5T_REFERENCE { H5T_STD_REF_OBJECT } }"
	scales := ndarray.AttrDifference{Name: "DIMENSION_LIST", A: refs}
	for name, c := range map[string]struct {
		a, b []string
		in   []ndarray.AttrDifference
		left int
	}{
		"same names":        {[]string{"x"}, []string{"x"}, list(scales), 0},
		"other names":       {[]string{"x"}, []string{"y"}, list(scales), 1},
		"no names":          {nil, nil, list(scales), 1},
		"other scales":      {[]string{"x"}, []string{"x"}, list(ndarray.AttrDifference{Name: "DIMENSION_LIST", A: refs, B: refs}), 1},
		"inverse":           {nil, nil, list(ndarray.AttrDifference{Name: "REFERENCE_LIST", B: "H5T_COMPOUND { H5T_REFERENCE { H5T_STD_REF_OBJECT } }"}), 0},
		"user's attributes": {[]string{"x"}, []string{"x"}, list(ndarray.AttrDifference{Name: "DIMENSION_LIST", A: `string "a"`}, ndarray.AttrDifference{Name: "units", A: refs}), 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := ndarray.Comparison{A: ndarray.Meta{AxisNames: c.a}, B: ndarray.Meta{AxisNames: c.b}, Attrs: c.in}
			dimscale.Compare(&r)
			require.Len(t, r.Attrs, c.left)
		})
	}
}
