// The plan of a copy: the objects to create, and the losses and changes.

package hyperslab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
)

// treeCopy plans and makes one copy.
type treeCopy struct {
	losses
	source copySource
	*destination
	target copyTarget

	groups, arrays, links []*treeItem // parents before children
	whole                 []string    // groups that are copied as a whole, with everything in them
	unordered             []string    // groups whose creation order of links the target does not have
	progress              ndarray.Progress
}

// treeItem is one object to create.
type treeItem struct {
	from  string         // path in the source
	path  string         // path in the target
	spec  *ndarray.Spec  // of an array that is no frame; equal ones may share it
	bytes int64          // of an array's elements
	most  int            // maximum goroutines for copying an array
	entry *Entry         // of a link, and while the object is planned
	field *ndarray.Field // of the source's structures, for a column of a CTable; nil: the whole array

	frame func() (*stores.Frame, error) // opens a frame that is copied byte for byte; else nil
	ext   string                        // of the file of the frame

	attrs   []ndarray.Attr  // of a group
	comment string          // of a group
	axes    []dimscale.Axis // labels and scales of an array of HDF5

	objects  bool   // elements are Python objects
	nullable bool   // elements may be null
	nulls    int64  // number of null elements
	notNull  bool   // the array has a bool for each row of the source: false for a null one
	column   string // name in the schema of a CTable

	keepsType bool // of an array that hdf5Copy copies: the element type does not change
	asStored  bool // ndarray does not have the element type
}

// strings returns the mode of replacing strings.
func (c *treeCopy) strings() textview.Mode {
	return cmp.Or(textview.Mode(c.options.Strings), textview.Auto)
}

// copy plans and makes the copy.
func (c *treeCopy) copy(ctx context.Context) error {
	if mode := c.strings(); !slices.Contains([]textview.Mode{textview.Auto, textview.Fixed, textview.Error}, mode) {
		return fmt.Errorf("%w: strings: got %q, want auto, fixed or error", ndarray.ErrParam, mode)
	}
	var err error
	if c.target, err = newTarget(c, c.format, c.options.Table); err != nil {
		return err
	}
	if err := c.plan(ctx); err != nil {
		return err
	}
	c.progress = ndarray.Progress{TotalBytes: c.stats.Bytes, TotalUnits: int64(len(c.arrays))}
	if len(c.refused) > 0 {
		c.stats.Refused = c.refused
		return fmt.Errorf("%w: %s does not hold %d parts of the source, for example %s", errors.ErrUnsupported, c.format, len(c.refused), c.refused[0])
	}
	if c.options.DryRun {
		return nil
	}
	out, err := c.output(ctx, c.options.Overwrite)
	if err != nil {
		return err
	}
	if err = c.target.write(ctx, out.Path()); err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	if !c.inDirectory() {
		return nil
	}
	return c.register(ctx, c.tables())
}

// plan walks the source and determines the objects to create.
func (c *treeCopy) plan(ctx context.Context) error {
	root := c.source.root()
	for e, err := range c.source.Walk(ctx, nil) {
		if err != nil {
			return err
		}
		if c.options.Exclude != nil && e.Path != root && c.options.Exclude(e.Path) {
			c.without = append(c.without, e.Path)
			continue
		}
		if group, ok := c.closedGroup(e.Path); ok {
			c.loseObject(e.Path, e.Kind, fmt.Errorf("%w: group %s is left out", errors.ErrUnsupported, group))
			continue
		}
		if c.leftOut(e.Path) || c.inWhole(e.Path) {
			continue
		}
		if e.Path == root && e.Kind != Group && !(c.options.Table && e.Kind == Array) {
			return fmt.Errorf("%w: %s: got one %s, want a group", ndarray.ErrParam, shown(c.source.location.String()), e.Kind)
		}
		item := &treeItem{from: e.Path, path: below(c.at, strings.TrimPrefix(e.Path, c.source.prefix())), entry: &e}
		if err := c.planEntry(ctx, item); err != nil {
			return err
		}
	}
	c.planLinks()
	for item, err := range c.others() {
		if err != nil {
			return err
		}
		c.arrays = append(c.arrays, item)
		c.stats.Bytes += item.bytes
	}
	if err := c.target.complete(ctx); err != nil {
		return err
	}
	c.reportOrder(root)
	size, err := c.source.userBlock()
	if err == nil && size > 0 {
		c.report(root, "user block", fmt.Sprintf("%d bytes", size), "only repack and cp of the whole file keep it")
	}
	return err
}

// planLinks removes links to objects that are left out.
func (c *treeCopy) planLinks() {
	c.links = slices.DeleteFunc(c.links, func(item *treeItem) bool {
		e := item.entry
		if e.LinkKind != h5.HardLink.String() || !c.leftOut(e.Target) {
			return false
		}
		c.lose(e.Path, "link", fmt.Errorf("%w: hard link to %s, which is left out", errors.ErrUnsupported, e.Target))
		c.stats.Links--
		return true
	})
}

// planEntry plans one object of the source.
func (c *treeCopy) planEntry(ctx context.Context, item *treeItem) error {
	e := item.entry
	if c.target.begin(item) {
		return nil
	}
	if e.Err != nil {
		c.unreadable(e.Path, string(e.Kind), e.Err)
		return nil
	}
	if err := c.target.checkName(item.path, e.Kind == Group); err != nil {
		c.loseObject(e.Path, e.Kind, err)
		return nil
	}
	if planned, err := c.target.plan(item); planned || err != nil {
		return err
	}
	switch e.Kind {
	case Group:
		return c.planGroup(ctx, item)
	case Array:
		return c.planArray(ctx, item)
	case Link:
		if !slices.Contains(c.target.traits().links, e.LinkKind) {
			c.lose(e.Path, "link", e.unsupportedIn(c.format))
			return nil
		}
		c.links = append(c.links, item)
		c.stats.Links++
		return nil
	case Type:
		if c.format == HDF5 && c.source.Format == HDF5 {
			c.loseObject(e.Path, e.Kind, fmt.Errorf("%w: %s of an untrusted file", errors.ErrUnsupported, e.form()))
			return nil
		}
	}
	c.loseObject(e.Path, e.Kind, e.unsupportedIn(c.format))
	return nil
}

// planGroup plans a group.
func (c *treeCopy) planGroup(ctx context.Context, item *treeItem) error {
	e := item.entry
	attrs, err := c.source.GroupAttrs(ctx, e.Path)
	switch {
	case err == nil:
	case c.options.SkipUnreadable && tree.Unreadable(err):
		c.unreadablePart(e.Path, "attributes", err)
	default:
		return err
	}
	if !c.target.traits().groupAttrs {
		for _, attr := range attrs.List {
			c.lose(e.Path, "attribute "+attr.Name, fmt.Errorf("%w: an EmbedStore has no attributes of groups", errors.ErrUnsupported))
		}
		attrs.List = nil
	}
	item.attrs, item.comment = c.keep(e.Path, attrs, false), c.comment(e.Path, e.Comment)
	if err := c.arrange(e.Path, item.attrs); err != nil {
		return err
	}
	c.addGroup(item)
	return nil
}

// planArray plans an array: it reads its facts, fits them to the target, and records what that
// changes.
func (c *treeCopy) planArray(ctx context.Context, item *treeItem) error {
	a, err := c.source.Open(ctx, item.from)
	if errors.Is(err, errors.ErrUnsupported) { // for example, elements in files that a worker cannot open
		c.unreadable(item.from, "array", err)
		return nil
	}
	var f arrayFacts
	if err == nil {
		f, err = c.facts(ctx, a)
		err = errors.Join(err, a.Close())
	}
	if err != nil && c.options.SkipUnreadable && tree.Unreadable(err) {
		c.unreadable(item.from, "array", err)
		return nil
	}
	if err != nil {
		return err
	}
	if f.noText != nil {
		c.loseObject(item.from, Array, f.noText)
		return nil
	}
	c.reportText(item.from, &f)
	if err := missingFilter(f.Meta); err != nil && item.entry.Storage.StoredBytes > 0 {
		c.unreadable(item.from, "array", err)
		return nil
	}
	item.nullable, item.nulls, item.objects = f.Nullable, f.nulls, f.Format == detect.Objects
	return c.fit(item, &f)
}

// reportText records the type of strings that the target stores in place of that of the source.
func (c *treeCopy) reportText(from string, f *arrayFacts) {
	arrays := c.target.traits().format
	if !f.DType.Equal(f.stored) {
		c.report(from, "type", f.stored.String(), fmt.Sprintf("%s stores the same strings as %v", arrays, f.DType))
		if len(bytes.Trim(f.Fill, "\x00")) > 0 {
			c.report(from, "fill value", ndarray.FormatElement(f.stored, f.Fill), fmt.Sprintf("strings of type %v have none", f.DType))
		}
		f.Fill = nil
	}
	if f.Format == detect.Objects {
		c.report(from, "objects", fmt.Sprintf("%d Python objects", f.NumElems()), fmt.Sprintf("%s stores their JSON as strings", arrays))
	}
}

// fit plans an array as the target stores it, or records its loss.
func (c *treeCopy) fit(item *treeItem, f *arrayFacts) error {
	k := c.target.traits()
	spec := f.Spec()
	spec.Comment = c.comment(item.from, f.Comment)
	unwritten := false
	if f.Format != string(k.format) {
		spec.Compression, spec.BlockShape = f.compression, f.blocks
		if k.adopt != nil {
			k.adopt(&spec)
		}
	} else if c.target.check(item.path, spec, c.rows()) != nil {
		spec.Compression = nil // a codec that can be read but not written
		unwritten = true
	}
	item.most = c.options.Workers
	if c.options.Adjust != nil {
		if err := c.options.Adjust(item.from, f.Meta, &spec, &item.most); err != nil {
			return err
		}
	}
	item.spec = &spec
	if divided, err := c.target.divide(item, f.attrs); divided || err != nil {
		return err
	}
	if err := c.target.check(item.path, spec, c.rows()); err != nil {
		c.loseObject(item.from, Array, err)
		return nil
	}
	if unwritten && spec.Compression == nil { // Adjust has not chosen another codec
		c.report(item.from, "compression", f.Compression.String(), fmt.Sprintf("%s is not written with it; %s instead", k.format, k.compression))
	}
	if !k.copiesAttrs && hasReferences(spec.DType) {
		c.loseObject(item.from, Array, fmt.Errorf("%w: %v of an untrusted file", errors.ErrUnsupported, spec.DType))
		return nil
	}
	spec.Attrs = c.keep(item.from, f.attrs, f.AxisNames != nil)
	if err := c.arrange(item.from, spec.Attrs); err != nil {
		return err
	}
	item.keepsType = spec.DType.Equal(f.stored)
	item.spec, item.bytes = c.shared(&spec), f.NumElems()*int64(f.DType.Size)
	c.addArray(item)
	return nil
}

// shared returns the spec of the array before, if it is equal, because a file may have very many
// arrays, and only their paths differ in most files.
func (c *treeCopy) shared(spec *ndarray.Spec) *ndarray.Spec {
	if len(c.arrays) > 0 {
		if last := c.arrays[len(c.arrays)-1].spec; reflect.DeepEqual(last, spec) {
			return last
		}
	}
	return spec
}

// addGroup plans a group.
func (c *treeCopy) addGroup(item *treeItem) {
	item.entry = nil
	c.groups = append(c.groups, item)
	c.stats.Groups++
}

// addArray plans an array.
func (c *treeCopy) addArray(item *treeItem) {
	item.entry = nil
	c.arrays = append(c.arrays, item)
	c.stats.Arrays++
	c.stats.Bytes += item.bytes
}

// rows returns the number of rows of the first array, or -1 before it.
func (c *treeCopy) rows() int64 {
	if len(c.arrays) == 0 || c.arrays[0].spec == nil || len(c.arrays[0].spec.Shape) == 0 {
		return -1
	}
	return c.arrays[0].spec.Shape[0]
}

// tables returns the paths of the tables that are copied as a whole.
func (c *treeCopy) tables() (paths []string) {
	for _, item := range c.arrays {
		if dir, ok := strings.CutSuffix(item.path, "/"+b2store.TableMeta); ok {
			paths = append(paths, cmp.Or(dir, "/"))
		}
	}
	return paths
}

// inWhole reports whether a path is in a group that is copied as a whole.
func (c *treeCopy) inWhole(at string) bool {
	return slices.ContainsFunc(c.whole, func(group string) bool {
		return at != group && strings.HasPrefix(at, strings.TrimSuffix(group, "/")+"/")
	})
}

// comment returns the comment for the target.
func (c *treeCopy) comment(path, text string) string {
	k := c.target.traits()
	if text == "" || k.comments {
		return text
	}
	c.report(path, "comment", text, fmt.Sprintf("%s cannot store it", k.format))
	return ""
}

// keep returns the attributes that the target can represent. named reports whether the target gets
// the dimension names of the array.
func (c *treeCopy) keep(path string, attrs ndarray.Attrs, named bool) []ndarray.Attr {
	var out []ndarray.Attr
	k := c.target.traits()
	for _, u := range attrs.Unsupported {
		if dimscale.Links(u, named) {
			continue // the dimension scales, or the dimension names and the arrays with these names
		}
		if raw, ok := u.Stored(); ok && c.target.stores(raw) {
			out = append(out, raw)
			c.stats.Attrs++
			continue
		}
		if c.format != HDF5 {
			if a, ok := c.source.references(path, u); ok {
				c.report(path, "type of attribute "+u.Name, u.Type, fmt.Sprintf("%s stores the paths as strings", k.format))
				attrs.List = append(attrs.List, a)
				continue
			}
		}
		c.lose(path, "attribute "+u.Name, fmt.Errorf("%w: %s: %s", errors.ErrUnsupported, u.Type, u.Reason))
	}
	for _, a := range attrs.List {
		stored, err := c.target.attr(a)
		if err != nil {
			c.lose(path, "attribute "+a.Name, err)
			continue
		}
		if d := a.Value.DType; !d.Equal(stored.Value.DType) {
			c.report(path, "type of attribute "+a.Name, d.String(), fmt.Sprintf("%s stores the same strings as %v", k.format, stored.Value.DType))
		}
		if types := msgpack.Simplified(stored.Raw); len(types) > 0 && !k.frames {
			c.report(path, "type of attribute "+a.Name, strings.Join(types, ", "), fmt.Sprintf("%s has lists and strings only", k.format))
		}
		out = append(out, stored)
		c.stats.Attrs++
	}
	return out
}

// arrange brings the attributes of an object of an HDF5 source into the order of their creation. It
// reports the storage properties that the target does not have.
func (c *treeCopy) arrange(path string, attrs []ndarray.Attr) error {
	k := c.target.traits()
	if c.source.hdf5() == nil || k.copiesAttrs {
		return nil
	}
	p, fill, err := c.source.properties(path)
	if err != nil {
		return err
	}
	if fill != "" {
		c.report(path, "fill value", strconv.Quote(fill), fmt.Sprintf("strings of %s have none", k.format))
	}
	if p.Layout != "" {
		c.report(path, "layout", p.Layout, "the elements are stored in the target")
	}
	if p.Alloc != "" {
		c.report(path, "allocation", p.Alloc, fmt.Sprintf("%s has no allocation time", k.format))
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
	c.report(root, "creation order of links", of, fmt.Sprintf("%s lists them by name", c.target.traits().format))
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
	if m.Format != string(HDF5) || m.Compression == nil {
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
