package h5_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// TestCopyFlags checks the effect of copy options on references, committed datatypes and free space
// in object headers. TestCopyObject checks the other options.
func TestCopyFlags(t *testing.T) {
	dir := t.TempDir()
	f, err := h5.Create(filepath.Join(dir, "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	r := f.Root()
	written(t, f, "outside", []int32{1, 2, 3})
	object, err := r.Reference("outside", h5.ObjectReference)
	require.NoError(t, err)
	area, err := r.ReferenceRegion("outside", h5.RegionReference, region([]int64{1}, []int64{2}))
	require.NoError(t, err)
	written(t, f, "src/objects", []h5.Ref{object})
	regions, err := r.CreateDataset("src/regions", h5.ReferenceType(h5.RegionReference), h5.SimpleSpace(1), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(regions, []h5.Ref{area}, h5.All))
	kept, err := r.CommitDatatype("kept", h5.Int(3, h5.BigEndian))
	require.NoError(t, err)
	shared, err := kept.Shared()
	require.NoError(t, err)
	d, err := r.CreateDataset("src/typed", shared, h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	for i := range 4 {
		require.NoError(t, h5value.WriteAttr(d, fmt.Sprint("a", i), []int64{1, 2, 3, 4, 5, 6}))
	}
	require.NoError(t, d.DeleteAttribute("a1"))
	require.NoError(t, r.LinkUser("src/user", 99, []byte("value")))

	into := func(name string, o *h5.CopyOptions) *h5.File {
		to, err := h5.Create(filepath.Join(dir, name), nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = to.Close() })
		c, err := to.Root().CommitDatatype("there/type", h5.Int(3, h5.BigEndian))
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NoError(t, r.CopyObject("src", to.Root(), "copy", o))
		l, err := to.Root().Link("copy/user")
		require.NoError(t, err)
		require.Equal(t, h5.Link{Name: "user", Kind: h5.UserLink, Class: 99, Order: -1, Value: []byte("value")}, l)
		return to
	}
	open := func(f *h5.File, name string) *h5.Dataset { return must(f.Root().OpenDataset("copy/" + name))(t) }
	free := func(f *h5.File) int64 { return must(open(f, "typed").Header())(t).Free }
	committed := func(f *h5.File) uint64 { return must(open(f, "typed").Datatype())(t).Committed }

	plain := into("plain.h5", nil)
	for _, name := range []string{"objects", "regions"} {
		require.True(t, must(h5value.ReadAll[h5.Ref](open(plain, name)))(t)[0].IsNull(), "their targets are not in this file")
	}
	known := must(plain.Root().ObjectInfo("there/type"))(t).Address
	require.NotZero(t, committed(plain))
	require.NotEqual(t, known, committed(plain), "a committed copy of its own")

	followed := into("references.h5", &h5.CopyOptions{ExpandReferences: true})
	for name, elements := range map[string][]int32{"objects": {1, 2, 3}, "regions": {2, 3}} {
		ref := must(h5value.ReadAll[h5.Ref](open(followed, name)))(t)[0]
		to := must(followed.Resolve(ref))(t)
		o := must(followed.Dereference(ref))(t)
		s := h5.All
		if to.Region {
			s = to.Selection.Selection
		}
		got := make([]int32, len(elements))
		require.NoError(t, h5value.Read(o.(*h5.Dataset), got, s), name)
		require.Equal(t, elements, got, name)
		require.NoError(t, o.Close())
	}

	for name, o := range map[string]*h5.CopyOptions{
		"merge.h5": {MergeTypes: true}, "merge-path.h5": {MergeTypes: true, TypePaths: []string{"/there/type"}},
	} {
		merged := into(name, o)
		require.Equal(t, must(merged.Root().ObjectInfo("there/type"))(t).Address, committed(merged), name)
	}

	spaced := into("spaced.h5", &h5.CopyOptions{KeepSpace: true})
	require.Greater(t, free(spaced), free(plain), "the place of the attribute that was deleted")
	for _, f := range []*h5.File{plain, spaced} {
		require.Equal(t, []string{"a0", "a2", "a3"}, names(t, open(f, "typed"), h5.ByName))
	}
}

// TestGroup_CopyObject checks the copy of datasets with fill values of variable length and of
// references. A copy to another file is refused, because H5Ocopy would copy addresses of the source
// file.
func TestGroup_CopyObject(t *testing.T) {
	dir := t.TempDir()
	f, err := h5.Create(filepath.Join(dir, "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	text := h5.VariableString(h5.UTF8)
	fill, err := h5value.Encode(text, []string{"fill"})
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("texts/filled", text, h5.SimpleSpace(3), &h5.DatasetOptions{FillValues: fill})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	written(t, f, "texts/plain", []string{"a", "b"})
	to, err := h5.Create(filepath.Join(dir, "y.h5"), nil)
	require.NoError(t, err)
	defer to.Close()

	t.Run("other file", func(t *testing.T) {
		for _, name := range []string{"texts", "texts/filled"} {
			require.ErrorIs(t, f.Root().CopyObject(name, to.Root(), "copy", nil), errors.ErrUnsupported)
			there, err := to.Root().HasLink("copy")
			require.NoError(t, err)
			require.False(t, there)
		}
		require.ErrorIs(t, f.Root().CopyObject("texts/plain", to.Root(), "copy", &h5.CopyOptions{ExpandReferences: true}), errors.ErrUnsupported)
		require.NoError(t, f.Root().CopyObject("texts/plain", to.Root(), "copy", nil))
	})
	t.Run("same file", func(t *testing.T) {
		require.NoError(t, f.Root().CopyObject("texts/filled", f.Root(), "again", nil))
		require.NoError(t, f.Root().Unlink("texts/filled"))
		d, err := f.Root().OpenDataset("again")
		require.NoError(t, err)
		got, err := h5value.ReadAll[string](d)
		require.NoError(t, err)
		require.Equal(t, []string{"fill", "fill", "fill"}, got)
		require.NoError(t, d.Close())
	})
}

// TestGroup_CopyObject_sequences copies chunked sequences with FillOnAlloc, for which H5Ocopy
// writes past the end of its memory if addresses have fewer than 8 bytes.
func TestGroup_CopyObject_sequences(t *testing.T) {
	sequence := h5.SequenceOf(h5.Int(4, h5.LittleEndian))
	for size, want := range map[int]error{2: errors.ErrUnsupported, 4: errors.ErrUnsupported, 8: nil} {
		creation := h5.DefaultFileCreation()
		creation.OffsetSize = size
		f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Creation: &creation})
		require.NoError(t, err)
		d, err := f.Root().CreateDataset("g/d", sequence, h5.SimpleSpace(4), &h5.DatasetOptions{ChunkShape: []int64{2}, FillTime: h5.FillOnAlloc})
		require.NoError(t, err)
		require.NoError(t, d.Close())
		for _, name := range []string{"g/d", "g"} {
			require.ErrorIs(t, f.Root().CopyObject(name, f.Root(), "copy of "+strings.ReplaceAll(name, "/", ""), nil), want, "%d", size)
		}
		require.NoError(t, f.Close())
	}
}

// TestGroup_CopyObject_strayLayout copies an object whose header has the layout of a dataset, but
// no dataspace: libhdf5 opens it as a committed datatype.
func TestGroup_CopyObject_strayLayout(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("g/x", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(0x51), nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(d.Close(), f.Close()))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	space := bytes.Index(b, []byte{1, 1, 1, 0, 0, 0, 0, 0, 0x51, 0}) - 8 // its message header
	require.Equal(t, []byte{1, 0}, b[space:space+2])
	b[space] = 0 // no message
	require.NoError(t, os.WriteFile(file, b, 0o600))
	f, err = h5.Open(file, h5.ReadOnly)
	require.NoError(t, err)
	info, err := f.Root().ObjectInfo("g/x")
	require.NoError(t, err)
	require.Equal(t, h5.DatatypeObject, info.Kind)
	to, err := h5.Create(filepath.Join(t.TempDir(), "y.h5"), nil)
	require.NoError(t, err)
	require.ErrorIs(t, f.Root().CopyObject("g/x", to.Root(), "x", nil), h5.ErrCorrupt)
	require.ErrorIs(t, f.Root().CopyObject("g", to.Root(), "g", nil), h5.ErrCorrupt)
	require.NoError(t, errors.Join(f.Close(), to.Close()))
}
