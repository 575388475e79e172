// Attributes of datasets and groups as ndarray's values.

package hdf5

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ReadAttrs reads all attributes of an object, in the order of their names. Those
// with references, and those of a type that ndarray or libhdf5 does not have, are listed as
// unsupported with the type's name.
//
// An attribute that cannot be read hides no other: ReadAttrs returns the others with the first
// error, and lists the attribute as unsupported if its name is known.
func ReadAttrs(ctx context.Context, o h5.Object) (ndarray.Attrs, error) {
	var out ndarray.Attrs
	var failed error // the first one
	for info, err := range o.Attributes() {
		if ctx.Err() != nil {
			return ndarray.Attrs{}, ctx.Err()
		}
		if err != nil { // libhdf5 lists none of them
			parsed, perr := parseAttrs(o)
			if perr == nil && errors.Is(err, errors.ErrUnsupported) {
				return parsed, nil
			}
			return parsed, err
		}
		if info.Name == labelsAttr {
			continue // in Meta.AxisNames
		}
		d, err := toDType(info.Datatype)
		if err != nil || refers(info.Datatype) {
			out.Unsupported = append(out.Unsupported, ndarray.UnsupportedAttr{
				Name: info.Name, Type: info.Datatype.String(), Reason: whyNot(info.Datatype),
			})
			continue
		}
		v, err := readAttr(o, info.Name, d)
		if err != nil {
			if failed == nil {
				failed = err
			}
			out.Unsupported = append(out.Unsupported, ndarray.UnsupportedAttr{
				Name: info.Name, Type: info.Datatype.String(), Reason: err.Error(),
			})
			continue
		}
		out.List = append(out.List, ndarray.Attr{Name: info.Name, Value: v})
	}
	return out, failed
}

// readAttr reads an attribute whose elements have the type d.
func readAttr(o h5.Object, name string, d ndarray.DType) (v ndarray.Value, err error) {
	a, err := o.ReadAttribute(name)
	if err != nil {
		return v, err
	}
	v = ndarray.Value{DType: d, Null: a.Space.Kind == h5.Null, Shape: a.Space.Dims, Data: a.Data, Strings: a.Strings}
	if d.Size > 0 && !converted(d) {
		d.ToNative(v.Data)
	}
	if d.Kind != ndarray.String && (d.Size == 0 || converted(d)) {
		all, err := h5value.AttributeValues(&a)
		if err == nil {
			v.Data, v.Strings, err = new(values).loadAll(d, all)
		}
		if err != nil {
			return v, fmt.Errorf("attribute %q: %w", name, err)
		}
	}
	if d.Size > 0 && v.Data == nil {
		v.Data = []byte{}
	}
	return v, nil
}

// ReferenceAttr reads an attribute of references of an object of a trusted file as strings: the
// paths and selections that arrays of references have as elements. It returns errors.ErrUnsupported
// for an attribute of another type.
func ReferenceAttr(o h5.Object, name string) (v ndarray.Value, err error) {
	a, err := o.ReadAttribute(name)
	if err != nil {
		return v, err
	}
	if a.Datatype.Class != h5.Reference {
		return v, fmt.Errorf("attribute %q: %w: %v", name, errors.ErrUnsupported, a.Datatype)
	}
	d, err := toDType(a.Datatype)
	if err != nil {
		return v, err
	}
	all, err := h5value.AttributeValues(&a)
	if err != nil {
		return v, err
	}
	v = ndarray.Value{DType: ndarray.Text("").DType, Null: a.Space.Kind == h5.Null, Shape: a.Space.Dims}
	_, v.Strings, err = (&values{file: o.File(), paths: make(map[h5.Ref]string)}).loadAll(d, all)
	return v, err
}

// whyNot returns the reason why ndarray cannot represent an attribute of type t.
func whyNot(t h5.Datatype) string {
	if refers(t) {
		return "refers to objects of its own file"
	}
	return "ndarray has no such element type"
}

// refers reports whether elements of type t contain references.
func refers(t h5.Datatype) bool {
	return t.Class == h5.Reference || t.Base != nil && refers(*t.Base) ||
		slices.ContainsFunc(t.Members, func(m h5.Member) bool { return m.Type != nil && refers(*m.Type) })
}

// toAttribute converts a to an h5.Attribute. It returns errors.ErrUnsupported for a type that HDF5
// does not have.
func toAttribute(a ndarray.Attr) (h5.Attribute, error) {
	if a.Name == labelsAttr || a.Name == scalesAttr {
		return h5.Attribute{}, fmt.Errorf("attribute %q: %w: HDF5 keeps the dimension names there", a.Name, errors.ErrUnsupported)
	}
	if a.Value.DType.Kind == 0 {
		return h5.Attribute{}, fmt.Errorf("attribute %q: %w: an attribute without a Value in HDF5", a.Name, errors.ErrUnsupported)
	}
	t, err := toDatatype(a.Value.DType)
	if err != nil {
		return h5.Attribute{}, fmt.Errorf("attribute %q: %w", a.Name, err)
	}
	out := h5.Attribute{Name: a.Name, Datatype: t, Space: space(ndarray.Spec{Null: a.Value.Null, Shape: a.Value.Shape})}
	if d := a.Value.DType; d.Kind == ndarray.String || d.Size > 0 && !converted(d) {
		out.Data, out.Strings = slices.Clone(a.Value.Data), a.Value.Strings
		if d.Size > 0 {
			d.ToNative(out.Data) // to storage order; ToNative is its own inverse
		}
	} else if out.Values, err = new(values).storeAll(d, t, a.Value.Data, a.Value.Strings); err != nil {
		return h5.Attribute{}, fmt.Errorf("attribute %q: %w", a.Name, err)
	}
	return out, nil
}

func toAttributes(attrs []ndarray.Attr) ([]h5.Attribute, error) {
	out := make([]h5.Attribute, 0, len(attrs))
	for _, a := range attrs {
		x, err := toAttribute(a)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// CheckAttr returns errors.ErrUnsupported for an attribute that HDF5 cannot store.
func CheckAttr(a ndarray.Attr) error {
	_, err := toAttribute(a)
	return err
}

// WriteAttrs adds attributes to an object.
func WriteAttrs(o interface{ WriteAttribute(h5.Attribute) error }, attrs []ndarray.Attr) error {
	all, err := toAttributes(attrs)
	if err != nil {
		return err
	}
	for _, a := range all {
		if err := o.WriteAttribute(a); err != nil {
			return err
		}
	}
	return nil
}

// Attrs reads all attributes, as ReadAttrs.
func (b *backend) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	attrs, err := ReadAttrs(ctx, b.dataset)
	return attrs, cmp.Or(err, b.unnamed)
}

// SetAttr adds or replaces an attribute (H5Acreate2, H5Awrite).
func (b *backend) SetAttr(ctx context.Context, a ndarray.Attr) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x, err := toAttribute(a)
	if err != nil {
		return err
	}
	return b.dataset.WriteAttribute(x)
}

// DeleteAttr removes an attribute (H5Adelete). It returns ErrNotFound if there is no such
// attribute.
func (b *backend) DeleteAttr(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.dataset.DeleteAttribute(name)
}

// AttrDigest implements the AttrDigest of ndarray. The digest covers datatype, dataspace and every
// element (H5Aread); a reference is represented by its target (H5Rget_name, H5Rget_region). It
// returns errors.ErrUnsupported for an untrusted file, because its references may be invalid, for a
// Backend of CreateIn, and for a reference whose object has no name or does not exist.
func (b *backend) AttrDigest(ctx context.Context, name string) (sum [sha256.Size]byte, err error) {
	if b.untrusted || b.file == nil {
		return sum, fmt.Errorf("%w: meaning of attribute %q", errors.ErrUnsupported, name)
	}
	return h5attr.Digest(ctx, b.dataset, name)
}
