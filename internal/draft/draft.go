// Draft: an array that is not committed yet.

package draft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/striped"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/directories"
	"github.com/hyperslab/hyperslab/internal/tree/h5tree"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// Options are the options of Create: CreateOptions of package hyperslab, which documents them.
type Options struct {
	Format    string
	Sparse    bool
	Plain     bool
	Overwrite bool
	InPlace   bool
	Stripes   []string
	StripeOf  func(chunk []int64) int
	Mappings  []h5.Mapping
	External  []h5.ExternalFile
	Library   bool
	Lock      *ndarray.Lock
}

// hdf5 returns the options for a dataset with the name location.
func (o *Options) hdf5(location string) *hdf5.CreateOptions {
	return &hdf5.CreateOptions{Name: location, Library: o.Library, Stripes: o.Stripes, StripeOf: o.StripeOf, Mappings: o.Mappings, External: o.External}
}

// Draft is an array that is written under a temporary name next to its target.
type Draft struct {
	*ndarray.Array
	location string
	out      *atomicfile.Output // nil: in place
	addition *addition          // nil: the file contains only this array
	stripes  []string           // paths of Options.Stripes
	done     bool
}

// Create starts a new array at a location. Package hyperslab documents it.
func Create(ctx context.Context, location string, spec ndarray.Spec, o Options) (*Draft, error) {
	d, err := create(ctx, location, spec, o)
	return d, ndarray.Wrap("create", location, err)
}

func create(ctx context.Context, location string, spec ndarray.Spec, o Options) (_ *Draft, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	if urlfile.IsURL(l.File) {
		return nil, fmt.Errorf("%w: creating an array at a URL", errors.ErrUnsupported)
	}
	if err := o.check(l); err != nil {
		return nil, err
	}
	if detect.IsStore(o.Format) {
		return addStored(ctx, l, spec, o, location)
	}
	if o.Format == detect.HDF5 && regularfile.Exists(l.File) {
		if is, err := opener.Sniff(ctx, l.File); err != nil || is != detect.HDF5 {
			return nil, cmp.Or(err, fmt.Errorf("%w: %s is of format %s, an array is added to HDF5 files", ndarray.ErrParam, l.File, is))
		}
		return add(ctx, l, spec, o, location)
	}
	// Other arrays of an HDF5 file that another program creates in the meantime are not replaced.
	inHDF5 := o.Format == detect.HDF5
	out, err := atomicfile.Create(ctx, l.File, atomicfile.Options{Overwrite: o.Overwrite && !inHDF5, Lock: o.Lock})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Abort())
		}
	}()
	a, err := tree.NewArray(o.backend(out.Path(), l.Object, spec, location))
	if err != nil {
		return nil, err
	}
	return &Draft{Array: a, location: location, out: out, stripes: striped.Paths(l.File, o.Stripes)}, nil
}

// check completes the format, and returns an error for options that it does not have.
func (o *Options) check(l locate.Location) error {
	if o.Format == "" {
		name, ok := detect.Name(l.File)
		if !ok {
			return fmt.Errorf("%w: extension %q: got no known format, want .b2nd, .caterva, .h5, .bcolz or .npy", ndarray.ErrParam, strings.ToLower(filepath.Ext(l.File)))
		}
		o.Format = name
	}
	if err := checkObject(o.Format, l); err != nil {
		return err
	}
	if o.Format == detect.Bcolz && strings.Trim(l.Object, "/") != "" {
		return fmt.Errorf("%w: a bcolz carray holds one array, it has no %s", ndarray.ErrParam, l.Object)
	}
	if o.Sparse && o.Format != detect.B2ND && o.Format != detect.Caterva {
		return fmt.Errorf("%w: only b2nd can be sparse, not %s", ndarray.ErrParam, o.Format)
	}
	if o.Plain && (o.Format != detect.B2ND || o.Sparse) {
		return fmt.Errorf("%w: a plain frame: got format %s, sparse %v, want %s in one file", ndarray.ErrParam, o.Format, o.Sparse, detect.B2ND)
	}
	if o.InPlace && o.Format != detect.HDF5 {
		return fmt.Errorf("%w: only HDF5 files are changed in place, not %s", ndarray.ErrParam, o.Format)
	}
	if (o.Stripes != nil || o.Mappings != nil || o.External != nil) && o.Format != detect.HDF5 {
		return fmt.Errorf("%w: format of an array with elements in other files: got %s, want %s", ndarray.ErrParam, o.Format, detect.HDF5)
	}
	if o.Stripes != nil && (o.Mappings != nil || o.External != nil) || o.Mappings != nil && o.External != nil {
		return fmt.Errorf("%w: location of the elements: got more than one of stripes, mappings and external files, want one", ndarray.ErrParam)
	}
	if o.Stripes == nil && o.StripeOf != nil {
		return fmt.Errorf("%w: placement of stripes without stripe files", ndarray.ErrParam)
	}
	return nil
}

// checkObject returns an error unless the location of a new array has a path exactly if the format
// needs one.
func checkObject(f string, l locate.Location) error {
	switch f {
	case detect.B2ND, detect.Caterva, detect.NPY:
		return tree.CheckOne(f, l.Object)
	case detect.Directory:
		return directories.CheckNamed(l.File, l.Object)
	case detect.HDF5:
		return h5tree.CheckNamed(l.File, l.Object)
	}
	return nil
}

// Commit closes the array, syncs it to disk and moves it to its target. After an error the target
// is unchanged, unless the error occurred after the move (see atomicfile). Commit then removes the
// temporary files.
//
// It returns ndarray.ErrExists if the target was created in the meantime, ErrClosed after Commit or
// Close, or the context's error, after which the draft is still open.
func (d *Draft) Commit(ctx context.Context) error {
	return ndarray.Wrap("commit", d.location, d.commit(ctx))
}

func (d *Draft) commit(ctx context.Context) (err error) {
	if d.done {
		return ndarray.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	d.done = true
	if err := d.Array.Close(); err != nil {
		return errors.Join(err, d.discard())
	}
	for _, path := range d.stripes {
		if err := atomicfile.Sync(path); err != nil {
			return errors.Join(err, d.discard())
		}
	}
	if d.addition != nil {
		defer func() { err = errors.Join(err, d.addition.release()) }()
		if err := d.addition.finish(); err != nil {
			if d.out != nil {
				err = errors.Join(err, d.out.Abort(), striped.Remove(d.stripes))
			}
			return err
		}
	}
	if d.out == nil {
		return nil
	}
	if err := d.out.Commit(); err != nil {
		if !d.out.Committed() {
			err = errors.Join(err, d.out.Abort(), striped.Remove(d.stripes))
		}
		return err
	}
	return nil
}

// discard removes the files of a closed array that is not committed.
func (d *Draft) discard() (err error) {
	if d.addition != nil {
		err = d.addition.undo()
	}
	if d.out != nil {
		err = errors.Join(err, d.out.Abort())
	}
	return errors.Join(err, striped.Remove(d.stripes))
}

// Close discards the draft if it is not committed, and otherwise does nothing. It can therefore
// always be deferred.
func (d *Draft) Close() error {
	if d.done {
		return nil
	}
	d.done = true
	return ndarray.Wrap("discard", d.location, errors.Join(d.Array.Close(), d.discard()))
}
