// CopyTree copies all arrays, groups and attributes from one place to another, in any format.
// Before it writes, it finds everything that the target cannot represent.

package hyperslab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// TreeOptions are the options of CopyTree. nil means the zero value.
type TreeOptions struct {
	Accept    func(Problem) bool // reports whether a loss is accepted; nil: no loss is
	DryRun    bool               // find problems, write nothing
	Overwrite bool               // replace an existing target
	Lock      *Lock              // the lock of an existing target, which the caller holds; nil: CopyTree takes it

	// Exclude reports whether the object at a path of the source is left out, with everything below
	// it; nil: all objects are copied. Links to excluded objects are problems, because they would
	// have no target.
	Exclude func(path string) bool

	// SkipUnreadable leaves out objects that are corrupt, or stored with a filter that is not
	// available, instead of failing; TreeStats.Unreadable lists them.
	SkipUnreadable bool

	// Adjust changes chunks, blocks or compression of the array at a path of the source. An error
	// ends the copy before anything is written. Adjust may also lower the number of goroutines for
	// that array; *workers begins as Workers.
	Adjust func(path string, m ndarray.Meta, spec *ndarray.Spec, workers *int) error

	// Strings selects the type that replaces a type of strings that the target lacks. "" and "auto"
	// replace strings of variable length by U (UTF-8) or S (ASCII) of the smallest size, and U in
	// HDF5 by UTF-8 of variable length. "fixed" stores all strings in HDF5 with a fixed size too.
	// "error" makes such an array a Problem. No string changes, and each replacement is in
	// TreeStats.Changes.
	Strings string

	// Format is B2Z, B2D or B2E for a container whose name has no extension of a format. "": the
	// extension of the target determines the format.
	Format Format

	// Table writes a table of python-blosc2 to a .b2z or .b2d instead of a tree of arrays.
	Table bool

	Workers  int                    // goroutines; 0 means GOMAXPROCS
	Memory   int64                  // bytes of buffers; 0 means 128 MiB
	Progress func(ndarray.Progress) // of all arrays together, one unit per array; never called concurrently
}

// Problem is a part of a source tree that the target cannot represent.
type Problem struct {
	Path string // in the source
	What string // "array", "group", "link", "datatype", "object", "references", or "attribute NAME"
	Err  error  // the reason
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s: %v", p.Path, p.What, p.Err) }

// TreeStats are the statistics of CopyTree, also of a dry run.
type TreeStats struct {
	Groups, Arrays, Links, Attrs int
	Types                        int       // committed datatypes
	Bytes                        int64     // of elements, in memory
	Lost                         []Problem // accepted losses
	Refused                      []Problem // losses that are not accepted; no target was written
	Unreadable                   []Problem // objects left out by SkipUnreadable

	// Changes lists changes that are reported but need no acceptance: comments of HDF5 and types of
	// attributes that the target does not have, user blocks, dimension scales outside of the tree,
	// compression that can be read but not written, references to deleted objects, attributes of
	// references that become strings, and layouts, allocation times and creation orders of links of
	// HDF5 that differ from the default and that the target does not have.
	Changes []Problem
}

// CopyTree copies a tree to a new HDF5 file, a new bcolz ctable, or a new TreeStore (.b2z or .b2d)
// or EmbedStore (.b2e) of python-blosc2, according to the extension of dst, or otherwise to a
// directory of b2nd files (directory.go documents the layout). src is the tree of an HDF5 file
// or a group in it, a bcolz ctable, a directory of arrays, or a container of python-blosc2. A
// ctable cannot contain groups, or arrays of different lengths. The committed datatypes of an
// untrusted tree cannot be kept, which is a Problem.
//
// dst may be FILE:/group for a new group of a new or existing container. In an existing .b2d the
// group is one new directory. An existing .b2z or .b2e is written again as a whole, with its other
// objects copied byte for byte; embedded objects of a .b2z become members. With Overwrite an
// existing group is replaced.
//
// With TreeOptions.Table the target is a table of python-blosc2. Its columns are the arrays
// of the source, which have the same number of rows, or the fields of the source, if it is an array
// of structures of one dimension. Strings of variable length become columns of kind utf8.
//
// From a container or a directory of arrays to a container or a directory, Python objects and plain
// frames are copied byte for byte, without Adjust. From a container to a .b2z or .b2d, so are
// tables with all their parts, unless Exclude leaves out a column. An EmbedStore has no attributes
// of groups and no empty groups.
//
// Shapes, element types, fill values, chunks, dimension names and attributes are kept. Compression
// is kept within a format if it can be written, and is otherwise the target's default. From HDF5 to
// HDF5, comments, links and committed datatypes with their attributes are kept too, and arrays and
// attributes still share the committed datatypes. The compact layout, the allocation time and the
// creation order of links and attributes are kept too. References, also those in attributes, lead
// to the copied objects; a reference to an object that is not copied is a Problem, and becomes null
// if Accept accepts it. External files and sources of virtual datasets are not kept: the elements
// are stored in the new file. Arrays of a type that ndarray does not have are copied as they are
// stored, without Adjust.
//
// CopyTree first examines the whole tree. If the target cannot represent a part of it, and Accept
// does not accept the loss, CopyTree writes nothing and returns errors.ErrUnsupported and all
// problems in TreeStats.Refused. The target is created completely or not at all.
//
// It returns the errors of Tree.Walk and Tree.Open, ErrParam for a source that is one array,
// ndarray.ErrExists, the context's error, or an error of a read or write.
func CopyTree(ctx context.Context, dst string, src *Tree, o *TreeOptions) (TreeStats, error) {
	if o == nil {
		o = &TreeOptions{}
	}
	c := &treeCopy{options: o, source: src, target: Directory, at: "/"}
	err := c.setTarget(ctx, dst)
	if err != nil {
		return TreeStats{}, ndarray.Wrap("copy tree to", dst, errors.Join(err, c.lock.Release()))
	}
	stats, err := c.copy(ctx)
	if c.old != nil {
		err = errors.Join(err, c.old.Close())
	}
	err = errors.Join(err, c.lock.Release())
	return stats, ndarray.Wrap("copy tree to", dst, err)
}

type treeCopy struct {
	options *TreeOptions
	target  Format
	file    string        // to write
	group   string        // the new group of a container; "" for a whole file
	at      string        // path of the source's root in the file, or in the directory of the group
	old     *stores.Store // the existing container with the group; nil: none
	lock    *Lock         // of that container
	source  *Tree
	stats   TreeStats
	lost    []Problem // losses that are not accepted
	without []string  // paths of the source that are left out
	closed  []string  // the groups among them that the target cannot represent
	whole   []string  // groups that are copied as a whole, with everything in them

	groups, arrays, links []treeItem // parents before children
	unordered             []string   // groups whose creation order of links the target does not have
	fromTable             bool       // the target is a CTable, and the source too
	progress              ndarray.Progress
	native                *hdf5Copy // nil unless a trusted HDF5 file is copied to HDF5
}

// treeItem is one object to create.
type treeItem struct {
	from  string // path in the source
	path  string // path in the target
	spec  ndarray.Spec
	bytes int64 // of an array's elements
	most  int   // maximum goroutines for copying an array
	entry Entry
	field *ndarray.Field // of the source's structures, for a column of a CTable; nil: the whole array

	write func(ctx context.Context) error // writes an array that is not created and copied; else nil
	frame func() (*stores.Frame, error)   // opens a frame that is copied byte for byte; else nil
	ext   string                          // of the file of the frame

	attrs   []ndarray.Attr  // of a group
	comment string          // of a group
	axes    []dimscale.Axis // labels and scales of an array of HDF5

	nullable bool   // elements may be null
	nulls    int64  // number of null elements
	notNull  bool   // the array has a bool for each row of the source: false for a null one
	column   string // name in the schema of a CTable

	keepsType bool // of an array that hdf5Copy copies: the element type does not change
	asStored  bool // ndarray does not have the element type
}

func (c *treeCopy) copy(ctx context.Context) (_ TreeStats, err error) {
	mode := textview.Mode(c.options.Strings)
	if !slices.Contains([]textview.Mode{"", textview.Auto, textview.Fixed, textview.Error}, mode) {
		return c.stats, fmt.Errorf("%w: strings: got %q, want auto, fixed or error", ndarray.ErrParam, mode)
	}
	if c.target == B2ND || c.target == Caterva || c.target == NPY {
		return c.stats, fmt.Errorf("%w: a tree in a file of format %s", ndarray.ErrParam, c.target)
	}
	if err := c.plan(ctx); err != nil {
		return c.stats, err
	}
	c.progress = ndarray.Progress{TotalBytes: c.stats.Bytes, TotalUnits: int64(len(c.arrays))}
	if len(c.lost) > 0 {
		c.stats.Refused = c.lost
		first := c.lost[0]
		return c.stats, fmt.Errorf("%w: %s does not hold %d parts of the source, for example %s", errors.ErrUnsupported, c.target, len(c.lost), first)
	}
	if c.options.DryRun {
		return c.stats, nil
	}
	out, err := c.output(ctx)
	if err != nil {
		return c.stats, err
	}
	switch c.target {
	case HDF5:
		if c.native != nil {
			err = c.native.write(ctx, out.Path())
		} else {
			err = c.writeHDF5(ctx, out.Path())
		}
	case Bcolz:
		err = c.writeTable(ctx, out.Path())
	case B2Z:
		err = c.writeZip(ctx, out.Path())
	case B2E:
		err = c.writeEmbedded(ctx, out.Path())
	case B2D:
		if err = os.Mkdir(out.Path(), 0o777); err == nil {
			err = c.writeStore(ctx, dirFiles{out.Path()})
		}
	default:
		err = c.writeDirectory(ctx, out.Path())
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return c.stats, errors.Join(err, out.Abort())
	}
	if c.inDirectory() {
		return c.stats, c.register(ctx)
	}
	return c.stats, nil
}

// loseObject records an object that the target cannot represent. All objects in it and links to it
// are lost too.
func (c *treeCopy) loseObject(path string, kind EntryKind, err error) {
	c.lose(path, string(kind), err)
	c.without = append(c.without, path)
	if kind == Group {
		c.closed = append(c.closed, path)
	}
}

// lose records a part that the target cannot represent.
func (c *treeCopy) lose(path, what string, err error) {
	if e, ok := errors.AsType[*ndarray.Error](err); ok && e.Err != nil {
		err = e.Err // the Problem already contains the path
	}
	p := Problem{Path: path, What: what, Err: err}
	if c.options.Accept != nil && c.options.Accept(p) {
		c.stats.Lost = append(c.stats.Lost, p)
	} else {
		c.lost = append(c.lost, p)
	}
}

// unreadable records an object that cannot be read.
func (c *treeCopy) unreadable(path, what string, err error) {
	if !c.options.SkipUnreadable {
		c.loseObject(path, EntryKind(what), err)
		return
	}
	if e, ok := errors.AsType[*ndarray.Error](err); ok && e.Err != nil {
		err = e.Err
	}
	c.stats.Unreadable = append(c.stats.Unreadable, Problem{Path: path, What: what, Err: err})
	c.without = append(c.without, path)
}

// targetDirectory returns the directory of the new file, without symbolic links.
func targetDirectory(file string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// skips reports whether the object that caused an error is left out.
func (c *treeCopy) skips(ctx context.Context, err error) bool {
	return c.options.SkipUnreadable && isUnreadable(err) && ctx.Err() == nil
}

// isUnreadable reports whether an error is caused by the content of the source.
func isUnreadable(err error) bool {
	return errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ndarray.ErrType)
}

// leftOut reports whether a path, or a group that contains it, is left out.
func (c *treeCopy) leftOut(path string) bool {
	return slices.ContainsFunc(c.without, func(x string) bool { return path == x || strings.HasPrefix(path, x+"/") })
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

// report records a change that needs no acceptance.
func (c *treeCopy) report(path, what, value, reason string) {
	p := Problem{Path: path, What: fmt.Sprintf("%s (%s)", what, value), Err: errs.Mark(errors.New(reason), errors.ErrUnsupported)}
	c.stats.Changes = append(c.stats.Changes, p)
}

// comment returns the comment for the target.
func (c *treeCopy) comment(path, text string) string {
	if text == "" || c.target == HDF5 {
		return text
	}
	c.report(path, "comment", text, fmt.Sprintf("%s cannot store it", c.format()))
	return ""
}

// plan walks the source and determines the objects to create.
func (c *treeCopy) plan(ctx context.Context) error {
	root := "/" + strings.Trim(c.source.location.Object, "/")
	if c.source.file != nil && c.target == HDF5 {
		c.native = newHDF5Copy(c, root)
	}
	for e, err := range c.source.Walk(ctx, nil) {
		if err != nil {
			return err
		}
		if c.options.Exclude != nil && e.Path != root && c.options.Exclude(e.Path) {
			c.without = append(c.without, e.Path)
			continue
		}
		if i := slices.IndexFunc(c.closed, func(group string) bool { return strings.HasPrefix(e.Path, group+"/") }); i >= 0 {
			c.loseObject(e.Path, e.Kind, fmt.Errorf("%w: group %s is left out", errors.ErrUnsupported, c.closed[i]))
			continue
		}
		if c.leftOut(e.Path) || c.inWhole(e.Path) {
			continue
		}
		if e.Path == root && e.Kind != Group && !(c.table() && e.Kind == Array) {
			return fmt.Errorf("%w: %s: got one %s, want a group", ndarray.ErrParam, shown(c.source.location.String()), e.Kind)
		}
		item := treeItem{from: e.Path, path: below(c.at, strings.TrimPrefix(e.Path, strings.TrimSuffix(root, "/"))), entry: e}
		if err := c.planEntry(ctx, item); err != nil {
			return err
		}
	}
	c.planNulls()
	c.planLinks()
	c.planEmpty()
	if err := c.planOld(); err != nil {
		return err
	}
	c.planScales()
	if c.native != nil {
		if err := c.native.plan(ctx); err != nil {
			return err
		}
	}
	c.reportOrder(root)
	return c.planUserBlock(root)
}

// planLinks removes links to objects that are left out.
func (c *treeCopy) planLinks() {
	c.links = slices.DeleteFunc(c.links, func(item treeItem) bool {
		e := item.entry
		if e.LinkKind != h5.HardLink.String() || !c.leftOut(e.Target) {
			return false
		}
		c.lose(e.Path, "link", fmt.Errorf("%w: hard link to %s, which is left out", errors.ErrUnsupported, e.Target))
		c.stats.Links--
		return true
	})
}

// planUserBlock records the user block of an HDF5 file, which CopyTree never copies.
func (c *treeCopy) planUserBlock(root string) error {
	if c.source.file == nil || root != "/" {
		return nil
	}
	creation, err := c.source.file.Creation()
	if err == nil && creation.UserBlock > 0 {
		c.report(root, "user block", fmt.Sprintf("%d bytes", creation.UserBlock), "only repack and cp of the whole file keep it")
	}
	return err
}

func (c *treeCopy) planEntry(ctx context.Context, item treeItem) error {
	e := item.entry
	if c.native != nil && c.native.planEntry(item) {
		return nil
	}
	if e.Err != nil {
		c.unreadable(e.Path, string(e.Kind), e.Err)
		return nil
	}
	if err := c.checkName(item.path, e.Kind == Group); err != nil {
		c.loseObject(e.Path, e.Kind, err)
		return nil
	}
	switch e.Kind {
	case Group:
		if c.planTable(item) {
			return nil
		}
		if c.table() && item.path == "/" {
			c.fromTable = e.Type == ctable
		} else if c.table() {
			return nil // a part of the names of columns
		}
		attrs, err := c.source.GroupAttrs(ctx, e.Path)
		if err != nil && c.options.SkipUnreadable && isUnreadable(err) {
			c.unreadable(e.Path, "attributes", err)
			c.without = c.without[:len(c.without)-1] // the group itself is copied
		} else if err != nil {
			return err
		}
		if c.target == B2E {
			for _, attr := range attrs.List {
				c.lose(e.Path, "attribute "+attr.Name, fmt.Errorf("%w: an EmbedStore has no attributes of groups", errors.ErrUnsupported))
			}
			attrs.List = nil
		}
		item.attrs, item.comment = c.keep(e.Path, attrs, false), c.comment(e.Path, e.Comment)
		if err := c.arrange(e.Path, item.attrs); err != nil {
			return err
		}
		c.groups = append(c.groups, item)
		c.stats.Groups++
	case Array:
		return c.planArray(ctx, item)
	case Link:
		kind := h5.HardLink.String()
		held := c.target == HDF5 && (e.LinkKind == kind || e.LinkKind == h5.SoftLink.String() || e.LinkKind == h5.ExternalLink.String())
		if !held {
			c.lose(e.Path, "link", fmt.Errorf("%w: %s link to %s in format %s", errors.ErrUnsupported, e.LinkKind, e.Target, c.target))
			return nil
		}
		c.links = append(c.links, item)
		c.stats.Links++
	case Type:
		if c.target == HDF5 && c.source.Format == HDF5 {
			c.loseObject(e.Path, e.Kind, fmt.Errorf("%w: the committed datatype %s of an untrusted file", errors.ErrUnsupported, e.Type))
			return nil
		}
		c.loseObject(e.Path, e.Kind, e.unsupportedIn(c.target))
	default:
		c.loseObject(e.Path, e.Kind, e.unsupportedIn(c.target))
	}
	return nil
}

// unsupportedIn returns the error for an object that a format cannot store.
func (e *Entry) unsupportedIn(f Format) error {
	what := e.Type
	switch {
	case e.Err != nil:
		what = e.Err.Error()
	case e.Kind == Type:
		what = "the committed datatype " + what
	case e.Kind == Other:
		what = strings.TrimSpace("a file or an object that is no array " + what)
	case what == "":
		what = fmt.Sprintf("%v without a datatype", e.Kind)
	}
	return fmt.Errorf("%w: %s in format %s", errors.ErrUnsupported, what, f)
}

func (c *treeCopy) checkName(path string, group bool) error {
	switch {
	case c.target == HDF5 || path == "/":
		return nil
	case c.table() && group && c.fromTable:
		return nil
	case c.table() && group:
		return fmt.Errorf("%w: a CTable holds columns and no groups", errors.ErrUnsupported)
	case c.table():
		return nil // planArray checks the column
	case c.target == Bcolz && group:
		return fmt.Errorf("%w: a ctable holds columns and no groups", errors.ErrUnsupported)
	case c.target == Bcolz:
		return bcolz.CheckColumns([]string{strings.TrimPrefix(path, "/")})
	}
	if isStore(c.target) {
		return b2store.CheckKey(c.key(path))
	}
	_, err := fileName(path[strings.LastIndex(path, "/")+1:], group)
	return err
}

func (c *treeCopy) planArray(ctx context.Context, item treeItem) error {
	if planned, err := c.planFrame(item); planned || err != nil {
		return err
	}
	a, err := c.source.Open(ctx, item.from)
	if errors.Is(err, errors.ErrUnsupported) { // for example, elements in files that a worker cannot open
		if e, ok := errors.AsType[*ndarray.Error](err); ok {
			err = e.Err
		}
		c.unreadable(item.from, "array", err)
		return nil
	}
	var attrs ndarray.Attrs
	var text ndarray.DType
	var textErr error
	var kept *ndarray.Compression // of Blosc2 chunks that need no recompression
	var blocks []int64
	if err == nil && c.frames() {
		if kept, blocks, err = converted.Blosc2(ctx, a); err != nil {
			err = errors.Join(err, a.Close())
		}
	}
	if err == nil {
		if text = a.DType(); !c.table() { // a table stores strings of each kind
			text, textErr = textview.Type(ctx, a, c.target == HDF5, cmp.Or(textview.Mode(c.options.Strings), textview.Auto))
		}
		if c.native == nil {
			attrs, err = a.Attrs(ctx)
		}
		if err == nil && a.Meta().Nullable {
			item.nullable = true
			item.nulls, err = ndarray.CountNulls(ctx, a)
		}
		err = errors.Join(err, a.Close())
	}
	switch {
	case err != nil || textErr == nil:
	case errors.Is(textErr, errors.ErrUnsupported) || errors.Is(textErr, ndarray.ErrValue):
		c.loseObject(item.from, Array, textErr)
		return nil
	default:
		err = textErr
	}
	if err != nil && c.options.SkipUnreadable && isUnreadable(err) {
		c.unreadable(item.from, "array", err)
		return nil
	}
	if err != nil {
		return err
	}
	m := a.Meta()
	if !text.Equal(m.DType) {
		c.report(item.from, "type", m.DType.String(), fmt.Sprintf("%s stores the same strings as %v", c.format(), text))
		if len(bytes.Trim(m.Fill, "\x00")) > 0 {
			c.report(item.from, "fill value", ndarray.FormatElement(m.DType, m.Fill), fmt.Sprintf("strings of type %v have none", text))
		}
		m.DType, m.Fill = text, nil
	}
	if err := missingFilter(m); err != nil && item.entry.Storage.StoredBytes > 0 {
		c.unreadable(item.from, "array", err)
		return nil
	}
	if m.Format == detect.Objects {
		c.report(item.from, "objects", fmt.Sprintf("%d Python objects", m.NumElems()), fmt.Sprintf("%s stores their JSON as strings", c.format()))
	}
	spec := m.Spec()
	spec.Comment = c.comment(item.from, m.Comment)
	unwritten := false
	if m.Format != string(c.format()) {
		spec.Compression, spec.BlockShape = kept, blocks
		if c.target == Bcolz {
			spec.ChunkShape = nil // chunks of other formats may divide rows
		}
	} else if c.check(item.path, spec) != nil {
		spec.Compression = nil // a codec that can be read but not written
		unwritten = true
	}
	item.most = c.options.Workers
	if c.options.Adjust != nil {
		if err := c.options.Adjust(item.from, m, &spec, &item.most); err != nil {
			return err
		}
	}
	if c.table() && item.path == "/" {
		spec.Attrs = c.keep(item.from, attrs, false)
		item.spec = spec
		return c.planRecords(item)
	}
	if err := c.check(item.path, spec); err != nil {
		c.loseObject(item.from, Array, err)
		return nil
	}
	if unwritten && spec.Compression == nil { // Adjust has not chosen another codec
		c.report(item.from, "compression", m.Compression.String(), fmt.Sprintf("%s is not written with it; %s instead", c.format(), c.defaultCompression()))
	}
	if c.native == nil && hasReferences(spec.DType) {
		c.loseObject(item.from, Array, fmt.Errorf("%w: %v of an untrusted file", errors.ErrUnsupported, spec.DType))
		return nil
	}
	spec.Attrs = c.keep(item.from, attrs, m.AxisNames != nil)
	if err := c.arrange(item.from, spec.Attrs); err != nil {
		return err
	}
	item.keepsType = spec.DType.Equal(a.DType())
	item.spec, item.bytes = spec, m.NumElems()*int64(m.DType.Size)
	c.addArray(item)
	return nil
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

// addArray plans an array.
func (c *treeCopy) addArray(item treeItem) {
	c.arrays = append(c.arrays, item)
	c.stats.Arrays++
	c.stats.Bytes += item.bytes
}

// table reports whether the target is a CTable.
func (c *treeCopy) table() bool { return c.options.Table }

// frames reports whether the target stores each array as a Blosc2 frame.
func (c *treeCopy) frames() bool { return c.target == Directory || isStore(c.target) }

// format returns the format of the target's arrays.
func (c *treeCopy) format() Format {
	if c.frames() {
		return B2ND
	}
	return c.target
}

// defaultCompression returns the default compression of the target's arrays.
func (c *treeCopy) defaultCompression() *ndarray.Compression {
	switch c.target {
	case HDF5:
		return hdf5.DefaultCompression()
	case Bcolz:
		return bcolz.DefaultCompression()
	}
	return b2nd.DefaultCompression()
}

func (c *treeCopy) check(path string, spec ndarray.Spec) error {
	switch c.target {
	case Directory, B2Z, B2D, B2E:
		if c.table() {
			return c.checkColumn(path, spec)
		}
		return b2nd.Check(spec)
	case HDF5:
		return hdf5.Check(path, spec)
	}
	if err := bcolz.Check(spec); err != nil {
		return err
	}
	if len(c.arrays) > 0 && c.arrays[0].spec.Shape[0] != spec.Shape[0] {
		return fmt.Errorf("%w: got %d rows in a column of a ctable, want %d as in the first column", errors.ErrUnsupported, spec.Shape[0], c.arrays[0].spec.Shape[0])
	}
	return nil
}

// keep returns the attributes that the target can represent. named reports whether the target gets
// the dimension names of the array.
func (c *treeCopy) keep(path string, attrs ndarray.Attrs, named bool) []ndarray.Attr {
	var out []ndarray.Attr
	for _, u := range attrs.Unsupported {
		if dimscale.Links(u, named) {
			continue // planScales, or the dimension names and the arrays with these names
		}
		if raw, ok := u.Stored(); ok && c.stores(raw) {
			out = append(out, raw)
			c.stats.Attrs++
			continue
		}
		if a, ok := c.referenceText(path, u); ok {
			attrs.List = append(attrs.List, a)
			continue
		}
		c.lose(path, "attribute "+u.Name, fmt.Errorf("%w: %s: %s", errors.ErrUnsupported, u.Type, u.Reason))
	}
	for _, a := range attrs.List {
		if c.target == HDF5 {
			converted, err := textview.Attr(a)
			if err == nil {
				err = hdf5.CheckAttr(converted)
			}
			if err != nil {
				c.lose(path, "attribute "+a.Name, err)
				continue
			}
			if d := a.Value.DType; !d.Equal(converted.Value.DType) {
				c.report(path, "type of attribute "+a.Name, d.String(), fmt.Sprintf("%s stores the same strings as %v", c.format(), converted.Value.DType))
			}
			a = converted
		}
		if types := msgpack.Simplified(a.Raw); len(types) > 0 && !c.frames() {
			c.report(path, "type of attribute "+a.Name, strings.Join(types, ", "), fmt.Sprintf("%s has lists and strings only", c.format()))
		}
		out = append(out, a)
		c.stats.Attrs++
	}
	return out
}

// stores reports whether the target stores an attribute without a Value: a Blosc2 frame any, and
// bcolz those that JSON can represent.
func (c *treeCopy) stores(raw ndarray.Attr) bool {
	one := ndarray.Spec{Shape: []int64{0}, DType: ndarray.DTypeOf[bool](), Attrs: []ndarray.Attr{raw}}
	return c.frames() || c.target == Bcolz && !raw.Fixed && bcolz.Check(one) == nil
}

// referenceText returns an attribute of references as strings: the paths in the copy and the
// selections. It returns false if one of them leads out of the copied group.
func (c *treeCopy) referenceText(path string, u ndarray.UnsupportedAttr) (a ndarray.Attr, ok bool) {
	if c.source.file == nil || c.target == HDF5 || !strings.HasPrefix(u.Type, "H5T_REFERENCE") {
		return a, false
	}
	o, done, err := objectAt(c.source.file, path)
	if err != nil {
		return a, false
	}
	v, err := hdf5.ReferenceAttr(o, u.Name)
	if err = errors.Join(err, done()); err != nil {
		return a, false
	}
	root := strings.TrimSuffix("/"+strings.Trim(c.source.location.Object, "/"), "/")
	for i, text := range v.Strings {
		inside, found := strings.CutPrefix(text, root)
		switch {
		case root == "" || text == "":
		case !found || inside != "" && !strings.ContainsRune("/@", rune(inside[0])):
			return a, false
		case inside == "" || inside[0] != '/':
			v.Strings[i] = "/" + inside
		default:
			v.Strings[i] = inside
		}
	}
	c.report(path, "type of attribute "+u.Name, u.Type, fmt.Sprintf("%s stores the paths as strings", c.format()))
	return ndarray.Attr{Name: u.Name, Value: v}, true
}

func (c *treeCopy) writeHDF5(ctx context.Context, file string) (err error) {
	creation := h5.DefaultFileCreation()
	creation.Times = false
	o := h5.CreateOptions{Creation: &creation}
	if slices.ContainsFunc(c.groups, func(item treeItem) bool { return h5attr.Dense(item.attrs) }) {
		o.Low = h5.V18 // the root group is created with the file
	}
	f, err := h5.Create(file, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, item := range c.groups {
		if err := item.writeGroup(f.Root()); err != nil {
			return err
		}
	}
	err = c.copyArrays(ctx, func(item treeItem) (ndarray.Backend, error) {
		return hdf5.CreateIn(f, item.path, item.spec, nil)
	}, func(item treeItem) error { return f.Root().Unlink(item.path) }, nil)
	if err != nil {
		return err
	}
	if err := c.attachScales(f.Root()); err != nil {
		return err
	}
	c.brokenLinks()
	root := strings.TrimSuffix("/"+strings.Trim(c.source.location.Object, "/"), "/")
	for _, item := range c.links { // of an untrusted file; they are not resolved
		switch e := item.entry; e.LinkKind {
		case h5.HardLink.String():
			err = f.Root().LinkHard(item.path, "/"+strings.TrimPrefix(strings.TrimPrefix(e.Target, root), "/"))
		case h5.SoftLink.String():
			err = f.Root().LinkSoft(item.path, e.Target)
		default:
			err = f.Root().LinkExternal(item.path, e.TargetFile, strings.TrimPrefix(e.Target, e.TargetFile+":"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// brokenLinks removes hard links to objects that could not be read.
func (c *treeCopy) brokenLinks() {
	c.links = slices.DeleteFunc(c.links, func(item treeItem) bool {
		if item.entry.LinkKind != h5.HardLink.String() || !c.leftOut(item.entry.Target) {
			return false
		}
		c.stats.Unreadable = append(c.stats.Unreadable, Problem{Path: item.from, What: "link", Err: fmt.Errorf("hard link to %s, which cannot be read", item.entry.Target)})
		c.stats.Links--
		return true
	})
}

// writeGroup creates a group with its attributes and comment. The root group exists.
func (item *treeItem) writeGroup(g *h5.Group) (err error) {
	if item.path != "/" {
		if g, err = g.CreateGroup(item.path); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	if item.comment != "" {
		if err := g.SetComment(item.comment); err != nil {
			return err
		}
	}
	return hdf5.WriteAttrs(g, item.attrs)
}

// writeTable writes a ctable, with the names of its columns last.
func (c *treeCopy) writeTable(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	err := c.copyArrays(ctx, func(item treeItem) (ndarray.Backend, error) {
		return bcolz.Create(filepath.Join(dir, item.path), item.spec, nil)
	}, func(item treeItem) error { return os.RemoveAll(filepath.Join(dir, item.path)) }, nil)
	if err != nil {
		return err
	}
	var names []string
	for _, item := range c.arrays {
		if c.leftOut(item.from) {
			continue
		}
		names = append(names, strings.TrimPrefix(item.path, "/"))
	}
	var attrs []ndarray.Attr
	for _, root := range c.groups { // at most one
		attrs = root.attrs
	}
	return bcolz.GatherTable(dir, names, attrs)
}

func (c *treeCopy) writeDirectory(ctx context.Context, dir string) error {
	for _, item := range c.groups {
		at, err := place(dir, item.path, true)
		if err != nil {
			return err
		}
		if err := os.Mkdir(at, 0o777); err != nil {
			return err
		}
		b, err := b2nd.Create(filepath.Join(at, groupFile), groupSpec(item.attrs), nil)
		if err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	c.framesTo(func(item treeItem) (string, error) { return place(dir, item.path, false) }, nil)
	return c.copyArrays(ctx, func(item treeItem) (ndarray.Backend, error) {
		at, err := place(dir, item.path, false)
		if err != nil {
			return nil, err
		}
		return b2nd.Create(at, item.spec, nil)
	}, func(item treeItem) error {
		at, err := place(dir, item.path, false)
		if err != nil {
			return err
		}
		return os.RemoveAll(at)
	}, nil)
}

// place returns the path of an object of a tree in a directory.
func place(dir, path string, group bool) (string, error) {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, name := range parts {
		file, err := fileName(name, group || i < len(parts)-1)
		if err != nil {
			return "", err
		}
		dir = filepath.Join(dir, file)
	}
	return dir, nil
}

// copyArrays creates each array with create and fills it. With SkipUnreadable it calls remove for
// an array that could not be filled, and finish after each other array if it is not nil.
func (c *treeCopy) copyArrays(ctx context.Context, create func(treeItem) (ndarray.Backend, error), remove, finish func(treeItem) error) error {
	for _, item := range c.arrays {
		err := c.count(item, func(progress func(ndarray.Progress)) error {
			err := c.copyArray(ctx, item, create, progress)
			if err != nil && c.skips(ctx, err) {
				c.unreadable(item.from, "array", err)
				c.stats.Arrays--
				return remove(item)
			}
			if err == nil && finish != nil {
				err = finish(item)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", item.from, err)
		}
	}
	return nil
}

// count copies one array with write and reports the progress of all arrays.
func (c *treeCopy) count(item treeItem, write func(progress func(ndarray.Progress)) error) error {
	before := c.progress.DoneBytes
	report := func(done int64) {
		c.progress.DoneBytes = before + done
		if c.options.Progress != nil {
			c.options.Progress(c.progress)
		}
	}
	if err := write(func(p ndarray.Progress) { report(p.DoneBytes) }); err != nil {
		return err
	}
	c.progress.DoneUnits++
	report(item.bytes)
	return nil
}

func (c *treeCopy) copyArray(ctx context.Context, item treeItem, create func(treeItem) (ndarray.Backend, error), progress func(ndarray.Progress)) (err error) {
	if item.write != nil {
		return item.write(ctx)
	}
	src, err := c.openItem(ctx, item)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	shown := src
	if d := src.DType(); !c.table() && (d.Kind == ndarray.String || d.Kind == ndarray.Unicode) {
		if shown, err = textview.New(src, item.spec.DType); err != nil {
			return err
		}
	}
	b, err := create(item)
	if err != nil {
		return err
	}
	dst, err := ndarray.New(b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if !slices.Equal(dst.Shape(), src.Shape()) {
		return fmt.Errorf("%w: created as %v, source is %v", ndarray.ErrShape, dst.Shape(), src.Shape())
	}
	_, err = ndarray.Copy(ctx, dst, shown, &ndarray.CopyOptions{Workers: item.most, Memory: c.options.Memory, Progress: progress})
	return err
}
