// Storage properties of the objects of an HDF5 source that a Spec does not contain.

package hyperslab

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
)

// arrange brings the attributes of an object of an HDF5 source into the order of their creation. It
// reports the storage properties that the target does not have.
func (c *treeCopy) arrange(path string, attrs []ndarray.Attr) error {
	if c.source.file == nil || c.native != nil {
		return nil
	}
	o, err := c.source.file.Root().OpenObject(path)
	if err != nil {
		return err
	}
	p, err := h5attr.ReadProperties(o)
	fill := ""
	if d, ok := o.(*h5.Dataset); ok && err == nil {
		fill, err = textview.Fill(d)
	}
	if err = errors.Join(err, o.Close()); err != nil {
		return err
	}
	if fill != "" {
		c.report(path, "fill value", strconv.Quote(fill), fmt.Sprintf("strings of %s have none", c.format()))
	}
	if p.Layout != "" {
		c.report(path, "layout", p.Layout, "the elements are stored in the target")
	}
	if p.Alloc != "" {
		c.report(path, "allocation", p.Alloc, fmt.Sprintf("%s has no allocation time", c.format()))
	}
	if p.Links != nil {
		c.unordered = append(c.unordered, path)
	}
	p.Arrange(attrs)
	return nil
}

// reportOrder reports groups whose creation order of links the target does not have. All groups
// together are one entry, because netCDF-4 tracks the order in each group.
func (c *treeCopy) reportOrder(root string) {
	if len(c.unordered) == 0 {
		return
	}
	const named = 3
	paths := c.unordered
	of := strings.Join(paths[:min(len(paths), named)], ", ")
	if more := len(paths) - named; more > 0 {
		of += fmt.Sprintf(" and %d more", more)
	}
	c.report(root, "creation order of links", of, fmt.Sprintf("%s lists them by name", c.format()))
}
