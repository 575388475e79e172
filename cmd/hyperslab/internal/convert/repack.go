// hyperslab repack: rewrite files in their own format, with other chunks and compression, or only
// without unused space.

package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// RepackDoc is the document of repack --json.
type RepackDoc struct {
	Schema  string          `json:"schema"`
	DryRun  bool            `json:"dry_run"`
	Files   []RepackRow     `json:"files"`
	Seconds shell.JSONFloat `json:"seconds"`
}

// RepackRow is the result for one file.
type RepackRow struct {
	Source      string         `json:"source"`
	Target      string         `json:"target"`
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

type repackFlags struct {
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

func (a *app) repackCommand() *cobra.Command {
	var o repackFlags
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
read such files.

--replace repacks files in place, and --into writes many to a directory. A new file that
replaces another one is verified first.` + shell.UploadHelp + shell.BatchHelp,
		Example: `  hyperslab repack tree.h5 small.h5 --codec deflate --level 9
  hyperslab repack waves.b2nd zipped.b2nd --codec zstd --level 9 --shuffle bit
  hyperslab repack --replace tree.h5 waves.h5
  hyperslab repack waves.h5 cloud.h5 --cloud --access '1,*,*'
  hyperslab repack --into . --force --dry-run waves.h5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.replace || o.batch.Into != "" {
				return o.batch.Arity(cmd, args)
			}
			return shell.Arity(2, 2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.repack(cmd, args, &o)
		},
	}
	f := cmd.Flags()
	o.store.Add(cmd)
	o.cloud.add(cmd)
	f.BoolVar(&o.replace, "replace", false, "replace each source; all arguments are sources")
	f.BoolVarP(&o.force, "force", "f", false, "replace targets that exist")
	f.BoolVar(&o.lose, "exclude-references", false, "write null references instead of references to missing objects")
	f.BoolVar(&o.missing, "allow-missing", false, "copy virtual datasets and datasets with external files although those files are missing")
	o.files.AddDir(cmd)
	o.pick.Add(cmd)
	f.BoolVar(&o.dryRun, "dry-run", false, "report the changes and write no file")
	o.batch.Add(cmd)
	o.job.Add(cmd, "no progress and no summary")
	shell.JSONFlag(cmd, &o.json)
	a.LockFlags(cmd)
	(&shell.UntrustedFlags{}).Add(a.App, cmd)
	return cmd
}

func (a *app) repack(cmd *cobra.Command, args []string, o *repackFlags) error {
	ctx := cmd.Context()
	memory, err := o.job.Check()
	if err != nil {
		return err
	}
	if err := errors.Join(o.store.check(), o.cloud.check(o.store.Chunks), o.pick.Check()); err != nil {
		return err
	}
	if o.replace && o.batch.Into != "" {
		return shell.Usagef("--replace and --into: the files go to one place")
	}
	target := func(source string) string { return source }
	force := true
	switch {
	case o.batch.Into != "":
		target, force = func(source string) string { return shell.JoinTarget(o.batch.Into, filepath.Base(source)) }, o.force
	case !o.replace:
		to := args[1]
		args, target, force = args[:1], func(string) string { return to }, o.force
	}
	start, partly := time.Now(), false
	doc := RepackDoc{Schema: shell.SchemaRepack, DryRun: o.dryRun, Files: []RepackRow{}}
	err = a.Batch(cmd, args, &o.batch, o.job.Quiet, func(source string) error {
		row := RepackRow{Source: source, Target: target(source), Lost: []string{}, Unreadable: []string{}}
		err := a.repackFile(ctx, &row, memory, force, o)
		if err != nil {
			row.Error = shell.OrNull(err.Error())
		} else if !o.json && !o.job.Quiet {
			a.Note("%s", row.line(o.dryRun))
		}
		doc.Files = append(doc.Files, row)
		partly = partly || len(row.Unreadable) > 0
		return err
	})
	if o.json && len(doc.Files) > 0 {
		doc.Seconds = shell.Seconds(time.Since(start))
		err = errors.Join(err, a.WriteJSON(a.Stdout, doc))
	}
	if err == nil && partly {
		return &shell.ExitError{Code: shell.ExitPartly}
	}
	return err
}

// line is the summary of one file.
func (r *RepackRow) line(dryRun bool) string {
	what := fmt.Sprintf("%d rewritten, %d copied", r.Rewritten, r.Kept)
	if dryRun {
		line := fmt.Sprintf("would repack %s to %s: %s, %s of elements to move", term.Safe(r.Source), term.Safe(r.Target), what, term.FormatBytes(int64(r.Bytes)))
		if r.EstimatedBytes != nil {
			line += fmt.Sprintf("; %s -> %s", term.FormatBytes(int64(*r.SourceBytes)), estimateText(*r.EstimatedBytes, *r.EstimatedSeconds))
		}
		return line
	}
	from, to := int64(*r.SourceBytes), int64(*r.TargetBytes)
	return fmt.Sprintf("%s: %s -> %s  %.2fx  %s", term.Safe(r.Target), term.FormatBytes(from), term.FormatBytes(to), term.Share(from, max(to, 1)), what)
}

// repackFile repacks a file, or a local copy of the file at a URL.
func (a *app) repackFile(ctx context.Context, row *RepackRow, memory int64, force bool, o *repackFlags) (err error) {
	if target := row.Target; remote.IsURL(target) {
		up := shell.UploadFlags{Force: force, DryRun: o.dryRun, Progress: o.job.Progress}
		err = a.Upload(ctx, target, up, func(location string) error {
			row.Target = location
			return a.repackFile(ctx, row, memory, force, o)
		})
		row.Target = remote.Redact(target)
		return err
	}
	if source := row.Source; remote.IsURL(source) {
		file, done, err := shell.Fetched(ctx, source)
		if err != nil {
			return err
		}
		row.Source = file
		err = a.repackFile(ctx, row, memory, force, o)
		row.Source = source
		return errors.Join(err, done())
	}
	loc, err := locate.Parse(row.Source)
	if err != nil {
		return err
	}
	if loc.Object != "" {
		return shell.Usagef("%s: repack works on whole files; hyperslab convert takes one array", row.Source)
	}
	var locks shell.FileLocks // before the source is read, because the target can be the source
	defer func() { err = errors.Join(err, locks.Release()) }()
	if force && !o.dryRun {
		if err := locks.Hold(ctx, row.Target); err != nil {
			return err
		}
	}
	files := a.HDF5Files()
	defer func() { err = errors.Join(err, files.Close()) }()
	format, err := files.Format(loc.File)
	if err != nil {
		return err
	}
	row.Format = string(format)
	if _, err := os.Lstat(row.Target); err == nil && !force {
		return &ndarray.Error{Op: "create", Path: row.Target, Err: ndarray.ErrExists}
	}
	size, err := shell.PathBytes(loc.File)
	if err != nil {
		return err
	}
	row.SourceBytes = (*shell.JSONInt)(&size)
	to := row.Target
	if real, err := filepath.EvalSymlinks(to); err == nil && o.replace {
		to = real
	}
	repack := func(to string) error {
		if o.cloud.cloud && format != hyperslab.HDF5 {
			return shell.Usagef("%s: --cloud is for HDF5 files, got %s; a frame needs --chunks only", row.Source, format)
		}
		switch format {
		case hyperslab.HDF5:
			if a.Untrusted() {
				return shell.Usagef("%s: repack --untrusted is for arrays of Blosc2 and bcolz, because libhdf5 copies the objects of HDF5; use hyperslab convert --untrusted", row.Source)
			}
			return a.repackHDF5(ctx, files, row, to, memory, force, o)
		case hyperslab.B2Z, hyperslab.B2D, hyperslab.B2E:
			return a.repackStore(ctx, row, to, memory, force, o)
		case hyperslab.Directory:
			return fmt.Errorf("%w: %s is a directory of arrays; repack the files in it", errors.ErrUnsupported, loc.File)
		}
		return a.repackArray(ctx, row, to, memory, force, o)
	}
	if _, err := os.Lstat(to); err == nil && !o.dryRun {
		err = replaced(ctx, to, locks.Lock(to), func(file string) error {
			if err := repack(file); err != nil {
				return err
			}
			return replaces(ctx, file, o.job.Jobs)
		})
		if err != nil {
			return err
		}
	} else if err := repack(to); err != nil {
		return err
	}
	if o.dryRun {
		return nil
	}
	stored, err := shell.PathBytes(to)
	row.TargetBytes = (*shell.JSONInt)(&stored)
	return err
}

// repackHDF5 repacks an HDF5 file, and closes it.
func (a *app) repackHDF5(ctx context.Context, files *shell.HDF5Files, row *RepackRow, to string, memory int64, force bool, o *repackFlags) (err error) {
	r := &repacker{app: a, store: &o.store, cloud: &o.cloud, job: &o.job, memory: memory, missing: o.missing, external: o.files.Dir, pick: &o.pick, left: []string{}}
	r.unreadable = o.pick.Unreadable(a.App, "repack", &r.left)
	if o.dryRun {
		r.guess = newForecast(o.job.Jobs, memory)
	}
	defer func() { err = errors.Join(err, files.CloseFile(row.Source)) }()
	if err := r.open(files, row.Source, to); err != nil {
		return err
	}
	if err := r.plan(ctx); err != nil {
		return err
	}
	row.Rewritten, row.Kept, row.Bytes = r.rewritten, r.kept, shell.JSONInt(r.bytes)
	for _, text := range r.unfit {
		a.Note("%s copied without recompression: %s", a.Talk.Notice("hyperslab repack:"), term.Safe(text))
	}
	var refused []string
	var flags []string
	for _, p := range r.problems {
		text := hyperslab.Problem{Path: p.Path, What: p.What, Err: p.Err}.String()
		row.Lost = append(row.Lost, text)
		flag, allowed := "--exclude-references", o.lose
		if p.Kind == h5copy.Missing {
			flag, allowed = "--allow-missing", o.missing
		}
		if !allowed {
			refused = append(refused, text)
			if !slices.Contains(flags, flag) {
				flags = append(flags, flag)
			}
		} else {
			a.Note("%s %s", a.Talk.Notice("hyperslab repack:"), term.Safe(text))
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("%s of %s cannot be kept; no file was written:\n  %s\n  to go on add %s",
			term.Plural(int64(len(refused)), "thing"), row.Source, strings.Join(refused, "\n  "), strings.Join(flags, " and "))
	}
	for _, text := range r.removed {
		row.Lost = append(row.Lost, text)
		a.Note("%s not kept: %s", a.Talk.Notice("hyperslab repack:"), term.Safe(text))
	}
	row.Unreadable = r.left
	if o.dryRun {
		row.expect(int64(*row.SourceBytes)-r.was, r.guess)
		return nil
	}
	m := term.NewMeter(o.job.Progress, a.Stderr, "repack", r.bytes, time.Now).SetTarget(shell.MadeBytes(to, 0))
	defer m.Finish()
	r.progress = m.Update
	err = shell.Written(ctx, to, force, func(file string) error { return r.write(ctx, file) })
	row.Unreadable = r.left
	return err
}

// repackCopy copies a file or directory byte for byte.
func (a *app) repackCopy(ctx context.Context, row *RepackRow, to string, force bool, o *repackFlags) error {
	if o.dryRun {
		row.expect(int64(*row.SourceBytes), &forecast{})
		return nil
	}
	m := term.NewMeter(o.job.Progress, a.Stderr, "repack", int64(*row.SourceBytes), time.Now).Watch(shell.UnfinishedBytes)
	defer m.Finish()
	return shell.Written(ctx, to, force, func(file string) error { return atomicfile.Copy(ctx, file, row.Source) })
}

// repackArray rewrites a file that is one array.
func (a *app) repackArray(ctx context.Context, row *RepackRow, to string, memory int64, force bool, o *repackFlags) (err error) {
	src, err := a.OpenArray(ctx, row.Source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	m := src.Meta()
	format, sparse := hyperslab.Format(row.Format), o.store.Sparse
	if shell.IsFrame(format) {
		if m.Format == "frame" && o.store.Given() {
			return fmt.Errorf("%w: %s is a Blosc2 frame without an array; hyperslab convert writes it as an array", errors.ErrUnsupported, row.Source)
		}
		info, err := os.Stat(row.Source)
		if err != nil {
			return err
		}
		sparse = sparse || info.IsDir()
		if o.store.Sparse && !info.IsDir() {
			m.ChunkShape = nil // chunks are not stored in the new form yet
		}
	}
	spec, err := o.store.Spec(src.Meta(), format)
	if err != nil {
		return err
	}
	if o.store.Blocks == "" && spec.BlockShape == nil && slices.Equal(spec.ChunkShape, m.ChunkShape) {
		spec.BlockShape = m.BlockShape // of chunks with an unchanged shape
	}
	if !o.store.Given() || storedSo(m, spec) {
		row.Kept = 1
		return a.repackCopy(ctx, row, to, force, o)
	}
	if format == hyperslab.Bcolz {
		if err := a.checkColumns(ctx, row.Source); err != nil {
			return err
		}
	}
	row.Rewritten, row.Bytes = 1, shell.JSONInt(src.NBytes())
	attrs, err := shell.AttrsOf(ctx, src)
	if err != nil {
		return err
	}
	left, err := decide(&shell.AttrFlags{}, attrs, false, nil, format, row.Source, to)
	if err != nil {
		return err
	}
	spec.Attrs = left.keep
	if err := cmp.Or(o.job.Fit(memory, row.Source, src.Meta()), o.job.Fit(memory, to, shell.SpecMeta(spec))); err != nil {
		return err
	}
	if o.dryRun {
		if format == hyperslab.Bcolz { // bcolz cannot be measured
			return nil
		}
		guess := newForecast(o.job.Jobs, memory)
		err := guess.add(ctx, src, spec, format)
		row.expect(0, guess)
		return err
	}
	c := &ConvertFlags{Job: o.job, StoreFlags: o.store, force: force, Format: row.Format}
	c.Sparse = sparse
	_, _, err = a.write(ctx, to, spec, src, memory, c)
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
		slices.Equal(spec.MaxShape, m.MaxShape) && sameCompression(spec.Compression, m.Compression)
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
func (a *app) checkColumns(ctx context.Context, source string) error {
	for e, err := range a.Walk(ctx, source, hyperslab.WalkOptions{NoSizes: true}) {
		if err != nil {
			return err
		}
		if e.Kind == hyperslab.Array && e.Path != "/" && e.Attrs > 0 {
			return fmt.Errorf("%w: attributes of the column %s of %s; hyperslab convert keeps them", errors.ErrUnsupported, e.Path, source)
		}
	}
	return nil
}
