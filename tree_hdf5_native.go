// CopyTree from HDF5 to HDF5. Package h5copy copies the groups, links, committed datatypes,
// attributes and references; CopyTree creates the arrays and copies their elements.

package hyperslab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// hdf5Copy copies a trusted HDF5 file, or a group of it, to HDF5. The h5copy.Copier runs twice: in
// a dry run it finds the references and attributes that cannot be kept.
//
// The Copier follows hard links in creation order, but Walk lists an object at the first of its
// paths in the order of names. Therefore each path of the Copier is mapped to the path of Walk.
type hdf5Copy struct {
	c      *treeCopy
	root   string                    // path of the source's root, "" for "/"
	arrays map[string]*treeItem      // by path in the source
	copied map[string]bool           // paths in the source of all objects and links to create
	first  map[string]string         // by path of a further hard link: the path of its object
	attrs  map[string][]ndarray.Attr // by path: those of an object that has others of an unknown type

	copier *h5copy.Copier
	dst    *h5.File // nil in the dry run
	labels []axisLabel
	types  []string // paths of committed datatypes in the source
}

// axisLabel is the label of a dimension whose scale is not copied.
type axisLabel struct {
	from, path string // of the array in the source and in the target
	axis       int
	name       string
}

func newHDF5Copy(c *treeCopy) *hdf5Copy {
	return &hdf5Copy{c: c, root: c.source.prefix(), attrs: make(map[string][]ndarray.Attr)}
}

// planEntry plans the copy of an object, unless that depends on its element type. It reports
// whether it did.
func (n *hdf5Copy) planEntry(item *treeItem) bool {
	e := item.entry
	switch {
	case e.Kind == Array && errors.Is(e.Err, ndarray.ErrType):
		item.asStored = true
		n.c.addArray(item)
	case e.Err != nil:
		return false
	case e.Kind == Group:
		n.c.groups = append(n.c.groups, item)
		n.c.stats.Groups++
	case e.Kind == Type:
		n.types = append(n.types, e.Path)
	case e.Kind == Link:
		n.c.links = append(n.c.links, item)
		n.c.stats.Links++
	default:
		return false
	}
	return true
}

// plan records the losses and changes that a dry run finds.
func (n *hdf5Copy) plan(ctx context.Context) error {
	c := n.c
	n.arrays, n.copied, n.first = make(map[string]*treeItem), make(map[string]bool), make(map[string]string)
	for _, item := range c.arrays {
		n.arrays[item.from] = item
	}
	for _, list := range [][]*treeItem{c.groups, c.arrays, c.links} {
		for _, item := range list {
			n.copied[item.from] = true
		}
	}
	for _, at := range n.types {
		n.copied[at] = true
	}
	for _, item := range c.links {
		if item.entry.LinkKind == h5.HardLink.String() {
			n.first[item.from] = strings.TrimSuffix(item.entry.Target, "/")
		}
	}
	if err := n.planScales(); err != nil {
		return err
	}
	if err := n.run(ctx, ""); err != nil {
		return err
	}
	c.arrays = slices.DeleteFunc(c.arrays, func(item *treeItem) bool { return c.leftOut(item.from) })
	c.stats.Types += n.copier.Types
	c.stats.Attrs += n.copier.Attributes
	for _, p := range n.copier.Problems {
		from, what := n.problem(p)
		if p.Kind == h5copy.Dangling {
			c.report(from, what, "to deleted objects", "they become null")
		} else {
			c.lose(from, what, p.Err)
		}
	}
	return nil
}

// problem returns the path in the source and the name of the part.
func (n *hdf5Copy) problem(p h5copy.Problem) (from, what string) {
	if from = n.from(p.Path); p.Path == h5copy.Nameless {
		from = "a datatype without a name"
	}
	if what = p.What; what == "values" || what == "fill value" {
		what = "references"
	}
	return from, what
}

// write writes the new file.
func (n *hdf5Copy) write(ctx context.Context, file string) (err error) {
	directory, err := targetDirectory(file)
	if err != nil {
		return err
	}
	g := n.c.source.hdf5().Root()
	if n.root != "" {
		if g, err = g.OpenGroup(n.root); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	if n.dst, err = h5copy.CreateLike(file, g); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.dst.Close()) }()
	found := n.copier.Problems
	if err := n.run(ctx, directory); err != nil {
		return err
	}
	for _, p := range n.copier.Problems { // references to objects that could not be read
		if !slices.ContainsFunc(found, func(x h5copy.Problem) bool { return x.Kind == p.Kind && x.Path == p.Path && x.What == p.What }) {
			from, what := n.problem(p)
			n.c.unreadablePart(from, what, p.Err)
		}
	}
	return n.labelAxes()
}

// run copies the tree, or makes a dry run.
func (n *hdf5Copy) run(ctx context.Context, directory string) error {
	o := h5copy.Options{
		Directory: directory, AllowMissing: true, ExternalDir: n.c.source.open.ExternalDir, WithoutTimes: true,
		Exclude: func(at string) bool {
			i := strings.LastIndexByte(at, '/')
			return !n.copied[n.listed(n.root+at[:i])+at[i:]]
		},
		Dataset: n.dataset, UnknownAttributes: n.unknownAttributes,
	}
	if n.c.options.SkipUnreadable {
		o.Unreadable = func(at string, err error) bool { return n.unreadable(ctx, at, err) }
	}
	n.copier = h5copy.New(n.c.source.hdf5(), n.dst, o)
	err := n.copier.Group(ctx, "/"+n.root)
	if e, ok := errors.AsType[*h5copy.PathError](err); ok {
		return fmt.Errorf("%s: %w", n.from(e.Path), e.Err)
	}
	n.c.brokenLinks()
	return err
}

// from returns the path of an object in the source. at is its path in the target.
func (n *hdf5Copy) from(at string) string {
	return cmp.Or(n.listed(n.root+strings.TrimSuffix(at, "/")), "/")
}

// listed returns the path at which Walk lists the object at a path of the source; "" for "/".
func (n *hdf5Copy) listed(at string) string {
	if len(n.first) == 0 {
		return at
	}
	from := ""
	for _, name := range strings.Split(at, "/")[1:] {
		from += "/" + name
		if first, ok := n.first[from]; ok {
			from = first
		}
	}
	return from
}

// unreadable records an object, or a part of an object, that cannot be read.
func (n *hdf5Copy) unreadable(ctx context.Context, at string, err error) bool {
	if e, ok := errors.AsType[*h5copy.PathError](err); ok {
		err = e.Err
	}
	from := n.from(at)
	p, part := errors.AsType[*h5copy.PartError](err)
	if part {
		err = p.Err
	}
	if !n.c.skips(ctx, err) {
		return false
	}
	if part {
		same := func(x Problem) bool { return x.Path == from && x.What == p.Part }
		if !slices.ContainsFunc(n.c.stats.Unreadable, same) {
			n.c.unreadablePart(from, p.Part, err)
		}
		return true
	}
	what := Type
	if item := n.arrays[from]; item != nil {
		what = Array
		n.c.stats.Arrays--
		if n.dst == nil {
			n.c.stats.Bytes -= item.bytes
		}
	}
	if what == Type && n.dst != nil {
		n.c.stats.Types--
	}
	n.c.unreadable(from, string(what), err)
	n.copied[from] = false
	return true
}

// unknownAttributes copies the attributes of an object, except those of an unknown type.
func (n *hdf5Copy) unknownAttributes(ctx context.Context, o, made h5.Object, at string) error {
	if made != nil {
		return hdf5.WriteAttrs(made, n.attrs[at])
	}
	attrs, err := hdf5.ReadAttrs(ctx, o)
	if err == nil {
		n.attrs[at] = n.c.keep(n.from(at), attrs, false)
	}
	return err
}

// dataset creates an array and copies its elements. The Copier copies elements with references.
func (n *hdf5Copy) dataset(ctx context.Context, _ *h5.Dataset, info h5.DatasetInfo, at string) (made bool, err error) {
	item := n.arrays[n.from(at)]
	refs := h5copy.Refers(info.Datatype)
	made = !item.asStored && !(refs && info.FillKind == h5.FillValue)
	if n.dst == nil {
		switch {
		case !made:
		case info.Layout == h5.Virtual:
			n.c.report(item.from, "layout", "virtual", "the elements are stored in the target")
		case len(info.External) > 0:
			n.c.report(item.from, "layout", "external files", "the elements are stored in the target")
		}
		if made && item.keepsType && info.Datatype.Committed != 0 {
			_, err = n.copier.Committed(info.Datatype)
		}
		return made, err
	}
	o := hdf5.CreateOptions{}
	if item.keepsType {
		o.Like = &info
		if len(info.External) > 0 {
			info.Alloc = h5.AllocDefault // the elements move into the file
		}
		info.Mappings, info.External, info.Times = nil, nil, false
		if info.Datatype.Committed != 0 {
			if o.Committed, err = n.copier.Committed(info.Datatype); err != nil {
				return false, err
			}
			defer func() { err = errors.Join(err, o.Committed.Close()) }()
		}
	}
	create := func(item *treeItem) (ndarray.Backend, error) {
		spec := *item.spec
		spec.AxisNames, spec.Comment = nil, ""
		return hdf5.CreateIn(n.dst, at, spec, &o)
	}
	var failed error
	err = n.c.count(item, func(progress func(ndarray.Progress)) (err error) {
		var b ndarray.Backend
		switch {
		case !made:
		case refs:
			if b, err = create(item); err == nil {
				err = b.Close()
			}
		default:
			err = n.c.copyElements(ctx, item, create, progress)
		}
		if err != nil && n.c.skips(ctx, err) {
			failed, err = err, nil
		}
		return err
	})
	return made, cmp.Or(err, failed)
}

// planScales reports dimension scales that are not copied.
func (n *hdf5Copy) planScales() error {
	for _, item := range n.c.arrays {
		if item.asStored || item.spec.AxisNames == nil {
			continue
		}
		axes, err := dimscale.Read(n.c.source.hdf5().Root(), item.from, len(item.spec.Shape))
		if err != nil {
			return err
		}
		for k, axis := range axes {
			kept := 0
			for _, at := range axis.Scales {
				if n.arrays[n.listed(at)] != nil {
					kept++
				} else {
					n.c.report(item.from, fmt.Sprintf("scale of dimension %d", k), at, "the copy does not contain it; its name is kept as dimension name")
				}
			}
			if kept == 0 && len(axis.Scales) > 0 && axis.Label == "" {
				n.labels = append(n.labels, axisLabel{item.from, item.path, k, item.spec.AxisNames[k]})
			}
		}
	}
	return nil
}

// labelAxes writes the labels of dimensions whose scales are not copied.
func (n *hdf5Copy) labelAxes() error {
	for _, x := range n.labels {
		if n.c.leftOut(x.from) {
			continue
		}
		d, err := n.dst.Root().OpenDataset(x.path)
		if err == nil {
			err = errors.Join(d.SetAxisLabel(x.axis, x.name), d.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: label of dimension %d: %w", x.from, x.axis, err)
		}
	}
	return nil
}

// targetDirectory returns the directory of the new file, without symbolic links.
func targetDirectory(file string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
