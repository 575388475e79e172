// hyperslab repack: rewrite files in their own format, with other chunks and compression, or only
// without unused space.

package convert

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5repack"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// RepackDoc is the document of repack --json.
type RepackDoc struct {
	Schema  string          `json:"schema"`
	DryRun  bool            `json:"dry_run"`
	Files   []RepackRow     `json:"files"`
	Totals  *shell.Totals   `json:"totals"` // of --into; null in a line of one source
	Seconds shell.JSONFloat `json:"seconds"`
}

// RepackRow is the result for one file.
type RepackRow struct {
	Source      string         `json:"source"`
	Target      string         `json:"target"`
	Status      shell.Status   `json:"status"`
	Format      string         `json:"format"`
	Rewritten   int            `json:"rewritten"`
	Kept        int            `json:"kept"`
	Bytes       shell.JSONInt  `json:"bytes"`
	SourceBytes *shell.JSONInt `json:"source_bytes"`
	TargetBytes *shell.JSONInt `json:"target_bytes"`

	EstimatedBytes   *shell.JSONInt   `json:"estimated_bytes"`
	EstimatedSeconds *shell.JSONFloat `json:"estimated_seconds"`

	Lost       []string `json:"lost"`
	Unreadable []string `json:"unreadable"`
	Error      *string  `json:"error"`
}

// repackJob is one run of repack, for any number of files.
type repackJob struct {
	*shell.App

	job     shell.JobFlags
	batch   shell.BatchFlags
	store   StoreFlags
	cloud   cloudFlags
	replace bool
	force   bool
	lose    bool
	missing bool
	files   shell.FilesFlags
	pick    shell.PickFlags
	dryRun  bool
	json    bool
}

func newRepack(a *shell.App) *cobra.Command {
	j := &repackJob{App: a}
	cmd := &cobra.Command{
		Use:   "repack SOURCE TARGET",
		Short: "Rewrite files with other compression or without free space",
		Long: `repack rewrites a file in its own format: all arrays of an HDF5 file or a container of
python-blosc2, or a b2nd or bcolz array, with the codec, chunks and blocks of the flags.
Arrays that already have this storage are copied without decompression. Without such
flags all arrays are, and an HDF5 file loses the free space of removed objects. Copied
objects and chunks keep their format version. To write files for HDF5 1.14 and C-Blosc2
2.17, use convert. Python objects, plain frames and tables of a container are copied
byte for byte.

In an HDF5 file --chunks applies to the datasets with that number of dimensions, and
--grow to those that have the dimension. Groups, links, named types, attributes,
comments, references, dimension scales and the user block are kept. Relative names of
other files, in virtual datasets, external files and external links, are rewritten for
the directory of the target. References to objects that no longer exist are listed
before anything is written, and refused without --exclude-references. --codec none
removes all filters, like h5repack's NONE. A checksum that it removes is reported, and
kept with --checksum.

--cloud writes an HDF5 file that is read with few requests from an object store: all
metadata is in the first page, and chunks have 2 MiB to 16 MiB of elements. --access is
the shape of a typical read, along which chunks are divided or enlarged. Arrays with
filters that can only be read, such as scaleoffset, need --codec. HDF5 1.10 and later
read such files. With --compatible all datasets are written again with version-1 B-trees
and layout 3, for readers that do not know the newer ones.

--replace repacks files in place, and --into writes many to a directory. A new file that
replaces another one is verified first.` + shell.UploadHelp + shell.IntoHelp,
		Example: `  hyperslab repack tree.h5 small.h5 --codec deflate --level 9
  hyperslab repack waves.b2nd zipped.b2nd --codec zstd --level 9 --shuffle bit
  hyperslab repack --replace tree.h5 waves.h5
  hyperslab repack waves.h5 cloud.h5 --cloud --access '1,*,*'
  hyperslab repack --into . --force --dry-run waves.h5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if j.replace || j.batch.Into != "" {
				return j.batch.Arity(cmd, args)
			}
			return shell.Arity(2, 2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd, args)
		},
	}
	f := cmd.Flags()
	j.store.Add(cmd)
	j.cloud.add(cmd)
	f.BoolVar(&j.replace, "replace", false, "replace each source; all arguments are sources")
	shell.ForceFlag(cmd, &j.force, "replace targets that exist")
	f.BoolVar(&j.lose, "exclude-references", false, "write null references instead of references to missing objects")
	shell.CopyMissingFlag(cmd, &j.missing)
	j.files.AddDir(cmd)
	j.pick.Add(cmd)
	shell.DryRunFlag(cmd, &j.dryRun, "report the changes and write no file")
	j.batch.Add(cmd)
	j.job.Add(cmd, "no progress and no summary")
	shell.JSONFlag(cmd, &j.json)
	a.LockFlags(cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	return cmd
}

func (j *repackJob) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	if _, err := j.job.Check(); err != nil {
		return err
	}
	if err := errors.Join(j.store.check(), j.cloud.check(j.store.Chunks), j.pick.Check()); err != nil {
		return err
	}
	if j.replace && j.batch.Into != "" {
		return shell.Usagef("--replace and --into: the files go to one place")
	}
	if err := j.batch.Check(cmd); err != nil {
		return err
	}
	if j.batch.Into != "" {
		return j.repackInto(cmd, args)
	}
	target := func(source string) string { return source }
	force := true
	if !j.replace {
		if j.batch.Many() {
			return shell.Usagef("-r and --files-from name many sources: --into DIR or --replace is required")
		}
		to := args[1]
		args, target, force = args[:1], func(string) string { return to }, j.force
	}
	start, partly := time.Now(), false
	doc := RepackDoc{Schema: shell.SchemaRepack, DryRun: j.dryRun, Files: []RepackRow{}}
	err := j.Batch(cmd, args, &j.batch, j.job.Quiet, func(source string) error {
		row := newRepackRow(source, target(source))
		err := (&fileRepack{repackJob: j, RepackRow: row, force: force}).run(ctx)
		if err != nil {
			row.Error = shell.OrNull(err.Error())
		} else if !j.json && !j.job.Quiet {
			j.Note("%s", row.line(j.dryRun))
		}
		doc.Files = append(doc.Files, *row)
		partly = partly || len(row.Unreadable) > 0
		return err
	})
	if j.json && len(doc.Files) > 0 {
		doc.Seconds = shell.Seconds(time.Since(start))
		err = errors.Join(err, j.WriteJSON(j.Stdout, doc))
	}
	if err == nil && partly {
		return &shell.ExitError{Code: shell.ExitPartly}
	}
	return err
}

func newRepackRow(source, target string) *RepackRow {
	return &RepackRow{Source: source, Target: target, Status: shell.StatusDone, Lost: []string{}, Unreadable: []string{}}
}

// repackInto repacks each source into a directory.
func (j *repackJob) repackInto(cmd *cobra.Command, args []string) error {
	start := time.Now()
	doc := RepackDoc{Schema: shell.SchemaRepack, DryRun: j.dryRun, Files: []RepackRow{}}
	write := func() error {
		doc.Seconds = shell.Seconds(time.Since(start))
		return j.WriteJSON(j.Stdout, doc)
	}
	totals, err := j.Into(cmd, args, &shell.Into{
		Flags: &j.batch, Job: &j.job, Force: j.force, DryRun: j.dryRun, Lines: j.json && j.Lines,
		Target: func(_ context.Context, s *shell.Source) (string, error) {
			return shell.JoinTarget(j.batch.Into, s.Rel), nil
		},
		Do: func(ctx context.Context, w *shell.Work) (any, error) {
			one := *j
			one.App, one.job.Jobs, one.job.Limit = w.App, w.Workers, w.Memory
			row := newRepackRow(w.Source, w.Target)
			err := (&fileRepack{repackJob: &one, RepackRow: row, force: w.Replace}).run(ctx)
			if err == nil && len(row.Unreadable) > 0 {
				err = &shell.ExitError{Code: shell.ExitPartly}
			}
			return row, err
		},
		Report: func(o *shell.Outcome) error {
			row, ok := o.Value.(*RepackRow)
			if !ok {
				row = newRepackRow(o.Source, o.Target)
			}
			if row.Status = o.Status; o.Err != nil {
				row.Error = shell.OrNull(o.Err.Error())
			}
			switch {
			case j.json && j.Lines:
				doc.Files = []RepackRow{*row}
				return write()
			case j.json:
				doc.Files = append(doc.Files, *row)
			case !j.job.Quiet && ok && o.Err == nil:
				j.Note("%s", row.line(j.dryRun))
			}
			return nil
		},
	})
	if j.json && totals.Sum() > 0 {
		if doc.Totals = &totals; j.Lines {
			doc.Files = []RepackRow{}
		}
		err = errors.Join(err, write())
	}
	return err
}

// line is the summary of one file.
func (r *RepackRow) line(dryRun bool) string {
	what := fmt.Sprintf("%d rewritten, %d copied", r.Rewritten, r.Kept)
	if dryRun {
		line := fmt.Sprintf("would repack %s to %s: %s, %s of elements to move", term.Safe(r.Source), term.Safe(r.Target), what,
			term.FormatBytes(int64(r.Bytes)))
		if r.EstimatedBytes != nil {
			line += fmt.Sprintf("; %s -> %s", term.FormatBytes(int64(*r.SourceBytes)), estimateText(*r.EstimatedBytes, *r.EstimatedSeconds))
		}
		return line
	}
	from, to := int64(*r.SourceBytes), int64(*r.TargetBytes)
	return fmt.Sprintf("%s: %s -> %s  %.2fx  %s", term.Safe(r.Target), term.FormatBytes(from), term.FormatBytes(to),
		term.Share(from, max(to, 1)), what)
}

// fileRepack is the repack of one file.
type fileRepack struct {
	*repackJob
	*RepackRow

	force bool   // an existing target is replaced
	to    string // the new file, which is then moved to the target
}

// run repacks the file, or a local copy of the file at a URL.
func (j *fileRepack) run(ctx context.Context) error {
	if target := j.Target; remote.IsURL(target) {
		up := shell.UploadFlags{Force: j.force, DryRun: j.dryRun, Progress: j.job.Progress}
		err := j.Upload(ctx, target, up, func(location string) error {
			j.Target = location
			return j.run(ctx)
		})
		j.Target = remote.Redact(target)
		return err
	}
	source := j.Source
	if !remote.IsURL(source) {
		return j.local(ctx)
	}
	file, done, err := shell.Fetched(ctx, source)
	if err != nil {
		return err
	}
	j.Source = file
	err = j.local(ctx)
	j.Source = source
	return errors.Join(err, done())
}

// local repacks a local file to a local target.
func (j *fileRepack) local(ctx context.Context) (err error) {
	loc, err := locate.Parse(j.Source)
	if err != nil {
		return err
	}
	if loc.Object != "" {
		return shell.Usagef("%s: repack works on whole files; hyperslab convert takes one array", j.Source)
	}
	var locks shell.FileLocks // before the source is read, because the target can be the source
	defer func() { err = errors.Join(err, locks.Release()) }()
	if j.force && !j.dryRun {
		if err := locks.Hold(ctx, j.Target); err != nil {
			return err
		}
	}
	files := j.HDF5Files()
	defer func() { err = errors.Join(err, files.Close()) }()
	format, err := files.Format(loc.File)
	if err != nil {
		return err
	}
	j.Format = string(format)
	if _, err := os.Lstat(j.Target); err == nil && !j.force {
		return &ndarray.Error{Op: "create", Path: j.Target, Err: ndarray.ErrExists}
	}
	size, err := shell.PathBytes(loc.File)
	if err != nil {
		return err
	}
	j.SourceBytes = (*shell.JSONInt)(&size)
	target := j.Target
	if real, err := filepath.EvalSymlinks(target); err == nil && j.replace {
		target = real
	}
	if _, missing := os.Lstat(target); missing == nil && !j.dryRun {
		err = replaced(ctx, target, locks.Lock(target), func(file string) error {
			if err := j.write(ctx, files, file); err != nil {
				return err
			}
			return replaces(ctx, file, j.job.Jobs)
		})
	} else {
		err = j.write(ctx, files, target)
	}
	if err != nil || j.dryRun {
		return err
	}
	stored, err := shell.PathBytes(target)
	j.TargetBytes = (*shell.JSONInt)(&stored)
	return err
}

// write writes the new file.
func (j *fileRepack) write(ctx context.Context, files *opened.Files, to string) error {
	j.to = to
	format := hyperslab.Format(j.Format)
	if j.cloud.cloud && format != hyperslab.HDF5 {
		return shell.Usagef("%s: --cloud is for HDF5 files, got %s; a frame needs --chunks only", j.Source, format)
	}
	switch format {
	case hyperslab.HDF5:
		if j.Untrusted() {
			return shell.Usagef("%s: repack --untrusted is for arrays of Blosc2 and bcolz, because libhdf5 copies the objects of HDF5; "+
				"use hyperslab convert --untrusted", j.Source)
		}
		return j.repackHDF5(ctx, files)
	case hyperslab.B2Z, hyperslab.B2D, hyperslab.B2E:
		return j.repackStore(ctx)
	case hyperslab.Directory:
		return fmt.Errorf("%w: %s is a directory of arrays; repack the files in it", errors.ErrUnsupported, j.Source)
	}
	return j.repackArray(ctx)
}

// repackCopy copies a file or directory byte for byte.
func (j *fileRepack) repackCopy(ctx context.Context) error {
	if j.dryRun {
		j.expect(int64(*j.SourceBytes), &forecast{})
		return nil
	}
	m := term.NewMeter(j.job.Progress, j.Stderr, "repack", int64(*j.SourceBytes), time.Now).Watch(shell.UnfinishedBytes)
	defer m.Finish()
	return shell.Written(ctx, j.to, j.force, func(file string) error { return atomicfile.Copy(ctx, file, j.Source) })
}

// repackArray rewrites a file that is one array.
func (j *fileRepack) repackArray(ctx context.Context) (err error) {
	src, err := j.OpenArray(ctx, j.Source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	m := src.Meta()
	format, sparse := hyperslab.Format(j.Format), j.store.Sparse
	if shell.IsFrame(format) {
		if m.Format == "frame" && j.store.Given() {
			return fmt.Errorf("%w: %s is a Blosc2 frame without an array; hyperslab convert writes it as an array", errors.ErrUnsupported,
				j.Source)
		}
		info, err := os.Stat(j.Source)
		if err != nil {
			return err
		}
		sparse = sparse || info.IsDir()
		if j.store.Sparse && !info.IsDir() {
			m.ChunkShape = nil // chunks are not stored in the new form yet
		}
	}
	spec, err := j.store.Spec(src.Meta(), format)
	if err != nil {
		return err
	}
	if j.store.Blocks == "" && spec.BlockShape == nil && slices.Equal(spec.ChunkShape, m.ChunkShape) {
		spec.BlockShape = m.BlockShape // of chunks with an unchanged shape
	}
	if !j.store.Given() || storedSo(m, spec) {
		j.Kept = 1
		return j.repackCopy(ctx)
	}
	if format == hyperslab.Bcolz {
		if err := j.checkColumns(ctx, j.Source); err != nil {
			return err
		}
	}
	j.Rewritten, j.Bytes = 1, shell.JSONInt(src.NBytes())
	attrs, err := shell.AttrsOf(ctx, src)
	if err != nil {
		return err
	}
	c := &ConvertJob{App: j.App, Command: "repack", Source: j.Source, Target: j.to, Job: j.job, StoreFlags: j.store, force: j.force,
		Format: j.Format}
	c.Sparse = sparse
	left, err := c.decide(attrs, false, nil, format)
	if err != nil {
		return err
	}
	spec.Attrs = left.keep
	if err := j.job.FitBoth(j.Source, src.Meta(), j.to, spec); err != nil {
		return err
	}
	if j.dryRun {
		if format == hyperslab.Bcolz { // bcolz cannot be measured
			return nil
		}
		guess := newForecast(j.job.Jobs, j.job.Limit)
		err := guess.add(ctx, src, spec, format)
		j.expect(0, guess)
		return err
	}
	_, _, err = c.write(ctx, spec, src)
	return err
}

// VerifyNew verifies a file before it replaces another one. Tests replace it.
var VerifyNew = hyperslab.Verify

// replaces verifies a new file that is to replace an old one.
func replaces(ctx context.Context, file string, workers int) error {
	r, err := VerifyNew(ctx, file, &hyperslab.VerifyOptions{Workers: workers, MaxFindings: 1})
	if err != nil {
		return fmt.Errorf("the old file is unchanged, because the new one cannot be verified: %w", err)
	}
	if r.NumFindings > 0 {
		return fmt.Errorf("%w: the old file is unchanged, because the new one is not valid: %v", ndarray.ErrCorrupt, r.Findings[0])
	}
	return nil
}

// storedSo reports whether the array that m describes is stored as spec requires.
func storedSo(m ndarray.Meta, spec ndarray.Spec) bool {
	return slices.Equal(spec.ChunkShape, m.ChunkShape) && slices.Equal(spec.BlockShape, m.BlockShape) &&
		slices.Equal(spec.MaxShape, m.MaxShape) && h5repack.SameCompression(spec.Compression, m.Compression)
}

// expect sets the estimates of a dry run: stays bytes that are copied unchanged, and the forecast
// of the rest.
func (r *RepackRow) expect(stays int64, rest *forecast) {
	bytes, took := rest.total()
	total, s := shell.JSONInt(max(stays, 0)+bytes), shell.Seconds(took)
	r.EstimatedBytes, r.EstimatedSeconds = &total, &s
}

// replaced is written for a target that exists and whose lock the caller holds.
func replaced(ctx context.Context, target string, lock *hyperslab.Lock, write func(file string) error) error {
	return shell.WrittenAs(ctx, target, atomicfile.Options{Overwrite: true, Lock: lock}, write)
}

// checkColumns returns errors.ErrUnsupported for a ctable whose columns have attributes, because a
// table that is rewritten as one array of records keeps only the attributes of the table.
func (j *repackJob) checkColumns(ctx context.Context, source string) error {
	for e, err := range j.Walk(ctx, source, hyperslab.WalkOptions{NoSizes: true}) {
		if err != nil {
			return err
		}
		if e.Kind == hyperslab.Array && e.Path != "/" && e.Attrs > 0 {
			return fmt.Errorf("%w: attributes of the column %s of %s; hyperslab convert keeps them", errors.ErrUnsupported, e.Path, source)
		}
	}
	return nil
}
