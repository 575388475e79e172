// Storage properties of the objects of an HDF5 source that a Spec does not contain.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/textview"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// treeProperties reads the storage properties of an HDF5 source.
type treeProperties struct {
	file  *h5.File // during planning
	links []string // paths of groups whose creation order the target does not have
}

// openProperties opens the source, unless it has no such properties or is untrusted.
func (c *treeCopy) openProperties(ctx context.Context) error {
	if c.source.format != HDF5 || c.options.Untrusted != nil {
		return nil
	}
	f, err := openSource(ctx, c.source.location.File, nil)
	if err != nil {
		return hdf5.Translate(err)
	}
	c.properties = &treeProperties{file: f}
	return nil
}

func (p *treeProperties) close() error {
	if p == nil {
		return nil
	}
	return hdf5.Translate(p.file.Close())
}

// propertiesOf returns the properties of the object at a path of the source. It records those that
// the target does not have.
func (c *treeCopy) propertiesOf(path string) (p hdf5.Properties, err error) {
	if c.properties == nil {
		return p, nil
	}
	o, err := c.properties.file.Root().OpenObject(path)
	if err != nil {
		return p, hdf5.Translate(err)
	}
	p, err = hdf5.ReadProperties(o)
	fill := ""
	if d, ok := o.(*h5.Dataset); ok && err == nil && c.target != HDF5 {
		fill, err = textview.Fill(d)
		err = hdf5.Translate(err)
	}
	if err = errors.Join(err, hdf5.Translate(o.Close())); err != nil {
		return p, err
	}
	if fill != "" {
		c.report(path, "fill value", strconv.Quote(fill), fmt.Sprintf("strings of %s have none", c.format()))
	}
	if p.Layout != "" && (c.target != HDF5 || p.Layout != "compact") {
		c.report(path, "layout", p.Layout, "the elements are stored in the target")
	}
	if c.target == HDF5 {
		return p, nil
	}
	if p.Alloc != "" {
		c.report(path, "allocation", p.Alloc, fmt.Sprintf("%s has no allocation time", c.format()))
	}
	if p.Links != nil {
		c.properties.links = append(c.properties.links, path)
	}
	return p, nil
}

// reportOrder reports groups whose creation order of links the target does not have. All groups
// together are one entry, because netCDF-4 tracks the order in each group.
func (c *treeCopy) reportOrder(root string) {
	if c.properties == nil || len(c.properties.links) == 0 {
		return
	}
	const named = 3
	paths := c.properties.links
	of := strings.Join(paths[:min(len(paths), named)], ", ")
	if more := len(paths) - named; more > 0 {
		of += fmt.Sprintf(" and %d more", more)
	}
	c.report(root, "creation order of links", of, fmt.Sprintf("%s lists them by name", c.format()))
}

// orderLinks gives the links of new groups the creation order of the source.
func (c *treeCopy) orderLinks(f *h5.File) error {
	for _, item := range c.groups {
		if item.stored.Tracking.Order == h5.NoCreationOrder {
			continue
		}
		if err := orderGroup(f.Root(), item.path, item.stored.Links); err != nil {
			return hdf5.Translate(err)
		}
	}
	return nil
}

// orderGroup moves each link to a temporary name and back: a moved link is the last in creation
// order. names is nil for the order of the names.
func orderGroup(root *h5.Group, path string, names []string) (err error) {
	g := root
	if path != "/" {
		if g, err = root.OpenGroup(path); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	var now []string
	for l, err := range g.LinksIn(h5.ByCreation) {
		if err != nil {
			return err
		}
		now = append(now, l.Name)
	}
	want := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(now, name) })
	if names == nil {
		want = slices.Sorted(slices.Values(now))
	}
	if slices.Equal(now, want) {
		return nil
	}
	temporary := ".hyperslab-order"
	for slices.Contains(now, temporary) {
		temporary += "-"
	}
	for _, name := range want {
		if err := errors.Join(g.MoveLink(name, g, temporary), g.MoveLink(temporary, g, name)); err != nil {
			return err
		}
	}
	return nil
}
