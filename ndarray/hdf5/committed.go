// Committed datatypes: objects of a file which describe the elements of datasets and
// attributes that share them.

package hdf5

import (
	"fmt"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Shared are committed datatypes, of the file that something is made in and open, which
// it uses instead of a description of its own (H5Tcommit2).
type Shared struct {
	Elements *h5.CommittedType            // of a dataset; nil: its own
	Attrs    map[string]*h5.CommittedType // of the attributes with these names
}

// Committed returns the committed datatypes that an object uses: that of a dataset's
// elements, the zero value if it has its own, and those of attributes by their names.
// h5.Datatype.Committed tells one from the other.
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
		if err != nil {
			return elements, nil, Translate(err)
		}
		if a.Datatype.Committed != 0 {
			attrs[a.Name] = a.Datatype
		}
	}
	return elements, attrs, nil
}

// sharedType is a committed datatype for elements of type d; ErrType if it describes
// others.
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
