// hyperslab virtual: create a virtual HDF5 dataset over datasets of other files.

package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// virtualJob is one run of virtual.
type virtualJob struct {
	*shell.App

	axis    int
	stack   bool
	force   bool
	inPlace bool
	dryRun  bool
	quiet   bool
}

func newVirtual(a *shell.App) *cobra.Command {
	j := &virtualJob{App: a}
	cmd := &cobra.Command{
		Use:   "virtual SOURCE... FILE.h5:/path",
		Short: "Create a virtual HDF5 dataset over datasets of other files",
		Long: `virtual joins HDF5 datasets along an axis without a copy of their elements. h5py and the
programs of HDF5 1.10 and later read the result as one dataset. The sources must have the
same datatype, and the same shape except along that axis. With --stack the axis is new,
and the shapes must be equal.

A relative name of a source is stored relative to the directory of the target, so that
both can move together. An absolute name is stored as given. Attributes are not copied.

The target is created completely or not at all. An existing HDF5 file gets the dataset in
a copy, which then replaces the file.` + shell.AddressHelp,
		Example: `  hyperslab virtual waves.h5:/waves waves.h5:/waves all.h5:/waves
  hyperslab virtual waves.h5:/waves waves.h5:/waves all.h5:/stacked --stack`,
		Args:              shell.Arity(2, -1),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			return j.run(cmd.Context(), args[:last], args[last])
		},
	}
	f := cmd.Flags()
	f.IntVar(&j.axis, "axis", 0, "`AXIS` along which the sources are joined, counted from 0")
	f.BoolVar(&j.stack, "stack", false, "join the sources along a new axis")
	shell.ForceFlag(cmd, &j.force, "replace the dataset if it exists")
	shell.InPlaceFlag(cmd, &j.inPlace, "add the dataset to the file itself instead of a copy; a crash can corrupt the file")
	shell.DryRunFlag(cmd, &j.dryRun, "report the changes and change no file")
	shell.QuietFlag(cmd, &j.quiet, "no summary")
	a.LockFlags(cmd)
	a.Done(cmd)
	return cmd
}

// virtualSource is a source of a virtual dataset.
type virtualSource struct {
	address  string
	loc      locate.Location
	shape    []int64
	datatype h5.Datatype
}

func (j *virtualJob) run(ctx context.Context, sources []string, target string) (err error) {
	loc, err := locate.Parse(target)
	if err != nil {
		return err
	}
	var locks shell.FileLocks
	defer func() { err = errors.Join(err, locks.Release()) }()
	if !j.dryRun {
		if err := locks.Hold(ctx, loc.File); err != nil {
			return err
		}
	}
	check := ConvertJob{App: j.App, Source: sources[0], Target: target, Format: string(hyperslab.HDF5), force: j.force}
	if _, err := check.ResolveTarget(); err != nil {
		return err
	}
	all := make([]virtualSource, len(sources))
	for i, address := range sources {
		if all[i], err = j.virtualSource(ctx, address, loc); err != nil {
			return err
		}
	}
	spec, err := j.join(all)
	if err != nil {
		return err
	}
	first, err := j.Open(ctx, sources[0], hyperslab.OpenOptions{})
	if err != nil {
		return err
	}
	spec.DType, spec.Fill = first.DType(), first.Meta().Fill
	if err := first.Close(); err != nil {
		return err
	}
	maps, err := j.mappings(all, loc)
	if err != nil {
		return err
	}
	result := fmt.Sprintf("%s of %s, %s", term.FormatShape(spec.Shape), spec.DType, term.Plural(int64(len(all)), "source"))
	if j.dryRun {
		j.Note("would create %s: %s", term.Safe(target), result)
		return nil
	}
	draft, err := hyperslab.Create(ctx, target, spec, &hyperslab.CreateOptions{Format: hyperslab.HDF5, Overwrite: j.force,
		InPlace: j.inPlace, Mappings: maps, Lock: locks.Lock(loc.File)})
	if err != nil {
		return err
	}
	if err := errors.Join(draft.Commit(ctx), draft.Close()); err != nil {
		return err
	}
	if !j.quiet {
		j.Note("%s: %s", term.Safe(target), result)
	}
	return nil
}

// virtualSource reads shape and datatype of a source.
func (j *virtualJob) virtualSource(ctx context.Context, address string, target locate.Location) (s virtualSource, err error) {
	if _, selection := shell.SplitSelection(address); selection != "" {
		return s, shell.Usagef("%s: a source is a whole dataset", address)
	}
	s.address = address
	if s.loc, err = locate.Parse(address); err != nil {
		return s, err
	}
	if remote.IsURL(s.loc.File) {
		return s, shell.Usagef("%s: a source is a local file, because libhdf5 opens it", remote.Redact(address))
	}
	format, err := hyperslab.Sniff(s.loc.File)
	if err != nil {
		return s, err
	}
	if format != hyperslab.HDF5 {
		return s, shell.Usagef("%s is of format %s; the sources of a virtual dataset are HDF5 datasets", address, format)
	}
	if strings.Trim(s.loc.Object, "/") == strings.Trim(target.Object, "/") && shell.SameFile(address, target.File) {
		return s, shell.Usagef("%s is the target", address)
	}
	err = inspect.WithDataset(ctx, j.App, address, func(_ *h5.File, d *h5.Dataset) error {
		info, err := d.Info()
		s.shape, s.datatype = info.Space.Dims, info.Datatype
		if err == nil && len(s.shape) == 0 {
			err = fmt.Errorf("%w: got a %s dataspace, want at least 1 dimension", ndarray.ErrShape, strings.ToLower(info.Space.String()))
		}
		return err
	})
	return s, ndarray.Wrap("open", address, err)
}

// join returns a Spec with the shape of the virtual dataset.
func (j *virtualJob) join(all []virtualSource) (spec ndarray.Spec, err error) {
	first := all[0]
	rank := len(first.shape)
	if j.stack {
		rank++
	}
	if j.axis < 0 || j.axis >= rank {
		return spec, shell.Usagef("--axis %d: want 0 to %d", j.axis, rank-1)
	}
	spec.Shape = slices.Clone(first.shape)
	if j.stack {
		spec.Shape = slices.Insert(spec.Shape, j.axis, int64(len(all)))
	} else {
		spec.Shape[j.axis] = 0
	}
	for _, s := range all {
		bad := func(kind error, what string, got, want any) error {
			return shell.Usagef("%w: %s of %s: got %v, want %v as in %s", kind, what, s.address, got, want, first.address)
		}
		if !s.datatype.Equal(first.datatype) {
			return spec, bad(ndarray.ErrType, "datatype", s.datatype, first.datatype)
		}
		if len(s.shape) != len(first.shape) {
			return spec, bad(ndarray.ErrShape, "dimensions", len(s.shape), len(first.shape))
		}
		for axis, n := range s.shape {
			if n != first.shape[axis] && (j.stack || axis != j.axis) {
				return spec, bad(ndarray.ErrShape, fmt.Sprintf("length of axis %d", axis), n, first.shape[axis])
			}
		}
		if !j.stack {
			spec.Shape[j.axis] += s.shape[j.axis]
		}
	}
	return spec, nil
}

// mappings returns the mappings of the sources in their order.
func (j *virtualJob) mappings(all []virtualSource, target locate.Location) ([]h5.Mapping, error) {
	maps := make([]h5.Mapping, len(all))
	at := int64(0)
	for i, s := range all {
		name, err := sourceName(s.loc.File, target.File)
		if err != nil {
			return nil, err
		}
		space := h5.SimpleSpace(s.shape...)
		place := h5.Region{Start: make([]int64, len(s.shape)), Count: slices.Clone(s.shape)}
		if j.stack {
			place.Start, place.Count = slices.Insert(place.Start, j.axis, at), slices.Insert(place.Count, j.axis, 1)
			at++
		} else {
			place.Start[j.axis] = at
			at += s.shape[j.axis]
		}
		literal := strings.NewReplacer("%", "%%") // a percent sign begins the number of a series
		maps[i] = h5.Mapping{
			Region: place, File: literal.Replace(name), Dataset: literal.Replace("/" + strings.Trim(s.loc.Object, "/")), Source: space,
			SourceRegion: space.All(),
		}
	}
	return maps, nil
}

// sourceName returns the name of a file in the mappings of a virtual dataset in the file target. It
// is "." for target itself, and otherwise relative to its directory unless the name is absolute.
func sourceName(file, target string) (string, error) {
	if shell.SameFile(file, target) {
		return ".", nil
	}
	if filepath.IsAbs(file) {
		return file, nil
	}
	real, err := filepath.EvalSymlinks(target) // libhdf5 searches beside the file that a link leads to
	if errors.Is(err, fs.ErrNotExist) {
		real, err = target, nil
	}
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(filepath.Dir(real))
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.Rel(dir, path)
}
