// hyperslab convert: convert arrays between formats, or change their compression.

package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// ConvertDoc is the document of convert --json. In a dry run, results of the conversion are null.
type ConvertDoc struct {
	Schema             string           `json:"schema"`
	Source             string           `json:"source"`
	SourceFormat       string           `json:"source_format"`
	Target             string           `json:"target"`
	TargetFormat       string           `json:"target_format"`
	DryRun             bool             `json:"dry_run"`
	Shape              []shell.JSONInt  `json:"shape"`
	DType              string           `json:"dtype"`
	Chunks             []shell.JSONInt  `json:"chunks"`
	Blocks             []shell.JSONInt  `json:"blocks"`
	Codec              *string          `json:"codec"`
	Level              *int             `json:"level"`
	Filters            []string         `json:"filters"`
	Bytes              shell.JSONInt    `json:"bytes"`
	EstimatedBytes     *shell.JSONInt   `json:"estimated_bytes"`
	EstimatedSeconds   *shell.JSONFloat `json:"estimated_seconds"`
	StoredBytes        *shell.JSONInt   `json:"stored_bytes"`
	Ratio              *shell.JSONFloat `json:"ratio"`
	Seconds            *shell.JSONFloat `json:"seconds"`
	CopySeconds        *shell.JSONFloat `json:"copy_seconds"`
	MBPerS             *shell.JSONFloat `json:"mb_per_s"`
	Workers            *int             `json:"workers"`
	Attributes         int              `json:"attributes"`
	ExcludedAttributes []string         `json:"excluded_attributes"`
	Lost               []string         `json:"lost"`
	Rounded            *shell.JSONInt   `json:"rounded"`
	Clipped            *shell.JSONInt   `json:"clipped"`
}

// ConvertJob is one run of convert, or the conversion of one of its sources. Other commands that
// write an array use the parts of it that they share.
type ConvertJob struct {
	*shell.App

	Command string // that writes the messages
	Source  string
	Target  string

	lock  *hyperslab.Lock // of an existing target; nil: none
	Job   shell.JobFlags
	Attrs shell.AttrFlags
	pick  shell.PickFlags
	StoreFlags
	batch   shell.BatchFlags
	flat    shell.FlatFlags
	files   shell.FilesFlags
	outside outsideFlags
	force   bool
	inPlace bool
	along   bool     // the coordinates of the array are converted, too
	keep    []string // paths of the objects to convert; nil: all
	Format  string
	types   typeFlags
	strings string
	dryRun  bool
	json    bool

	sameCodec bool // in HDF5, the codec of the Blosc2 source

	stdin io.Reader
}

func newConvert(a *shell.App) *cobra.Command {
	j := &ConvertJob{App: a, Command: "convert"}
	cmd := &cobra.Command{
		Use:   "convert SOURCE TARGET",
		Short: "Write an array or a tree in another format or with other compression",
		Long: `convert copies an array with its attributes to a new file: HDF5 to b2nd, b2nd or Caterva
to HDF5, or within a format with other chunks and compression. The extension of the
target selects its format (.b2nd; .caterva; .bcolz; .h5 .hdf5 .he5 .nc; .b2z; .b2d;
.b2e; .npy; .raw), unless --format is given.

A source with many arrays is copied as a tree if the target does not name an array: an
HDF5 file or a group in it, a bcolz ctable, a container of python-blosc2 or a directory
of arrays. The target is an HDF5 file, a .bcolz ctable, a container, or a directory of
b2nd files if its name has no extension. --format ctable writes a .b2z or .b2d that is a
table of python-blosc2: its columns are arrays of equal length, for example those of a
bcolz ctable, or the fields of an array of structures. --format frame writes a plain
Blosc2 frame of the elements, which load_tensor of python-blosc2 opens.

.npy files are read as they are, and raw bytes with --shape and --dtype. - is standard
input or standard output, for .npy or raw bytes in the byte order of the machine.

The target is created completely or not at all. FILE.h5:/path adds an array to an
existing HDF5 file and leaves its other objects unchanged; -f replaces only the named
array. STORE.b2d:/path adds one to a container of python-blosc2. The change is made to a
copy that then replaces the file, unless --in-place is given. Other existing targets are
replaced only with -f. To replace a whole HDF5 file, name the file as the target of a
tree.

Before it writes anything, convert lists everything that the target cannot represent and
stops, unless you exclude those items. Dimension names are copied with an array.
Coordinates are separate arrays: --with-coordinates also converts them and the
boundaries of their cells, to an HDF5 file or a directory.

Values are never changed, except by --round and --clip. Strings of variable length
become strings of the smallest fixed size in formats that store only these: U for UTF-8,
S for ASCII. NumPy's U becomes UTF-8 of variable length in HDF5. --strings fixed and
--strings error change this.

--external FILE stores the elements of an HDF5 dataset as raw bytes in FILE. HDF5 stores
the name as given, and searches a relative name in the working directory of the reader.
--stripes FILES divides the chunks among HDF5 files, over which the dataset is a virtual
dataset. h5py and the programs of HDF5 read both.

The default codec is zstd 5 with byte shuffle in b2nd, deflate 4 with byte shuffle in
HDF5, and within one format that of the source.

--into writes many sources to a directory, each under its name with the extension of
--format. An array of b2nd, bcolz or .npy becomes :/data in HDF5.` + typeHelp + shell.UploadHelp + shell.IntoHelp + shell.AddressHelp +
			shell.SliceHelp,
		Example: `  hyperslab convert etopo.h5:/ROSE rose.b2nd
  hyperslab convert rose.b2nd back.h5:/ROSE
  hyperslab convert rose.b2nd rose-lz4.b2nd --codec lz4 --level 9 --shuffle bit
  hyperslab convert rose.b2nd rose-dir.b2nd --sparse --chunks 45,90
  hyperslab convert rose.b2nd back.h5:/ROSE --force --dry-run
  hyperslab convert waves.h5 waves-tree
  hyperslab convert waves.b2nd waves.npy --exclude-unsupported
  hyperslab convert waves.npy again.h5:/waves --codec blosc2/zstd
  hyperslab convert --into . --format bcolz waves.npy rose.b2nd`,
		Args:              j.batch.ArityOr(2, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			j.stdin = cmd.InOrStdin()
			if slices.Contains(args, shell.Stdio) {
				j.stdin = shell.Stoppable(cmd.Context(), j.stdin)
			}
			return j.run(cmd, args)
		},
	}
	j.Job.Add(cmd, "no progress and no summary")
	j.Attrs.Add(cmd, "leave out")
	j.pick.Add(cmd)
	cmd.Flags().Lookup("exclude-unsupported").Usage = "leave out everything that the target cannot represent: attributes, fill value, " +
		"dimension names, maximum shape"
	f := cmd.Flags()
	shell.ForceFlag(cmd, &j.force, "replace the target if it exists; in an HDF5 file only the named array")
	shell.InPlaceFlag(cmd, &j.inPlace, "add the array to the HDF5 file itself instead of a copy; a crash can corrupt the file")
	f.BoolVar(&j.along, "with-coordinates", false,
		"also convert the coordinates of an array, also those of groups above it: of its dimensions, and those in its attribute coordinates")
	f.StringVar(&j.Format, "format", "", "`FORMAT` of the target: b2nd, hdf5, bcolz, caterva, b2z, b2d, b2e, ctable, frame, npy or raw")
	j.types.add(cmd)
	f.StringVar(&j.flat.Shape, "shape", "", "the source is raw bytes of this `SHAPE`; one length may be -1 and is then computed")
	f.Int64Var(&j.flat.Offset, "offset", 0, "with --shape: `BYTES` before the first element")
	j.addStrings(cmd)
	j.StoreFlags.Add(cmd)
	j.batch.Add(cmd)
	j.outside.add(cmd)
	shell.DryRunFlag(cmd, &j.dryRun, "report the changes and write no file")
	shell.JSONFlag(cmd, &j.json)
	shell.CompleteWords(cmd, "format", targets...)
	j.files.Add(a, cmd)
	a.LockFlags(cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	return cmd
}

func (j *ConvertJob) run(cmd *cobra.Command, args []string) error {
	if err := errors.Join(j.Check(), j.batch.Check(cmd)); err != nil {
		return err
	}
	if j.batch.Into != "" {
		return j.convertMany(cmd, args)
	}
	r, err := j.from(args[0], args[1]).convertOne(cmd.Context())
	if err != nil {
		return err
	}
	switch {
	case j.json && args[1] == shell.Stdio:
		err = j.WriteJSON(j.Stderr, r.document())
	case j.json:
		err = j.WriteJSON(j.Stdout, r.document())
	case j.dryRun:
		err = r.plan(j.Stdout, j.Data)
	case !j.Job.Quiet:
		j.Note("%s", r.summary())
	}
	return cmp.Or(err, partial(r))
}

// from returns a copy of the job for another source and target.
func (j *ConvertJob) from(source, target string) *ConvertJob {
	one := *j
	one.Source, one.Target = source, target
	return &one
}

// partial returns the exit code 3 for a conversion that left out unreadable objects.
func partial(r conversion) error {
	if t, ok := r.(*treeResult); ok && t.unreadable > 0 {
		return &shell.ExitError{Code: shell.ExitPartly}
	}
	return nil
}

// conversion is the result for one source and its target.
type conversion interface {
	document() any                              // for --json
	lost() []string                             // things that the target does not keep
	changed() (rounded, clipped *shell.JSONInt) // elements that --dtype changed; nil without it
	plan(w io.Writer, p term.Paint) error       // for --dry-run
	summary() string                            // one line
	sizes() (bytes int64, stored *int64)        // bytes of the elements, and of the target; stored is nil in a dry run
	uploaded(url string, took time.Duration)    // sets the target at a URL and the time with the upload
	estimated() string                          // of a dry run: size and time, or "" without an estimate
}

// convertOne converts a tree or an array.
func (j *ConvertJob) convertOne(ctx context.Context) (r conversion, err error) {
	if remote.IsURL(j.Target) {
		if flag := j.outside.flag(); flag != "" {
			return nil, shell.Usagef("%s: an object at a URL has no other files", flag)
		}
		if j.inPlace {
			return nil, shell.Usagef("--in-place: an object at a URL cannot be changed")
		}
		start := time.Now()
		up := shell.UploadFlags{Force: j.force, DryRun: j.dryRun, Progress: j.Job.Progress}
		err = j.Upload(ctx, j.Target, up, func(location string) (err error) {
			r, err = j.from(j.Source, location).convertOne(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		r.uploaded(remote.Redact(j.Target), time.Since(start))
		return r, nil
	}
	release, err := j.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if j.along {
		file, kept, err := j.withCoordinates(ctx)
		if err != nil {
			return nil, err
		}
		tree, err := j.OpenTree(ctx, file)
		if err != nil {
			return nil, err
		}
		one := j.from(file, j.Target)
		one.keep = kept
		r, err = one.convertTree(ctx, tree)
		return r, errors.Join(err, tree.Close())
	}
	tree, err := j.sourceTree(ctx)
	if err != nil {
		return nil, err
	}
	if tree != nil {
		defer func() { err = errors.Join(err, tree.Close()) }()
		if flag := j.outside.flag(); flag != "" {
			return nil, shell.Usagef("%s stores the elements of one array; %s is a tree", flag, j.Source)
		}
		return j.convertTree(ctx, tree)
	}
	if j.pick.Given() {
		return nil, shell.Usagef("--exclude and --skip-unreadable choose objects of a tree; %s is one array", j.Source)
	}
	return j.convertArray(ctx)
}

// openSource opens an array of any kind, or a part of an array in an array file.
func (j *ConvertJob) openSource(ctx context.Context) (*shell.Part, error) {
	whole := func(arr *ndarray.Array, err error) (*shell.Part, error) { return &shell.Part{Array: arr}, err }
	switch {
	case j.Source == shell.Stdio:
		return whole(shell.OpenPipe(j.stdin, j.types.text(), &j.flat))
	case j.flat.Shape != "":
		return whole(shell.OpenRawFile(j.Source, j.types.text(), &j.flat))
	}
	p, err := j.OpenPart(ctx, j.Source)
	if d := j.types.untyped(); err == nil && d != nil && StoresNoType(p.Whole().Format) {
		if err := p.Close(); err != nil {
			return nil, err
		}
		return j.OpenPartAs(ctx, j.Source, d)
	}
	return p, err
}

func (j *ConvertJob) convertArray(ctx context.Context) (_ conversion, err error) {
	start := time.Now()
	src, err := j.openSource(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	format, err := j.ResolveTarget()
	if err != nil {
		return nil, err
	}
	conversion, err := j.ChangeType(src)
	if err != nil {
		return nil, err
	}
	changed, err := j.replaceStrings(ctx, src, format)
	if err != nil {
		return nil, err
	}
	if j.sameCodec {
		j.keepCodec(src.Whole().Compression)
	}
	spec, err := j.targetSpec(ctx, src, format)
	if err != nil {
		return nil, err
	}
	left, lost, err := j.LeaveOut(ctx, src, format, &spec, changed...)
	if err != nil {
		return nil, err
	}
	if err := j.Job.FitBoth(j.Source, src.Whole(), j.Target, spec); err != nil {
		return nil, err
	}

	r := &convertResult{
		doc: ConvertDoc{
			Schema: shell.SchemaConvert, Source: j.Source, SourceFormat: src.Meta().Format, Target: j.Target, TargetFormat: string(format),
			DryRun: j.dryRun, DType: spec.DType.String(), Bytes: shell.JSONInt(src.NBytes()),
			Attributes: len(left.keep), ExcludedAttributes: left.names, Lost: lost,
		},
		bytes: src.NBytes(), start: start,
	}
	if err := j.store(ctx, src, spec, format, r); err != nil {
		return nil, err
	}
	if conversion != nil && !j.dryRun {
		r.doc.Rounded, r.doc.Clipped = j.reportChanged(conversion)
	}
	return r, nil
}

// store writes the target, or only describes it in a dry run.
func (j *ConvertJob) store(ctx context.Context, src *shell.Part, spec ndarray.Spec, format hyperslab.Format, r *convertResult) error {
	if isFlat(format) {
		r.describe(src.Meta(), nil, nil, &ndarray.Compression{Codec: "none"})
		if j.dryRun {
			return nil
		}
		return j.writeFlatTarget(ctx, src, string(format), r)
	}
	compression := spec.Compression
	if compression == nil {
		compression = defaultCompression[format]()
	}
	r.describe(src.Meta(), spec.ChunkShape, spec.BlockShape, compression)
	if j.dryRun {
		return r.estimate(ctx, src.Array, spec, format, &j.Job)
	}
	stats, copying, err := j.write(ctx, spec, src.Array)
	if err != nil {
		return err
	}
	return r.measure(ctx, j.App, copying, stats.Workers)
}

// targetSpec returns how the target stores the array.
func (j *ConvertJob) targetSpec(ctx context.Context, src *shell.Part, format hyperslab.Format) (spec ndarray.Spec, err error) {
	if isFlat(format) {
		spec, err = j.flatSpec(src.Meta(), format)
	} else if spec, err = j.Spec(src.Meta(), format); err == nil {
		err = j.keepBlosc2(ctx, src.Array, format, &spec)
	}
	if err == nil {
		err = j.place(src.Meta(), format, &spec)
	}
	return spec, err
}

// LeaveOut sets the attributes of spec and removes everything that the target cannot represent. It
// returns an error unless the flags allow that, and a line for each thing that is left out.
func (j *ConvertJob) LeaveOut(ctx context.Context, src *shell.Part, format hyperslab.Format, spec *ndarray.Spec,
	changed ...fact) (left attrDecisions, lost []string, err error) {
	attrs, err := shell.AttrsOf(ctx, src.Array)
	if err != nil {
		return left, nil, err
	}
	refused, reported := j.leaveOut(spec, src.Meta(), format)
	if n, err := ndarray.CountNulls(ctx, src.Array); err != nil {
		return left, nil, err
	} else if n > 0 {
		refused = append(refused, fact{"nulls", term.Plural(n, "null element"),
			fmt.Sprintf("%s cannot store them; their stored values stay", format)})
	}
	left, err = j.decide(attrs, spec.AxisNames != nil, refused, format)
	if err != nil {
		return left, nil, err
	}
	reported = slices.Concat(changed, reported, typesLost(attrs.List, left.keep, format))
	switch fill, err := stringFill(ctx, j.App, j.Source, src.Meta()); {
	case err != nil:
		return left, nil, err
	case fill != "":
		reported = append(reported, fact{"fill value", fill,
			"only the conversion of a group or a file keeps that of variable strings, from HDF5 to HDF5"})
	}
	properties, err := propertiesLost(src.Stored(), format, left.keep)
	if err != nil {
		return left, nil, err
	}
	reported = append(reported, properties...)
	lost = []string{}
	for _, u := range left.unsupported {
		lost = append(lost, fact{"attribute " + u.Name, u.Type, u.Reason}.String())
	}
	for _, f := range append(refused, reported...) {
		lost = append(lost, f.String())
	}
	j.Lost(j.Command, lost)
	spec.Attrs = left.keep
	return left, lost, nil
}

// hold locks an existing target that may change, before the command reads it.
func (j *ConvertJob) hold(ctx context.Context) (release func() error, err error) {
	at, err := locate.Parse(j.Target)
	if err != nil || j.dryRun || !j.force && at.Object == "" {
		return func() error { return nil }, err
	}
	var locks shell.FileLocks
	if err := locks.Hold(ctx, at.File); err != nil {
		return nil, err
	}
	j.lock = locks.Lock(at.File)
	return func() error {
		j.lock = nil
		return locks.Release()
	}, nil
}

// write creates the target, complete or not at all. It also returns the time for reading,
// compressing and writing, without waiting for the disk.
func (j *ConvertJob) write(ctx context.Context, spec ndarray.Spec,
	src *ndarray.Array) (stats ndarray.CopyStats, copying time.Duration, err error) {
	if j.inPlace {
		shell.ChangesInPlace.Add(1)
		defer shell.ChangesInPlace.Add(-1)
	}
	at, err := locate.Parse(j.Target)
	if err != nil {
		return stats, 0, err
	}
	create := j.createOptions()
	create.Stripes, create.External = j.outside.stripes, j.externalFile(spec)
	draft, err := hyperslab.Create(ctx, j.Target, spec, create)
	if err != nil {
		return stats, 0, err
	}
	defer func() { err = errors.Join(err, draft.Close()) }()
	start := time.Now()
	// An array is added to a copy of the file, which already has the bytes of the file.
	m := term.NewMeter(j.Job.Progress, j.Stderr, "convert", src.NBytes(), time.Now).SetTarget(shell.MadeBytes(at.File,
		shell.UnfinishedBytes()))
	defer m.Finish()
	if create.External != nil {
		err = j.writeExternal(ctx, draft, src, spec.DType, m.Update)
		return ndarray.CopyStats{Workers: shell.Goroutines(j.Job.Jobs)}, time.Since(start), err
	}
	if src.Meta().Path == shell.Stdio {
		stats, err = j.copyPipe(ctx, draft.Array, src, m.Update)
	} else {
		stats, err = ndarray.Copy(ctx, draft.Array, src, &ndarray.CopyOptions{
			Workers: j.Job.Jobs, Memory: j.Job.Limit, Progress: func(p ndarray.Progress) { m.Update(p.DoneBytes) },
		})
	}
	copying = time.Since(start)
	if err != nil {
		return stats, copying, err
	}
	return stats, copying, draft.Commit(ctx)
}

// convertResult is the result of a conversion of one array.
type convertResult struct {
	doc     ConvertDoc
	bytes   int64
	stored  int64
	copying time.Duration
	start   time.Time
}

// describe sets the fields that describe the storage of the target, as planned or as read back.
func (r *convertResult) describe(m ndarray.Meta, chunks, blocks []int64, c *ndarray.Compression) {
	r.doc.Shape, r.doc.Chunks, r.doc.Blocks = shell.ShapeDoc(m), shell.JSONShape(chunks), shell.JSONShape(blocks)
	if c != nil {
		r.doc.Codec, r.doc.Level, r.doc.Filters = &c.Codec, &c.Level, append([]string{}, c.Filters...)
	}
}

// measure reads the properties of the finished target.
func (r *convertResult) measure(ctx context.Context, a *shell.App, copying time.Duration, workers int) error {
	f, err := inspect.GatherFacts(ctx, a, r.doc.Target)
	if err != nil {
		return fmt.Errorf("reading back the target: %w", err)
	}
	r.describe(f.Meta, f.Meta.ChunkShape, f.Meta.BlockShape, f.Meta.Compression)
	r.copying = copying
	if f.Storage != nil {
		stored := shell.JSONInt(f.Storage.StoredBytes)
		r.doc.StoredBytes, r.doc.Ratio, r.stored = &stored, shell.Ratio(r.bytes, f.Storage), f.Storage.StoredBytes
	}
	whole, part, speed := shell.Seconds(time.Since(r.start)), shell.Seconds(copying), shell.JSONFloat(term.Rate(r.bytes, copying))
	r.doc.Seconds, r.doc.CopySeconds, r.doc.MBPerS, r.doc.Workers = &whole, &part, &speed, &workers
	return nil
}

// uploaded implements conversion.
func (r *convertResult) uploaded(url string, took time.Duration) {
	r.doc.Target = url
	if r.doc.Seconds != nil {
		whole := shell.Seconds(took)
		r.doc.Seconds = &whole
	}
}

// estimate estimates the size of the target from a sample.
func (r *convertResult) estimate(ctx context.Context, src *ndarray.Array, spec ndarray.Spec, format hyperslab.Format,
	job *shell.JobFlags) error {
	stored, took, ok, err := newForecast(job.Jobs, job.Limit).estimate(ctx, src, spec, format)
	if err != nil || !ok {
		return err
	}
	s := shell.Seconds(took)
	r.doc.EstimatedBytes, r.doc.EstimatedSeconds = (*shell.JSONInt)(&stored), &s
	return nil
}

func (r *convertResult) document() any { return r.doc }

func (r *convertResult) lost() []string { return r.doc.Lost }

func (r *convertResult) changed() (rounded, clipped *shell.JSONInt) {
	return r.doc.Rounded, r.doc.Clipped
}

func (r *convertResult) estimated() string {
	if r.doc.EstimatedBytes == nil {
		return ""
	}
	return estimateText(*r.doc.EstimatedBytes, *r.doc.EstimatedSeconds)
}

func (r *convertResult) sizes() (bytes int64, stored *int64) {
	if r.doc.StoredBytes != nil {
		stored = &r.stored
	}
	return r.bytes, stored
}

func (r *convertResult) plan(w io.Writer, p term.Paint) error {
	d := r.doc
	t := term.Table{Keys: true}
	t.Add("source", term.Safe(d.Source), d.SourceFormat)
	t.Add("target", term.Safe(d.Target), d.TargetFormat)
	t.Add("chunks", cmp.Or(shell.ShapeCell(d.Chunks), "the target chooses"))
	if d.Blocks != nil {
		t.Add("blocks", shell.ShapeCell(d.Blocks))
	}
	t.Add("codec", (&ndarray.Compression{Codec: *d.Codec, Level: *d.Level, Filters: d.Filters}).String())
	t.Add("bytes", term.FormatBytes(r.bytes))
	if d.EstimatedBytes != nil {
		t.Add(estimateRow(r.estimated())...)
	}
	t.Add("attributes", fmt.Sprint(d.Attributes))
	return t.Write(w, p)
}

func (r *convertResult) summary() string {
	line := term.FormatBytes(r.bytes) + " -> " + term.FormatBytes(r.stored)
	if r.doc.Ratio != nil {
		line += fmt.Sprintf("  %.2fx", float64(*r.doc.Ratio))
	}
	return fmt.Sprintf("%s  %s  -j %d", line, term.FormatRate(r.bytes, r.copying), *r.doc.Workers)
}
