// Fitting of arrays and attributes to the target.

package treecopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// planArray plans an array: it reads its facts, fits them to the target, and records the changes.
func (c *copier) planArray(ctx context.Context, item *tree.Item) error {
	a, viewed, err := c.array(ctx, item.From)
	if errors.Is(err, errors.ErrUnsupported) { // for example, elements in files that a worker cannot open
		c.Unreadable(item.From, "array", err)
		return nil
	}
	var f arrayFacts
	if err == nil {
		f, err = c.facts(ctx, a)
		if f.viewed = viewed; viewed && err == nil && c.target.Traits().CopiesAttrs {
			item.Retyped, err = c.retyped(ctx, item.From, a)
		}
		err = errors.Join(err, a.Close())
	}
	if err != nil && c.options.SkipUnreadable && tree.Unreadable(err) {
		c.Unreadable(item.From, "array", err)
		return nil
	}
	if err != nil {
		return err
	}
	if f.noText != nil {
		c.loseObject(item.From, tree.Array, f.noText)
		return nil
	}
	c.reportText(item.From, &f)
	if err := missingFilter(f.Meta); err != nil && item.Entry.Storage.StoredBytes > 0 {
		c.Unreadable(item.From, "array", err)
		return nil
	}
	item.Nullable, item.Nulls, item.Objects = f.Nullable, f.nulls, f.Format == detect.Objects
	return c.fit(item, &f)
}

// reportText records the type of strings that the target stores in place of that of the source.
func (c *copier) reportText(from string, f *arrayFacts) {
	arrays := c.target.Traits().Format
	if !f.DType.Equal(f.stored) {
		c.Report(from, "type", f.stored.String(), fmt.Sprintf("%s stores the same strings as %v", arrays, f.DType))
		if len(bytes.Trim(f.Fill, "\x00")) > 0 {
			c.Report(from, "fill value", ndarray.FormatElement(f.stored, f.Fill), fmt.Sprintf("strings of type %v have none", f.DType))
		}
		f.Fill = nil
	}
	if f.Format == detect.Objects {
		c.Report(from, "objects", fmt.Sprintf("%d Python objects", f.NumElems()), fmt.Sprintf("%s stores their JSON as strings", arrays))
	}
}

// fit plans an array as the target stores it, or records its loss.
func (c *copier) fit(item *tree.Item, f *arrayFacts) error {
	k := c.target.Traits()
	spec := f.Spec()
	spec.Comment = c.comment(item.From, f.Comment)
	unwritten := false
	if f.Format != k.Format {
		spec.Compression, spec.BlockShape = f.compression, f.blocks
		if k.Adopt != nil {
			k.Adopt(&spec)
		}
	} else if c.target.Check(item.Path, spec, c.Rows()) != nil {
		spec.Compression = nil // a codec that can be read but not written
		unwritten = true
	}
	item.Workers = c.options.Workers
	if c.options.Adjust != nil {
		if err := c.options.Adjust(item.From, f.Meta, &spec, &item.Workers); err != nil {
			return err
		}
	}
	item.Spec = &spec
	if divided, err := c.target.Divide(item, f.attrs); divided || err != nil {
		return err
	}
	if err := c.target.Check(item.Path, spec, c.Rows()); err != nil {
		c.loseObject(item.From, tree.Array, err)
		return nil
	}
	if unwritten && spec.Compression == nil { // Adjust has not chosen another codec
		c.Report(item.From, "compression", f.Compression.String(), fmt.Sprintf("%s is not written with it; %s instead", k.Format, k.Compression))
	}
	if !k.CopiesAttrs && hasReferences(spec.DType) {
		c.loseObject(item.From, tree.Array, fmt.Errorf("%w: %v of an untrusted file", errors.ErrUnsupported, spec.DType))
		return nil
	}
	spec.Attrs = c.Keep(item.From, f.attrs, f.AxisNames != nil)
	if err := c.arrange(item.From, spec.Attrs); err != nil {
		return err
	}
	item.KeepsType = spec.DType.Equal(f.stored) && !f.viewed
	item.Spec, item.Bytes = c.shared(&spec), f.NumElems()*int64(f.DType.Size)
	c.AddArray(item)
	return nil
}

// comment returns the comment for the target.
func (c *copier) comment(path, text string) string {
	k := c.target.Traits()
	if text == "" || k.Comments {
		return text
	}
	c.Report(path, "comment", text, fmt.Sprintf("%s cannot store it", k.Format))
	return ""
}

// Keep returns the attributes that the target can represent. named reports whether the target gets
// the dimension names of the array.
func (c *copier) Keep(path string, attrs ndarray.Attrs, named bool) []ndarray.Attr {
	var out []ndarray.Attr
	k := c.target.Traits()
	for _, u := range attrs.Unsupported {
		if dimscale.Links(u, named) {
			continue // the dimension scales, or the dimension names and the arrays with these names
		}
		if raw, ok := u.Stored(); ok && c.target.Stores(raw) {
			out = append(out, raw)
			c.plan.Counts.Attrs++
			continue
		}
		if c.format != detect.HDF5 {
			if a, ok := c.source.references(path, u); ok {
				c.Report(path, "type of attribute "+u.Name, u.Type, fmt.Sprintf("%s stores the paths as strings", k.Format))
				attrs.List = append(attrs.List, a)
				continue
			}
		}
		c.Lose(path, "attribute "+u.Name, fmt.Errorf("%w: %s: %s", errors.ErrUnsupported, u.Type, u.Reason))
	}
	for _, a := range attrs.List {
		stored, err := c.target.Attr(a)
		if err != nil {
			c.Lose(path, "attribute "+a.Name, err)
			continue
		}
		if d := a.Value.DType; !d.Equal(stored.Value.DType) {
			c.Report(path, "type of attribute "+a.Name, d.String(), fmt.Sprintf("%s stores the same strings as %v", k.Format, stored.Value.DType))
		}
		if types := msgpack.Simplified(stored.Raw); len(types) > 0 && !k.Frames {
			c.Report(path, "type of attribute "+a.Name, strings.Join(types, ", "), fmt.Sprintf("%s has lists and strings only", k.Format))
		}
		out = append(out, stored)
		c.plan.Counts.Attrs++
	}
	return out
}

// arrange brings the attributes of an object of an HDF5 source into the order of their creation. It
// reports the storage properties that the target does not have.
func (c *copier) arrange(path string, attrs []ndarray.Attr) error {
	k := c.target.Traits()
	if c.source.HDF5() == nil || k.CopiesAttrs {
		return nil
	}
	p, fill, err := c.source.properties(path)
	if err != nil {
		return err
	}
	if fill != "" {
		c.Report(path, "fill value", strconv.Quote(fill), fmt.Sprintf("strings of %s have none", k.Format))
	}
	if p.Layout != "" {
		c.Report(path, "layout", p.Layout, "the elements are stored in the target")
	}
	if p.Alloc != "" {
		c.Report(path, "allocation", p.Alloc, fmt.Sprintf("%s has no allocation time", k.Format))
	}
	if p.Links != nil {
		c.unordered = append(c.unordered, path)
	}
	p.Arrange(attrs)
	return nil
}

// reportOrder reports groups whose creation order of links the target does not have. All groups
// together are one entry, because netCDF-4 tracks the order in each group.
func (c *copier) reportOrder(root string) {
	if len(c.unordered) == 0 {
		return
	}
	const named = 3
	paths := c.unordered
	of := strings.Join(paths[:min(len(paths), named)], ", ")
	if more := len(paths) - named; more > 0 {
		of += fmt.Sprintf(" and %d more", more)
	}
	c.Report(root, "creation order of links", of, fmt.Sprintf("%s lists them by name", c.target.Traits().Format))
}

// hasReferences reports whether elements of d contain references.
func hasReferences(d ndarray.DType) bool {
	found := false
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		found = found || p.Kind == ndarray.Reference
		return p
	})
	return found
}

// missingFilter returns an error if the elements of an array are compressed with a filter that is
// not available.
func missingFilter(m ndarray.Meta) error {
	if m.Format != detect.HDF5 || m.Compression == nil {
		return nil
	}
	for _, name := range append([]string{m.Compression.Codec}, m.Compression.Filters...) {
		number, unknown := strings.CutPrefix(name, "filter ")
		if name == "zfp" { // the only named codec that always needs a plug-in
			number, unknown = "32013", true
		}
		if id, err := strconv.Atoi(number); unknown && err == nil {
			if can, err := h5.FilterAvailable(id); err != nil || !can.Decode {
				return errs.Mark(&h5.FilterError{ID: id}, errors.ErrUnsupported)
			}
		}
	}
	return nil
}
