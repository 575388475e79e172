// hyperslab cp: copy objects and files without recompression.

package convert

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/draft"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5objects"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// cpJob is one run of cp.
type cpJob struct {
	*shell.App

	edit    editFlags
	attrs   shell.AttrFlags
	force   bool
	refs    bool
	missing bool
	other   shell.FilesFlags
	pick    shell.PickFlags
	shards  shardFlags
	batch   shell.BatchFlags
	jobs    int

	to    locate.Location
	kind  hyperslab.Format  // of the target, or of its name
	files *opened.Files     // open files
	from  []locate.Location // objects of HDF5 files
	left  []string          // unreadable objects
}

func newCp(a *shell.App) *cobra.Command {
	j := &cpJob{App: a}
	cmd := &cobra.Command{
		Use:   "cp SOURCE... TARGET",
		Short: "Copy objects to an HDF5 file, or arrays without recompression",
		Long: `cp copies stored chunks without decompression.

From HDF5 to HDF5 it copies datasets, groups with all their objects, named types and
their attributes to an existing file or to a new one. If the target ends in a slash, or
if there are several sources, the target is a group and the names are kept; missing
groups are created. References to objects outside the copied ones become null and are
reported, unless --references copies those objects as well. Names of other files are
rewritten for the directory of the target.

A b2nd, Caterva or bcolz array is a file or directory and is copied as one. If the
target is a path in an HDF5 file, cp adds the array to that file: the chunks of a Blosc2
array are stored unchanged with the Blosc2 filter (32026). Use hyperslab convert for
other compression or another format.

An array of a container of python-blosc2 is copied to a file byte for byte, and so are
b2nd arrays, Python objects and plain frames to a path in a .b2d. Other arrays are
written there as b2nd. A group of a container or an HDF5 file is copied to a new group
of a container. For this an existing .b2z or .b2e is written again as a whole.

With --split, the source is a bcolz array or ctable or a sparse Blosc2 array, and each
target is a new directory with its metadata and some of its chunks, for example on
another disk. --join makes one array of such parts. The chunks are numbered in row-major
order, and must each be in one part.

--into copies files, or the object at the same path of many files, to a directory.` + shell.UploadHelp + editHelp + shell.IntoHelp,
		Example: `  hyperslab cp tree.h5:/run1/temperature waves.h5:/measured/temperature
  hyperslab cp tree.h5:/run1 tree.h5:/time archive.h5:/2024/
  hyperslab cp waves.b2nd again.b2nd
  hyperslab cp waves.b2nd tree.h5:/measured/waves
  hyperslab cp store.b2z:/g/b b.b2nd
  hyperslab cp waves.b2nd store.b2d:/g/again
  hyperslab cp store.b2z:/g store.b2d:/copy
  hyperslab cp --split :1 --split 1: waves.bcolz part1 part2
  hyperslab cp --join :1 --join 1: part1 part2 joined.bcolz`,
		Args:              j.batch.ArityOr(2, -1),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(j.pick.Check(), j.batch.CheckOne(cmd)); err != nil {
				return err
			}
			if j.batch.Into != "" {
				return j.into(cmd, args)
			}
			last := len(args) - 1
			if j.shards.given() {
				if err := j.shards.check(cmd, args); err != nil {
					return err
				}
				return j.shards.run(cmd.Context(), args)
			}
			a.Access.Others.Dir = j.other.Dir
			err := j.run(cmd.Context(), args[:last], args[last])
			if err == nil && len(j.left) > 0 {
				return &shell.ExitError{Code: shell.ExitPartly}
			}
			return err
		},
	}
	f := cmd.Flags()
	shell.ForceFlag(cmd, &j.force, "replace existing objects and files")
	f.BoolVar(&j.refs, "references", false, "also copy the objects that references point to")
	j.attrs.Add(cmd, "of an array that goes into an HDF5 file, leave out")
	shell.CopyMissingFlag(cmd, &j.missing)
	j.other.AddDir(cmd)
	j.pick.Add(cmd)
	j.edit.add(a, cmd)
	shell.AddDType(a, cmd)
	j.shards.add(cmd)
	j.batch.Add(cmd)
	shell.JobsFlag(cmd, &j.jobs, 0, "with --into: number `N` of files that are copied at the same time; 0 means all cores")
	a.Done(cmd)
	return cmd
}

// into copies each source to a directory.
func (j *cpJob) into(cmd *cobra.Command, args []string) error {
	if j.shards.given() {
		return shell.Usagef("--into and --split or --join: the parts of an array are named one by one")
	}
	j.Access.Others.Dir = j.other.Dir
	return j.IntoDoc(cmd, args, &shell.Into{
		Flags: &j.batch, Job: &shell.JobFlags{Jobs: j.jobs, Progress: j.edit.kind()}, Force: j.force, DryRun: j.edit.dryRun,
		Target: func(_ context.Context, s *shell.Source) (string, error) {
			loc, err := locate.Parse(s.Name)
			target := shell.JoinTarget(j.batch.Into, s.Rel)
			if loc.Object != "" {
				target += ":" + loc.Object
			}
			return target, err
		},
		Do: func(ctx context.Context, w *shell.Work) (any, error) {
			one := *j
			one.App, one.force, one.left = w.App, w.Replace, nil
			one.edit.app, one.edit.locks = w.App, shell.FileLocks{}
			err := errors.Join(one.run(ctx, []string{w.Source}, w.Target), one.edit.locks.Release())
			if err == nil && len(one.left) > 0 {
				err = &shell.ExitError{Code: shell.ExitPartly}
			}
			return nil, err
		},
		Report: func(o *shell.Outcome) error {
			if o.Status == shell.StatusDone && !j.edit.dryRun {
				j.Note("%s: %s", term.Safe(o.Target), "copied from "+term.Safe(remote.Redact(o.Source)))
			}
			return nil
		},
	}, func(*shell.Outcome) any { return nil })
}

func (j *cpJob) run(ctx context.Context, sources []string, target string) (err error) {
	if j.to, err = locate.Parse(target); err != nil {
		return err
	}
	if remote.IsURL(j.to.File) {
		if j.edit.inPlace {
			return shell.Usagef("--in-place: an object at a URL cannot be changed")
		}
		up := shell.UploadFlags{Force: j.force, DryRun: j.edit.dryRun, Progress: j.edit.kind()}
		return j.Upload(ctx, target, up, func(location string) error { return j.run(ctx, sources, location) })
	}
	if j.Access.Dtype != nil {
		if err := j.typedCopy(ctx, sources); err != nil {
			return err
		}
	}
	var unknown error
	j.kind, unknown = targetFormat(j.to.File)
	j.files, j.from = j.HDF5Files(), nil
	defer func() { err = errors.Join(err, j.files.Close()) }()
	for _, source := range sources {
		if done, err := j.source(ctx, source, len(sources)); done || err != nil {
			return err
		}
	}
	if shell.IsStore(j.kind) && len(j.from) == 1 { // from HDF5
		_, err := j.cpStored(ctx, j.from[0], hyperslab.HDF5)
		return err
	}
	if j.to.Object == "" {
		return j.noPath(target)
	}
	if len(j.from) > 1 && !strings.HasSuffix(j.to.Object, "/") {
		return shell.Usagef("%s: of several sources the target is a group; end it in a slash", target)
	}
	if unknown != nil {
		return unknown
	}
	return j.cpObjects(ctx)
}

// noPath returns the error for a target without a path.
func (j *cpJob) noPath(target string) error {
	if f, known := shell.NamedFormat(j.to.File); known && f != hyperslab.HDF5 {
		return shell.Hintf("hyperslab convert "+shellword.Quote(j.from[0].String())+" "+shellword.Quote(target)+" writes another format",
			"%s: got a file of format %s, want FILE.h5:/path; cp copies objects of HDF5 files without a change", target, f)
	}
	return shell.Usagef("%s: a path inside the file is missing, for example %s:%s", target, j.to.File, j.from[0].Object)
}

// source adds an object of an HDF5 file to from. It copies any other source, and then reports that
// the work is done.
func (j *cpJob) source(ctx context.Context, source string, sources int) (done bool, err error) {
	loc, err := locate.Parse(source)
	if err != nil {
		return false, err
	}
	is, err := j.files.Format(loc.File)
	if err != nil {
		return false, err
	}
	format := hyperslab.Format(is)
	switch {
	case format == hyperslab.HDF5 && strings.Trim(loc.Object, "/") != "":
		j.from = append(j.from, loc)
		return false, j.files.Limit()
	case j.pick.Given():
		return false, shell.Usagef("--exclude and --skip-unreadable choose objects of a group; %s is copied as a whole", source)
	case sources > 1:
		return false, shell.Usagef("%s is a whole file; of several sources each must be an object in an HDF5 file", source)
	}
	if done, err := j.cpStored(ctx, loc, format); done {
		return true, err
	}
	if j.to.Object != "" && format != hyperslab.HDF5 {
		return true, j.cpArray(ctx, source, format, j.to)
	}
	return true, j.cpFile(ctx, loc, format)
}

// typedCopy returns an error unless --dtype applies: to one source that stores no element type and
// is written to a path of an HDF5 file or a container. Other copies do not change the source.
func (j *cpJob) typedCopy(ctx context.Context, sources []string) error {
	src, err := j.OpenArray(ctx, sources[0])
	if err != nil {
		return err
	}
	format := src.Meta().Format
	if err := src.Close(); err != nil {
		return err
	}
	switch kind, _ := targetFormat(j.to.File); {
	case !j.Access.Typed:
		return shell.Usagef("--dtype: %s has format %s, which stores the type", sources[0], format)
	case len(sources) > 1 || j.to.Object == "" || shell.IsStore(kind) && format != string(hyperslab.Caterva):
		return shell.Usagef("--dtype: %s is copied as it is stored, without a type; hyperslab convert adds one", sources[0])
	}
	return nil
}

// cpArray adds an array of another format to an HDF5 file or a container.
func (j *cpJob) cpArray(ctx context.Context, source string, format hyperslab.Format, to locate.Location) error {
	if strings.HasSuffix(to.Object, "/") { // a group: the array keeps its name
		loc, err := locate.Parse(source)
		if err != nil {
			return err
		}
		to.Object += nameOf(loc)
	}
	c := &ConvertJob{
		App: j.App, Command: "convert", Source: source, Target: to.String(),
		Attrs: j.attrs, force: j.force, inPlace: j.edit.inPlace, dryRun: j.edit.dryRun, StoreFlags: StoreFlags{Level: -1},
	}
	store := shell.IsStore(j.kind)
	if !store {
		c.Format = string(hyperslab.HDF5)
	}
	c.Job = shell.JobFlags{Memory: "128MiB", Progress: j.edit.kind()}
	if err := c.Check(); err != nil {
		return err
	}
	c.sameCodec = shell.IsFrame(format) && !store
	r, err := c.convertOne(ctx)
	if err == nil && j.edit.dryRun {
		bytes, _ := r.sizes()
		j.Note("would copy %s to %s: %s of elements", term.Safe(source), term.Safe(to.String()), term.FormatBytes(bytes))
		if _, missing := os.Stat(to.File); missing == nil {
			err = j.edit.plan(to.File)
		}
	}
	return err
}

// keepCodec chooses the HDF5 compression with which Blosc2 chunks are copied without recompression.
func (o *StoreFlags) keepCodec(c *ndarray.Compression) {
	if c == nil || !slices.Contains(bloscCodecs, c.Codec) {
		return
	}
	if c.Codec == "none" {
		o.Codec = c.Codec
		return
	}
	o.Codec, o.Level, o.Filter = "blosc2/"+c.Codec, c.Level, "none"
	if slices.Contains(c.Filters, "shuffle") {
		o.Filter = "byte"
	} else if slices.Contains(c.Filters, "bitshuffle") {
		o.Filter = "bit"
	}
}

// cpFile copies a file or directory that is one array, or a whole HDF5 file.
func (j *cpJob) cpFile(ctx context.Context, from locate.Location, format hyperslab.Format) (err error) {
	to := j.to
	if from.Object != "" || to.Object != "" {
		return shell.Usagef("%s is of format %s, and copied as a whole; hyperslab convert takes one array out of it, or puts it into "+
			"an HDF5 file", from.File, format)
	}
	if f, ok := shell.NamedFormat(to.File); (!ok || f != format) && filepath.Ext(to.File) != filepath.Ext(from.File) {
		return shell.Usagef("%s has format %s, and the name %s has another; hyperslab convert changes formats", from.File, format, to.File)
	}
	if !j.force {
		if _, err := os.Lstat(to.File); err == nil {
			return &ndarray.Error{Op: "create", Path: to.File, Err: ndarray.ErrExists}
		}
	}
	source, done, err := shell.Fetched(ctx, from.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if j.edit.dryRun {
		size, err := shell.PathBytes(source)
		if err == nil {
			j.Note("would copy %s to %s: %s", term.Safe(from.File), term.Safe(to.File), term.FormatBytes(size))
		}
		return err
	}
	out, err := shell.NewOutput(ctx, to.File, atomicfile.Options{Overwrite: j.force})
	if err != nil {
		return err
	}
	size, err := shell.PathBytes(source)
	if err == nil {
		m := j.edit.meter(size).Watch(shell.UnfinishedBytes)
		err = atomicfile.Copy(ctx, out.Path(), source)
		m.Finish()
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	return nil
}

// cpObjects copies objects of HDF5 files into a file, which it creates if necessary.
func (j *cpJob) cpObjects(ctx context.Context) error {
	o := &draft.Objects{Format: string(j.kind), InPlace: j.edit.inPlace, Leave: j.files.CloseFile, Copy: h5objects.Copy{
		Target: j.to.File, Replace: j.force, Follow: j.refs, AllowMissing: j.missing, ExternalDir: j.other.Dir,
		Exclude: j.pick.Excluded, Unreadable: j.pick.Unreadable(j.App, "cp", &j.left),
		Open: func(file string) (*h5.File, error) { return j.files.HDF5(ctx, file) }, Release: j.files.Limit,
		Problem: func(p h5copy.Problem) {
			j.Note("%s %s: %s: %s", j.Talk.Notice("hyperslab cp:"), term.Safe(p.Path), p.What, term.Safe(p.Err.Error()))
		},
	}}
	for _, loc := range j.from {
		x := h5objects.Source{File: loc.File, Path: loc.Object, To: path.Clean("/" + j.to.Object)}
		if strings.HasSuffix(j.to.Object, "/") {
			x.To = path.Join("/", j.to.Object, path.Base(path.Clean(loc.Object)))
		}
		o.Sources = append(o.Sources, x)
	}
	if j.edit.dryRun {
		there, err := o.Examine(ctx)
		if err == nil {
			err = j.planCopies(ctx, &o.Copy, there)
		}
		if err != nil || !there {
			return err
		}
		return j.edit.plan(j.to.File)
	}
	if err := j.edit.hold(ctx, j.to.File); err != nil {
		return err
	}
	done, err := j.edit.changes(j.to.File, &o.Held)
	if err != nil {
		return err
	}
	defer done()
	o.Begin = func(file string) (end func()) {
		if !j.edit.inPlace {
			done()
		}
		m := j.edit.meter(0)
		if m.Shown() {
			m = j.edit.meter(storedIn(ctx, j.files, j.from))
		}
		return m.Watch(growing(file)).Finish
	}
	return missing(o.Run(ctx))
}

// missing adds the flag that allows it to the error of a dataset whose other files are missing.
func missing(err error) error {
	if _, ok := errors.AsType[*h5objects.MissingError](err); ok {
		return fmt.Errorf("%w; --allow-missing copies it anyway", err)
	}
	return err
}

// planCopies reports the size of each object's elements. It fails if an object does not exist or
// its target must not be replaced.
func (j *cpJob) planCopies(ctx context.Context, c *h5objects.Copy, there bool) error {
	if err := c.CheckPaths(); err != nil {
		return err
	}
	for i, x := range c.Sources {
		address := j.from[i].String()
		src, err := j.files.HDF5(ctx, x.File)
		if err == nil {
			_, err = src.Root().Link(x.Path)
		}
		if err != nil {
			return ndarray.Wrap("copy", address, err)
		}
		if there && !j.force {
			dst, err := j.files.HDF5(ctx, j.to.File)
			if err == nil {
				_, err = dst.Root().Link(x.To)
			}
			if err == nil {
				return ndarray.Wrap("copy", address,
					fmt.Errorf("%w: %s", ndarray.ErrExists, locate.Location{File: j.to.File, Object: x.To}))
			}
			if !errors.Is(err, ndarray.ErrNotFound) {
				return err
			}
		}
		size := h5objects.StoredBytes(ctx, src.Root(), x.Path)
		j.Note("would copy %s to %s:%s: %s", term.Safe(address), term.Safe(j.to.File), term.Safe(x.To), term.FormatBytes(size))
		if err := j.files.Limit(); err != nil {
			return err
		}
	}
	return nil
}

// storedIn returns the stored bytes of all datasets at and below some objects. Objects that cannot
// be read count as 0, because the copy will report the error.
func storedIn(ctx context.Context, s *opened.Files, objects []locate.Location) (total int64) {
	for _, loc := range objects {
		if f, err := s.HDF5(ctx, loc.File); err == nil {
			total += h5objects.StoredBytes(ctx, f.Root(), loc.Object)
		}
		_ = s.Limit() // of files that were read
	}
	return total
}
