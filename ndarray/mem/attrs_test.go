package mem_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// TestBackend_SetAttr checks the order of attributes after replacements and deletions.
func TestBackend_SetAttr(t *testing.T) {
	b, err := mem.New(ndarray.Spec{Shape: []int64{1}, DType: ndarray.DTypeOf[int32]()})
	require.NoError(t, err)
	w := b.(ndarray.AttrWriter)
	for i := range 5 {
		require.NoError(t, w.SetAttr(t.Context(), ndarray.Attr{Name: fmt.Sprint(i), Value: ndarray.Vector(int32(i))}))
	}
	require.NoError(t, w.DeleteAttr(t.Context(), "1"))
	require.ErrorIs(t, w.DeleteAttr(t.Context(), "1"), ndarray.ErrNotFound)
	require.NoError(t, w.SetAttr(t.Context(), ndarray.Attr{Name: "2", Value: ndarray.Vector[int32](20)}))
	require.NoError(t, w.SetAttr(t.Context(), ndarray.Attr{Name: "1", Value: ndarray.Vector[int32](10)}))
	attrs, err := b.(ndarray.AttrReader).Attrs(t.Context())
	require.NoError(t, err)
	var got []string
	for _, a := range attrs.List {
		got = append(got, a.Name+" "+a.Value.String())
	}
	require.Equal(t, []string{"0 [0]", "2 [20]", "3 [3]", "4 [4]", "1 [10]"}, got)
}
