// Attributes beside one of an unknown type: libhdf5 lists and reads none of them.

package hdf5

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
	"github.com/hyperslab/hyperslab/ndarray"
)

// parseAttrs reads the attributes of an object without libhdf5. It lists those of an unknown type
// as unsupported. It fails if anything else is wrong with the object.
func parseAttrs(o h5.Object) (attrs ndarray.Attrs, err error) {
	err = h5types.ParseAttributes(o, func(values *h5file.Values, a *h5file.Attribute, err error) {
		if a.Name == labelsAttr {
			return
		}
		v, kind, err := parseAttr(values, a, err)
		if err != nil {
			attrs.Unsupported = append(attrs.Unsupported, ndarray.UnsupportedAttr{Name: a.Name, Type: kind, Reason: err.Error()})
			return
		}
		attrs.List = append(attrs.List, ndarray.Attr{Name: a.Name, Value: v})
	})
	slices.SortStableFunc(attrs.List, func(x, y ndarray.Attr) int { return strings.Compare(x.Name, y.Name) })
	slices.SortStableFunc(attrs.Unsupported, func(x, y ndarray.UnsupportedAttr) int { return strings.Compare(x.Name, y.Name) })
	return attrs, err
}

// parseAttr returns the value of an attribute, or the name of its type and the reason why it has
// none.
func parseAttr(values *h5file.Values, a *h5file.Attribute, err error) (v ndarray.Value, kind string, _ error) {
	if err != nil {
		return v, "unknown", err
	}
	t, err := h5types.Datatype(a.Type)
	if err != nil {
		return v, a.Type.String(), err
	}
	d, err := toDType(t)
	if err != nil || converted(d) || d.Size == 0 && d.Kind != ndarray.String {
		return v, t.String(), errors.New(whyNot(t))
	}
	s := h5types.Dataspace(a.Space)
	v = ndarray.Value{DType: d, Null: s.Kind == h5.Null, Shape: s.Dims, Data: []byte{}}
	n := s.NumElems()
	size := int64(a.Type.Size)
	if n < 0 || size <= 0 || n > int64(len(a.Value))/size {
		return v, t.String(), fmt.Errorf("%w: attribute value: got %d bytes, want %d elements of %d bytes", ndarray.ErrCorrupt, len(a.Value), n, size)
	}
	if d.Kind != ndarray.String {
		v.Data = append(v.Data, a.Value[:n*size]...)
		d.ToNative(v.Data)
		return v, "", nil
	}
	v.Data, v.Strings = nil, make([]string, n)
	for i := range v.Strings {
		b, length, err := values.Sequence(a.Value[int64(i)*size:][:size])
		if err != nil || int64(length) > int64(len(b)) {
			return v, t.String(), errors.Join(ndarray.ErrCorrupt, err)
		}
		v.Strings[i], _, _ = strings.Cut(string(b[:length]), "\x00")
	}
	return v, "", nil
}
