package h5elem_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
)

func TestMapRefs(t *testing.T) {
	f := newFile(t)
	for _, name := range []string{"a", "b"} {
		d, err := f.Root().CreateDataset(name, h5value.Bool(), h5.SimpleSpace(3), nil)
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	to := func(name string, kind h5.ReferenceKind) h5.Ref {
		r, err := f.Root().Reference(name, kind)
		require.NoError(t, err)
		return r
	}
	type row struct {
		N    int32    `h5:"n"`
		Ref  h5.Ref   `h5:"ref,ref=standard"`
		List []h5.Ref `h5:"list"`
		Text string   `h5:"text"`
	}
	from := []row{{1, to("a", h5.StandardReference), []h5.Ref{to("a", h5.ObjectReference), {}}, "x"}, {2, h5.Ref{}, nil, ""}}
	dt, err := h5value.DatatypeFor[row]()
	require.NoError(t, err)
	v, err := h5value.Encode(dt, from)
	require.NoError(t, err)
	n := 0
	mapped, err := h5elem.MapRefs(v, func(r h5.Ref) (h5.Ref, error) {
		n++
		if r.IsNull() {
			return r, nil
		}
		return to("b", r.Kind), nil
	})
	require.NoError(t, err)
	require.Equal(t, 4, n)
	got, err := h5value.Decode[row](mapped)
	require.NoError(t, err)
	require.Equal(t, to("b", h5.StandardReference), got[0].Ref)
	require.Equal(t, to("b", h5.ObjectReference), got[0].List[0])
	require.True(t, got[0].List[1].IsNull())
	require.Equal(t, []any{int32(1), "x", int32(2), ""}, []any{got[0].N, got[0].Text, got[1].N, got[1].Text})
	again, err := h5value.Decode[row](v)
	require.NoError(t, err)
	require.Equal(t, from[0].Ref, again[0].Ref, "the values mapped from are unchanged")
	_, err = h5elem.MapRefs(v, func(h5.Ref) (h5.Ref, error) { return h5.Ref{}, h5.ErrParam })
	require.ErrorIs(t, err, h5.ErrParam)
	_, err = h5elem.MapRefs(v, func(h5.Ref) (h5.Ref, error) { return h5.Ref{Kind: h5.RegionReference, Data: "x"}, nil })
	require.ErrorIs(t, err, h5.ErrType)
}
