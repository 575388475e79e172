// Compare finds the differences of two arrays or trees in any formats.

package hyperslab

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5walk"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/internal/tree/h5tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CompareOptions are the options of Compare. Nil means the zero value. Of the embedded options,
// Progress is called for all arrays together, and Memory and Workers apply to each pair of arrays.
type CompareOptions struct {
	ndarray.CompareOptions

	// ValuesOnly compares the values of arrays, but not attributes, byte orders and the types of
	// numbers: 1 equals 1.0.
	ValuesOnly bool
	Encoding   bool // compare chunks, blocks and compression too

	// Converted is set if the second tree is a conversion of the first. Then the changes that
	// CopyTree reports are no differences: other types of strings with the same values, paths in
	// place of references, and objects and attributes that the format of the second tree cannot
	// store.
	Converted bool

	ExcludeUnsupported bool // leave out attributes with types that ndarray does not have

	// Exclude reports whether the object at a path is left out, with everything below it. Paths
	// begin at the locations. Nil: all objects are compared.
	Exclude func(path string) bool

	// Prepare is called for each pair of arrays before their elements are read. It may lower the
	// number of goroutines for the pair; *workers begins as Workers. An error ends Compare.
	Prepare func(a, b *ndarray.Array, workers *int) error
}

// CompareReport is the result of Compare.
type CompareReport struct {
	Compared    int          // pairs of objects that were compared
	Differences []Difference // in the order of paths
	NotCompared []Problem    // pairs of which one object cannot be read
}

// Difference is a path at which two locations differ.
type Difference struct {
	Path string // from the locations; "/" for the locations themselves
	A, B *Entry // the objects; nil if there is no object at the path

	Array *ndarray.Comparison      // nil unless both objects are arrays
	Attrs []ndarray.AttrDifference // of two groups; those of arrays are in Array

	ExcludedAttrs []string      // attributes of the arrays that were not compared
	Time          time.Duration // duration of the comparison of two arrays
}

// Compare compares the objects of two trees: two arrays, or two groups, ctables, directories of
// arrays or whole files with all objects below them. It compares shapes, element types, values,
// attributes and the targets of links, and ignores the storage unless CompareOptions.Encoding is
// set. Objects are paired by their paths from the locations of the trees. The dimension scales of
// HDF5 equal the same dimension names in another format.
//
// A difference is no error. Compare returns the errors of Tree.Walk and Tree.Open, of
// ndarray.Compare, of CompareOptions.Prepare, or the context's error.
func Compare(ctx context.Context, a, b *Tree, o *CompareOptions) (*CompareReport, error) {
	c := treeComparison{options: orZero(o), trees: [2]*Tree{a, b}}
	if c.options.ValuesOnly {
		c.options.IgnoreOrder, c.options.IgnoreAttrs = true, true
	}
	if err := c.list(ctx); err != nil {
		return nil, err
	}
	if err := c.compare(ctx); err != nil {
		return nil, err
	}
	return &c.report, nil
}

// treeComparison is one call of Compare.
type treeComparison struct {
	options CompareOptions
	trees   [2]*Tree
	tops    [2]string            // paths of the locations in their files, "" for the root
	entries [2]map[string]*Entry // by paths from the location; nil: an array that is not described yet
	bare    [2]Entry             // arrays that are compared now and not described
	target  *treeCopy            // of targetOf; nil before
	report  CompareReport
	total   ndarray.Progress // of the arrays that are compared, and those that are done
}

// list lists both trees. The datasets of an HDF5 file are not described, because they are opened
// for the comparison, unless Progress needs their sizes.
func (c *treeComparison) list(ctx context.Context) error {
	for i, tree := range c.trees {
		top := strings.TrimSuffix("/"+strings.Trim(tree.location.Object, "/"), "/")
		c.tops[i], c.entries[i] = top, make(map[string]*Entry)
		all, bare := tree.Walk(ctx, nil), tree.hdf5() != nil && c.options.Progress == nil
		if bare {
			all = tree.walk(ctx, WalkOptions{}, true)
		}
		var excluded []string
		for e, err := range all {
			if err != nil {
				return err
			}
			path := "/" + strings.TrimPrefix(strings.TrimPrefix(e.Path, top), "/")
			if slices.ContainsFunc(excluded, func(x string) bool { return strings.HasPrefix(path, x+"/") }) {
				continue
			}
			if c.options.Exclude != nil && c.options.Exclude(path) {
				excluded = append(excluded, path)
				continue
			}
			c.entries[i][path] = nil
			if !bare || !undescribed(e) {
				c.entries[i][path] = kept(e)
			}
		}
	}
	if c.options.Progress == nil {
		return nil
	}
	for path, e := range c.entries[0] {
		if other := c.entries[1][path]; other != nil && e.Kind == Array && other.Kind == Array && e.Err == nil && other.Err == nil {
			c.total.TotalUnits++
			c.total.TotalBytes += e.Meta.NumElems() * int64(e.Meta.DType.Size)
		}
	}
	return nil
}

// compare compares the listed objects.
func (c *treeComparison) compare(ctx context.Context) error {
	paths := make(map[string]bool, len(c.entries[0]))
	for _, entries := range c.entries {
		for path := range entries {
			paths[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		d := Difference{Path: path, A: c.entry(0, path), B: c.entry(1, path)}
		readable := func() bool { return d.A.Err == nil && d.B.Err == nil }
		if d.A != nil && d.B != nil && d.A.Kind == d.B.Kind && readable() {
			same, err := c.pair(ctx, &d)
			if err == nil {
				c.report.Compared++
			}
			if same {
				continue
			}
			c.describe(&d)
			switch {
			case err == nil || !readable():
			case ctx.Err() == nil && tree.Unreadable(err): // it hides no other object
				d.A = kept(*d.A)
				d.A.Err = err
			default:
				return err
			}
		} else {
			c.describe(&d)
		}
		if c.options.Converted && d.A != nil && d.B == nil && c.leftOut(&d) {
			continue
		}
		if d.A != nil && d.B != nil && !readable() {
			e := d.A
			if e.Err == nil {
				e = d.B
			}
			c.report.NotCompared = append(c.report.NotCompared, Problem{Path: path, What: cmp.Or(e.Type, string(e.Kind)), Err: e.Err})
			continue
		}
		c.report.Differences = append(c.report.Differences, d)
	}
	return nil
}

// entry returns the listed object of a tree at a path, or nil. An array that is not described is
// overwritten by the next call.
func (c *treeComparison) entry(i int, path string) *Entry {
	e, ok := c.entries[i][path]
	if ok && e == nil {
		e = &c.bare[i]
		*e = Entry{Path: cmp.Or(strings.TrimSuffix(c.tops[i]+path, "/"), "/"), Kind: Array}
	}
	return e
}

// kept returns a pointer to a copy of e, so that e itself stays on the stack.
func kept(e Entry) *Entry { return &e }

// undescribed reports whether e is an array that was listed without being opened.
func undescribed(e Entry) bool { return e.Kind == Array && e.Err == nil && e.Meta.Format == "" }

// describe describes the arrays of a difference that are not described yet. Entry.Err is the reason
// if an array cannot be read.
func (c *treeComparison) describe(d *Difference) {
	for i, e := range []**Entry{&d.A, &d.B} {
		t := c.trees[i]
		f := t.hdf5()
		if *e == nil || f == nil || !undescribed(**e) {
			continue
		}
		o := h5walk.Object{Path: (*e).Path}
		if o.Info, o.Err = f.Root().ObjectInfo(o.Path); o.Err == nil {
			o.Dataset, o.Err = h5walk.Describe(f.Root(), o.Path, t.location.File+":"+o.Path, nil)
		}
		*e = kept(entryOf(h5tree.Entry(o)))
	}
}

// pair compares two readable objects of the same kind.
func (c *treeComparison) pair(ctx context.Context, d *Difference) (same bool, err error) {
	switch d.A.Kind {
	case Group:
		if c.options.IgnoreAttrs {
			return true, nil
		}
		d.Attrs, err = c.groups(ctx, d)
		return len(d.Attrs) == 0, err
	case Array:
		return c.arrays(ctx, d)
	case Link:
		return d.A.LinkKind == d.B.LinkKind && (d.A.Target == d.B.Target || c.sameTarget(d)), nil
	}
	return d.A.Type == d.B.Type, nil
}

// groups compares the attributes of two groups.
func (c *treeComparison) groups(ctx context.Context, d *Difference) ([]ndarray.AttrDifference, error) {
	if d.A.Attrs == 0 && d.B.Attrs == 0 {
		return nil, nil
	}
	a, aerr := c.trees[0].GroupAttrs(ctx, d.A.Path)
	b, berr := c.trees[1].GroupAttrs(ctx, d.B.Path)
	if err := errors.Join(aerr, berr); err != nil && (ctx.Err() != nil || len(a.Unsupported)+len(b.Unsupported) == 0) {
		return nil, err
	}
	list := ndarray.CompareAttrs(a, b, c.excluded(a, b))
	if c.options.Converted && len(list) > 0 {
		var err error
		if list, err = c.convertedGroup(d, list, a, b); err != nil {
			return nil, err
		}
	}
	unsupported := func(a ndarray.AttrDifference) bool { return a.Unsupported }
	if c.trees[0].hdf5() == nil || c.trees[1].hdf5() == nil || !slices.ContainsFunc(list, unsupported) {
		return list, nil
	}
	return c.digested(ctx, d, list)
}

// digested removes from the list the attributes of two groups of HDF5 that have no dtype and have
// the same meaning in both files.
func (c *treeComparison) digested(ctx context.Context, d *Difference, list []ndarray.AttrDifference) ([]ndarray.AttrDifference, error) {
	a, err := c.trees[0].hdf5().Root().OpenObject(d.A.Path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := c.trees[1].hdf5().Root().OpenObject(d.B.Path)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var out []ndarray.AttrDifference
	for _, at := range list {
		if at.Unsupported {
			x, xerr := h5attr.Digest(ctx, a, at.Name)
			y, yerr := h5attr.Digest(ctx, b, at.Name)
			if errors.Join(xerr, yerr) == nil {
				if x == y {
					continue
				}
				at.Unsupported = false
			}
		}
		out = append(out, at)
	}
	return out, nil
}

// excluded returns the names of the attributes of two objects that are not compared.
func (c *treeComparison) excluded(a, b ndarray.Attrs) []string {
	names := slices.Clone(c.options.ExcludeAttrs)
	if c.options.ExcludeUnsupported {
		for _, u := range slices.Concat(a.Unsupported, b.Unsupported) {
			names = append(names, u.Name)
		}
	}
	return names
}

// arrays compares two arrays.
func (c *treeComparison) arrays(ctx context.Context, d *Difference) (same bool, err error) {
	start := time.Now()
	a, err := c.trees[0].openComplete(ctx, d.A.Path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, err := c.trees[1].openComplete(ctx, d.B.Path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	o := c.options.CompareOptions
	if c.options.Prepare != nil {
		if err := c.options.Prepare(a, b, &o.Workers); err != nil {
			return false, err
		}
	}
	if c.options.ExcludeUnsupported && !o.IgnoreAttrs {
		x, err := a.Attrs(ctx)
		if err != nil {
			return false, err
		}
		y, err := b.Attrs(ctx)
		if err != nil {
			return false, err
		}
		o.ExcludeAttrs = c.excluded(x, y)
	}
	before := c.total
	if o.Progress != nil {
		o.Progress = func(p ndarray.Progress) {
			before.DoneUnits, before.DoneBytes = c.total.DoneUnits, c.total.DoneBytes+p.DoneBytes
			c.options.Progress(before)
		}
	}
	r, err := ndarray.Compare(ctx, a, b, &o)
	if err != nil {
		return false, err
	}
	dimscale.Compare(&r)
	if c.options.Converted {
		if err := converted.Array(ctx, &r, a, b); err != nil {
			return false, err
		}
	}
	c.total.DoneUnits++
	c.total.DoneBytes += a.NBytes()
	d.Array, d.ExcludedAttrs, d.Time = &r, o.ExcludeAttrs, time.Since(start)
	same = r.Equal() || c.options.ValuesOnly && r.SameShape && r.ValuesCompared && r.NumDiffs == 0
	return same && (!c.options.Encoding || sameEncoding(r.A, r.B)), nil
}

// sameEncoding reports whether two arrays have the same chunks, blocks and compression.
func sameEncoding(a, b ndarray.Meta) bool {
	text := func(c *ndarray.Compression) string {
		if c == nil {
			return ""
		}
		return c.String()
	}
	return slices.Equal(a.ChunkShape, b.ChunkShape) && slices.Equal(a.BlockShape, b.BlockShape) && text(a.Compression) == text(b.Compression)
}
