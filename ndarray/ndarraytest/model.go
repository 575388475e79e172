// The model: a row-major buffer that moves one element at a time. It is deliberately simple, so
// that it does not have the same bugs as a backend.

package ndarraytest

import (
	"bytes"

	"github.com/hyperslab/hyperslab/ndarray"
)

// dirty returns n bytes that are the content of no sample, as the destination of a read. Bytes that
// a read leaves unchanged then differ from the model.
func dirty[N int | int64](n N) []byte { return bytes.Repeat([]byte{0xAA}, int(n)) }

type model struct {
	shape []int64
	size  int
	data  []byte
}

func newModel(shape []int64, size int, data []byte) *model {
	if data == nil {
		n := int64(size)
		for _, x := range shape {
			n *= x
		}
		data = make([]byte, n)
	}
	return &model{shape: shape, size: size, data: data}
}

// each calls f with the byte offset of every element of r, in the array and in r.
func (m *model) each(r ndarray.Region, f func(inArray, inRegion int)) {
	n := r.NumElems()
	at := make([]int64, len(r.Shape))
	for i := range n {
		flat := int64(0)
		for axis := range at {
			flat = flat*m.shape[axis] + r.Start[axis] + at[axis]
		}
		f(int(flat)*m.size, int(i)*m.size)
		for axis := len(at) - 1; axis >= 0; axis-- {
			if at[axis]++; at[axis] < r.Shape[axis] {
				break
			}
			at[axis] = 0
		}
	}
}

func (m *model) read(r ndarray.Region) []byte {
	out := make([]byte, r.NumElems()*int64(m.size))
	m.each(r, func(a, b int) { copy(out[b:b+m.size], m.data[a:]) })
	return out
}

func (m *model) write(r ndarray.Region, src []byte) {
	m.each(r, func(a, b int) { copy(m.data[a:a+m.size], src[b:b+m.size]) })
}
