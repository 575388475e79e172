// Fields of structures in addresses: FILE:/table[0:10].temperature

package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CutField splits "[0:10].a.b" into the selection and the path of the field, or "" without one.
func CutField(text string) (selection, field string) {
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
// dots. at are the numbers of the nested fields, the outermost first.
func fieldOf(d ndarray.DType, path string) (t ndarray.DType, at []int, err error) {
	if d.Kind != ndarray.Struct {
		return t, nil, fmt.Errorf("elements of type %v have no fields", d)
	}
	names := make([]string, len(d.Fields))
	for i, f := range d.Fields {
		names[i] = f.Name
		if f.Name == path {
			return f.Type, []int{i}, nil
		}
		if rest, ok := strings.CutPrefix(path, f.Name+"."); ok && f.Type.Kind == ndarray.Struct {
			if t, at, err := fieldOf(f.Type, rest); err == nil {
				return t, append([]int{i}, at...), nil
			}
		}
	}
	first, rest, nested := strings.Cut(path, ".")
	if i := slices.Index(names, first); nested && i >= 0 {
		_, _, err := fieldOf(d.Fields[i].Type, rest)
		return t, nil, fmt.Errorf("%s: %w", first, err)
	}
	return t, nil, fmt.Errorf("no field %q; the fields are %s", path, strings.Join(names, ", "))
}

// newFieldView returns an array of one field of the structures of a. The dimensions of a sub-array
// follow those of a, as in NumPy. a must stay open while the view is used.
func newFieldView(a *ndarray.Array, path string) (*ndarray.Array, error) {
	m := a.Meta()
	t, at, err := fieldOf(m.DType, path)
	if err != nil {
		return nil, Usagef("%s: %w", m.Path, err)
	}
	v := &fieldView{a: a, at: at, of: t, rank: len(m.Shape), meta: m}
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
	if m.Fill != nil && m.DType.Size > 0 {
		fill, err := v.cut(m.Fill)
		if err != nil {
			return nil, err
		}
		v.meta.Fill = slices.Clone(fill[:v.meta.DType.Size])
		if !uniformFill(fill, v.meta.Fill) {
			v.meta.Fill = nil // the elements of the sub-array differ
		}
	}
	return ndarray.New(v)
}

// cut returns the bytes of the field of one structure.
func (v *fieldView) cut(b []byte) ([]byte, error) {
	d := v.a.DType()
	for _, i := range v.at {
		parts, err := d.Split(b)
		if err != nil {
			return nil, err
		}
		b, d = parts[i], d.Fields[i].Type
	}
	return b, nil
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
	a    *ndarray.Array
	at   []int         // numbers of the nested fields, the outermost first
	of   ndarray.DType // of the field, with the dimensions of a sub-array
	rank int           // of a
	meta ndarray.Meta
}

// Meta implements ndarray.Backend.
func (v *fieldView) Meta() ndarray.Meta { return v.meta }

// ReadRegion implements ndarray.Backend. It holds the structures of one slab.
func (v *fieldView) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	inner := ndarray.Region{Start: r.Start[v.rank:], Shape: r.Shape[v.rank:]}
	return v.each(ctx, r, workers, func(field []byte) error {
		dst = copyBlock(dst, field, v.meta.Shape[v.rank:], inner)
		return nil
	})
}

// ReadStrings implements ndarray.StringReader for a field of variable size.
func (v *fieldView) ReadStrings(ctx context.Context, dst []string, r ndarray.Region) error {
	inner := ndarray.Region{Start: r.Start[v.rank:], Shape: r.Shape[v.rank:]}
	return v.each(ctx, r, 0, func(field []byte) error {
		parts := [][]byte{field}
		if v.of.Kind == ndarray.SubArray {
			var err error
			if parts, err = v.of.Split(field); err != nil {
				return err
			}
		}
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = string(p)
		}
		dst = copyBlock(dst, texts, v.meta.Shape[v.rank:], inner)
		return nil
	})
}

// each calls f for the field of each structure of a region, in row-major order.
func (v *fieldView) each(ctx context.Context, r ndarray.Region, workers int, f func(field []byte) error) error {
	outer := ndarray.Region{Start: r.Start[:v.rank], Shape: r.Shape[:v.rank]}
	whole, size := v.a.Meta(), v.a.DType().Size
	if size == 0 {
		return v.eachVariable(ctx, outer, f)
	}
	offset, d := 0, v.a.DType()
	for _, i := range v.at {
		offset += d.Fields[i].Offset
		d = d.Fields[i].Type
	}
	var structures []byte
	for box := range grid.Slabs(whole.ChunkShape, size, grid.Box(outer)) {
		slab := ndarray.Region(box)
		n := int(slab.NumElems()) * size
		structures = slices.Grow(structures[:0], n)[:n]
		if err := v.a.ReadRegion(ctx, structures, slab, workers); err != nil {
			return err
		}
		for element := range slices.Chunk(structures, size) {
			if err := f(element[offset:][:v.of.Size]); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachVariable is each for structures of variable size.
func (v *fieldView) eachVariable(ctx context.Context, outer ndarray.Region, f func(field []byte) error) error {
	var structures []string
	for box := range grid.Slabs(v.a.Meta().ChunkShape, TextBytes, grid.Box(outer)) {
		slab := ndarray.Region(box)
		n := int(slab.NumElems())
		structures = slices.Grow(structures[:0], n)[:n]
		if err := v.a.ReadStrings(ctx, structures, slab); err != nil {
			return err
		}
		for _, s := range structures {
			field, err := v.cut([]byte(s))
			if err == nil {
				err = f(field)
			}
			if err != nil {
				return err
			}
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
		dst[i] = marks[i/each*fields+v.at[0]]
	}
	return nil
}

// copyBlock copies the region r of a row-major array b of the given shape to dst. It returns the
// rest of dst.
func copyBlock[T any](dst, b []T, shape []int64, r ndarray.Region) []T {
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
