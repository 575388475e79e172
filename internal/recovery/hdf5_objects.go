// Recovery of the objects of a corrupt HDF5 file: groups, links, datasets, committed datatypes,
// attributes.

package recovery

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
)

// group fills the new group at path with the attributes and links of o.
func (s *source) group(ctx context.Context, path string, g *h5.Group, o *h5file.Object) error {
	s.attributes(path, g, o)
	for l, err := range o.Links() {
		if err != nil {
			s.corrupt = true
			s.r.note(Lost, path, "links", -1, "%v", err)
			s.r.LostObjects++
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at := strings.TrimSuffix(path, "/") + "/" + l.Name
		if l.Name == "" || l.Name == "." || strings.ContainsAny(l.Name, "/\x00") {
			s.lost(at, "link", fmt.Errorf("an invalid name: %q", l.Name))
			continue
		}
		if err := s.link(ctx, g, at, l); err != nil {
			return err
		}
	}
	return nil
}

// lost reports an item that is missing from the new file.
func (s *source) lost(path, what string, err error) {
	s.corrupt = true
	if noSpace(err) && s.full == nil {
		s.full = err
	}
	s.r.LostObjects++
	s.r.note(Lost, path, what, -1, "%v", err)
}

// linkKinds are the kinds of links that are recovered.
var linkKinds = map[h5file.LinkKind]h5.LinkKind{h5file.HardLink: h5.HardLink, h5file.SoftLink: h5.SoftLink, h5file.ExternalLink: h5.ExternalLink}

// link writes the target of a hard link, or the link itself.
func (s *source) link(ctx context.Context, g *h5.Group, at string, l h5file.Link) error {
	kind, ok := linkKinds[l.Kind]
	if !ok {
		s.lost(at, "link", fmt.Errorf("%w: a link of class %d", errors.ErrUnsupported, l.Kind))
		return nil
	}
	done, err := s.out.Link(g, h5.Link{Name: l.Name, Kind: kind, Address: uint64(l.Target), Target: l.Path, File: l.File})
	if err != nil {
		s.lost(at, "link", err)
	}
	if done {
		return nil
	}
	o, err := s.file.Object(l.Target)
	if err != nil {
		s.corrupt = true
		s.r.note(Lost, at, "object header", format.Size(l.Target)+s.file.UserBlock(), "%v", err)
		if o != nil && err != o.Err() { // not only an error of one message
			s.unsure[l.Target] = true
		}
	}
	if o == nil {
		s.r.LostObjects++
		return nil
	}
	return s.object(ctx, at, o)
}

// object writes the object to a free path, once. Errors of the corrupt file become findings. Errors
// of the new file are returned.
func (s *source) object(ctx context.Context, at string, o *h5file.Object) error {
	addr := uint64(o.Addr)
	s.out.Placed[addr] = "" // report a lost object only once
	if err := s.omit[at]; err != nil {
		s.lost(at, "object", fmt.Errorf("not valid in the new file: %w", err))
		return nil
	}
	switch o.Kind() {
	case h5file.GroupKind:
		g, err := s.out.Group(s.out.Root(), at, nil, dense(o))
		if err != nil {
			return err
		}
		s.out.Placed[addr] = at
		return errors.Join(s.group(ctx, at, g, o), g.Close())
	case h5file.CommittedTypeKind:
		t, err := h5.Datatype{}, o.Message(h5file.DatatypeType).Err
		if err == nil {
			t, err = h5types.Datatype(o.Datatype())
		}
		if err == nil {
			var c *h5.CommittedType
			if c, err = s.out.Datatype(at, t, dense(o)); err == nil {
				s.out.Placed[addr] = at
				s.attributes(at, c, o)
				return c.Close()
			}
		}
		s.lost(at, "datatype", err)
	case h5file.DatasetKind:
		if s.doubtful(o) {
			s.r.doubt(at, o)
		}
		d, err := s.create(at, o)
		if err != nil {
			s.lost(at, "dataset", err)
			return nil
		}
		defer d.Close()
		s.out.Placed[addr] = at
		s.r.Arrays++
		s.attributes(at, d, o)
		if !refers(o.Datatype()) {
			return s.elements(ctx, at, d, o)
		}
		s.later(at, func(made h5.Object) error { return s.elements(ctx, at, made.(*h5.Dataset), o) })
	default:
		s.lost(at, "object", errors.New("not a group, dataset or datatype any more"))
	}
	return nil
}

// create creates an empty dataset like o. The caller must close it.
func (s *source) create(at string, o *h5file.Object) (*h5.Dataset, error) {
	for _, t := range []h5file.MessageType{h5file.DataspaceType, h5file.DatatypeType, h5file.LayoutType, h5file.PipelineType} {
		if m := o.Message(t); m != nil && m.Err != nil {
			return nil, m.Err
		}
	}
	l, space := o.Layout(), o.Dataspace()
	if l == nil || space == nil || o.Datatype() == nil {
		return nil, errors.New("no layout, dataspace or datatype")
	}
	t, err := h5types.Datatype(o.Datatype())
	if err != nil {
		return nil, err
	}
	n, ok := space.Elements()
	item := uint64(o.Datatype().Size)
	hi, size := bits.Mul64(n, item)
	if !ok || hi != 0 {
		return nil, fmt.Errorf("%w: %v elements of %d bytes, want fewer than 2^64 bytes", format.ErrCorrupt, space, item)
	}
	opts := &h5.DatasetOptions{Filters: h5copy.Parameters(h5types.Filters(s.validFilters(at, o)))}
	switch l.Class {
	case h5file.Compact:
		opts.Compact = true
	case h5file.Chunked:
		opts.ChunkShape = chunkShape(l)
		opts.PlainEdges = l.Flags&h5file.PartialChunksUnfiltered != 0
	case h5file.Contiguous:
		if e := o.ExternalFiles(); e != nil {
			if m := o.Message(h5file.ExternalFilesType); m.Err != nil {
				return nil, m.Err
			}
			for _, f := range e.Files {
				opts.External = append(opts.External, h5.ExternalFile{Name: f.Name, Offset: format.Size(f.Offset), Size: unlimited(f.Size)})
			}
			break
		}
		// libhdf5 allocates all contiguous elements when the first one is written. A corrupt header
		// of some bytes could demand any size, so large datasets become chunked.
		if l.Addr.Defined() && len(space.Dims) > 0 && size > uint64(s.size) {
			// Chunks of whole rows, because the part of the elements that is in the file is written
			// row by row, and chunks without elements take no space.
			for first := range grid.Cut(grid.Whole(h5types.Dataspace(space).Dims), nil, max(grid.ChunkBytes/format.Size(item), 1)) {
				opts.ChunkShape = first.Shape
				break
			}
			s.r.note(Lost, at, "layout", -1, "%d elements of %d bytes in a file of %d: in chunks now, and those without elements take no space", n, item, s.size)
		}
	case h5file.Virtual:
		if opts.Mappings, err = s.mappings(at, o); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%w: a %v dataset", errors.ErrUnsupported, l)
	}
	opts.Fill = fillOf(o, t)
	if opts.Fill != nil && o.FillValue().WriteTime == fillNever {
		opts.FillTime = h5.FillNever
	}
	return s.out.Dataset(s.out.Root(), at, t, h5types.Dataspace(space), opts, dense(o))
}

// validFilters returns the filters of a dataset without those that have invalid parameters, because
// libhdf5 would copy these to the new file.
func (s *source) validFilters(at string, o *h5file.Object) *h5file.Pipeline {
	l, changed := leveled(o.Pipeline())
	if l == nil {
		return nil
	}
	if changed {
		s.r.note(Guessed, at, "filter pipeline", -1, "a level of deflate that libhdf5 accepts, since the stored one is missing or too high")
	}
	full, _ := o.ChunkBytes()
	valid := &h5file.Pipeline{}
	for _, f := range l.Filters {
		err := f.Sound(uint64(o.Datatype().Size), full)
		if err == nil && full <= uint64(s.most) {
			err = encodable(f, full)
		}
		if err != nil {
			s.r.note(Lost, at, "filter pipeline", -1, "%v", err)
			continue
		}
		valid.Filters = append(valid.Filters, f)
	}
	return valid
}

// encodable returns h5.ErrParam if a filter cannot encode a chunk of n bytes because of its
// parameters. The filters of libhdf5 itself are not tried, because Sound and leveled check them.
func encodable(f h5file.Filter, n uint64) error {
	const plugins = 256 // the lower numbers are those of libhdf5
	if f.ID < plugins {
		return nil
	}
	p, err := filter.New(h5types.Filters(&h5file.Pipeline{Filters: []h5file.Filter{f}}), filter.Options{})
	if err == nil {
		_, _, err = p.Encode(make([]byte, p.Bound(int(format.Size(n)))), make([]byte, n))
	}
	if errors.Is(err, h5.ErrParam) {
		return err
	}
	return nil
}

// chunkShape returns the shape of the chunks of a layout, without the element size.
func chunkShape(l *h5file.Layout) []int64 {
	shape := make([]int64, len(l.Dims)-1)
	for i := range shape {
		shape[i] = format.Size(l.Dims[i])
	}
	return shape
}

// fillNever is the time of a fill value that is never written. Scale-offset has it in its
// parameters nevertheless.
const fillNever = 1

// fillOf returns the fill value of a dataset, or nil if there is none or if the type contains
// references or data of variable length.
func fillOf(o *h5file.Object, t h5.Datatype) []byte {
	if v := o.FillValue(); v != nil && t.Plain() && len(v.Value) == t.Size {
		return v.Value
	}
	return nil
}

// dense reports whether an object needs dense storage for its attributes. o may be nil.
func dense(o *h5file.Object) bool {
	if o == nil {
		return false
	}
	n, largest := 0, 0
	for a, err := range o.Attributes() {
		if err == nil {
			n, largest = n+1, max(largest, len(a.Value))
		}
	}
	return h5types.Dense(n, int64(largest))
}

// attributes copies the attributes that can be read.
func (s *source) attributes(at string, to h5.Object, o *h5file.Object) {
	for a, err := range o.Attributes() {
		if err != nil {
			s.lost(at, "attributes", err)
			continue
		}
		write := func(to h5.Object) error {
			if err := s.attribute(at, to, a); err != nil {
				s.lost(at, "attribute "+a.Name, err)
			}
			return nil
		}
		if refers(a.Type) {
			s.later(at, write)
		} else {
			_ = write(to) // write has reported the error
		}
	}
}

func (s *source) attribute(at string, to h5.Object, a *h5file.Attribute) error {
	if a.Type == nil || a.Space == nil {
		return errors.New("missing datatype or dataspace")
	}
	t, err := h5types.Datatype(a.Type)
	if err != nil {
		return err
	}
	b := h5.Attribute{Name: a.Name, Datatype: t, Space: h5types.Dataspace(a.Space)}
	n := b.Space.NumElems()
	if n < 0 || n > int64(len(a.Value)) {
		return fmt.Errorf("%d elements in %d bytes", n, len(a.Value))
	}
	e, err := s.build(t, a.Type, a.Value, n)
	if err != nil {
		return err
	}
	if e.lost > 0 {
		s.r.LostObjects++
		s.corrupt = true
		s.r.note(Lost, at, "attribute "+a.Name, -1, "%d values: %v", e.lost, e.err)
	} else if e.guessed {
		s.r.note(Guessed, at, "attribute "+a.Name, -1, "%v", e.err)
	}
	if n > 0 {
		b.Values = e.b.Values()
	}
	return to.WriteAttribute(b)
}
