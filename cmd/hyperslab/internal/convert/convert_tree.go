// Conversion of all objects of a file or a directory, and of many files.

package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree/numberview"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ConvertTreeDoc is the document of convert --json for a source with many arrays.
type ConvertTreeDoc struct {
	Schema       string        `json:"schema"`
	Source       string        `json:"source"`
	Target       string        `json:"target"`
	TargetFormat string        `json:"target_format"`
	DryRun       bool          `json:"dry_run"`
	Groups       int           `json:"groups"`
	Arrays       int           `json:"arrays"`
	Links        int           `json:"links"`
	Types        int           `json:"types"`
	Attributes   int           `json:"attributes"`
	Bytes        shell.JSONInt `json:"bytes"`

	EstimatedBytes   *shell.JSONInt   `json:"estimated_bytes"`
	EstimatedSeconds *shell.JSONFloat `json:"estimated_seconds"`

	StoredBytes *shell.JSONInt   `json:"stored_bytes"`
	Lost        []string         `json:"lost"`
	Unreadable  []string         `json:"unreadable"`
	Rounded     *shell.JSONInt   `json:"rounded"`
	Clipped     *shell.JSONInt   `json:"clipped"`
	Seconds     *shell.JSONFloat `json:"seconds"`
}

// sourceTree opens a source that contains many arrays, if the target can contain many. It returns
// nil for any other source.
func (j *ConvertJob) sourceTree(ctx context.Context) (*hyperslab.Tree, error) {
	if j.Source == shell.Stdio || j.Target == shell.Stdio || j.flat.Shape != "" {
		return nil, nil
	}
	to, err := locate.Parse(j.Target)
	if err != nil {
		return nil, err
	}
	if j.Format == tableFormat {
		return j.OpenTree(ctx, j.Source) // also an array of structures
	}
	one := []hyperslab.Format{hyperslab.B2ND, hyperslab.Caterva, shell.FrameFormat, shell.NPYFormat, shell.RawFormat}
	named, _ := formatForName(to.File)
	if strings.Trim(to.Object, "/") != "" || slices.Contains(one, named) || slices.Contains(one, hyperslab.Format(j.Format)) {
		return nil, nil
	}
	return groupTree(ctx, j.App, j.Source)
}

// groupTree opens a source that is a group. It returns nil for any other source, which is an array,
// or fails when it is opened as one.
func groupTree(ctx context.Context, a *shell.App, source string) (*hyperslab.Tree, error) {
	tree, group, err := a.OpenGroup(ctx, source)
	for _, other := range []error{ndarray.ErrParam, ndarray.ErrFormat, ndarray.ErrNotFound} {
		if errors.Is(err, other) {
			return nil, nil
		}
	}
	if err != nil || group {
		return tree, err
	}
	return nil, tree.Close()
}

// forRank returns the flags that apply to an array with that number of axes.
func (o StoreFlags) forRank(rank int) StoreFlags {
	if shape, _ := term.ParseShape(o.Chunks); len(shape) != rank {
		o.Chunks, o.Blocks = "", ""
	}
	o.Grow = slices.DeleteFunc(slices.Clone(o.Grow), func(axis int) bool { return axis >= rank })
	return o
}

// treeResult is the result of a conversion of a tree.
type treeResult struct {
	doc        ConvertTreeDoc
	stored     *int64
	took       time.Duration
	unreadable int // objects that were left out
}

// nameExtension matches the extension of a file or store, such as .zarr, and not the end of a
// version, such as data-1.2.
var nameExtension = regexp.MustCompile(`^\.\pL[\pL\pN]*$`)

// hasExtension reports whether the name of a target has an extension. A name that ends in a slash
// is that of a directory, of any name.
func hasExtension(name string) bool {
	return nameExtension.MatchString(filepath.Ext(strings.TrimLeft(path.Base(name), "."))) && !strings.HasSuffix(name, "/")
}

// treeJob is the conversion of the tree of a source.
type treeJob struct {
	*ConvertJob

	from   locate.Location
	format hyperslab.Format // of the target
	stored hyperslab.Format // of the arrays in the target

	changes  map[string]*numberview.Conversion // of the element type, by path
	guess    *forecast                         // of a dry run; nil if the arrays cannot be measured
	reported []string                          // properties of encodings that are lost
}

// convertTree converts the tree of a source.
func (j *ConvertJob) convertTree(ctx context.Context, tree *hyperslab.Tree) (conversion, error) {
	start := time.Now()
	t := &treeJob{ConvertJob: j, changes: make(map[string]*numberview.Conversion)}
	if err := t.plan(); err != nil {
		return nil, err
	}
	opts := t.options(ctx)
	var m *term.Meter
	opts.Progress = func(p ndarray.Progress) {
		if m == nil {
			m = term.NewMeter(j.Job.Progress, j.Stderr, "convert", p.TotalBytes, time.Now).SetTarget(shell.MadeBytes(j.Target, 0))
		}
		m.Update(p.DoneBytes)
	}
	stats, err := hyperslab.CopyTree(ctx, j.Target, tree, opts)
	if m != nil {
		m.Finish()
	}
	if len(stats.Refused) > 0 {
		return nil, fmt.Errorf("%s of %s cannot be stored in %s; no file was written:\n  %s\n  %s",
			term.Plural(int64(len(stats.Refused)), "thing"), j.Source, j.Target, problemLines(stats.Refused), j.wayOut(stats.Refused))
	} else if err != nil {
		return nil, err
	}
	return t.result(stats, time.Since(start))
}

// plan determines the format of the target, and checks the flags for it.
func (t *treeJob) plan() (err error) {
	known := false
	if t.format, known = shell.NamedFormat(t.Target); !known {
		t.format = hyperslab.Directory
	}
	if t.from, err = locate.Parse(t.Source); err != nil {
		return err
	}
	table := t.Format == tableFormat
	switch {
	case !known && hasExtension(t.Target):
		return shell.Usagef("%s: the extension %q is not that of a format; name a directory without extension, an HDF5 file .h5, a store "+
			".b2z, .b2d or .b2e, or a ctable .bcolz", t.Target, filepath.Ext(t.Target))
	case table && t.format != hyperslab.B2Z && t.format != hyperslab.B2D:
		return shell.Usagef("--format %s: %s: a table is stored in a .b2z or a .b2d", t.Format, t.Target)
	case t.Format != "" && t.Format != string(t.format) && !table:
		return shell.Usagef("--format %s: %s is many arrays, which go to %s; name an HDF5 file .h5, a store .b2z, .b2d or .b2e, a ctable "+
			".bcolz, a directory without extension", t.Format, t.Source, t.Target)
	case t.Sparse:
		return shell.Usagef("%s is many arrays; --sparse is for one", t.Source)
	case t.inPlace:
		return shell.Usagef("%s is many arrays; --in-place adds one array", t.Source)
	}
	if err := t.mayReplace(t.Target); err != nil {
		return err
	}
	if t.format == hyperslab.HDF5 && shell.SameFile(t.Source, t.Target) {
		return shell.Usagef("%s is also the source, and would be replaced as a whole; write to another file", t.Target)
	}
	t.stored = t.format
	if t.format == hyperslab.Directory || shell.IsStore(t.format) {
		t.stored = hyperslab.B2ND
	}
	if table {
		t.format = tableFormat
	}
	if t.dryRun && t.stored != hyperslab.Bcolz { // bcolz cannot be measured
		t.guess = newForecast(t.Job.Jobs, t.Job.Limit)
	}
	return nil
}

// options returns the options of CopyTree.
func (t *treeJob) options(ctx context.Context) *hyperslab.TreeOptions {
	o := &hyperslab.TreeOptions{
		Lock: t.lock, DryRun: t.dryRun, Strings: t.strings, Overwrite: t.force, Exclude: t.leftOut, SkipUnreadable: t.pick.Skip,
		Workers: t.Job.Jobs, Memory: t.Job.Limit, Table: t.Format == tableFormat, Accept: t.Attrs.Accept,
		Adjust: func(at string, m ndarray.Meta, spec *ndarray.Spec, workers *int) error {
			return t.adjust(ctx, at, m, spec, workers)
		},
	}
	if len(t.types.rules) > 0 {
		o.View = t.view
	}
	return o
}

// view shows an array with the element type of --dtype. It leaves arrays of other elements than
// numbers as they are, unless a pattern of their path requests it.
func (t *treeJob) view(at string, a *ndarray.Array) (*ndarray.Array, error) {
	c := t.changes[at]
	if c == nil {
		named := false
		if c, named = t.types.conversion(at); c == nil || !named && c.Fits(a.DType()) != nil {
			return a, nil
		}
		t.changes[at] = c
	}
	return c.View(a, true)
}

// adjust sets how an array is stored, and the number of workers that its chunks allow.
func (t *treeJob) adjust(ctx context.Context, at string, m ndarray.Meta, spec *ndarray.Spec, workers *int) error {
	chunked := !m.Null && len(m.Shape) > 0 && m.NumElems() > 0 // otherwise it is not chunked
	if chunked && t.Given() {
		flags := t.forRank(len(m.Shape))
		changed, err := flags.Spec(m, t.stored)
		switch {
		case errors.Is(err, errors.ErrUnsupported): // a codec that does not support these elements
			t.Note("%s %s; it is stored as usual", t.Talk.Notice("hyperslab convert:"), term.Safe(err.Error()))
		case err != nil:
			return err
		default:
			*spec = changed
		}
	}
	for _, f := range encodingLost(m, spec.Compression, t.stored) {
		t.reported = append(t.reported, at+": "+f.String())
	}
	if !chunked {
		return nil
	}
	address := locate.Location{File: t.from.File, Object: at}.String()
	job := t.Job // a copy, because the number of workers is for this array
	err := job.FitBoth(address, m, t.Target+":"+at, *spec)
	*workers = job.Jobs
	if err == nil && t.guess != nil {
		err = t.guess.addAt(ctx, t.App, address, *spec, t.stored)
	}
	return err
}

// result reports the objects and properties that are left out, and returns the document.
func (t *treeJob) result(stats hyperslab.TreeStats, took time.Duration) (conversion, error) {
	r := &treeResult{took: took, doc: ConvertTreeDoc{
		Schema: shell.SchemaConvertTree, Source: t.Source, Target: t.Target, TargetFormat: string(t.format), DryRun: t.dryRun,
		Groups: stats.Groups, Arrays: stats.Arrays, Links: stats.Links, Types: stats.Types, Attributes: stats.Attrs,
		Bytes: shell.JSONInt(stats.Bytes), Lost: []string{}, Unreadable: t.Unreadable("convert", stats.Unreadable),
	}, unreadable: len(stats.Unreadable)}
	for _, p := range slices.Concat(stats.Lost, stats.Changes) {
		r.doc.Lost = append(r.doc.Lost, p.String())
	}
	r.doc.Lost = append(r.doc.Lost, t.reported...)
	t.Lost("convert", r.doc.Lost)
	if t.guess != nil {
		bytes, took := t.guess.total()
		s := shell.Seconds(took)
		r.doc.EstimatedBytes, r.doc.EstimatedSeconds = (*shell.JSONInt)(&bytes), &s
	}
	if !t.dryRun {
		n, err := shell.PathBytes(t.Target)
		if err != nil {
			return nil, err
		}
		if len(t.types.rules) > 0 {
			r.doc.Rounded, r.doc.Clipped = t.reportChanged(slices.Collect(maps.Values(t.changes))...)
		}
		took := shell.Seconds(r.took)
		r.stored, r.doc.StoredBytes, r.doc.Seconds = &n, (*shell.JSONInt)(&n), &took
	}
	return r, nil
}

// leftOut reports whether an object of the source is not converted.
func (j *ConvertJob) leftOut(object string) bool {
	leadsTo := func(kept string) bool { return kept == object || strings.HasPrefix(kept, object+"/") }
	return j.pick.Excluded(object) || j.keep != nil && !slices.ContainsFunc(j.keep, leadsTo)
}

// withCoordinates returns the file of an array, and the paths in it of the array, its coordinates
// and their boundaries.
func (j *ConvertJob) withCoordinates(ctx context.Context) (file string, paths []string, err error) {
	source := j.Source
	loc, err := locate.Parse(source)
	if err != nil {
		return "", nil, err
	}
	if strings.Trim(loc.Object, "/") == "" {
		return "", nil, shell.Usagef("--with-coordinates: %s names no array in a tree", source)
	}
	p, err := j.OpenInTree(ctx, source)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	v, err := j.WholeOf(ctx, p, source)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	list, err := v.Coords(ctx)
	if err != nil {
		return "", nil, err
	}
	paths = []string{v.Path}
	add := func(p string) {
		if !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	for _, c := range list {
		add(c.Path)
		b, err := c.Bounds(ctx)
		if err != nil {
			return "", nil, err
		}
		if b != nil {
			add(b.Path)
		}
	}
	j.NoteWarnings("convert", v)
	return loc.File, paths, nil
}

// wayOut returns the flags that leave out the objects that cannot be stored.
func (j *ConvertJob) wayOut(lost []hyperslab.Problem) string {
	if slices.ContainsFunc(lost, func(p hyperslab.Problem) bool { return errors.Is(p.Err, h5.ErrNoFilter) }) {
		more := ""
		if slices.ContainsFunc(lost, func(p hyperslab.Problem) bool { return !errors.Is(p.Err, h5.ErrNoFilter) }) {
			more = "; --exclude-unsupported leaves out the others"
		}
		return "to go on without add --skip-unreadable, or --exclude PATTERN for each" + more +
			"; --plugin-path DIR loads HDF5 filters from DIR"
	}
	return "to go on without add --exclude-unsupported"
}

func (r *treeResult) document() any { return r.doc }

func (r *treeResult) lost() []string { return r.doc.Lost }

func (r *treeResult) changed() (rounded, clipped *shell.JSONInt) { return r.doc.Rounded, r.doc.Clipped }

func (r *treeResult) estimated() string {
	if r.doc.EstimatedBytes == nil {
		return ""
	}
	return estimateText(*r.doc.EstimatedBytes, *r.doc.EstimatedSeconds)
}

func (r *treeResult) sizes() (bytes int64, stored *int64) { return int64(r.doc.Bytes), r.stored }

// uploaded implements conversion.
func (r *treeResult) uploaded(url string, took time.Duration) {
	r.doc.Target, r.took = url, took
	if r.doc.Seconds != nil {
		whole := shell.Seconds(took)
		r.doc.Seconds = &whole
	}
}

func (r *treeResult) plan(w io.Writer, p term.Paint) error {
	t := term.Table{Keys: true}
	t.Add("source", term.Safe(r.doc.Source))
	t.Add("target", term.Safe(r.doc.Target), r.doc.TargetFormat)
	t.Add("groups", fmt.Sprint(r.doc.Groups))
	t.Add("arrays", fmt.Sprint(r.doc.Arrays))
	t.Add("links", fmt.Sprint(r.doc.Links))
	t.Add("types", fmt.Sprint(r.doc.Types))
	t.Add("bytes", term.FormatBytes(int64(r.doc.Bytes)))
	if about := r.estimated(); about != "" {
		t.Add(estimateRow(about)...)
	}
	t.Add("attributes", fmt.Sprint(r.doc.Attributes))
	return t.Write(w, p)
}

func (r *treeResult) summary() string {
	bytes, stored := int64(r.doc.Bytes), *r.stored
	return fmt.Sprintf("%s in %s: %s -> %s  %.2fx  %s", term.Plural(int64(r.doc.Arrays), "array"),
		term.Plural(int64(r.doc.Groups), "group"),
		term.FormatBytes(bytes), term.FormatBytes(stored), term.Share(bytes, max(stored, 1)), term.FormatRate(bytes, r.took))
}

// ConvertManyDoc is the document of convert --into --json.
type ConvertManyDoc struct {
	Schema  string          `json:"schema"`
	DryRun  bool            `json:"dry_run"`
	Files   []ConvertRow    `json:"files"`
	Totals  *shell.Totals   `json:"totals"` // null in a line of one source
	Seconds shell.JSONFloat `json:"seconds"`
	Workers int             `json:"workers"`
}

// ConvertRow is the result for one source.
type ConvertRow struct {
	Source      string         `json:"source"`
	Target      string         `json:"target"`
	Status      shell.Status   `json:"status"`
	Bytes       *shell.JSONInt `json:"bytes"`
	StoredBytes *shell.JSONInt `json:"stored_bytes"`
	Lost        []string       `json:"lost"`
	Rounded     *shell.JSONInt `json:"rounded"`
	Clipped     *shell.JSONInt `json:"clipped"`
	Error       *string        `json:"error"`
}

// convertMany converts each source into a directory.
func (j *ConvertJob) convertMany(cmd *cobra.Command, args []string) error {
	if j.Format == "" {
		return shell.Usagef("--into %s: --format is required, because it gives the extension of the targets", j.batch.Into)
	}
	if slices.Contains(args, shell.Stdio) {
		return shell.Usagef("--into and - : data on standard input has no name; --files-from - reads names from standard input")
	}
	start := time.Now()
	doc := ConvertManyDoc{Schema: shell.SchemaConvertMany, DryRun: j.dryRun, Files: []ConvertRow{}, Workers: shell.Goroutines(j.Job.Jobs)}
	write := func() error {
		doc.Seconds = shell.Seconds(time.Since(start))
		return j.WriteJSON(j.Stdout, doc)
	}
	totals, err := j.Into(cmd, args, &shell.Into{
		Flags: &j.batch, Job: &j.Job, Force: j.force, DryRun: j.dryRun, Lines: j.json && j.Lines, Target: j.targetInto, Do: j.convertWork,
		Report: func(o *shell.Outcome) error {
			row := newConvertRow(o)
			switch {
			case j.json && j.Lines:
				doc.Files = []ConvertRow{row}
				return write()
			case j.json:
				doc.Files = append(doc.Files, row)
			case !j.Job.Quiet && o.Value != nil && o.Err == nil:
				j.Note("%s", row.line(o.Value.(conversion), j.dryRun))
			}
			return nil
		},
	})
	if j.json && totals.Sum() > 0 {
		if doc.Totals = &totals; j.Lines {
			doc.Files = []ConvertRow{}
		}
		err = errors.Join(err, write())
	}
	return err
}

// convertWork converts one of many sources.
func (j *ConvertJob) convertWork(ctx context.Context, w *shell.Work) (any, error) {
	one := j.from(w.Source, w.Target)
	one.App, one.force, one.Job.Jobs, one.Job.Limit = w.App, w.Replace, w.Workers, w.Memory
	if j.Format == string(hyperslab.B2ND) && filepath.Ext(w.Target) != extension[j.Format] {
		one.Format = "" // a directory of b2nd files
	}
	r, err := one.convertOne(ctx)
	if err != nil {
		return nil, err
	}
	return r, partial(r)
}

// newConvertRow returns the row of a source.
func newConvertRow(o *shell.Outcome) ConvertRow {
	row := ConvertRow{Source: o.Source, Target: o.Target, Status: o.Status, Lost: []string{}}
	if o.Err != nil {
		row.Error = shell.OrNull(o.Err.Error())
		return row
	}
	if r, ok := o.Value.(conversion); ok {
		bytes, stored := r.sizes()
		row.Bytes, row.StoredBytes, row.Lost = (*shell.JSONInt)(&bytes), (*shell.JSONInt)(stored), r.lost()
		row.Rounded, row.Clipped = r.changed()
	}
	return row
}

// line is the summary of a source as text.
func (row *ConvertRow) line(r conversion, dryRun bool) string {
	if !dryRun {
		return term.Safe(row.Target) + ": " + r.summary()
	}
	line := fmt.Sprintf("would convert %s to %s: %s of elements", term.Safe(row.Source), term.Safe(row.Target),
		term.FormatBytes(int64(*row.Bytes)))
	if about := r.estimated(); about != "" {
		line += ", " + about
	}
	return line
}

// extension contains the extensions of the targets of --into by format. Targets of trees without
// one are directories.
var extension = map[string]string{
	string(hyperslab.B2ND): ".b2nd", string(hyperslab.Caterva): ".caterva", string(hyperslab.HDF5): ".h5",
	string(hyperslab.Bcolz): ".bcolz", string(hyperslab.B2Z): ".b2z", string(hyperslab.B2D): ".b2d", string(hyperslab.B2E): ".b2e",
	tableFormat: ".b2z", shell.FrameFormat: ".b2frame", shell.NPYFormat: ".npy", shell.RawFormat: ".raw",
}

// targetInto returns the target of a source in the directory of --into. It has the path of its file
// and, for an object inside, the name of the object. An array in an HDF5 file keeps its path.
func (j *ConvertJob) targetInto(ctx context.Context, s *shell.Source) (string, error) {
	loc, err := locate.Parse(s.Name)
	if err != nil {
		return "", err
	}
	object := strings.Trim(loc.Object, "/")
	name := strings.TrimSuffix(s.Rel, filepath.Ext(s.Rel))
	if object != "" {
		name += "-" + strings.ReplaceAll(object, "/", "-")
	}
	ext := extension[j.Format]
	if j.Format != string(hyperslab.B2ND) && j.Format != string(hyperslab.HDF5) {
		return shell.JoinTarget(j.batch.Into, name) + ext, nil
	}
	tree, err := groupTree(ctx, j.App, s.Name)
	if err == nil && tree != nil {
		err = tree.Close()
	}
	switch {
	case err != nil:
		return "", err
	case tree != nil && j.Format == string(hyperslab.B2ND):
		ext = "" // a directory of b2nd files
	case tree == nil && j.Format == string(hyperslab.HDF5):
		ext += ":/" + cmp.Or(object, "data")
	}
	return shell.JoinTarget(j.batch.Into, name) + ext, nil
}

// problemLines lists problems in an error, each on its own line.
func problemLines(problems []hyperslab.Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = term.Safe(p.String())
	}
	return strings.Join(lines, "\n  ")
}
