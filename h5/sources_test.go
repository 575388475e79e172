package h5_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// TestMissingSources checks that all sources that a virtual dataset reads as fill values because
// they are missing are listed, and that all other sources are read.
func TestMissingSources(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	f, err := h5.Create(at("v.h5"), &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	defer f.Close()
	four, whole := h5.SimpleSpace(4), region([]int64{0}, []int64{4})
	from := func(start int64, file, dataset string) h5.Mapping {
		return h5.Mapping{Region: region([]int64{start}, []int64{4}), File: file, Dataset: dataset, Source: four, SourceRegion: whole}
	}
	virtual := func(name string, space h5.Dataspace, m ...h5.Mapping) *h5.Dataset {
		d, err := f.Root().CreateDataset(name, i4, space, &h5.DatasetOptions{Mappings: m, Fill: []byte{255, 255, 255, 255}})
		require.NoError(t, err)
		return d
	}
	require.NoError(t, os.Mkdir(at("apart"), 0o755))
	sourceFile(t, at("a.h5"), 1, 2, 3, 4)
	sourceFile(t, at("apart/b.h5"), 5, 6, 7, 8)
	sourceFile(t, at("100%.h5"), 9, 9, 9, 9)
	stored(t, f, "own", i4, []int32{10, 11, 12, 13})

	d := virtual("fixed", h5.SimpleSpace(28), from(0, "a.h5", "d"), from(4, "b.h5", "d"), from(8, at("c.h5"), "d"), from(12, "a.h5", "other"),
		from(16, ".", "own"), from(20, "100%%.h5", "/d"), from(24, "a.h5", "d"))
	type source struct{ File, Dataset string }
	missing := func(d *h5.Dataset) (out []source) {
		t.Helper()
		list, err := d.MissingSources()
		require.NoError(t, err)
		for _, s := range list {
			require.ErrorIs(t, s.Err, h5.ErrNotFound, "%+v", s)
			out = append(out, source{s.File, s.Dataset})
		}
		return out
	}
	require.Equal(t, []source{{"b.h5", "d"}, {at("c.h5"), "d"}, {"a.h5", "other"}}, missing(d))
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3, 4, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 10, 11, 12, 13, 9, 9, 9, 9, 1, 2, 3, 4}, got)
	require.NoError(t, d.Close())

	// With a prefix, libhdf5 searches the sources below it. For an absolute name it searches the
	// last element of the name.
	sourceFile(t, at("c.h5"), 20, 21, 22, 23)
	require.NoError(t, os.Rename(at("c.h5"), at("apart/c.h5")))
	for _, prefix := range []string{at("apart"), "${ORIGIN}/apart"} {
		d, err = f.Root().OpenDatasetWith("fixed", &h5.DatasetAccess{VirtualPrefix: prefix})
		require.NoError(t, err)
		require.Equal(t, []source{{"a.h5", "other"}}, missing(d), prefix)
		got, err = h5value.ReadAll[int32](d)
		require.NoError(t, err)
		require.Equal(t, []int32{5, 6, 7, 8, 20, 21, 22, 23, -1}, got[4:13], prefix)
		require.NoError(t, d.Close())
	}

	// Some of the blocks are missing.
	for _, name := range []string{"s0.h5", "s2.h5"} {
		sourceFile(t, at(name), 1, 2, 3, 4)
	}
	require.NoError(t, virtual("blocks", growing([]int64{4}, h5.Unlimited), h5.Mapping{
		Region: h5.Region{Start: []int64{0}, Count: []int64{h5.Unlimited}, Stride: []int64{4}, Block: []int64{4}}, File: "s%b.h5", Dataset: "d", Source: four, SourceRegion: whole,
	}).Close())
	d, err = f.Root().OpenDatasetWith("blocks", &h5.DatasetAccess{Gap: 1})
	require.NoError(t, err)
	require.Equal(t, []source{{"s1.h5", "d"}}, missing(d))
	require.NoError(t, d.Close())

	require.Empty(t, missing(virtual("none", h5.SimpleSpace(2), []h5.Mapping{}...)))
	d, err = f.Root().OpenDataset("own")
	require.NoError(t, err)
	_, err = d.MissingSources()
	require.ErrorIs(t, err, h5.ErrParam)

	// A file that is not an HDF5 file is missing too, with an error that explains it.
	require.NoError(t, os.WriteFile(at("text.h5"), bytes.Repeat([]byte("text"), 1000), 0o644))
	list, err := virtual("text", h5.SimpleSpace(4), from(0, "text.h5", "d")).MissingSources()
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Error(t, list[0].Err)
	require.NoError(t, f.Close())

	// A file opened with OpenReaderAt has no other files.
	b, err := os.ReadFile(at("v.h5"))
	require.NoError(t, err)
	f, err = h5.OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	defer f.Close()
	d, err = f.Root().OpenDataset("fixed")
	require.NoError(t, err)
	require.Len(t, missing(d), 5)
}

// TestMissingSources_hugeShape checks a mapping with %b of a dataset with a huge shape, which has
// as many blocks. Only the first missing sources must be listed.
func TestMissingSources_hugeShape(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "v.h5"), &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	defer f.Close()
	const far = 1 << 61
	four := h5.SimpleSpace(4)
	blocks := func(file string) h5.Mapping {
		return h5.Mapping{
			Region: h5.Region{Start: []int64{0}, Count: []int64{h5.Unlimited}, Stride: []int64{4}, Block: []int64{4}},
			File:   file, Dataset: "d", Source: four, SourceRegion: region([]int64{0}, []int64{4}),
		}
	}
	one := h5.Mapping{Region: region([]int64{far}, []int64{4}), File: "one.h5", Dataset: "d", Source: four, SourceRegion: region([]int64{0}, []int64{4})}
	for name, m := range map[string][]h5.Mapping{"once": {blocks("s%b.h5"), one}, "twice": {blocks("s%b.h5"), blocks("s%b.h5"), one}} {
		t.Run(name, func(t *testing.T) {
			d, err := f.Root().CreateDataset(name, i4, growing([]int64{far + 4}, h5.Unlimited), &h5.DatasetOptions{Mappings: m})
			require.NoError(t, err)
			require.NoError(t, d.Close())
			d, err = f.Root().OpenDataset(name)
			require.NoError(t, err)
			defer d.Close()
			list, err := d.MissingSources()
			require.NoError(t, err)
			require.Len(t, list, 1001)
			require.Equal(t, "s0.h5", list[0].File)
			require.Equal(t, "s999.h5", list[999].File)
			require.Equal(t, "one.h5", list[1000].File)
		})
	}
}
