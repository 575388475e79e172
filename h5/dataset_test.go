package h5_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// newFile creates an empty file in a temporary directory of the test.
func newFile(t testing.TB) *h5.File {
	t.Helper()
	f, err := h5.Create(filepath.Join(t.TempDir(), "new.h5"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// newDataset creates a dataset in a new file.
func newDataset(t testing.TB, dt h5.Datatype, space h5.Dataspace, o *h5.DatasetOptions) *h5.Dataset {
	t.Helper()
	d, err := newFile(t).Root().CreateDataset("d", dt, space, o)
	require.NoError(t, err)
	return d
}

// region returns a region without stride and block.
func region(start, count []int64) h5.Region { return h5.Region{Start: start, Count: count} }

func TestDataset_roundTrip(t *testing.T) {
	level := 4
	d := newDataset(t, h5.Int(4, h5.BigEndian), h5.SimpleSpace(4, 6), &h5.DatasetOptions{
		ChunkShape: []int64{3, 4}, Deflate: &level, Shuffle: true, Fletcher32: true,
	})
	all := make([]int32, 24)
	for i := range all {
		all[i] = int32(i*i) - 100
	}
	require.NoError(t, h5value.Write(d, all, region([]int64{0, 0}, []int64{4, 6})))
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, all, got)

	part := make([]int64, 4)
	require.NoError(t, h5value.Read(d, part, region([]int64{1, 4}, []int64{2, 2})))
	require.Equal(t, []int64{0, 21, 156, 189}, part)

	info, err := d.Info()
	require.NoError(t, err)
	require.True(t, info.Datatype.Equal(h5.Int(4, h5.BigEndian)), "%v", info.Datatype)
	require.Equal(t, []int64{3, 4}, info.ChunkShape)
	require.Len(t, info.Filters, 3)
	require.Equal(t, "H5T_STD_I32BE", info.Datatype.String())
	require.Equal(t, "SIMPLE { ( 4, 6 ) / ( 4, 6 ) }", info.Space.String())
}

func TestDatasetInfo(t *testing.T) {
	f := newFile(t)
	level := 9
	for _, tt := range []struct {
		name   string
		dt     h5.Datatype
		space  h5.Dataspace
		o      *h5.DatasetOptions
		layout h5.LayoutKind
	}{
		{"plain", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(3, 4), nil, h5.Contiguous},
		{"compact", h5.IEEEFloat(4, h5.BigEndian), h5.SimpleSpace(3), &h5.DatasetOptions{Compact: true}, h5.Compact},
		{"scalar", h5value.Bool(), h5.ScalarSpace(), nil, h5.Contiguous},
		{"null", h5value.Bool(), h5.NullSpace(), nil, h5.Contiguous},
		{"empty", h5.Int(1, h5.LittleEndian), h5.SimpleSpace(0), nil, h5.Contiguous},
		{"growing", h5.Int(2, h5.BigEndian), h5.Dataspace{Kind: h5.Simple, Dims: []int64{2, 3}, MaxDims: []int64{h5.Unlimited, 9}},
			&h5.DatasetOptions{ChunkShape: []int64{10, 3}, Deflate: &level, Shuffle: true, Fletcher32: true, Fill: []byte{1, 2}}, h5.Chunked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := f.Root().CreateDataset(tt.name, tt.dt, tt.space, tt.o)
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			require.True(t, info.Datatype.Equal(tt.dt), "%v", info.Datatype)
			require.True(t, info.Space.Equal(tt.space), "%v", info.Space)
			require.Equal(t, tt.layout, info.Layout)
			if tt.layout == h5.Contiguous {
				require.Equal(t, uint64(h5.NoAddress), info.Address, "no chunk is stored yet")
			}
			if tt.layout != h5.Chunked {
				require.Empty(t, info.Filters)
				require.Nil(t, info.ChunkShape)
				require.Equal(t, h5.FillDefault, info.FillKind)
				return
			}
			require.Equal(t, tt.o.ChunkShape, info.ChunkShape)
			require.Equal(t, h5.FillValue, info.FillKind)
			require.Equal(t, tt.o.Fill, info.Fill)
			require.Equal(t, []h5.Filter{
				{ID: h5.FilterShuffle, Name: "shuffle", Optional: true, Values: []uint32{2}},
				{ID: h5.FilterDeflate, Name: "deflate", Optional: true, Values: []uint32{9}},
				{ID: h5.FilterFletcher32, Name: "fletcher32", Values: []uint32{}},
			}, info.Filters)
		})
	}
}

func TestDataset_FillResize(t *testing.T) {
	d := newDataset(t, h5.Int(2, h5.BigEndian), h5.Dataspace{Kind: h5.Simple, Dims: []int64{2}, MaxDims: []int64{h5.Unlimited}},
		&h5.DatasetOptions{ChunkShape: []int64{4}, Fill: []byte{1, 2}})
	require.NoError(t, h5value.Write(d, []int16{5}, region([]int64{1}, []int64{1})))
	require.NoError(t, d.Resize(5))
	got, err := h5value.ReadAll[int16](d)
	require.NoError(t, err)
	require.Equal(t, []int16{258, 5, 258, 258, 258}, got)
	require.NoError(t, d.Resize(1))
	require.NoError(t, d.Resize(2))
	got, err = h5value.ReadAll[int16](d)
	require.NoError(t, err)
	require.Equal(t, []int16{258, 258}, got, "removed elements are lost")
	err = d.Resize(1, 2)
	require.ErrorIs(t, err, h5.ErrSize)
	require.ErrorContains(t, err, "have 2, want 1")
	require.ErrorIs(t, d.Resize(), h5.ErrSize)
	require.ErrorIs(t, d.Resize(-1), h5.ErrParam)
	require.NoError(t, d.Flush())
	fixed := newDataset(t, h5.Int(2, h5.BigEndian), h5.SimpleSpace(2), nil)
	var e *h5.Error
	require.ErrorAs(t, fixed.Resize(3), &e, "the library says no")
}

func TestCreateDataset_invalidOptions(t *testing.T) {
	r := newFile(t).Root()
	i4, s34 := h5.Int(4, h5.LittleEndian), h5.SimpleSpace(3, 4)
	level, ten := 1, 10
	growing := h5.Dataspace{Kind: h5.Simple, Dims: []int64{2}, MaxDims: []int64{h5.Unlimited}}
	for _, tt := range []struct {
		name  string
		space h5.Dataspace
		o     h5.DatasetOptions
		want  error
	}{
		{"filter without chunks", s34, h5.DatasetOptions{Deflate: &level}, h5.ErrParam},
		{"level 10", s34, h5.DatasetOptions{ChunkShape: []int64{1, 1}, Deflate: &ten}, h5.ErrParam},
		{"chunks of another rank", s34, h5.DatasetOptions{ChunkShape: []int64{1}}, h5.ErrParam},
		{"chunk larger than a fixed shape", s34, h5.DatasetOptions{ChunkShape: []int64{3, 5}}, h5.ErrParam},
		{"empty chunk", s34, h5.DatasetOptions{ChunkShape: []int64{0, 1}}, h5.ErrParam},
		{"chunk of 4 GiB", growing, h5.DatasetOptions{ChunkShape: []int64{1 << 30}}, h5.ErrParam},
		{"chunk that overflows", growing, h5.DatasetOptions{ChunkShape: []int64{1 << 62}}, h5.ErrParam},
		{"growing without chunks", growing, h5.DatasetOptions{}, h5.ErrParam},
		{"compact and chunked", s34, h5.DatasetOptions{Compact: true, ChunkShape: []int64{1, 1}}, h5.ErrParam},
		{"chunked scalar", h5.ScalarSpace(), h5.DatasetOptions{ChunkShape: []int64{1}}, h5.ErrParam},
		{"fill of another size", s34, h5.DatasetOptions{Fill: []byte{1}}, h5.ErrSize},
		{"no space", h5.Dataspace{}, h5.DatasetOptions{}, h5.ErrParam},
		{"no dimensions", h5.SimpleSpace(), h5.DatasetOptions{}, h5.ErrParam},
		{"33 dimensions", h5.SimpleSpace(make([]int64, 33)...), h5.DatasetOptions{}, h5.ErrParam},
		{"negative", h5.SimpleSpace(-1), h5.DatasetOptions{}, h5.ErrParam},
		{"too many elements", h5.SimpleSpace(1<<40, 1<<40), h5.DatasetOptions{}, h5.ErrParam},
		{"smaller maximum", h5.Dataspace{Kind: h5.Simple, Dims: []int64{2}, MaxDims: []int64{1}}, h5.DatasetOptions{}, h5.ErrParam},
		{"maxima of another rank", h5.Dataspace{Kind: h5.Simple, Dims: []int64{2}, MaxDims: []int64{2, 2}}, h5.DatasetOptions{}, h5.ErrParam},
		{"scalar with dimensions", h5.Dataspace{Kind: h5.Scalar, Dims: []int64{1}}, h5.DatasetOptions{}, h5.ErrParam},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := r.CreateDataset("d", i4, tt.space, &tt.o)
			require.ErrorIs(t, err, tt.want)
		})
	}
	for l := range r.Links() {
		t.Fatalf("%q was made", l.Name)
	}
	// 64 KiB are too large for an object header, which libhdf5 detects.
	_, err := r.CreateDataset("d", i4, h5.SimpleSpace(1<<20), &h5.DatasetOptions{Compact: true})
	var e *h5.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Stack)
}

func TestEmptyDatasets(t *testing.T) {
	d := newDataset(t, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(3, 0), nil)
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Empty(t, got)
	require.NoError(t, h5value.Write(d, []int32{}, region([]int64{0, 0}, []int64{3, 0})))
	require.NoError(t, d.ReadRegion(nil, h5.Int(4, h5.LittleEndian), region([]int64{3, 0}, []int64{0, 0})))
}

// TestCompoundBytes checks compounds as bytes in the stored form, in the other byte order and in
// the native form.
func TestCompoundBytes(t *testing.T) {
	i4, f8 := h5.Int(4, h5.BigEndian), h5.IEEEFloat(8, h5.BigEndian)
	big := compound(16, member("i", 0, i4), member("f", 8, f8))
	d := newDataset(t, big, h5.SimpleSpace(1), nil)
	one := region([]int64{0}, []int64{1})
	require.NoError(t, d.WriteRegion([]byte{0, 0, 0, 7, 0, 0, 0, 0, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0}, big, one))
	got := make([]byte, 16)
	require.NoError(t, d.ReadRegion(got, big.Native(), one))
	require.Equal(t, append(natives(t, int32(7)), make([]byte, 4)...), got[:8])
	require.Equal(t, natives(t, 1.0), got[8:])
	require.ErrorIs(t, d.ReadRegion(got[:4], i4, one), h5.ErrType)
	require.ErrorIs(t, d.ReadRegion(got, compound(16, member("i", 0, i4), member("g", 8, f8)), one), h5.ErrType)
}

func TestCreateDataset_reproducible(t *testing.T) {
	dir := t.TempDir()
	var first []byte
	for i := range 2 {
		path := filepath.Join(dir, string(rune('a'+i)))
		writeDeterministic(t, path)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		if i == 0 {
			first = b
			time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		}
		require.Equal(t, first, b, "the second file was created a second later")
	}
}

func writeDeterministic(t *testing.T, path string) {
	t.Helper()
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("g/d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{3}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, make([]int32, 10), region([]int64{0}, []int64{10})))
	for _, a := range someAttributes(t) {
		require.NoError(t, d.WriteAttribute(a))
	}
	require.NoError(t, f.Close())
}

// TestAnonymousDataset checks that a dataset without a name exists while it is open, and that it is
// kept if it is linked.
func TestAnonymousDataset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	r := f.Root()
	var sets []*h5.Dataset
	for range 2 {
		d, err := r.CreateAnonymousDataset(h5.Int(4, h5.LittleEndian), h5.SimpleSpace(4), &h5.DatasetOptions{ChunkShape: []int64{2}})
		require.NoError(t, err)
		require.Empty(t, d.Path())
		require.NoError(t, h5value.Write(d, []int32{1, 2, 3, 4}, h5.All))
		sets = append(sets, d)
	}
	require.NoError(t, r.LinkObject("kept", sets[0]))
	_, err = r.CreateAnonymousDataset(h5.Datatype{}, h5.SimpleSpace(4), nil)
	require.ErrorIs(t, err, h5.ErrType)
	require.NoError(t, f.Close())

	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, []string{"kept"}, linkNames(t, f.Root(), h5.ByName))
	d, err := f.Root().OpenDataset("kept")
	require.NoError(t, err)
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3, 4}, got)
	_, err = f.Root().CreateAnonymousDataset(h5.Int(4, 0), h5.ScalarSpace(), nil)
	require.ErrorIs(t, err, h5.ErrReadOnly)
}

// TestDataset_ReadRegion_alternating reads datasets of different shapes in turn, one of them by two
// handles, also after changes. Each read must use the current dataspace of its own dataset.
func TestDataset_ReadRegion_alternating(t *testing.T) {
	root := newFile(t).Root()
	create := func(name string, n int64, o *h5.DatasetOptions) *h5.Dataset {
		d, err := root.CreateDataset(name, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(n), o)
		require.NoError(t, err)
		values := make([]int32, n)
		for i := range values {
			values[i] = int32(n) + int32(i)
		}
		require.NoError(t, h5value.Write(d, values, region([]int64{0}, []int64{n})))
		return d
	}
	read := func(d *h5.Dataset, start, n int64) ([]int32, error) {
		out := make([]int32, n)
		return out, h5value.Read(d, out, region([]int64{start}, []int64{n}))
	}
	short, long := create("short", 10, nil), create("long", 100, nil)
	chunked := create("chunked", 50, &h5.DatasetOptions{ChunkShape: []int64{7}}) // cannot grow, but can shrink
	again, err := root.OpenDataset("chunked")
	require.NoError(t, err)
	for range 3 {
		for _, d := range []*h5.Dataset{short, long, long, chunked, short, again} {
			got, err := read(d, 2, 3)
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			n := int32(info.Space.Dims[0])
			require.Equal(t, []int32{n + 2, n + 3, n + 4}, got)
		}
		_, err = read(short, 8, 3)
		require.ErrorIs(t, err, h5.ErrRegion)
		_, err = read(long, 98, 2)
		require.NoError(t, err)
	}
	_, err = read(chunked, 45, 5)
	require.NoError(t, err)
	require.NoError(t, again.Resize(47))
	_, err = read(chunked, 45, 5)
	require.ErrorIs(t, err, h5.ErrRegion)

	require.NoError(t, long.Close())
	_, err = read(long, 0, 1)
	require.ErrorIs(t, err, h5.ErrClosed)
	require.NoError(t, root.Unlink("long"))
	long = create("long", 20, nil)
	h5.WithLock(func() {})
	_, err = read(long, 19, 2)
	require.ErrorIs(t, err, h5.ErrRegion)
}
