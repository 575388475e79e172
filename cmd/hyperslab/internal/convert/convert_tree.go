// Conversion of all objects of a file or a directory, and of many files.

package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/location/locate"
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
	Seconds     *shell.JSONFloat `json:"seconds"`
}

// sourceTree opens a source that contains many arrays, if the target can contain many. It returns
// nil for any other source.
func (a *app) sourceTree(ctx context.Context, o *ConvertFlags, source, target string) (*hyperslab.Tree, error) {
	if source == shell.Stdio || target == shell.Stdio || o.flat.Shape != "" {
		return nil, nil
	}
	to, err := locate.Parse(target)
	if err != nil {
		return nil, err
	}
	if o.Format == tableFormat {
		return a.OpenTree(ctx, source) // also an array of structures
	}
	one := []hyperslab.Format{hyperslab.B2ND, hyperslab.Caterva, shell.FrameFormat, shell.NPYFormat, shell.RawFormat}
	named, _ := formatForName(to.File)
	if strings.Trim(to.Object, "/") != "" || slices.Contains(one, named) || slices.Contains(one, hyperslab.Format(o.Format)) {
		return nil, nil
	}
	return a.groupTree(ctx, source)
}

// groupTree opens a source that is a group. It returns nil for any other source, which is an array,
// or fails when it is opened as one.
func (a *app) groupTree(ctx context.Context, source string) (*hyperslab.Tree, error) {
	tree, group, err := a.openGroup(ctx, source)
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

// convertTree converts the tree of a source.
func (a *app) convertTree(ctx context.Context, tree *hyperslab.Tree, source, target string, memory int64, o *ConvertFlags) (conversion, error) {
	start := time.Now()
	format, known := shell.NamedFormat(target)
	if !known {
		format = hyperslab.Directory
	}
	from, err := locate.Parse(source)
	switch {
	case err != nil:
		return nil, err
	case !known && hasExtension(target):
		return nil, shell.Usagef("%s: the extension %q is not that of a format; name a directory without extension, an HDF5 file .h5, a store .b2z, .b2d or .b2e, or a ctable .bcolz", target, filepath.Ext(target))
	case o.Format == tableFormat && format != hyperslab.B2Z && format != hyperslab.B2D:
		return nil, shell.Usagef("--format %s: %s: a table is stored in a .b2z or a .b2d", o.Format, target)
	case o.Format != "" && o.Format != string(format) && o.Format != tableFormat:
		return nil, shell.Usagef("--format %s: %s is many arrays, which go to %s; name an HDF5 file .h5, a store .b2z, .b2d or .b2e, a ctable .bcolz, a directory without extension", o.Format, source, target)
	case o.Sparse || o.dtype != "":
		return nil, shell.Usagef("%s is many arrays; --sparse and --dtype are for one", source)
	}
	if o.inPlace {
		return nil, shell.Usagef("%s is many arrays; --in-place adds one array", source)
	}
	if err := o.mayReplace(target); err != nil {
		return nil, err
	}
	if format == hyperslab.HDF5 && shell.SameFile(source, target) {
		return nil, shell.Usagef("%s is also the source, and would be replaced as a whole; write to another file", target)
	}
	stored := format
	if format == hyperslab.Directory || shell.IsStore(format) {
		stored = hyperslab.B2ND
	}
	opts := &hyperslab.TreeOptions{
		Lock:   o.lock,
		DryRun: o.dryRun, Strings: o.strings, Overwrite: o.force, Exclude: o.leftOut, SkipUnreadable: o.pick.Skip, Workers: o.Job.Jobs, Memory: memory,
		Accept: func(p hyperslab.Problem) bool {
			name, isAttr := strings.CutPrefix(p.What, "attribute ")
			return o.Attrs.Unsupported || isAttr && slices.Contains(o.Attrs.Names, name)
		},
	}
	if o.Format == tableFormat {
		opts.Table, format = true, tableFormat
	}
	var guess *forecast
	if o.dryRun && stored != hyperslab.Bcolz { // bcolz cannot be measured
		guess = newForecast(o.Job.Jobs, memory)
	}
	var reported []string
	opts.Adjust = func(at string, m ndarray.Meta, spec *ndarray.Spec, workers *int) error {
		chunked := !m.Null && len(m.Shape) > 0 && m.NumElems() > 0 // otherwise it is not chunked
		if chunked && o.Given() {
			flags := o.forRank(len(m.Shape))
			changed, err := flags.Spec(m, stored)
			switch {
			case errors.Is(err, errors.ErrUnsupported): // a codec that does not support these elements
				a.Note("%s %s; it is stored as usual", a.Talk.Notice("hyperslab convert:"), term.Safe(err.Error()))
			case err != nil:
				return err
			default:
				*spec = changed
			}
		}
		for _, f := range encodingLost(m, spec.Compression, stored) {
			reported = append(reported, at+": "+f.String())
		}
		if !chunked {
			return nil
		}
		address := locate.Location{File: from.File, Object: at}.String()
		job := o.Job // a copy, because the number of workers is for this array
		err := cmp.Or(job.Fit(memory, address, m), job.Fit(memory, target+":"+at, shell.SpecMeta(*spec)))
		*workers = job.Jobs
		if err == nil && guess != nil {
			err = guess.addAt(ctx, a, address, *spec, stored)
		}
		return err
	}
	var m *term.Meter
	opts.Progress = func(p ndarray.Progress) {
		if m == nil {
			m = term.NewMeter(o.Job.Progress, a.Stderr, "convert", p.TotalBytes, time.Now).SetTarget(shell.MadeBytes(target, 0))
		}
		m.Update(p.DoneBytes)
	}
	stats, err := hyperslab.CopyTree(ctx, target, tree, opts)
	if m != nil {
		m.Finish()
	}
	if len(stats.Refused) > 0 {
		return nil, fmt.Errorf("%s of %s cannot be stored in %s; no file was written:\n  %s\n  %s",
			term.Plural(int64(len(stats.Refused)), "thing"), source, target, problemLines(stats.Refused), o.wayOut(stats.Refused))
	} else if err != nil {
		return nil, err
	}
	r := &treeResult{took: time.Since(start), doc: ConvertTreeDoc{
		Schema: shell.SchemaConvertTree, Source: source, Target: target, TargetFormat: string(format), DryRun: o.dryRun,
		Groups: stats.Groups, Arrays: stats.Arrays, Links: stats.Links, Types: stats.Types, Attributes: stats.Attrs, Bytes: shell.JSONInt(stats.Bytes), Lost: []string{}, Unreadable: []string{},
	}, unreadable: len(stats.Unreadable)}
	for _, p := range stats.Unreadable {
		r.doc.Unreadable = append(r.doc.Unreadable, p.String())
		a.Note("%s cannot be read, left out: %s", a.Talk.Failure("hyperslab convert:"), term.Safe(p.String()))
	}
	for _, p := range slices.Concat(stats.Lost, stats.Changes) {
		r.doc.Lost = append(r.doc.Lost, p.String())
	}
	r.doc.Lost = append(r.doc.Lost, reported...)
	for _, l := range r.doc.Lost {
		a.Note("%s not kept: %s", a.Talk.Notice("hyperslab convert:"), term.Safe(l))
	}
	if guess != nil {
		bytes, took := guess.total()
		s := shell.Seconds(took)
		r.doc.EstimatedBytes, r.doc.EstimatedSeconds = (*shell.JSONInt)(&bytes), &s
	}
	if !o.dryRun {
		n, err := shell.PathBytes(target)
		if err != nil {
			return nil, err
		}
		took := shell.Seconds(r.took)
		r.stored, r.doc.StoredBytes, r.doc.Seconds = &n, (*shell.JSONInt)(&n), &took
	}
	return r, nil
}

// leftOut reports whether an object of the source is not converted.
func (o *ConvertFlags) leftOut(object string) bool {
	leadsTo := func(kept string) bool { return kept == object || strings.HasPrefix(kept, object+"/") }
	return o.pick.Excluded(object) || o.keep != nil && !slices.ContainsFunc(o.keep, leadsTo)
}

// withCoordinates returns the file of an array, and the paths in it of the array and of its
// coordinates. These are the arrays in its group that its dimensions, or the words of its attribute
// coordinates, name.
func (a *app) withCoordinates(ctx context.Context, source string) (file string, paths []string, err error) {
	loc, err := locate.Parse(source)
	if err != nil {
		return "", nil, err
	}
	if strings.Trim(loc.Object, "/") == "" {
		return "", nil, shell.Usagef("--with-coordinates: %s names no array in a tree", source)
	}
	arr, err := a.OpenArray(ctx, source)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	words, err := shell.TextAttr(ctx, arr, "coordinates")
	if err != nil {
		return "", nil, err
	}
	paths = []string{"/" + strings.Trim(loc.Object, "/")}
	for _, name := range append(slices.Clone(arr.Meta().AxisNames), strings.Fields(words)...) {
		if name == "" || strings.Contains(name, "/") {
			continue
		}
		at, err := shell.Beside(source, name)
		if err != nil {
			return "", nil, err
		}
		other, err := a.OpenArray(ctx, at.String())
		if err != nil {
			continue // a dimension without coordinates
		}
		attrs, err := shell.AttrsOf(ctx, other)
		if err := errors.Join(err, other.Close()); err != nil {
			return "", nil, err
		}
		if dimscale.IsPlaceholder(attrs.List) {
			continue
		}
		if !slices.Contains(paths, at.Object) {
			paths = append(paths, at.Object)
		}
	}
	return loc.File, paths, nil
}

// wayOut returns the flags that leave out the objects that cannot be stored.
func (o *ConvertFlags) wayOut(lost []hyperslab.Problem) string {
	if slices.ContainsFunc(lost, func(p hyperslab.Problem) bool { return errors.Is(p.Err, h5.ErrNoFilter) }) {
		more := ""
		if slices.ContainsFunc(lost, func(p hyperslab.Problem) bool { return !errors.Is(p.Err, h5.ErrNoFilter) }) {
			more = "; --exclude-unsupported leaves out the others"
		}
		return "to go on without add --skip-unreadable, or --exclude PATTERN for each" + more + "; --plugin-path DIR loads HDF5 filters from DIR"
	}
	return "to go on without add --exclude-unsupported"
}

func (r *treeResult) document() any { return r.doc }

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
	return fmt.Sprintf("%s in %s: %s -> %s  %.2fx  %s", term.Plural(int64(r.doc.Arrays), "array"), term.Plural(int64(r.doc.Groups), "group"),
		term.FormatBytes(bytes), term.FormatBytes(stored), term.Share(bytes, max(stored, 1)), term.FormatRate(bytes, r.took))
}

// ConvertManyDoc is the document of convert --into --json.
type ConvertManyDoc struct {
	Schema  string          `json:"schema"`
	DryRun  bool            `json:"dry_run"`
	Files   []ConvertRow    `json:"files"`
	Seconds shell.JSONFloat `json:"seconds"`
	Workers int             `json:"workers"`
}

// ConvertRow is the result for one source.
type ConvertRow struct {
	Source      string         `json:"source"`
	Target      string         `json:"target"`
	Bytes       *shell.JSONInt `json:"bytes"`
	StoredBytes *shell.JSONInt `json:"stored_bytes"`
	Error       *string        `json:"error"`
}

// convertMany converts each source into a directory.
func (a *app) convertMany(cmd *cobra.Command, args []string, memory int64, o *ConvertFlags) error {
	if o.Format == "" {
		return shell.Usagef("--into %s: --format is required, because it gives the extension of the targets", o.batch.Into)
	}
	if slices.Contains(args, shell.Stdio) {
		return shell.Usagef("--into and - : data on standard input has no name; --files-from - reads names from standard input")
	}
	start := time.Now()
	workers := o.Job.Jobs
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	doc := ConvertManyDoc{Schema: shell.SchemaConvertMany, DryRun: o.dryRun, Files: []ConvertRow{}, Workers: workers}
	err := a.Batch(cmd, args, &o.batch, o.Job.Quiet, func(source string) error {
		row := ConvertRow{Source: source}
		var r conversion
		target, one, err := a.targetInto(cmd.Context(), o, source)
		if err == nil {
			row.Target = target
			r, err = a.convertOne(cmd.Context(), source, target, memory, one)
		}
		if err != nil {
			row.Error = shell.OrNull(err.Error())
		} else {
			bytes, stored := r.sizes()
			row.Bytes, row.StoredBytes = (*shell.JSONInt)(&bytes), (*shell.JSONInt)(stored)
			switch {
			case o.json || o.Job.Quiet:
			case o.dryRun:
				line := fmt.Sprintf("would convert %s to %s: %s of elements", term.Safe(source), term.Safe(target), term.FormatBytes(bytes))
				if about := r.estimated(); about != "" {
					line += ", " + about
				}
				a.Note("%s", line)
			default:
				a.Note("%s: %s", term.Safe(target), r.summary())
			}
		}
		doc.Files = append(doc.Files, row)
		if err == nil {
			err = partial(r)
		}
		return err
	})
	if o.json && len(doc.Files) > 0 {
		doc.Seconds = shell.Seconds(time.Since(start))
		err = errors.Join(err, a.WriteJSON(a.Stdout, doc))
	}
	return err
}

// extension contains the extensions of the targets of --into by format. Targets of trees without
// one are directories.
var extension = map[string]string{
	string(hyperslab.B2ND): ".b2nd", string(hyperslab.Caterva): ".caterva", string(hyperslab.HDF5): ".h5",
	string(hyperslab.Bcolz): ".bcolz", string(hyperslab.B2Z): ".b2z", string(hyperslab.B2D): ".b2d", string(hyperslab.B2E): ".b2e", tableFormat: ".b2z", shell.FrameFormat: ".b2frame", shell.NPYFormat: ".npy", shell.RawFormat: ".raw",
}

// targetInto returns the target of a source in the directory of --into: the name of its file and,
// for an object inside, the name of the object. An array in an HDF5 file keeps its path. The
// returned flags are for this source.
func (a *app) targetInto(ctx context.Context, o *ConvertFlags, source string) (string, *ConvertFlags, error) {
	loc, err := locate.Parse(source)
	if err != nil {
		return "", nil, err
	}
	object := strings.Trim(loc.Object, "/")
	name := strings.TrimSuffix(filepath.Base(loc.File), filepath.Ext(loc.File))
	if object != "" {
		name += "-" + strings.ReplaceAll(object, "/", "-")
	}
	ext := extension[o.Format]
	one := *o
	tree, err := a.groupTree(ctx, source)
	many := tree != nil
	if many {
		err = tree.Close()
	}
	switch {
	case err != nil:
		return "", nil, err
	case many && o.Format == string(hyperslab.B2ND):
		one.Format, ext = "", "" // a directory of b2nd files
	case !many && o.Format == string(hyperslab.HDF5):
		ext += ":/" + cmp.Or(object, "data")
	}
	return shell.JoinTarget(o.batch.Into, name) + ext, &one, nil
}

// problemLines lists problems in an error, each on its own line.
func problemLines(problems []hyperslab.Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = term.Safe(p.String())
	}
	return strings.Join(lines, "\n  ")
}
