// hyperslab diff of trees: groups, links, arrays and attributes, path by path.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// diffTreeDoc is the document of diff --json of two trees.
type diffTreeDoc struct {
	Schema    string           `json:"schema"`
	A         string           `json:"a"`
	B         string           `json:"b"`
	Same      bool             `json:"same"`
	Compared  int              `json:"compared"`
	Different []objectDiff     `json:"different"`
	Unknown   []unsupportedDoc `json:"not_compared"`
	Seconds   jsonFloat        `json:"seconds"`
}

// objectDiff is one path at which two trees differ. Fields that do not apply are null.
type objectDiff struct {
	Path       string     `json:"path"`
	Problem    string     `json:"problem"`
	Array      *diffDoc   `json:"array"`
	Attributes []attrDiff `json:"attributes"`
	A          *string    `json:"a"`
	B          *string    `json:"b"`
}

// Problems of a path.
const (
	missingA      = "missing in the first"
	missingB      = "missing in the second"
	otherKind     = "of another kind"
	otherTarget   = "leads elsewhere"
	otherArray    = "array differs"
	otherAttrs    = "attributes differ"
	otherEncoding = "stored otherwise"
)

// treeDiff compares two trees.
type treeDiff struct {
	a            *app
	pathA, pathB string
	x, y         *hyperslab.Tree
	o            *diffFlags
	opts         *ndarray.CompareOptions
	meter        *meter
	done         int64
	doc          diffTreeDoc
}

// diffTrees compares everything below two groups.
func (a *app) diffTrees(ctx context.Context, pathA, pathB string, opts *ndarray.CompareOptions, o *diffFlags) (err error) {
	start := time.Now()
	d := &treeDiff{a: a, pathA: pathA, pathB: pathB, o: o, opts: opts}
	if d.x, err = a.openTree(ctx, pathA); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.x.Close()) }()
	if d.y, err = a.openTree(ctx, pathB); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.y.Close()) }()
	d.doc = diffTreeDoc{Schema: schemaDiffTree, A: pathA, B: pathB, Different: []objectDiff{}, Unknown: []unsupportedDoc{}}
	x, total, err := d.entries(ctx, d.x, pathA)
	if err != nil {
		return err
	}
	y, _, err := d.entries(ctx, d.y, pathB)
	if err != nil {
		return err
	}
	d.meter = newMeter(o.job.progress, a.stderr, "diff", total, time.Now)
	err = d.compare(ctx, x, y)
	d.meter.finish()
	if err != nil {
		return err
	}
	d.doc.Same, d.doc.Seconds = len(d.doc.Different) == 0, seconds(time.Since(start))
	if err := d.report(time.Since(start)); err != nil {
		return err
	}
	switch {
	case !d.doc.Same:
		return &exitError{code: exitDiffers}
	case len(d.doc.Unknown) > 0:
		return &exitError{code: exitPartly, err: summaryError(fmt.Sprintf(
			"%s of %s and %s not compared\n  --exclude PATH leaves them out", plural(int64(len(d.doc.Unknown)), "object"), d.pathA, d.pathB))}
	}
	return nil
}

// entries lists a tree by paths from its top, without excluded ones, and returns the total bytes of
// its arrays.
func (d *treeDiff) entries(ctx context.Context, tree *hyperslab.Tree, address string) (map[string]hyperslab.Entry, int64, error) {
	loc, err := hyperslab.ParseLocation(address)
	if err != nil {
		return nil, 0, err
	}
	top := strings.TrimSuffix("/"+strings.Trim(loc.Object, "/"), "/")
	all, total := make(map[string]hyperslab.Entry), int64(0)
	for e, err := range tree.Walk(ctx, nil) {
		if err != nil {
			return nil, 0, err
		}
		at := "/" + strings.TrimPrefix(strings.TrimPrefix(e.Path, top), "/")
		if d.excluded(at) {
			continue
		}
		all[at] = e
		if e.Kind == hyperslab.Array && e.Err == nil {
			total += e.Meta.NumElems() * int64(e.Meta.DType.Size)
		}
	}
	return all, total, nil
}

// excluded reports whether a path, or a group that contains it, is not compared.
func (d *treeDiff) excluded(path string) bool {
	return slices.ContainsFunc(d.o.exclude, func(x string) bool {
		x = "/" + strings.Trim(x, "/")
		return path == x || strings.HasPrefix(path, x+"/")
	})
}

func (d *treeDiff) compare(ctx context.Context, x, y map[string]hyperslab.Entry) error {
	var paths []string
	for path := range x {
		paths = append(paths, path)
	}
	for path := range y {
		if _, ok := x[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		p, inA := x[path]
		q, inB := y[path]
		switch {
		case !inA:
			d.differs(objectDiff{Path: path, Problem: missingA, B: orNull(string(q.Kind))})
		case !inB:
			d.differs(objectDiff{Path: path, Problem: missingB, A: orNull(string(p.Kind))})
		case p.Err != nil || q.Err != nil:
			e := p
			if p.Err == nil {
				e = q
			}
			d.doc.Unknown = append(d.doc.Unknown, unsupportedDoc{Name: path, Type: e.Type, Reason: e.Err.Error()})
		case p.Kind != q.Kind:
			d.differs(objectDiff{Path: path, Problem: otherKind, A: orNull(string(p.Kind)), B: orNull(string(q.Kind))})
		default:
			d.doc.Compared++
			if err := d.pair(ctx, path, p, q); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *treeDiff) differs(o objectDiff) { d.doc.Different = append(d.doc.Different, o) }

// pair compares two readable entries of the same kind.
func (d *treeDiff) pair(ctx context.Context, path string, p, q hyperslab.Entry) error {
	switch p.Kind {
	case hyperslab.Group:
		return d.groups(ctx, path, p, q)
	case hyperslab.Array:
		return d.arrays(ctx, path, p, q)
	case hyperslab.Link:
		a, b := p.LinkKind+" "+p.Target, q.LinkKind+" "+q.Target
		if a != b {
			d.differs(objectDiff{Path: path, Problem: otherTarget, A: &a, B: &b})
		}
	default:
		if p.Type != q.Type {
			d.differs(objectDiff{Path: path, Problem: otherKind, A: &p.Type, B: &q.Type})
		}
	}
	return nil
}

func (d *treeDiff) address(tree string, e hyperslab.Entry) string {
	loc, err := hyperslab.ParseLocation(tree)
	if err != nil {
		return tree // it was parsed before
	}
	return hyperslab.Location{File: loc.File, Object: e.Path}.String()
}

func (d *treeDiff) groups(ctx context.Context, path string, p, q hyperslab.Entry) error {
	if d.o.valuesOnly {
		return nil
	}
	x, err := d.x.GroupAttrs(ctx, p.Path)
	if err != nil {
		return err
	}
	y, err := d.y.GroupAttrs(ctx, q.Path)
	if err != nil {
		return err
	}
	exclude := slices.Clone(d.opts.ExcludeAttrs)
	if d.o.attrs.unsupported {
		for _, u := range append(slices.Clone(x.Unsupported), y.Unsupported...) {
			exclude = append(exclude, u.Name)
		}
	}
	attrs := ndarray.CompareAttrs(x, y, exclude)
	if slices.ContainsFunc(attrs, func(a ndarray.AttrDifference) bool { return a.Problem == ndarray.AttrUnsupported }) {
		if attrs, err = d.digested(ctx, p, q, attrs); err != nil {
			return err
		}
	}
	if len(attrs) > 0 {
		d.differs(objectDiff{Path: path, Problem: otherAttrs, Attributes: attrDiffs(attrs)})
	}
	return nil
}

// digested removes from the list the attributes of two groups that have no dtype and have the same
// meaning in both files.
func (d *treeDiff) digested(ctx context.Context, p, q hyperslab.Entry, list []ndarray.AttrDifference) (_ []ndarray.AttrDifference, err error) {
	if d.a.untrusted() {
		return list, nil
	}
	open := func(tree string, e hyperslab.Entry) (o h5.Object, done func() error, err error) {
		loc, err := hyperslab.ParseLocation(tree)
		if err != nil {
			return nil, nil, err
		}
		f, err := h5.Open(loc.File, h5.ReadOnly)
		if err != nil {
			return nil, nil, hdf5.Translate(err)
		}
		if o, err = f.Root().OpenObject(e.Path); err != nil {
			return nil, nil, errors.Join(hdf5.Translate(err), f.Close())
		}
		return o, f.Close, nil
	}
	for _, tree := range []string{d.pathA, d.pathB} {
		loc, err := hyperslab.ParseLocation(tree)
		if err != nil {
			return nil, err
		}
		if format, err := hyperslab.Sniff(loc.File); err != nil || format != hyperslab.HDF5 {
			return list, nil
		}
	}
	x, closeX, err := open(d.pathA, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeX()) }()
	y, closeY, err := open(d.pathB, q)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeY()) }()
	var out []ndarray.AttrDifference
	for _, a := range list {
		if a.Problem == ndarray.AttrUnsupported {
			s, serr := hdf5.AttrDigest(ctx, x, a.Name)
			t, terr := hdf5.AttrDigest(ctx, y, a.Name)
			if err := errors.Join(serr, terr); err == nil && s == t {
				continue
			} else if err == nil {
				a.Problem = ndarray.AttrDiffers
			}
		}
		out = append(out, a)
	}
	return out, nil
}

func (d *treeDiff) arrays(ctx context.Context, path string, p, q hyperslab.Entry) (err error) {
	a, b := d.address(d.pathA, p), d.address(d.pathB, q)
	x, err := d.x.Open(ctx, p.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	y, err := d.y.Open(ctx, q.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.Close()) }()
	opts := *d.opts
	job := d.o.job // a copy, because the number of workers is for this pair
	if err := cmp.Or(job.fit(opts.Memory, a, x.Meta()), job.fit(opts.Memory, b, y.Meta())); err != nil {
		return err
	}
	opts.Workers = job.jobs
	if opts.ExcludeAttrs, err = d.o.excluded(ctx, x, y); err != nil {
		return err
	}
	before := d.done
	d.meter.reading(ctx, x, y)
	opts.Progress = func(p ndarray.Progress) {
		d.done = before + p.DoneBytes
		d.meter.update(d.done)
	}
	start := time.Now()
	c, err := ndarray.Compare(ctx, x, y, &opts)
	if err != nil {
		return err
	}
	if !d.o.same(&c) {
		doc := newDiffDoc(a, b, &c, false, opts.ExcludeAttrs, time.Since(start), d.o)
		d.differs(objectDiff{Path: path, Problem: otherArray, Array: &doc})
		return nil
	}
	if s, t := d.o.encodings(&c); s != t {
		d.differs(objectDiff{Path: path, Problem: otherEncoding, A: &s, B: &t})
	}
	return nil
}

// report writes the document, or a line for each path that differs.
func (d *treeDiff) report(took time.Duration) error {
	switch {
	case d.o.json:
		return d.a.writeJSON(d.a.stdout, d.doc)
	case d.o.job.quiet:
		return nil
	}
	for _, u := range d.doc.Unknown {
		d.a.note("not compared: %s: %s", safe(u.Name), safe(u.Reason))
	}
	if d.doc.Same && len(d.doc.Unknown) > 0 {
		d.a.note("no difference in the %s that were compared", plural(int64(d.doc.Compared), "object"))
		return nil
	}
	if d.doc.Same {
		d.a.note("same: %s in %v", plural(int64(d.doc.Compared), "object"), took.Round(time.Millisecond))
		return nil
	}
	t := table{head: []string{"PATH", "DIFFERS", "WHERE", "A", "B"}}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return shorten(safe(*s), narrow)
	}
	for _, o := range d.doc.Different {
		if o.Array == nil && o.Attributes == nil {
			t.add(safe(o.Path), o.Problem, "", text(o.A), text(o.B))
		}
		attrs := o.Attributes
		if o.Array != nil {
			x := o.Array
			if !x.SameShape {
				t.add(safe(o.Path), "shape", "", orText(shapeCell(x.ShapeA), "null"), orText(shapeCell(x.ShapeB), "null"))
			}
			if !x.SameDType && !d.o.valuesOnly || !x.ValuesCompared && x.SameShape {
				t.add(safe(o.Path), "dtype", "", x.DTypeA, x.DTypeB)
			}
			for _, v := range x.First {
				index := make([]int64, len(v.Index))
				for i, n := range v.Index {
					index[i] = int64(n)
				}
				t.add(safe(o.Path), fmt.Sprintf("%d of %d", x.Different, x.Elements), indexText(index), v.A, v.B)
			}
			attrs = x.Attributes
		}
		for _, at := range attrs {
			t.add(safe(o.Path), attributeWord(at.Problem), safe(at.Name), orText(text(at.A), "missing"), orText(text(at.B), "missing"))
		}
	}
	if err := t.write(d.a.stdout, d.a.data); err != nil {
		return err
	}
	d.a.noteUnknown(slices.ContainsFunc(d.doc.Different, func(o objectDiff) bool {
		unknown := func(at attrDiff) bool { return at.Problem == string(ndarray.AttrUnsupported) }
		return slices.ContainsFunc(o.Attributes, unknown) || o.Array != nil && slices.ContainsFunc(o.Array.Attributes, unknown)
	}))
	return nil
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
