package h5_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestFilters_BuiltIn checks that libhdf5's own filters, alone and in pipelines, are described as
// they were set.
func TestFilters_BuiltIn(t *testing.T) {
	ints := make([]int32, 1000)
	for i := range ints {
		ints[i] = int32(1000 + i%50)
	}
	for _, tt := range []struct {
		name    string
		filters []h5.Filter
		ids     []int
	}{
		{"deflate", []h5.Filter{h5.Deflate(9)}, []int{1}},
		{"checksum first", []h5.Filter{h5.Fletcher32(), h5.Shuffle(), h5.Deflate(1)}, []int{3, 2, 1}},
		{"szip nearest", []h5.Filter{h5.Szip(h5.SzipNearest, 16)}, []int{4}},
		{"szip entropy", []h5.Filter{h5.Szip(h5.SzipEntropy, 8), h5.Fletcher32()}, []int{4, 3}},
		{"nbit", []h5.Filter{h5.Nbit()}, []int{5}},
		{"scaleoffset", []h5.Filter{h5.ScaleOffsetInt(0), h5.Deflate(6)}, []int{6, 1}},
		{"scaleoffset 6 bits", []h5.Filter{h5.ScaleOffsetInt(6)}, []int{6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, id := range tt.ids {
				if a, err := h5.FilterAvailable(id); err != nil || !a.Encode {
					testenv.Missing(t, "the linked library has no filter %d", id)
				}
			}
			d := newDataset(t, h5.Int(4, h5.LittleEndian), h5.SimpleSpace(1000), &h5.DatasetOptions{ChunkShape: []int64{250}, Filters: tt.filters})
			require.NoError(t, h5value.Write(d, ints, region([]int64{0}, []int64{1000})))
			require.NoError(t, d.Flush())
			info, err := d.Info()
			require.NoError(t, err)
			var ids []int
			for i, f := range info.Filters {
				ids = append(ids, f.ID)
				require.Equal(t, tt.filters[i].Optional, f.Optional)
				require.GreaterOrEqual(t, len(f.Values), len(tt.filters[i].Values))
			}
			require.Equal(t, tt.ids, ids)
			got, err := h5value.ReadAll[int32](d)
			require.NoError(t, err)
			require.Equal(t, ints, got)
			if tt.ids[0] != 3 && tt.ids[0] != 5 {
				stored, _, err := d.Stored()
				require.NoError(t, err)
				require.Less(t, stored, int64(4000), "it is smaller")
			}
		})
	}
	d := newDataset(t, h5.IEEEFloat(8, h5.BigEndian), h5.SimpleSpace(4), &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: []h5.Filter{h5.ScaleOffsetFloat(2)}})
	require.NoError(t, h5value.Write(d, []float64{1.234, 5.678, -1, 0}, region([]int64{0}, []int64{4})))
	require.NoError(t, d.Flush())
	got, err := h5value.ReadAll[float64](d)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{1.23, 5.68, -1, 0}, got, 0.006)

	// Nbit must not store the unused bits.
	i12 := h5.Int(4, h5.BigEndian)
	i12.Precision, i12.Offset = 12, 5
	d = newDataset(t, i12, h5.SimpleSpace(1000), &h5.DatasetOptions{ChunkShape: []int64{250}, Filters: []h5.Filter{h5.Nbit()}})
	require.NoError(t, h5value.Write(d, ints, h5.All))
	require.NoError(t, d.Flush())
	whole, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, ints, whole)
	stored, _, err := d.Stored()
	require.NoError(t, err)
	require.Less(t, stored, int64(1000*12/8+4*16), "12 bits each")

	for name, f := range map[string]h5.Filter{
		"level": h5.Deflate(10), "pixels": h5.Szip(h5.SzipNearest, 33), "odd pixels": h5.Szip(h5.SzipNearest, 7),
		"coding": h5.Szip(0, 8), "both codings": h5.Szip(h5.SzipEntropy|h5.SzipNearest, 8), "zero": {}, "no values": {ID: h5.FilterSzip},
		"scale": {ID: h5.FilterScaleOffset, Values: []uint32{1, 2}}, "too high": {ID: 1 << 16}, "level missing": {ID: h5.FilterDeflate},
	} {
		_, err := newFile(t).Root().CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10), &h5.DatasetOptions{
			ChunkShape: []int64{10}, Filters: []h5.Filter{f},
		})
		require.ErrorIs(t, err, h5.ErrParam, name)
	}
}

const testFilter = 40001

func register(t *testing.T, f h5.GoFilter) {
	t.Helper()
	require.NoError(t, h5.RegisterFilter(f))
	t.Cleanup(func() { require.NoError(t, h5.UnregisterFilter(f.ID)) })
}

// xorFilter returns a filter that combines all bytes with its parameter by XOR. An encoded chunk is
// one byte longer, because the filter stores the parameter.
func xorFilter() h5.GoFilter {
	return h5.GoFilter{
		ID: testFilter, Name: "xor",
		Encode: func(src []byte, values []uint32) ([]byte, error) {
			out := []byte{byte(values[0])}
			for _, b := range src {
				out = append(out, b^byte(values[0]))
			}
			return out, nil
		},
		Decode: func(src []byte, values []uint32) ([]byte, error) {
			if src[0] != byte(values[0]) {
				return nil, fmt.Errorf("mixed with %d", src[0])
			}
			for i := range src[1:] {
				src[1+i] ^= src[0]
			}
			return src[1:], nil
		},
	}
}

func TestGoFilter(t *testing.T) {
	var prepared string
	f := xorFilter()
	f.Prepare = func(dt h5.Datatype, chunk []int64, values []uint32) ([]uint32, error) {
		prepared = fmt.Sprint(dt, chunk, values)
		return append(values, uint32(dt.Size)), nil
	}
	register(t, f)
	path := filepath.Join(t.TempDir(), "x.h5")
	file, err := h5.Create(path, nil)
	require.NoError(t, err)
	d, err := file.Root().CreateDataset("d", h5.Int(2, h5.BigEndian), h5.SimpleSpace(5, 3), &h5.DatasetOptions{
		ChunkShape: []int64{2, 3}, Shuffle: true, Filters: []h5.Filter{{ID: testFilter, Values: []uint32{7}}, h5.Deflate(3)}, Fletcher32: true,
	})
	require.NoError(t, err)
	require.Equal(t, "H5T_STD_I16BE [2 3] [7]", prepared)
	want := []int16{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	require.NoError(t, h5value.Write(d, want, region([]int64{0, 0}, []int64{5, 3})))
	info, err := d.Info()
	require.NoError(t, err)
	require.Equal(t, h5.Filter{ID: testFilter, Name: "xor", Values: []uint32{7, 2}}, info.Filters[1])
	err = h5.UnregisterFilter(testFilter)
	var e *h5.Error
	require.ErrorAs(t, err, &e, "a dataset that needs it is open")
	require.NoError(t, file.Close())

	file, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer file.Close()
	d, err = file.Root().OpenDataset("d")
	require.NoError(t, err)
	got, err := h5value.ReadAll[int16](d)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, d.Close())
	a, err := h5.FilterAvailable(testFilter)
	require.NoError(t, err)
	require.Equal(t, h5.FilterAvailability{Decode: true, Encode: true}, a)
}

func TestGoFilterFails(t *testing.T) {
	boom := errors.New("boom")
	var encode, decode func([]byte) ([]byte, error)
	var prepare error
	register(t, h5.GoFilter{
		ID: testFilter, Name: "moody",
		Encode:  func(src []byte, _ []uint32) ([]byte, error) { return encode(src) },
		Decode:  func(src []byte, _ []uint32) ([]byte, error) { return decode(src) },
		Prepare: func(_ h5.Datatype, _ []int64, v []uint32) ([]uint32, error) { return v, prepare },
	})
	same := func(src []byte) ([]byte, error) { return src, nil }
	i4, ten := h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10)
	o := &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{{ID: testFilter}}}
	all := region([]int64{0}, []int64{10})

	prepare = boom
	_, err := newFile(t).Root().CreateDataset("d", i4, ten, o)
	require.ErrorIs(t, err, boom)
	prepare = nil

	// A chunk larger than the cache is filtered immediately.
	small := h5.DefaultFileAccess()
	small.ChunkCache.Bytes = 0
	for _, tt := range []struct {
		name string
		fail func([]byte) ([]byte, error)
		want error
		text string
	}{
		{"error", func([]byte) ([]byte, error) { return nil, boom }, boom, "filter 40001 (moody): boom"},
		{"panic", func([]byte) ([]byte, error) { panic("ouch") }, nil, "panic in a filter or driver: ouch"},
		{"nothing", func([]byte) ([]byte, error) { return nil, nil }, h5.ErrSize, "returned no output for 40 bytes"},
		{"reentrant", func([]byte) ([]byte, error) { _, err := h5.OpenIDs(); return nil, err }, h5.ErrReentrant, "count ids"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			encode, decode = same, same
			co := h5.CreateOptions{}
			co.Access = &small
			f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &co)
			require.NoError(t, err)
			d, err := f.Root().CreateDataset("d", i4, ten, o)
			require.NoError(t, err)
			require.NoError(t, h5value.Write(d, make([]int32, 10), all))
			decode = tt.fail
			_, err = h5value.ReadAll[int32](d)
			require.ErrorContains(t, err, tt.text)
			if tt.want != nil {
				require.ErrorIs(t, err, tt.want)
			}
			encode, decode = tt.fail, same
			err = h5value.Write(d, make([]int32, 10), all)
			require.ErrorContains(t, err, tt.text)
			encode = same
			require.NoError(t, h5value.Write(d, make([]int32, 10), all), "the next one is right again")
			require.NoError(t, f.Close())
		})
	}

	// An optional filter that fails must be skipped without an error.
	encode, decode = func([]byte) ([]byte, error) { return nil, boom }, func([]byte) ([]byte, error) { return nil, boom }
	d := newDataset(t, i4, ten, &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{{ID: testFilter, Optional: true}}})
	require.NoError(t, h5value.Write(d, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, all))
	require.NoError(t, d.Flush())
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, got)
	require.NoError(t, d.File().Close())
}

// TestRegisterFilter_failureAtClose checks a filter that fails while the file is closed. Close must
// return the error and close all ids.
func TestRegisterFilter_failureAtClose(t *testing.T) {
	before := openIDs(t)
	boom := errors.New("boom")
	fail := func([]byte, []uint32) ([]byte, error) { return nil, boom }
	register(t, h5.GoFilter{ID: testFilter, Name: "never", Encode: fail, Decode: fail})
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{{ID: testFilter}}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, make([]int32, 10), region([]int64{0}, []int64{10})), "into the cache")
	require.ErrorIs(t, d.Flush(), boom)
	require.ErrorIs(t, f.Close(), boom)
	require.Equal(t, before, openIDs(t))
}

func TestFilters_invalid(t *testing.T) {
	id := func(src []byte, _ []uint32) ([]byte, error) { return src, nil }
	for name, f := range map[string]h5.GoFilter{
		"number of the library": {ID: 200, Name: "x", Decode: id}, "too high": {ID: 1 << 16, Name: "x", Decode: id},
		"no name": {ID: testFilter, Decode: id}, "zero byte": {ID: testFilter, Name: "a\x00", Decode: id},
		"nothing to do": {ID: testFilter, Name: "x"},
	} {
		require.ErrorIs(t, h5.RegisterFilter(f), h5.ErrParam, name)
	}
	require.ErrorIs(t, h5.UnregisterFilter(testFilter), h5.ErrNotFound)
	require.ErrorIs(t, h5.UnregisterFilter(h5.FilterDeflate), h5.ErrNotFound)
	register(t, h5.GoFilter{ID: testFilter, Name: "x", Decode: id})
	require.ErrorIs(t, h5.RegisterFilter(h5.GoFilter{ID: testFilter, Name: "x", Decode: id}), h5.ErrExists)
	a, err := h5.FilterAvailable(testFilter)
	require.NoError(t, err)
	require.Equal(t, h5.FilterAvailability{Decode: true}, a)
	_, err = newFile(t).Root().CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10), &h5.DatasetOptions{
		ChunkShape: []int64{10}, Filters: []h5.Filter{{ID: testFilter}},
	})
	require.Error(t, err, "it only reads")

	var more int
	for ; ; more++ {
		err := h5.RegisterFilter(h5.GoFilter{ID: testFilter + 1 + more, Name: "x", Decode: id})
		if err != nil {
			require.ErrorIs(t, err, h5.ErrSize)
			break
		}
		require.Less(t, more, 100)
	}
	require.Equal(t, 31, more)
	for i := range more {
		require.NoError(t, h5.UnregisterFilter(testFilter+1+i))
	}
}

// TestRegisterFilter_goroutines checks concurrent use of many datasets with one Go filter.
func TestRegisterFilter_goroutines(t *testing.T) {
	register(t, xorFilter())
	errs := make(chan error)
	for worker := range 8 {
		go func() {
			errs <- func() error {
				f, err := h5.CreateImage(nil)
				if err != nil {
					return err
				}
				defer f.Close()
				for i := range 10 {
					d, err := f.Root().CreateDataset(fmt.Sprint(i), h5.Int(8, h5.LittleEndian), h5.SimpleSpace(64), &h5.DatasetOptions{
						ChunkShape: []int64{16}, Filters: []h5.Filter{{ID: testFilter, Values: []uint32{uint32(worker)}}},
					})
					if err != nil {
						return err
					}
					want := bytes.Repeat([]byte{byte(worker), byte(i)}, 256)
					mem, all := h5.Int(8, h5.LittleEndian), region([]int64{0}, []int64{64})
					if err := d.WriteRegion(want, mem, all); err != nil {
						return err
					}
					got := make([]byte, 512)
					if err := d.ReadRegion(got, mem, all); err != nil {
						return err
					}
					if !bytes.Equal(want, got) {
						return errors.New("other bytes")
					}
				}
				return nil
			}()
		}()
	}
	for range 8 {
		require.NoError(t, <-errs)
	}
}

// TestPlugins checks that a plug-in is loaded from an allowed directory only.
func TestPlugins(t *testing.T) {
	cc := testenv.Compiler(t)
	const id = 40777
	include := testenv.Libraries(t)
	directory, empty := t.TempDir(), t.TempDir()
	source := filepath.Join(empty, "plugin.c")
	require.NoError(t, os.WriteFile(source, []byte(`
#include <H5PLextern.h>
static size_t same(unsigned flags, size_t n, const unsigned *v, size_t len, size_t *cap, void **buf)
{
    unsigned char *p = *buf;
    for (size_t i = 0; i < len; i++)
        p[i] ^= 0x5a;
    return len;
}
static const H5Z_class2_t class = {H5Z_CLASS_T_VERS, 40777, 1, 1, "plugged", NULL, NULL, same};
H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &class; }
`), 0o644))
	out, err := exec.Command(cc, "-shared", "-fPIC", "-I"+include, "-o", filepath.Join(directory, "libplugged.so"), source).CombinedOutput()
	require.NoError(t, err, "%s", out)

	directories, err := h5.PluginDirs()
	require.NoError(t, err)
	require.Empty(t, directories)
	create := func() error {
		f, err := h5.CreateImage(nil)
		if err != nil {
			return err
		}
		defer f.Close()
		d, err := f.Root().CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10), &h5.DatasetOptions{
			ChunkShape: []int64{10}, Filters: []h5.Filter{{ID: id}},
		})
		if err != nil {
			return err
		}
		if err := h5value.Write(d, make([]int32, 10), region([]int64{0}, []int64{10})); err != nil {
			return err
		}
		_, err = h5value.ReadAll[int32](d)
		return err
	}
	require.ErrorIs(t, create(), h5.ErrNoFilter)
	require.NoError(t, h5.AllowPlugins(empty))
	require.ErrorIs(t, create(), h5.ErrNoFilter)
	require.NoError(t, h5.AllowPlugins(empty, directory))
	directories, err = h5.PluginDirs()
	require.NoError(t, err)
	require.Equal(t, []string{empty, directory}, directories)
	require.NoError(t, create())
	require.NoError(t, h5.AllowPlugins())
	directories, err = h5.PluginDirs()
	require.NoError(t, err)
	require.Empty(t, directories)
	require.Error(t, h5.AllowPlugins(source), "a file")
	require.Error(t, h5.AllowPlugins(filepath.Join(empty, "none")))
}
