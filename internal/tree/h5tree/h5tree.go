// The driver, and the arrays of a file.

package h5tree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5check"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5walk"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// Format returns the driver.
func Format() tree.Format {
	return tree.Format{
		Name:   detect.HDF5,
		Match:  func(_ []byte, s *tree.Source) bool { return s.Is(detect.HDF5) },
		Open:   open,
		Target: newTarget,

		CheckCreate: func(_ ndarray.Spec, o *tree.CreateOptions) error {
			if err := checkNamed(o.File, o.Path); err != nil {
				return err
			}
			return o.Check(tree.Creates{InPlace: true, Elsewhere: true})
		},
		Create: func(file string, spec ndarray.Spec, o *tree.CreateOptions) (ndarray.Backend, error) {
			return hdf5.Create(file, o.Path, spec, Creation(o))
		},
		Build:     build,
		Many:      true,
		EditGroup: editGroup,
	}
}

// Creation returns the options of package hdf5 for a new dataset.
func Creation(o *tree.CreateOptions) *hdf5.CreateOptions {
	return &hdf5.CreateOptions{Name: o.Name, Library: o.Library, Stripes: o.Stripes, StripeOf: o.StripeOf, Mappings: o.Mappings, External: o.External}
}

// checkNamed returns an error for the path of the root of a file.
func checkNamed(file, path string) error { return tree.CheckNamed("an HDF5 file can hold", file, path) }

// Holder is the ability of a trusted tree to hand out its file.
type Holder interface {
	// HDF5 returns the open file, which belongs to the tree. It is nil for an untrusted file.
	HDF5() *h5.File
}

// file is an open HDF5 file.
type file struct {
	s     *tree.Source
	alone bool // opened for one array
	byGo  bool // libhdf5 does not decode chunks that package chunkio decodes

	mu sync.Mutex
	f  *h5.File // nil before its first use, if the tree was opened for one array or is untrusted

	// The group of the file in which the last array was opened. libhdf5 finds a name in an open
	// group faster than a path in the file.
	parent struct {
		sync.Mutex
		path  string
		group *h5.Group
	}
}

var _ Holder = (*file)(nil)

// open opens a file. All metadata of an untrusted one is checked. A trusted file that is opened for
// one array is opened with the array.
func open(ctx context.Context, s *tree.Source, o *tree.OpenOptions) (tree.Tree, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o == nil {
		o = &tree.OpenOptions{}
	}
	t := &file{s: s, alone: o.Alone, byGo: s.Path == ""}
	var err error
	switch {
	case s.Trust != nil:
		err = tree.Failed(check(s))
	case s.Path == "":
		err = t.openReader()
	case !o.Alone:
		err = t.openLocal(o.Unlocked)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// check checks all metadata of the file.
func check(s *tree.Source) error {
	most, policy := s.Trust.Limits, s.Trust.Policy
	return h5check.Check(s.File, s.Size, h5check.Options{
		Metadata: most.Metadata, Array: most.Array, Chunk: most.Chunk, Filters: policy.HDF5Filters,
		ExternalLinks: policy.ExternalLinks || s.Trust.Listed, VirtualSources: policy.VirtualSources || s.Trust.Listed,
		ExternalFiles: policy.ExternalFiles || s.Trust.Listed,
		Direct:        s.Trust.Direct,
	})
}

// openReader opens a file without a path: an object at a URL, or the bytes of a reader.
func (t *file) openReader() (err error) {
	r := t.s.Take()
	t.f, err = h5.OpenReaderAt(r, t.s.Size, &h5.ReaderOptions{BlockSize: 512, Blocks: 256, Concurrent: true, Close: r.Close})
	if err != nil {
		err = errors.Join(err, r.Close())
	}
	return err
}

// openLocal opens a file by its path.
func (t *file) openLocal(unlocked func(file string, err error)) (err error) {
	if t.f, err = h5walk.Open(t.s.Path, t.s.TakeOS()); err != nil {
		return err
	}
	if why := t.f.Unlocked(); why != nil && unlocked != nil {
		unlocked(t.s.Path, why)
	}
	return nil
}

// HDF5 implements Holder.
func (t *file) HDF5() *h5.File {
	if t.s.Trust != nil {
		return nil
	}
	return t.f
}

// held returns the open file. An untrusted one is read through its descriptor, so that libhdf5
// cannot open other files.
func (t *file) held(ctx context.Context) (_ *h5.File, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.s.Ready(ctx); err != nil {
		return nil, err
	}
	switch {
	case t.f != nil:
	case t.s.Trust != nil:
		t.f, err = h5.OpenReaderAt(t.s.File, t.s.Size, nil)
	default:
		err = t.openLocal(nil)
	}
	return t.f, err
}

// Close closes the file and its groups.
func (t *file) Close() (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f != nil {
		err = t.f.Close()
	}
	return errors.Join(err, t.s.Close())
}

// Open opens the array at a path.
func (t *file) Open(ctx context.Context, path string, o *tree.ArrayOptions) (ndarray.Backend, error) {
	if err := t.s.Ready(ctx); err != nil {
		return nil, err
	}
	if o == nil {
		o = &tree.ArrayOptions{}
	}
	err := tree.CheckTyped(detect.HDF5, o)
	if t.alone || t.s.Trust != nil {
		err = errors.Join(checkNamed(t.s.Name, path), err)
	}
	switch {
	case err != nil:
		return nil, err
	case t.s.Trust != nil:
		return t.openChecked(path)
	case t.f == nil:
		return t.openAlone(path, o)
	}
	return t.openIn(path, t.s.At(path), &hdf5.OpenOptions{ExternalDir: o.ExternalDir, Missing: o.Missing, Shared: true, Untrusted: t.byGo && !o.References})
}

// openAlone opens an array with a file of its own.
func (t *file) openAlone(path string, o *tree.ArrayOptions) (ndarray.Backend, error) {
	return hdf5.Open(t.s.Path, path, &hdf5.OpenOptions{
		Write: o.Write, AllowLossy: o.AllowLossy, Lock: o.Lock, Library: o.Library, ExternalDir: o.ExternalDir,
		Missing: o.Missing, Unlocked: o.Unlocked, File: t.s.TakeOS(),
	})
}

// openChecked opens an array of an untrusted file by the path of the file, which is the fastest
// way. If the path no longer leads to the checked file, libhdf5 reads the descriptor instead. A
// worker also uses the descriptor for a file that may refer to other files. It cannot open them,
// and libhdf5 would return fill values for their elements; through a reader it returns an error.
func (t *file) openChecked(path string) (ndarray.Backend, error) {
	s, o := t.s, &hdf5.OpenOptions{Untrusted: true}
	info, err := s.OS.Stat()
	if err != nil {
		return nil, err
	}
	policy := s.Trust.Policy
	leads := policy.ExternalLinks || policy.VirtualSources || policy.ExternalFiles || s.Trust.Listed
	name, err := filepath.EvalSymlinks(s.Path)
	held := errors.Is(err, syscall.EINVAL) // a worker cannot read links; its path is that of the descriptor
	if held {
		name, err = s.Path, nil
	}
	if err == nil && (s.Trust.Direct || !leads) {
		if now, err := os.Stat(name); err == nil && os.SameFile(info, now) {
			// The realpath of glibc before 2.33, which libhdf5 calls, fails without the links.
			if b, err := hdf5.Open(s.Path, path, o); err == nil || !held {
				return b, err
			}
		}
	}
	f, err := h5.OpenReaderAt(s.File, info.Size(), nil)
	if err != nil {
		return nil, err
	}
	return hdf5.OpenIn(f.Root(), path, s.At(path), o)
}

// openIn opens an array in the open file.
func (t *file) openIn(path, name string, o *hdf5.OpenOptions) (b ndarray.Backend, err error) {
	err = t.within(t.f, path, func(g *h5.Group, in string) (err error) {
		b, err = hdf5.OpenIn(g, in, name, o)
		return err
	})
	return b, err
}

// within calls use with a group of the open file f, and the path of an object in it. The group is
// the object's parent, unless another goroutine uses this or the parent cannot be opened.
func (t *file) within(f *h5.File, path string, use func(g *h5.Group, in string) error) (err error) {
	p := &t.parent
	path = tree.Root(path)
	if !p.TryLock() {
		return use(f.Root(), path)
	}
	defer p.Unlock()
	end := strings.LastIndexByte(path, '/') + 1
	dir := path[:end]
	if p.group != nil && dir == p.path {
		return use(p.group, path[end:])
	}
	from, below := f.Root(), dir
	if p.group != nil && strings.HasPrefix(dir, p.path) { // the cost of a path grows with its length
		from, below = p.group, dir[len(p.path):]
	}
	g, err := from.OpenGroup(below)
	if err != nil { // the error of use names the object
		return use(f.Root(), path)
	}
	if p.group != nil {
		err = p.group.Close()
	}
	if p.path, p.group = dir, g; err != nil {
		return err
	}
	return use(g, path[end:])
}

// GroupAttrs reads the attributes of a group.
func (t *file) GroupAttrs(ctx context.Context, path string) (attrs ndarray.Attrs, err error) {
	f, err := t.held(ctx)
	if err != nil {
		return attrs, err
	}
	err = t.within(f, path, func(g *h5.Group, in string) (err error) {
		attrs, err = groupAttrs(ctx, g, in)
		return err
	})
	return attrs, err
}

// groupAttrs reads the attributes of the group at a path in another one; "" is that group.
func groupAttrs(ctx context.Context, g *h5.Group, path string) (attrs ndarray.Attrs, err error) {
	if path != "" {
		if g, err = g.OpenGroup(path); err != nil {
			return attrs, err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	return hdf5.ReadAttrs(ctx, g)
}

// Metadata reads the comment and the times of an object.
func (t *file) Metadata(ctx context.Context, path string) (m tree.Metadata, err error) {
	f, err := t.held(ctx)
	if err != nil {
		return m, err
	}
	object := h5.Object(f.Root())
	if !tree.IsRoot(path) {
		if object, err = f.Root().OpenObject(strings.Trim(path, "/")); err != nil {
			return m, err
		}
		defer func() { err = errors.Join(err, object.Close()) }()
	}
	if m.Comment, err = object.Comment(); err != nil {
		return m, err
	}
	info, err := object.Stat()
	if err != nil {
		return m, err
	}
	m.Born, m.Changed, m.Modified, m.Accessed = info.Born, info.Changed, info.Modified, info.Accessed
	return m, nil
}

// ObjectAt opens the object at a path, and returns a function that closes it. The root group stays
// open with its file.
func ObjectAt(f *h5.File, path string) (o h5.Object, done func() error, err error) {
	if tree.IsRoot(path) {
		return f.Root(), func() error { return nil }, nil
	}
	if o, err = f.Root().OpenObject(path); err != nil {
		return nil, nil, err
	}
	return o, o.Close, nil
}
