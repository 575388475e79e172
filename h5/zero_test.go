package h5_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// requireWritable creates a file with o, writes a contiguous and a chunked dataset and attributes,
// opens it with access a and requires the values.
func requireWritable(t *testing.T, path string, o *h5.CreateOptions, a *h5.FileAccess) {
	t.Helper()
	f, err := h5.Create(path, o)
	require.NoError(t, err)
	fillFile(t, f)
	d, err := f.Root().CreateDataset("chunked", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(1000),
		&h5.DatasetOptions{ChunkShape: []int64{300}, Filters: []h5.Filter{h5.Deflate(1)}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, thousand(), region([]int64{0}, []int64{1000})))
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, f.Root().LinkSoft(name, "g/d"))
	}
	require.NoError(t, f.Close())
	f, err = h5.OpenWith(path, &h5.OpenOptions{Access: a})
	require.NoError(t, err)
	requireThousand(t, f)
	d, err = f.Root().OpenDataset("chunked")
	require.NoError(t, err)
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, thousand(), got)
	require.NoError(t, f.Close())
}

func TestCreateOptions_zero(t *testing.T) {
	dir := t.TempDir()
	requireWritable(t, filepath.Join(dir, "a.h5"), &h5.CreateOptions{}, nil)
	requireWritable(t, filepath.Join(dir, "b.h5"), &h5.CreateOptions{Access: &h5.FileAccess{}, Creation: &h5.FileCreation{}}, nil)
	requireWritable(t, filepath.Join(dir, "c.h5"), nil, nil)
	a, err := os.ReadFile(filepath.Join(dir, "a.h5"))
	require.NoError(t, err)
	c, err := os.ReadFile(filepath.Join(dir, "c.h5"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(a, c), "zero options write the same bytes as the defaults")

	f, err := h5.CreateImage(&h5.CreateOptions{Access: &h5.FileAccess{}})
	require.NoError(t, err)
	fillFile(t, f)
	requireThousand(t, f)
	require.NoError(t, f.Close())
}

func TestOpenOptions_zero(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	createWith(t, path, nil)
	f, err := h5.OpenWith(path, &h5.OpenOptions{})
	require.NoError(t, err)
	requireThousand(t, f)
	_, _, high, err := f.Access()
	require.NoError(t, err)
	require.Greater(t, high, h5.V112, "LatestFormat")
	_, err = f.Root().CreateGroup("x")
	require.ErrorIs(t, err, h5.ErrReadOnly, "mode 0 is ReadOnly")
	require.NoError(t, f.Close())
}

func TestFileCreation_zero(t *testing.T) {
	for name, low := range map[string]h5.LibVer{"earliest": h5.Earliest, "1.8": h5.V18, "latest": h5.LatestFormat} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.h5")
			for _, strategy := range []h5.SpaceStrategy{h5.FreeListAggregate, h5.Paged} {
				requireWritable(t, path, &h5.CreateOptions{Truncate: true, Low: low,
					Creation: &h5.FileCreation{Space: h5.FileSpace{Strategy: strategy}}}, nil)
			}
			f, err := h5.Open(path, h5.ReadOnly)
			require.NoError(t, err)
			got, err := f.Creation()
			require.NoError(t, err)
			require.NoError(t, f.Close())
			want := h5.DefaultFileCreation()
			require.Equal(t, []int{want.OffsetSize, want.LengthSize, want.GroupLeafK, want.GroupTreeK},
				[]int{got.OffsetSize, got.LengthSize, got.GroupLeafK, got.GroupTreeK})
			require.Equal(t, want.Space.PageSize, got.Space.PageSize)
		})
	}
	shared := &h5.FileCreation{Shared: []h5.SharedMessages{{Types: h5.SharedAll}}, AttrOrder: h5.TrackCreationOrder}
	requireWritable(t, filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Low: h5.V18, Creation: shared}, nil)
}

func TestFileAccess_zero(t *testing.T) {
	for name, a := range map[string]*h5.FileAccess{
		"access":            {},
		"core":              {Driver: h5.Core{Backing: true}},
		"split":             {Driver: h5.Split{}},
		"multi":             {Driver: h5.Multi{}},
		"stdio":             {Driver: h5.Stdio{}},
		"metadata cache":    {MetadataCache: &h5.MetadataCache{}},
		"resizing cache":    {MetadataCache: &h5.MetadataCache{Evictions: true, GrowMode: 1, FlashMode: 1, ShrinkMode: 3, UpperHitRate: 0.9, LowerHitRate: 0.8}},
		"dataset's own one": {ChunkCache: h5.ChunkCache{}},
	} {
		t.Run(name, func(t *testing.T) {
			requireWritable(t, filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Access: a}, a)
		})
	}
	t.Run("family", func(t *testing.T) {
		a := &h5.FileAccess{Driver: h5.Family{}}
		requireWritable(t, filepath.Join(t.TempDir(), "x%d.h5"), &h5.CreateOptions{Access: a}, a)
	})
	t.Run("direct", func(t *testing.T) {
		for _, d := range []h5.Direct{{Alignment: -1}, {Block: -1}} {
			_, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Access: &h5.FileAccess{Driver: d}})
			require.ErrorIs(t, err, h5.ErrParam)
		}
		path := filepath.Join(t.TempDir(), "x.h5")
		f, err := h5.Create(path, &h5.CreateOptions{Access: &h5.FileAccess{Driver: h5.Direct{}}})
		if err != nil { // libhdf5 was built without the driver, or the file system has no O_DIRECT
			require.NotErrorIs(t, err, h5.ErrParam)
			_, err = h5.Create(path, &h5.CreateOptions{Access: &h5.FileAccess{Driver: h5.Direct{Alignment: 8192}}})
			require.Error(t, err)
			require.NotErrorIs(t, err, h5.ErrParam)
			return
		}
		fillFile(t, f)
		requireThousand(t, f)
		require.NoError(t, f.Close())
	})
	t.Run("delete", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.h5")
		createWith(t, path, nil)
		require.NoError(t, h5.Delete(path, &h5.FileAccess{}))
		require.NoFileExists(t, path)
	})
}

func TestReaderOptions_zero(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	createWith(t, path, nil)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, o := range []h5.ReaderOptions{{}, {BlockSize: 100}, {Blocks: 1}} {
		f, err := h5.OpenReaderAt(bytes.NewReader(b), int64(len(b)), &o)
		require.NoError(t, err)
		requireThousand(t, f)
		require.NoError(t, f.Close())
	}
}

// TestObjectOptions_zero checks that the zero values of the options of objects are valid and
// equivalent to nil.
func TestObjectOptions_zero(t *testing.T) {
	f := newFile(t)
	r := f.Root()
	d, err := r.CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(4), &h5.DatasetOptions{
		Access: &h5.DatasetAccess{ChunkCache: &h5.ChunkCache{}}, AttributePhase: &h5.PhaseChange{},
	})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	_, err = r.CreateDataset("zero", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(4), &h5.DatasetOptions{})
	require.NoError(t, err)
	d, err = r.OpenDatasetWith("d", &h5.DatasetAccess{})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	_, err = r.CreateGroupWith("g", &h5.GroupOptions{})
	require.NoError(t, err)
	_, err = r.CreateGroupWith("parts", &h5.GroupOptions{Phase: &h5.PhaseChange{}, Expect: &h5.LinkEstimate{}})
	require.NoError(t, err)
	require.NoError(t, r.CopyObject("d", r, "e", &h5.CopyOptions{}))
	_, err = r.OpenObjectBy("e", h5.LinkAccess{})
	require.NoError(t, err)
	_, err = r.OpenDataset("none")
	require.True(t, errors.Is(err, h5.ErrNotFound))
}
