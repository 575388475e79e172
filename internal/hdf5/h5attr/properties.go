// Storage properties of objects that a Spec does not contain.

package h5attr

import (
	"errors"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Properties are storage properties of a dataset or a group that differ from libhdf5's defaults.
type Properties struct {
	Layout string   // "compact", "external files" or "virtual"; "" for contiguous and chunked
	Alloc  string   // "early", "late" or "incremental"; "" for the default of the layout
	Attrs  []string // names of attributes in creation order; nil if it is the order of the names
	Links  []string // names of the links of a group in creation order; nil if it is the order of the names
}

// Arrange sorts attributes into the creation order of p.
func (p *Properties) Arrange(attrs []ndarray.Attr) {
	at := make(map[string]int, len(p.Attrs))
	for i, name := range p.Attrs {
		at[name] = i
	}
	if len(at) > 0 {
		slices.SortStableFunc(attrs, func(a, b ndarray.Attr) int { return at[a.Name] - at[b.Name] })
	}
}

// ReadProperties reads the storage properties of an object.
func ReadProperties(o h5.Object) (p Properties, err error) {
	switch o := o.(type) {
	case *h5.Dataset:
		info, err := o.Info()
		if err != nil {
			return p, err
		}
		p.Layout, p.Alloc = layoutOf(&info), allocOf(&info)
		if info.AttributeOrder == h5.NoCreationOrder {
			return p, nil
		}
	case *h5.Group:
		info, err := o.Info()
		if err != nil {
			return p, err
		}
		if info.Options.Order != h5.NoCreationOrder {
			for l, err := range o.LinksIn(h5.ByCreation) {
				if err != nil {
					return p, err
				}
				p.Links = append(p.Links, l.Name)
			}
			p.Links = unsorted(p.Links)
		}
		if info.Options.AttributeOrder == h5.NoCreationOrder {
			return p, nil
		}
	default:
		return p, nil
	}
	var attrs []h5.AttributeInfo
	for a, err := range o.Attributes() {
		if errors.Is(err, errors.ErrUnsupported) {
			return p, nil // beside an attribute of an unknown type, libhdf5 lists none
		}
		if err != nil {
			return p, err
		}
		attrs = append(attrs, a)
	}
	slices.SortStableFunc(attrs, func(a, b h5.AttributeInfo) int { return int(a.Order - b.Order) })
	for _, a := range attrs {
		p.Attrs = append(p.Attrs, a.Name)
	}
	p.Attrs = unsorted(p.Attrs)
	return p, nil
}

// unsorted returns names, or nil if they are in the order of their bytes.
func unsorted(names []string) []string {
	if slices.IsSorted(names) {
		return nil
	}
	return names
}

// layoutOf returns the layout of a dataset, or "" for the layouts that every format has.
func layoutOf(info *h5.DatasetInfo) string {
	switch {
	case info.Layout == h5.Compact:
		return "compact"
	case info.Layout == h5.Virtual:
		return "virtual"
	case len(info.External) > 0:
		return "external files"
	}
	return ""
}

// allocOf returns the allocation time of a dataset, or "" for the default of its layout.
func allocOf(info *h5.DatasetInfo) string {
	usual := h5.AllocIncremental
	switch info.Layout {
	case h5.Compact:
		usual = h5.AllocEarly
	case h5.Contiguous:
		usual = h5.AllocLate
	}
	switch a := info.Alloc; {
	case a == usual || a == h5.AllocDefault || info.Layout == h5.Virtual:
		return ""
	case a == h5.AllocEarly:
		return "early"
	case a == h5.AllocLate:
		return "late"
	}
	return "incremental"
}
