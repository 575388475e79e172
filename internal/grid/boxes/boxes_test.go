package boxes_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/grid/boxes"
)

// next advances an index to the next element of a shape. It returns false after the last element.
func next(at, shape []int64) bool {
	for d := len(at) - 1; d >= 0; d-- {
		if at[d]++; at[d] < shape[d] {
			return true
		}
		at[d] = 0
	}
	return false
}

func offset(at, start, strides []int64) (o int64) {
	for d := range at {
		o += (start[d] + at[d]) * strides[d]
	}
	return o
}

func product(v []int64) int64 {
	n := int64(1)
	for _, x := range v {
		n *= x
	}
	return n
}

// TestCopyAndFill compares copies of a box between two arrays with copies of single elements.
func TestCopyAndFill(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rank := rapid.IntRange(0, 5).Draw(r, "rank")
		item := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 16}).Draw(r, "item")
		n, from, to := make([]int64, rank), make([]int64, rank), make([]int64, rank)
		srcShape, dstShape := make([]int64, rank), make([]int64, rank)
		for d := range n {
			n[d] = rapid.Int64Range(1, 4).Draw(r, "n")
			from[d] = rapid.Int64Range(0, 2).Draw(r, "from")
			to[d] = rapid.Int64Range(0, 2).Draw(r, "to")
			srcShape[d] = from[d] + n[d] + rapid.Int64Range(0, 2).Draw(r, "behind")
			dstShape[d] = to[d] + n[d] + rapid.Int64Range(0, 2).Draw(r, "behind")
		}
		src := make([]byte, product(srcShape)*int64(item))
		for i := range src {
			src[i] = byte(i*7 + i>>8)
		}
		dst := make([]byte, product(dstShape)*int64(item))
		want := make([]byte, len(dst))
		filled := make([]byte, len(dst))
		value := src[:item]
		ss, ds := boxes.Strides(srcShape, item), boxes.Strides(dstShape, item)
		zero := make([]int64, rank)
		for at := make([]int64, rank); ; {
			s, d := offset(at, from, ss), offset(at, to, ds)
			copy(want[d:d+int64(item)], src[s:])
			copy(filled[d:d+int64(item)], value)
			if !next(at, n) {
				break
			}
		}
		b := boxes.New(n, ds, ss, item)
		b.Copy(dst[offset(zero, to, ds):], src[offset(zero, from, ss):])
		require.Equal(t, want, dst)
		clear(dst)
		b.Fill(dst[offset(zero, to, ds):], value)
		require.Equal(t, filled, dst)
		b.Fill(dst[offset(zero, to, ds):], nil)
		require.Equal(t, make([]byte, len(dst)), dst)
	})
}

// TestRepeat compares repeated values with a byte-by-byte copy. An empty value must produce zeros
// and must not cause an endless loop.
func TestRepeat(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(r, "value")
		phase := rapid.IntRange(0, 20).Draw(r, "phase")
		want := make([]byte, rapid.IntRange(0, 100).Draw(r, "bytes"))
		for i := range want {
			if len(value) > 0 {
				want[i] = value[(phase+i)%len(value)]
			}
		}
		got := bytes.Repeat([]byte{0xA5}, len(want))
		boxes.RepeatFrom(got, value, phase)
		require.Equal(t, want, got)
		if len(value) == 0 || phase%len(value) == 0 {
			boxes.Repeat(got, value)
			require.Equal(t, want, got)
		}
	})
}
