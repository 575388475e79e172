// References, which contain addresses of the source file.

package h5copy

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5names"
)

// The attributes in which dimension scales store their uses (H5DSpublic.h). References without a
// target are removed from them, because readers expect only valid ones.
const (
	scalesAttr = "DIMENSION_LIST"
	usersAttr  = "REFERENCE_LIST"
	labelsAttr = "DIMENSION_LABELS"
)

// ofScales reports whether an attribute links a dataset and its dimension scales.
func ofScales(a h5.AttributeInfo) bool {
	return a.Name == labelsAttr || (a.Name == scalesAttr || a.Name == usersAttr) && Refers(a.Datatype)
}

// translate returns v with references to the new file.
func (c *Copier) translate(v h5.Values, path, what string) (h5.Values, error) {
	return h5elem.MapRefs(v, func(r h5.Ref) (h5.Ref, error) {
		to, kind, err := c.reference(r)
		if kind != 0 {
			c.problem(kind, path, what, err)
			return h5.Ref{}, nil
		}
		return to, err
	})
}

// translateAttribute is translate for an attribute. It returns false if all references of a
// dimension scale attribute were removed.
func (c *Copier) translateAttribute(a h5.Attribute, path string) (v h5.Values, left bool, err error) {
	if v, err = h5value.AttributeValues(&a); err != nil {
		return v, false, err
	}
	valid := func(r h5.Ref) (h5.Ref, bool) {
		to, kind, rerr := c.reference(r)
		err = errors.Join(err, rerrOf(kind, rerr))
		return to, kind == 0 && !to.IsNull()
	}
	t := a.Datatype
	switch {
	case a.Name == scalesAttr && t.Class == h5.Sequence && t.Base.Class == h5.Reference:
		axes, derr := h5value.Decode[[]h5.Ref](v)
		if derr != nil {
			return v, false, derr
		}
		for i, scales := range axes {
			kept := []h5.Ref{}
			for _, r := range scales {
				if to, ok := valid(r); ok {
					kept = append(kept, to)
					left = true
				}
			}
			axes[i] = kept
		}
		if err != nil || !left || c.out.File == nil {
			return v, left, err
		}
		v, err = h5value.Encode(t, axes)
		return v, true, err
	case a.Name == usersAttr && t.Class == h5.Compound && len(t.Members) == 2 && t.Members[0].Type.Class == h5.Reference:
		users, derr := h5value.Decode[h5value.Record](v)
		if derr != nil {
			return v, false, derr
		}
		var kept []h5value.Record
		for _, u := range users {
			r, ok := u[0].Value.(h5.Ref)
			if !ok {
				return v, false, fmt.Errorf("%w: %v", h5.ErrType, t)
			}
			if to, ok := valid(r); ok {
				u[0].Value = to
				kept = append(kept, u)
			}
		}
		if err != nil || len(kept) == 0 || c.out.File == nil {
			return v, len(kept) > 0, err
		}
		v, err = h5value.Encode(t, kept)
		return v, true, err
	}
	v, err = c.translate(v, path, "attribute "+a.Name)
	return v, true, err
}

// rerrOf returns err unless it is reported as a problem of the reference.
func rerrOf(kind Kind, err error) error {
	if kind != 0 {
		return nil
	}
	return err
}

// reference returns the reference of the new file that corresponds to r. A kind other than 0 is the
// reason why there is no such reference.
func (c *Copier) reference(r h5.Ref) (to h5.Ref, kind Kind, err error) {
	if r.IsNull() {
		return r, 0, nil
	}
	is, err := h5names.Resolve(c.src, r)
	if err != nil {
		return h5.Ref{}, Dangling, err
	}
	addr, ok := c.targets[is.Token]
	if !ok {
		if addr, err = c.address(is.Token); err != nil {
			return h5.Ref{}, Dangling, err
		}
		c.targets[is.Token] = addr
	}
	switch {
	case c.out.Placed[addr] != "":
	case c.same():
		return r, 0, nil
	case c.o.Follow:
		if err = c.follow(is.Token, addr); err != nil {
			return h5.Ref{}, 0, err
		}
	case is.Path == "":
		return h5.Ref{}, Outside, fmt.Errorf("%w: the object that it refers to has no name", h5.ErrNotFound)
	default:
		return h5.Ref{}, Outside, fmt.Errorf("%w: %s, which is not copied", h5.ErrNotFound, is.Path)
	}
	if c.out.File == nil {
		return r, 0, nil
	}
	to, err = c.out.Reference(addr, r.Kind, is.Selection.Selection, is.Attribute)
	return to, 0, err
}

// address returns the address of the object that a token identifies.
func (c *Copier) address(t h5.Token) (addr uint64, err error) {
	o, err := c.src.OpenToken(t)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	info, err := o.Stat()
	return info.Address, err
}

// follow copies an object that only a reference leads to. The copy gets no name; a raised link
// count keeps it in the file (H5Oincr_refcount).
func (c *Copier) follow(t h5.Token, addr uint64) (err error) {
	if c.out.File == nil {
		c.out.Placed[addr] = Nameless
		return nil
	}
	o, err := c.src.OpenToken(t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	path, err := c.tempPath()
	if err != nil {
		return err
	}
	c.out.Placed[addr] = path
	g, link, err := c.linked(o, addr)
	if err != nil {
		return err
	}
	if err := c.object(context.Background(), o, addr, g, link, c.out.Root(), path, path); err != nil {
		return err
	}
	made, err := c.out.Root().OpenObject(path)
	if err != nil {
		return err
	}
	return errors.Join(made.Keep(), made.Close())
}

// linked returns a group and a name in it that lead to an object of the source.
func (c *Copier) linked(o h5.Object, addr uint64) (*h5.Group, string, error) {
	if g, ok := o.(*h5.Group); ok {
		return g, ".", nil
	}
	for v, err := range c.src.Root().Visit() {
		if err == nil && v.Address == addr {
			return c.src.Root(), v.Path, nil
		}
	}
	return nil, "", fmt.Errorf("%w: the object that a reference leads to has no name", h5.ErrNotFound)
}
