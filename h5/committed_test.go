package h5_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// TestCommittedType_shared checks that a committed datatype is one object, no matter how many
// datasets and attributes use it.
func TestCommittedType_shared(t *testing.T) {
	f := newFile(t)
	r := f.Root()
	want, err := h5value.DatatypeFor[station]()
	require.NoError(t, err)
	c, err := r.CommitDatatype("types/station", want)
	require.NoError(t, err)
	shared, err := c.Shared()
	require.NoError(t, err)
	require.True(t, shared.Equal(want), "%v", shared)
	require.NotZero(t, shared.Committed)
	info, err := r.ObjectInfo("types/station")
	require.NoError(t, err)
	require.Equal(t, info.Address, shared.Committed)

	d := writtenAs(t, f, "d", shared, someStations())
	got, err := d.Datatype()
	require.NoError(t, err)
	require.Equal(t, shared.Committed, got.Committed)
	require.True(t, got.Equal(want))
	values, err := h5value.Encode(want, someStations()[:1])
	require.NoError(t, err)
	require.NoError(t, d.WriteAttribute(h5.Attribute{Name: "a", Datatype: shared, Space: h5.ScalarSpace(), Values: values}))
	a, err := d.AttributeInfo("a")
	require.NoError(t, err)
	require.Equal(t, shared.Committed, a.Datatype.Committed)
	info, err = r.ObjectInfo("types/station")
	require.NoError(t, err)
	require.Equal(t, 3, info.Links, "its name, the dataset and the attribute")
	stations, err := h5value.ReadAll[station](d)
	require.NoError(t, err)
	require.Equal(t, someStations(), stations)

	plain, err := d.Datatype()
	require.NoError(t, err)
	e, err := r.CreateDataset("e", plain, h5.ScalarSpace(), nil)
	require.NoError(t, err)
	plain, err = e.Datatype()
	require.NoError(t, err)
	require.Zero(t, plain.Committed, "a description shares nothing")

	require.NoError(t, h5value.WriteAttr(c, "by", []string{"us"}))
	require.NoError(t, c.Close())
	_, err = r.CreateDataset("late", shared, h5.ScalarSpace(), nil)
	require.ErrorIs(t, err, h5.ErrType)
	c, err = r.OpenDatatype("types/station")
	require.NoError(t, err)
	by, err := h5value.ReadAttr[string](c, "by")
	require.NoError(t, err)
	require.Equal(t, []string{"us"}, by)
	changed, err := c.Shared()
	require.NoError(t, err)
	changed.Members = changed.Members[:1]
	_, err = r.CreateDataset("changed", changed, h5.ScalarSpace(), nil)
	require.ErrorIs(t, err, h5.ErrType)

	_, err = r.CommitDatatype("types/station", want)
	require.ErrorIs(t, err, h5.ErrExists)
	_, err = r.CommitDatatype("bad", h5.Datatype{})
	require.ErrorIs(t, err, h5.ErrType)
	_, err = r.OpenDatatype("d")
	require.ErrorIs(t, err, h5.ErrKind)
	_, err = r.OpenDatatype("no")
	require.ErrorIs(t, err, h5.ErrNotFound)

	anonymous, err := r.CommitAnonymous(h5value.Bool())
	require.NoError(t, err)
	require.NoError(t, r.LinkObject("bool", anonymous))
	c, err = r.OpenDatatype("bool")
	require.NoError(t, err)
	dt, err := c.Datatype()
	require.NoError(t, err)
	require.True(t, h5value.IsBool(dt))
}

func TestGroup_CommittedDatatype(t *testing.T) {
	f := newFile(t)
	want, err := h5value.DatatypeFor[station]()
	require.NoError(t, err)
	c, err := f.Root().CommitDatatype("types/station", want)
	require.NoError(t, err)
	got, err := f.Root().CommittedDatatype("types/station")
	require.NoError(t, err)
	require.True(t, got.Equal(want), "%v", got)
	require.NotZero(t, got.Committed)
	_, err = f.Root().CommittedDatatype("types/other")
	require.ErrorIs(t, err, h5.ErrNotFound)

	require.NoError(t, h5value.WriteAttr(c, "a", []string{"x"}))
	require.Equal(t, []string{"a"}, names(t, c, h5.ByName))
	_, err = c.AttributeAt(h5.ByCreation, 0)
	require.ErrorIs(t, err, h5.ErrNoOrder, "the file does not store the creation order of the type's attributes")
	require.NoError(t, c.Close())
}
