// Reads of elements that were never written.

package h5_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// dirty returns a destination whose bytes are those of no element.
func dirty(n int) []byte { return bytes.Repeat([]byte{0xAA}, n) }

// TestDataset_ReadRegion_unwritten checks that each read defines every byte of its destination,
// with each layout, fill value, fill time and time of allocation. The elements 3 and 4 are written,
// or none.
func TestDataset_ReadRegion_unwritten(t *testing.T) {
	f := newFile(t)
	i4, value := h5.Int(4, h5.LittleEndian), []byte{7, 0, 0, 0}
	did := 0
	for _, fill := range []h5.DatasetOptions{{}, {NoFill: true}, {Fill: value}} {
		for _, when := range []h5.FillTime{h5.FillIfSet, h5.FillOnAlloc, h5.FillNever} {
			for _, alloc := range []h5.AllocTime{h5.AllocDefault, h5.AllocEarly, h5.AllocLate} {
				for n, layout := range []h5.DatasetOptions{{}, {Compact: true}, {ChunkShape: []int64{5}}, {ChunkShape: []int64{5}, Filters: []h5.Filter{h5.Deflate(1)}}} {
					if fill.NoFill && when == h5.FillOnAlloc || layout.Compact && alloc == h5.AllocLate {
						continue // not allowed by libhdf5
					}
					o := layout
					o.NoFill, o.Fill, o.FillTime, o.Alloc = fill.NoFill, fill.Fill, when, alloc
					if when == h5.FillNever && alloc != h5.AllocDefault && o.Filters != nil {
						continue // libhdf5 stores all chunks
					}
					d, err := f.Root().CreateDataset(fmt.Sprint(did), i4, h5.SimpleSpace(20), &o)
					require.NoError(t, err)
					did++
					one := make([]byte, 4)
					if fill.Fill != nil && when != h5.FillNever {
						one = value
					}
					want := bytes.Repeat(one, 20)
					what := fmt.Sprintf("layout %d, %+v, %v", n, o, alloc)
					if fill.NoFill && when == h5.FillIfSet && !layout.Compact && alloc != h5.AllocEarly {
						require.ErrorContains(t, d.ReadRegion(dirty(80), i4, h5.SimpleSpace(20).All()), "no data can be read", what)
					} else {
						requireReads(t, d, want, true, what)
					}
					require.NoError(t, d.WriteRegion([]byte{1, 2, 3, 4, 5, 6, 7, 8}, i4, region([]int64{3}, []int64{2})))
					copy(want[12:], []byte{1, 2, 3, 4, 5, 6, 7, 8})
					requireReads(t, d, want, true, what)
					again, err := f.Root().OpenDataset(fmt.Sprint(did - 1))
					require.NoError(t, err)
					requireReads(t, again, want, true, what)
				}
			}
		}
	}
}

// requireReads reads a dataset of int32 in each way. points is whether libhdf5 can read single
// points of it.
func requireReads(t *testing.T, d *h5.Dataset, want []byte, points bool, what string) {
	t.Helper()
	i4, i8, f8 := h5.Int(4, h5.LittleEndian), h5.Int(8, h5.LittleEndian), h5.IEEEFloat(8, h5.LittleEndian)
	n := len(want) / 4
	all := h5.SimpleSpace(int64(n)).All()
	for range 2 {
		got := dirty(len(want))
		require.NoError(t, d.ReadRegion(got, i4, all), what)
		require.Equal(t, want, got, what)
	}
	wide, reference := dirty(2*len(want)), make([]byte, 2*len(want))
	require.NoError(t, d.ReadRegion(wide, i8, all), what)
	for i := range n {
		copy(reference[8*i:], want[4*i:][:4])
	}
	require.Equal(t, reference, wide, what)
	lossy := dirty(2 * len(want))
	require.NoError(t, d.ReadRegionLossy(lossy, f8, all), what)
	require.NoError(t, d.ReadRegion(reference, f8, all), what)
	require.Equal(t, reference, lossy, what)
	v, err := d.ReadValues(i4, all, n)
	require.NoError(t, err, what)
	require.Equal(t, want, v.Block[:len(want)], what)
	if !points {
		return
	}
	three := h5.Points{{2}, {3}, {int64(n) - 1}}
	got := dirty(12)
	require.NoError(t, d.ReadSelection(got, i4, three), what)
	require.Equal(t, append(append(bytes.Clone(want[8:12]), want[12:16]...), want[len(want)-4:]...), got, what)
	window, expected := dirty(40), dirty(40)
	require.NoError(t, d.ReadWindow(window, i4, h5.Window{Shape: []int64{10}, Selection: h5.Points{{0}, {2}, {9}}}, three), what)
	copy(expected, got[:4])
	copy(expected[8:], got[4:8])
	copy(expected[36:], got[8:])
	require.Equal(t, expected, window, "%s: the other elements are unchanged", what)
}

// TestDataset_ReadRegion_virtual checks the parts of a virtual dataset without a source, and those
// whose source was never written.
func TestDataset_ReadRegion_virtual(t *testing.T) {
	i4, value := h5.Int(4, h5.LittleEndian), []byte{7, 0, 0, 0}
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	source, err := f.Root().CreateDataset("source", i4, h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{5}, Fill: value, FillTime: h5.FillNever})
	require.NoError(t, err)
	require.NoError(t, source.WriteRegion([]byte{1, 2, 3, 4}, i4, region([]int64{9}, []int64{1})))
	for n, o := range []h5.DatasetOptions{{}, {NoFill: true}, {Fill: value}, {Fill: value, FillTime: h5.FillNever}} {
		o.Mappings = []h5.Mapping{
			{Region: region([]int64{0}, []int64{10}), File: ".", Dataset: "source", Source: h5.SimpleSpace(10), SourceRegion: region([]int64{0}, []int64{10})},
			{Region: region([]int64{10}, []int64{5}), File: "missing.h5", Dataset: "d", Source: h5.SimpleSpace(5), SourceRegion: region([]int64{0}, []int64{5})},
		}
		d, err := f.Root().CreateDataset(fmt.Sprint(n), i4, h5.SimpleSpace(20), &o)
		require.NoError(t, err)
		want := make([]byte, 80)
		copy(want[36:], []byte{1, 2, 3, 4})
		if o.Fill != nil {
			copy(want[40:], bytes.Repeat(value, 10))
		}
		requireReads(t, d, want, false, fmt.Sprintf("%+v", o))
	}
}

// TestDataset_ReadRegion_padding checks that the padding of a compound is defined too: as stored in
// the form of the file, and in its native form.
func TestDataset_ReadRegion_padding(t *testing.T) {
	i4, f8 := h5.Int(4, h5.BigEndian), h5.IEEEFloat(8, h5.BigEndian)
	stored := compound(16, member("i", 0, i4), member("f", 8, f8))
	d := newDataset(t, stored, h5.SimpleSpace(3), &h5.DatasetOptions{ChunkShape: []int64{1}, FillTime: h5.FillNever})
	require.NoError(t, d.WriteRegion(bytes.Repeat([]byte{5}, 16), stored, region([]int64{1}, []int64{1})))
	for _, mem := range []h5.Datatype{stored, stored.Native()} {
		clean, got := make([]byte, 48), dirty(48)
		require.NoError(t, d.ReadRegion(clean, mem, h5.SimpleSpace(3).All()))
		require.NoError(t, d.ReadRegion(got, mem, h5.SimpleSpace(3).All()))
		require.Equal(t, clean, got, "%v", mem)
	}
	// All elements are stored, so that libhdf5 only converts.
	full := newDataset(t, stored, h5.SimpleSpace(3), nil)
	require.NoError(t, full.WriteRegion(bytes.Repeat([]byte{5}, 48), stored, h5.SimpleSpace(3).All()))
	for _, mem := range []h5.Datatype{stored, stored.Native()} {
		clean, got := make([]byte, 48), dirty(48)
		require.NoError(t, full.ReadRegion(clean, mem, h5.SimpleSpace(3).All()))
		require.NoError(t, full.ReadRegion(got, mem, h5.SimpleSpace(3).All()))
		require.Equal(t, clean, got, "%v", mem)
	}
}
