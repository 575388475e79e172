package opened_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestWalk_UnknownType checks that an array whose dtype ndarray does not support is listed with
// its dtype string and shapes.
func TestWalk_UnknownType(t *testing.T) {
	file := filetest.In(t.TempDir(), "x.b2nd")
	p := cblosc.DefaultCParams()
	p.TypeSize = 12
	const fields = "[('a', '<i4'), ('b', '|O')]"
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{Shape: []int64{9, 4}, ChunkShape: []int32{5, 4}, Blocks: []int32{5, 2},
		DType: fields, Storage: cblosc.Storage{Path: file, Contiguous: true, CParams: p}})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	entries := filetest.Walk(t, file)
	require.Len(t, entries, 1)
	e := entries[0]
	require.ErrorIs(t, e.Err, ndarray.ErrType)
	require.Equal(t, fields, e.Type)
	require.Equal(t, []int64{9, 4}, e.Meta.Shape)
	require.Equal(t, []int64{5, 4}, e.Meta.ChunkShape)
	require.Zero(t, e.Meta.DType)
}

func TestWalkHDF5(t *testing.T) {
	file := filetest.In(t.TempDir(), "tree.h5")
	filetest.WriteObjects(t, file)
	all := filetest.Walk(t, file)
	type line struct {
		path   string
		kind   hyperslab.EntryKind
		detail string
	}
	var got []line
	byPath := map[string]hyperslab.Entry{}
	for _, e := range all {
		byPath[e.Path] = e
		detail := e.Target
		if e.Kind == hyperslab.Array {
			detail = e.Meta.DType.String()
		}
		got = append(got, line{e.Path, e.Kind, detail})
	}
	require.Equal(t, []line{
		{"/", hyperslab.Group, ""},
		{"/a", hyperslab.Array, "<f8"},
		{"/b", hyperslab.Group, ""},
		{"/b/data", hyperslab.Array, ">i4"},
		{"/b/inner", hyperslab.Group, ""},
		{"/b/inner/again", hyperslab.Link, "/b/data"},
		{"/b/inner/dangling", hyperslab.Link, "/none"},
		{"/b/inner/outside", hyperslab.Link, "other.h5:/x"},
		{"/b/inner/root", hyperslab.Link, "/"},
		{"/b/inner/soft", hyperslab.Link, "/b/data"},
		{"/b/inner/up", hyperslab.Link, "/b"},
		{"/b/words", hyperslab.Array, "string"},
		{"/nothing", hyperslab.Array, "<f8"},
		{"/records", hyperslab.Array, "invalid"},
	}, got)

	d := byPath["/b/data"]
	require.NoError(t, d.Err)
	require.Equal(t, []int64{10, 6}, d.Meta.Shape)
	require.Equal(t, []int64{4, 6}, d.Meta.ChunkShape)
	require.Equal(t, "shuffle + deflate 6", d.Meta.Compression.String())
	require.Equal(t, "H5T_STD_I32BE", d.Type)
	require.Equal(t, int64(3), d.Storage.NumChunks)
	require.Equal(t, file+":/b/data", d.Meta.Path)
	require.True(t, byPath["/nothing"].Meta.Null)
	require.Equal(t, 1, byPath["/b/inner"].Attrs)
	require.Equal(t, "hard", byPath["/b/inner/up"].LinkKind)
	require.Equal(t, "soft", byPath["/b/inner/soft"].LinkKind)
	require.Equal(t, "external", byPath["/b/inner/outside"].LinkKind)

	// An array of an unsupported dtype is listed with its shape, its dtype string and an error.
	r := byPath["/records"]
	require.ErrorIs(t, r.Err, errors.ErrUnsupported)
	require.ErrorIs(t, r.Err, ndarray.ErrType)
	require.Equal(t, []int64{3}, r.Meta.Shape)
	require.Contains(t, r.Type, "H5T_COMPOUND")
	require.NoError(t, byPath["/b/words"].Err)

	// Open must succeed for exactly the arrays that Walk lists without an error.
	for _, e := range all {
		if e.Kind != hyperslab.Array {
			continue
		}
		a, err := hyperslab.Open(bg, file+":"+e.Path, nil)
		if e.Err != nil {
			require.ErrorIs(t, err, errors.ErrUnsupported, e.Path)
			require.ErrorContains(t, err, "H5T_", e.Path)
			continue
		}
		require.NoError(t, err, e.Path)
		m := a.Meta()
		m.ReadOnly = false
		require.Equal(t, e.Meta, m, e.Path)
		require.NoError(t, a.Close())
	}
}

func TestWalk_Below(t *testing.T) {
	file := filetest.In(t.TempDir(), "tree.h5")
	filetest.WriteObjects(t, file)
	paths := func(location string) (out []string) {
		for _, e := range filetest.Walk(t, location) {
			out = append(out, e.Path)
		}
		return out
	}
	require.Equal(t, []string{"/a"}, paths(file+":/a"))
	inner := paths(file + ":/b/inner/")
	require.Equal(t, "/b/inner", inner[0])
	require.Contains(t, inner, "/b/inner/again")
	for _, err := range hyperslab.Walk(bg, file+":/none", nil) {
		require.ErrorIs(t, err, ndarray.ErrNotFound)
	}
}

func TestWalkB2ND(t *testing.T) {
	dir := t.TempDir()
	spec := filetest.Int32s(10, 6)
	spec.Attrs = []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}}
	filetest.Save(t, filetest.In(dir, "a.b2nd"), spec, nil)
	filetest.Save(t, filetest.In(dir, "s.b2nd"), spec, &hyperslab.CreateOptions{Sparse: true})
	for _, name := range []string{"a.b2nd", "s.b2nd", "a.b2nd:/"} {
		all := filetest.Walk(t, filetest.In(dir, name))
		require.Len(t, all, 1)
		e := all[0]
		require.Equal(t, "/", e.Path)
		require.Equal(t, hyperslab.Array, e.Kind)
		require.Equal(t, []int64{10, 6}, e.Meta.Shape)
		require.Equal(t, "b2nd", e.Meta.Format)
		require.Equal(t, "shuffle + zstd 5", e.Meta.Compression.String())
		require.Positive(t, e.Storage.StoredBytes)
		require.Equal(t, 1, e.Attrs)
		require.NoError(t, e.Err)
	}
}

func TestWalk_Errors(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "a.b2nd"), filetest.Int32s(3), nil)
	require.NoError(t, os.WriteFile(filetest.In(dir, "text"), []byte("text"), 0o644))
	for name, want := range map[string]error{
		"none": ndarray.ErrNotFound, "text": ndarray.ErrFormat, "a.b2nd:/x": ndarray.ErrParam,
	} {
		n := 0
		for e, err := range hyperslab.Walk(bg, filetest.In(dir, name), nil) {
			n++
			require.ErrorIs(t, err, want, name)
			require.ErrorContains(t, err, filetest.In(dir, name))
			require.Zero(t, e)
		}
		require.Equal(t, 1, n, name)
	}
}

func TestWalk_Stop(t *testing.T) {
	file := filetest.In(t.TempDir(), "tree.h5")
	filetest.WriteObjects(t, file)
	for range hyperslab.Walk(bg, file, nil) {
		break // the file must be closed now: TestMain counts HDF5 ids
	}
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	n := 0
	for _, err := range hyperslab.Walk(ctx, file, nil) {
		if n++; n == 3 {
			cancel()
		}
		if n > 3 {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	require.Equal(t, 4, n)
}
