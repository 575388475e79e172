// Tests of changes that CopyTree makes without asking: it copies or reports comments, and it
// replaces compression that can only be read.

package treecopy_test

import (
	"errors"
	"fmt"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// commented writes an HDF5 file in which the comment of each object contains its path.
func commented(t *testing.T, file string) {
	t.Helper()
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	i4 := h5.Int(4, h5.LittleEndian)
	comment := func(o h5.Object, err error) h5.Object {
		require.NoError(t, err)
		require.NoError(t, o.SetComment("on "+o.Path()))
		return o
	}
	root := f.Root()
	comment(root, nil)
	objects := []h5.Object{
		comment(root.CreateGroup("/g")),
		comment(root.CreateGroup("/g/below")),
		comment(root.CreateDataset("/g/x", i4, h5.SimpleSpace(8), nil)),
		comment(root.CommitDatatype("/t", i4)),
	}
	hidden, err := root.CommitAnonymous(i4)
	require.NoError(t, err)
	require.NoError(t, hidden.SetComment("on no path"))
	shared, err := hidden.Shared()
	require.NoError(t, err)
	y := comment(root.CreateDataset("/y", shared, h5.SimpleSpace(8), nil))
	plain, err := root.CreateDataset("/z", i4, h5.SimpleSpace(8), nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(y.Close(), plain.Close(), hidden.Close()))
	for _, o := range objects {
		require.NoError(t, o.Close())
	}
	require.NoError(t, f.Close())
}

// comments returns the comments of the objects of an HDF5 file and of the datatypes of its
// datasets, by path.
func comments(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := h5.Open(file, h5.ReadOnly)
	require.NoError(t, err)
	found := make(map[string]string)
	note := func(name string, o h5.Object) {
		text, err := o.Comment()
		require.NoError(t, err)
		if text != "" {
			found[name] = text
		}
	}
	for v, err := range f.Root().Visit() {
		require.NoError(t, err)
		o, err := f.Root().OpenObject(v.Path)
		require.NoError(t, err)
		note(path.Join("/", v.Path), o)
		if d, ok := o.(*h5.Dataset); ok {
			info, err := d.Info()
			require.NoError(t, err)
			if info.Datatype.Committed != 0 {
				c, err := f.OpenAddress(info.Datatype.Committed)
				require.NoError(t, err)
				note("type of /"+v.Path, c)
				require.NoError(t, c.Close())
			}
		}
		require.NoError(t, o.Close())
	}
	require.NoError(t, f.Close())
	return found
}

func changesOf(stats hyperslab.TreeStats) (lines []string) {
	for _, p := range stats.Changes {
		lines = append(lines, p.String())
	}
	return lines
}

// TestCopyTree_Comments checks that comments are copied from HDF5 to HDF5. Other formats cannot
// store comments, so they are reported, and the caller does not have to accept the loss.
func TestCopyTree_Comments(t *testing.T) {
	dir := t.TempDir()
	src := filetest.In(dir, "src.h5")
	commented(t, src)
	want := map[string]string{
		"/": "on /", "/g": "on /g", "/g/below": "on /g/below", "/g/x": "on /g/x", "/t": "on /t", "/y": "on /y", "type of /y": "on no path",
	}
	require.Equal(t, want, comments(t, src))
	stats, err := filetest.CopyTree(bg, filetest.In(dir, "all.h5"), src, nil)
	require.NoError(t, err)
	require.Empty(t, stats.Changes)
	require.Equal(t, want, comments(t, filetest.In(dir, "all.h5")))

	_, err = filetest.CopyTree(bg, filetest.In(dir, "part.h5"), src+":/g", nil)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"/": "on /g", "/below": "on /g/below", "/x": "on /g/x"}, comments(t, filetest.In(dir, "part.h5")))

	all := func(hyperslab.Problem) bool { return true }
	for i, u := range []hyperslab.Untrusted{{InProcess: true}, {FullIsolation: true}} {
		out := filetest.In(dir, fmt.Sprintf("outside%d.h5", i))
		_, err := filetest.CopyTree(bg, out, src, &hyperslab.TreeOptions{Accept: all}, &hyperslab.OpenOptions{Untrusted: &u})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"/": "on /", "/g": "on /g", "/g/below": "on /g/below", "/g/x": "on /g/x", "/y": "on /y"}, comments(t, out))
	}

	stats, err = filetest.CopyTree(bg, filetest.In(dir, "directory"), src, &hyperslab.TreeOptions{Accept: func(p hyperslab.Problem) bool { return p.Path == "/t" }})
	require.NoError(t, err, "accepted problems are no error")
	require.Equal(t, []string{
		"/: comment (on /): b2nd cannot store it",
		"/g: comment (on /g): b2nd cannot store it",
		"/g/below: comment (on /g/below): b2nd cannot store it",
		"/g/x: comment (on /g/x): b2nd cannot store it",
		"/y: comment (on /y): b2nd cannot store it",
	}, changesOf(stats))
	for _, p := range stats.Changes {
		require.ErrorIs(t, p.Err, errors.ErrUnsupported)
	}
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "t.bcolz"), src, &hyperslab.TreeOptions{Accept: all, DryRun: true})
	require.NoError(t, err)
	require.Equal(t, []string{"/: comment (on /): bcolz cannot store it", "/y: comment (on /y): bcolz cannot store it"}, changesOf(stats))
}

// TestCopyTree_ReadOnlyCompression checks that a codec that can only be read is replaced by
// the default codec. The change is reported unless the caller has chosen a codec.
func TestCopyTree_ReadOnlyCompression(t *testing.T) {
	dir := t.TempDir()
	src := filetest.In(dir, "src.h5")
	f, err := h5.Create(src, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(64), &h5.DatasetOptions{
		ChunkShape: []int64{16}, Filters: []h5.Filter{h5.ScaleOffsetInt(0)},
	})
	require.NoError(t, err)
	require.NoError(t, errors.Join(d.Close(), f.Close()))
	stats, err := filetest.CopyTree(bg, filetest.In(dir, "out.h5"), src, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"/x: compression (scaleoffset + none): hdf5 is not written with it; shuffle + deflate 4 instead"}, changesOf(stats))
	a, err := hyperslab.Open(bg, filetest.In(dir, "out.h5:/x"), nil)
	require.NoError(t, err)
	require.Equal(t, "shuffle + deflate 4", a.Meta().Compression.String())
	require.NoError(t, a.Close())

	lzf := func(_ string, _ ndarray.Meta, spec *ndarray.Spec, _ *int) error {
		spec.Compression = &ndarray.Compression{Codec: "lzf"}
		return nil
	}
	stats, err = filetest.CopyTree(bg, filetest.In(dir, "lzf.h5"), src, &hyperslab.TreeOptions{Adjust: lzf})
	require.NoError(t, err)
	require.Empty(t, stats.Changes)
}
