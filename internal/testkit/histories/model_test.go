// The model: what a file must contain.

package histories

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hyperslab/hyperslab/ndarray"
)

// model is the content of an array of one or two dimensions of which only the first can change.
type model struct {
	shape  []int64
	values []int32
	attrs  map[string]ndarray.Value
}

func (m *model) clone() *model {
	return &model{slices.Clone(m.shape), slices.Clone(m.values), maps.Clone(m.attrs)}
}

// row returns the number of elements of each index of the first dimension.
func (m *model) row() int64 {
	if len(m.shape) == 1 {
		return 1
	}
	return m.shape[1]
}

// write sets the elements of a region.
func (m *model) write(r ndarray.Region, v []int32) {
	m.each(r, func(at, i int64) { m.values[at] = v[i] })
}

// read returns the elements of a region.
func (m *model) read(r ndarray.Region) []int32 {
	v := make([]int32, r.NumElems())
	m.each(r, func(at, i int64) { v[i] = m.values[at] })
	return v
}

// each calls f with the number of each element of a region in the array and in the region.
func (m *model) each(r ndarray.Region, f func(at, i int64)) {
	first, width, all := int64(0), int64(1), int64(1)
	if len(m.shape) == 2 {
		first, width, all = r.Start[1], r.Shape[1], m.shape[1]
	}
	for i := range r.Shape[0] {
		for j := range width {
			f((r.Start[0]+i)*all+first+j, i*width+j)
		}
	}
}

// resize changes the first dimension. New elements are 0.
func (m *model) resize(n int64) {
	values := make([]int32, n*m.row())
	copy(values, m.values)
	m.shape[0], m.values = n, values
}

// append adds rows.
func (m *model) append(v []int32) {
	m.values = append(m.values, v...)
	m.shape[0] += int64(len(v)) / m.row()
}

// remove and insert change rows in the middle.
func (m *model) remove(at, n int64) {
	m.values = slices.Delete(m.values, int(at*m.row()), int((at+n)*m.row()))
	m.shape[0] -= n
}

func (m *model) insert(at int64, v []int32) {
	m.values = slices.Insert(m.values, int(at*m.row()), v...)
	m.shape[0] += int64(len(v)) / m.row()
}

// differs returns the first difference of a content from the model, or "".
func (m *model) differs(shape []int64, values []int32, attrs map[string]ndarray.Value) string {
	if !slices.Equal(shape, m.shape) {
		return fmt.Sprintf("shape: got %v, want %v", shape, m.shape)
	}
	for i, v := range m.values {
		if values[i] != v {
			return fmt.Sprintf("element %d: got %d, want %d", i, values[i], v)
		}
	}
	if !maps.EqualFunc(attrs, m.attrs, ndarray.Value.Equal) {
		return fmt.Sprintf("attributes: got %v, want %v", attrs, m.attrs)
	}
	return ""
}
