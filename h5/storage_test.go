package h5_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

var i4 = h5.Int(4, h5.LittleEndian)

func growing(dims []int64, top ...int64) h5.Dataspace {
	return h5.Dataspace{Kind: h5.Simple, Dims: dims, MaxDims: top}
}

// TestChunkIndexes checks that libhdf5 chooses the chunk index by format and shape.
func TestChunkIndexes(t *testing.T) {
	one, two := int64(h5.Unlimited), []int64{h5.Unlimited, h5.Unlimited}
	for _, tt := range []struct {
		low    h5.LibVer
		space  h5.Dataspace
		chunks []int64
		edit   func(*h5.DatasetOptions)
		want   h5.ChunkIndex
	}{
		{h5.Earliest, h5.SimpleSpace(8), []int64{4}, nil, h5.BTree1},
		{h5.V110, h5.SimpleSpace(8), []int64{8}, nil, h5.SingleChunk},
		{h5.V110, h5.SimpleSpace(8), []int64{4}, func(o *h5.DatasetOptions) { o.Alloc = h5.AllocEarly }, h5.Implicit},
		{h5.V110, h5.SimpleSpace(8), []int64{4}, nil, h5.FixedArray},
		{h5.V110, growing([]int64{8}, one), []int64{4}, nil, h5.ExtensibleArray},
		{h5.V110, growing([]int64{8, 8}, two...), []int64{4, 4}, nil, h5.BTree2},
		{h5.Earliest, growing([]int64{8, 8}, two...), []int64{4, 4}, nil, h5.BTree1},
	} {
		t.Run(fmt.Sprint(tt.want, tt.low), func(t *testing.T) {
			f, err := h5.CreateImage(&h5.CreateOptions{Low: tt.low, High: h5.LatestFormat})
			require.NoError(t, err)
			defer f.Close()
			o := h5.DatasetOptions{ChunkShape: tt.chunks}
			if tt.edit != nil {
				tt.edit(&o)
			}
			d, err := f.Root().CreateDataset("d", i4, tt.space, &o)
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			require.Equal(t, tt.want, info.Index, "%v", info.Index)
		})
	}
	info, err := newDataset(t, i4, h5.SimpleSpace(8), nil).Info()
	require.NoError(t, err)
	require.Equal(t, h5.NoIndex, info.Index)
}

// TestStorageOptions checks that every option is read as it was set.
func TestStorageOptions(t *testing.T) {
	f, err := h5.CreateImage(&h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	defer f.Close()
	cache := h5.ChunkCache{Slots: 13, Bytes: 32, Preempt: 0.25}
	d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(10), &h5.DatasetOptions{
		ChunkShape: []int64{4}, Deflate: new(int), FillTime: h5.FillNever, NoFill: true, Alloc: h5.AllocLate, PlainEdges: true,
		AttributeOrder: h5.IndexedCreationOrder, AttributePhase: &h5.PhaseChange{MaxCompact: 4, MinDense: 2}, Times: true, Minimize: true,
		Access: &h5.DatasetAccess{ChunkCache: &cache},
	})
	require.NoError(t, err)
	info, err := d.Info()
	require.NoError(t, err)
	require.Equal(t, h5.FillUndefined, info.FillKind)
	require.Equal(t, h5.FillNever, info.FillTime)
	require.Equal(t, h5.AllocLate, info.Alloc)
	require.True(t, info.PlainEdges && info.Times && info.FiltersAvailable)
	bytes, allocated, err := d.Stored()
	require.NoError(t, err)
	require.Zero(t, bytes)
	require.False(t, allocated)
	require.Equal(t, h5.IndexedCreationOrder, info.AttributeOrder)
	require.Equal(t, h5.PhaseChange{MaxCompact: 4, MinDense: 2}, info.AttributePhase)
	require.EqualValues(t, 32, info.CacheBytes)
	require.False(t, info.Uncached)
	a, err := d.Access()
	require.NoError(t, err)
	require.Equal(t, h5.DatasetAccess{ChunkCache: &cache}, a)
	require.NoError(t, h5value.Write(d, make([]int32, 10), region([]int64{0}, []int64{10})))
	require.NoError(t, d.Close())

	cache.Bytes = 15
	d, err = f.Root().OpenDatasetWith("d", &h5.DatasetAccess{ChunkCache: &cache, VirtualPrefix: "/v", ExternalPrefix: "/e"})
	require.NoError(t, err)
	info, err = d.Info()
	require.NoError(t, err)
	require.True(t, info.Uncached, "a chunk of 16 bytes in a cache of 15")
	bytes, allocated, err = d.Stored()
	require.NoError(t, err)
	require.EqualValues(t, 2*27+16, bytes) // PlainEdges: the last chunk is not filtered
	require.True(t, allocated)
	a, err = d.Access()
	require.NoError(t, err)
	require.Equal(t, h5.DatasetAccess{ChunkCache: &cache, VirtualPrefix: "/v", ExternalPrefix: "/e"}, a)
	_, err = f.Root().OpenDatasetWith("d", &h5.DatasetAccess{Gap: -1})
	require.ErrorIs(t, err, h5.ErrParam)
	_, err = f.Root().OpenDatasetWith("d", &h5.DatasetAccess{ChunkCache: &h5.ChunkCache{Preempt: 2}})
	require.ErrorIs(t, err, h5.ErrParam)
	require.NoError(t, d.Close())
	_, err = d.Access()
	require.ErrorIs(t, err, h5.ErrClosed)

	for _, alloc := range []h5.AllocTime{h5.AllocEarly, h5.AllocLate, h5.AllocIncremental} {
		d, err := f.Root().CreateDataset(fmt.Sprint("alloc", alloc), i4, h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{5}, Alloc: alloc})
		require.NoError(t, err)
		_, before, err := d.Stored()
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, []int32{1}, region([]int64{0}, []int64{1})))
		_, after, err := d.Stored()
		require.NoError(t, err)
		require.Equal(t, []bool{alloc == h5.AllocEarly, alloc != h5.AllocIncremental}, []bool{before, after})
	}
}

// TestFillTimes checks fill values and fill times, and when a contiguous dataset is allocated.
func TestFillTimes(t *testing.T) {
	r := newFile(t).Root()
	for i, when := range []h5.FillTime{h5.FillIfSet, h5.FillOnAlloc, h5.FillNever} {
		for j, alloc := range []h5.AllocTime{h5.AllocEarly, h5.AllocLate} {
			for k, fill := range [][]byte{nil, {1, 2, 3, 4}} {
				d, err := r.CreateDataset(fmt.Sprint(i, j, k), i4, h5.SimpleSpace(3), &h5.DatasetOptions{FillTime: when, Alloc: alloc, Fill: fill})
				require.NoError(t, err)
				info, err := d.Info()
				require.NoError(t, err)
				_, allocated, err := d.Stored()
				require.NoError(t, err)
				require.Equal(t, []any{when, alloc, alloc == h5.AllocEarly}, []any{info.FillTime, info.Alloc, allocated})
				want := int32(0)
				if fill != nil {
					require.Equal(t, fill, info.Fill)
					want = 0x04030201
				}
				if when != h5.FillNever { // otherwise the values are undefined
					got, err := h5value.ReadAll[int32](d)
					require.NoError(t, err)
					require.Equal(t, []int32{want, want, want}, got)
				}
				require.NoError(t, h5value.Write(d, []int32{9}, region([]int64{1}, []int64{1})))
				_, allocated, err = d.Stored()
				require.NoError(t, err)
				require.True(t, allocated)
				got, err := h5value.ReadAll[int32](d)
				require.NoError(t, err)
				require.Equal(t, int32(9), got[1])
				if when == h5.FillOnAlloc || when == h5.FillIfSet && fill != nil {
					require.Equal(t, []int32{want, 9, want}, got)
				}
			}
		}
	}
}

func TestExternalFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.h5")
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("a.raw"), []byte("header12"), 0o644))
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	files := []h5.ExternalFile{{Name: "a.raw", Offset: 8, Size: 12}, {Name: "b.raw", Size: 8}, {Name: "c.raw", Offset: 4, Size: h5.Unlimited}}
	d, err := f.Root().CreateDataset("d", i4, growing([]int64{8}, h5.Unlimited), &h5.DatasetOptions{
		External: files, Access: &h5.DatasetAccess{ExternalPrefix: "${ORIGIN}"},
	})
	require.NoError(t, err)
	want := []int32{1, 2, 3, 4, 5, 6, 7, 8}
	require.NoError(t, h5value.Write(d, want, region([]int64{0}, []int64{8})))
	info, err := d.Info()
	require.NoError(t, err)
	require.Equal(t, h5.Contiguous, info.Layout)
	require.Equal(t, files, info.External)
	require.Equal(t, uint64(h5.NoAddress), info.Address)
	require.NoError(t, d.Resize(10))
	require.NoError(t, f.Close())
	for name, want := range map[string]string{
		"a.raw": "header12\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00", "b.raw": "\x04\x00\x00\x00\x05\x00\x00\x00",
		"c.raw": "\x00\x00\x00\x00\x06\x00\x00\x00\x07\x00\x00\x00\x08\x00\x00\x00",
	} {
		got, err := os.ReadFile(at(name))
		require.NoError(t, err)
		require.Equal(t, want, string(got), name)
	}

	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	d, err = f.Root().OpenDatasetWith("d", &h5.DatasetAccess{ExternalPrefix: dir})
	require.NoError(t, err)
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, append(want, 0, 0), got, "past the end of a file are zeros")
	require.NoError(t, d.Close())
	require.NoError(t, os.Remove(at("b.raw")))
	d, err = f.Root().OpenDatasetWith("d", &h5.DatasetAccess{ExternalPrefix: dir})
	require.NoError(t, err)
	_, err = h5value.ReadAll[int32](d)
	require.Error(t, err, "a file is gone")

	g := newFile(t).Root()
	fixed := h5.SimpleSpace(8)
	for name, tt := range map[string]struct {
		space h5.Dataspace
		o     h5.DatasetOptions
		want  error
	}{
		"too small":           {fixed, h5.DatasetOptions{External: []h5.ExternalFile{{Name: "a", Size: 31}}}, h5.ErrSize},
		"limited and growing": {growing([]int64{8}, h5.Unlimited), h5.DatasetOptions{External: []h5.ExternalFile{{Name: "a", Size: 32}}}, h5.ErrSize},
		"second grows":        {growing([]int64{8, 1}, 8, h5.Unlimited), h5.DatasetOptions{External: []h5.ExternalFile{{Name: "a", Size: -1}}}, h5.ErrParam},
		"unlimited first":     {fixed, h5.DatasetOptions{External: []h5.ExternalFile{{Name: "a", Size: -1}, {Name: "b", Size: 8}}}, h5.ErrParam},
		"empty":               {fixed, h5.DatasetOptions{External: []h5.ExternalFile{{Name: "a"}}}, h5.ErrParam},
		"no name":             {fixed, h5.DatasetOptions{External: []h5.ExternalFile{{Size: 32}}}, h5.ErrParam},
		"zero byte":           {fixed, h5.DatasetOptions{External: []h5.ExternalFile{{Name: "a\x00b", Size: 32}}}, h5.ErrParam},
		"offset":              {fixed, h5.DatasetOptions{External: []h5.ExternalFile{{Name: "a", Offset: -1, Size: 32}}}, h5.ErrParam},
		"too large":           {fixed, h5.DatasetOptions{External: []h5.ExternalFile{{Name: "a", Size: math.MaxInt64}, {Name: "b", Size: math.MaxInt64}}}, h5.ErrParam},
		"chunks":              {fixed, h5.DatasetOptions{ChunkShape: []int64{8}, External: []h5.ExternalFile{{Name: "a", Size: 32}}}, h5.ErrParam},
		"filters":             {fixed, h5.DatasetOptions{Shuffle: true, External: []h5.ExternalFile{{Name: "a", Size: 32}}}, h5.ErrParam},
	} {
		_, err := g.CreateDataset("x", i4, tt.space, &tt.o)
		require.ErrorIs(t, err, tt.want, name)
	}
}

// sourceFile creates a file with a dataset "d" of the given numbers.
func sourceFile(t *testing.T, path string, values ...int32) {
	t.Helper()
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("d", i4, growing([]int64{int64(len(values))}, h5.Unlimited), &h5.DatasetOptions{ChunkShape: []int64{4}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, values, region([]int64{0}, []int64{int64(len(values))})))
	require.NoError(t, f.Close())
}

func TestVirtualDatasets(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "v.h5")
	for i := range 3 {
		sourceFile(t, filepath.Join(dir, fmt.Sprintf("s%d.h5", i)), int32(10*i), int32(10*i+1), int32(10*i+2), int32(10*i+3))
	}
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	defer f.Close()
	open, four := growing([]int64{4}, h5.Unlimited), h5.SimpleSpace(4)
	whole := region([]int64{0}, []int64{4})

	// The dataset maps two files, one of them with a stride.
	mappings := []h5.Mapping{
		{Region: h5.Region{Start: []int64{0}, Count: []int64{4}, Stride: []int64{2}}, File: "s0.h5", Dataset: "d", Source: four, SourceRegion: whole},
		{Region: region([]int64{1}, []int64{1}), File: "s2.h5", Dataset: "/d", Source: four, SourceRegion: region([]int64{3}, []int64{1})},
	}
	d, err := f.Root().CreateDataset("fixed", i4, h5.SimpleSpace(8), &h5.DatasetOptions{Mappings: mappings, Fill: []byte{255, 255, 255, 255}})
	require.NoError(t, err)
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{0, 23, 1, -1, 2, -1, 3, -1}, got)
	info, err := d.Info()
	require.NoError(t, err)
	require.Equal(t, h5.Virtual, info.Layout)
	require.Len(t, info.Mappings, 2)
	for i, m := range info.Mappings {
		require.Equal(t, mappings[i].File, m.File)
		require.Equal(t, mappings[i].Dataset, m.Dataset)
		require.Equal(t, mappings[i].Region.Start, m.Region.Start)
		require.Equal(t, mappings[i].Region.NumElems(), m.Region.NumElems())
		require.False(t, m.Irregular)
	}
	require.NoError(t, h5value.Write(d, []int32{99}, region([]int64{2}, []int64{1})), "writes change the source")

	// The pattern maps each block to its own file, and the shape follows the number of files.
	d, err = f.Root().CreateDataset("blocks", i4, growing([]int64{4}, h5.Unlimited), &h5.DatasetOptions{Mappings: []h5.Mapping{{
		Region: h5.Region{Start: []int64{0}, Count: []int64{h5.Unlimited}, Stride: []int64{4}, Block: []int64{4}}, File: "s%b.h5", Dataset: "d", Source: four, SourceRegion: whole,
	}}})
	require.NoError(t, err)
	got, err = h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{0, 99, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}, got)
	info, err = d.Info()
	require.NoError(t, err)
	require.Equal(t, []int64{h5.Unlimited}, info.Mappings[0].Region.Count)

	require.NoError(t, d.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, "s1.h5")))
	for _, tt := range []struct {
		a    h5.DatasetAccess
		want []int32
	}{
		{h5.DatasetAccess{}, []int32{0, 99, 2, 3}},
		{h5.DatasetAccess{Gap: 1}, []int32{0, 99, 2, 3, 0, 0, 0, 0, 20, 21, 22, 23}},
		{h5.DatasetAccess{View: h5.FirstMissing}, []int32{0, 99, 2, 3}},
	} {
		d, err := f.Root().OpenDatasetWith("blocks", &tt.a)
		require.NoError(t, err)
		got, err := h5value.ReadAll[int32](d)
		require.NoError(t, err)
		require.Equal(t, tt.want, got, "%+v", tt.a)
		a, err := d.Access()
		require.NoError(t, err)
		require.Equal(t, []any{tt.a.View, tt.a.Gap, tt.a.VirtualPrefix}, []any{a.View, a.Gap, a.VirtualPrefix})
		require.NoError(t, d.Close())
	}
	sourceFile(t, filepath.Join(dir, "s1.h5"), 10, 11, 12, 13)

	// An unlimited mapping must follow the shape of its source.
	d, err = f.Root().CreateDataset("open", i4, growing([]int64{4}, h5.Unlimited), &h5.DatasetOptions{Mappings: []h5.Mapping{{
		Region: region([]int64{0}, []int64{h5.Unlimited}), File: "s1.h5", Dataset: "d", Source: open, SourceRegion: region([]int64{0}, []int64{h5.Unlimited}),
	}}})
	require.NoError(t, err)
	got, err = h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{10, 11, 12, 13}, got)
	require.NoError(t, d.Close())
	source, err := h5.Open(filepath.Join(dir, "s1.h5"), h5.ReadWrite)
	require.NoError(t, err)
	sd, err := source.Root().OpenDataset("d")
	require.NoError(t, err)
	require.NoError(t, sd.Resize(5))
	require.NoError(t, h5value.Write(sd, []int32{14}, region([]int64{4}, []int64{1})))
	require.NoError(t, source.Close())
	d, err = f.Root().OpenDataset("open")
	require.NoError(t, err)
	got, err = h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{10, 11, 12, 13, 14}, got)

	// A dataset without mappings contains only fill values.
	d, err = f.Root().CreateDataset("none", i4, h5.SimpleSpace(2), &h5.DatasetOptions{Mappings: []h5.Mapping{}, Fill: []byte{7, 0, 0, 0}})
	require.NoError(t, err)
	got, err = h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{7, 7}, got)

	for name, tt := range map[string]struct {
		m    h5.Mapping
		want error
	}{
		"other count":      {h5.Mapping{Region: region([]int64{0}, []int64{3}), File: "a", Dataset: "d", Source: four, SourceRegion: whole}, h5.ErrSize},
		"outside":          {h5.Mapping{Region: region([]int64{5}, []int64{4}), File: "a", Dataset: "d", Source: four, SourceRegion: whole}, h5.ErrRegion},
		"source outside":   {h5.Mapping{Region: whole, File: "a", Dataset: "d", Source: four, SourceRegion: region([]int64{1}, []int64{4})}, h5.ErrRegion},
		"rank":             {h5.Mapping{Region: h5.Region{}, File: "a", Dataset: "d", Source: four, SourceRegion: whole}, h5.ErrRegion},
		"no file":          {h5.Mapping{Region: whole, Dataset: "d", Source: four, SourceRegion: whole}, h5.ErrParam},
		"no dataset":       {h5.Mapping{Region: whole, File: "a", Source: four, SourceRegion: whole}, h5.ErrParam},
		"pattern":          {h5.Mapping{Region: whole, File: "%b", Dataset: "d", Source: four, SourceRegion: whole}, h5.ErrParam},
		"no source":        {h5.Mapping{Region: whole, File: "a", Dataset: "d"}, h5.ErrParam},
		"unlimited in 8":   {h5.Mapping{Region: region([]int64{0}, []int64{-1}), File: "a%b", Dataset: "d", Source: four, SourceRegion: whole}, h5.ErrRegion},
		"unlimited source": {h5.Mapping{Region: whole, File: "a", Dataset: "d", Source: open, SourceRegion: region([]int64{0}, []int64{-1})}, h5.ErrParam},
	} {
		_, err := f.Root().CreateDataset("x", i4, h5.SimpleSpace(8), &h5.DatasetOptions{Mappings: []h5.Mapping{tt.m}})
		require.ErrorIs(t, err, tt.want, name)
	}
}

// TestStorage_openSources checks that a virtual dataset finds a source file that is already open
// for writing in the process.
func TestStorage_openSources(t *testing.T) {
	dir := t.TempDir()
	sourceFile(t, filepath.Join(dir, "s.h5"), 1, 2)
	source, err := h5.Open(filepath.Join(dir, "s.h5"), h5.ReadWrite)
	require.NoError(t, err)
	defer source.Close()
	f, err := h5.Create(filepath.Join(dir, "v.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	two := h5.SimpleSpace(2)
	d, err := f.Root().CreateDataset("v", i4, two, &h5.DatasetOptions{Fill: []byte{9, 9, 9, 9}, Mappings: []h5.Mapping{
		{Region: two.All(), File: "s.h5", Dataset: "d", Source: two, SourceRegion: two.All()},
	}})
	require.NoError(t, err)
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2}, got)
	require.NoError(t, f.Root().LinkExternal("link", "s.h5", "/d"))
	linked, err := f.Root().OpenDataset("link")
	require.NoError(t, err)
	got, err = h5value.ReadAll[int32](linked)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2}, got)
}

func TestStorage_invalid(t *testing.T) {
	g := newFile(t).Root()
	ten := h5.SimpleSpace(10)
	for name, o := range map[string]h5.DatasetOptions{
		"alloc": {Alloc: 4}, "fill time": {FillTime: 3}, "fill and none": {NoFill: true, Fill: make([]byte, 4)},
		"no fill on alloc": {NoFill: true, FillTime: h5.FillOnAlloc}, "edges": {PlainEdges: true}, "order": {AttributeOrder: 9},
		"late compact": {Compact: true, Alloc: h5.AllocLate}, "incremental": {Alloc: h5.AllocIncremental},
		"compact and virtual": {Compact: true, Mappings: []h5.Mapping{}},
		"phase":               {AttributePhase: &h5.PhaseChange{MaxCompact: 1, MinDense: 2}},
		"access":              {Access: &h5.DatasetAccess{View: 2}},
		"prefix":              {Access: &h5.DatasetAccess{VirtualPrefix: "a\x00"}},
	} {
		_, err := g.CreateDataset("x", i4, ten, &o)
		require.ErrorIs(t, err, h5.ErrParam, name)
	}
}

// TestStorage_reader checks a file opened with OpenReaderAt. Elements in other files must return an
// error with the file name. They must never be read as fill values or from the working directory.
func TestStorage_reader(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	sourceFile(t, "s0.h5", 1, 2, 3, 4)
	require.NoError(t, os.WriteFile("raw", make([]byte, 16), 0o644))
	f, err := h5.Create("v.h5", &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	r := f.Root()
	four, open, whole := h5.SimpleSpace(4), growing([]int64{4}, h5.Unlimited), region([]int64{0}, []int64{4})
	endless := region([]int64{0}, []int64{h5.Unlimited})
	virtual := func(name string, space h5.Dataspace, m ...h5.Mapping) {
		_, err := r.CreateDataset(name, i4, space, &h5.DatasetOptions{Fill: []byte{9, 0, 0, 0}, Mappings: m})
		require.NoError(t, err)
	}
	written(t, f, "d", []int32{5, 6, 7, 8})
	other := h5.Mapping{Region: whole, File: "s0.h5", Dataset: "d", Source: four, SourceRegion: whole}
	own := h5.Mapping{Region: region([]int64{4}, []int64{4}), File: ".", Dataset: "d", Source: four, SourceRegion: whole}
	virtual("virtual", h5.SimpleSpace(8), other, own)
	virtual("absolute", four, h5.Mapping{Region: whole, File: filepath.Join(dir, "s0.h5"), Dataset: "d", Source: four, SourceRegion: whole})
	virtual("endless", open, h5.Mapping{Region: endless, File: "s0.h5", Dataset: "d", Source: open, SourceRegion: endless})
	virtual("pattern", open, h5.Mapping{
		Region: h5.Region{Start: []int64{0}, Count: []int64{h5.Unlimited}, Stride: []int64{4}, Block: []int64{4}}, File: "s%b.h5", Dataset: "d", Source: four, SourceRegion: whole,
	})
	_, err = r.CreateDataset("external", i4, four, &h5.DatasetOptions{External: []h5.ExternalFile{{Name: "raw", Size: 16}}})
	require.NoError(t, err)
	require.NoError(t, r.LinkExternal("link", "s0.h5", "/d"))
	for _, name := range []string{"virtual", "absolute", "endless", "pattern", "external", "link"} {
		d, err := r.OpenDataset(name)
		require.NoError(t, err)
		_, err = h5value.ReadAll[int32](d)
		require.NoError(t, err, "%s: by its path", name)
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())

	b, err := os.ReadFile("v.h5")
	require.NoError(t, err)
	f, err = h5.OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	defer f.Close()
	outside := func(err error, file string) {
		t.Helper()
		var o *h5.OutsideError
		require.ErrorAs(t, err, &o)
		require.Equal(t, file, filepath.Base(o.File))
		require.ErrorIs(t, err, h5.ErrNotFound)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "because a reader is one file")
	}
	_, err = f.Root().OpenDataset("link")
	outside(err, "s0.h5")
	for name, file := range map[string]string{"virtual": "s0.h5", "absolute": "s0.h5", "external": "raw"} {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err)
		_, err = d.Info()
		require.NoError(t, err, "%s: its parts can be described", name)
		outside(d.ReadRegion(make([]byte, 4), i4, region([]int64{0}, []int64{1})), file)
		outside(d.ReadSelection(make([]byte, 4), i4, h5.Points{{1}}), file)
		_, err = d.ReadValues(i4, h5.All, -1)
		outside(err, file)
		_, err = h5value.ReadAll[any](d)
		outside(err, file)
	}
	for name, file := range map[string]string{"endless": "s0.h5", "pattern": "s0.h5"} {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err)
		_, err = d.Info()
		outside(err, file) // the shape depends on the other file
		_, err = h5value.ReadAll[int32](d)
		outside(err, file)
	}
	d, err := f.Root().OpenDataset("virtual")
	require.NoError(t, err)
	got := make([]int32, 4)
	require.NoError(t, h5value.Read(d, got, region([]int64{4}, []int64{4})), "these are in the file itself")
	require.Equal(t, []int32{5, 6, 7, 8}, got)
}
