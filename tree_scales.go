// The dimension scales of arrays that are copied to HDF5. Sources of other formats have dimension
// names instead, which netCDF-4 and this package take from the names of the scales.

package hyperslab

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/dimscale"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// planScales determines the scales of each array from those of the source, or from the dimension
// names. A dimension with a scale needs no label, unless the source has one.
func (c *treeCopy) planScales() error {
	if c.target != HDF5 {
		return nil
	}
	byPath := make(map[string]*treeItem, len(c.arrays))
	for i := range c.arrays {
		byPath[c.arrays[i].from] = &c.arrays[i]
	}
	for _, e := range c.links { // a scale may be found by another name
		if x := byPath[e.entry.Target]; x != nil && e.entry.LinkKind == h5.HardLink.String() {
			byPath[e.from] = x
		}
	}
	for i := range c.arrays {
		item := &c.arrays[i]
		if item.spec.AxisNames == nil {
			continue
		}
		if item.axes = c.scalesByName(item, byPath); c.properties != nil {
			read, err := dimscale.Read(c.properties.file.Root(), item.from, len(item.spec.Shape))
			if err != nil {
				return hdf5.Translate(err)
			}
			item.axes = c.scalesOf(item, read, byPath)
		}
		item.spec.AxisNames = slices.Clone(item.spec.AxisNames)
		for k, a := range item.axes {
			if len(a.Scales) > 0 {
				item.spec.AxisNames[k] = a.Label
			}
		}
		if !slices.ContainsFunc(item.spec.AxisNames, func(name string) bool { return name != "" }) {
			item.spec.AxisNames = nil
		}
	}
	return nil
}

// scalesOf returns the scales of an array of HDF5, with their paths in the target.
func (c *treeCopy) scalesOf(item *treeItem, read []dimscale.Axis, byPath map[string]*treeItem) []dimscale.Axis {
	for k := range read {
		from := read[k].Scales
		read[k].Scales = nil
		for _, at := range from {
			scale := byPath[at]
			if scale == nil || dimscale.IsScale(item.spec.Attrs) {
				c.report(item.from, fmt.Sprintf("scale of dimension %d", k), at, "the copy does not contain it; its name is kept as dimension name")
				continue
			}
			read[k].Scales = append(read[k].Scales, scale.path)
		}
	}
	return read
}

// scalesByName returns the scales with the names of the dimensions: each is an array of one
// dimension of the same length, in the group of the array or in the nearest group above.
func (c *treeCopy) scalesByName(item *treeItem, byPath map[string]*treeItem) []dimscale.Axis {
	axes := make([]dimscale.Axis, len(item.spec.AxisNames))
	if dimscale.IsScale(item.spec.Attrs) {
		return axes
	}
	for k, name := range item.spec.AxisNames {
		if name == "" || strings.Contains(name, "/") {
			continue
		}
		for group := path.Dir(item.from); ; group = path.Dir(group) {
			scale := byPath[path.Join(group, name)]
			if scale != nil && scale != item && len(scale.spec.Shape) == 1 && scale.spec.Shape[0] == item.spec.Shape[k] && dimscale.IsScale(scale.spec.Attrs) {
				axes[k].Scales = []string{scale.path}
			}
			if scale != nil || group == "/" || group == "." {
				break
			}
		}
	}
	return axes
}

// attachScales attaches the scales of all arrays in the target.
func (c *treeCopy) attachScales(root *h5.Group) error {
	absent := make(map[string]bool) // arrays that could not be read
	for _, item := range c.arrays {
		absent[item.path] = c.leftOut(item.from)
	}
	for _, item := range c.arrays {
		if absent[item.path] {
			continue
		}
		for k := range item.axes {
			item.axes[k].Scales = slices.DeleteFunc(item.axes[k].Scales, func(at string) bool { return absent[at] })
		}
		if err := dimscale.Attach(root, item.path, item.axes); err != nil {
			return fmt.Errorf("%s: attach scales: %w", item.from, hdf5.Translate(err))
		}
	}
	return nil
}
