package ndarray_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// sample is a struct of numbers only, whose fields follow each other without gaps.
type sample struct {
	ID    int64      `nd:"id"`
	At    [3]float64 `nd:"at"`
	Flags [8]uint8   `nd:"flags"`
	Next  point      `nd:"next"`
}

type point struct{ X, Y float32 }

// labelled is a struct with a bool, a string and an array of structs.
type labelled struct {
	ID   int32    `nd:"id"`
	On   bool     `nd:"on"`
	Name string   `nd:"name,S16"`
	Path [4]point `nd:"path"`
}

// BenchmarkStructs reads and writes arrays of structs of fixed and of variable size.
func BenchmarkStructs(b *testing.B) {
	const n = 4096
	numbers, strs, tracks := make([]sample, n), make([]labelled, n), make([]track, n)
	for i := range n {
		numbers[i] = sample{ID: int64(i), At: [3]float64{1, 2, float64(i)}}
		strs[i] = labelled{ID: int32(i), On: i%3 == 0, Name: strings.Repeat("x", i%16)}
		tracks[i] = track{ID: int32(i), Name: "name", Hits: make([]hit, i%4), Labels: []string{"a", "b"}, Cells: [2][]int16{make([]int16, 16), nil}}
	}
	b.Run("numbers", func(b *testing.B) { structs(b, numbers) })
	b.Run("strings", func(b *testing.B) { structs(b, strs) })
	b.Run("variable", func(b *testing.B) { structs(b, tracks) })
	b.Run("ten", func(b *testing.B) { structs(b, strs[:10]) })
	b.Run("one number", func(b *testing.B) { structs(b, []float64{1}) })
	b.Run("sequences", func(b *testing.B) {
		v := make([][]float64, n)
		for i := range v {
			v[i] = make([]float64, 32)
		}
		structs(b, v)
	})
}

func structs[T any](b *testing.B, v []T) {
	d, err := ndarray.DTypeFor[T]()
	require.NoError(b, err)
	a := newMem(b, ndarray.Spec{Shape: []int64{int64(len(v))}, DType: d})
	whole := ndarray.Whole(a.Shape())
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := ndarray.Write(b.Context(), a, v, whole); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := ndarray.Read(b.Context(), a, v, whole); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkReadAs_structs converts the numbers in structs.
func BenchmarkReadAs_structs(b *testing.B) {
	type wide struct {
		ID   int64                     `nd:"id"`
		Path [4]struct{ X, Y float64 } `nd:"path"`
	}
	d, err := ndarray.DTypeFor[labelled]()
	require.NoError(b, err)
	a := newMem(b, ndarray.Spec{Shape: []int64{1024}, DType: d})
	dst := make([]wide, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if err := ndarray.ReadAs(b.Context(), a, dst, ndarray.Whole(a.Shape())); err != nil {
			b.Fatal(err)
		}
	}
}
