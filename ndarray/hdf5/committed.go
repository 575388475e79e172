// Committed datatypes: named objects of a file that describe the elements of datasets and
// attributes.

package hdf5

import (
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Shared are committed datatypes that a new dataset uses instead of its own descriptions
// (H5Tcommit2). They must be open and in the same file.
type Shared struct {
	Elements *h5.CommittedType            // of the elements; nil: the dataset's own description
	Attrs    map[string]*h5.CommittedType // of the attributes with these names
}

// Committed returns the committed datatypes that an object uses: that of a dataset's elements, and
// those of attributes by their names. elements is the zero value if the dataset has its own
// datatype. h5.Datatype.Committed identifies each committed datatype.
func Committed(o h5.Object) (elements h5.Datatype, attrs map[string]h5.Datatype, err error) {
	if d, ok := o.(*h5.Dataset); ok {
		info, err := d.Info()
		if err != nil {
			return elements, nil, Translate(err)
		}
		if info.Datatype.Committed != 0 {
			elements = info.Datatype
		}
	}
	attrs = make(map[string]h5.Datatype)
	for a, err := range o.Attributes() {
		if errors.Is(err, errors.ErrUnsupported) {
			return elements, nil, nil // beside an attribute of an unknown type, each describes its own
		}
		if err != nil {
			return elements, nil, Translate(err)
		}
		if a.Datatype.Committed != 0 {
			attrs[a.Name] = a.Datatype
		}
	}
	return elements, attrs, nil
}

// sharedType returns a committed datatype for elements of type d. It returns ErrType if t describes
// other elements.
func sharedType(t *h5.CommittedType, d ndarray.DType) (h5.Datatype, error) {
	shared, err := t.Shared()
	if err != nil {
		return shared, Translate(err)
	}
	if is, err := toDType(shared); err != nil || !is.Equal(d) {
		return shared, fmt.Errorf("%w: %v by the committed datatype %v", ndarray.ErrType, d, shared)
	}
	return shared, nil
}
