package draft_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/draft"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestEditGroupAttrs_readOnly checks the errors for formats whose attributes of groups are only
// read: of a group, an array and a missing path.
func TestEditGroupAttrs_readOnly(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source.h5")
	filetest.Save(t, source+":/a/b", filetest.Int32s(3), nil)
	for _, name := range []string{"x.b2z", "x.b2d", "x.b2e"} {
		file := filepath.Join(dir, name)
		_, err := filetest.CopyTree(bg, file, source, nil)
		require.NoError(t, err)
		for path, want := range map[string]error{"/a": errors.ErrUnsupported, "/a/b": ndarray.ErrParam, "/none": ndarray.ErrNotFound} {
			require.ErrorIs(t, draft.EditGroupAttrs(bg, file+":"+path, nil, nil), want, "%s:%s", name, path)
		}
	}
	frame := filepath.Join(dir, "a.b2nd")
	filetest.Save(t, frame, filetest.Int32s(3), nil)
	require.ErrorIs(t, draft.EditGroupAttrs(bg, frame, nil, nil), ndarray.ErrParam)
	npy := filepath.Join(dir, "a.npy")
	filetest.Save(t, npy, filetest.Int32s(3), nil)
	require.ErrorIs(t, draft.EditGroupAttrs(bg, npy, nil, nil), ndarray.ErrParam)
	require.ErrorIs(t, draft.EditGroupAttrs(bg, "https://example.org/x.h5", nil, nil), errors.ErrUnsupported)
}

// TestCreate_options checks that each driver refuses the options that its format does not have.
func TestCreate_options(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name, location string
		set            func(o *draft.Options)
		want           string
	}{
		{"sparse HDF5", "x.h5:/a", func(o *draft.Options) { o.Sparse = true }, "only b2nd can be sparse, not hdf5"},
		{"plain and sparse", "x.b2nd", func(o *draft.Options) { o.Plain, o.Sparse = true, true }, "a plain frame: got format b2nd, sparse true, want b2nd in one file"},
		{"plain Caterva", "x.caterva", func(o *draft.Options) { o.Plain = true }, "a plain frame: got format caterva, sparse false, want b2nd in one file"},
		{"bcolz in place", "x.bcolz", func(o *draft.Options) { o.InPlace = true }, "only HDF5 files are changed in place, not bcolz"},
		{"stripes of npy", "x.npy", func(o *draft.Options) { o.Stripes = []string{"s"} }, "format of an array with elements in other files: got npy, want hdf5"},
		{"placement", "x.h5:/a", func(o *draft.Options) { o.StripeOf = func([]int64) int { return 0 } }, "placement of stripes without stripe files"},
		{"path in npy", "x.npy:/a", func(*draft.Options) {}, "a file of format npy contains one array, it has no /a"},
		{"path in bcolz", "x.bcolz:/a", func(*draft.Options) {}, "a bcolz carray holds one array, it has no /a"},
		{"no path in HDF5", "x.h5", func(*draft.Options) {}, "an HDF5 file can hold many arrays"},
		{"unknown extension", "x.txt", func(*draft.Options) {}, `extension ".txt": got no known format`},
		{"unknown format", "x.txt", func(o *draft.Options) { o.Format = "txt" }, `format "txt"`},
		{"directory", "x:/a", func(o *draft.Options) { o.Format = "directory" }, `format "directory"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var o draft.Options
			test.set(&o)
			_, err := draft.Create(bg, filetest.In(dir, test.location), filetest.Int32s(3), o)
			require.ErrorIs(t, err, ndarray.ErrParam)
			require.ErrorContains(t, err, test.want)
			require.Empty(t, filetest.Entries(t, dir))
		})
	}
}
