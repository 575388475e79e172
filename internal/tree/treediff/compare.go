// Compare finds the differences of two arrays or trees in any formats.

package treediff

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
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/treecopy"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Options are the options of Compare: CompareOptions of package hyperslab, which documents them.
type Options struct {
	ndarray.CompareOptions

	ValuesOnly         bool
	Encoding           bool
	Converted          bool
	ExcludeUnsupported bool
	Exclude            func(path string) bool
	Prepare            func(a, b *ndarray.Array, workers *int) error
}

// Report is the result of Compare: CompareReport of package hyperslab, which documents it.
type Report struct {
	Compared    int
	Differences []Difference
	NotCompared []Problem
}

// Difference is a path at which two trees differ. Package hyperslab documents its fields.
type Difference struct {
	Path string
	A, B *tree.Entry

	Array *ndarray.Comparison
	Attrs []ndarray.AttrDifference

	ExcludedAttrs []string
	Time          time.Duration
}

// Problem is an object that cannot be compared.
type Problem struct {
	Path, What string
	Err        error
}

// Compare compares the objects of two trees. Package hyperslab documents it.
func Compare(ctx context.Context, a, b *opened.Tree, o Options) (*Report, error) {
	c := comparison{options: o, trees: [2]*opened.Tree{a, b}, conversion: treecopy.Conversion{First: a.Format, Second: b.Format}}
	if o.ValuesOnly {
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

// comparison is one call of Compare.
type comparison struct {
	options    Options
	trees      [2]*opened.Tree
	tops       [2]string                 // paths of the locations in their files, "" for the root
	entries    [2]map[string]*tree.Entry // by paths from the location; nil: an array that is not described yet
	bare       [2]tree.Entry             // arrays that are compared now and not described
	report     Report
	conversion treecopy.Conversion
	total      ndarray.Progress // of the arrays that are compared, and those that are done
}

// list lists both trees. The datasets of an HDF5 file are not described, because they are opened
// for the comparison, unless Progress needs their sizes.
func (c *comparison) list(ctx context.Context) error {
	for i, t := range c.trees {
		top := strings.TrimSuffix(tree.Root(t.Location.Object), "/")
		c.tops[i], c.entries[i] = top, make(map[string]*tree.Entry)
		bare := t.HDF5() != nil && c.options.Progress == nil
		var excluded []string
		for e, err := range t.All(ctx, opened.WalkOptions{Names: bare}) {
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
		if other := c.entries[1][path]; other != nil && e.Kind == tree.Array && other.Kind == tree.Array && e.Err == nil && other.Err == nil {
			c.total.TotalUnits++
			c.total.TotalBytes += e.Meta.NumElems() * int64(e.Meta.DType.Size)
		}
	}
	return nil
}

// compare compares the listed objects.
func (c *comparison) compare(ctx context.Context) error {
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
		if c.options.Converted && d.A != nil && d.B == nil && c.conversion.LeavesOut(path, d.A, c.entries[1]) {
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
func (c *comparison) entry(i int, path string) *tree.Entry {
	e, ok := c.entries[i][path]
	if ok && e == nil {
		e = &c.bare[i]
		*e = tree.Entry{Path: cmp.Or(strings.TrimSuffix(c.tops[i]+path, "/"), "/"), Kind: tree.Array}
	}
	return e
}

// kept returns a pointer to a copy of e, so that e itself stays on the stack.
func kept(e tree.Entry) *tree.Entry { return &e }

// undescribed reports whether e is an array that was listed without being opened.
func undescribed(e tree.Entry) bool {
	return e.Kind == tree.Array && e.Err == nil && e.Meta.Format == ""
}

// describe describes the arrays of a difference that are not described yet. Entry.Err is the reason
// if an array cannot be read.
func (c *comparison) describe(d *Difference) {
	for i, e := range []**tree.Entry{&d.A, &d.B} {
		t := c.trees[i]
		f := t.HDF5()
		if *e == nil || f == nil || !undescribed(**e) {
			continue
		}
		o := h5walk.Object{Path: (*e).Path}
		if o.Info, o.Err = f.Root().ObjectInfo(o.Path); o.Err == nil {
			o.Dataset, o.Err = h5walk.Describe(f.Root(), o.Path, t.Location.File+":"+o.Path, nil)
		}
		*e = kept(h5tree.Entry(o))
	}
}

// pair compares two readable objects of the same kind.
func (c *comparison) pair(ctx context.Context, d *Difference) (same bool, err error) {
	switch d.A.Kind {
	case tree.Group:
		if c.options.IgnoreAttrs {
			return true, nil
		}
		d.Attrs, err = c.groups(ctx, d)
		return len(d.Attrs) == 0, err
	case tree.Array:
		return c.arrays(ctx, d)
	case tree.Link:
		return d.A.LinkKind == d.B.LinkKind && (d.A.Target == d.B.Target || c.sameTarget(d)), nil
	}
	return d.A.Type == d.B.Type, nil
}

// groups compares the attributes of two groups.
func (c *comparison) groups(ctx context.Context, d *Difference) ([]ndarray.AttrDifference, error) {
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
	if c.trees[0].HDF5() == nil || c.trees[1].HDF5() == nil || !slices.ContainsFunc(list, unsupported) {
		return list, nil
	}
	return c.digested(ctx, d, list)
}

// digested removes from the list the attributes of two groups of HDF5 that have no dtype and have
// the same meaning in both files.
func (c *comparison) digested(ctx context.Context, d *Difference, list []ndarray.AttrDifference) ([]ndarray.AttrDifference, error) {
	a, err := c.trees[0].HDF5().Root().OpenObject(d.A.Path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := c.trees[1].HDF5().Root().OpenObject(d.B.Path)
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
func (c *comparison) excluded(a, b ndarray.Attrs) []string {
	names := slices.Clone(c.options.ExcludeAttrs)
	if c.options.ExcludeUnsupported {
		for _, u := range slices.Concat(a.Unsupported, b.Unsupported) {
			names = append(names, u.Name)
		}
	}
	return names
}

// arrays compares two arrays.
func (c *comparison) arrays(ctx context.Context, d *Difference) (same bool, err error) {
	start := time.Now()
	a, err := c.trees[0].Array(ctx, d.A.Path, true)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, err := c.trees[1].Array(ctx, d.B.Path, true)
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
