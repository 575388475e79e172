// Fields of structures in addresses: FILE:/table[0:10].temperature

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// cutField splits "[0:10].a.b" into the selection and the path of the field, or "" without one.
func cutField(text string) (selection, field string) {
	depth := 0
	for i, c := range text {
		switch c {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 && strings.HasPrefix(text[i+1:], ".") {
				return text[:i+1], text[i+2:]
			}
		}
	}
	return text, ""
}

// fieldOf finds a field by its path: the names of nested fields, joined by dots. Names may contain
// dots. offset is that of the field in the element.
func fieldOf(d ndarray.DType, path string) (t ndarray.DType, offset int, err error) {
	if d.Kind != ndarray.Struct {
		return t, 0, fmt.Errorf("elements of type %v have no fields", d)
	}
	names := make([]string, len(d.Fields))
	for i, f := range d.Fields {
		names[i] = f.Name
		if f.Name == path {
			return f.Type, f.Offset, nil
		}
		if rest, ok := strings.CutPrefix(path, f.Name+"."); ok && f.Type.Kind == ndarray.Struct {
			if t, at, err := fieldOf(f.Type, rest); err == nil {
				return t, f.Offset + at, nil
			}
		}
	}
	first, rest, nested := strings.Cut(path, ".")
	if i := slices.Index(names, first); nested && i >= 0 {
		_, _, err := fieldOf(d.Fields[i].Type, rest)
		return t, 0, fmt.Errorf("%s: %w", first, err)
	}
	return t, 0, fmt.Errorf("no field %q; the fields are %s", path, strings.Join(names, ", "))
}

// newFieldView returns an array of one field of the structures of a. The dimensions of a sub-array
// follow those of a, as in NumPy. a must stay open while the view is used.
func newFieldView(a *ndarray.Array, path string) (*ndarray.Array, error) {
	m := a.Meta()
	t, offset, err := fieldOf(m.DType, path)
	if err != nil {
		return nil, usagef("%s: %w", m.Path, err)
	}
	v := &fieldView{a: a, offset: offset, size: t.Size, rank: len(m.Shape), meta: m}
	v.field = slices.IndexFunc(m.DType.Fields, func(f ndarray.Field) bool { return offset >= f.Offset && offset < f.Offset+f.Type.Size })
	var dims []int64
	if v.meta.DType = t; t.Kind == ndarray.SubArray {
		dims, v.meta.DType = t.Dims, *t.Base
	}
	v.meta.Path, v.meta.ReadOnly, v.meta.MaxShape, v.meta.BlockShape = m.Path+"."+path, true, nil, nil
	v.meta.Shape = slices.Concat(m.Shape, dims)
	if m.ChunkShape != nil {
		v.meta.ChunkShape = slices.Concat(m.ChunkShape, dims)
	}
	if m.AxisNames != nil {
		v.meta.AxisNames = slices.Concat(m.AxisNames, make([]string, len(dims)))
	}
	if m.Fill != nil {
		v.meta.Fill = slices.Clone(m.Fill[offset:][:v.meta.DType.Size])
		if !uniformFill(m.Fill[offset:][:t.Size], v.meta.Fill) {
			v.meta.Fill = nil // the elements of the sub-array differ
		}
	}
	return ndarray.New(v)
}

// uniformFill reports whether b consists of repetitions of element.
func uniformFill(b, element []byte) bool {
	for at := range slices.Chunk(b, max(len(element), 1)) {
		if !slices.Equal(at, element) {
			return false
		}
	}
	return true
}

// fieldView is a Backend for one field of an array of structures.
type fieldView struct {
	a            *ndarray.Array
	offset, size int // of the field in an element
	rank         int // of a
	field        int // number of the outermost field
	meta         ndarray.Meta
}

// Meta implements ndarray.Backend.
func (v *fieldView) Meta() ndarray.Meta { return v.meta }

// ReadRegion implements ndarray.Backend. It holds the structures of one slab.
func (v *fieldView) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	outer := ndarray.Region{Start: r.Start[:v.rank], Shape: r.Shape[:v.rank]}
	inner := ndarray.Region{Start: r.Start[v.rank:], Shape: r.Shape[v.rank:]}
	whole, size := v.a.Meta(), int64(v.a.DType().Size)
	var structures []byte
	for box := range grid.Slabs(whole.ChunkShape, whole.DType.Size, grid.Box(outer)) {
		slab := ndarray.Region(box)
		n := slab.NumElems() * size
		structures = slices.Grow(structures[:0], int(n))[:n]
		if err := v.a.ReadRegion(ctx, structures, slab, workers); err != nil {
			return err
		}
		for element := range slices.Chunk(structures, int(size)) {
			dst = copyBlock(dst, element[v.offset:][:v.size], v.meta.Shape[v.rank:], inner)
		}
	}
	return nil
}

// ReadNulls implements ndarray.NullReader: all elements of a null field are null.
func (v *fieldView) ReadNulls(ctx context.Context, dst []bool, r ndarray.Region) error {
	outer := ndarray.Region{Start: r.Start[:v.rank], Shape: r.Shape[:v.rank]}
	fields := len(v.a.DType().Fields)
	marks := make([]bool, int(outer.NumElems())*fields)
	if err := v.a.ReadNulls(ctx, marks, outer); err != nil {
		return err
	}
	each := len(dst) / (len(marks) / fields)
	for i := range dst {
		dst[i] = marks[i/each*fields+v.field]
	}
	return nil
}

// copyBlock copies the region r of a row-major array b of the given shape to dst. It returns the
// rest of dst.
func copyBlock(dst, b []byte, shape []int64, r ndarray.Region) []byte {
	if len(shape) == 0 || slices.Equal(shape, r.Shape) {
		return dst[copy(dst, b):]
	}
	step := int64(len(b)) / shape[0]
	rest := ndarray.Region{Start: r.Start[1:], Shape: r.Shape[1:]}
	for i := r.Start[0]; i < r.Start[0]+r.Shape[0]; i++ {
		dst = copyBlock(dst, b[i*step:][:step], shape[1:], rest)
	}
	return dst
}

// Attrs implements ndarray.AttrReader.
func (v *fieldView) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	attrs, err := v.a.Attrs(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return ndarray.Attrs{}, nil
	}
	return attrs, err
}

// Close implements ndarray.Backend.
func (v *fieldView) Close() error { return nil }
