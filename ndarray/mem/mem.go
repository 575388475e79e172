// The backend: a buffer, a list of attributes and a lock.

package mem

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// maxBytes is the size from which New returns an error, because no address space is larger.
const maxBytes = 1 << 47

// backend is an array in memory. It implements every optional interface of ndarray except
// ordered.Sequencer, because the order of writes does not matter.
type backend struct {
	meta ndarray.Meta

	mu   sync.RWMutex
	data []byte   // row-major, native byte order
	strs []string // elements of variable size

	attrs *list.List               // of ndarray.Attr, in the order they were first set
	named map[string]*list.Element // of attrs, by name
}

// New returns an array in memory filled with spec.Fill. It copies everything in spec.
//
// It returns the errors of spec.Validate, and ErrShape for an array of 2^47 bytes or more.
func New(spec ndarray.Spec) (ndarray.Backend, error) {
	b, err := create(spec)
	if err != nil {
		return nil, ndarray.Wrap("create", "", err)
	}
	return b, nil
}

func create(spec ndarray.Spec) (*backend, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	meta := ndarray.Meta{
		Format: "mem", Shape: spec.Shape, Null: spec.Null, MaxShape: spec.MaxShape, AxisNames: spec.AxisNames,
		ChunkShape: spec.ChunkShape, BlockShape: spec.BlockShape,
		DType: spec.DType, Fill: spec.Fill, Compression: spec.Compression, Comment: spec.Comment,
	}
	b := &backend{meta: meta.Clone(), attrs: list.New(), named: make(map[string]*list.Element)}
	if n := meta.NumElems(); n > 0 && int64(spec.DType.Size) >= maxBytes/n {
		return nil, fmt.Errorf("%w: %v elements of %d bytes in memory", ndarray.ErrShape, spec.Shape, spec.DType.Size)
	}
	if spec.DType.Size == 0 {
		if meta.NumElems() > maxBytes/16 {
			return nil, fmt.Errorf("%w: %v elements of variable size in memory", ndarray.ErrShape, spec.Shape)
		}
		b.strs = slices.Repeat([]string{zero(spec.DType)}, int(meta.NumElems()))
	}
	b.data = make([]byte, meta.NumElems()*int64(spec.DType.Size))
	if b.meta.Fill != nil && len(b.data) > 0 {
		for n := copy(b.data, b.meta.Fill); n < len(b.data); {
			n += copy(b.data[n:], b.data[:n])
		}
	}
	for _, a := range spec.Attrs {
		b.set(a)
	}
	return b, nil
}

// zero returns the element of variable size whose numbers are 0, with empty strings and sequences.
func zero(d ndarray.DType) string {
	part := func(d ndarray.DType) []byte {
		if d.Size > 0 {
			return make([]byte, d.Size)
		}
		return []byte(zero(d))
	}
	var parts [][]byte
	switch d.Kind {
	case ndarray.Struct:
		for _, f := range d.Fields {
			parts = append(parts, part(f.Type))
		}
	case ndarray.SubArray:
		n, _ := grid.Product(d.Dims)
		parts = slices.Repeat([][]byte{part(*d.Base)}, int(n))
	default:
		return ""
	}
	b, err := d.Join(parts...)
	if err != nil {
		panic("mem: " + err.Error()) // the parts have the sizes of the type
	}
	return string(b)
}

// Meta describes the array.
func (b *backend) Meta() ndarray.Meta { return b.meta }

// ReadRegion copies the elements of r to dst.
func (b *backend) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.slabs(ctx, dst, r, func(buffer []byte, s grid.Box) {
		grid.Copy(buffer, s, b.data, grid.Whole(b.meta.Shape), s, b.meta.DType.Size)
	})
}

// WriteRegion copies src to the elements of r.
func (b *backend) WriteRegion(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slabs(ctx, src, r, func(buffer []byte, s grid.Box) {
		grid.Copy(b.data, grid.Whole(b.meta.Shape), buffer, s, s, b.meta.DType.Size)
	})
}

// slabs calls f for each slab of r and its part of data, until ctx ends.
func (b *backend) slabs(ctx context.Context, data []byte, r ndarray.Region, f func(buffer []byte, s grid.Box)) error {
	for s := range grid.Slabs(b.meta.ChunkShape, b.meta.DType.Size, grid.Box(r)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := ndarray.Region(s).NumElems() * int64(b.meta.DType.Size)
		f(data[:n], s)
		data = data[n:]
	}
	return nil
}

// ReadStrings copies the elements of r to dst.
func (b *backend) ReadStrings(ctx context.Context, dst []string, r ndarray.Region) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	b.eachText(r, func(inArray, inRegion int) { dst[inRegion] = b.strs[inArray] })
	return nil
}

// WriteStrings copies src to the elements of r.
func (b *backend) WriteStrings(ctx context.Context, src []string, r ndarray.Region) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.eachText(r, func(inArray, inRegion int) { b.strs[inArray] = src[inRegion] })
	return nil
}

// eachText calls f with the index of every element of r, in the array and in r.
func (b *backend) eachText(r ndarray.Region, f func(inArray, inRegion int)) {
	index := slices.Clone(r.Start)
	for n := range r.NumElems() {
		at := int64(0)
		for i, x := range index {
			at = at*b.meta.Shape[i] + x
		}
		f(int(at), int(n))
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < r.Start[i]+r.Shape[i] {
				break
			}
			index[i] = r.Start[i]
		}
	}
}

// Resize allocates a new buffer and copies the elements that are in both shapes.
func (b *backend) Resize(ctx context.Context, shape []int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	old := b.meta
	spec := old.Spec()
	spec.Shape = shape
	grown, err := create(spec)
	if err != nil {
		return ndarray.Wrap("create", "", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	both := ndarray.Whole(shape)
	for i, n := range old.Shape {
		both.Shape[i] = min(n, both.Shape[i])
	}
	if old.DType.Size == 0 {
		var strs []string
		b.eachText(both, func(at, _ int) { strs = append(strs, b.strs[at]) })
		grown.eachText(both, func(at, i int) { grown.strs[at] = strs[i] })
	} else {
		grid.Copy(grown.data, grid.Whole(shape), b.data, grid.Whole(old.Shape), grid.Box(both), old.DType.Size)
	}
	b.data, b.strs, b.meta.Shape = grown.data, grown.strs, grown.meta.Shape
	return nil
}

// Attrs returns copies of all attributes, in the order they were first set.
func (b *backend) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out ndarray.Attrs
	for e := b.attrs.Front(); e != nil; e = e.Next() {
		a := e.Value.(ndarray.Attr)
		out.List = append(out.List, ndarray.Attr{Name: a.Name, Value: a.Value.Clone()})
	}
	return out, ctx.Err()
}

// SetAttr adds or replaces an attribute.
func (b *backend) SetAttr(ctx context.Context, a ndarray.Attr) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.Value.DType.Kind == 0 {
		return fmt.Errorf("%w: attribute %q without a Value", errors.ErrUnsupported, a.Name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(a)
	return nil
}

// set stores a copy of an attribute.
func (b *backend) set(a ndarray.Attr) {
	a = ndarray.Attr{Name: a.Name, Value: a.Value.Clone()}
	if e := b.named[a.Name]; e != nil {
		e.Value = a
		return
	}
	b.named[a.Name] = b.attrs.PushBack(a)
}

// DeleteAttr removes an attribute. It returns ErrNotFound if there is no such attribute.
func (b *backend) DeleteAttr(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.named[name]
	if e == nil {
		return fmt.Errorf("attribute %q: %w", name, ndarray.ErrNotFound)
	}
	b.attrs.Remove(e)
	delete(b.named, name)
	return nil
}

// Storage reports the bytes of all elements, uncompressed.
func (b *backend) Storage(ctx context.Context) (ndarray.Storage, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := ndarray.Storage{StoredBytes: int64(len(b.data))}
	for _, text := range b.strs {
		s.StoredBytes += int64(len(text))
	}
	if b.meta.ChunkShape != nil {
		g, err := grid.New(b.meta.Shape, b.meta.ChunkShape)
		if err != nil {
			return s, err
		}
		s.NumChunks = g.NumChunks()
	}
	return s, ctx.Err()
}

// ChunkBytes reports the uncompressed bytes of a chunk's elements.
func (b *backend) ChunkBytes(ctx context.Context, n int64) (int64, error) {
	g, err := grid.New(b.meta.Shape, b.meta.ChunkShape)
	if err != nil {
		return 0, err
	}
	r := ndarray.Region(g.Nth(n))
	bytes := r.NumElems() * int64(b.meta.DType.Size)
	if b.meta.DType.Size == 0 {
		b.mu.RLock()
		defer b.mu.RUnlock()
		b.eachText(r, func(at, _ int) { bytes += int64(len(b.strs[at])) })
	}
	return bytes, ctx.Err()
}

// Close releases the memory.
func (b *backend) Close() error {
	b.data, b.strs = nil, nil
	b.attrs.Init()
	clear(b.named)
	return nil
}
