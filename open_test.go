package hyperslab_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
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

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "a.b2nd"), filetest.Int32s(100), nil)
	filetest.Save(t, filetest.In(dir, "s.b2nd"), filetest.Int32s(100), &hyperslab.CreateOptions{Sparse: true})
	filetest.Save(t, filetest.In(dir, "a.h5")+":/g/x", filetest.Int32s(100), nil)
	write := func(name string, b []byte) { require.NoError(t, os.WriteFile(filetest.In(dir, name), b, 0o644)) }
	write("empty", nil)
	write("text", []byte("just some text that is no array at all"))
	write("magic only", []byte("\x9e\xa8b2frame\x00"))
	write("magic half", []byte("\x9e\xa8b2fr"))
	require.NoError(t, os.Mkdir(filetest.In(dir, "directory"), 0o755))
	for _, name := range []string{"a.b2nd", "a.h5"} {
		b, err := os.ReadFile(filetest.In(dir, name))
		require.NoError(t, err)
		write("short "+name, b[:len(b)-len(b)/3])
	}
	for _, tt := range []struct {
		location string
		opts     *hyperslab.OpenOptions
		want     error
	}{
		{"missing.b2nd", nil, ndarray.ErrNotFound},
		{"missing.h5:/x", nil, ndarray.ErrNotFound},
		{"missing/a.h5:/x", nil, ndarray.ErrNotFound},
		{"empty", nil, ndarray.ErrFormat},
		{"text", nil, ndarray.ErrFormat},
		{"directory", nil, ndarray.ErrFormat},
		{"magic half", nil, ndarray.ErrFormat},
		{"magic only", nil, ndarray.ErrCorrupt},
		{"short a.b2nd", nil, ndarray.ErrCorrupt},
		{"short a.h5:/g/x", nil, ndarray.ErrCorrupt},
		{"a.h5", nil, ndarray.ErrParam},
		{"a.h5:/", nil, ndarray.ErrParam},
		{"a.h5:/g", nil, ndarray.ErrFormat},
		{"a.h5:/none", nil, ndarray.ErrNotFound},
		{"a.b2nd:/x", nil, ndarray.ErrParam},
		{"a.b2nd", &hyperslab.OpenOptions{DType: new(ndarray.DTypeOf[int64]())}, ndarray.ErrType},
		{"a.h5:/g/x", &hyperslab.OpenOptions{DType: new(ndarray.DTypeOf[int32]())}, ndarray.ErrParam},
	} {
		_, err := hyperslab.Open(bg, filetest.In(dir, tt.location), tt.opts)
		require.ErrorIs(t, err, tt.want, tt.location)
		require.ErrorContains(t, err, filetest.In(dir, tt.location))
		var e *ndarray.Error
		require.ErrorAs(t, err, &e, tt.location)
	}
	_, err := hyperslab.Open(bg, filetest.In(dir, "a.h5:/g/x/y"), nil)
	require.ErrorContains(t, err, "/g/x/y", "a path through a dataset")
	_, err = hyperslab.Open(bg, "", nil)
	require.ErrorIs(t, err, ndarray.ErrParam)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err = hyperslab.Open(ctx, filetest.In(dir, "a.b2nd"), nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestOpen_types(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "a.b2nd"), filetest.Int32s(3), nil)
	a, err := hyperslab.Open(bg, filetest.In(dir, "a.b2nd"), &hyperslab.OpenOptions{DType: new(ndarray.DTypeOf[uint32]())})
	require.NoError(t, err)
	got, err := ndarray.ReadAll[uint32](bg, a)
	require.NoError(t, err)
	require.Equal(t, []uint32{0, 1, 2}, got)
	require.NoError(t, a.Close())
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

func TestSniff(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "a.b2nd"), filetest.Int32s(3), nil)
	filetest.Save(t, filetest.In(dir, "s.b2nd"), filetest.Int32s(3), &hyperslab.CreateOptions{Sparse: true})
	filetest.Save(t, filetest.In(dir, "a.h5")+":/x", filetest.Int32s(3), nil)
	filetest.Save(t, filetest.In(dir, "c.caterva"), filetest.Int32s(3), nil)
	filetest.Save(t, filetest.In(dir, "d.caterva"), filetest.Int32s(3), &hyperslab.CreateOptions{Sparse: true})
	short, err := os.ReadFile(filetest.In(dir, "c.caterva"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filetest.In(dir, "short"), short[:len(short)-20], 0o644))
	require.NoError(t, os.WriteFile(filetest.In(dir, "shorter"), short[:60], 0o644))
	// Sniff must ignore the file name and find an HDF5 signature after a user block.
	require.NoError(t, os.Rename(filetest.In(dir, "a.b2nd"), filetest.In(dir, "b.h5")))
	b, err := os.ReadFile(filetest.In(dir, "a.h5"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filetest.In(dir, "block"), append(bytes.Repeat([]byte("#"), 512), b...), 0o644))
	for name, want := range map[string]hyperslab.Format{
		"b.h5": hyperslab.B2ND, "s.b2nd": hyperslab.B2ND, "a.h5": hyperslab.HDF5, "block": hyperslab.HDF5,
		"c.caterva": hyperslab.Caterva, "d.caterva": hyperslab.Caterva, "short": hyperslab.Caterva, "shorter": hyperslab.B2ND,
	} {
		got, err := hyperslab.Sniff(filetest.In(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
	filetest.RequireCount(t, filetest.In(dir, "b.h5"))
	filetest.RequireCount(t, filetest.In(dir, "block")+":/x")
	_, err = hyperslab.Sniff(filetest.In(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = hyperslab.Sniff("/dev/null")
	require.ErrorIs(t, err, ndarray.ErrFormat)
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

// TestCopy_CatervaToB2nd checks that Caterva files are created on request and listed by Walk, and
// that they can be copied to b2nd if the option DType is set.
func TestCopy_CatervaToB2nd(t *testing.T) {
	dir := t.TempDir()
	for name, sparse := range map[string]bool{"one": false, "sparse": true} {
		file := filetest.In(dir, name)
		filetest.Save(t, file, filetest.Int32s(7, 3), &hyperslab.CreateOptions{Format: hyperslab.Caterva, Sparse: sparse})
		list := filetest.Walk(t, file)
		require.Len(t, list, 1)
		require.Equal(t, "caterva", list[0].Meta.Format)
		a, err := hyperslab.Open(bg, file, &hyperslab.OpenOptions{DType: new(ndarray.DTypeOf[int32]())})
		require.NoError(t, err)
		spec := a.Meta().Spec()
		d, err := hyperslab.Create(bg, file+".b2nd", spec, nil)
		require.NoError(t, err)
		_, err = ndarray.Copy(bg, d.Array, a, nil)
		require.NoError(t, err)
		require.NoError(t, errors.Join(d.Commit(bg), a.Close()))
		filetest.RequireCount(t, file+".b2nd")
	}
	_, err := hyperslab.Create(bg, filetest.In(dir, "x:/y"), filetest.Int32s(2), &hyperslab.CreateOptions{Format: hyperslab.Caterva})
	require.ErrorIs(t, err, ndarray.ErrParam)
}

// TestOpen_hdf5LongAddresses checks that files with addresses of 32 bytes are refused before
// libhdf5 opens them, because libhdf5 would write the addresses into tokens of 16 bytes.
func TestOpen_hdf5LongAddresses(t *testing.T) {
	path := filetest.In(t.TempDir(), "a.h5")
	filetest.Save(t, path+":/x", filetest.Int32s(5), nil)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	size := 9 // offset of the size of addresses, which depends on the version of the superblock
	if b[8] < 2 {
		size = 13
	}
	require.EqualValues(t, 8, b[size])
	b[size] = 32
	require.NoError(t, os.WriteFile(path, b, 0o600))
	for _, opts := range []*hyperslab.OpenOptions{nil, {Write: true}} {
		_, err = hyperslab.Open(bg, path+":/x", opts)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "addresses of 32 bytes")
	}
}

// wrapped is a backend with Unwrap, as those of this package.
type wrapped struct{ ndarray.Backend }

func (w wrapped) Unwrap() ndarray.Backend { return w.Backend }

// TestOpen_abilities checks that the optional abilities of each format are found through wrappers:
// arrays that are opened alone and in a tree. A program that misses ExternalElements would read
// fill values, or files that a policy forbids.
func TestOpen_abilities(t *testing.T) {
	dir := t.TempDir()
	filetest.Save(t, filetest.In(dir, "source.h5:/x"), filetest.Int32s(6), nil)
	all := h5.SimpleSpace(6)
	mappings := []h5.Mapping{{Region: all.All(), File: "source.h5", Dataset: "/x", Source: all, SourceRegion: all.All()}}
	for name, o := range map[string]*hyperslab.CreateOptions{
		"external.h5:/x": {External: []h5.ExternalFile{{Name: filetest.In(dir, "raw"), Size: 24}}}, "virtual.h5:/x": {Mappings: mappings},
	} {
		d, err := hyperslab.Create(bg, filetest.In(dir, name), filetest.Int32s(6), o)
		require.NoError(t, err)
		require.NoError(t, d.Commit(bg))
		require.NoError(t, d.Close())
	}
	for _, name := range []string{"a.b2nd", "a.bcolz", "a.npy"} {
		filetest.Save(t, filetest.In(dir, name), filetest.Int32s(6), nil)
	}
	filetest.Save(t, filetest.In(dir, "sparse.b2nd"), filetest.Int32s(6), &hyperslab.CreateOptions{Sparse: true})
	filetest.Save(t, filetest.In(dir, "caterva.b2frame"), filetest.Int32s(6), &hyperslab.CreateOptions{Format: hyperslab.Caterva})
	for target, o := range map[string]*hyperslab.TreeOptions{"store.b2z": {}, "table.b2z": {Table: true}} {
		_, err := filetest.CopyTree(bg, filetest.In(dir, target), filetest.In(dir, "source.h5"), o)
		require.NoError(t, err)
	}
	for _, x := range []struct {
		file, object string
		dataset      bool
		elsewhere    []string
		stored       string // "-": not a StoredTyper
		held         bool   // opened alone, it is read through an open file
	}{
		{"source.h5", "/x", true, nil, "-", false},
		{"external.h5", "/x", true, []string{filetest.In(dir, "raw")}, "-", false},
		{"virtual.h5", "/x", true, []string{"source.h5"}, "-", false},
		{"a.b2nd", "", false, nil, "<i4", true},
		{"sparse.b2nd", "", false, nil, "<i4", false},
		{"caterva.b2frame", "", false, nil, "", true},
		{"a.bcolz", "", false, nil, "-", false},
		{"a.npy", "", false, nil, "-", false},
		{"store.b2z", "/x", false, nil, "<i4", false},
		{"table.b2z", "/x", false, nil, "<i4", false},
		{"table.b2z", "/", false, nil, "[('x', '<i4')]", false},
	} {
		check := func(t *testing.T, a *ndarray.Array, alone bool) {
			b := wrapped{wrapped{a.Backend()}}
			d, ok := ndarray.As[hdf5.Backend](b)
			require.Equal(t, x.dataset, ok)
			if ok {
				require.Equal(t, "/x", d.Dataset().Path())
			}
			e, ok := ndarray.As[ndarray.ExternalElements](b)
			require.Equal(t, x.dataset, ok)
			if ok {
				require.Equal(t, x.elsewhere, e.Elsewhere())
			}
			stored := "-"
			if s, ok := ndarray.As[ndarray.StoredTyper](b); ok {
				stored = s.StoredDType()
			}
			require.Equal(t, x.stored, stored)
			if alone {
				f, ok := ndarray.As[cframe.FileHolder](b)
				require.Equal(t, x.held, ok && f.File() != nil)
			}
			require.NoError(t, a.Close())
		}
		t.Run(x.file+x.object, func(t *testing.T) {
			location := filetest.In(dir, x.file)
			if x.object != "" {
				location += ":" + x.object
			}
			a, err := hyperslab.Open(bg, location, nil)
			require.NoError(t, err)
			check(t, a, true)
			tree, err := hyperslab.OpenTree(bg, filetest.In(dir, x.file), nil)
			require.NoError(t, err)
			a, err = tree.Open(bg, max(x.object, "/"))
			require.NoError(t, err)
			check(t, a, false)
			require.NoError(t, tree.Close())
		})
	}
}
