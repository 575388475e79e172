// Attributes beside one of an unknown type: libhdf5 lists and reads none of them.

package hdf5

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/h5types"
	"github.com/hyperslab/hyperslab/ndarray"
)

// parseAttrs reads the attributes of an object without libhdf5. It lists those of an unknown type as
// unsupported. It fails if the attributes are in dense storage, or if anything else is wrong with the
// object.
func parseAttrs(o h5.Object) (attrs ndarray.Attrs, err error) {
	info, err := o.Stat()
	if err != nil {
		return attrs, err
	}
	r, err := os.Open(o.File().Path())
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	stat, err := r.Stat()
	if err != nil {
		return attrs, err
	}
	file, err := h5file.Open(r, stat.Size(), nil)
	if err != nil {
		return attrs, err
	}
	header, err := file.Object(h5file.Addr(info.Address))
	if header == nil || err != nil && !errors.Is(err, format.ErrVersion) {
		return attrs, err
	}
	values := file.Values()
	for i := range header.Messages {
		m := &header.Messages[i]
		a, ok := m.Body.(*h5file.Attribute)
		switch {
		case m.Type == h5file.AttributeInfoType:
			if b, ok := m.Body.(*h5file.AttributeInfo); !ok || b.Heap.Defined() {
				return attrs, fmt.Errorf("%w: dense attributes", errors.ErrUnsupported)
			}
			continue
		case m.Err != nil && m.Type != h5file.AttributeType, !ok && m.Type == h5file.AttributeType:
			return attrs, messageError(m.Err)
		case !ok || a.Name == labelsAttr:
			continue
		}
		v, kind, err := parseAttr(values, a, m.Err)
		if err != nil {
			attrs.Unsupported = append(attrs.Unsupported, ndarray.UnsupportedAttr{Name: a.Name, Type: kind, Reason: err.Error()})
			continue
		}
		attrs.List = append(attrs.List, ndarray.Attr{Name: a.Name, Value: v})
	}
	slices.SortStableFunc(attrs.List, func(x, y ndarray.Attr) int { return strings.Compare(x.Name, y.Name) })
	return attrs, nil
}

// messageError returns the error of an attribute message. A message without content and without an
// error is corrupt.
func messageError(err error) error {
	if err == nil {
		return fmt.Errorf("%w: attribute message: got no content, want a name, type and space", ndarray.ErrCorrupt)
	}
	return err
}

// parseAttr returns the value of an attribute, or the name of its type and the reason why it has none.
func parseAttr(values *h5file.Values, a *h5file.Attribute, err error) (v ndarray.Value, kind string, _ error) {
	if err != nil {
		return v, "unknown", err
	}
	t, err := h5types.Datatype(a.Type)
	if err != nil {
		return v, a.Type.String(), err
	}
	d, err := toDType(t)
	if err != nil {
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
