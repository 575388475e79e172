// Digests of attributes for which ndarray has no type: compounds, sequences and references. A
// reference is represented by the path of its target, so that two files can be compared.

package h5attr

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5names"
)

// Digest returns a digest of an attribute of an object of a trusted file. It covers datatype,
// dataspace and every element (H5Aread); a reference is represented by its target (H5Rget_name,
// H5Rget_region). All references to deleted objects are equal. It returns errors.ErrUnsupported for
// a reference whose object has no name.
func Digest(ctx context.Context, o h5.Object, name string) (sum [sha256.Size]byte, err error) {
	a, err := o.ReadAttribute(name)
	if err != nil {
		return sum, err
	}
	values, err := h5value.AttributeValues(&a)
	if err != nil {
		return sum, err
	}
	d := digest{o.File(), sha256.New()}
	d.text(a.Datatype.String())
	d.text(fmt.Sprint(a.Space.Kind, a.Space.Dims))
	for i := range values.N {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		if err := d.element(h5elem.ViewOf(&values, i)); err != nil {
			return sum, err
		}
	}
	d.Sum(sum[:0])
	return sum, nil
}

// digest is a hash of values of one file. Values of variable length are preceded by their length,
// so that different values never have the same input.
type digest struct {
	file *h5.File
	hash.Hash
}

func (d digest) number(n int) { d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }

func (d digest) text(s string) {
	d.number(len(s))
	_, _ = io.WriteString(d, s) // a hash never returns an error
}

func (d digest) element(v h5elem.View) error {
	switch v.Class() {
	case h5.Compound, h5.Array, h5.Sequence:
		d.number(v.Len())
		for i := range v.Len() {
			if err := d.element(v.At(i)); err != nil {
				return err
			}
		}
	case h5.String:
		s, there := v.Text()
		if !there {
			d.number(-1)
			return nil
		}
		d.text(s)
	case h5.Reference:
		return d.reference(v.Ref())
	default:
		d.Write(v.Bytes())
	}
	return nil
}

func (d digest) reference(r h5.Ref) error {
	if r.IsNull() {
		d.number(-1)
		return nil
	}
	to, err := h5names.Resolve(d.file, r)
	if errors.Is(err, h5.ErrNotFound) { // the object was deleted
		d.number(-2)
		return nil
	}
	if err == nil && to.Path == "" {
		return errs.Mark(fmt.Errorf("a %v whose object has no name in the file", r), errors.ErrUnsupported)
	}
	if err != nil {
		return err
	}
	d.text(to.Path)
	d.text(to.Attribute)
	if to.Region {
		d.text(fmt.Sprintf("%v of %v", to.Selection.Selection, to.Space.Dims))
	}
	return nil
}
