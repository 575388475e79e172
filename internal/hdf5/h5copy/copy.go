// The walk through the source file.

package h5copy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
)

// Options are the options of a Copier.
type Options struct {
	// Directory is the absolute path of the directory that the new file will be in. Names of other
	// files that are relative to the source file are rewritten to be relative to Directory. ""
	// keeps them unchanged.
	Directory string

	// AllowMissing copies virtual datasets and datasets with external files if those files do
	// not exist. Without it they are problems of kind Missing.
	AllowMissing bool

	// ExternalDir is the directory of external files with relative names; "" means the working
	// directory. The new file keeps the names.
	ExternalDir string

	// Follow copies objects outside the copied part that references refer to. Such objects have no
	// name in the new file. Without Follow these references become null.
	Follow bool

	// Exclude reports whether the object or link with that path in the new file is left out, with
	// everything below it. A nil Exclude leaves out no object.
	Exclude func(path string) bool

	// Unreadable is called for an object that cannot be copied. If it returns true, the object is
	// left out. A *PartError is the error of a part, and only that part is left out. If Unreadable
	// is nil, the copy fails.
	Unreadable func(path string, err error) bool

	// Dataset may create a dataset at a path of the new file and write its elements. The Copier
	// then adds the comment and the attributes, and the elements if they hold references. Dataset
	// returns false to leave the dataset to the Copier. It is also called in a dry run.
	Dataset func(ctx context.Context, d *h5.Dataset, info h5.DatasetInfo, path string) (bool, error)

	// UnknownAttributes copies the attributes of an object, because libhdf5 does not list them: one
	// has an unknown type. made is the object in the new file, or nil in a dry run. If
	// UnknownAttributes is nil, such an object cannot be copied.
	UnknownAttributes func(ctx context.Context, o, made h5.Object, path string) error

	// WithoutTimes creates groups and datasets that do not record when they were created and
	// changed.
	WithoutTimes bool

	// Recreate creates all datasets again, in the formats of the new file. Stored chunks are copied
	// without decompression. Otherwise datasets keep their format.
	Recreate bool
}

// Kind is the kind of a Problem.
type Kind int

// Kinds of problems.
const (
	Dangling Kind = iota + 1 // a reference to a deleted object: it becomes null
	Outside                  // a reference to an object that is not copied: it becomes null
	Missing                  // a file that a dataset needs does not exist
)

// Problem is something that cannot be copied.
type Problem struct {
	Kind Kind
	Path string // of the object
	What string // which part of it
	Err  error
}

// Copier copies objects of one file into another one, or into the same one.
type Copier struct {
	src   *h5.File
	out   *Writer
	o     Options
	whole bool // the whole file is copied
	short bool // addresses of the source have fewer than 8 bytes
	sizes bool // addresses and lengths have other sizes in the new file; see compareSizes

	Problems   []Problem
	Types      int // committed datatypes, copied or found in a dry run
	Attributes int // attributes, without those that link datasets and dimension scales

	reported map[Problem]bool // without Err
	targets  map[h5.Token]uint64
	temp     string // group for objects that have no name yet, "" if there is none
	numTemps int
}

// New returns a Copier from src to dst. A nil dst makes it a dry run that only finds problems.
func New(src, dst *h5.File, o Options) *Copier {
	return &Copier{src: src, out: NewWriter(dst), o: o, targets: make(map[h5.Token]uint64), reported: make(map[Problem]bool)}
}

// File copies the whole file. The new file must be empty.
func (c *Copier) File(ctx context.Context) error { return c.Group(ctx, "/") }

// Group copies the group at a path to the root group of the new file, which must be empty.
func (c *Copier) Group(ctx context.Context, from string) (err error) {
	if err := c.compareSizes(); err != nil {
		return err
	}
	g := c.src.Root()
	c.whole = strings.Trim(from, "/") == ""
	if !c.whole {
		if g, err = g.OpenGroup(from); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	info, err := g.Stat()
	if err != nil {
		return err
	}
	attrs, err := c.attributes(g)
	if err != nil {
		if err = (&PartError{"attributes", err}); !c.skips("", err) {
			return err
		}
	}
	c.out.Placed[info.Address] = "/"
	if err := c.group(ctx, g, c.out.Root(), "", info.Address, attrs); err != nil {
		return err
	}
	return c.finish(ctx)
}

// compareSizes sets sizes. H5Ocopy copies messages with addresses and lengths as they are, so it
// must not copy objects into a file with other sizes.
func (c *Copier) compareSizes() error {
	if c.out.File == nil || c.same() {
		return nil
	}
	from, err := c.src.Creation()
	if err != nil {
		return err
	}
	to, err := c.out.File.Creation()
	c.short = from.OffsetSize < 8
	c.sizes = from.OffsetSize != to.OffsetSize || from.LengthSize != to.LengthSize
	return err
}

// opens checks that an object which H5Ocopy made, and those below it, open: the sizes of addresses
// and lengths in the file of the source are unknown.
func (c *Copier) opens(path string) (err error) {
	o, err := c.out.Root().OpenObject(path)
	if err != nil {
		return fmt.Errorf("%w: copying from a file with other sizes of addresses or lengths through an external link: %w", errors.ErrUnsupported, err)
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	g, ok := o.(*h5.Group)
	if !ok {
		return nil
	}
	for l, err := range g.LinksIn(h5.ByName) {
		if err == nil && l.Kind == h5.HardLink {
			err = c.opens(strings.TrimSuffix(path, "/") + "/" + l.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Pair is an object and the path of its copy.
type Pair struct{ From, To string }

// Objects copies several objects, each with everything below it, as one set: references, hard
// links, dimension scales and committed datatypes between them are kept. It creates the missing
// groups of the new paths. After an error, failed is the index of the pair that could not be
// copied, or -1 for an error of the set.
func (c *Copier) Objects(ctx context.Context, pairs []Pair) (failed int, err error) {
	if err := c.compareSizes(); err != nil {
		return -1, err
	}
	for i, p := range pairs {
		if err := c.one(ctx, p.From, "/"+strings.Trim(p.To, "/"), pairs); err != nil {
			return i, err
		}
	}
	return -1, c.finish(ctx)
}

// one copies an object of a set, or links to its copy if it is already copied.
func (c *Copier) one(ctx context.Context, from, to string, pairs []Pair) (err error) {
	o, err := c.src.Root().OpenObject(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	info, err := o.Stat()
	if err != nil {
		return err
	}
	root, err := c.src.Root().Stat()
	if err != nil {
		return err
	}
	if info.FileNo != root.FileNo { // the path leads through an external link
		if c.out.File == nil {
			return nil
		}
		if err := c.src.Root().CopyObject(from, c.out.Root(), to, &h5.CopyOptions{ExpandReferences: c.o.Follow}); err != nil {
			return err
		}
		return c.opens(to)
	}
	if c.same() && info.Kind == h5.GroupObject {
		for _, p := range pairs {
			if inside, err := c.inside(info.Address, "/"+strings.Trim(p.To, "/")); err != nil || inside {
				return cmpErr(err, fmt.Errorf("%w: %s is inside the group that is copied", h5.ErrParam, p.To))
			}
		}
	}
	if there := c.out.Placed[info.Address]; there != "" {
		return c.linkTo(info.Address, there, to)
	}
	c.out.Placed[info.Address] = to
	return c.object(ctx, o, info.Address, c.src.Root(), from, c.out.Root(), to, to)
}

// linkTo makes a path of the new file a link to an object that is already copied.
func (c *Copier) linkTo(addr uint64, there, to string) error {
	if c.temporary(there) {
		c.out.Placed[addr] = to
	}
	if c.out.File == nil {
		return nil
	}
	return c.out.Root().LinkHard(to, there)
}

// temporary reports whether a path of the new file leads to an object that has no name yet.
func (c *Copier) temporary(path string) bool {
	return path == Nameless || c.temp != "" && strings.HasPrefix(path, c.temp+"/")
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// inside reports whether the path leads through the group at an address.
func (c *Copier) inside(addr uint64, path string) (bool, error) {
	for i, r := range path {
		if r != '/' || i == 0 {
			continue
		}
		info, err := c.src.Root().ObjectInfo(path[:i])
		if errors.Is(err, h5.ErrNotFound) {
			return false, nil
		}
		if err != nil || info.Address == addr {
			return err == nil, err
		}
	}
	return false, nil
}

func (c *Copier) same() bool { return c.src == c.out.File }

// skips reports whether the object at a path is left out because of err.
func (c *Copier) skips(path string, err error) bool {
	if path == "" {
		path = "/"
	}
	return c.o.Unreadable != nil && c.o.Unreadable(path, err)
}

// problem records a problem, unless it is recorded already.
func (c *Copier) problem(kind Kind, path, what string, err error) {
	p := Problem{Kind: kind, Path: path, What: what}
	if c.reported[p] {
		return
	}
	c.reported[p] = true
	p.Err = err
	c.Problems = append(c.Problems, p)
}

// finish runs the deferred steps and removes the temporary group.
func (c *Copier) finish(ctx context.Context) error {
	if err := c.out.Finish(ctx); err != nil || c.temp == "" {
		return err
	}
	err := c.out.Root().Unlink(c.temp)
	c.temp = ""
	return err
}

// group copies the attributes and links of a group, which exists in the new file.
func (c *Copier) group(ctx context.Context, src, dst *h5.Group, at string, addr uint64, attrs attributes) error {
	if err := c.beside(src, dst, at, addr, attrs); err != nil {
		if err = (&PartError{"attributes", err}); !c.skips(at, err) {
			return err
		}
	}
	info, err := src.Info()
	if err != nil {
		return err
	}
	order := h5.ByName
	if info.Options.Order != h5.NoCreationOrder {
		order = h5.ByCreation
	}
	for link, err := range src.LinksIn(order) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && ctx.Err() == nil && c.skips(at, &PartError{"members", err}) {
			return nil
		}
		if err != nil {
			return err
		}
		if c.o.Exclude != nil && c.o.Exclude(at+"/"+link.Name) {
			continue
		}
		if err := c.link(ctx, src, dst, link, at+"/"+link.Name); err != nil {
			return located(at+"/"+link.Name, err)
		}
	}
	return nil
}

// PathError is an error with the path of the source object at which a copy failed.
type PathError struct {
	Path string
	Err  error
}

func (e *PathError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PathError) Unwrap() error { return e.Err }

// PartError is the error of a part of an object: one of its attributes, all of them, or the members
// of a group.
type PartError struct {
	Part string
	Err  error
}

func (e *PartError) Error() string { return e.Part + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PartError) Unwrap() error { return e.Err }

// located adds the path of an object to an error that has none.
func located(path string, err error) error {
	if _, ok := errors.AsType[*PathError](err); ok {
		return err
	}
	return &PathError{path, err}
}

func (c *Copier) link(ctx context.Context, src, dst *h5.Group, l h5.Link, path string) error {
	if l.Kind == h5.ExternalLink {
		l.File, _ = c.moved(l.File, plain)
	}
	if done, err := c.out.Link(dst, l); done || err != nil {
		if there := c.out.Placed[l.Address]; l.Kind == h5.HardLink && c.temporary(there) {
			c.out.Placed[l.Address] = path
		}
		return err
	}
	c.out.Placed[l.Address] = path
	waiting := len(c.out.waiting)
	o, err := src.OpenObject(l.Name)
	if err == nil {
		err = errors.Join(c.object(ctx, o, l.Address, src, l.Name, dst, l.Name, path), o.Close())
	}
	if err == nil || ctx.Err() != nil || !c.skips(path, err) {
		return err
	}
	c.out.Placed[l.Address], c.out.waiting = "", c.out.waiting[:waiting]
	if dst == nil {
		return nil
	}
	if made, err := dst.HasLink(l.Name); err != nil || !made {
		return err
	}
	return dst.Unlink(l.Name)
}

// object copies one object. link is its link in the group src, name its new name in the group dst,
// and path its new path.
func (c *Copier) object(ctx context.Context, o h5.Object, addr uint64, src *h5.Group, link string, dst *h5.Group, name, path string) error {
	switch o := o.(type) {
	case *h5.Group:
		info, err := o.Info()
		if err != nil {
			return err
		}
		attrs, err := c.attributes(o)
		if err != nil {
			if err = (&PartError{"attributes", err}); !c.skips(path, err) {
				return err
			}
		}
		if dst == nil {
			return c.group(ctx, o, nil, path, addr, attrs)
		}
		opts := groupOptions(info)
		opts.Times = opts.Times && !c.o.WithoutTimes
		made, err := c.out.Group(dst, name, &opts, attrs.dense())
		if err != nil {
			return err
		}
		return errors.Join(c.group(ctx, o, made, path, addr, attrs), made.Close())
	case *h5.Dataset:
		return c.dataset(ctx, o, addr, src, link, dst, name, path)
	case *h5.CommittedType:
		attrs, err := c.attributes(o)
		if err != nil {
			return err
		}
		c.Types++
		if c.sizes {
			return c.committed(o, addr, dst, path, attrs)
		}
		special := !attrs.simple()
		if dst != nil {
			if err := src.CopyObject(link, dst, name, &h5.CopyOptions{WithoutAttributes: special}); err != nil {
				return err
			}
		}
		if special {
			c.attributesLater(addr, path, attrs)
		}
		return nil
	}
	return fmt.Errorf("%w: an object of class %T", errors.ErrUnsupported, o)
}

// committed creates a committed datatype again.
func (c *Copier) committed(o *h5.CommittedType, addr uint64, dst *h5.Group, path string, attrs attributes) error {
	t, err := o.Datatype()
	if err != nil || dst == nil {
		return cmpErr(err, c.beside(o, nil, path, addr, attrs))
	}
	made, err := c.out.Datatype(path, t, attrs.dense())
	if err != nil {
		return err
	}
	return errors.Join(c.beside(o, made, path, addr, attrs), made.Close())
}

// groupOptions returns the properties that a new group can have. A group of the old format reports
// defaults for the properties of the new format.
func groupOptions(info h5.GroupInfo) h5.GroupOptions {
	if info.Storage != h5.SymbolTable {
		o := info.Options
		o.LocalHeap = 0
		return o
	}
	return h5.GroupOptions{AttributeOrder: info.Options.AttributeOrder, Times: info.Options.Times}
}

// attributes are the attributes of an object in the order in which they must be created.
type attributes struct {
	list    []h5.AttributeInfo
	unknown bool // libhdf5 does not list them
}

// attributes lists the attributes of an object.
func (c *Copier) attributes(o h5.Object) (attributes, error) {
	list, err := listAttributes(o)
	if err != nil && errors.Is(err, errors.ErrUnsupported) {
		name, cause := h5types.UnknownAttribute(o)
		switch {
		case name == "":
		case c.o.UnknownAttributes != nil:
			return attributes{unknown: true}, nil
		default:
			err = fmt.Errorf("attribute %s: %w: %w", name, errors.ErrUnsupported, cause)
		}
	}
	for _, a := range list {
		if err == nil && !ofScales(a) {
			c.Attributes++
		}
	}
	return attributes{list: list}, err
}

func listAttributes(o h5.Object) ([]h5.AttributeInfo, error) {
	var out []h5.AttributeInfo
	ordered := true
	for a, err := range o.Attributes() {
		if err != nil {
			return nil, err
		}
		ordered = ordered && a.Order >= 0
		out = append(out, a)
	}
	if ordered {
		slices.SortStableFunc(out, func(a, b h5.AttributeInfo) int { return int(a.Order - b.Order) })
	}
	return out, nil
}

// simple reports whether H5Ocopy copies the attributes correctly. It does so if no attribute has
// references or a committed datatype.
func (x attributes) simple() bool {
	return !x.unknown && !slices.ContainsFunc(x.list, func(a h5.AttributeInfo) bool { return Refers(a.Datatype) || a.Datatype.Committed != 0 })
}

// Refers reports whether elements of a type hold references.
func Refers(t h5.Datatype) bool {
	if t.Class == h5.Reference || t.Base != nil && Refers(*t.Base) {
		return true
	}
	return slices.ContainsFunc(t.Members, func(m h5.Member) bool { return m.Type != nil && Refers(*m.Type) })
}

// dense reports whether the attributes of an object need a header of HDF5 1.8.
func (x attributes) dense() bool {
	var largest int64
	sparseType := false
	for _, a := range x.list {
		largest = max(largest, a.Bytes)
		sparseType = sparseType || sparse(a.Datatype)
	}
	return sparseType || h5types.Dense(len(x.list), largest)
}

// beside copies the comment and the attributes of an object that exists in the new file.
func (c *Copier) beside(o, made h5.Object, path string, addr uint64, attrs attributes) error {
	text, err := o.Comment()
	if err == nil && text != "" && c.out.File != nil {
		err = made.SetComment(text)
	}
	if err != nil {
		return err
	}
	if attrs.simple() {
		return c.writeAttributes(o, made, path, attrs.list)
	}
	c.attributesLater(addr, path, attrs)
	return nil
}

// attributesLater copies the attributes after all objects exist, because references need them.
func (c *Copier) attributesLater(addr uint64, path string, attrs attributes) {
	c.out.Later(path, func(ctx context.Context, made h5.Object) (err error) {
		o, err := c.src.OpenAddress(addr)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.Close()) }()
		if attrs.unknown {
			err = c.o.UnknownAttributes(ctx, o, made, path)
		} else {
			err = c.writeAttributes(o, made, path, attrs.list)
		}
		if err != nil && ctx.Err() == nil && c.skips(path, &PartError{"attributes", err}) {
			return nil
		}
		return err
	})
}

func (c *Copier) writeAttributes(o, made h5.Object, path string, attrs []h5.AttributeInfo) error {
	for _, a := range attrs {
		if err := c.attribute(o, made, path, a); err != nil {
			if err = (&PartError{"attribute " + a.Name, err}); !c.skips(path, err) {
				return err
			}
			if !ofScales(a) {
				c.Attributes--
			}
		}
	}
	return nil
}

func (c *Copier) attribute(o, made h5.Object, path string, a h5.AttributeInfo) (err error) {
	if c.out.File == nil && a.Datatype.Committed != 0 {
		if _, err := c.typeAt(a.Datatype); err != nil {
			return err
		}
	}
	if c.out.File == nil && !Refers(a.Datatype) && c.o.Unreadable == nil {
		return nil
	}
	v, err := o.ReadAttribute(a.Name)
	if err != nil {
		return err
	}
	if Refers(a.Datatype) {
		var left bool
		if v.Values, left, err = c.translateAttribute(v, path); err != nil || !left {
			return err
		}
		v.Space = sized(v.Space, v.Values.N)
	}
	if c.out.File == nil {
		return nil
	}
	if a.Datatype.Committed != 0 {
		t, err := c.Committed(a.Datatype)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, t.Close()) }()
		if v.Datatype, err = t.Shared(); err != nil {
			return err
		}
	}
	return made.WriteAttribute(v)
}

// sized returns s, or a one-dimensional dataspace of n elements if s has a different number.
func sized(s h5.Dataspace, n int) h5.Dataspace {
	if s.NumElems() == int64(n) {
		return s
	}
	return h5.SimpleSpace(int64(n))
}

// Committed opens the committed datatype of the new file that corresponds to one of the source. It
// is nil in a dry run.
func (c *Copier) Committed(t h5.Datatype) (*h5.CommittedType, error) {
	path, err := c.typeAt(t)
	if err != nil || c.out.File == nil {
		return nil, err
	}
	return c.out.Root().OpenDatatype(path)
}

// Nameless is the path in problems of a dry run for an object that has no name when it is copied.
const Nameless = "?"

// typeAt returns the path of that datatype. A datatype that is not copied yet goes into the
// temporary group, because a link to it may follow or may not exist.
func (c *Copier) typeAt(t h5.Datatype) (path string, err error) {
	if path := c.out.Placed[t.Committed]; path != "" {
		return path, nil
	}
	o, err := c.src.OpenAddress(t.Committed)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if c.out.File != nil {
		path, err = c.tempPath()
	} else {
		path = Nameless
	}
	if err != nil {
		return "", err
	}
	if c.same() { // the copy shares the datatype
		return path, c.out.Root().LinkObject(path, o)
	}
	attrs, err := c.attributes(o)
	if err != nil {
		return "", err
	}
	c.Types++
	c.out.Placed[t.Committed] = path
	if c.out.File == nil {
		return path, c.beside(o, nil, path, t.Committed, attrs)
	}
	made, err := c.out.Datatype(path, t, attrs.dense())
	if err != nil {
		return "", err
	}
	return path, errors.Join(c.beside(o, made, path, t.Committed, attrs), made.Close())
}

// tempPath returns a free path in the temporary group.
func (c *Copier) tempPath() (string, error) {
	if c.temp == "" {
		for i := 0; c.temp == ""; i++ {
			name := fmt.Sprintf("/.hyperslab-%d", i)
			there, err := c.out.Root().HasLink(name)
			if err != nil {
				return "", err
			}
			also, err := c.src.Root().HasLink(name)
			if err != nil {
				return "", err
			}
			if !there && !also {
				c.temp = name
			}
		}
		g, err := c.out.Group(c.out.Root(), c.temp, nil, false)
		if err != nil {
			return "", err
		}
		if err := g.Close(); err != nil {
			return "", err
		}
	}
	c.numTemps++
	return fmt.Sprintf("%s/%d", c.temp, c.numTemps), nil
}
