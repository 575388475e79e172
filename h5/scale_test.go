package h5_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

func scalesOf(t testing.TB, d *h5.Dataset, axis int) []string {
	t.Helper()
	var found []string
	for s, err := range d.Scales(axis) {
		require.NoError(t, err)
		found = append(found, s.Path+" "+s.Name)
	}
	return found
}

func TestScales(t *testing.T) {
	f := newFile(t)
	r := f.Root()
	var made []*h5.Dataset
	for _, name := range []string{"d", "time", "place"} {
		shape := h5.SimpleSpace(3)
		if name == "d" {
			shape = h5.SimpleSpace(3, 3)
		}
		d, err := r.CreateDataset(name, h5.Int(4, 0), shape, nil)
		require.NoError(t, err)
		made = append(made, d)
	}
	d, time, place := made[0], made[1], made[2]
	name, is, err := time.ScaleName()
	require.NoError(t, err)
	require.False(t, is)
	require.Empty(t, name)
	require.NoError(t, time.MakeScale("Zeit"))
	name, is, err = time.ScaleName()
	require.NoError(t, err)
	require.True(t, is)
	require.Equal(t, "Zeit", name)

	require.NoError(t, d.AttachScale(0, time))
	require.NoError(t, d.AttachScale(0, time), "twice is once")
	require.NoError(t, d.AttachScale(0, place), "an ordinary dataset becomes a scale")
	require.NoError(t, d.AttachScale(1, place))
	require.Equal(t, []string{"/time Zeit", "/place "}, scalesOf(t, d, 0))
	require.Equal(t, []string{"/place "}, scalesOf(t, d, 1))
	for s, err := range d.Scales(1) {
		require.NoError(t, err)
		o, err := f.OpenAddress(s.Address)
		require.NoError(t, err)
		require.NoError(t, o.Close())
	}
	has, err := d.HasScale(1, time)
	require.NoError(t, err)
	require.False(t, has)
	require.NoError(t, d.DetachScale(0, time))
	require.Error(t, d.DetachScale(0, time))
	require.Equal(t, []string{"/place "}, scalesOf(t, d, 0))

	listed, err := d.HasAttribute("DIMENSION_LIST")
	require.NoError(t, err)
	require.True(t, listed)

	label, err := d.AxisLabel(1)
	require.NoError(t, err)
	require.Empty(t, label)
	require.NoError(t, d.SetAxisLabel(1, "Länge"))
	label, err = d.AxisLabel(1)
	require.NoError(t, err)
	require.Equal(t, "Länge", label)

	for _, axis := range []int{-1, 2, 1 << 40} {
		require.ErrorIs(t, d.AttachScale(axis, time), h5.ErrParam)
		require.ErrorIs(t, d.DetachScale(axis, time), h5.ErrParam)
		require.ErrorIs(t, d.SetAxisLabel(axis, "x"), h5.ErrParam)
		_, err := d.AxisLabel(axis)
		require.ErrorIs(t, err, h5.ErrParam)
		_, err = d.HasScale(axis, time)
		require.ErrorIs(t, err, h5.ErrParam)
		for _, err := range d.Scales(axis) {
			require.ErrorIs(t, err, h5.ErrParam)
		}
	}
	require.Error(t, place.AttachScale(0, time), "a scale has no scales")
	require.Error(t, d.MakeScale("x"), "a dataset with scales cannot become a scale")
	require.ErrorIs(t, time.MakeScale("a\x00"), h5.ErrParam)
	require.NoError(t, place.Close())
	require.ErrorIs(t, d.AttachScale(0, place), h5.ErrClosed)

	f = reopen(t, f, h5.ReadOnly)
	d, err = f.Root().OpenDataset("d")
	require.NoError(t, err)
	require.ErrorIs(t, d.SetAxisLabel(0, "x"), h5.ErrReadOnly)
	require.ErrorIs(t, d.MakeScale("x"), h5.ErrReadOnly)
	require.ErrorIs(t, d.AttachScale(0, d), h5.ErrReadOnly)
}

// TestScales_H5py checks that h5py reads dimension scales of this package, and this package
// those of h5py.
func TestScales_H5py(t *testing.T) {
	f := newFile(t)
	d, err := f.Root().CreateDataset("d", h5.Int(4, 0), h5.SimpleSpace(2, 3), nil)
	require.NoError(t, err)
	x, err := f.Root().CreateDataset("x", h5.Int(4, 0), h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	require.NoError(t, x.MakeScale("ex"))
	require.NoError(t, d.AttachScale(1, x))
	require.NoError(t, d.SetAxisLabel(0, "why"))
	require.NoError(t, f.Close())
	out := python(t, `
import h5py, sys
with h5py.File(sys.argv[1], "r+") as f:
    d = f["d"]
    print(d.dims[0].label, len(d.dims[0]), [(k, v.name) for k, v in d.dims[1].items()], h5py.h5ds.is_scale(f["x"].id))
    f["y"] = [1, 2]
    f["y"].make_scale("wy")
    d.dims[0].attach_scale(f["y"])
    d.dims[1].label = "lab"
`, f.Path())
	require.Equal(t, "why 0 [('ex', '/x')] True", out)
	f, err = h5.Open(f.Path(), h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	d, err = f.Root().OpenDataset("d")
	require.NoError(t, err)
	require.Equal(t, []string{"/y wy"}, scalesOf(t, d, 0))
	label, err := d.AxisLabel(1)
	require.NoError(t, err)
	require.Equal(t, "lab", label)
}
