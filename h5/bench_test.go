package h5_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

func BenchmarkReadRegion(b *testing.B) {
	for _, order := range []h5.Order{h5.NativeOrder, 1 - h5.NativeOrder} {
		for _, n := range []int64{1, 1 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("order=%v/bytes=%d", order, 8*n), func(b *testing.B) {
				d := newDataset(b, h5.IEEEFloat(8, order), h5.SimpleSpace(n), nil)
				mem, r := h5.IEEEFloat(8, h5.NativeOrder), region([]int64{0}, []int64{n})
				buf := make([]byte, 8*n)
				require.NoError(b, d.WriteRegion(buf, mem, r))
				b.SetBytes(8 * n)
				b.ReportAllocs()
				for b.Loop() {
					if err := d.ReadRegion(buf, mem, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkWriteRegion(b *testing.B) {
	const n = 1 << 20
	d := newDataset(b, h5.IEEEFloat(8, h5.NativeOrder), h5.SimpleSpace(n), nil)
	mem, r := h5.IEEEFloat(8, h5.NativeOrder), region([]int64{0}, []int64{n})
	buf := make([]byte, 8*n)
	b.SetBytes(8 * n)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.WriteRegion(buf, mem, r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLinks(b *testing.B) {
	r := newFile(b).Root()
	for i := range 10_000 {
		require.NoError(b, r.LinkSoft(fmt.Sprint(i), "/x"))
	}
	for b.Loop() {
		for _, err := range r.Links() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkCallback measures the cost of Go callbacks in libhdf5: a filter that returns 8 KiB
// unchanged, and a driver that reads cached bytes.
func BenchmarkCallback(b *testing.B) {
	same := func(src []byte, _ []uint32) ([]byte, error) { return src, nil }
	require.NoError(b, h5.RegisterFilter(h5.GoFilter{ID: 40002, Name: "same", Encode: same, Decode: same}))
	b.Cleanup(func() { require.NoError(b, h5.UnregisterFilter(40002)) })
	f, err := h5.CreateImage(nil)
	require.NoError(b, err)
	b.Cleanup(func() { _ = f.Close() })
	r, buf := region([]int64{0}, []int64{1024}), make([]float64, 1024)
	for name, filters := range map[string][]h5.Filter{"none": nil, "filter": {{ID: 40002}}} {
		d, err := f.Root().CreateDataset(name, h5.IEEEFloat(8, h5.NativeOrder), h5.SimpleSpace(1024), &h5.DatasetOptions{
			ChunkShape: []int64{1024}, Filters: filters, Access: &h5.DatasetAccess{ChunkCache: &h5.ChunkCache{}},
		})
		require.NoError(b, err)
		require.NoError(b, h5value.Write(d, buf, r))
	}
	image, err := f.Image()
	require.NoError(b, err)
	reader, err := h5.OpenReaderAt(bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(b, err)
	b.Cleanup(func() { _ = reader.Close() })
	for name, from := range map[string]struct {
		f *h5.File
		d string
	}{"core": {f, "none"}, "core with filter": {f, "filter"}, "reader": {reader, "none"}, "reader with filter": {reader, "filter"}} {
		b.Run(name, func(b *testing.B) {
			d, err := from.f.Root().OpenDatasetWith(from.d, &h5.DatasetAccess{ChunkCache: &h5.ChunkCache{}})
			require.NoError(b, err)
			defer d.Close()
			b.SetBytes(8192)
			for b.Loop() {
				if err := h5value.Read(d, buf, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
