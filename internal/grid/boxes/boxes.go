// Copying of boxes: dimensions are merged until a few loops around contiguous runs are left.

package boxes

import "encoding/binary"

// MaxRank is the maximum number of dimensions of a box.
const MaxRank = 32

// axis is one loop: n steps of dst and src bytes.
type axis struct{ n, dst, src int }

// Box describes a box of elements in two memories as a few loops around runs that are contiguous in
// both.
type Box struct {
	run  int // bytes of a run
	n    int // number of loops
	axes [MaxRank]axis
}

// New describes a box of n[d] elements of item bytes along each dimension d. Neighbours along d are
// dst[d] and src[d] bytes apart in the two memories. All three slices have the length of the rank,
// which must be at most MaxRank, and no n[d] may be 0.
func New(n, dst, src []int64, item int) Box {
	b := Box{run: item}
	for d := len(n) - 1; d >= 0; d-- {
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

// Strides returns the bytes between neighbours along each dimension of a dense memory of that
// shape.
func Strides(shape []int64, item int) []int64 {
	s := make([]int64, len(shape))
	step := int64(item)
	for d := len(shape) - 1; d >= 0; d-- {
		s[d] = step
		step *= shape[d]
	}
	return s
}

// each calls f with the offsets of the first run of every innermost loop.
func (b *Box) each(f func(dst, src int, inner axis)) {
	inner := axis{n: 1}
	if b.n > 0 {
		inner = b.axes[0]
	}
	var at [MaxRank]int
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

// Copy copies the box from the beginning of src to the beginning of dst.
func (b *Box) Copy(dst, src []byte) {
	run := b.run
	b.each(func(to, from int, a axis) {
		// Single elements are moved as integers, because a call of memmove for each costs more than
		// the copy itself.
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

// Fill writes value to every element of the box at the beginning of dst. value holds one element;
// an empty value means zeros.
func (b *Box) Fill(dst, value []byte) {
	b.each(func(to, _ int, a axis) {
		for range a.n {
			Repeat(dst[to:to+b.run], value)
			to += a.dst
		}
	})
}

// Repeat fills dst, whole elements, with value. An empty value means zeros.
func Repeat(dst, value []byte) { RepeatFrom(dst, value, 0) }

// RepeatFrom is Repeat for a dst that begins at byte phase of an endless sequence of values.
func RepeatFrom(dst, value []byte, phase int) {
	if len(value) == 0 {
		clear(dst)
		return
	}
	phase %= len(value)
	n := copy(dst, value[phase:])
	n += copy(dst[n:], value[:phase])
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// Dense reports whether the box is contiguous in both memories.
func (b *Box) Dense() bool { return b.n == 0 }

// Run returns the bytes of a run. For a dense box that is the whole box.
func (b *Box) Run() int { return b.run }
