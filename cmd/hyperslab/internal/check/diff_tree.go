// hyperslab diff of trees: groups, links, arrays and attributes, path by path.

package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// DiffTreeDoc is the document of diff --json of two trees.
type DiffTreeDoc struct {
	Schema    string                 `json:"schema"`
	A         string                 `json:"a"`
	B         string                 `json:"b"`
	Same      bool                   `json:"same"`
	Compared  int                    `json:"compared"`
	Different []ObjectDiff           `json:"different"`
	Unknown   []shell.UnsupportedDoc `json:"not_compared"`
	Seconds   shell.JSONFloat        `json:"seconds"`
}

// ObjectDiff is one path at which two trees differ. Fields that do not apply are null.
type ObjectDiff struct {
	Path       string     `json:"path"`
	Problem    string     `json:"problem"`
	Array      *DiffDoc   `json:"array"`
	Attributes []AttrDiff `json:"attributes"`
	A          *string    `json:"a"`
	B          *string    `json:"b"`
}

// Problems of a path.
const (
	missingA      = "missing in the first"
	missingB      = "missing in the second"
	otherKind     = "different kind"
	otherTarget   = "leads elsewhere"
	otherArray    = "array differs"
	otherAttrs    = "attributes differ"
	otherEncoding = "stored otherwise"
)

// diffTrees compares two groups with all objects below them.
func (j *diffJob) diffTrees(ctx context.Context, pathA, pathB string, trees [2]*hyperslab.Tree, opts *ndarray.CompareOptions) error {
	start := time.Now()
	m := term.NewMeter(j.job.Progress, j.Stderr, "diff", 0, time.Now)
	options := &hyperslab.CompareOptions{
		CompareOptions: *opts, ValuesOnly: j.valuesOnly, Encoding: j.encoding, Converted: j.converted,
		ExcludeUnsupported: j.attrs.Unsupported,
		Exclude: func(path string) bool {
			return slices.ContainsFunc(j.exclude, func(x string) bool { return path == "/"+strings.Trim(x, "/") })
		},
		Prepare: func(x, y *ndarray.Array, workers *int) error {
			job := j.job // a copy, because the number of workers is for this pair
			err := cmp.Or(job.Fit(opts.Memory, x.Meta().Path, x.Meta()), job.Fit(opts.Memory, y.Meta().Path, y.Meta()))
			*workers = job.Jobs
			m.SetSources(ctx, x, y)
			return err
		},
	}
	options.ExcludeAttrs = j.attrs.Names
	if m.Shown() {
		options.Progress = func(p ndarray.Progress) { m.UpdateOf(p.DoneBytes, p.TotalBytes) }
	}
	r, err := hyperslab.Compare(ctx, trees[0], trees[1], options)
	m.Finish()
	if err != nil {
		return err
	}
	took := time.Since(start)
	if err := j.reportTrees(j.newDiffTreeDoc(pathA, pathB, r, took), took); err != nil {
		return err
	}
	switch {
	case slices.ContainsFunc(r.Differences, j.counts):
		return &shell.ExitError{Code: shell.ExitDiffers}
	case len(r.Differences) > 0 && len(r.NotCompared) == 0:
		return &shell.ExitError{Code: shell.ExitPartly}
	case len(r.NotCompared) > 0:
		return &shell.ExitError{Code: shell.ExitPartly, Err: shell.SummaryError(fmt.Sprintf(
			"%s of %s and %s not compared\n  --exclude PATH leaves them out", term.Plural(int64(len(r.NotCompared)), "object"), pathA,
			pathB))}
	}
	return nil
}

// counts reports whether a path differs in more than attributes that cannot be compared.
func (j *diffJob) counts(d hyperslab.Difference) bool {
	switch {
	case d.A == nil || d.B == nil:
		return true
	case d.Array != nil:
		c := *d.Array
		c.Attrs = known(c.Attrs)
		a, b := j.encodings(&c)
		return !j.same(&c) || a != b
	case d.A.Kind == hyperslab.Group && d.B.Kind == hyperslab.Group:
		return len(known(d.Attrs)) > 0
	}
	return true
}

// newDiffTreeDoc returns the document of a comparison of trees.
func (j *diffJob) newDiffTreeDoc(pathA, pathB string, r *hyperslab.CompareReport, took time.Duration) *DiffTreeDoc {
	doc := &DiffTreeDoc{
		Schema: shell.SchemaDiffTree, A: pathA, B: pathB, Same: len(r.Differences) == 0, Compared: r.Compared,
		Different: []ObjectDiff{}, Unknown: []shell.UnsupportedDoc{}, Seconds: shell.Seconds(took),
	}
	for _, p := range r.NotCompared {
		doc.Unknown = append(doc.Unknown, shell.UnsupportedDoc{Name: p.Path, Type: p.What, Reason: p.Err.Error()})
	}
	for i := range r.Differences {
		doc.Different = append(doc.Different, j.newObjectDiff(pathA, pathB, &r.Differences[i]))
	}
	return doc
}

// newObjectDiff returns the document of one path.
func (j *diffJob) newObjectDiff(pathA, pathB string, d *hyperslab.Difference) ObjectDiff {
	doc := ObjectDiff{Path: d.Path}
	both := func(problem, a, b string) { doc.Problem, doc.A, doc.B = problem, &a, &b }
	switch {
	case d.A == nil:
		doc.Problem, doc.B = missingA, shell.OrNull(string(d.B.Kind))
	case d.B == nil:
		doc.Problem, doc.A = missingB, shell.OrNull(string(d.A.Kind))
	case d.A.Kind != d.B.Kind:
		both(otherKind, string(d.A.Kind), string(d.B.Kind))
	case d.Array != nil && j.same(d.Array):
		both(otherEncoding, encodingText(d.Array.A), encodingText(d.Array.B))
	case d.Array != nil:
		array := j.newDiffDoc(&diffResult{
			a: objectAddress(pathA, d.A), b: objectAddress(pathB, d.B), Comparison: d.Array,
			excluded: append([]string{}, d.ExcludedAttrs...), took: d.Time,
		})
		doc.Problem, doc.Array = otherArray, &array
	case d.A.Kind == hyperslab.Group:
		doc.Problem, doc.Attributes = otherAttrs, attrDiffs(d.Attrs)
	case d.A.Kind == hyperslab.Link:
		both(otherTarget, d.A.LinkKind+" "+d.A.Target, d.B.LinkKind+" "+d.B.Target)
	default:
		both(otherKind, d.A.Type, d.B.Type)
	}
	return doc
}

// objectAddress returns the address of an object below the group at an address.
func objectAddress(group string, e *hyperslab.Entry) string {
	loc, err := locate.Parse(group)
	if err != nil {
		return group // it was parsed before
	}
	return locate.Location{File: loc.File, Object: e.Path}.String()
}

// reportTrees writes the document, or a line for each path that differs.
func (j *diffJob) reportTrees(doc *DiffTreeDoc, took time.Duration) error {
	switch {
	case j.json:
		return j.WriteJSON(j.Stdout, doc)
	case j.job.Quiet:
		return nil
	}
	for _, u := range doc.Unknown {
		j.Note("not compared: %s: %s", term.Safe(u.Name), term.Safe(u.Reason))
	}
	if doc.Same && len(doc.Unknown) > 0 {
		j.Note("no difference in the %s that were compared", term.Plural(int64(doc.Compared), "object"))
		return nil
	}
	if doc.Same {
		j.Note("same: %s in %v", term.Plural(int64(doc.Compared), "object"), took.Round(time.Millisecond))
		return nil
	}
	t := term.Table{Head: []string{"PATH", "DIFFERS", "WHERE", "A", "B"}}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return shell.Shorten(term.Safe(*s), shell.Narrow)
	}
	for _, d := range doc.Different {
		if d.Array == nil && d.Attributes == nil {
			t.Add(term.Safe(d.Path), d.Problem, "", text(d.A), text(d.B))
		}
		attrs := d.Attributes
		if d.Array != nil {
			x := d.Array
			if !x.SameShape {
				t.Add(term.Safe(d.Path), "shape", "", orText(shell.ShapeCell(x.ShapeA), "null"), orText(shell.ShapeCell(x.ShapeB), "null"))
			}
			if !x.SameDType && !j.valuesOnly || !x.ValuesCompared && x.SameShape {
				t.Add(term.Safe(d.Path), "dtype", "", x.DTypeA, x.DTypeB)
			}
			for _, v := range x.First {
				index := make([]int64, len(v.Index))
				for i, n := range v.Index {
					index[i] = int64(n)
				}
				t.Add(term.Safe(d.Path), fmt.Sprintf("%d of %d", x.Different, x.Elements), shell.IndexText(index), v.A, v.B)
			}
			attrs = x.Attributes
		}
		for _, at := range attrs {
			t.Add(term.Safe(d.Path), attributeWord(at.Problem), attributeName(at.Name), orText(text(at.A), "missing"),
				orText(text(at.B), "missing"))
		}
	}
	if err := t.Write(j.Stdout, j.Data); err != nil {
		return err
	}
	j.noteUnknown(slices.ContainsFunc(doc.Different, func(o ObjectDiff) bool {
		unknown := func(at AttrDiff) bool { return at.Problem == attrUnsupported }
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
