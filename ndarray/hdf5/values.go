// Elements whose bytes in memory differ from those in the file: elements of variable size, and
// numbers of unusual form.

package hdf5

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
	"github.com/hyperslab/hyperslab/ndarray"
)

// values converts elements between libhdf5 and ndarray.
type values struct {
	file  *h5.File          // to which references refer; nil if they cannot be resolved
	paths map[h5.Ref]string // of the references so far
}

// load appends an element in the form of ndarray: d.Size bytes, or the form of DType.Join.
func (c *values) load(dst []byte, d ndarray.DType, v h5elem.View) ([]byte, error) {
	switch {
	case d.Size > 0 && !converted(d):
		at := len(dst)
		dst = append(dst, v.Bytes()...)
		d.ToNative(dst[at:])
		return dst, nil
	case d.Kind == ndarray.Enum:
		return loadNumber(dst, *d.Base, *v.Datatype().Base, v.Bytes())
	case d.Kind == ndarray.String:
		text, _ := v.Text()
		return append(dst, text...), nil
	case d.Kind == ndarray.Reference:
		text, err := c.path(v.Ref())
		return append(dst, text...), err
	case d.Size > 0 && d.Kind != ndarray.Struct && d.Kind != ndarray.SubArray:
		return loadNumber(dst, d, v.Datatype(), v.Bytes())
	}
	if t := v.Datatype(); t.Class == h5.Complex { // of unusual floats: two parts
		return c.loadParts(dst, d, 2, func(i int) h5elem.View {
			return h5elem.ViewOf(&h5.Values{Datatype: *t.Base, N: 2, Block: v.Bytes()}, i)
		})
	}
	return c.loadParts(dst, d, v.Len(), v.At)
}

func (c *values) loadParts(dst []byte, d ndarray.DType, n int, at func(i int) h5elem.View) ([]byte, error) {
	parts := make([][]byte, n)
	for i := range parts {
		t := d.Base
		if d.Kind == ndarray.Struct {
			t = &d.Fields[i].Type
		}
		var err error
		if parts[i], err = c.load(nil, *t, at(i)); err != nil {
			return nil, err
		}
	}
	b, err := d.Join(parts...)
	return append(dst, b...), err
}

// loadAll returns all elements: one buffer, or for a variable size a string for each.
func (c *values) loadAll(d ndarray.DType, v h5.Values) (data []byte, strs []string, err error) {
	if d.Size > 0 {
		data = make([]byte, 0, v.N*d.Size)
	} else {
		strs = make([]string, v.N)
	}
	for i := range v.N {
		b, err := c.load(data[len(data):], d, h5elem.ViewOf(&v, i))
		if err != nil {
			return nil, nil, &elementError{i, err}
		}
		if d.Size > 0 {
			data = append(data, b...)
		} else {
			strs[i] = string(b)
		}
	}
	return data, strs, nil
}

// elementError is the error of one element of a list.
type elementError struct {
	index int
	err   error
}

func (e *elementError) Error() string { return fmt.Sprintf("element %d: %v", e.index, e.err) }
func (e *elementError) Unwrap() error { return e.err }

// at replaces the number of an element by its index in the array.
func at(r ndarray.Region, err error) error {
	var e *elementError
	if !errors.As(err, &e) {
		return err
	}
	index, n := slices.Clone(r.Start), int64(e.index)
	for i := len(index) - 1; i >= 0; i-- {
		index[i] += n % r.Shape[i]
		n /= r.Shape[i]
	}
	return fmt.Errorf("element %v: %w", index, e.err)
}

// store writes an element in the form of ndarray to b, as an element of type t.
func (c *values) store(b *h5elem.Builder, offset int, d ndarray.DType, t h5.Datatype, src []byte) error {
	switch {
	case d.Size > 0 && len(src) != d.Size:
		return fmt.Errorf("%w: %d bytes for %v", ndarray.ErrSize, len(src), d)
	case d.Size > 0 && !converted(d):
		raw := slices.Clone(src)
		d.ToNative(raw) // to storage order; ToNative is its own inverse
		return b.Bytes(offset, raw)
	case d.Kind == ndarray.String:
		return b.Text(offset, string(src))
	case d.Kind == ndarray.Reference:
		r, err := c.reference(string(src), t.Ref)
		if err != nil {
			return err
		}
		return b.Ref(offset, r)
	case d.Kind == ndarray.Enum:
		d, t = *d.Base, *t.Base
		fallthrough
	case d.Size > 0 && d.Kind != ndarray.Struct && d.Kind != ndarray.SubArray:
		raw, err := storeNumber(d, t, src)
		if err != nil {
			return err
		}
		return b.Bytes(offset, raw)
	}
	parts, err := d.Split(src)
	if err != nil {
		return err
	}
	stride := 0
	switch {
	case t.Class == h5.Sequence:
		if offset, stride, err = b.Sequence(offset, len(parts), *t.Base); err != nil {
			return err
		}
	case t.Class == h5.Array:
		stride = t.Base.InMemory()
	}
	for i, p := range parts {
		part, partType, place := d.Base, t.Base, offset+i*stride
		if d.Kind == ndarray.Struct {
			part = &d.Fields[i].Type
			if t.Class == h5.Compound {
				partType, place = t.Members[i].Type, offset+t.Members[i].Offset
			} else { // complex
				place = offset + i*t.Base.Size
			}
		}
		if err := c.store(b, place, *part, *partType, p); err != nil {
			return err
		}
	}
	return nil
}

// storeAll returns elements of type t.
func (c *values) storeAll(d ndarray.DType, t h5.Datatype, data []byte, strs []string) (h5.Values, error) {
	n := len(strs)
	if d.Size > 0 {
		n = len(data) / d.Size
	}
	b, err := h5elem.NewBuilder(t, n)
	if err != nil {
		return h5.Values{}, err
	}
	for i := range n {
		src := data
		if d.Size > 0 {
			src = data[i*d.Size:][:d.Size]
		} else {
			src = []byte(strs[i])
		}
		if err := c.store(b, i*b.Stride(), d, t, src); err != nil {
			return h5.Values{}, &elementError{i, err}
		}
	}
	return b.Values(), nil
}

// values returns a converter for one read or write.
func (b *backend) values() *values {
	c := &values{paths: make(map[h5.Ref]string)}
	if !b.untrusted {
		c.file = b.dataset.File()
	}
	return c
}

// readConverted reads elements of a fixed size that have another form in the file.
func (b *backend) readConverted(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	var raw []byte
	for box := range grid.Slabs(b.meta.ChunkShape, b.meta.DType.Size, grid.Box(r)) {
		s := ndarray.Region(box)
		n := int(s.NumElems())
		raw = slices.Grow(raw[:0], n*b.stored.Size)[:n*b.stored.Size]
		if err := b.readStored(ctx, raw, s, workers); err != nil {
			return err
		}
		if err := b.fromStored(dst[:n*b.meta.DType.Size], raw); err != nil {
			return at(s, err)
		}
		dst = dst[n*b.meta.DType.Size:]
	}
	return nil
}

// fromStored converts elements from the form in the file.
func (b *backend) fromStored(dst, raw []byte) error {
	d := b.meta.DType
	if kind := d.Kind; kind != ndarray.Struct && kind != ndarray.SubArray && kind != ndarray.Enum {
		for i := 0; len(raw) > 0; i++ {
			x, err := loadNumber(dst[:0], d, b.stored, raw[:b.stored.Size])
			if err != nil {
				return &elementError{i, err}
			}
			dst, raw = dst[len(x):], raw[b.stored.Size:]
		}
		return nil
	}
	data, _, err := b.values().loadAll(d, h5.Values{Datatype: b.stored, N: len(raw) / b.stored.Size, Block: raw})
	copy(dst, data)
	return err
}

// writeConverted writes elements of a fixed size that have another form in the file.
func (b *backend) writeConverted(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	v, err := b.values().storeAll(b.meta.DType, b.stored, src, nil)
	if err != nil {
		return at(r, err)
	}
	return b.writeStored(ctx, v.Block[:v.N*b.stored.Size], r, workers)
}

// readVariable reads elements of variable size that are not strings (H5Dread, H5Treclaim). It
// returns the number of bytes that the elements refer to.
func (b *backend) readVariable(dst []string, r ndarray.Region) (bytes int64, err error) {
	v, err := b.dataset.ReadValues(b.stored, region(r), len(dst))
	if err != nil {
		return 0, err
	}
	_, strs, err := b.values().loadAll(b.meta.DType, v)
	copy(dst, strs)
	return int64(len(v.Block) - v.N*v.Datatype.InMemory()), at(r, err)
}

// writeVariable writes elements of variable size that are not strings (H5Dwrite).
func (b *backend) writeVariable(src []string, r ndarray.Region) error {
	v, err := b.values().storeAll(b.meta.DType, b.stored, nil, src)
	if err != nil {
		return at(r, err)
	}
	return b.dataset.WriteValues(v, region(r))
}
