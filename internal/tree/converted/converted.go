// Differences between an array or a group and its conversion.

package converted

import (
	"context"
	"errors"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// Source is the object that was converted, and Target its conversion.
type Source struct {
	Attrs  ndarray.Attrs
	Format string    // of the array, or of the file of a group
	Object h5.Object // the HDF5 object, to read its references; nil for another format
}

// Target is the result of a conversion.
type Target struct {
	Attrs  ndarray.Attrs
	Format string
}

// Array removes from r the differences that the conversion of a to b makes.
func Array(ctx context.Context, r *ndarray.Comparison, a, b *ndarray.Array) error {
	if !r.SameDType && r.ValuesCompared && r.NumDiffs == 0 {
		r.SameDType = sameMeaning(r.A.DType, r.B.DType) || native(r.B) && r.B.DType.Equal(r.A.DType.Native())
	}
	if len(r.Attrs) == 0 {
		return nil
	}
	s := Source{Format: r.A.Format}
	if d, ok := ndarray.As[hdf5.Backend](a.Backend()); ok {
		s.Object = d.Dataset()
	}
	t := Target{Format: r.B.Format}
	var err error
	if s.Attrs, err = readable(ctx, a); err != nil {
		return err
	}
	if t.Attrs, err = readable(ctx, b); err != nil {
		return err
	}
	r.Attrs = Attrs(r.Attrs, s, t)
	return nil
}

// readable returns the attributes that can be read, or none for a backend without attributes.
func readable(ctx context.Context, a *ndarray.Array) (ndarray.Attrs, error) {
	attrs, err := a.Attrs(ctx)
	if ctx.Err() != nil || err == nil || errors.Is(err, errors.ErrUnsupported) || len(attrs.List)+len(attrs.Unsupported) > 0 {
		return attrs, ctx.Err()
	}
	return attrs, err
}

// native reports whether a conversion stores numbers in the byte order of the machine: in .npy, and
// in the columns of a CTable of python-blosc2, which are b2nd arrays.
func native(m ndarray.Meta) bool { return m.Format == "npy" || m.Format == "b2nd" }

// sameMeaning reports whether a conversion may replace the type a by b if all values are equal: the
// kind and the character set of strings, and the integers of an enumeration.
func sameMeaning(a, b ndarray.DType) bool {
	if a.Kind == ndarray.Enum && b.Kind != ndarray.Enum {
		a = *a.Base
	}
	if IsText(a) && IsText(b) {
		return a.Kind != b.Kind || a.Size == b.Size
	}
	return a.Equal(b)
}

// IsText reports whether d is a type of strings.
func IsText(d ndarray.DType) bool {
	return d.Kind == ndarray.String || d.Kind == ndarray.Bytes || d.Kind == ndarray.Unicode
}

// withoutAttrs are the formats of arrays, and of groups, that store no attributes.
var withoutAttrs = []string{"npy", "frame", "b2e"}

// Attrs returns the differences of attributes that the conversion of s to t does not make.
func Attrs(list []ndarray.AttrDifference, s Source, t Target) []ndarray.AttrDifference {
	var out []ndarray.AttrDifference
	before, after := values(s.Attrs), values(t.Attrs)
	for _, d := range list {
		x, y := before[d.Name], after[d.Name]
		if x == nil && y != nil && s.Object != nil {
			if paths, err := hdf5.ReferenceAttr(s.Object, d.Name); err == nil {
				x, d.A, d.Unsupported = &paths, paths.String(), false
			}
		}
		switch {
		case d.A != "" && d.B == "": // left out
			if x == nil && s.Format != t.Format || slices.Contains(withoutAttrs, t.Format) {
				continue
			}
		case x != nil && y != nil && s.Format != t.Format && sameContent(*x, *y):
			continue
		}
		out = append(out, d)
	}
	return out
}

// values returns the values of attributes by name.
func values(attrs ndarray.Attrs) map[string]*ndarray.Value {
	m := make(map[string]*ndarray.Value, len(attrs.List))
	for i := range attrs.List {
		m[attrs.List[i].Name] = &attrs.List[i].Value
	}
	return m
}

// sameContent reports whether two values have the same shape and elements, in types that a
// conversion replaces.
func sameContent(a, b ndarray.Value) bool {
	if a.Null != b.Null || !slices.Equal(a.Shape, b.Shape) || !sameMeaning(a.DType, b.DType) {
		return false
	}
	return slices.Equal(elements(a), elements(b))
}

// elements formats all elements of a value. Numbers that are equal have the same form.
func elements(v ndarray.Value) []string {
	if v.DType.Kind == ndarray.Enum {
		v.DType = *v.DType.Base
	}
	if v.DType.Size == 0 {
		texts := make([]string, len(v.Strings))
		for i, s := range v.Strings {
			texts[i] = ndarray.FormatElement(v.DType, []byte(s))
		}
		return texts
	}
	var texts []string
	for b := range slices.Chunk(v.Data, v.DType.Size) {
		texts = append(texts, ndarray.FormatElement(v.DType, b))
	}
	return texts
}
