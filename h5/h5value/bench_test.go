package h5value_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// BenchmarkNarrowing compares checked conversions with libhdf5's own.
func BenchmarkNarrowing(b *testing.B) {
	const n = 1 << 20
	d := newDataset(b, h5.IEEEFloat(8, h5.NativeOrder), h5.SimpleSpace(n), nil)
	r := region([]int64{0}, []int64{n})
	dst := make([]float32, n)
	require.NoError(b, h5value.Write(d, make([]float64, n), r))
	for name, read := range map[string]func(*h5.Dataset, []float32, h5.Selection) error{
		"checked": h5value.Read[float32], "lossy": h5value.ReadLossy[float32],
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

// BenchmarkReadTen reads ten elements to measure the cost of one call.
func BenchmarkReadTen(b *testing.B) {
	b.Run("numbers", func(b *testing.B) { readTen(b, make([]float64, 10)) })
	b.Run("strings", func(b *testing.B) { readTen(b, make([]string, 10)) })
	b.Run("structs", func(b *testing.B) { readTen(b, make([]point, 10)) })
}

func readTen[T any](b *testing.B, v []T) {
	d := written(b, newFile(b), "x", v)
	var s h5.Selection = region([]int64{0}, []int64{10})
	b.ReportAllocs()
	for b.Loop() {
		if err := h5value.Read(d, v, s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadAttr reads small attributes of several types.
func BenchmarkReadAttr(b *testing.B) {
	r := newFile(b).Root()
	require.NoError(b, h5value.WriteAttr(r, "number", []float64{1.5}, h5.ScalarSpace()))
	require.NoError(b, h5value.WriteAttr(r, "text", []string{"metres per second"}, h5.ScalarSpace()))
	require.NoError(b, h5value.WriteAttr(r, "struct", someStations()[:1], h5.ScalarSpace()))
	b.Run("number", func(b *testing.B) { readAttr[float64](b, r, "number") })
	b.Run("text", func(b *testing.B) { readAttr[string](b, r, "text") })
	b.Run("struct", func(b *testing.B) { readAttr[station](b, r, "struct") })
}

func readAttr[T any](b *testing.B, o h5.Object, name string) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h5value.ReadAttr[T](o, name); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStructs converts structs without access to a file.
func BenchmarkStructs(b *testing.B) {
	const n = 4096
	type block struct {
		At   [3]float64
		Data [64]uint8 `h5:"data"`
		Next [4]point
	}
	blocks, stations := make([]block, n), make([]station, n)
	for i := range stations {
		stations[i] = someStations()[0]
	}
	b.Run("numbers", func(b *testing.B) { structs(b, blocks) })
	b.Run("strings and sequences", func(b *testing.B) { structs(b, stations) })
}

func structs[T any](b *testing.B, v []T) {
	t, err := h5value.DatatypeFor[T]()
	require.NoError(b, err)
	stored, err := h5value.Encode(t, v)
	require.NoError(b, err)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h5value.Encode(t, v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h5value.Decode[T](stored); err != nil {
				b.Fatal(err)
			}
		}
	})
}
