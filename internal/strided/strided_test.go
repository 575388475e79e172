package strided_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/strided"
)

// TestCopyAgainstModel compares Copy with a model that copies one element at a time by its flat
// index.
func TestCopyAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 5).Draw(t, "rank")
		size := rapid.SampledFrom([]int{1, 2, 3, 8}).Draw(t, "size")
		draw := func(lo, hi int64, label string) int64 { return rapid.Int64Range(lo, hi).Draw(t, label) }
		shape := make([]int64, rank)
		src := strided.Box{Shape: make([]int64, rank), Start: make([]int64, rank)}
		dst := strided.Box{Shape: make([]int64, rank), Start: make([]int64, rank)}
		for i := range shape {
			shape[i] = draw(0, 4, "n")
			for _, b := range []*strided.Box{&src, &dst} {
				b.Start[i] = draw(0, 2, "start")
				b.Shape[i] = b.Start[i] + shape[i] + draw(0, 1, "rest")
			}
		}
		src.Data = make([]byte, product(src.Shape)*int64(size))
		for i := range src.Data {
			src.Data[i] = byte(i*7 + 1)
		}
		dst.Data = make([]byte, product(dst.Shape)*int64(size))
		want := make([]byte, len(dst.Data))
		for n := range product(shape) {
			from, to := src.Start, dst.Start
			at := unravel(n, shape)
			s, d := flat(at, from, src.Shape)*int64(size), flat(at, to, dst.Shape)*int64(size)
			copy(want[d:d+int64(size)], src.Data[s:])
		}
		strided.Copy(dst, src, shape, size)
		require.Equal(t, want, dst.Data, "shape %v, src %v+%v, dst %v+%v", shape, src.Shape, src.Start, dst.Shape, dst.Start)
	})
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, x := range shape {
		n *= x
	}
	return n
}

func unravel(n int64, shape []int64) []int64 {
	at := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		at[i] = n % shape[i]
		n /= shape[i]
	}
	return at
}

func flat(at, start, shape []int64) int64 {
	n := int64(0)
	for i := range shape {
		n = n*shape[i] + start[i] + at[i]
	}
	return n
}

func BenchmarkCopy(b *testing.B) {
	src := strided.Box{Data: make([]byte, 8<<20), Shape: []int64{1024, 1024}, Start: []int64{0, 0}}
	for _, c := range []struct {
		name  string
		shape []int64
	}{{"tile=64x64", []int64{64, 64}}, {"tile=512x512", []int64{512, 512}}} {
		b.Run(c.name, func(b *testing.B) {
			dst := strided.Box{Data: make([]byte, c.shape[0]*c.shape[1]*8), Shape: c.shape, Start: []int64{0, 0}}
			b.SetBytes(int64(len(dst.Data)))
			for b.Loop() {
				strided.Copy(dst, src, c.shape, 8)
			}
		})
	}
}
