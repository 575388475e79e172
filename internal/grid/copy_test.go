package grid_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid"
)

// TestCopy compares Copy with a model that copies one element at a time by its index.
func TestCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 4).Draw(t, "rank")
		size := rapid.SampledFrom([]int{0, 1, 2, 3, 8}).Draw(t, "size")
		numbers := func(least, most int64, label string) []int64 {
			return rapid.SliceOfN(rapid.Int64Range(least, most), rank, rank).Draw(t, label)
		}
		part := grid.Box{Start: numbers(3, 6, "start"), Shape: numbers(0, 4, "shape")}
		around := func(label string) (r grid.Box, data []byte) {
			r = grid.Box{Start: numbers(0, 3, label+" start"), Shape: numbers(0, 1, label+" rest")}
			for i := range r.Shape {
				r.Shape[i] += part.Start[i] + part.Shape[i] - r.Start[i]
			}
			return r, make([]byte, elements(r)*int64(size))
		}
		from, src := around("from")
		to, dst := around("to")
		for i := range src {
			src[i] = byte(i*7 + 1)
		}
		flat := func(at [4]int64, r grid.Box) (n int) {
			for i := range r.Shape {
				n = n*int(r.Shape[i]) + int(at[i]-r.Start[i])
			}
			return n * size
		}
		want := make([]byte, len(dst))
		eachIndex(part, func(at [4]int64) { copy(want[flat(at, to):][:size], src[flat(at, from):]) })
		grid.Copy(dst, to, src, from, part, size)
		require.Equal(t, want, dst, "%v from %v to %v", part, from, to)
	})
}

func BenchmarkCopy(b *testing.B) {
	src, from := make([]byte, 8<<20), grid.Whole([]int64{1024, 1024})
	for name, n := range map[string]int64{"tile=64x64": 64, "tile=512x512": 512} {
		b.Run(name, func(b *testing.B) {
			to := grid.Whole([]int64{n, n})
			dst := make([]byte, n*n*8)
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				grid.Copy(dst, to, src, from, to, 8)
			}
		})
	}
}
