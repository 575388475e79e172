package h5_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

func BenchmarkReadRegion(b *testing.B) {
	for _, order := range []h5.Order{h5.NativeOrder, 1 - h5.NativeOrder} {
		for _, n := range []int64{1, 1 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("order=%v/bytes=%d", order, 8*n), func(b *testing.B) {
				d := newDataset(b, h5.IEEEFloat(8, order), h5.SimpleSpace(n), nil)
				mem, r := h5.TypeOf[float64](), region([]int64{0}, []int64{n})
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
	mem, r := h5.TypeOf[float64](), region([]int64{0}, []int64{n})
	buf := make([]byte, 8*n)
	b.SetBytes(8 * n)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.WriteRegion(buf, mem, r); err != nil {
			b.Fatal(err)
		}
	}
}

// What a checked conversion costs beside the library's own.
func BenchmarkNarrowing(b *testing.B) {
	const n = 1 << 20
	d := newDataset(b, h5.IEEEFloat(8, h5.NativeOrder), h5.SimpleSpace(n), nil)
	r := region([]int64{0}, []int64{n})
	dst := make([]float32, n)
	require.NoError(b, h5.Write(d, make([]float64, n), r))
	for name, read := range map[string]func(*h5.Dataset, []float32, h5.Region) error{
		"checked": h5.Read[float32], "lossy": h5.ReadLossy[float32],
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(8 * n)
			for b.Loop() {
				if err := read(d, dst, r); err != nil {
					b.Fatal(err)
				}
			}
		})
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
