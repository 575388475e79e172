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
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

type cpFlags struct {
	edit  editFlags
	attrs shell.AttrFlags
	force bool
	refs  bool

	missing bool
	files   shell.FilesFlags
	pick    shell.PickFlags
	shards  shardFlags
	left    []string // unreadable objects
}

func (a *app) cpCommand() *cobra.Command {
	var o cpFlags
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
order, and must each be in one part.` + shell.UploadHelp + editHelp,
		Example: `  hyperslab cp tree.h5:/run1/temperature waves.h5:/measured/temperature
  hyperslab cp tree.h5:/run1 tree.h5:/time archive.h5:/2024/
  hyperslab cp waves.b2nd again.b2nd
  hyperslab cp waves.b2nd tree.h5:/measured/waves
  hyperslab cp store.b2z:/g/b b.b2nd
  hyperslab cp waves.b2nd store.b2d:/g/again
  hyperslab cp store.b2z:/g store.b2d:/copy
  hyperslab cp --split :1 --split 1: waves.bcolz part1 part2
  hyperslab cp --join :1 --join 1: part1 part2 joined.bcolz`,
		Args:              shell.Arity(2, -1),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			if err := o.pick.Check(); err != nil {
				return err
			}
			if o.shards.given() {
				if err := o.shards.check(cmd, args); err != nil {
					return err
				}
				return o.shards.run(cmd.Context(), args)
			}
			a.Access.Others.Dir = o.files.Dir
			err := a.cp(cmd.Context(), args[:last], args[last], &o)
			if err == nil && len(o.left) > 0 {
				return &shell.ExitError{Code: shell.ExitPartly}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.force, "force", "f", false, "replace existing objects and files")
	f.BoolVar(&o.refs, "references", false, "also copy the objects that references point to")
	o.attrs.Add(cmd, "of an array that goes into an HDF5 file, leave out")
	f.BoolVar(&o.missing, "allow-missing", false, "copy virtual datasets and datasets with external files although those files are missing")
	o.files.AddDir(cmd)
	o.pick.Add(cmd)
	o.edit.add(a, cmd)
	shell.AddDType(a.App, cmd)
	o.shards.add(cmd)
	a.Done(cmd)
	return cmd
}

func (a *app) cp(ctx context.Context, sources []string, target string, o *cpFlags) (err error) {
	to, err := locate.Parse(target)
	if err != nil {
		return err
	}
	if remote.IsURL(to.File) {
		if o.edit.inPlace {
			return shell.Usagef("--in-place: an object at a URL cannot be changed")
		}
		up := shell.UploadFlags{Force: o.force, DryRun: o.edit.dryRun, Progress: o.edit.kind()}
		return a.Upload(ctx, target, up, func(location string) error { return a.cp(ctx, sources, location, o) })
	}
	if a.Access.Dtype != nil {
		if err := a.typedCopy(ctx, sources, to); err != nil {
			return err
		}
	}
	kind, kindErr := targetFormat(to.File)
	files := a.HDF5Files()
	defer func() { err = errors.Join(err, files.Close()) }()
	var from []locate.Location
	for _, source := range sources {
		loc, err := locate.Parse(source)
		if err != nil {
			return err
		}
		format, err := files.Format(loc.File)
		if err != nil {
			return err
		}
		if format != hyperslab.HDF5 || strings.Trim(loc.Object, "/") == "" {
			if o.pick.Given() {
				return shell.Usagef("--exclude and --skip-unreadable choose objects of a group; %s is copied as a whole", source)
			}
			if len(sources) > 1 {
				return shell.Usagef("%s is a whole file; of several sources each must be an object in an HDF5 file", source)
			}
			if done, err := a.cpStored(ctx, loc, format, to, kind, o); done {
				return err
			}
			if to.Object != "" && format != hyperslab.HDF5 {
				return a.cpArray(ctx, source, format, to, kind, o)
			}
			return a.cpFile(ctx, loc, format, to, o)
		}
		from = append(from, loc)
		if err := files.Limit(); err != nil {
			return err
		}
	}
	if shell.IsStore(kind) && len(from) == 1 { // from HDF5
		_, err := a.cpStored(ctx, from[0], hyperslab.HDF5, to, kind, o)
		return err
	}
	if to.Object == "" {
		return shell.Usagef("%s: a path inside the file is missing, for example %s:%s", target, to.File, from[0].Object)
	}
	if len(from) > 1 && !strings.HasSuffix(to.Object, "/") {
		return shell.Usagef("%s: of several sources the target is a group; end it in a slash", target)
	}
	if kindErr != nil {
		return kindErr
	}
	return a.cpObjects(ctx, files, from, to, kind, o)
}

// typedCopy returns an error unless --dtype applies: to one source that stores no element type and
// is written to a path of an HDF5 file or a container. Other copies do not change the source.
func (a *app) typedCopy(ctx context.Context, sources []string, to locate.Location) error {
	src, err := a.OpenArray(ctx, sources[0])
	if err != nil {
		return err
	}
	format := src.Meta().Format
	if err := src.Close(); err != nil {
		return err
	}
	switch kind, _ := targetFormat(to.File); {
	case !a.Access.Typed:
		return shell.Usagef("--dtype: %s has format %s, which stores the type", sources[0], format)
	case len(sources) > 1 || to.Object == "" || shell.IsStore(kind) && format != string(hyperslab.Caterva):
		return shell.Usagef("--dtype: %s is copied as it is stored, without a type; hyperslab convert adds one", sources[0])
	}
	return nil
}

// cpArray adds an array of another format to an HDF5 file or a container.
func (a *app) cpArray(ctx context.Context, source string, format hyperslab.Format, to locate.Location, kind hyperslab.Format, o *cpFlags) error {
	if strings.HasSuffix(to.Object, "/") { // a group: the array keeps its name
		loc, err := locate.Parse(source)
		if err != nil {
			return err
		}
		to.Object += nameOf(loc)
	}
	c := &ConvertFlags{
		Attrs: o.attrs, force: o.force, inPlace: o.edit.inPlace, dryRun: o.edit.dryRun, StoreFlags: StoreFlags{Level: -1},
	}
	store := shell.IsStore(kind)
	if !store {
		c.Format = string(hyperslab.HDF5)
	}
	c.Job = shell.JobFlags{Memory: "128MiB", Progress: o.edit.kind()}
	memory, err := c.Check()
	if err != nil {
		return err
	}
	c.sameCodec = shell.IsFrame(format) && !store
	r, err := a.convertOne(ctx, source, to.String(), memory, c)
	if err == nil && o.edit.dryRun {
		bytes, _ := r.sizes()
		a.Note("would copy %s to %s: %s of elements", term.Safe(source), term.Safe(to.String()), term.FormatBytes(bytes))
		if _, missing := os.Stat(to.File); missing == nil {
			err = o.edit.plan(to.File)
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
func (a *app) cpFile(ctx context.Context, from locate.Location, format hyperslab.Format, to locate.Location, o *cpFlags) (err error) {
	if from.Object != "" || to.Object != "" {
		return shell.Usagef("%s is of format %s, and copied as a whole; hyperslab convert takes one array out of it, or puts it into an HDF5 file", from.File, format)
	}
	if f, ok := shell.NamedFormat(to.File); (!ok || f != format) && filepath.Ext(to.File) != filepath.Ext(from.File) {
		return shell.Usagef("%s has format %s, and the name %s has another; hyperslab convert changes formats", from.File, format, to.File)
	}
	if !o.force {
		if _, err := os.Lstat(to.File); err == nil {
			return &ndarray.Error{Op: "create", Path: to.File, Err: ndarray.ErrExists}
		}
	}
	source, done, err := shell.Fetched(ctx, from.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if o.edit.dryRun {
		size, err := shell.PathBytes(source)
		if err == nil {
			a.Note("would copy %s to %s: %s", term.Safe(from.File), term.Safe(to.File), term.FormatBytes(size))
		}
		return err
	}
	out, err := shell.NewOutput(ctx, to.File, atomicfile.Options{Overwrite: o.force})
	if err != nil {
		return err
	}
	size, err := shell.PathBytes(source)
	if err == nil {
		m := o.edit.meter(size).Watch(shell.UnfinishedBytes)
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
func (a *app) cpObjects(ctx context.Context, files *shell.HDF5Files, from []locate.Location, to locate.Location, kind hyperslab.Format, o *cpFlags) error {
	names := make([]string, len(from))
	for i, loc := range from {
		names[i] = path.Clean("/" + to.Object)
		if strings.HasSuffix(to.Object, "/") {
			names[i] = path.Join("/", to.Object, path.Base(path.Clean(loc.Object)))
		}
		for j := range i {
			if names[j] == names[i] {
				return shell.Usagef("%s and %s would both become %s:%s", from[j], from[i], to.File, names[i])
			}
		}
	}
	if err := o.edit.hold(ctx, to.File); err != nil {
		return err
	}
	_, err := os.Stat(to.File)
	there := err == nil
	within := make([]bool, len(from)) // whether source and target are in the same file
	for i, loc := range from {
		within[i] = shell.SameFile(loc.String(), to.File)
	}
	copyAll := func(file string, create bool) error {
		return a.copyObjects(ctx, files, from, within, file, to.File, names, create, o)
	}
	if there && kind != hyperslab.HDF5 {
		return shell.Usagef("%s is of format %s and has no paths inside", to.File, kind)
	}
	switch {
	case o.edit.dryRun:
		if err := a.planCopies(ctx, files, from, to.File, names, there, o); err != nil || !there {
			return err
		}
		return o.edit.plan(to.File)
	case there:
		return o.edit.edit(ctx, to.File, func(file string) error { return copyAll(file, false) })
	}
	out, err := shell.NewOutput(ctx, to.File, atomicfile.Options{})
	if err != nil {
		return err
	}
	err = copyAll(out.Path(), true)
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	return nil
}

// copyObjects copies objects into file, which will become target.
func (a *app) copyObjects(ctx context.Context, files *shell.HDF5Files, from []locate.Location, within []bool, file, target string, names []string, create bool, o *cpFlags) (err error) {
	m := o.edit.meter(0)
	if m.Shown() { // before the file is opened for writing
		m = o.edit.meter(storedIn(ctx, files, from))
	}
	var dst *h5.File
	var done func() error
	if create {
		like, err := files.File(from[0].File)
		if err != nil {
			return err
		}
		dst, err = h5copy.CreatePlain(file, like)
		if err != nil {
			return err
		}
		done = dst.Close
	} else {
		for i, loc := range from {
			if within[i] {
				if err := files.CloseFile(loc.File); err != nil {
					return err
				}
			}
		}
		if dst, done, err = o.edit.openInPlace(ctx, file); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, done()) }()
	m.Watch(growing(file))
	defer m.Finish()
	sets := setsOf(from, within, names)
	opened := func(set *copySet) (*h5.File, error) {
		if set.within {
			return dst, nil
		}
		return files.File(set.file)
	}
	for _, prepare := range []bool{true, false} {
		for i := range sets {
			if err := ctx.Err(); err != nil {
				return err
			}
			set := &sets[i]
			src, err := opened(set)
			if err != nil {
				return err
			}
			failed := -1
			if prepare {
				failed, err = a.checkSet(ctx, src, dst, set, target, names, o)
			} else {
				failed, err = a.copySet(ctx, src, dst, set, target, o)
			}
			if err = errors.Join(err, files.Limit()); err != nil {
				return ndarray.Wrap("copy", set.location(failed), err)
			}
		}
		if prepare {
			if err := replaceTargets(dst, names, target, o.force); err != nil {
				return err
			}
		}
	}
	return nil
}

// copySet contains the sources of one file, which are copied together, so that references and links
// between them are kept.
type copySet struct {
	file   string
	within bool // source and target are in the same file
	pairs  []h5copy.Pair
}

// location returns the location of a source; of all sources for index -1.
func (s *copySet) location(i int) string {
	if i < 0 && len(s.pairs) == 1 {
		i = 0
	}
	if i < 0 {
		return s.file
	}
	return locate.Location{File: s.file, Object: s.pairs[i].From}.String()
}

// setsOf collects the sources of each file.
func setsOf(from []locate.Location, within []bool, names []string) (sets []copySet) {
	for i, loc := range from {
		at := slices.IndexFunc(sets, func(s copySet) bool { return s.file == loc.File || s.within && within[i] })
		if at < 0 {
			at = len(sets)
			sets = append(sets, copySet{file: loc.File, within: within[i]})
		}
		sets[at].pairs = append(sets[at].pairs, h5copy.Pair{From: "/" + strings.Trim(loc.Object, "/"), To: names[i]})
	}
	return sets
}

// planCopies reports the size of each object's elements. It fails if an object does not exist or
// its target must not be replaced.
func (a *app) planCopies(ctx context.Context, files *shell.HDF5Files, from []locate.Location, file string, names []string, there bool, o *cpFlags) error {
	root := func(file string) (*h5.Group, error) {
		f, err := files.File(file)
		if err != nil {
			return nil, err
		}
		return f.Root(), nil
	}
	within := make([]bool, len(from))
	for i, loc := range from {
		within[i] = there && shell.SameFile(loc.String(), file)
	}
	for _, set := range setsOf(from, within, names) {
		if !set.within {
			continue
		}
		src, err := files.File(set.file)
		if err != nil {
			return err
		}
		if failed, err := apart(src, &set, names); err != nil {
			return ndarray.Wrap("copy", set.location(failed), err)
		}
	}
	for i, loc := range from {
		src, err := root(loc.File)
		if err == nil {
			_, err = src.Link(loc.Object)
		}
		if err != nil {
			return ndarray.Wrap("copy", loc.String(), err)
		}
		if there && !o.force {
			dst, err := root(file)
			if err == nil {
				_, err = dst.Link(names[i])
			}
			if err == nil {
				return ndarray.Wrap("copy", loc.String(), fmt.Errorf("%w: %s", ndarray.ErrExists, locate.Location{File: file, Object: names[i]}))
			}
			if !errors.Is(err, ndarray.ErrNotFound) {
				return err
			}
		}
		a.Note("would copy %s to %s:%s: %s", term.Safe(loc.String()), term.Safe(file), term.Safe(names[i]), term.FormatBytes(storedBelow(ctx, src, loc.Object)))
		if err := files.Limit(); err != nil {
			return err
		}
	}
	return nil
}

// storedIn returns the stored bytes of all datasets at and below some objects. Objects that cannot
// be read count as 0, because the copy will report the error.
func storedIn(ctx context.Context, s *shell.HDF5Files, objects []locate.Location) (total int64) {
	for _, loc := range objects {
		if f, err := s.File(loc.File); err == nil {
			total += storedBelow(ctx, f.Root(), loc.Object)
		}
		_ = s.Limit() // of files that were read
	}
	return total
}

func storedBelow(ctx context.Context, root *h5.Group, object string) (total int64) {
	if o, err := root.OpenObject(object); err == nil {
		total = storedAt(ctx, o)
		_ = o.Close()
	}
	return total
}

func storedAt(ctx context.Context, o h5.Object) (total int64) {
	switch o := o.(type) {
	case *h5.Dataset:
		total, _, _ = o.Stored() // an error is that of the copy
	case *h5.Group:
		for v, err := range o.Visit() {
			if ctx.Err() != nil {
				break
			}
			if err != nil || v.Kind != h5.DatasetObject {
				continue
			}
			if d, err := o.OpenDataset(v.Path); err == nil {
				total += storedAt(ctx, d)
				_ = d.Close()
			}
		}
	}
	return total
}

// checkSet returns the errors of copySet before the target is changed.
func (a *app) checkSet(ctx context.Context, src, dst *h5.File, set *copySet, target string, names []string, o *cpFlags) (failed int, err error) {
	if set.within {
		if failed, err := apart(src, set, names); err != nil {
			return failed, err
		}
	}
	if dst != nil {
		if err := vacant(dst, set.pairs, target, o.force); err != nil {
			return -1, err
		}
	}
	options, err := a.copyOptions(set, target, o)
	if err != nil {
		return -1, err
	}
	plan := h5copy.New(src, nil, options)
	if failed, err := plan.Objects(ctx, set.pairs); err != nil {
		return failed, err
	}
	for _, p := range plan.Problems {
		if p.Kind == h5copy.Missing && !o.missing {
			return -1, errs.Mark(fmt.Errorf("%s: %s: %w; --allow-missing copies it anyway", p.Path, p.What, p.Err), ndarray.ErrNotFound)
		}
	}
	return -1, nil
}

// apart returns an error if the removal of one of the targets would also remove a source: if the
// target is the source, a group above it, or a link that its path leads through.
func apart(src *h5.File, set *copySet, names []string) (failed int, err error) {
	for i, p := range set.pairs {
		for _, name := range names {
			needs, err := h5copy.Needs(src.Root(), p.From, name)
			if err != nil {
				return i, err
			}
			if needs {
				return i, fmt.Errorf("%w: the target %s is the source, a group above it, or a link to it", ndarray.ErrParam, name)
			}
		}
	}
	return -1, nil
}

// vacant returns ErrExists if a target exists, unless it may be replaced.
func vacant(dst *h5.File, pairs []h5copy.Pair, target string, force bool) error {
	if force {
		return nil
	}
	for _, p := range pairs {
		there, err := dst.Root().HasLink(p.To)
		if err != nil && !errors.Is(err, h5.ErrNotFound) { // a group of the path may be missing
			return err
		}
		if there {
			return fmt.Errorf("%w: %s", ndarray.ErrExists, locate.Location{File: target, Object: p.To})
		}
	}
	return nil
}

// replaceTargets removes the existing targets.
func replaceTargets(dst *h5.File, names []string, target string, force bool) error {
	if !force {
		return nil
	}
	for _, name := range names {
		there, err := dst.Root().HasLink(name)
		if there && err == nil {
			err = dst.Root().Unlink(name)
		}
		if err != nil && !errors.Is(err, h5.ErrNotFound) {
			return ndarray.Wrap("replace", locate.Location{File: target, Object: name}.String(), err)
		}
	}
	return nil
}

// copyOptions returns the options of the copy of a set.
func (a *app) copyOptions(set *copySet, target string, o *cpFlags) (h5copy.Options, error) {
	dir, err := targetDirectory(target)
	return h5copy.Options{
		Directory: dir, AllowMissing: o.missing, ExternalDir: o.files.Dir, Follow: o.refs, Unreadable: o.pick.Unreadable(a.App, "cp", &o.left),
		Exclude: func(path string) bool { return o.pick.Excluded(set.source(path)) },
	}, err
}

// source returns the path in the source of a path in the target.
func (s *copySet) source(at string) string {
	best := h5copy.Pair{}
	for _, p := range s.pairs {
		if (at == p.To || strings.HasPrefix(at, p.To+"/")) && len(p.To) > len(best.To) {
			best = p
		}
	}
	return best.From + strings.TrimPrefix(at, best.To)
}

// copySet copies the sources of a set and reports the parts that are not kept.
func (a *app) copySet(ctx context.Context, src, dst *h5.File, set *copySet, target string, o *cpFlags) (failed int, err error) {
	options, err := a.copyOptions(set, target, o)
	if err != nil {
		return -1, err
	}
	c := h5copy.New(src, dst, options)
	if failed, err := c.Objects(ctx, set.pairs); err != nil {
		return failed, err
	}
	for _, p := range c.Problems {
		a.Note("%s %s: %s: %s", a.Talk.Notice("hyperslab cp:"), term.Safe(p.Path), p.What, term.Safe(p.Err.Error()))
	}
	return -1, nil
}
