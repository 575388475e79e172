// hyperslab diff: compare two arrays and list the differences.

package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/ndarray"
)

// DiffDoc is the document of diff --json.
type DiffDoc struct {
	Schema         string          `json:"schema"`
	A              string          `json:"a"`
	B              string          `json:"b"`
	Same           bool            `json:"same"`
	ShapeA         []shell.JSONInt `json:"shape_a"`
	ShapeB         []shell.JSONInt `json:"shape_b"`
	SameShape      bool            `json:"same_shape"`
	DTypeA         string          `json:"dtype_a"`
	DTypeB         string          `json:"dtype_b"`
	SameDType      bool            `json:"same_dtype"`
	ValuesCompared bool            `json:"values_compared"`
	Elements       shell.JSONInt   `json:"elements"`
	Different      shell.JSONInt   `json:"different"`
	First          []ValueDoc      `json:"first"`
	Attributes     []AttrDiff      `json:"attributes"`
	Excluded       []string        `json:"excluded_attributes"`
	EncodingA      *string         `json:"encoding_a"`
	EncodingB      *string         `json:"encoding_b"`
	Seconds        shell.JSONFloat `json:"seconds"`
}

// ValueDoc is one element that differs.
type ValueDoc struct {
	Index []shell.JSONInt `json:"index"`
	A     string          `json:"a"`
	B     string          `json:"b"`
}

// AttrDiff is one attribute that differs. A missing attribute is null.
type AttrDiff struct {
	Name    string  `json:"name"`
	Problem string  `json:"problem"`
	A       *string `json:"a"`
	B       *string `json:"b"`
}

// diffJob is one run of diff.
type diffJob struct {
	*shell.App

	job        shell.JobFlags
	attrs      shell.AttrFlags
	rtol, atol float64
	ulp        uint64
	equalNaN   bool
	encoding   bool
	exclude    []string
	valuesOnly bool
	converted  bool
	count      int
	json       bool
}

func newDiff(a *shell.App) *cobra.Command {
	j := &diffJob{App: a}
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two arrays or trees of any format",
		Long: `diff compares shape, element type, every value and the attributes of two arrays. It
ignores the storage: chunks, compression, fill value and order of attributes. Without
tolerances values are compared bit by bit: NaN equals NaN, and -0 differs from 0.
Numbers of different types are compared by value: 1 equals 1.0. The type remains a
difference, unless --values-only is given.

Selected parts are compared like arrays of their shape. Indices count from the start of
the part, and the attributes are those of the arrays.

Two groups, ctables, directories of arrays or whole HDF5 files are compared path by
path, with their links and the attributes of groups. --exclude leaves out paths.
--encoding also compares chunks, blocks and compression.

With --converted B is a conversion of A. Then the changes that convert reports are no
differences: other types of strings with the same values, paths in place of references,
and links, datatypes, attributes and arrays that the format of B cannot store.

With --rtol or --atol two floating point values a and b are equal if |a-b| <= atol +
rtol*|b|, and with --ulp also if fewer than N values of their type are between them. The
exit code is 0 if nothing differs, 1 if something differs, 2 if the comparison is
impossible, 3 if a part of a tree or an attribute cannot be compared and the rest is
equal.` + shell.AddressHelp + shell.SliceHelp,
		Example: `  hyperslab diff etopo.h5:/ROSE rose.b2nd
  hyperslab diff rose.b2nd rose-lz4.b2nd
  hyperslab diff waves.b2nd changed.b2nd --rtol 1e-6 --atol 1e-3
  hyperslab diff waves.b2nd changed.b2nd -n 5
  hyperslab diff 'waves.b2nd[:, 0]' 'waves.h5:/waves[:, 0]'
  hyperslab diff tree.h5 tree.h5 --exclude /run1/raw
  hyperslab diff waves.b2nd waves.h5:/waves --ulp 2 --encoding`,
		Args:              shell.Arity(2, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), args[0], args[1])
		},
	}
	f := cmd.Flags()
	f.Float64Var(&j.rtol, "rtol", 0, "relative tolerance `R` of floating point values")
	f.Float64Var(&j.atol, "atol", 0, "absolute tolerance `A` of floating point values")
	f.Uint64Var(&j.ulp, "ulp", 0, "floats are equal if they are at most `N` representable values apart")
	f.BoolVar(&j.equalNaN, "equal-nan", false, "NaNs with different bits are equal")
	f.BoolVar(&j.valuesOnly, "values-only", false, "compare shape and values, not attributes, byte order or types of numbers")
	f.BoolVar(&j.converted, "converted", false, "B is a conversion of A: the changes that convert reports are no differences")
	f.BoolVar(&j.encoding, "encoding", false, "compare chunks, blocks and compression too")
	f.StringArrayVar(&j.exclude, "exclude", nil, "in trees leave out `PATH` and all objects below it; repeatable")
	f.IntVarP(&j.count, "count", "n", 1, "show at most `N` differing values")
	j.attrs.Add(cmd, "do not compare")
	j.job.Add(cmd, "no output; the exit code is the result")
	shell.JSONFlag(cmd, &j.json)
	(&shell.FilesFlags{}).Add(a, cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	shell.AddDType(a, cmd)
	return cmd
}

func (j *diffJob) run(ctx context.Context, pathA, pathB string) (err error) {
	opts, err := j.options()
	if err != nil {
		return err
	}
	start := time.Now()
	trees, parts, err := j.openPair(ctx, pathA, pathB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closePair(trees, parts)) }()
	x, y := parts[0], parts[1]
	if x == nil {
		return j.diffTrees(ctx, pathA, pathB, trees, opts)
	}
	if len(j.exclude) > 0 {
		return shell.Usagef("--exclude is for trees, and these are two arrays")
	}
	if j.encoding && (x.Source != nil || y.Source != nil) {
		return shell.Usagef("--encoding is for whole arrays, and a selection takes a part of one")
	}
	if opts.ExcludeAttrs, err = j.excluded(ctx, x.Array, y.Array); err != nil {
		return err
	}
	if err := cmp.Or(j.job.Fit(opts.Memory, pathA, x.Whole()), j.job.Fit(opts.Memory, pathB, y.Whole())); err != nil {
		return err
	}
	opts.Workers = j.job.Jobs
	m := term.NewMeter(j.job.Progress, j.Stderr, "diff", x.NBytes(), time.Now).SetSources(ctx, x.Stored(), y.Stored())
	opts.Progress = func(p ndarray.Progress) { m.Update(p.DoneBytes) }
	c, err := ndarray.Compare(ctx, x.Array, y.Array, opts)
	m.Finish()
	if err != nil {
		return err
	}
	dimscale.Compare(&c)
	if j.converted {
		if err := converted.Array(ctx, &c, x.Array, y.Array); err != nil {
			return err
		}
	}
	storedA, storedB := j.encodings(&c)
	same := j.same(&c) && storedA == storedB
	r := &diffResult{a: pathA, b: pathB, Comparison: &c, same: same, excluded: opts.ExcludeAttrs, took: time.Since(start)}
	if err := j.reportDiff(r); err != nil {
		return err
	}
	if same {
		return nil
	}
	code := shell.ExitDiffers
	if c.Attrs = known(c.Attrs); j.same(&c) && storedA == storedB {
		code = shell.ExitPartly
	}
	return &shell.ExitError{Code: code}
}

// known returns the differences of attributes without those that cannot be compared.
func known(list []ndarray.AttrDifference) []ndarray.AttrDifference {
	return slices.DeleteFunc(slices.Clone(list), func(d ndarray.AttrDifference) bool { return attrProblem(d) == attrUnsupported })
}

// openPair opens two arrays, or two groups, whose arrays are nil. It fails if only one is a group.
func (j *diffJob) openPair(ctx context.Context, pathA, pathB string) (trees [2]*hyperslab.Tree, parts [2]*shell.Part, err error) {
	paths := [2]string{pathA, pathB}
	for i, path := range paths {
		if trees[i], parts[i], err = j.OpenEither(ctx, path); err != nil {
			return trees, parts, errors.Join(err, closePair(trees, parts))
		}
	}
	if (parts[0] == nil) == (parts[1] == nil) {
		return trees, parts, nil
	}
	group := pathA
	if parts[0] != nil {
		group = pathB
	}
	err = shell.Usagef("%s is a group and the other is an array; name one of its arrays, as FILE:/path", group)
	return trees, parts, errors.Join(err, closePair(trees, parts))
}

// closePair closes two operands of diff.
func closePair(trees [2]*hyperslab.Tree, parts [2]*shell.Part) (err error) {
	for i, p := range parts {
		switch {
		case p != nil:
			err = errors.Join(err, p.Close())
		case trees[i] != nil:
			err = errors.Join(err, trees[i].Close())
		}
	}
	return err
}

// same reports whether there are no differences that count.
func (j *diffJob) same(c *ndarray.Comparison) bool {
	return c.Equal() || j.valuesOnly && c.SameShape && c.ValuesCompared && c.NumDiffs == 0
}

// encodings describes the storage of the two arrays, or returns "" if it does not count.
func (j *diffJob) encodings(c *ndarray.Comparison) (a, b string) {
	if !j.encoding {
		return "", ""
	}
	return encodingText(c.A), encodingText(c.B)
}

// encodingText returns, for example, "chunks 10x30, blocks 5x30, shuffle + zstd 5".
func encodingText(m ndarray.Meta) string {
	var parts []string
	if m.ChunkShape != nil {
		parts = append(parts, "chunks "+term.FormatShape(m.ChunkShape))
	}
	if m.BlockShape != nil {
		parts = append(parts, "blocks "+term.FormatShape(m.BlockShape))
	}
	if m.Compression != nil {
		parts = append(parts, m.Compression.String())
	}
	return strings.Join(parts, ", ")
}

// options converts the flags to options of Compare.
func (j *diffJob) options() (*ndarray.CompareOptions, error) {
	memory, err := j.job.Check()
	if err != nil {
		return nil, err
	}
	if j.count < 0 {
		return nil, shell.Usagef("-n %d: want 0 or more values", j.count)
	}
	opts := &ndarray.CompareOptions{
		IgnoreOrder: j.valuesOnly, IgnoreAttrs: j.valuesOnly,
		MaxDiffs: j.count, Workers: j.job.Jobs, Memory: memory,
	}
	for flag, v := range map[string]float64{"--rtol": j.rtol, "--atol": j.atol} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return nil, shell.Usagef("%s %v: want a number that is not negative", flag, v)
		}
	}
	if j.rtol != 0 || j.atol != 0 || j.ulp != 0 || j.equalNaN {
		opts.Tolerance = &ndarray.Tolerance{Rtol: j.rtol, Atol: j.atol, ULP: j.ulp, EqualNaN: j.equalNaN}
	}
	return opts, nil
}

// excluded returns the names of the attributes that are not compared.
func (j *diffJob) excluded(ctx context.Context, arrays ...*ndarray.Array) ([]string, error) {
	names := append([]string{}, j.attrs.Names...)
	if !j.attrs.Unsupported || j.valuesOnly {
		return names, nil
	}
	for _, arr := range arrays {
		attrs, err := shell.AttrsOf(ctx, arr)
		if err != nil {
			return nil, err
		}
		for _, u := range attrs.Unsupported {
			names = append(names, u.Name)
		}
	}
	return names, nil
}

// diffResult is the result for two arrays.
type diffResult struct {
	a, b string // addresses
	*ndarray.Comparison
	same     bool     // no difference counts
	excluded []string // attributes
	took     time.Duration
}

// reportDiff writes the document, the differences, or a line that there are none.
func (j *diffJob) reportDiff(r *diffResult) error {
	switch {
	case j.json:
		return j.WriteJSON(j.Stdout, j.newDiffDoc(r))
	case j.job.Quiet:
		return nil
	case r.same:
		j.Note("same: %s of %v in %v", term.Plural(r.NumElems, "element"), r.A.DType, r.took.Round(time.Millisecond))
		return nil
	}
	if err := j.writeDiff(j.Stdout, r.Comparison); err != nil {
		return err
	}
	j.noteUnknown(slices.ContainsFunc(r.Attrs, func(d ndarray.AttrDifference) bool { return d.Unsupported }))
	return nil
}

// attrUnsupported is the problem of attributes that cannot be compared.
const attrUnsupported = "cannot be compared"

// attrProblem describes the difference of an attribute.
func attrProblem(d ndarray.AttrDifference) string {
	switch {
	case d.A == "":
		return missingA
	case d.B == "":
		return missingB
	case d.Unsupported:
		return attrUnsupported
	}
	return "differs"
}

// attributeName returns the name of an attribute for a listing. Attributes that cannot be listed
// have none.
func attributeName(name string) string {
	if name == "" {
		return "(not listed)"
	}
	return term.Safe(name)
}

// attributeWord distinguishes attributes that differ from those that cannot be compared.
func attributeWord(problem string) string {
	if problem == attrUnsupported {
		return "attribute?"
	}
	return "attribute"
}

// noteUnknown explains "attribute?" if it occurs.
func (j *diffJob) noteUnknown(any bool) {
	if any {
		j.Note("attribute?: the type cannot be compared; --exclude-unsupported leaves such attributes out")
	}
}

func (j *diffJob) newDiffDoc(r *diffResult) DiffDoc {
	c := r.Comparison
	d := DiffDoc{
		Schema: shell.SchemaDiff, A: r.a, B: r.b, Same: r.same,
		ShapeA: shell.ShapeDoc(c.A), ShapeB: shell.ShapeDoc(c.B), SameShape: c.SameShape,
		DTypeA: c.A.DType.String(), DTypeB: c.B.DType.String(), SameDType: c.SameDType,
		ValuesCompared: c.ValuesCompared, Elements: shell.JSONInt(c.NumElems), Different: shell.JSONInt(c.NumDiffs),
		First: []ValueDoc{}, Attributes: []AttrDiff{}, Excluded: r.excluded, Seconds: shell.Seconds(r.took),
	}
	for _, v := range c.Diffs[:min(len(c.Diffs), j.count)] {
		d.First = append(d.First, ValueDoc{Index: shell.JSONShape(v.Index), A: v.A, B: v.B})
	}
	d.Attributes = append(d.Attributes, attrDiffs(c.Attrs)...)
	if j.encoding {
		a, b := j.encodings(c)
		d.EncodingA, d.EncodingB = &a, &b
	}
	return d
}

func attrDiffs(attrs []ndarray.AttrDifference) (docs []AttrDiff) {
	for _, at := range attrs {
		doc := AttrDiff{Name: at.Name, Problem: attrProblem(at)}
		if at.A != "" {
			doc.A = &at.A
		}
		if at.B != "" {
			doc.B = &at.B
		}
		docs = append(docs, doc)
	}
	return docs
}

// writeDiff writes the differences: shape, type, values, attributes, in this order.
func (j *diffJob) writeDiff(w io.Writer, c *ndarray.Comparison) error {
	t := term.Table{Head: []string{"DIFFERS", "WHERE", "A", "B"}}
	if !c.SameShape {
		t.Add("shape", "", shell.MetaShape(c.A), shell.MetaShape(c.B))
	}
	if !c.SameDType && !j.valuesOnly || !c.ValuesCompared && c.SameShape {
		t.Add("dtype", "", shell.DtypeText(c.A.DType), shell.DtypeText(c.B.DType))
	}
	for _, v := range c.Diffs[:min(len(c.Diffs), j.count)] {
		t.Add("value", shell.IndexText(v.Index), v.A, v.B)
	}
	for _, at := range c.Attrs {
		t.Add(attributeWord(attrProblem(at)), attributeName(at.Name), orMissing(at.A), orMissing(at.B))
	}
	if storedA, storedB := j.encodings(c); storedA != storedB {
		t.Add("encoding", "", storedA, storedB)
	}
	if err := t.Write(w, j.Data); err != nil {
		return err
	}
	var err error
	switch {
	case !c.ValuesCompared:
		_, err = fmt.Fprintln(w, "values not compared: shapes differ, or types that are not all numbers or all strings")
	case c.NumDiffs > 0:
		_, err = fmt.Fprintf(w, "%d of %s differ\n", c.NumDiffs, term.Plural(c.NumElems, "value"))
	}
	return err
}

func orMissing(s string) string {
	if s == "" {
		return "missing"
	}
	return shell.Shorten(term.Safe(s), shell.Wide)
}
