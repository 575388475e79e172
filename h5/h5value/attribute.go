// Attributes as Go values.

package h5value

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
)

// ReadAttr returns the elements of an attribute in row-major order. T may be any type that Read
// accepts. ReadAttr returns the errors of ReadAttribute and of Read.
func ReadAttr[T any](o h5.Object, name string) ([]T, error) {
	a, err := o.ReadAttribute(name)
	if err != nil {
		return nil, err
	}
	out, err := attributeValues[T](a)
	if err != nil {
		return nil, &h5.Error{Op: "read attribute", Path: o.Path() + "@" + name, Err: err}
	}
	return out, nil
}

func attributeValues[T any](a h5.Attribute) ([]T, error) {
	v := a.Values
	switch {
	case a.Strings != nil:
		if s, ok := any(a.Strings).([]T); ok {
			return s, nil
		}
		var err error
		if v, err = encode(&a.Datatype, a.Strings, false); err != nil {
			return nil, err
		}
	case a.Data != nil:
		v = h5.Values{Datatype: a.Datatype, N: len(a.Data) / max(a.Datatype.Size, 1), Block: a.Data}
		if to, ok := elementType(reflect.TypeFor[T]()); ok {
			out := make([]T, v.N)
			if convert(bytesOf(out), to, slices.Clone(a.Data), a.Datatype) {
				return out, nil
			}
		}
	}
	return decodeAll[T](v)
}

// WriteAttr creates or replaces an attribute with the Go values v. The datatype is that of
// DatatypeFor. Without a space argument the attribute has one dimension of length len(v); at most
// one space may be given. WriteAttr returns the errors of WriteAttribute and Encode.
func WriteAttr[T any](o h5.Object, name string, v []T, space ...h5.Dataspace) error {
	const op = "write attribute"
	bad := func(err error) error { return &h5.Error{Op: op, Path: o.Path() + "@" + name, Err: err} }
	if len(space) > 1 {
		return bad(fmt.Errorf("%w: %d dataspaces", h5.ErrParam, len(space)))
	}
	t, err := DatatypeFor[T]()
	if err != nil {
		return err
	}
	a := h5.Attribute{Name: name, Datatype: t, Space: h5.SimpleSpace(int64(len(v)))}
	if len(space) == 1 {
		a.Space = space[0]
	}
	if a.Values, err = encode(&t, v, false); err != nil {
		return bad(err)
	}
	return o.WriteAttribute(a)
}

// AttributeValues returns the value of an attribute as h5.Values of its datatype. It returns
// ErrType if Strings do not match Datatype.
func AttributeValues(a *h5.Attribute) (h5.Values, error) {
	switch {
	case a.Data != nil:
		return h5.Values{Datatype: a.Datatype, N: len(a.Data) / max(a.Datatype.Size, 1), Block: a.Data}, nil
	case a.Strings != nil:
		return Encode(a.Datatype, a.Strings)
	default:
		return a.Values, nil
	}
}
