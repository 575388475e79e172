package opened_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

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

// wrapped is a backend with Unwrap, as those of this package.
type wrapped struct{ ndarray.Backend }

func (w wrapped) Unwrap() ndarray.Backend { return w.Backend }
