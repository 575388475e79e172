// Differences between an array or a group and its conversion.

package converted

import (
	"context"
	"errors"
	"slices"
	"strings"

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
		r.SameDType = sameMeaning(r.A.DType, r.B.DType)
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

// sameMeaning reports whether a conversion may replace the type a by b if all values are equal:
// strings of other types, the other byte order, and the integers of an enumeration.
func sameMeaning(a, b ndarray.DType) bool {
	if a.Kind == ndarray.Enum && b.Kind != ndarray.Enum {
		a = *a.Base
	}
	return isText(a) && isText(b) || a.EqualValues(b)
}

func isText(d ndarray.DType) bool {
	return d.Kind == ndarray.String || d.Kind == ndarray.Bytes || d.Kind == ndarray.Unicode
}

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
			if x == nil && s.Format != t.Format || t.Format == "npy" || t.Format == "frame" {
				continue
			}
		case x != nil && y != nil && sameContent(*x, *y):
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

// sameContent reports whether two values have the same elements in the same order, in types that
// may differ.
func sameContent(a, b ndarray.Value) bool {
	if a.Null || b.Null {
		return a.Null && b.Null
	}
	return slices.Equal(elements(a), elements(b))
}

// elements formats all elements of a value. Numbers that are equal have the same form.
func elements(v ndarray.Value) []string {
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

// Lacks reports whether a format cannot store an object of a kind, so that a conversion leaves it
// out. The kinds are those of an Entry of package hyperslab; d is the type of an array.
func Lacks(format, kind string, d ndarray.DType) bool {
	if format == "hdf5" {
		return false
	}
	switch kind {
	case "link", "datatype", "other":
		return true
	case "group":
		return format == "b2e" || format == "bcolz"
	}
	return d.Size == 0 && !strings.HasPrefix(d.String(), "string")
}
