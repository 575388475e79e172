// The dimension scales of arrays that are copied to HDF5. Sources of other formats have dimension
// names instead, which netCDF-4 and this package take from the names of the scales.

package hyperslab

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
)

// planScales determines the scales of each array from the dimension names. A dimension with a scale
// needs no label.
func (c *treeCopy) planScales() {
	if c.target != HDF5 || c.native != nil {
		return
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
		item.axes = c.scalesByName(item, byPath)
		item.spec.AxisNames = slices.Clone(item.spec.AxisNames)
		for k, a := range item.axes {
			if len(a.Scales) > 0 {
				item.spec.AxisNames[k] = ""
			}
		}
		if !slices.ContainsFunc(item.spec.AxisNames, func(name string) bool { return name != "" }) {
			item.spec.AxisNames = nil
		}
	}
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
			return fmt.Errorf("%s: attach scales: %w", item.from, err)
		}
	}
	return nil
}
