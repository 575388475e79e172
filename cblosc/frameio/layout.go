// Copying boxes of elements between two row-major memories: the axes are merged
// until what is left is a few loops around copies of runs.

package frameio

import (
	"encoding/binary"

	"github.com/hyperslab/hyperslab/format/b2nd"
)

// axis is one loop: so many steps, so many bytes apart on both sides.
type axis struct{ n, dst, src int }

// boxes is how a box of elements lies in two memories.
type boxes struct {
	run  int                // bytes in one piece in both
	n    int                // loops around it
	axes [b2nd.MaxDims]axis // the innermost first
}

// layout returns how a box of n elements along each axis, of item bytes each, lies
// in two memories with these strides in bytes.
func layout(rank int, n, dst, src *vec, item int) boxes {
	b := boxes{run: item}
	for d := rank - 1; d >= 0; d-- {
		if n[d] == 1 {
			continue
		}
		a := axis{int(n[d]), int(dst[d]), int(src[d])}
		if b.n == 0 {
			if a.dst == b.run && a.src == b.run {
				b.run *= a.n
				continue
			}
		} else if in := &b.axes[b.n-1]; a.dst == in.dst*in.n && a.src == in.src*in.n {
			in.n *= a.n
			continue
		}
		b.axes[b.n] = a
		b.n++
	}
	return b
}

// each calls f with the places of the innermost loop's first runs.
func (b *boxes) each(f func(dst, src int, inner axis)) {
	inner := axis{n: 1}
	if b.n > 0 {
		inner = b.axes[0]
	}
	var at [b2nd.MaxDims]int
	dst, src := 0, 0
	for {
		f(dst, src, inner)
		d := 1
		for ; d < b.n; d++ {
			a := &b.axes[d]
			dst += a.dst
			src += a.src
			if at[d]++; at[d] < a.n {
				break
			}
			dst -= a.dst * a.n
			src -= a.src * a.n
			at[d] = 0
		}
		if d >= b.n {
			return
		}
	}
}

// copy copies the box from the beginning of src to the beginning of dst.
func (b *boxes) copy(dst, src []byte) {
	run := b.run
	b.each(func(to, from int, a axis) {
		// Single elements are moved as numbers: a call of memmove for each costs more
		// than the bytes.
		switch run {
		case 1:
			for range a.n {
				dst[to] = src[from]
				to, from = to+a.dst, from+a.src
			}
		case 2:
			for range a.n {
				binary.NativeEndian.PutUint16(dst[to:], binary.NativeEndian.Uint16(src[from:]))
				to, from = to+a.dst, from+a.src
			}
		case 4:
			for range a.n {
				binary.NativeEndian.PutUint32(dst[to:], binary.NativeEndian.Uint32(src[from:]))
				to, from = to+a.dst, from+a.src
			}
		case 8:
			for range a.n {
				binary.NativeEndian.PutUint64(dst[to:], binary.NativeEndian.Uint64(src[from:]))
				to, from = to+a.dst, from+a.src
			}
		default:
			for range a.n {
				copy(dst[to:to+run], src[from:from+run])
				to, from = to+a.dst, from+a.src
			}
		}
	})
}

// fill writes value to every element of the box at the beginning of dst; nil
// stands for zeros.
func (b *boxes) fill(dst, value []byte) {
	b.each(func(to, _ int, a axis) {
		for range a.n {
			repeat(dst[to:to+b.run], value, 0)
			to += a.dst
		}
	})
}
