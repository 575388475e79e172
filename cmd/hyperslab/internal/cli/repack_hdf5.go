// An HDF5 file written anew: all objects, links and attributes as they are, datasets
// perhaps with other chunks and compression, and no room lost.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// repacker writes one file anew. It goes through the source twice, with the same
// steps: first to find what it could not keep, then to write.
type repacker struct {
	store    *storeFlags
	job      *jobFlags
	memory   int64
	progress func(bytes int64) // of elements, read so far

	file     string
	src, dst *h5.File          // dst is nil in the first pass
	placed   map[uint64]string // where an object is, by its address in the source
	attached []attachment

	guess *forecast // of a dry run
	was   int64     // bytes that the datasets take that would be rewritten

	lost      []formats.Problem
	told      []string // what goes because it is asked for
	unfit     []string // datasets that cannot be stored as asked, and why
	bytes     int64    // of elements that are read and written
	done      int64
	rewritten int
	kept      int // datasets copied as they are stored
}

// attachment is a dimension scale of an axis.
type attachment struct {
	dataset string
	axis    int
	scale   uint64 // its address in the source
}

// scaleAttributes hold references, and are made anew by attaching the scales.
var scaleAttributes = []string{"DIMENSION_LIST", "REFERENCE_LIST"}

func (r *repacker) open(file string) (err error) {
	r.file, r.placed = file, make(map[uint64]string)
	if r.src, err = h5.Open(file, h5.ReadOnly); err != nil {
		return hdf5.Translate(err)
	}
	return nil
}

// plan finds what cannot be kept, and how much there is to do.
func (r *repacker) plan(ctx context.Context) error { return r.pass(ctx) }

// write makes the new file.
func (r *repacker) write(ctx context.Context, file string) (err error) {
	if r.dst, err = h5.Create(file, nil); err != nil {
		return hdf5.Translate(err)
	}
	defer func() { err = errors.Join(err, hdf5.Translate(r.dst.Close())) }()
	r.placed, r.attached, r.lost, r.bytes, r.rewritten, r.kept = make(map[uint64]string), nil, nil, 0, 0, 0
	if err := r.pass(ctx); err != nil {
		return err
	}
	for _, a := range r.attached {
		if err := r.attach(a); err != nil {
			return ndarray.Wrap("attach the scales of", r.file+":"+a.dataset, hdf5.Translate(err))
		}
	}
	return nil
}

func (r *repacker) pass(ctx context.Context) error {
	info, err := r.src.Root().Stat()
	if err != nil {
		return hdf5.Translate(err)
	}
	r.placed[info.Address] = "/"
	if err := r.beside(r.src.Root(), "/"); err != nil {
		return err
	}
	return r.group(ctx, r.src.Root(), "/")
}

// group goes through the links of a group.
func (r *repacker) group(ctx context.Context, g *h5.Group, at string) error {
	for link, err := range g.Links() {
		if err != nil {
			return hdf5.Translate(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(at, link.Name)
		if err := r.link(ctx, g, link, name); err != nil {
			return ndarray.Wrap("repack", r.file+":"+name, hdf5.Translate(err))
		}
	}
	return nil
}

func (r *repacker) link(ctx context.Context, g *h5.Group, link h5.Link, name string) error {
	if link.Kind == h5.HardLink {
		if first, ok := r.placed[link.Address]; ok {
			return r.make(func(root *h5.Group) error { return root.LinkHard(name, first) })
		}
		r.placed[link.Address] = name
		return r.object(ctx, g, link.Name, name)
	}
	return r.make(func(root *h5.Group) error {
		switch link.Kind {
		case h5.SoftLink:
			return root.LinkSoft(name, link.Target)
		case h5.ExternalLink:
			return root.LinkExternal(name, link.File, link.Target)
		}
		return root.LinkUser(name, link.Class, link.Value)
	})
}

// make does something in the new file, in the pass that writes.
func (r *repacker) make(do func(root *h5.Group) error) error {
	if r.dst == nil {
		return nil
	}
	return do(r.dst.Root())
}

func (r *repacker) object(ctx context.Context, g *h5.Group, link, name string) (err error) {
	o, err := g.OpenObject(link)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	switch o := o.(type) {
	case *h5.Group:
		err = r.make(func(root *h5.Group) error {
			made, err := root.CreateGroup(name)
			if err != nil {
				return err
			}
			return made.Close()
		})
		if err = errors.Join(err, r.beside(o, name)); err != nil {
			return err
		}
		return r.group(ctx, o, name)
	case *h5.Dataset:
		if err := r.dataset(ctx, o, name); err != nil {
			return err
		}
	default:
		if err := r.copyObject(name); err != nil {
			return err
		}
	}
	return r.attributes(o, name)
}

// dataset copies a dataset as it is stored, or reads and writes it if it shall be
// stored otherwise.
func (r *repacker) dataset(ctx context.Context, d *h5.Dataset, name string) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	if refers(info.Datatype) {
		r.lose(name, "values", errors.New("they refer to places in the file"))
		return nil
	}
	for axis := range info.Space.Dims {
		for scale, err := range d.Scales(axis) {
			if err != nil {
				return err
			}
			r.attached = append(r.attached, attachment{name, axis, scale.Address})
		}
	}
	description, err := hdf5.Describe(d, name)
	kept := errors.Is(err, errors.ErrUnsupported) || info.Datatype.Committed != 0 || info.Layout == h5.Virtual || len(info.External) > 0
	if err != nil && !kept {
		return err
	}
	if kept || !r.store.asked() {
		r.kept++
		return r.copyObject(name)
	}
	spec, changes, err := r.spec(description.Meta)
	if err != nil {
		return err
	}
	if !changes {
		r.kept++
		return r.copyObject(name)
	}
	if err := cmp.Or(r.job.fit(r.memory, r.file+":"+name, description.Meta), r.job.fit(r.memory, r.file+":"+name, specMeta(spec))); err != nil {
		return err
	}
	r.rewritten++
	r.bytes += description.Meta.NumElems() * int64(spec.DType.Size)
	if r.dst == nil {
		for _, f := range encodingLost(description.Meta, spec.Compression, formats.HDF5) {
			r.told = append(r.told, name+": "+f.String())
		}
	}
	if r.dst == nil && r.guess != nil {
		r.was += description.Storage.StoredBytes
		return r.guess.addAt(ctx, formats.Location{File: r.file, Object: name}.String(), spec, formats.HDF5)
	}
	if r.dst == nil {
		return nil
	}
	return r.rewrite(ctx, name, spec)
}

// spec is how a dataset shall be stored, and whether that is not as it is. A chunk
// shape counts for datasets with as many axes.
func (r *repacker) spec(m ndarray.Meta) (spec ndarray.Spec, changes bool, err error) {
	if m.Null || len(m.Shape) == 0 || m.NumElems() == 0 {
		return spec, false, nil // is not chunked, and takes no room
	}
	store := r.store.forRank(len(m.Shape))
	if spec, err = store.spec(m, formats.HDF5); errors.Is(err, errors.ErrUnsupported) { // a codec that is not for these elements
		if r.dst == nil {
			r.unfit = append(r.unfit, err.Error())
		}
		return spec, false, nil
	} else if err != nil {
		return spec, false, err
	}
	was := m.Spec()
	for i, n := range spec.ChunkShape { // as hdf5.Create will clip them
		if spec.MaxShape == nil && n > spec.Shape[i] {
			spec.ChunkShape[i] = spec.Shape[i]
		}
	}
	spec.AxisNames = nil // the attributes that say them are copied
	changes = !slices.Equal(spec.ChunkShape, was.ChunkShape) || !reflect.DeepEqual(spec.MaxShape, was.MaxShape) ||
		!sameCompression(spec.Compression, was.Compression)
	return spec, changes, nil
}

func sameCompression(a, b *ndarray.Compression) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.String() == b.String()
}

func (r *repacker) rewrite(ctx context.Context, name string, spec ndarray.Spec) (err error) {
	src, err := formats.Open(ctx, formats.Location{File: r.file, Object: name}.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	b, err := hdf5.CreateIn(r.dst, name, spec, nil)
	if err != nil {
		return err
	}
	dst, err := ndarray.New(b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	before := r.done
	_, err = ndarray.Copy(ctx, dst, src, &ndarray.CopyOptions{Workers: r.job.jobs, Memory: r.memory, Progress: func(p ndarray.Progress) {
		r.done = before + p.DoneBytes
		r.progress(r.done)
	}})
	return err
}

// copyObject copies a dataset or a committed datatype without its attributes, its
// chunks as they are stored.
func (r *repacker) copyObject(name string) error {
	return r.make(func(root *h5.Group) error {
		return r.src.Root().CopyObject(name, root, name, &h5.CopyOptions{WithoutAttributes: true, MergeTypes: true})
	})
}

// beside copies what stands beside the members of a group.
func (r *repacker) beside(g *h5.Group, name string) error {
	text, err := g.Comment()
	if err == nil && text != "" {
		err = r.make(func(root *h5.Group) error { return setComment(root, name, text) })
	}
	return errors.Join(err, r.attributes(g, name))
}

func setComment(g *h5.Group, name, text string) (err error) {
	if name != "/" {
		if g, err = g.OpenGroup(name); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	return g.SetComment(text)
}

// attributes copies the attributes of an object.
func (r *repacker) attributes(o h5.Object, name string) (err error) {
	for info, err := range o.Attributes() {
		if err != nil {
			return err
		}
		if slices.Contains(scaleAttributes, info.Name) {
			continue
		}
		if refers(info.Datatype) {
			r.lose(name, "attribute "+info.Name, errors.New("it refers to places in the file"))
			continue
		}
		err := r.make(func(root *h5.Group) (err error) {
			attr, err := o.ReadAttribute(info.Name)
			if err != nil {
				return err
			}
			to, err := root.OpenObject(name)
			if err != nil {
				return err
			}
			err = to.WriteAttribute(attr)
			if name != "/" {
				err = errors.Join(err, to.Close())
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("attribute %s: %w", info.Name, err)
		}
	}
	return nil
}

func (r *repacker) attach(a attachment) (err error) {
	at, ok := r.placed[a.scale]
	if !ok {
		return fmt.Errorf("%w: a scale of axis %d has no name in the file", errors.ErrUnsupported, a.axis)
	}
	d, err := r.dst.Root().OpenDataset(a.dataset)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	scale, err := r.dst.Root().OpenDataset(at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scale.Close()) }()
	return d.AttachScale(a.axis, scale)
}

func (r *repacker) lose(name, what string, err error) {
	r.lost = append(r.lost, formats.Problem{Path: name, What: what, Err: err})
}

// refers reports whether elements of a type hold references, which mean something
// in the file alone in which they were made.
func refers(t h5.Datatype) bool {
	if t.Class == h5.Reference || t.Base != nil && refers(*t.Base) {
		return true
	}
	return slices.ContainsFunc(t.Members, func(m h5.Member) bool { return m.Type != nil && refers(*m.Type) })
}
