// Tree: a new file with groups and arrays that is not committed yet.

package draft

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Tree is a new file that is written under a temporary name next to its target.
type Tree struct {
	location string
	out      *atomicfile.Output
	build    tree.Builder

	mu      sync.Mutex // held during each call of build
	objects map[string]*object
	failed  error // the file is incomplete and cannot be committed
	done    bool

	open openArrays
}

// object is a group or an array of a Tree.
type object struct {
	group bool
	array *ndarray.Array  // may be closed; nil for groups
	n     int             // number of the array
	axes  []dimscale.Axis // nil without scales
	scale bool            // of another array
}

// openArrays are the arrays that their users have not closed.
type openArrays struct {
	mu   sync.Mutex
	last int // number of the last array
	all  map[int]*ndarray.Array
}

// CreateTree starts a new file. Package hyperslab documents it.
func CreateTree(ctx context.Context, location string, o Options) (*Tree, error) {
	d, err := createTree(ctx, location, o)
	return d, ndarray.Wrap("create", location, err)
}

func createTree(ctx context.Context, location string, o Options) (*Tree, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	switch {
	case err != nil:
		return nil, err
	case l.Object != "":
		return nil, fmt.Errorf("%w: a new file: got the path %s in it, want none", ndarray.ErrParam, l.Object)
	case urlfile.IsURL(l.File):
		return nil, fmt.Errorf("%w: creating a file at a URL", errors.ErrUnsupported)
	case o.Sparse || o.Plain || o.InPlace || o.Library || o.Stripes != nil || o.StripeOf != nil || o.Mappings != nil || o.External != nil:
		return nil, fmt.Errorf("%w: options of a new file: got one of a single array, want Format, Overwrite and Lock", ndarray.ErrParam)
	}
	if o.Format == "" {
		var ok bool
		if o.Format, ok = detect.Name(l.File); !ok {
			return nil, fmt.Errorf("%w: extension of %s: got no known format, want .h5", ndarray.ErrParam, l.File)
		}
	}
	f, err := builderOf(o.Format)
	if err != nil {
		return nil, err
	}
	out, err := atomicfile.Create(ctx, l.File, atomicfile.Options{Overwrite: o.Overwrite, Lock: o.Lock})
	if err != nil {
		return nil, err
	}
	b, err := f.Build(out.Path())
	if err != nil {
		return nil, errors.Join(err, out.Abort())
	}
	return &Tree{location: l.File, out: out, build: b, objects: map[string]*object{"/": {group: true}}, open: openArrays{all: make(map[int]*ndarray.Array)}}, nil
}

// builderOf returns the driver of a format, which can write files of many arrays.
func builderOf(format string) (*tree.Format, error) {
	f, err := opener.All().Creator(format)
	if err != nil {
		return nil, err
	}
	if f.Build == nil {
		return nil, fmt.Errorf("%w: a new file of format %s, whose arrays are written one after the other: create HDF5 and copy it (CopyTree)", errors.ErrUnsupported, format)
	}
	return f, nil
}

// at returns the name of an object in messages.
func (d *Tree) at(path string) string {
	return locate.Location{File: d.location, Object: path}.String()
}

// place returns the path of a new object, whose group exists. The caller holds mu.
func (d *Tree) place(ctx context.Context, name string) (string, error) {
	at := tree.Root(name)
	if d.done {
		return at, ndarray.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return at, err
	}
	for part := range strings.SplitSeq(at[1:], "/") {
		if part == "" && at != "/" || part == "." || strings.IndexByte(part, 0) >= 0 {
			return at, fmt.Errorf("%w: path of an object: got %q, want names without a zero byte, neither empty nor %q", ndarray.ErrParam, name, ".")
		}
	}
	switch parent := d.objects[path.Dir(at)]; {
	case d.objects[at] != nil && at != "/":
		return at, ndarray.ErrExists
	case parent == nil:
		return at, fmt.Errorf("%w: its group %s, which must be created first", ndarray.ErrNotFound, path.Dir(at))
	case !parent.group:
		return at, fmt.Errorf("%w: %s is an array, not a group", ndarray.ErrParam, path.Dir(at))
	}
	return at, nil
}

// Group creates a group, or sets attributes of the root.
func (d *Tree) Group(ctx context.Context, name string, attrs []ndarray.Attr) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, err := d.place(ctx, name)
	if err == nil {
		err = d.build.Group(at, attrs)
	}
	if err == nil {
		d.objects[at] = &object{group: true}
	}
	return ndarray.Wrap("create", d.at(at), err)
}

// Array creates an array.
func (d *Tree) Array(ctx context.Context, name string, spec ndarray.Spec) (*ndarray.Array, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, err := d.place(ctx, name)
	if err == nil && at == "/" {
		err = fmt.Errorf("%w: path of an array: got /, the root group", ndarray.ErrParam)
	}
	if err != nil {
		return nil, ndarray.Wrap("create", d.at(at), err)
	}
	b, err := d.build.Array(at, d.at(at), spec)
	if err != nil {
		return nil, ndarray.Wrap("create", d.at(at), err)
	}
	x := &object{}
	d.objects[at] = x
	if x.n, x.array, err = d.open.add(b); err != nil {
		d.failed = errors.Join(d.failed, err)
	}
	return x.array, ndarray.Wrap("create", d.at(at), err)
}

// add returns the array of a new backend with its number.
func (o *openArrays) add(b ndarray.Backend) (n int, a *ndarray.Array, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last++
	n = o.last
	a, err = tree.NewArray(&tree.Member{Backend: b, Done: func() error {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.all, n)
		return nil
	}}, nil)
	if err == nil {
		o.all[n] = a
	}
	return n, a, err
}

// contains reports whether the array with that number is open.
func (o *openArrays) contains(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[n] != nil
}

// close closes the arrays that are open.
func (o *openArrays) close() (err error) {
	o.mu.Lock()
	left := maps.Clone(o.all)
	o.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(left)) {
		if cerr := left[n].Close(); !errors.Is(cerr, ndarray.ErrClosed) { // its user may close it now
			err = errors.Join(err, cerr)
		}
	}
	return err
}

// AttachScale attaches an array as a scale to a dimension of another one.
func (d *Tree) AttachScale(name string, dim int, scale string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, of := tree.Root(name), tree.Root(scale)
	return ndarray.Wrap("attach scale to", d.at(at), d.attach(at, dim, of))
}

func (d *Tree) attach(at string, dim int, scale string) error {
	if d.done {
		return ndarray.ErrClosed
	}
	for _, path := range []string{at, scale} {
		if x := d.objects[path]; x == nil || x.array == nil {
			return fmt.Errorf("%w: array %s", ndarray.ErrNotFound, path)
		}
	}
	x, s := d.objects[at], d.objects[scale]
	rank, scaleShape := len(x.array.Shape()), s.array.Shape()
	switch {
	case dim < 0 || dim >= rank:
		return fmt.Errorf("%w: dimension: got %d, want from 0 to %d", ndarray.ErrParam, dim, rank-1)
	case at == scale || s.axes != nil:
		return fmt.Errorf("%w: scale: got %s, which has scales itself, want an array without scales", ndarray.ErrParam, scale)
	case len(scaleShape) != 1:
		return fmt.Errorf("%w: scale %s: got shape %v, want one dimension", ndarray.ErrShape, scale, scaleShape)
	case x.scale:
		return fmt.Errorf("%w: array: got %s, which is a scale, want an array that is no scale", ndarray.ErrParam, at)
	}
	if d.fixed(x) && d.fixed(s) {
		if err := d.checkScale(at, dim, scale); err != nil {
			return err
		}
	}
	if x.axes == nil {
		x.axes = make([]dimscale.Axis, rank)
	}
	if to := &x.axes[dim]; !slices.Contains(to.Scales, scale) {
		to.Scales = append(to.Scales, scale)
	}
	s.scale = true
	return nil
}

// fixed reports whether the shape of an array cannot change before Commit.
func (d *Tree) fixed(x *object) bool {
	return x.array.Meta().MaxShape == nil || !d.open.contains(x.n)
}

// checkScale returns ErrShape if a scale has another length than the dimension of an array.
func (d *Tree) checkScale(at string, dim int, scale string) error {
	if got, want := d.objects[scale].array.Shape()[0], d.objects[at].array.Shape()[dim]; got != want {
		return fmt.Errorf("%w: scale %s: got length %d, want %d, that of dimension %d of %s", ndarray.ErrShape, scale, got, want, dim, at)
	}
	return nil
}

// attachAll attaches the scales to an array. All arrays are closed.
func (d *Tree) attachAll(at string, axes []dimscale.Axis) error {
	for dim, axis := range axes {
		for _, scale := range axis.Scales {
			if err := d.checkScale(at, dim, scale); err != nil {
				return err
			}
		}
	}
	return d.build.Scales(at, axes)
}

// Commit closes all arrays, syncs the file to disk and moves it to its target.
func (d *Tree) Commit(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return ndarray.Wrap("commit", d.location, d.commit(ctx))
}

func (d *Tree) commit(ctx context.Context) error {
	if d.done {
		return ndarray.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	d.done = true
	err := errors.Join(d.failed, d.open.close())
	for _, at := range slices.Sorted(maps.Keys(d.objects)) {
		if axes := d.objects[at].axes; axes != nil && err == nil {
			if err = d.attachAll(at, axes); err != nil {
				err = fmt.Errorf("attach scales to %s: %w", at, err)
			}
		}
	}
	if err = errors.Join(err, d.build.Close()); err == nil {
		err = d.out.Commit()
	}
	if err != nil && !d.out.Committed() {
		err = errors.Join(err, d.out.Abort())
	}
	return err
}

// Close discards the file if it is not committed, and otherwise has no effect.
func (d *Tree) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done {
		return nil
	}
	d.done = true
	return ndarray.Wrap("discard", d.location, errors.Join(d.open.close(), d.build.Close(), d.out.Abort()))
}
