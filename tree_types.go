// The committed datatypes of an HDF5 tree. They are identified by address and created first, so
// that all objects that share one in the source share it in the target.

package hyperslab

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// typeUses are the committed datatypes that an object uses, by their addresses in the source.
type typeUses struct {
	elements uint64 // of an array; 0: not a committed datatype
	attrs    map[string]uint64
}

// typeCopy collects the committed datatypes of a source: those listed below the root of the copy,
// and those without a name there that an object uses. Its methods do nothing on nil.
type typeCopy struct {
	file    *h5.File // the source, during planning
	scratch *h5.File // in memory, to test whether a datatype can be committed in the target
	known   map[uint64]*typeItem
	order   []*typeItem
}

// typeItem is a committed datatype to create.
type typeItem struct {
	address  uint64
	datatype h5.Datatype
	from     string // path in the source; "": no name below the root of the copy
	path     string // path in the target
	comment  string
	attrs    []ndarray.Attr
	uses     typeUses // of the attributes
}

func openTypes(ctx context.Context, file string) (_ *typeCopy, err error) {
	c := &typeCopy{known: make(map[uint64]*typeItem)}
	if c.file, err = openSource(ctx, file, nil); err != nil {
		return nil, hdf5.Translate(err)
	}
	if c.scratch, err = h5.CreateImage(nil); err != nil {
		return nil, errors.Join(hdf5.Translate(err), c.file.Close())
	}
	return c, nil
}

// close closes the files used for planning.
func (c *typeCopy) close() error {
	if c == nil {
		return nil
	}
	return hdf5.Translate(errors.Join(c.file.Close(), c.scratch.Close()))
}

// add records a committed datatype.
func (c *typeCopy) add(d h5.Datatype) *typeItem {
	x, ok := c.known[d.Committed]
	if !ok {
		x = &typeItem{address: d.Committed, datatype: d}
		c.known[d.Committed] = x
		c.order = append(c.order, x)
	}
	return x
}

// name records the committed datatype that a walk has found at a path.
func (c *typeCopy) name(from, path string) error {
	d, err := c.file.Root().CommittedDatatype(from)
	if err != nil {
		return hdf5.Translate(err)
	}
	x := c.add(d)
	x.from, x.path = from, path
	return nil
}

// usedBy records and returns the committed datatypes that an object of the source uses.
func (c *typeCopy) usedBy(path string) (u typeUses, err error) {
	if c == nil {
		return u, nil
	}
	o, err := c.file.Root().OpenObject(path)
	if err != nil {
		return u, hdf5.Translate(err)
	}
	u, err = c.usesOf(o)
	return u, errors.Join(err, hdf5.Translate(o.Close()))
}

// describe returns the properties of a dataset of the source.
func (c *typeCopy) describe(path string) (_ *h5.DatasetInfo, err error) {
	if c == nil {
		return nil, nil
	}
	d, err := c.file.Root().OpenDataset(path)
	if err != nil {
		return nil, hdf5.Translate(err)
	}
	defer func() { err = errors.Join(err, hdf5.Translate(d.Close())) }()
	info, err := d.Info()
	if err != nil {
		return nil, hdf5.Translate(err)
	}
	if len(info.External) > 0 {
		info.Alloc = h5.AllocDefault // the elements move into the file
	}
	info.Mappings, info.External, info.Times = nil, nil, false
	return &info, nil
}

func (c *typeCopy) usesOf(o h5.Object) (u typeUses, err error) {
	elements, attrs, err := hdf5.Committed(o)
	if err != nil {
		return u, err
	}
	if elements.Committed != 0 {
		u.elements = c.add(elements).address
	}
	u.attrs = make(map[string]uint64)
	for name, d := range attrs {
		u.attrs[name] = c.add(d).address
	}
	return u, nil
}

// planTypes examines the recorded datatypes: their attributes, which can use further ones, and
// whether they can be committed.
func (c *treeCopy) planTypes(ctx context.Context) error {
	if c.types == nil {
		return nil
	}
	for i := 0; i < len(c.types.order); i++ { // order grows in the loop
		x := c.types.order[i]
		label := x.from
		if label == "" {
			label = fmt.Sprintf("a datatype without a name, at %#x", x.address)
		}
		t, err := c.types.scratch.Root().CommitAnonymous(x.datatype)
		if err != nil {
			c.loseObject(label, Type, fmt.Errorf("%w: %w", errors.ErrUnsupported, hdf5.Translate(err)))
			delete(c.types.known, x.address)
			continue
		}
		if err := t.Close(); err != nil {
			return hdf5.Translate(err)
		}
		o, err := c.types.file.OpenAddress(x.address)
		if err != nil {
			return hdf5.Translate(err)
		}
		attrs, err := hdf5.ReadAttrs(ctx, o)
		if err == nil {
			x.attrs = c.keep(label, attrs, false)
			x.uses, err = c.types.usesOf(o)
		}
		if err == nil {
			x.comment, err = o.Comment()
			err = hdf5.Translate(err)
		}
		if err = errors.Join(err, hdf5.Translate(o.Close())); err != nil {
			return err
		}
		c.stats.Types++
	}
	return nil
}

// madeTypes are the open committed datatypes of a target, by their addresses in the source.
type madeTypes map[uint64]*h5.CommittedType

// commit creates all datatypes, then their attributes and comments. The caller must close the
// result, also after an error.
func (c *typeCopy) commit(root *h5.Group) (madeTypes, error) {
	made := make(madeTypes)
	if c == nil {
		return made, nil
	}
	for _, x := range c.order {
		if c.known[x.address] == nil {
			continue // an accepted loss
		}
		var err error
		var t *h5.CommittedType
		if x.path == "" {
			t, err = root.CommitAnonymous(x.datatype)
		} else {
			t, err = root.CommitDatatype(x.path, x.datatype)
		}
		if err != nil {
			return made, hdf5.Translate(err)
		}
		made[x.address] = t
	}
	for _, x := range c.order {
		t := made[x.address]
		if t == nil {
			continue
		}
		if err := hdf5.WriteAttrs(t, x.attrs, made.shared(x.uses).Attrs); err != nil {
			return made, err
		}
		if x.comment != "" {
			if err := t.SetComment(x.comment); err != nil {
				return made, hdf5.Translate(err)
			}
		}
	}
	return made, nil
}

// shared returns the committed datatypes for a new object. A lost one is nil, so that the object
// describes its own datatype.
func (m madeTypes) shared(u typeUses) hdf5.Shared {
	s := hdf5.Shared{Elements: m[u.elements], Attrs: make(map[string]*h5.CommittedType)}
	for name, address := range u.attrs {
		s.Attrs[name] = m[address]
	}
	return s
}

func (m madeTypes) close() error {
	var errs []error
	for _, t := range m {
		errs = append(errs, hdf5.Translate(t.Close()))
	}
	return errors.Join(errs...)
}
