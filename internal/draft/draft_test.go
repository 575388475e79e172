package draft_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// targets returns one location of each kind, with its options.
func targets(dir string) map[string]*hyperslab.CreateOptions {
	return map[string]*hyperslab.CreateOptions{
		filetest.In(dir, "a.b2nd"):                        nil,
		filetest.In(dir, "s.b2nd"):                        {Sparse: true},
		filetest.In(dir, "a.h5") + ":/x":                  nil,
		filetest.In(dir, "deep.HDF5") + ":/g/sub/x":       nil,
		filetest.In(dir, "named.bin"):                     {Format: hyperslab.B2ND},
		filetest.In(dir, "named.dat") + ":/x":             {Format: hyperslab.HDF5},
		filetest.In(dir, "with:/nothing.he5") + ":/x":     nil,
		filetest.In(dir, "a file with spaces.nc") + ":/x": nil,
	}
}

func TestCreateCommitOpen(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filetest.In(dir, "with:"), 0o755))
	for location, opts := range targets(dir) {
		filetest.Save(t, location, filetest.Int32s(5, 7), opts)
		filetest.RequireCount(t, location)
	}
	require.Equal(t, []string{"a file with spaces.nc", "a.b2nd", "a.h5", "deep.HDF5", "named.bin", "named.dat", "s.b2nd", "with:"}, filetest.Entries(t, dir))
}

func TestDraft_invisible(t *testing.T) {
	for _, discard := range []bool{false, true} {
		dir := t.TempDir()
		d, err := hyperslab.Create(bg, filetest.In(dir, "a.b2nd"), filetest.Int32s(3), nil)
		require.NoError(t, err)
		require.Equal(t, filetest.In(dir, "a.b2nd"), d.Meta().Path)
		_, err = hyperslab.Open(bg, filetest.In(dir, "a.b2nd"), nil)
		require.ErrorIs(t, err, fs.ErrNotExist)
		if discard {
			require.NoError(t, d.Close())
			require.Empty(t, filetest.Entries(t, dir))
			require.ErrorIs(t, d.Commit(bg), ndarray.ErrClosed)
		} else {
			require.NoError(t, d.Commit(bg))
			require.Equal(t, []string{"a.b2nd"}, filetest.Entries(t, dir))
			require.ErrorIs(t, d.Commit(bg), ndarray.ErrClosed)
		}
		require.NoError(t, d.Close())
		require.ErrorIs(t, d.Read(bg, make([]byte, 12), ndarray.Whole(d.Shape())), ndarray.ErrClosed)
	}
}

func TestCommit_Cancelled(t *testing.T) {
	dir := t.TempDir()
	d, err := hyperslab.Create(bg, filetest.In(dir, "a.h5")+":/x", filetest.Int32s(3), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, d.Commit(ctx), context.Canceled)
	require.NoError(t, d.Commit(bg), "still open")
	requireAll(t, filetest.In(dir, "a.h5")+":/x", []int32{0, 0, 0})
}

func requireAll(t *testing.T, location string, want []int32) {
	t.Helper()
	a, err := hyperslab.Open(bg, location, nil)
	require.NoError(t, err)
	got, err := ndarray.ReadAll[int32](bg, a)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, a.Close())
}

func TestExistingTarget(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts *hyperslab.CreateOptions
	}{{"a.b2nd", nil}, {"s.b2nd", &hyperslab.CreateOptions{Sparse: true}}, {"a.h5:/x", nil}} {
		dir := t.TempDir()
		location := filetest.In(dir, tt.name)
		filetest.Save(t, location, filetest.Int32s(3), tt.opts)
		before := filetest.Entries(t, dir)
		_, err := hyperslab.Create(bg, location, filetest.Int32s(4), tt.opts)
		require.ErrorIs(t, err, ndarray.ErrExists)
		require.ErrorIs(t, err, fs.ErrExist)
		requireAll(t, location, []int32{0, 1, 2})

		over := hyperslab.CreateOptions{Overwrite: true}
		if tt.opts != nil {
			over.Sparse = tt.opts.Sparse
		}
		filetest.Save(t, location, filetest.Int32s(4), &over)
		requireAll(t, location, []int32{0, 1, 2, 3})
		require.Equal(t, before, filetest.Entries(t, dir))
	}
}

func TestDraft_targetAppears(t *testing.T) {
	dir := t.TempDir()
	first, err := hyperslab.Create(bg, filetest.In(dir, "a.b2nd"), filetest.Int32s(3), nil)
	require.NoError(t, err)
	filetest.Save(t, filetest.In(dir, "a.b2nd"), filetest.Int32s(2), nil)
	err = first.Commit(bg)
	require.ErrorIs(t, err, ndarray.ErrExists)
	require.NoError(t, first.Close())
	requireAll(t, filetest.In(dir, "a.b2nd"), []int32{0, 1})
	require.Equal(t, []string{"a.b2nd"}, filetest.Entries(t, dir))
}

// TestAbortAll checks that AbortAll, which signal handlers call, removes all temporary files and
// that Commit then returns an error.
func TestAbortAll(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.b2nd", "a.h5:/x"} {
		d, err := hyperslab.Create(bg, filetest.In(dir, name), filetest.Int32s(3), nil)
		require.NoError(t, err)
		require.NoError(t, atomicfile.AbortAll())
		require.Empty(t, filetest.Entries(t, dir))
		require.Error(t, d.Commit(bg))
		require.NoError(t, d.Close())
	}
	require.Empty(t, filetest.Entries(t, dir))
}

func TestCreate_failure(t *testing.T) {
	dir := t.TempDir()
	unicode, err := ndarray.ParseDType("<U4")
	require.NoError(t, err)
	bad := []ndarray.Attr{{Name: "", Value: ndarray.Scalar(true)}}
	for _, tt := range []struct {
		location string
		spec     ndarray.Spec
		opts     *hyperslab.CreateOptions
		want     error
	}{
		{"a.h5:/x", ndarray.Spec{Shape: []int64{2}, DType: unicode}, nil, errors.ErrUnsupported},
		{"a.h5:/x", ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int8](), Attrs: bad}, nil, ndarray.ErrParam},
		{"a.h5:/x", ndarray.Spec{Shape: []int64{-2}, DType: ndarray.DTypeOf[int8]()}, nil, ndarray.ErrShape},
		{"a.h5", filetest.Int32s(2), nil, ndarray.ErrParam},
		{"a.h5:/", filetest.Int32s(2), nil, ndarray.ErrParam},
		{"a.h5:/x", filetest.Int32s(2), &hyperslab.CreateOptions{Sparse: true}, ndarray.ErrParam},
		{"a.b2nd:/x", filetest.Int32s(2), nil, ndarray.ErrParam},
		{"a.b2nd", filetest.Int32s(slices.Repeat([]int64{1}, 17)...), nil, errors.ErrUnsupported},
		{"a.b2nd", ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int8](), Compression: &ndarray.Compression{Codec: "deflate"}}, nil, errors.ErrUnsupported},
		{"a.h5:/x", ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int8](), Compression: &ndarray.Compression{Codec: "blosclz"}}, nil, errors.ErrUnsupported},
		{"a.xyz", filetest.Int32s(2), nil, ndarray.ErrParam},
		{"a", filetest.Int32s(2), nil, ndarray.ErrParam},
		{"a.b2nd", filetest.Int32s(2), &hyperslab.CreateOptions{Format: "zarr"}, ndarray.ErrParam},
		{"no/such/dir/a.b2nd", filetest.Int32s(2), nil, ndarray.ErrNotFound},
	} {
		_, err := hyperslab.Create(bg, filetest.In(dir, tt.location), tt.spec, tt.opts)
		require.ErrorIs(t, err, tt.want, "%s %+v", tt.location, tt.spec)
		var e *ndarray.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, filetest.In(dir, tt.location), e.Path)
		require.Empty(t, filetest.Entries(t, dir), tt.location)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err = hyperslab.Create(ctx, filetest.In(dir, "a.b2nd"), filetest.Int32s(2), nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, filetest.Entries(t, dir))
}

// TestCreate_extension checks that Create chooses the format by the extension of the file name.
func TestCreate_extension(t *testing.T) {
	spec := ndarray.Spec{DType: ndarray.DTypeOf[int8]()}
	for ext, want := range map[string]hyperslab.Format{
		".b2nd": hyperslab.B2ND, ".h5": hyperslab.HDF5, ".hdf5": hyperslab.HDF5, ".he5": hyperslab.HDF5, ".nc": hyperslab.HDF5, ".H5": hyperslab.HDF5,
		".caterva": hyperslab.Caterva,
	} {
		location := filetest.In(t.TempDir(), "x"+ext)
		if want == hyperslab.HDF5 {
			location += ":/x"
		}
		d, err := hyperslab.Create(bg, location, spec, nil)
		require.NoError(t, err)
		require.Equal(t, string(want), d.Meta().Format, ext)
		require.NoError(t, d.Close())
	}
	for _, name := range []string{"x", "x.xyz", "h5", "x.h5/y"} {
		_, err := hyperslab.Create(bg, filetest.In(t.TempDir(), name), spec, nil)
		require.ErrorIs(t, err, ndarray.ErrParam, name)
	}
}

// TestUpdate_InPlace checks that arrays on disk can be written and resized in place, and that
// another Open returns the changes.
func TestUpdate_InPlace(t *testing.T) {
	dir := t.TempDir()
	for _, location := range []string{filetest.In(dir, "a.b2nd"), filetest.In(dir, "a.h5:/g/x")} {
		spec := filetest.Int32s(4)
		spec.MaxShape, spec.ChunkShape = []int64{ndarray.Unlimited}, []int64{3}
		filetest.Save(t, location, spec, nil)
		a, err := hyperslab.Open(bg, location, &hyperslab.OpenOptions{Write: true})
		require.NoError(t, err)
		require.False(t, a.Meta().ReadOnly)
		require.NoError(t, ndarray.Append(bg, a, 0, []int32{4, 5, 6, 7}))
		require.NoError(t, a.SetAttr(bg, ndarray.Attr{Name: "grown", Value: ndarray.Scalar(true)}))
		require.NoError(t, a.Close())
		filetest.RequireCount(t, location)
		a, err = hyperslab.Open(bg, location, nil)
		require.NoError(t, err)
		require.Equal(t, []int64{8}, a.Shape())
		attrs, err := a.Attrs(bg)
		require.NoError(t, err)
		require.Len(t, attrs.List, 1)
		require.ErrorIs(t, ndarray.Append(bg, a, 0, []int32{8}), ndarray.ErrReadOnly)
		require.NoError(t, a.Close())
	}
}
