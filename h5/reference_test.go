package h5_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestReferences checks that references of every kind can be created, stored, read and followed in
// datasets, attributes and structs.
func TestReferences(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	r := f.Root()
	g, err := r.CreateGroup("g")
	require.NoError(t, err)
	d := written(t, f, "g/d", []int32{0, 1, 2, 3, 4, 5, 6, 7})
	require.NoError(t, h5value.WriteAttr(d, "unit", []string{"m"}))
	part := h5.Union(region([]int64{1}, []int64{2}), region([]int64{5}, []int64{1}))

	object, err := r.Reference("g/d", h5.ObjectReference)
	require.NoError(t, err)
	group, err := r.Reference("g", h5.ObjectReference)
	require.NoError(t, err)
	area, err := g.ReferenceRegion("d", h5.RegionReference, part)
	require.NoError(t, err)
	standard, err := r.Reference("g/d", h5.StandardReference)
	require.NoError(t, err)
	points, err := r.ReferenceRegion("g/d", h5.StandardReference, h5.Points{{6}, {2}})
	require.NoError(t, err)
	attribute, err := r.ReferenceAttribute("g/d", "unit")
	require.NoError(t, err)

	type row struct {
		Object   h5.Ref   `h5:"object"`
		Region   h5.Ref   `h5:"region,ref=region"`
		Standard h5.Ref   `h5:"standard,ref=standard"`
		Many     []h5.Ref `h5:"many,ref=standard"`
	}
	rows := []row{
		{object, area, standard, []h5.Ref{points, attribute, {Kind: h5.StandardReference}}},
		{group, h5.Ref{Kind: h5.RegionReference}, h5.Ref{Kind: h5.StandardReference}, []h5.Ref{}},
	}
	written(t, f, "rows", rows)
	require.NoError(t, h5value.WriteAttr(d, "rows", rows))
	require.NoError(t, h5value.WriteAttr(d, "null", []h5.Ref{{}, object}))
	require.NoError(t, f.Close())

	f, err = h5.Open(path, h5.ReadWrite)
	require.NoError(t, err)
	defer f.Close()
	r = f.Root()
	stored, err := r.OpenDataset("rows")
	require.NoError(t, err)
	got, err := h5value.ReadAll[row](stored)
	require.NoError(t, err)
	require.Equal(t, rows, got)
	d, err = r.OpenDataset("g/d")
	require.NoError(t, err)
	got, err = h5value.ReadAttr[row](d, "rows")
	require.NoError(t, err)
	require.Equal(t, rows, got)
	refs, err := h5value.ReadAttr[h5.Ref](d, "null")
	require.NoError(t, err)
	require.Equal(t, []h5.Ref{{Kind: h5.ObjectReference}, object}, refs)

	for name, tt := range map[string]struct {
		ref       h5.Ref
		kind      h5.ObjectKind
		path      string
		attribute string
		elements  []int32
	}{
		"object":    {ref: got[0].Object, kind: h5.DatasetObject, path: "/g/d"},
		"group":     {ref: got[1].Object, kind: h5.GroupObject, path: "/g"},
		"region":    {ref: got[0].Region, kind: h5.DatasetObject, path: "/g/d", elements: []int32{1, 2, 5}},
		"standard":  {ref: got[0].Standard, kind: h5.DatasetObject, path: "/g/d"},
		"points":    {ref: got[0].Many[0], kind: h5.DatasetObject, path: "/g/d", elements: []int32{6, 2}},
		"attribute": {ref: got[0].Many[1], kind: h5.DatasetObject, path: "/g/d", attribute: "unit"},
	} {
		t.Run(name, func(t *testing.T) {
			to, err := f.Resolve(tt.ref)
			require.NoError(t, err)
			require.Equal(t, tt.kind, to.Kind)
			require.Equal(t, tt.path, to.Path)
			require.Equal(t, tt.attribute, to.Attribute)
			require.Equal(t, tt.elements != nil, to.Region)
			o, err := f.Dereference(tt.ref)
			require.NoError(t, err)
			defer o.Close()
			info, err := r.ObjectInfo(tt.path)
			require.NoError(t, err)
			require.Equal(t, info.Token, to.Token)
			if tt.elements == nil {
				return
			}
			require.True(t, h5.SimpleSpace(8).Equal(to.Space))
			v := make([]int32, to.Selection.NumElems)
			require.NoError(t, h5value.Read(o.(*h5.Dataset), v, to.Selection.Selection))
			require.Equal(t, tt.elements, v)
		})
	}
}

func TestReference_invalid(t *testing.T) {
	f := newFile(t)
	r := f.Root()
	d := written(t, f, "d", []int32{1, 2})
	for name, tt := range map[string]struct{ err, want error }{
		"nothing there":        {second(r.Reference("no", h5.ObjectReference)), h5.ErrNotFound},
		"nothing there, new":   {second(r.Reference("no", h5.StandardReference)), h5.ErrNotFound},
		"region of nothing":    {second(r.ReferenceRegion("no", h5.RegionReference, h5.All)), h5.ErrNotFound},
		"region without one":   {second(r.Reference("d", h5.RegionReference)), h5.ErrParam},
		"object with a region": {second(r.ReferenceRegion("d", h5.ObjectReference, h5.All)), h5.ErrParam},
		"no region":            {second(r.ReferenceRegion("d", h5.RegionReference, nil)), h5.ErrParam},
		"outside":              {second(r.ReferenceRegion("d", h5.RegionReference, region([]int64{1}, []int64{2}))), h5.ErrRegion},
		"no kind":              {second(r.Reference("d", 9)), h5.ErrParam},
		"no name":              {second(r.ReferenceAttribute("d", "")), h5.ErrParam},
		"null":                 {second(f.Resolve(h5.Ref{})), h5.ErrNotFound},
		"null dereferenced":    {second(f.Dereference(h5.Ref{Kind: h5.RegionReference})), h5.ErrNotFound},
	} {
		require.ErrorIs(t, tt.err, tt.want, name)
	}
	ref, err := r.Reference("d", h5.ObjectReference)
	require.NoError(t, err)
	require.Contains(t, ref.String(), "object reference to 0x")
	require.Equal(t, "null region reference", h5.Ref{Kind: h5.RegionReference}.String())
	e, err := r.CreateDataset("e", h5.ReferenceType(h5.RegionReference), h5.SimpleSpace(1), nil)
	require.NoError(t, err)
	require.ErrorIs(t, h5value.Write(e, []h5.Ref{ref}, h5.All), h5.ErrType)
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	require.ErrorIs(t, second(f.Resolve(ref)), h5.ErrClosed)
	require.ErrorIs(t, second(r.Reference("d", h5.ObjectReference)), h5.ErrClosed)
}

// TestReference_dangling checks references into other files and to deleted objects in the test
// files of libhdf5. They must be readable, and following one must return an error that identifies
// it.
func TestReference_dangling(t *testing.T) {
	directory := filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools", "test", "h5dump", "testfiles")
	for name, tt := range map[string]struct {
		dataset string
		refs    int
		text    string
	}{
		"trefer_ext2.h5":    {"Dataset3", 4, `into the file "trefer_ext1.h5"`},
		"trefer_obj_del.h5": {"Dataset2", 1, "was removed"},
	} {
		f, err := h5.Open(filepath.Join(directory, name), h5.ReadOnly)
		require.NoError(t, err)
		d, err := f.Root().OpenDataset(tt.dataset)
		require.NoError(t, err)
		refs, err := h5value.ReadAll[h5.Ref](d)
		require.NoError(t, err)
		require.Len(t, refs, tt.refs)
		for _, ref := range refs {
			require.False(t, ref.IsNull())
			_, err := f.Resolve(ref)
			require.ErrorIs(t, err, h5.ErrNotFound, name)
			require.ErrorContains(t, err, tt.text)
			require.ErrorIs(t, second(f.Dereference(ref)), h5.ErrNotFound, name)
		}
		require.NoError(t, f.Close())
	}
}

// TestFile_Resolve_lengths compares paths around the size of the buffer for most of them.
func TestFile_Resolve_lengths(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	for _, n := range []int{1, 1021, 1022, 1023, 1024, 5000} {
		name := strings.Repeat("n", n)
		g, err := f.Root().CreateGroup(name)
		require.NoError(t, err)
		require.NoError(t, g.Close())
		ref, err := f.Root().Reference(name, h5.ObjectReference)
		require.NoError(t, err)
		to, err := f.Resolve(ref)
		require.NoError(t, err)
		require.Equal(t, "/"+name, to.Path)
	}
}
