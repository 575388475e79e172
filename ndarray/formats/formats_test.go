package formats_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/atomicfile"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// targets are one location of each kind.
func targets(dir string) map[string][]formats.Option {
	return map[string][]formats.Option{
		in(dir, "a.b2nd"):                        nil,
		in(dir, "s.b2nd"):                        {formats.WithSparse()},
		in(dir, "a.h5") + ":/x":                  nil,
		in(dir, "deep.HDF5") + ":/g/sub/x":       nil,
		in(dir, "named.bin"):                     {formats.WithFormat(formats.B2ND)},
		in(dir, "named.dat") + ":/x":             {formats.WithFormat(formats.HDF5)},
		in(dir, "with:/nothing.he5") + ":/x":     nil,
		in(dir, "a file with spaces.nc") + ":/x": nil,
	}
}

func TestCreateCommitOpen(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(in(dir, "with:"), 0o755))
	for location, opts := range targets(dir) {
		save(t, location, int32s(5, 7), opts...)
		requireCount(t, location)
	}
	require.Equal(t, []string{"a file with spaces.nc", "a.b2nd", "a.h5", "deep.HDF5", "named.bin", "named.dat", "s.b2nd", "with:"}, entries(t, dir))
}

func TestDraftIsInvisibleUntilCommitted(t *testing.T) {
	for _, discard := range []bool{false, true} {
		dir := t.TempDir()
		d, err := formats.Create(bg, in(dir, "a.b2nd"), int32s(3))
		require.NoError(t, err)
		require.Equal(t, in(dir, "a.b2nd"), d.Meta().Path)
		_, err = formats.Open(bg, in(dir, "a.b2nd"))
		require.ErrorIs(t, err, fs.ErrNotExist)
		if discard {
			require.NoError(t, d.Close())
			require.Empty(t, entries(t, dir))
			require.ErrorIs(t, d.Commit(bg), ndarray.ErrClosed)
		} else {
			require.NoError(t, d.Commit(bg))
			require.Equal(t, []string{"a.b2nd"}, entries(t, dir))
			require.ErrorIs(t, d.Commit(bg), ndarray.ErrClosed)
		}
		require.NoError(t, d.Close())
		require.ErrorIs(t, d.Read(bg, make([]byte, 12), ndarray.Whole(d.Shape())), ndarray.ErrClosed)
	}
}

func TestCommitIsCancelled(t *testing.T) {
	dir := t.TempDir()
	d, err := formats.Create(bg, in(dir, "a.h5")+":/x", int32s(3))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, d.Commit(ctx), context.Canceled)
	require.NoError(t, d.Commit(bg), "still open")
	requireAll(t, in(dir, "a.h5")+":/x", []int32{0, 0, 0})
}

func requireAll(t *testing.T, location string, want []int32) {
	t.Helper()
	a, err := formats.Open(bg, location)
	require.NoError(t, err)
	got, err := ndarray.ReadAll[int32](bg, a)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, a.Close())
}

func TestExistingTarget(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts []formats.Option
	}{{"a.b2nd", nil}, {"s.b2nd", []formats.Option{formats.WithSparse()}}, {"a.h5:/x", nil}} {
		dir := t.TempDir()
		location := in(dir, tt.name)
		save(t, location, int32s(3), tt.opts...)
		before := entries(t, dir)
		_, err := formats.Create(bg, location, int32s(4), tt.opts...)
		require.ErrorIs(t, err, ndarray.ErrExists)
		require.ErrorIs(t, err, fs.ErrExist)
		requireAll(t, location, []int32{0, 1, 2})

		save(t, location, int32s(4), append(tt.opts, formats.WithOverwrite())...)
		requireAll(t, location, []int32{0, 1, 2, 3})
		require.Equal(t, before, entries(t, dir))
	}
}

func TestTargetThatComesUpMeanwhile(t *testing.T) {
	dir := t.TempDir()
	first, err := formats.Create(bg, in(dir, "a.b2nd"), int32s(3))
	require.NoError(t, err)
	save(t, in(dir, "a.b2nd"), int32s(2))
	err = first.Commit(bg)
	require.ErrorIs(t, err, ndarray.ErrExists)
	require.NoError(t, first.Close())
	requireAll(t, in(dir, "a.b2nd"), []int32{0, 1})
	require.Equal(t, []string{"a.b2nd"}, entries(t, dir))
}

// What a signal handler does leaves nothing behind, and the draft knows.
func TestAbortAll(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.b2nd", "a.h5:/x"} {
		d, err := formats.Create(bg, in(dir, name), int32s(3))
		require.NoError(t, err)
		require.NoError(t, atomicfile.AbortAll())
		require.Empty(t, entries(t, dir))
		require.Error(t, d.Commit(bg))
		require.NoError(t, d.Close())
	}
	require.Empty(t, entries(t, dir))
}

func TestFailedCreateLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	unicode, err := ndarray.ParseDType("<U4")
	require.NoError(t, err)
	bad := []ndarray.Attr{{Name: "", Value: ndarray.Scalar(true)}}
	for _, tt := range []struct {
		location string
		spec     ndarray.Spec
		opts     []formats.Option
		want     error
	}{
		{"a.h5:/x", ndarray.Spec{Shape: []int64{2}, DType: unicode}, nil, errors.ErrUnsupported},
		{"a.h5:/x", ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int8](), Attrs: bad}, nil, ndarray.ErrParam},
		{"a.h5:/x", ndarray.Spec{Shape: []int64{-2}, DType: ndarray.DTypeOf[int8]()}, nil, ndarray.ErrShape},
		{"a.h5", int32s(2), nil, ndarray.ErrParam},
		{"a.h5:/", int32s(2), nil, ndarray.ErrParam},
		{"a.h5:/x", int32s(2), []formats.Option{formats.WithSparse()}, ndarray.ErrParam},
		{"a.b2nd:/x", int32s(2), nil, ndarray.ErrParam},
		{"a.b2nd", int32s(slices.Repeat([]int64{1}, 17)...), nil, errors.ErrUnsupported},
		{"a.b2nd", ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int8](), Compression: &ndarray.Compression{Codec: "deflate"}}, nil, errors.ErrUnsupported},
		{"a.h5:/x", ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int8](), Compression: &ndarray.Compression{Codec: "blosclz"}}, nil, errors.ErrUnsupported},
		{"a.xyz", int32s(2), nil, ndarray.ErrParam},
		{"a", int32s(2), nil, ndarray.ErrParam},
		{"a.b2nd", int32s(2), []formats.Option{formats.WithFormat("zarr")}, ndarray.ErrParam},
		{"a.b2nd", int32s(2), []formats.Option{formats.WithDType(unicode)}, ndarray.ErrParam},
		{"no/such/dir/a.b2nd", int32s(2), nil, ndarray.ErrNotFound},
	} {
		_, err := formats.Create(bg, in(dir, tt.location), tt.spec, tt.opts...)
		require.ErrorIs(t, err, tt.want, "%s %+v", tt.location, tt.spec)
		var e *ndarray.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, in(dir, tt.location), e.Path)
		require.Empty(t, entries(t, dir), tt.location)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err = formats.Create(ctx, in(dir, "a.b2nd"), int32s(2))
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, entries(t, dir))
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	save(t, in(dir, "a.b2nd"), int32s(100))
	save(t, in(dir, "s.b2nd"), int32s(100), formats.WithSparse())
	save(t, in(dir, "a.h5")+":/g/x", int32s(100))
	write := func(name string, b []byte) { require.NoError(t, os.WriteFile(in(dir, name), b, 0o644)) }
	write("empty", nil)
	write("text", []byte("just some text that is no array at all"))
	write("magic only", []byte("\x9e\xa8b2frame\x00"))
	write("magic half", []byte("\x9e\xa8b2fr"))
	require.NoError(t, os.Mkdir(in(dir, "folder"), 0o755))
	for _, name := range []string{"a.b2nd", "a.h5"} {
		b, err := os.ReadFile(in(dir, name))
		require.NoError(t, err)
		write("short "+name, b[:len(b)-len(b)/3])
	}
	for _, tt := range []struct {
		location string
		opts     []formats.Option
		want     error
	}{
		{"missing.b2nd", nil, ndarray.ErrNotFound},
		{"missing.h5:/x", nil, ndarray.ErrNotFound},
		{"missing/a.h5:/x", nil, ndarray.ErrNotFound},
		{"empty", nil, ndarray.ErrFormat},
		{"text", nil, ndarray.ErrFormat},
		{"folder", nil, ndarray.ErrFormat},
		{"magic half", nil, ndarray.ErrFormat},
		{"magic only", nil, ndarray.ErrCorrupt},
		{"short a.b2nd", nil, ndarray.ErrCorrupt},
		{"short a.h5:/g/x", nil, ndarray.ErrCorrupt},
		{"a.h5", nil, ndarray.ErrParam},
		{"a.h5:/", nil, ndarray.ErrParam},
		{"a.h5:/g", nil, ndarray.ErrFormat},
		{"a.h5:/none", nil, ndarray.ErrNotFound},
		{"a.b2nd:/x", nil, ndarray.ErrParam},
		{"a.b2nd", []formats.Option{formats.WithSparse()}, ndarray.ErrParam},
		{"a.b2nd", []formats.Option{formats.WithOverwrite()}, ndarray.ErrParam},
		{"a.b2nd", []formats.Option{formats.WithFormat(formats.B2ND)}, ndarray.ErrParam},
		{"a.b2nd", []formats.Option{formats.WithDType(ndarray.DTypeOf[int64]())}, ndarray.ErrType},
		{"a.h5:/g/x", []formats.Option{formats.WithDType(ndarray.DTypeOf[int32]())}, ndarray.ErrParam},
	} {
		_, err := formats.Open(bg, in(dir, tt.location), tt.opts...)
		require.ErrorIs(t, err, tt.want, tt.location)
		require.ErrorContains(t, err, in(dir, tt.location))
		var e *ndarray.Error
		require.ErrorAs(t, err, &e, tt.location)
	}
	_, err := formats.Open(bg, in(dir, "a.h5:/g/x/y"))
	require.ErrorContains(t, err, "/g/x/y", "a path through a dataset")
	_, err = formats.Open(bg, "")
	require.ErrorIs(t, err, ndarray.ErrParam)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err = formats.Open(ctx, in(dir, "a.b2nd"))
	require.ErrorIs(t, err, context.Canceled)
}

func TestOpenTellsTheType(t *testing.T) {
	dir := t.TempDir()
	save(t, in(dir, "a.b2nd"), int32s(3))
	a, err := formats.Open(bg, in(dir, "a.b2nd"), formats.WithDType(ndarray.DTypeOf[uint32]()))
	require.NoError(t, err)
	got, err := ndarray.ReadAll[uint32](bg, a)
	require.NoError(t, err)
	require.Equal(t, []uint32{0, 1, 2}, got)
	require.NoError(t, a.Close())
}

// What ForName says is what Create makes.
func TestForName(t *testing.T) {
	spec := ndarray.Spec{DType: ndarray.DTypeOf[int8]()}
	for ext, want := range map[string]formats.Format{
		".b2nd": formats.B2ND, ".h5": formats.HDF5, ".hdf5": formats.HDF5, ".he5": formats.HDF5, ".nc": formats.HDF5, ".H5": formats.HDF5,
		".caterva": formats.Caterva,
	} {
		location := in(t.TempDir(), "x"+ext)
		got, ok := formats.ForName(location)
		require.True(t, ok, ext)
		require.Equal(t, want, got, ext)
		if want == formats.HDF5 {
			location += ":/x"
		}
		d, err := formats.Create(bg, location, spec)
		require.NoError(t, err)
		require.Equal(t, string(want), d.Meta().Format, ext)
		require.NoError(t, d.Close())
	}
	for _, name := range []string{"", "x", "x.xyz", "h5", "x.h5/y"} {
		_, ok := formats.ForName(name)
		require.False(t, ok, name)
	}
}

func TestSniff(t *testing.T) {
	dir := t.TempDir()
	save(t, in(dir, "a.b2nd"), int32s(3))
	save(t, in(dir, "s.b2nd"), int32s(3), formats.WithSparse())
	save(t, in(dir, "a.h5")+":/x", int32s(3))
	save(t, in(dir, "c.caterva"), int32s(3))
	save(t, in(dir, "d.caterva"), int32s(3), formats.WithSparse())
	short, err := os.ReadFile(in(dir, "c.caterva"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in(dir, "short"), short[:len(short)-20], 0o644))
	require.NoError(t, os.WriteFile(in(dir, "shorter"), short[:60], 0o644))
	// Names lie, and HDF5 may begin after a user block.
	require.NoError(t, os.Rename(in(dir, "a.b2nd"), in(dir, "b.h5")))
	b, err := os.ReadFile(in(dir, "a.h5"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in(dir, "block"), append(bytes.Repeat([]byte("#"), 512), b...), 0o644))
	for name, want := range map[string]formats.Format{
		"b.h5": formats.B2ND, "s.b2nd": formats.B2ND, "a.h5": formats.HDF5, "block": formats.HDF5,
		"c.caterva": formats.Caterva, "d.caterva": formats.Caterva, "short": formats.Caterva, "shorter": formats.B2ND,
	} {
		got, err := formats.Sniff(in(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
	requireCount(t, in(dir, "b.h5"))
	requireCount(t, in(dir, "block")+":/x")
	_, err = formats.Sniff(in(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = formats.Sniff("/dev/null")
	require.ErrorIs(t, err, ndarray.ErrFormat)
}

func TestParseLocation(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("d:", 0o755))
	for _, f := range []string{"a.h5", "d:/a.h5", "odd:"} {
		require.NoError(t, os.WriteFile(f, nil, 0o644))
	}
	for s, want := range map[string]formats.Location{
		"a.h5":            {File: "a.h5"},
		"a.h5:/x":         {File: "a.h5", Object: "/x"},
		"a.h5:/":          {File: "a.h5", Object: "/"},
		"a.h5:/x:/y":      {File: "a.h5", Object: "/x:/y"},
		"d:/a.h5":         {File: "d:/a.h5"},
		"d:/a.h5:/x/y":    {File: "d:/a.h5", Object: "/x/y"},
		"d:":              {File: "d:"},
		"odd:":            {File: "odd:"},
		"odd::/x":         {File: "odd:", Object: "/x"},
		"new.h5:/x":       {File: "new.h5", Object: "/x"},
		"new.h5:/x:/y":    {File: "new.h5:/x", Object: "/y"},
		"d:/new.h5:/x":    {File: "d:/new.h5", Object: "/x"},
		"new.b2nd":        {File: "new.b2nd"},
		"new.h5:relative": {File: "new.h5:relative"},
	} {
		got, err := formats.ParseLocation(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
		require.Equal(t, s, got.String())
	}
	for _, s := range []string{"", ":/x"} {
		_, err := formats.ParseLocation(s)
		require.ErrorIs(t, err, ndarray.ErrParam, "%q", s)
	}
}

// Arrays on disk are written and grown in place, and other opens see it.
func TestWriteInPlace(t *testing.T) {
	dir := t.TempDir()
	for _, location := range []string{in(dir, "a.b2nd"), in(dir, "a.h5:/g/x")} {
		spec := int32s(4)
		spec.MaxShape, spec.ChunkShape = []int64{ndarray.Unlimited}, []int64{3}
		save(t, location, spec)
		a, err := formats.Open(bg, location, formats.WithWrite())
		require.NoError(t, err)
		require.False(t, a.Meta().ReadOnly)
		require.NoError(t, ndarray.Append(bg, a, 0, []int32{4, 5, 6, 7}))
		require.NoError(t, a.SetAttr(bg, ndarray.Attr{Name: "grown", Value: ndarray.Scalar(true)}))
		require.NoError(t, a.Close())
		requireCount(t, location)
		a, err = formats.Open(bg, location)
		require.NoError(t, err)
		require.Equal(t, []int64{8}, a.Shape())
		attrs, err := a.Attrs(bg)
		require.NoError(t, err)
		require.Len(t, attrs.List, 1)
		require.ErrorIs(t, ndarray.Append(bg, a, 0, []int32{8}), ndarray.ErrReadOnly)
		require.NoError(t, a.Close())
	}
	_, err := formats.Create(bg, in(dir, "b.b2nd"), int32s(1), formats.WithWrite())
	require.ErrorIs(t, err, ndarray.ErrParam)
}

// Caterva is written when asked for, listed and, with its type told, becomes b2nd.
func TestCatervaToB2nd(t *testing.T) {
	dir := t.TempDir()
	for name, opts := range map[string][]formats.Option{"one": nil, "sparse": {formats.WithSparse()}} {
		file := in(dir, name)
		save(t, file, int32s(7, 3), append(opts, formats.WithFormat(formats.Caterva))...)
		list := walk(t, file)
		require.Len(t, list, 1)
		require.Equal(t, "caterva", list[0].Meta.Format)
		a, err := formats.Open(bg, file, formats.WithDType(ndarray.DTypeOf[int32]()))
		require.NoError(t, err)
		spec := a.Meta().Spec()
		d, err := formats.Create(bg, file+".b2nd", spec)
		require.NoError(t, err)
		_, err = ndarray.Copy(bg, d.Array, a, nil)
		require.NoError(t, err)
		require.NoError(t, errors.Join(d.Commit(bg), a.Close()))
		requireCount(t, file+".b2nd")
	}
	_, err := formats.Create(bg, in(dir, "x:/y"), int32s(2), formats.WithFormat(formats.Caterva))
	require.ErrorIs(t, err, ndarray.ErrParam)
}

// HDF5 with addresses of 32 bytes, for which its library has no room, never gets there.
func TestHDF5OfLongAddresses(t *testing.T) {
	path := in(t.TempDir(), "a.h5")
	save(t, path+":/x", int32s(5))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	size := 9 // of addresses, by the version of the superblock
	if b[8] < 2 {
		size = 13
	}
	require.EqualValues(t, 8, b[size])
	b[size] = 32
	require.NoError(t, os.WriteFile(path, b, 0o600))
	for _, opts := range [][]formats.Option{nil, {formats.WithWrite()}} {
		_, err = formats.Open(bg, path+":/x", opts...)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "addresses of 32 bytes")
	}
}
