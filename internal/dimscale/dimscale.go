// Scales of an array: reading, attaching and comparing them.

package dimscale

import (
	"errors"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// The attributes that link arrays and scales.
const (
	scalesAttr = "DIMENSION_LIST" // of an array
	usersAttr  = "REFERENCE_LIST" // of a scale: the arrays that it is attached to
)

// Axis describes a dimension of an array.
type Axis struct {
	Label  string   // "" without one
	Scales []string // paths of the attached scales, in the order of attachment
}

// Links reports whether an unsupported attribute links an array and its dimension scales. If
// named is true, the names of the scales are kept as dimension names.
func Links(u ndarray.UnsupportedAttr, named bool) bool {
	return strings.Contains(u.Type, "H5T_REFERENCE") && (u.Name == usersAttr || u.Name == scalesAttr && named)
}

// Read reads the labels and the scales of a dataset. Scales without a path are not listed.
func Read(root *h5.Group, path string, rank int) (_ []Axis, err error) {
	d, err := root.OpenDataset(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	axes := make([]Axis, rank)
	for i := range axes {
		if axes[i].Label, err = d.AxisLabel(i); err != nil {
			return nil, err
		}
		for s, err := range d.Scales(i) {
			if err != nil {
				return nil, err
			}
			if s.Path != "" {
				axes[i].Scales = append(axes[i].Scales, s.Path)
			}
		}
	}
	return axes, nil
}

// Attach attaches the scales of each axis to a dataset.
func Attach(root *h5.Group, path string, axes []Axis) (err error) {
	if !slices.ContainsFunc(axes, func(a Axis) bool { return len(a.Scales) > 0 }) {
		return nil
	}
	d, err := root.OpenDataset(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	for i, a := range axes {
		for _, name := range a.Scales {
			s, err := root.OpenDataset(name)
			if err != nil {
				return err
			}
			if err := errors.Join(d.AttachScale(i, s), s.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

// IsScale reports whether the attributes are those of a dimension scale.
func IsScale(attrs []ndarray.Attr) bool { return textOf(attrs, "CLASS") == class }

// IsPlaceholder reports whether the attributes are those of a dimension scale that netCDF creates
// for a dimension without a variable. Its elements are not coordinates.
func IsPlaceholder(attrs []ndarray.Attr) bool {
	return IsScale(attrs) && strings.HasPrefix(textOf(attrs, "NAME"), placeholder)
}

// textOf returns the text of an attribute with one string, or "".
func textOf(attrs []ndarray.Attr, name string) string {
	i := slices.IndexFunc(attrs, func(a ndarray.Attr) bool { return a.Name == name })
	if i < 0 {
		return ""
	}
	v := attrs[i].Value
	switch {
	case v.DType.Kind == ndarray.String && len(v.Strings) == 1:
		return v.Strings[0]
	case v.DType.Kind == ndarray.Bytes:
		return strings.TrimRight(string(v.Data), "\x00 ")
	}
	return ""
}

// class is the value of the attribute CLASS of a scale, and placeholder the beginning of the
// attribute NAME of a scale of netCDF for a dimension without a variable.
const (
	class       = "DIMENSION_SCALE"
	placeholder = "This is a netCDF dimension but not a netCDF variable."
)

// Compare removes differences from c that do not change the dimensions of the arrays.
// REFERENCE_LIST is the inverse of other attributes. DIMENSION_LIST is missing in other formats,
// which keep the dimension names.
func Compare(c *ndarray.Comparison) {
	c.Attrs = slices.DeleteFunc(c.Attrs, func(d ndarray.AttrDifference) bool {
		for _, text := range []string{d.A, d.B} {
			if text != "" && !strings.Contains(text, "H5T_REFERENCE") {
				return false
			}
		}
		switch d.Name {
		case usersAttr:
			return true
		case scalesAttr:
			return (d.A == "" || d.B == "") && sameNames(c.A.AxisNames, c.B.AxisNames)
		}
		return false
	})
}

// sameNames reports whether two arrays have the same dimension names, and have at least one.
func sameNames(a, b []string) bool {
	return slices.Equal(a, b) && slices.ContainsFunc(a, func(name string) bool { return name != "" })
}
