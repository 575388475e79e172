// Datasets: copied with H5Ocopy where its result is correct, otherwise created again.

package h5copy

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/errs"
)

func (c *Copier) dataset(ctx context.Context, d *h5.Dataset, addr uint64, src *h5.Group, link string, dst *h5.Group, name, path string) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	attrs, err := c.attributes(d)
	if err != nil {
		return err
	}
	refs := Refers(info.Datatype)
	if c.o.Dataset != nil {
		made, err := create(c.out, attrs.dense(), func() (bool, error) { return c.o.Dataset(ctx, d, info, path) })
		if err != nil {
			return err
		}
		if made {
			if refs {
				c.values(ctx, addr, path, valueOptions{refs: true, elsewhere: true})
			}
			return c.besideNew(d, addr, path, attrs)
		}
	}
	moved := c.files(&info, path)
	special := !attrs.simple()
	if moved || c.sizes || c.o.Recreate || !info.Datatype.Plain() && info.FillKind == h5.FillValue && !c.same() || c.overruns(&info) {
		if dst != nil {
			if err := c.create(info, dst, name, path, attrs.dense()); err != nil {
				return err
			}
		}
		if info.Layout != h5.Virtual && len(info.External) == 0 {
			c.values(ctx, addr, path, valueOptions{refs: refs})
		}
		return c.besideNew(d, addr, path, attrs)
	}
	o := &h5.CopyOptions{WithoutAttributes: special}
	if info.Datatype.Committed != 0 {
		at, err := c.typeAt(info.Datatype)
		if err != nil {
			return err
		}
		o.MergeTypes, o.TypePaths = true, []string{at}
	}
	if dst != nil {
		if err := src.CopyObject(link, dst, name, o); err != nil {
			return err
		}
	}
	if refs {
		c.values(ctx, addr, path, valueOptions{refs: true})
	}
	if special {
		c.attributesLater(addr, path, attrs)
	}
	return nil
}

// overruns reports whether H5Ocopy writes past the end of its memory: it fills chunks of
// sequences in a buffer of their stored size, which is smaller than their size in memory if
// addresses have fewer than 8 bytes. A write to such a dataset fails in libhdf5, so the copy gets
// its fill value when one is set.
func (c *Copier) overruns(info *h5.DatasetInfo) bool {
	return c.short && info.Layout == h5.Chunked && info.Datatype.Class == h5.Sequence && info.FillTime == h5.FillOnAlloc
}

// besideNew copies the comment and the attributes of a dataset that was created.
func (c *Copier) besideNew(d *h5.Dataset, addr uint64, path string, attrs attributes) (err error) {
	if c.out.File == nil {
		return c.beside(d, nil, path, addr, attrs)
	}
	made, err := c.out.Root().OpenObject(path)
	if err != nil {
		return err
	}
	return errors.Join(c.beside(d, made, path, addr, attrs), made.Close())
}

// create creates a dataset like the one that info describes, without elements.
func (c *Copier) create(info h5.DatasetInfo, dst *h5.Group, name, path string, dense bool) (err error) {
	t := info.Datatype
	if t.Committed != 0 {
		kept, err := c.Committed(t)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, kept.Close()) }()
		if t, err = kept.Shared(); err != nil {
			return err
		}
	}
	fill := info.FillValues
	if Refers(info.Datatype) && info.FillKind == h5.FillValue {
		if fill, err = c.translate(fill, path, "fill value"); err != nil {
			return err
		}
	}
	o := Recreate(info)
	if c.overruns(&info) {
		o.FillTime = h5.FillIfSet
	}
	o.FillValues, o.Times = fill, o.Times && !c.o.WithoutTimes
	if c.o.Recreate {
		o.PlainEdges = false // a property of the newest format
	}
	d, err := c.out.Dataset(dst, name, t, info.Space, o, dense)
	if err != nil {
		return err
	}
	return d.Close()
}

// Recreate returns options that create a dataset as info describes it. Fill values of types that
// are not Plain refer to the source file.
func Recreate(info h5.DatasetInfo) *h5.DatasetOptions {
	phase := info.AttributePhase
	o := &h5.DatasetOptions{
		Compact: info.Layout == h5.Compact, ChunkShape: info.ChunkShape, Filters: Parameters(info.Filters),
		NoFill: info.FillKind == h5.FillUndefined, FillTime: info.FillTime, Alloc: info.Alloc, PlainEdges: info.PlainEdges,
		External: info.External, Mappings: info.Mappings, AttributeOrder: info.AttributeOrder, AttributePhase: &phase, Times: info.Times,
	}
	if o.Alloc == h5.AllocIncremental && o.ChunkShape == nil && o.Mappings == nil {
		o.Alloc = h5.AllocLate // the same without chunks
	}
	if info.FillKind == h5.FillValue {
		o.Fill, o.FillValues = info.Fill, info.FillValues
	}
	if info.Layout == h5.Virtual && o.Mappings == nil {
		o.Mappings = []h5.Mapping{}
	}
	return o
}

// Parameters returns filters with the parameters for creating a dataset. For a filter that computes
// additional parameters, only the user's parameters are kept. A filter that is not linked becomes
// optional, because libhdf5 otherwise refuses to create the dataset.
func Parameters(list []h5.Filter) []h5.Filter {
	list = slices.Clone(list)
	for i := range list {
		f := &list[i]
		switch f.ID {
		case h5.FilterSzip, h5.FilterScaleOffset:
			f.Values = f.Values[:min(2, len(f.Values))]
		case h5.FilterNbit:
			f.Values = nil
		case filter.IDBitShuffle: // the first 3 values are its version and the element size
			f.Values = f.Values[min(3, len(f.Values)):]
		}
		if !f.Optional {
			can, err := h5.FilterAvailable(f.ID)
			f.Optional = err == nil && !can.Encode
		}
	}
	return list
}

// valueOptions are the options of a copy of elements.
type valueOptions struct {
	refs      bool // the elements hold references
	elsewhere bool // also elements in external files and in the sources of a virtual dataset
}

// values copies elements that H5Ocopy does not copy correctly, after all objects exist.
func (c *Copier) values(ctx context.Context, addr uint64, path string, what valueOptions) {
	c.out.Later(path, func(ctx context.Context, made h5.Object) (err error) {
		if c.out.File == nil && !what.refs {
			return nil
		}
		o, err := c.src.OpenAddress(addr)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.Close()) }()
		from, ok := o.(*h5.Dataset)
		to, exists := made.(*h5.Dataset)
		if !ok || made != nil && !exists {
			return fmt.Errorf("%w: %s", h5.ErrKind, path)
		}
		info, err := from.Info()
		if err != nil {
			return err
		}
		if what.elsewhere && (len(info.External) > 0 || info.Layout == h5.Virtual) {
			info.Layout, info.External, info.Address = h5.Contiguous, nil, 0
		}
		if c.o.Recreate && to != nil && !what.refs && stored(&info) {
			if err := copyChunks(ctx, from, to, &info); err != nil {
				return located(path, err)
			}
			return nil
		}
		for part, err := range parts(from, info) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			v, err := from.ReadValues(info.Datatype, part, -1)
			if err == nil && what.refs {
				v, err = c.translate(v, path, "values")
			}
			if err == nil && to != nil {
				err = to.WriteValues(v, part)
			}
			if err != nil {
				return located(path, err)
			}
		}
		return nil
	})
}

// stored reports whether the chunks of a dataset can be copied as they are stored.
func stored(info *h5.DatasetInfo) bool {
	return info.Layout == h5.Chunked && info.Datatype.Plain() && !info.PlainEdges && len(info.Space.Dims) < h5.MaxRank
}

// outside reports whether a chunk, with its first element at offset, has no elements of the
// dataset.
func outside(offset, dims []int64) bool {
	for i, n := range dims {
		if offset[i] >= n {
			return true
		}
	}
	return false
}

// copyChunks copies chunks without decompression. Chunks outside of the dataset are not copied.
func copyChunks(ctx context.Context, from, to *h5.Dataset, info *h5.DatasetInfo) error {
	var b []byte
	for chunk, err := range from.StoredChunks() {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case outside(chunk.Offset, info.Space.Dims):
			continue
		}
		if chunk.Bytes < 1 || chunk.Bytes > math.MaxUint32 {
			return fmt.Errorf("%w: size of chunk %v: got %d bytes, want 1 to %d", errs.ErrCorrupt, chunk.Offset, chunk.Bytes, uint32(math.MaxUint32))
		}
		b = slices.Grow(b[:0], int(chunk.Bytes))[:chunk.Bytes]
		n, mask, err := from.ReadChunk(b, chunk.Offset...)
		if err == nil {
			err = to.WriteChunk(b[:n], mask, chunk.Offset...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mostAtOnce is the maximum number of elements in one read from a dataset without chunks.
const mostAtOnce = 1 << 16

// parts yields regions that together hold every stored element.
func parts(d *h5.Dataset, info h5.DatasetInfo) iter.Seq2[h5.Region, error] {
	return func(yield func(h5.Region, error) bool) {
		dims := info.Space.Dims
		switch {
		case info.Space.NumElems() == 0, info.Layout == h5.Virtual, len(info.External) > 0,
			info.Layout == h5.Contiguous && info.Address == h5.NoAddress:
			return
		case info.Space.Kind == h5.Scalar:
			yield(info.Space.All(), nil)
			return
		case info.Layout == h5.Chunked:
			for chunk, err := range d.StoredChunks() {
				if err != nil {
					yield(h5.Region{}, err)
					return
				}
				part := h5.Region{Start: chunk.Offset, Count: make([]int64, len(dims))}
				n := int64(1)
				for i := range dims {
					part.Count[i] = max(min(info.ChunkShape[i], dims[i]-chunk.Offset[i]), 0)
					n *= part.Count[i]
				}
				if n > 0 && !yield(part, nil) {
					return
				}
			}
			return
		}
		// The slowest dimensions are iterated; the fastest ones are read whole as far as they fit.
		count, split, n := slices.Clone(dims), len(dims), int64(1)
		for split > 0 && (n == 0 || dims[split-1] <= mostAtOnce/n) { // the product could overflow
			split--
			n *= dims[split]
		}
		if split > 0 {
			split--
			count[split] = max(mostAtOnce/n, 1)
			for i := range split {
				count[i] = 1
			}
		}
		start := make([]int64, len(dims))
		for {
			part := h5.Region{Start: slices.Clone(start), Count: make([]int64, len(dims))}
			for i := range dims {
				part.Count[i] = min(count[i], dims[i]-start[i])
			}
			if !yield(part, nil) {
				return
			}
			i := min(split, len(dims)-1)
			for ; i >= 0; i-- {
				if start[i] += count[i]; start[i] < dims[i] {
					break
				}
				start[i] = 0
			}
			if i < 0 {
				return
			}
		}
	}
}
