// Copies of HDF5 trees to HDF5. Package h5copy copies the groups, links, committed datatypes,
// attributes and references; the copy of the tree creates the arrays and copies their elements.

package h5tree

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
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// nativeCopy copies a trusted HDF5 file, or a group of it, to HDF5. The h5copy.Copier runs twice:
// in a dry run it finds the references and attributes that cannot be kept.
//
// The Copier follows hard links in creation order, but Walk lists an object at the first of its
// paths in the order of names. Therefore each path of the Copier is mapped to the path of Walk.
type nativeCopy struct {
	c      tree.Copier
	src    *h5.File
	root   string                    // path of the source's root, "" for "/"
	arrays map[string]*tree.Item     // by path in the source
	copied map[string]bool           // paths in the source of all objects and links to create
	first  map[string]string         // by path of a further hard link: the path of its object
	attrs  map[string][]ndarray.Attr // by path: those of an object that has others of an unknown type

	copier *h5copy.Copier
	dst    *h5.File // nil in the dry run
	labels []axisLabel
	types  []string        // paths of committed datatypes in the source
	parts  map[h5part]bool // of objects that are recorded as unreadable
}

// h5part is a part of an object of the source.
type h5part struct{ from, what string }

// axisLabel is the label of a dimension whose scale is not copied.
type axisLabel struct {
	from, path string // of the array in the source and in the target
	axis       int
	name       string
}

func newNative(c tree.Copier, f *h5.File) *nativeCopy {
	return &nativeCopy{c: c, src: f, root: c.Source().Prefix(), attrs: make(map[string][]ndarray.Attr), parts: make(map[h5part]bool)}
}

// planEntry plans the copy of an object, unless that depends on its element type. It reports
// whether it did.
func (n *nativeCopy) planEntry(item *tree.Item) bool {
	e, plan := item.Entry, n.c.Plan()
	switch {
	case e.Kind == tree.Array && errors.Is(e.Err, ndarray.ErrType):
		item.AsStored = true
		n.c.AddArray(item)
	case e.Err != nil:
		return false
	case e.Kind == tree.Group:
		plan.Groups = append(plan.Groups, item)
		plan.Counts.Groups++
	case e.Kind == tree.Type:
		n.types = append(n.types, e.Path)
	case e.Kind == tree.Link:
		plan.Links = append(plan.Links, item)
		plan.Counts.Links++
	default:
		return false
	}
	return true
}

// plan records the losses and changes that a dry run finds.
func (n *nativeCopy) plan(ctx context.Context) error {
	c, plan := n.c, n.c.Plan()
	n.arrays, n.copied, n.first = make(map[string]*tree.Item), make(map[string]bool), make(map[string]string)
	for _, item := range plan.Arrays {
		n.arrays[item.From] = item
	}
	for _, list := range [][]*tree.Item{plan.Groups, plan.Arrays, plan.Links} {
		for _, item := range list {
			n.copied[item.From] = true
		}
	}
	for _, at := range n.types {
		n.copied[at] = true
	}
	for _, item := range plan.Links {
		if item.Entry.LinkKind == h5.HardLink.String() {
			n.first[item.From] = strings.TrimSuffix(item.Entry.Target, "/")
		}
	}
	if err := n.planScales(); err != nil {
		return err
	}
	if err := n.run(ctx, ""); err != nil {
		return err
	}
	plan.Arrays = slices.DeleteFunc(plan.Arrays, func(item *tree.Item) bool { return c.LeftOut(item.From) })
	plan.Counts.Types += n.copier.Types
	plan.Counts.Attrs += n.copier.Attributes
	for _, p := range n.copier.Problems {
		from, what := n.problem(p)
		if p.Kind == h5copy.Dangling {
			c.Report(from, what, "to deleted objects", "they become null")
		} else {
			c.Lose(from, what, p.Err)
		}
	}
	return nil
}

// problem returns the path in the source and the name of the part.
func (n *nativeCopy) problem(p h5copy.Problem) (from, what string) {
	if from = n.from(p.Path); p.Path == h5copy.Nameless {
		from = "a datatype without a name"
	}
	if what = p.What; what == "values" || what == "fill value" {
		what = "references"
	}
	return from, what
}

// write writes the new file.
func (n *nativeCopy) write(ctx context.Context, file string) (err error) {
	directory, err := targetDirectory(file)
	if err != nil {
		return err
	}
	g := n.src.Root()
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
			n.c.UnreadablePart(from, what, p.Err)
		}
	}
	return errors.Join(n.retype(), n.labelAxes())
}

// retype writes the attributes again that have another type than in the source.
func (n *nativeCopy) retype() error {
	for _, item := range n.c.Plan().Arrays {
		if len(item.Retyped) == 0 || n.c.LeftOut(item.From) {
			continue
		}
		d, err := n.dst.Root().OpenDataset(item.Path)
		if err != nil {
			return fmt.Errorf("%s: %w", item.From, err)
		}
		for _, a := range item.Retyped {
			err = cmp.Or(err, d.DeleteAttribute(a.Name))
		}
		if err == nil {
			err = hdf5.WriteAttrs(d, item.Retyped)
		}
		if err = errors.Join(err, d.Close()); err != nil {
			return fmt.Errorf("%s: attributes of another type: %w", item.From, err)
		}
	}
	return nil
}

// run copies the tree, or makes a dry run.
func (n *nativeCopy) run(ctx context.Context, directory string) error {
	o := h5copy.Options{
		Directory: directory, AllowMissing: true, ExternalDir: n.c.Source().ExternalDir, WithoutTimes: true,
		Exclude: func(at string) bool {
			i := strings.LastIndexByte(at, '/')
			return !n.copied[n.listed(n.root+at[:i])+at[i:]]
		},
		Dataset: n.dataset, UnknownAttributes: n.unknownAttributes,
	}
	if n.c.Plan().SkipUnreadable {
		o.Unreadable = func(at string, err error) bool { return n.unreadable(ctx, at, err) }
	}
	n.copier = h5copy.New(n.src, n.dst, o)
	err := n.copier.Group(ctx, "/"+n.root)
	if e, ok := errors.AsType[*h5copy.PathError](err); ok {
		return fmt.Errorf("%s: %w", n.from(e.Path), e.Err)
	}
	n.c.BrokenLinks()
	return err
}

// from returns the path of an object in the source. at is its path in the target.
func (n *nativeCopy) from(at string) string {
	return cmp.Or(n.listed(n.root+strings.TrimSuffix(at, "/")), "/")
}

// listed returns the path at which Walk lists the object at a path of the source; "" for "/".
func (n *nativeCopy) listed(at string) string {
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
func (n *nativeCopy) unreadable(ctx context.Context, at string, err error) bool {
	if e, ok := errors.AsType[*h5copy.PathError](err); ok {
		err = e.Err
	}
	from := n.from(at)
	p, part := errors.AsType[*h5copy.PartError](err)
	if part {
		err = p.Err
	}
	if !n.c.Skips(ctx, err) {
		return false
	}
	if part {
		if part := (h5part{from, p.Part}); !n.parts[part] { // the dry run may have recorded it
			n.parts[part] = true
			n.c.UnreadablePart(from, p.Part, err)
		}
		return true
	}
	what := tree.Type
	if item := n.arrays[from]; item != nil {
		what = tree.Array
		n.c.Plan().Counts.Arrays--
		if n.dst == nil {
			n.c.Plan().Counts.Bytes -= item.Bytes
		}
	}
	if what == tree.Type && n.dst != nil {
		n.c.Plan().Counts.Types--
	}
	n.c.Unreadable(from, string(what), err)
	n.copied[from] = false
	return true
}

// unknownAttributes copies the attributes of an object, except those of an unknown type.
func (n *nativeCopy) unknownAttributes(ctx context.Context, o, made h5.Object, at string) error {
	if made != nil {
		return hdf5.WriteAttrs(made, n.attrs[at])
	}
	attrs, err := hdf5.ReadAttrs(ctx, o)
	if err == nil {
		n.attrs[at] = n.c.Keep(n.from(at), attrs, false)
	}
	return err
}

// dataset creates an array and copies its elements. The Copier copies elements with references.
func (n *nativeCopy) dataset(ctx context.Context, _ *h5.Dataset, info h5.DatasetInfo, at string) (made bool, err error) {
	item := n.arrays[n.from(at)]
	refs := h5copy.Refers(info.Datatype)
	made = !item.AsStored && !(refs && info.FillKind == h5.FillValue)
	if n.dst == nil {
		switch {
		case !made:
		case info.Layout == h5.Virtual:
			n.c.Report(item.From, "layout", "virtual", "the elements are stored in the target")
		case len(info.External) > 0:
			n.c.Report(item.From, "layout", "external files", "the elements are stored in the target")
		}
		if made && item.KeepsType && info.Datatype.Committed != 0 {
			_, err = n.copier.Committed(info.Datatype)
		}
		return made, err
	}
	o := hdf5.CreateOptions{}
	if item.KeepsType {
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
	create := func(item *tree.Item) (ndarray.Backend, error) {
		spec := *item.Spec
		spec.AxisNames, spec.Comment = nil, ""
		return hdf5.CreateIn(n.dst, at, spec, &o)
	}
	var failed error
	err = n.c.Count(item, func(progress func(ndarray.Progress)) (err error) {
		var b ndarray.Backend
		switch {
		case !made:
		case refs:
			if b, err = create(item); err == nil {
				err = b.Close()
			}
		default:
			err = n.c.CopyElements(ctx, item, create, progress)
		}
		if err != nil && n.c.Skips(ctx, err) {
			failed, err = err, nil
		}
		return err
	})
	return made, cmp.Or(err, failed)
}

// planScales reports dimension scales that are not copied.
func (n *nativeCopy) planScales() error {
	for _, item := range n.c.Plan().Arrays {
		if item.AsStored || item.Spec.AxisNames == nil {
			continue
		}
		axes, err := dimscale.Read(n.src.Root(), item.From, len(item.Spec.Shape))
		if err != nil {
			return err
		}
		for k, axis := range axes {
			kept := 0
			for _, at := range axis.Scales {
				if n.arrays[n.listed(at)] != nil {
					kept++
				} else {
					n.c.Report(item.From, fmt.Sprintf("scale of dimension %d", k), at, "the copy does not contain it; its name is kept as dimension name")
				}
			}
			if kept == 0 && len(axis.Scales) > 0 && axis.Label == "" {
				n.labels = append(n.labels, axisLabel{item.From, item.Path, k, item.Spec.AxisNames[k]})
			}
		}
	}
	return nil
}

// labelAxes writes the labels of dimensions whose scales are not copied.
func (n *nativeCopy) labelAxes() error {
	for _, x := range n.labels {
		if n.c.LeftOut(x.from) {
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
