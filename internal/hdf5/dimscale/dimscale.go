// Scales of an array: reading, attaching and comparing them.

package dimscale

import (
	"errors"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5names"
	"github.com/hyperslab/hyperslab/ndarray"
)

// The attributes that link arrays and scales.
const (
	labelsAttr = "DIMENSION_LABELS"
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
func Read(root *h5.Group, name string, rank int) (_ []Axis, err error) {
	d, err := root.OpenDataset(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	axes := make([]Axis, rank)
	l, err := listOf(d, rank)
	if err != nil {
		return nil, err
	}
	for i := range axes {
		if axes[i].Label, err = l.label(i); err != nil {
			return nil, err
		}
		for p, err := range l.scales(i) {
			if err != nil {
				return nil, err
			}
			if p != "" {
				axes[i].Scales = append(axes[i].Scales, p)
			}
		}
	}
	return axes, nil
}

// Names returns the label of each dimension of a dataset, or the last part of the path of the first
// scale attached to it. It returns nil if no dimension has a name, or if libhdf5 does not support
// the type of the attributes that contain the names.
func Names(d *h5.Dataset, rank int) ([]string, error) {
	l, err := listOf(d, rank)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil || !l.labels && !l.attached {
		return nil, err
	}
	names, any := make([]string, rank), false
	for i := range names {
		if names[i], err = l.label(i); err != nil {
			return nil, err
		}
		if names[i] == "" {
			first, err := l.first(i)
			if err != nil {
				return nil, err
			}
			if first != "" {
				names[i] = path.Base(strings.TrimSuffix(first, "/"))
			}
		}
		any = any || names[i] != ""
	}
	if !any {
		return nil, nil
	}
	return names, nil
}

// First returns the path of the first scale of each axis of a dataset, "" without one. It returns
// nil if libhdf5 does not support the type of the attributes that contain the scales.
func First(d *h5.Dataset, rank int) ([]string, error) {
	l, err := listOf(d, rank)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make([]string, rank)
	for i := range out {
		if out[i], err = l.first(i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// lists are the attributes of a dataset that contain its labels and its scales.
type lists struct {
	d                *h5.Dataset
	labels, attached bool
	refs             [][]h5.Ref // scales by axis; nil if only libhdf5 can read them
}

func listOf(d *h5.Dataset, rank int) (l lists, err error) {
	l.d = d
	if l.labels, err = d.HasAttribute(labelsAttr); err != nil {
		return l, err
	}
	if l.attached, err = d.HasAttribute(scalesAttr); err != nil || !l.attached {
		return l, err
	}
	a, err := d.ReadAttribute(scalesAttr)
	if err != nil {
		return l, err
	}
	t := a.Datatype
	if t.Class != h5.Sequence || t.Base.Class != h5.Reference || t.Base.Ref != h5.ObjectReference || !slices.Equal(a.Space.Dims, []int64{int64(rank)}) {
		return l, nil
	}
	v, err := h5value.AttributeValues(&a)
	if err != nil {
		return l, err
	}
	l.refs, err = h5value.Decode[[]h5.Ref](v)
	return l, err
}

// label returns the label of an axis, or "".
func (l *lists) label(axis int) (string, error) {
	if !l.labels {
		return "", nil
	}
	return l.d.AxisLabel(axis)
}

// scales yields the paths of the scales of an axis, "" for one without a path. The references are
// resolved one by one, because libhdf5 searches the file for each scale of H5DSiterate_scales.
func (l *lists) scales(axis int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if !l.attached {
			return
		}
		if l.refs == nil {
			for s, err := range l.d.Scales(axis) {
				if !yield(s.Path, err) {
					return
				}
			}
			return
		}
		for _, r := range l.refs[axis] {
			to, err := h5names.Resolve(l.d.File(), r)
			if !yield(to.Path, err) || err != nil {
				return
			}
		}
	}
}

func (l *lists) first(axis int) (string, error) {
	for p, err := range l.scales(axis) {
		return p, err
	}
	return "", nil
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
