// Draft: an array that is not committed yet.

package draft

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/striped"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// Options are the options of Create: CreateOptions of package hyperslab, which documents them.
// Create sets those that describe the file.
type Options struct {
	tree.CreateOptions
	Overwrite bool
	Lock      *ndarray.Lock
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

func create(ctx context.Context, location string, spec ndarray.Spec, o Options) (*Draft, error) {
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
	if o.Format == "" {
		var ok bool
		if o.Format, ok = detect.Name(l.File); !ok {
			ext := strings.ToLower(filepath.Ext(l.File))
			return nil, fmt.Errorf("%w: extension %q: got no known format, want .b2nd, .caterva, .h5, .bcolz or .npy", ndarray.ErrParam, ext)
		}
	}
	f, err := opener.All().Creator(o.Format)
	if err != nil {
		return nil, err
	}
	o.File, o.Path, o.Name, o.Exists = l.File, l.Object, location, regularfile.Exists(l.File)
	if err := f.CheckCreate(spec, &o.CreateOptions); err != nil {
		return nil, err
	}
	switch adds := f.Many && o.Exists; {
	case adds && f.Member != nil:
		return addMember(ctx, f, spec, o)
	case adds:
		return add(ctx, spec, o)
	case f.Create == nil:
		return nil, fmt.Errorf("%w: format %q", ndarray.ErrParam, o.Format)
	}
	// Other arrays of a file that another program creates in the meantime are not replaced.
	out, err := atomicfile.Create(ctx, l.File, atomicfile.Options{Overwrite: o.Overwrite && !f.Many, Lock: o.Lock})
	if err != nil {
		return nil, err
	}
	a, err := tree.NewArray(f.Create(out.Path(), spec, &o.CreateOptions))
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return &Draft{Array: a, location: location, out: out, stripes: striped.Paths(l.File, o.Stripes)}, nil
}

// addMember starts an array that is a file of its own in an existing container.
func addMember(ctx context.Context, f *tree.Format, spec ndarray.Spec, o Options) (*Draft, error) {
	out, err := f.Member(ctx, o.Lock, o.Overwrite, &o.CreateOptions)
	if err != nil {
		return nil, err
	}
	a, err := tree.NewArray(b2nd.Create(out.Path(), spec, &b2nd.CreateOptions{Name: o.Name, Library: o.Library}))
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return &Draft{Array: a, location: o.Name, out: out}, nil
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
