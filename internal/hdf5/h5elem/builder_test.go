// Tests that values built from bytes are equal to values encoded from Go values.

package h5elem_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
)

func TestBuilder(t *testing.T) {
	f := newFile(t)
	root := f.Root()
	to, err := root.Reference("/", h5.StandardReference)
	require.NoError(t, err)
	old, err := root.Reference("/", h5.ObjectReference)
	require.NoError(t, err)
	type record struct {
		N    int16
		Name string
		Many []int16
		Old  h5.Ref
		To   h5.Ref `h5:"To,ref=standard"`
	}
	dt, err := h5value.DatatypeFor[record]()
	require.NoError(t, err)
	want := []record{{1, "größe", []int16{5, 6, 7}, old, to}, {2, "", []int16{}, h5.Ref{Kind: h5.ObjectReference}, h5.Ref{Kind: h5.StandardReference}}}

	b, err := h5elem.NewBuilder(dt, len(want))
	require.NoError(t, err)
	require.Equal(t, dt.InMemory(), b.Stride())
	for i, r := range want {
		at := func(k int) int { return i*b.Stride() + dt.Members[k].Offset }
		require.NoError(t, b.Bytes(at(0), []byte{byte(r.N), 0}))
		require.NoError(t, b.Text(at(1), r.Name))
		first, stride, err := b.Sequence(at(2), len(r.Many), *dt.Members[2].Type.Base)
		require.NoError(t, err)
		for k, n := range r.Many {
			require.NoError(t, b.Bytes(first+k*stride, []byte{byte(n), 0}))
		}
		require.NoError(t, b.Ref(at(3), r.Old))
		require.NoError(t, b.Ref(at(4), r.To))
	}
	v := b.Values()
	got, err := h5value.Decode[record](v)
	require.NoError(t, err)
	require.Equal(t, want, got)
	d, err := root.CreateDataset("x", dt, h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, d.WriteValues(v, h5.All))
	stored, err := h5value.ReadAll[record](d)
	require.NoError(t, err)
	require.Equal(t, want, stored)
	require.NoError(t, d.Close())

	end := b.Stride() * 1000
	require.ErrorIs(t, b.Bytes(end, []byte{1}), h5.ErrRegion)
	require.ErrorIs(t, b.Bytes(-1, []byte{1}), h5.ErrRegion)
	require.ErrorIs(t, b.Text(end, "x"), h5.ErrRegion)
	require.ErrorIs(t, b.Text(0, "a\x00b"), h5.ErrParam)
	require.ErrorIs(t, b.Ref(end, to), h5.ErrRegion)
	_, _, err = b.Sequence(end, 1, dt)
	require.ErrorIs(t, err, h5.ErrRegion)
	_, _, err = b.Sequence(0, -1, dt)
	require.ErrorIs(t, err, h5.ErrSize)
	_, err = h5elem.NewBuilder(dt, -1)
	require.ErrorIs(t, err, h5.ErrSize)
	_, err = h5elem.NewBuilder(h5.Datatype{}, 1)
	require.ErrorIs(t, err, h5.ErrType)
}
