package textview_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

func TestMain(m *testing.M) {
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

// variable returns an HDF5 array of strings of variable length.
func variable(t *testing.T, chars ndarray.CharSet, strs ...string) *ndarray.Array {
	d := ndarray.Text("").DType
	d.CharSet = chars
	b, err := hdf5.Create(filepath.Join(t.TempDir(), "x.h5"), "x", ndarray.Spec{DType: d, Shape: []int64{int64(len(strs))}}, nil)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	require.NoError(t, a.WriteStrings(context.Background(), strs, ndarray.Whole(a.Shape())))
	return a
}

// unicode returns an array of NumPy's U. It does not check the code points.
func unicode(t *testing.T, length int, points ...rune) *ndarray.Array {
	d := ndarray.DType{Kind: ndarray.Unicode, Size: 4 * length, Order: ndarray.NativeOrder}
	b, err := mem.New(ndarray.Spec{DType: d, Shape: []int64{int64(len(points) / length)}})
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	require.NoError(t, a.Write(context.Background(), ndarray.Vector(points...).Data, ndarray.Whole(a.Shape())))
	return a
}

func TestType(t *testing.T) {
	ctx := context.Background()
	utf8 := func(strs ...string) *ndarray.Array { return variable(t, ndarray.UTF8, strs...) }
	ascii := func(strs ...string) *ndarray.Array { return variable(t, ndarray.ASCII, strs...) }
	wide := unicode(t, 2, 'ä', 'b', 'c', 0)
	for _, c := range []struct {
		name     string
		a        *ndarray.Array
		variable bool
		mode     textview.Mode
		want     string
		strings  []string
	}{
		{"UTF-8", utf8("äöü", "", "ab"), false, textview.Auto, "<U3", []string{"äöü", "", "ab"}},
		{"ASCII", ascii("abc", ""), false, textview.Fixed, "|S3", []string{"abc", ""}},
		{"bytes beyond ASCII", ascii("a\xff"), false, textview.Auto, "|S2", []string{"a\xff"}},
		{"empty strings", utf8("", ""), false, textview.Auto, "<U1", []string{"", ""}},
		{"no strings", ascii(), false, textview.Auto, "|S1", []string{}},
		{"kept", utf8("äöü"), true, textview.Auto, "string", []string{"äöü"}},
		{"fixed in HDF5", utf8("äöü"), true, textview.Fixed, "|S6", []string{"äöü"}},
		{"U kept", wide, false, textview.Error, "<U2", []string{"äb", "c"}},
		{"U in HDF5", wide, true, textview.Auto, "string", []string{"äb", "c"}},
		{"U of a fixed size in HDF5", wide, true, textview.Fixed, "|S3", []string{"äb", "c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := textview.Type(ctx, c.a, c.variable, c.mode)
			require.NoError(t, err)
			require.Equal(t, c.want, d.String())
			v, err := textview.New(c.a, d)
			require.NoError(t, err)
			require.Equal(t, c.a.DType().Equal(d), v == c.a)
			got, err := ndarray.ReadAll[string](ctx, v)
			require.NoError(t, err)
			require.Equal(t, c.strings, got)
		})
	}
	t.Run("refused", func(t *testing.T) {
		_, err := textview.Type(ctx, utf8("a"), false, textview.Error)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		_, err = textview.Type(ctx, wide, true, textview.Error)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		_, err = textview.Type(ctx, ascii(strings.Repeat("x", 1<<20+1)), false, textview.Auto)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "1048577 bytes")
	})
	t.Run("invalid UTF-8", func(t *testing.T) {
		_, err := textview.Type(ctx, utf8("a", "b\xff"), false, textview.Auto)
		require.ErrorIs(t, err, ndarray.ErrValue)
		require.ErrorContains(t, err, `string 1: got "b\xff"`)
	})
	t.Run("zero character", func(t *testing.T) {
		_, err := textview.Type(ctx, unicode(t, 3, 'a', 'b', 'c', 'a', 0, 'c'), true, textview.Auto)
		require.ErrorIs(t, err, ndarray.ErrValue)
		require.ErrorContains(t, err, "string 1")
	})
	t.Run("invalid code point", func(t *testing.T) {
		a := unicode(t, 1, 'a', 0xd800)
		_, err := textview.Type(ctx, a, true, textview.Auto)
		require.ErrorIs(t, err, ndarray.ErrValue)
		v, err := textview.New(a, ndarray.Text("").DType)
		require.NoError(t, err)
		_, err = ndarray.ReadAll[string](ctx, v)
		require.ErrorIs(t, err, ndarray.ErrValue)
		require.ErrorContains(t, err, "U+D800")
	})
	t.Run("longer than measured", func(t *testing.T) {
		v, err := textview.New(utf8("abcd"), ndarray.DType{Kind: ndarray.Bytes, Size: 3, Order: ndarray.NoOrder})
		require.NoError(t, err)
		_, err = ndarray.ReadAll[string](ctx, v)
		require.ErrorIs(t, err, ndarray.ErrValue)
	})
}

func TestAttr(t *testing.T) {
	value := func(points ...rune) ndarray.Value {
		d := ndarray.DType{Kind: ndarray.Unicode, Size: 8, Order: ndarray.NativeOrder}
		return ndarray.Value{DType: d, Shape: []int64{int64(len(points) / 2)}, Data: ndarray.Vector(points...).Data}
	}
	a, err := textview.Attr(ndarray.Attr{Name: "x", Value: value('ä', 'b', 'c', 0)})
	require.NoError(t, err)
	require.NoError(t, a.Validate())
	require.Equal(t, []string{"äb", "c"}, a.Value.Strings)
	for name, v := range map[string]ndarray.Value{"surrogate": value('a', 0xdfff), "zero character": value(0, 'a')} {
		t.Run(name, func(t *testing.T) {
			_, err := textview.Attr(ndarray.Attr{Name: "x", Value: v})
			require.ErrorIs(t, err, ndarray.ErrValue)
			require.ErrorContains(t, err, `attribute "x"`)
		})
	}
}
