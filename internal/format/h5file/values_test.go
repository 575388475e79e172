// Tests of elements that refer to other data: global heaps, and references of every kind.

package h5file_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// references returns a file with references of every kind. Their targets follow a dataset with the
// given number of bytes.
func references(t *testing.T, before int64) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "refs.h5")
	f, err := h5.Create(file, &h5.CreateOptions{Low: h5.V114, High: h5.V114})
	require.NoError(t, err)
	root := f.Root()
	far, err := root.CreateDataset("far", h5.Uint(1, h5.NativeOrder), h5.SimpleSpace(before), &h5.DatasetOptions{Alloc: h5.AllocEarly, NoFill: true})
	require.NoError(t, err)
	require.NoError(t, far.Close())
	for i := range 60 { // until metadata is stored after the dataset
		g, err := root.CreateGroup(fmt.Sprint("group ", i))
		require.NoError(t, err)
		require.NoError(t, g.Close())
	}
	d, err := root.CreateDataset("target", h5.Int(2, h5.NativeOrder), h5.SimpleSpace(4, 5), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.WriteAttr(d, "name", []string{"x"}))
	require.NoError(t, d.Close())
	region := h5.Region{Start: []int64{1, 2}, Count: []int64{2, 3}}
	for _, x := range []struct {
		name string
		kind h5.ReferenceKind
		make func() (h5.Ref, error)
	}{
		{"object", h5.ObjectReference, func() (h5.Ref, error) { return root.Reference("target", h5.ObjectReference) }},
		{"region", h5.RegionReference, func() (h5.Ref, error) { return root.ReferenceRegion("target", h5.RegionReference, region) }},
		{"object 2", h5.StandardReference, func() (h5.Ref, error) { return root.Reference("target", h5.StandardReference) }},
		{"region 2", h5.StandardReference, func() (h5.Ref, error) { return root.ReferenceRegion("target", h5.StandardReference, region) }},
		{"attribute", h5.StandardReference, func() (h5.Ref, error) { return root.ReferenceAttribute("target", "name") }},
	} {
		r, err := x.make()
		require.NoError(t, err, x.name)
		d, err := root.CreateDataset(x.name, h5.ReferenceType(x.kind), h5.SimpleSpace(2), nil)
		require.NoError(t, err, x.name)
		require.NoError(t, h5value.Write(d, []h5.Ref{r, {}}, h5.All))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	return load(t, file)
}

// TestReferences checks that references resolve to their targets, also for addresses of more than
// 24 bits. The object references of HDF5 1.12 do not use a heap.
func TestReferences(t *testing.T) {
	for _, before := range []int64{100, 20 << 20} {
		b := references(t, before)
		f := mustOpen(t, b)
		require.NoError(t, f.Check(everything()))
		target := object(t, f, "/target").Addr
		if before > 1<<24 {
			require.Greater(t, uint64(target), uint64(1<<24))
		}
		region := &h5file.Selection{Kind: h5file.SelectHyperslab, Rank: 2}
		values := f.Values()
		for name, want := range map[string]h5file.Reference{
			"object":    {Kind: h5file.ObjectRef},
			"region":    {Kind: h5file.RegionRef, Region: region},
			"object 2":  {Kind: h5file.ObjectRef2},
			"region 2":  {Kind: h5file.RegionRef2, Region: region},
			"attribute": {Kind: h5file.AttributeRef, Attribute: "name"},
		} {
			o := object(t, f, "/"+name)
			size := int64(o.Datatype().Size)
			raw, err := f.Read(o.Layout().Addr, 2*size)
			require.NoError(t, err)
			got, err := values.Reference(o.Datatype(), raw[:size])
			require.NoError(t, err, name)
			require.Equal(t, target, got.Object, name)
			require.Equal(t, want.Kind, got.Kind, name)
			require.Equal(t, want.Attribute, got.Attribute, name)
			require.Equal(t, want.Region != nil, got.Region != nil, name)
			if got.Region != nil {
				s := got.Region
				if s.Blocks != nil {
					require.Equal(t, []h5file.Box{{Start: []uint64{1, 2}, End: []uint64{2, 4}}}, s.Blocks, name)
				} else {
					require.Equal(t, []uint64{1, 2}, s.Start, name)
				}
			}
			null, err := values.Reference(o.Datatype(), raw[size:])
			require.NoError(t, err, name)
			require.False(t, null.Object.Defined(), name)
			_, err = values.Reference(o.Datatype(), raw[:3])
			require.ErrorIs(t, err, format.ErrCorrupt, name)
			if want.Kind > h5file.ObjectRef2 { // the size that libhdf5 compares with the heap
				raw[2]++
				_, err = values.Reference(o.Datatype(), raw[:size])
				require.ErrorContains(t, err, "in an object of", name)
			}
		}
	}
}

// TestDamagedGlobalHeap checks that a corrupt global heap is detected, even if the requested object
// is intact.
func TestDamagedGlobalHeap(t *testing.T) {
	whole := fixtures(t)["earliest"]
	at := bytes.LastIndex(whole, []byte("GCOL\x01")) // this heap has free space
	require.Positive(t, at)
	for name, c := range map[string]struct {
		change func(b []byte)
		want   error
		found  bool // the first object can still be read
	}{
		"version":           {func(b []byte) { b[4] = 2 }, format.ErrVersion, true},
		"signature":         {func(b []byte) { b[0] = 'X' }, format.ErrCorrupt, false},
		"size":              {func(b []byte) { binary.LittleEndian.PutUint64(b[8:], 100) }, format.ErrCorrupt, false},
		"beyond the file":   {func(b []byte) { binary.LittleEndian.PutUint64(b[8:], 1<<19) }, format.ErrTruncated, true},
		"size of an object": {func(b []byte) { binary.LittleEndian.PutUint64(b[16+8:], 1<<19) }, format.ErrCorrupt, false},
		"free space":        {func(b []byte) { binary.LittleEndian.PutUint64(b[freeSpace(b)+8:], 1) }, format.ErrCorrupt, true},
	} {
		b := bytes.Clone(whole)
		c.change(b[at:])
		f := mustOpen(t, b)
		err := f.Check(everything())
		require.ErrorIs(t, err, c.want, name)
		require.ErrorContains(t, err, "global heap collection", name)
		require.NotEmpty(t, complaint(describe(b)), name)

		ref := binary.LittleEndian.AppendUint64([]byte{1, 0, 0, 0}, uint64(at))
		data, _, err := f.Values().Sequence(append(ref, 1, 0, 0, 0))
		require.ErrorIs(t, err, c.want, name)
		require.Equal(t, c.found, data != nil, name)
	}
}

// freeSpace returns the offset of object 0 of a global heap.
func freeSpace(b []byte) int {
	at := 16
	for binary.LittleEndian.Uint16(b[at:]) != 0 {
		at += 16 + int(binary.LittleEndian.Uint64(b[at+8:])+7)&^7
	}
	return at
}
