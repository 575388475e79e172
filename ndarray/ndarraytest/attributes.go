// Tests of attributes: every value of ndarray can be stored and read back.

package ndarraytest

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/ndarray"
)

func testAttributes(t *testing.T, f Factory) {
	a := f.create(t, int32s())
	got, err := a.Attrs(bg)
	require.NoError(t, err)
	require.Empty(t, got.List)
	require.Empty(t, got.Unsupported)

	var want []ndarray.Attr
	for _, x := range samples.Attrs() {
		if f.CannotAttr != nil && f.CannotAttr(x) != "" {
			require.ErrorIs(t, a.SetAttr(bg, x), errors.ErrUnsupported, "%s: %s", x.Name, f.CannotAttr(x))
			continue
		}
		require.NoError(t, a.SetAttr(bg, x), x.Name)
		want = append(want, x)
	}
	requireAttrs(t, a, want)
	if len(want) == 0 { // the format has no attributes
		require.NoError(t, a.Close())
		return
	}
	spec := int32s()
	spec.Attrs = slices.Clone(want)

	// Replace an attribute by a value of another type and shape, and delete one.
	i := slices.IndexFunc(want, func(x ndarray.Attr) bool { return x.Name == "one" })
	want[i].Value = ndarray.Vector(int16(1), 2, 3)
	require.NoError(t, a.SetAttr(bg, want[i]))
	require.NoError(t, a.DeleteAttr(bg, "text"))
	want = slices.DeleteFunc(want, func(x ndarray.Attr) bool { return x.Name == "text" })
	require.ErrorIs(t, a.DeleteAttr(bg, "text"), ndarray.ErrNotFound)
	require.ErrorIs(t, a.DeleteAttr(bg, "never"), ndarray.ErrNotFound)
	requireAttrs(t, a, want)

	for _, bad := range []struct {
		attr ndarray.Attr
		want error
	}{
		{ndarray.Attr{Name: "", Value: ndarray.Scalar(true)}, ndarray.ErrParam},
		{ndarray.Attr{Name: "a\x00b", Value: ndarray.Scalar(true)}, ndarray.ErrParam},
		{ndarray.Attr{Name: "short", Value: ndarray.Value{DType: ndarray.DTypeOf[int32](), Data: []byte{1}}}, ndarray.ErrSize},
		{ndarray.Attr{Name: "untyped", Value: ndarray.Value{}}, ndarray.ErrType},
	} {
		require.ErrorIs(t, a.SetAttr(bg, bad.attr), bad.want, "%q", bad.attr.Name)
	}
	a = f.reopened(t, a)
	requireAttrs(t, a, want)
	require.NoError(t, a.Close())

	// The same with attributes in the Spec.
	a = f.reopened(t, f.create(t, spec))
	requireAttrs(t, a, spec.Attrs)
	require.NoError(t, a.Close())
}

// requireAttrs compares by name, because the order depends on the backend. It also compares the
// byte order in storage.
func requireAttrs(t *testing.T, a *ndarray.Array, want []ndarray.Attr) {
	t.Helper()
	got, err := a.Attrs(bg)
	require.NoError(t, err)
	require.Empty(t, got.Unsupported)
	require.Len(t, got.List, len(want))
	for _, w := range want {
		v, ok := got.Get(w.Name)
		require.True(t, ok, "attribute %q is missing", w.Name)
		require.True(t, w.Value.Equal(v), "attribute %q: got %v %v %v, want %v %v %v",
			w.Name, v.DType, v.Shape, v, w.Value.DType, w.Value.Shape, w.Value)
		require.True(t, w.Value.DType.Equal(v.DType), "attribute %q: got %v, want %v", w.Name, v.DType, w.Value.DType)
	}
	for i := range got.List { // the caller may change the result
		clear(got.List[i].Value.Data)
		clear(got.List[i].Value.Strings)
		got.List[i].Name = "spoilt"
	}
}
