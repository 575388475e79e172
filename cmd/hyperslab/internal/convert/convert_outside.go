// convert to HDF5 datasets whose elements are in other files: an external file, or stripes.

package convert

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
	"github.com/hyperslab/hyperslab/internal/hdf5/striped"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// outsideFlags name the files that store the elements of an HDF5 dataset.
type outsideFlags struct {
	external string
	stripes  []string
}

func (o *outsideFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.external, "external", "", "store the elements of the HDF5 dataset as raw bytes in `FILE`, which -f replaces")
	f.StringSliceVar(&o.stripes, "stripes", nil,
		"store the chunks of the HDF5 dataset in new `FILES` in turn; relative names are relative to the directory of the target")
	cmd.MarkFlagsMutuallyExclusive("external", "stripes")
	for _, flag := range []string{"external", "stripes"} {
		cmd.MarkFlagsMutuallyExclusive(flag, "into")
		cmd.MarkFlagsMutuallyExclusive(flag, "with-coordinates")
	}
}

// flag returns the flag that is given, or "".
func (o *outsideFlags) flag() string {
	switch {
	case o.external != "":
		return "--external"
	case o.stripes != nil:
		return "--stripes"
	}
	return ""
}

// path returns the path of the external file as libhdf5 finds it.
func (o *outsideFlags) path() string { return h5parts.ExternalPath(o.external) }

// place checks the files for an array and changes spec as they require.
func (j *ConvertJob) place(m ndarray.Meta, format hyperslab.Format, spec *ndarray.Spec) error {
	flag := j.outside.flag()
	if flag == "" {
		return nil
	}
	if format != hyperslab.HDF5 {
		return shell.Usagef("%s stores elements of an HDF5 dataset; %s is of format %s", flag, j.Target, format)
	}
	loc, err := locate.Parse(j.Target)
	if err != nil {
		return err
	}
	if j.outside.stripes != nil {
		for i, path := range striped.Paths(loc.File, j.outside.stripes) {
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				return shell.Usagef("--stripes %s: the file exists, and stripes are new files", j.outside.stripes[i])
			}
			if slices.Contains(j.outside.stripes[:i], j.outside.stripes[i]) {
				return shell.Usagef("--stripes: %s is named twice", j.outside.stripes[i])
			}
		}
		return nil
	}
	if j.Given() {
		return shell.Usagef("an external file has no chunks and no compression: remove the flags for them")
	}
	if m.DType.Size == 0 || m.Null || m.NumElems() == 0 {
		return &ndarray.Error{Op: "convert", Path: m.Path, Err: fmt.Errorf("%w: an external file contains elements of one size: got %s "+
			"elements of type %v", errors.ErrUnsupported, shell.MetaShape(m), m.DType)}
	}
	if path := j.outside.path(); path == loc.File || shell.SameFile(path, loc.File) {
		return shell.Usagef("--external %s: want another file than the target", j.outside.external)
	}
	spec.ChunkShape, spec.BlockShape, spec.Compression = nil, nil, &ndarray.Compression{Codec: "none"}
	return j.mayReplace(j.outside.path())
}

// externalFile is the external file of the target. Its size is not limited if the array can grow.
func (j *ConvertJob) externalFile(spec ndarray.Spec) []h5.ExternalFile {
	if j.outside.external == "" {
		return nil
	}
	size, ok := grid.Product(spec.Shape)
	if spec.MaxShape != nil || !ok {
		size = h5.Unlimited
	} else {
		size *= int64(spec.DType.Size)
	}
	return []h5.ExternalFile{{Name: j.outside.external, Size: size}}
}

// writeExternal writes the elements of src, as type d stores them, to the external file, and then
// commits the draft. If that fails, the external file is again as it was.
func (j *ConvertJob) writeExternal(ctx context.Context, draft *hyperslab.Draft, src *ndarray.Array, d ndarray.DType,
	progress func(bytes int64)) (err error) {
	path := j.outside.path()
	var locks shell.FileLocks
	defer func() { err = errors.Join(err, locks.Release()) }()
	if j.force {
		if err := locks.Hold(ctx, path); err != nil {
			return err
		}
	}
	lock := locks.Lock(path)
	out, err := shell.NewOutput(ctx, path, atomicfile.Options{Overwrite: j.force, Lock: lock})
	if err != nil {
		return err
	}
	defer func() {
		if !out.Committed() {
			err = errors.Join(err, out.Abort())
		}
	}()
	f, err := os.OpenFile(out.Path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	src.SetWorkers(j.Job.Jobs)
	err = encode.EachBlock(ctx, src, min(j.Job.Limit, encode.Block), progress, func(_ ndarray.Region, e *encode.Batch) error {
		d.ToNative(e.Data) // its own inverse
		_, err := w.Write(e.Data)
		return err
	})
	if err = errors.Join(err, w.Flush(), f.Close()); err != nil {
		return err
	}
	restore, drop, err := keep(ctx, path, lock)
	if err != nil {
		return err
	}
	if err = out.Commit(); err == nil {
		err = draft.Commit(ctx)
	}
	if err != nil && out.Committed() {
		return errors.Join(err, restore())
	}
	return errors.Join(err, drop())
}

// keep keeps the file at a path under a temporary name, as a link or a copy. restore moves it back,
// or removes the new file if there was no old one. drop removes the temporary name.
func keep(ctx context.Context, path string, lock *hyperslab.Lock) (restore, drop func() error, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return func() error { return os.Remove(path) }, func() error { return nil }, nil
	}
	old, err := shell.NewOutput(ctx, path, atomicfile.Options{Overwrite: true, Lock: lock})
	if err != nil {
		return nil, nil, err
	}
	if os.Link(path, old.Path()) != nil { // the file system has no links
		err = atomicfile.Copy(ctx, old.Path(), path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, old.Abort())
	}
	return old.Commit, old.Abort, nil
}
